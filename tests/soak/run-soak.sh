#!/bin/bash
# run-soak.sh - a sample of `make soak`: a day of few runs with retention on, and nothing grows.
. "$abs_top_srcdir/tests/lib/tap.sh"
soak=$abs_top_builddir/tests/soak/soak
cd "$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "$TMPDIR")" soak.XXXXXX)" || exit 1
trap 'rm -rf "$PWD"' EXIT
runs=3000
case ${CHECK_LONG-} in 1) runs=100000 ;; esac
case ${SANITIZE_CFLAGS-} in
*address* | *thread*) skip_all "a sanitizer's memory is not the engine's" ;;
esac

ok "$runs runs in a day: file, WAL, memory and runs are flat" "$soak" "$runs"
"$soak" 2000 . keep >out
is "without retention it fails" "$?" 1
like "and says what grew" "$(cat out)" 'GREW: file, hour [0-9]+:.*GREW: runs'
"$soak" 5 >out 2>err
is "too few runs: 2" "$?" 2
is "nothing is left" "$(ls)" "err
out"
done_testing
