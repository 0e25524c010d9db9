#!/bin/bash
# t8510-sdk-here.sh - what Temporal's SDKs run on a Temporal server, the C functions replay.
#
# Owns: the plays of tests/equivalence/python/play.py with the workflows in Python and, in a second
# namespace, in TypeScript. Each history is replayed by the C function of the scenario, and refused
# by its changed twin. make check plays some scenes in Python, make check-temporal all in both.
# Timeout: 100 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
temporal_needs
temporal_needs_python
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
languages=python
names=(activity-cancel-wait timer signal update local-activity patch child-complete run-retry
    timeout-heartbeat)
if [ "${CHECK_TEMPORAL:-}" = 1 ]; then
    languages="python typescript"
    names=()
    temporal_needs_node
fi
temporal_server "$place/server" --namespace python --namespace typescript \
    --search-attribute Stage=Keyword --search-attribute Amount=Int || exit 1

# play LANGUAGE [OPTION...]: histories in $place/LANGUAGE; false, with what was said, when it fails.
play() {
    local language=$1
    shift
    mkdir "$place/$language"
    (cd "$abs_top_srcdir/tests/equivalence/python" && PYTHONDONTWRITEBYTECODE=1 "$temporal_python" \
        play.py "$TEMPORAL_ADDRESS" "$language" "$place/$language" "$@" "${names[@]}")
}

# hear LANGUAGE: the verdicts of the C functions on its histories.
hear() {
    local verdicts line
    verdicts=$("$abs_top_builddir/tests/scenario/scenarios" --judge "$place/$1" 2>&1)
    while IFS= read -r line; do
        case $line in
        "ok "*) tap_result 0 "$1: ${line#ok * - }" ;;
        "not ok "*) tap_result 1 "$1: ${line#not ok * - }" ;;
        1..*) ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <<<"$verdicts"
    like "$1: many were judged" "$(compgen -G "$place/$1/*-1.json" | wc -l)" "$2"
}

for language in $languages; do
    if [ "$language" = typescript ]; then
        (cd "$temporal_node" && exec node worker.js "$TEMPORAL_ADDRESS" typescript) \
            >"$place/worker.log" 2>&1 &
        worker=$!
        ok "the scenes are played in TypeScript" play typescript --activities-only
        kill "$worker"
        wait "$worker" 2>/dev/null
    else
        ok "the scenes are played in Python" play python
    fi
    if [ "${#names[@]}" = 0 ]; then
        hear "$language" '^[56][0-9]$'
    else
        hear "$language" "^${#names[@]}$"
    fi
done
mkdir "$place/cli"
"$temporal" workflow show --namespace python --workflow-id timers -o json >"$place/cli/timer-1.json"
hear cli '^1$' # what Temporal's CLI prints is read too
done_testing
