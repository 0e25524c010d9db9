#!/bin/bash
# run-soak.sh - a sample of `make soak`: a day of few runs with retention on, and nothing grows; a
# store that becomes large and small again (past SQLite's lock page, 1 GiB, with CHECK_LONG=1).
. "$abs_top_srcdir/tests/lib/tap.sh"
soak=$abs_top_builddir/tests/soak/soak
large=$abs_top_builddir/tests/soak/large
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

"$large" . 64 >out
is "a store that does not reach the lock page proves nothing" "$?" 1
is "and that is all that is wrong with it" "$(grep -cE '^(NOT|WRONG)' out)" 0
like "which is said" "$(cat out)" 'TOO SMALL: .*[0-9]+ runs went'
case ${CHECK_LONG-} in 1) ok "past the lock page and back" "$large" "$TMPDIR" ;; esac
"$large" . 3 >out 2>err
is "too small a store: 2" "$?" 2
is "nothing is left" "$(ls)" "err
out"
done_testing
