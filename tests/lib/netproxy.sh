# shellcheck shell=bash
# netproxy.sh - a network that the test can spoil, and certificates for it. Source tap.sh first.
#
# Owns: one netproxy (tests/lib/netproxy.c says what it understands) at a time. The script's EXIT
# trap stops it.
#   netproxy_start TARGET-PORT [CERT KEY [CLIENT-CA]]   sets $proxy_port
#   netproxy COMMAND...                                 prints its answer
#   netproxy_stop
#   make_ca NAME                      NAME.crt and NAME.key: who signs
#   make_cert NAME CA SUBJECT DAYS    NAME.crt and NAME.key for the host SUBJECT; DAYS from now may
#                                     be over already (-1)
proxy_port=
netproxy_pid=
netproxy_to=
netproxy_from=

netproxy_start() {
    local dir
    netproxy_stop
    dir=$(mktemp -d) || return 1
    mkfifo "$dir/to" "$dir/from"
    "$abs_top_builddir/tests/lib/netproxy" "$@" <"$dir/to" >"$dir/from" &
    netproxy_pid=$!
    exec {netproxy_to}>"$dir/to" {netproxy_from}<"$dir/from"
    rm -rf "$dir"
    read -r -t 10 -u "$netproxy_from" proxy_port
}

netproxy() {
    local answer
    echo "$*" >&"$netproxy_to" && read -r -t 10 -u "$netproxy_from" answer
    echo "${answer:-no answer}"
}

netproxy_stop() {
    [ -n "$netproxy_pid" ] || return 0
    exec {netproxy_to}>&- {netproxy_from}<&-
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
