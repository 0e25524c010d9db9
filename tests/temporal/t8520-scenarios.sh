#!/bin/bash
# t8520-scenarios.sh - the scenarios on a Temporal server: the same functions, the same histories.
#
# Owns: the plays of tests/scenario/server.c, several processes at once. make check plays some,
# make check-temporal all; then also with a worker that is killed on the way, with a run that is
# cancelled on the way, and Core replays the histories of the first plays.
# Timeout: 100 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
[ -e "$abs_top_builddir/.libs/libdurable-temporal.so" ] ||
    skip_all "this tree is built without the Temporal module"
temporal_needs
export LD_LIBRARY_PATH=$abs_top_builddir/.libs
scenarios=$abs_top_builddir/tests/scenario/scenarios
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT

temporal_server "$place/server" --namespace play --namespace kill --namespace cancel \
    --search-attribute Stage=Keyword --search-attribute Amount=Int
tap_result $? "a server comes up"

# begin NAMESPACE WHAT NAME...: each in a process of its own, eight at once, in the background.
begin() {
    local namespace=$1 what=$2
    shift 2
    mkdir -p "$place/$namespace"
    printf '%s\n' "$@" | xargs -P 8 -I NAME sh -c \
        "'$scenarios' --server '$TEMPORAL_ADDRESS' '$namespace' '$what' NAME \
        >'$place/$namespace/NAME.tap' 2>&1" &
    begun=$!
}

# finish NAMESPACE: waits for them; their verdicts are ours.
finish() {
    local line
    wait "$begun"
    while IFS= read -r line; do
        case $line in
        "ok "*) tap_result 0 "$1: ${line#ok * - }" ;;
        "not ok "*) tap_result 1 "$1: ${line#not ok * - }" ;;
        1..*) ;;
        *) printf '%s\n' "$line" ;;
        esac
    done < <(cat "$place/$1"/*.tap)
}

if [ "${CHECK_TEMPORAL:-}" != 1 ]; then
    begin play "$place/play" activity-retry child-cancel-wait continue-as-new local-activity \
        signal-handler timer update
    finish play
    done_testing
fi

mapfile -t names < <("$scenarios" --list | cut -d ' ' -f 1)
for what in play kill cancel; do
    begin "$what" "${what/play/$place/play}" "${names[@]}"
    finish "$what"
done
like "nearly all were played" "$(compgen -G "$place/play/*-1.json" | wc -l)" '^[67][0-9]$'
if command -v node >/dev/null && command -v npm >/dev/null; then
    temporal_needs_node
    (cd "$temporal_node" && node replay.js "$place"/play/*.json) >"$place/core.tap" 2>&1
    none "Core accepts what our worker made of them" "$(grep -A 3 '^not ok' "$place/core.tap")"
    like "and was asked of many" "$(cat "$place/core.tap")" 'the histories of [78][0-9] runs'
else
    skip "Core on the histories of our worker" "install nodejs, npm"
fi
done_testing
