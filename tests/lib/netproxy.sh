# shellcheck shell=bash
# netproxy.sh - a network that the test can spoil, and certificates for it. Source tap.sh first.
#
# Owns: one netproxy (tests/lib/netproxy.c says what it understands) at a time, and its end when the
# script ends.
#   netproxy_start TARGET-PORT [CERT KEY [CLIENT-CA]]   sets $proxy_port; false when it does not start
#   netproxy COMMAND...                                 prints its answer
#   netproxy_stop
#   make_ca NAME                      NAME.crt and NAME.key: who signs
#   make_cert NAME CA SUBJECT DAYS    NAME.crt and NAME.key for the host SUBJECT; DAYS from now may
#                                     be over already (-1)
proxy_port=
netproxy_pid=

netproxy_start() {
    netproxy_stop
    coproc NETPROXY { exec "$abs_top_builddir/tests/lib/netproxy" "$@"; }
    netproxy_pid=$NETPROXY_PID
    read -r -t 10 -u "${NETPROXY[0]}" proxy_port
}

netproxy() {
    local answer
    echo "$*" >&"${NETPROXY[1]}" && read -r -t 10 -u "${NETPROXY[0]}" answer
    echo "${answer:-no answer}"
}

netproxy_stop() {
    [ -n "$netproxy_pid" ] || return 0
    kill "$netproxy_pid" 2>/dev/null
    wait "$netproxy_pid" 2>/dev/null
    netproxy_pid=
}

make_ca() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" \
        -out "$1.crt" -subj "/CN=$1" -days 3650 2>>openssl.log
}

make_cert() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" \
        -subj "/CN=$3" 2>>openssl.log &&
        openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days "$4" \
            -extfile <(echo "subjectAltName=DNS:$3") -out "$1.crt" 2>>openssl.log
}
