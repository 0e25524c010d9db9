#!/bin/bash
# coverage.sh - build-aux/run-coverage: the floor under the rooms, and what it counts.
#
# Owns: planted counts, and a planted tree whose "gcov" is a script. Must not: build anything (make
# coverage does).
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
coverage() {
    out=$(env -u COVERAGE_ONLY abs_top_srcdir="$TMPDIR/src" abs_top_builddir="$TMPDIR/b" "$@" \
        bash "$abs_top_srcdir/build-aux/run-coverage" 2>&1)
    status=$?
}
counts() {
    printf '%s\n' "exec exec/a.c 100 ${1:-95}" "exec exec/b.c 100 ${2:-95}" \
        "history history/a.c 10 10" "journal journal/a.c 10 9" "worker worker/a.c 1000 999" \
        "cli cli/a.c 10 1" >counts
}
counts
coverage COVERAGE_FROM=counts
is "each room at its floor: it passes" "$status" 0
like "a room's lines are those of its files" "$out" "exec +200 +190 +95.0%"
like "a room without a floor is only told" "$out" "cli +10 +1 +10.0%"
counts 90 89
coverage COVERAGE_FROM=counts
is "a room below its floor: it fails" "$status" 1
like "and says which" "$out" "exec +200 +179 +89.5%  below 90 %"
counts
grep -v '^worker' counts >fewer
coverage COVERAGE_FROM=fewer
is "a room that was not counted: it fails" "$status" 1
like "and says which" "$out" "worker: not counted"

# A tree that was built and run; two libraries have exec/a.c.
mkdir -p bin b/coverage-tree/src/{exec,cli}/.libs
touch b/coverage-tree/src/exec/.libs/lib{exec,other}_la-a.gcno b/coverage-tree/src/cli/x-b.gcno
cat >bin/gcov <<'END'
#!/bin/bash
for notes; do :; done
case $notes in
*libexec*) echo "File '/s/src/exec/a.c'"; echo "Lines executed:50.00% of 40" ;;
*libother*) echo "File '/s/src/exec/a.c'"; echo "Lines executed:25.00% of 40"
    echo "File '/s/src/exec/state.h'"; echo "Lines executed:0.00% of 4" ;;
*b.gcno) echo "File '/s/src/cli/b.c'"; echo "Lines executed:0.00% of 7" ;;
esac
case "$*" in *--stdout*) echo "        -:    0:Source:/s/src/exec/a.c"
    echo "    #####:    7:    return -1;"; echo "        1:    8:    return 0;" ;; esac
END
chmod +x bin/gcov
coverage PATH="$TMPDIR/bin:$PATH" COVERAGE_RUN=no COVERAGE_SHOW=src/exec/a.c
like "of two objects the one that executed more counts" "$out" "exec +40 +20 +50.0%"
like "a file that nothing executed counts too" "$out" "cli +7 +0 +0.0%"
like "the files with most lines left come first" "$out" \
    "least covered:[[:space:]]+20 of +40 .*exec/a.c"
like "COVERAGE_SHOW prints what nothing executed" "$out" "7: +return -1;"
unlike "and only that" "$out" "return 0;"
done_testing
