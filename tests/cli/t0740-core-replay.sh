#!/bin/bash
# t0740-core-replay.sh - Temporal's own replayer accepts the histories that the engine wrote.
#
# Owns: the packages of tests/equivalence in BUILD/test-replayer (put there once, by npm), and one
# run of replay.js over the histories of every scenario, played and exported anew.
# `make check-temporal` runs only this and the verdicts on composed histories.
# Timeout: 240 s
. "$abs_top_srcdir/tests/lib/tap.sh"
needs node nodejs
needs npm npm

source=$abs_top_srcdir/tests/equivalence
place=$abs_top_builddir/test-replayer
mkdir -p "$place"
if ! cmp -s "$source/package-lock.json" "$place/installed-lock.json"; then
    cp "$source/package.json" "$source/package-lock.json" "$place/"
    if ! (cd "$place" &&
        timeout 180 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) \
        >"$place/install.log" 2>&1; then
        sed 's/^/# /' "$place/install.log" | head -20
        skip_all "install the npm packages of tests/equivalence (npm could not: offline?)"
    fi
    # The package holds every system's library; a Linux host needs one of them.
    rm -rf "$place"/node_modules/@temporalio/core-bridge/releases/*{darwin,windows}*
    cp "$source/package-lock.json" "$place/installed-lock.json"
fi
rm -rf "$place/workflows"
cp -R "$source/replay.js" "$source/foreign.json" "$source/workflows" "$place/"
chmod -R u+w "$place/workflows"

histories=$place/histories
rm -rf "$histories"
mkdir "$histories"
"$abs_top_builddir/tests/scenario/scenarios" --export "$histories" >"$place/export.log" 2>&1 ||
    { sed 's/^/# /' "$place/export.log"; exit 1; }
cd "$place" && exec node replay.js "$histories"/*.json
