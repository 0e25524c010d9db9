# shellcheck shell=bash disable=SC2034 # variables for the script that sources this
# outlast.sh - scripts in which tests/lib/outlast.c outlasts servers and networks that fail.
#
# Source tap.sh first. Owns: what these scripts need, the directory that they work in ($place), and
# the end of the worker ($worker, its process id while it runs), of the proxy and of the directory.
# Only make check-temporal and check-long run them: they are mostly waiting.
# Tests: every script that uses it.
. "$abs_top_srcdir/tests/lib/temporal.sh"
. "$abs_top_srcdir/tests/lib/netproxy.sh"
outlast=$abs_top_builddir/tests/lib/outlast
[ -x "$outlast" ] || skip_all "this tree is built without the Temporal module"
[ -n "${CHECK_TEMPORAL:-}${CHECK_LONG:-}" ] || skip_all "make check-temporal runs it"
temporal_needs
export LD_LIBRARY_PATH=$abs_top_builddir/.libs
place=$(mktemp -d) || exit 1
worker=
trap '[ -z "$worker" ] || kill -KILL "$worker" 2>/dev/null; netproxy_stop; rm -rf "$place"' EXIT
cd "$place" || exit 1
export OUTLAST_EFFECTS=$place/effects
