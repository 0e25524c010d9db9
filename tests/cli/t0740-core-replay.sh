#!/bin/bash
# t0740-core-replay.sh - Temporal's own replayer accepts the histories that the engine wrote.
#
# Owns: one run of tests/equivalence/replay.js over the histories of every scenario, played and
# exported anew.
# Timeout: 240 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
temporal_needs_node

histories=$(mktemp -d) || exit 1
"$abs_top_builddir/tests/scenario/scenarios" --export "$histories" >"$histories/log" 2>&1 ||
    { sed 's/^/# /' "$histories/log"; exit 1; }
cd "$temporal_node" && exec node replay.js "$histories"/*.json
