#!/bin/bash
# t8500-python-replay.sh - Temporal's Python SDK replays the histories that the engine wrote.
#
# Owns: one run of tests/equivalence/python/replay.py over the histories of every scenario, played
# and exported anew: each is accepted by the equivalent workflow, and refused by its changed twin.
# Timeout: 120 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
temporal_needs_python

place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
"$abs_top_builddir/tests/scenario/scenarios" --export "$place" >"$place/log" 2>&1 ||
    { sed 's/^/# /' "$place/log"; exit 1; }
equivalence=$abs_top_srcdir/tests/equivalence/python
PYTHONDONTWRITEBYTECODE=1 "$temporal_python" "$equivalence/replay.py" \
    "$equivalence/foreign.json" "$place"/*.json
