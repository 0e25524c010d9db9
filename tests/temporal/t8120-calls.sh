#!/bin/bash
# t8120-calls.sh - durable.h's client calls on a real server. Timeout: 180 s
#
# Owns: the server and the embedder's programs; each of their lines is a case.
. "$abs_top_srcdir/tests/lib/embedder.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ -e "$abs_top_builddir/.libs/libdurable-temporal.so" ] ||
    skip_all "this tree is built without the Temporal module"
temporal_needs

# cases PROGRAM [ARG]: its lines are cases, and that it ends well is one.
cases() {
    local verdict name why
    "./$1" "$TEMPORAL_ADDRESS" "${@:2}" >lines 2>errors </dev/null
    tap_result $? "$1 ends well" "$(cat errors)"
    while IFS='|' read -r verdict name why; do
        [ "$verdict" = ok ]
        tap_result $? "$name" "$why"
    done <lines
}

ok "the client's program builds" embedder "$abs_top_srcdir/tests/temporal/test_client.c" client \
    -D_POSIX_C_SOURCE=200809L -pthread
ok "and that of one who asks" embedder "$abs_top_srcdir/tests/temporal/test_asking.c" asking \
    -D_POSIX_C_SOURCE=200809L -pthread
temporal_server "$TMPDIR/server" --dynamic-config-value frontend.WorkflowPauseEnabled=true \
    --search-attribute CustomerId=Keyword --search-attribute Amount=Int \
    --search-attribute Tags=KeywordList --search-attribute Due=Datetime
tap_result $? "a server comes up"
cases client ${CHECK_TEMPORAL:+many}
cases asking
temporal_stop KILL
done_testing
