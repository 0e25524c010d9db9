#!/bin/bash
# t0001-version.sh - factory version: text and JSON.
. "$abs_top_srcdir/tests/lib/cli.sh"
out=$("$factory" version)
is "status 0" "$?" 0
like "both versions" "$out" '^factory [0-9]+\.[0-9]+\.[0-9]+, libdurable [0-9]+\.[0-9]+\.[0-9]+$'
is "--version is the same" "$("$factory" --version)" "$out"
like "JSON has a schema" "$("$factory" version --json)" '"schema": 1,'
is "it makes nothing" "$(ls -A)" ""
not_ok "it takes no words" "$factory" version now
done_testing
