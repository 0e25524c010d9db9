#!/bin/bash
# t8100-transport.sh - calls to a real server over networks that are spoilt: what works, and what is
# said when it does not.
#
# Owns: the module's own door (tests/lib/look.c). Workers and clients have scripts of their own.
# Timeout: 120 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
. "$abs_top_srcdir/tests/lib/netproxy.sh"
look=$abs_top_builddir/tests/lib/look
[ -x "$look" ] || skip_all "this tree is built without the Temporal module"
temporal_needs
needs openssl openssl
place=$(mktemp -d) || exit 1
trap 'netproxy_stop; rm -rf "$place"' EXIT
cd "$place" || exit 1

temporal_server "$place/server"
tap_result $? "a server comes up"
port=${TEMPORAL_ADDRESS##*:}
health="is the server up? (temporal operator cluster health)"

# says NAME STATUS OUTPUT COMMAND...
says() {
    local name=$1 status=$2 wanted=$3 got
    shift 3
    got=$("$@" </dev/null 2>&1)
    is "$name: status" $? "$status"
    is "$name" "$got" "$wanted"
}

# --- a good network -----------------------------------------------------------------------------
version=$("$temporal" --version | sed -E 's/.*\(Server ([0-9.]+).*/\1/')
info="server $version, namespace default Registered, kept 86400 s, plain"
says "info" 0 "$info" "$look" "$TEMPORAL_ADDRESS" info
says "a wrong namespace" 1 "DUR_NOT_FOUND: $TEMPORAL_ADDRESS: DescribeNamespace: the server has no \
namespace 'orders'; check the name, or make it (temporal operator namespace create -n orders)" \
    "$look" "$TEMPORAL_ADDRESS" name_space=orders info
says "200 polls at once end when they are cancelled" 0 "200 polls cancelled" \
    "$look" "$TEMPORAL_ADDRESS" polls 200
says "1000 polls, one after the other" 0 "1000 polls cancelled" \
    "$look" "$TEMPORAL_ADDRESS" cancels 1000
says "TLS to a server without" 1 "DUR_IO: $TEMPORAL_ADDRESS: GetSystemInfo: the server does not \
speak TLS here; check the port, or leave tls out for a server on this machine" \
    "$look" "$TEMPORAL_ADDRESS" tls=1 timeout=1000 info
says "a host that is not there" 1 "DUR_IO: nowhere.invalid:7233: GetSystemInfo: the host name was \
not found; check the address and the network's name service" \
    "$look" nowhere.invalid:7233 tls=1 timeout=1000 info

# --- a bad one ----------------------------------------------------------------------------------
netproxy_start "$port"
tap_result $? "a proxy comes up"
at=127.0.0.1:$proxy_port
is "slow" "$(netproxy delay 150 150)" ok
says "slow, but it works" 0 "$info" "$look" "$at" info
netproxy delay 0 0 >/dev/null
is "a black hole" "$(netproxy stop)" ok
says "a black hole: no answer" 1 "DUR_IO: $at: GetSystemInfo: no answer in time; is the server \
overloaded, or does something on the way swallow packets?" "$look" "$at" timeout=700 info
netproxy go >/dev/null
is "refused" "$(netproxy refuse)" ok
says "refused" 1 "DUR_IO: $at: GetSystemInfo: connection refused; $health" \
    "$look" "$at" timeout=700 info
netproxy accept >/dev/null
is "cut" "$(netproxy cut 60)" ok
like "cut before the answer" "$("$look" "$at" timeout=700 info 2>&1)" \
    "^DUR_IO: $at: GetSystemInfo: the connection was lost; is the server up, "
netproxy cut -1 >/dev/null
says "not any more" 0 "$info" "$look" "$at" info

# A connection that is lost between two calls is made again; one that breaks in a call, too.
coproc LOOK { exec "$look" "$at" twice 2>&1; }
read -r -t 10 -u "${LOOK[0]}" first
netproxy drop >/dev/null
echo >&"${LOOK[1]}"
read -r -t 10 -u "${LOOK[0]}" second
wait "$LOOK_PID"
is "lost between two calls" "$first|$second" "$info|$info"
netproxy cut 60 >/dev/null
coproc LOOK { exec "$look" "$at" timeout=8000 info 2>&1; }
sleep 0.3
netproxy cut -1 >/dev/null
read -r -t 10 -u "${LOOK[0]}" first
is "lost within a call" "$first" "$info"

# --- TLS ----------------------------------------------------------------------------------------
make_ca signer && make_ca stranger && make_cert localhost signer localhost 30 &&
    make_cert expired signer localhost -1 && make_cert client signer worker 30 &&
    make_cert intruder stranger worker 30
tap_result $? "certificates" "$(cat openssl.log)"
encrypted=${info%plain}encrypted

# tls NAME STATUS OUTPUT OPTION...: AT is the proxy.
tls() {
    local name=$1 status=$2 wanted=${3//AT/localhost:$proxy_port: GetSystemInfo}
    shift 3
    says "$name" "$status" "$wanted" "$look" "localhost:$proxy_port" tls=1 timeout=1500 "$@" info
}
netproxy_start "$port" localhost.crt localhost.key
tls "TLS" 0 "$encrypted" ca_file=signer.crt
tls "an unknown signer" 1 "DUR_IO: AT: the server's certificate is signed by nobody that the \
system knows; set ca_file to the certificate of who signed it"
tls "another signer" 1 "DUR_IO: AT: the server's certificate is signed by nobody that stranger.crt \
knows; set ca_file to the certificate of who signed it" ca_file=stranger.crt
tls "another name" 1 "DUR_IO: AT: the server's certificate is for localhost, not for \
orders.example; check the address, or set server_name" ca_file=signer.crt server_name=orders.example
says "the name that is wanted" 0 "$encrypted" "$look" "127.0.0.1:$proxy_port" tls=1 \
    ca_file=signer.crt server_name=localhost info
says "plaintext to a server with TLS" 1 "DUR_IO: localhost:$proxy_port: GetSystemInfo: the \
connection was lost; is the server up, and does it want TLS? (temporal operator cluster health)" \
    "$look" "localhost:$proxy_port" timeout=700 info
export ORDERS_KEY=a-secret-of-the-test
tls "an API key over TLS" 0 "$encrypted" ca_file=signer.crt api_key_env=ORDERS_KEY
says "an API key in plaintext" 1 \
    "DUR_INVALID: $TEMPORAL_ADDRESS: api_key_env needs TLS; set tls" \
    "$look" "$TEMPORAL_ADDRESS" api_key_env=ORDERS_KEY info
netproxy_start "$port" expired.crt expired.key
tls "an expired certificate" 1 "DUR_IO: AT: the server's certificate expired on \
$(date -u -d "$(openssl x509 -noout -enddate -in expired.crt | cut -d= -f2)" +%F); renew it \
there, or is this machine's clock wrong?" ca_file=signer.crt

netproxy_start "$port" localhost.crt localhost.key signer.crt
tls "a client's certificate" 0 "$encrypted" ca_file=signer.crt cert_file=client.crt \
    key_file=client.key
tls "a client's certificate is wanted" 1 "DUR_IO: AT: the server wants a client's certificate; \
set cert_file and key_file" ca_file=signer.crt
tls "a client's certificate of a stranger" 1 "DUR_IO: AT: the server does not accept our \
certificate (intruder.crt); is it signed by whom the server trusts?" ca_file=signer.crt \
    cert_file=intruder.crt key_file=intruder.key
tls "somebody else's key" 1 "DUR_INVALID: localhost:$proxy_port: intruder.key is not the key of \
the certificate in client.crt" ca_file=signer.crt cert_file=client.crt key_file=intruder.key
tls "a certificate of ours that is over" 1 "DUR_INVALID: localhost:$proxy_port: expired.crt: our \
certificate expired on $(date -u -d "$(openssl x509 -noout -enddate -in expired.crt |
    cut -d= -f2)" +%F); get a new one" cert_file=expired.crt key_file=expired.key
tls "a file that is no certificate" 1 "DUR_INVALID: localhost:$proxy_port: openssl.log holds no \
certificate in PEM form" ca_file=openssl.log
tls "a file that is not there" 1 "DUR_INVALID: localhost:$proxy_port: ca_file: cannot open \
nothing.crt: No such file or directory" ca_file=nothing.crt
temporal_stop KILL
done_testing
