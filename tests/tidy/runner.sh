#!/bin/bash
# runner.sh - build-aux/run-tests and tests/lib/supervise.c: what fails, counts and is killed.
#
# Owns: a build tree of planted test scripts. Timeout: 120 s.
. "$abs_top_srcdir/tests/lib/tap.sh"
runner=$abs_top_srcdir/build-aux/run-tests
mkdir -p "$TMPDIR"/{src/tests/cli,src/build-aux,b/tests/lib} && cd "$TMPDIR" || exit 1
cp "$abs_top_srcdir"/build-aux/*.supp src/build-aux/
ln -s "$abs_top_builddir/tests/lib/supervise" b/tests/lib/supervise

# script NAME TEXT: a test script that does TEXT.
script() {
    printf '#!/bin/bash\n%s\n' "$2" >"src/tests/cli/$1.sh"
}

# run NAME...: run those scripts; output in $out, the last line in $last, status in $status.
run() {
    local tests=()
    for name; do tests+=("tests/cli/$name.sh"); done
    out=$(abs_top_srcdir=$TMPDIR/src abs_top_builddir=$TMPDIR/b TESTS_ONLY="${only-}" \
        bash "$runner" "${tests[@]}" 2>&1)
    status=$?
    last=$(tail -n 1 <<<"$out")
}

# verdict NAME TALLY WHY: that one script gives this tally, and WHY is said.
verdict() {
    run "$1"
    is "$1: $2" "$last" "$2"
    like "$1: it is said why" "$out" "$3"
    case $2 in
    *" 0 failed"*) is "$1: status" "$status" 0 ;;
    *) is "$1: status" "$status" 1 ;;
    esac
}

script good 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
verdict good "2 passed, 0 failed, 0 skipped" 'PASS tests/cli/good [0-9.]+'
script bad 'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; exit 1'
verdict bad "1 passed, 1 failed, 0 skipped" 'FAIL tests/cli/bad .*not ok 2 - b'
script skip 'echo "ok 1 - x # SKIP install foo"; echo 1..1'
verdict skip "0 passed, 0 failed, 1 skipped" 'SKIP .*Skipped:.*tests/cli/skip: x: install foo'
script skip-all 'echo "1..0 # SKIP install bar"'
verdict skip-all "0 passed, 0 failed, 1 skipped" 'all: install bar'
script no-reason 'echo "ok 1 - x # SKIP"; echo 1..1'
verdict no-reason "0 passed, 1 failed, 0 skipped" 'x was skipped without a reason'
script none 'echo 1..0'
verdict none "0 passed, 1 failed, 0 skipped" 'ran no case'
script silent ''
verdict silent "0 passed, 1 failed, 0 skipped" 'no plan'
script short 'echo "ok 1 - a"; echo 1..2'
verdict short "1 passed, 1 failed, 0 skipped" 'planned 2 cases, ran 1'
script status 'echo "ok 1 - a"; echo 1..1; exit 3'
verdict status "1 passed, 1 failed, 0 skipped" 'exit status 3 without a failed case'
script killed 'echo "ok 1 - a"; echo 1..1; kill -SEGV $$'
verdict killed "1 passed, 1 failed, 0 skipped" 'killed by signal 11'
script bail 'echo "ok 1 - a"; echo "Bail out! no disk"; echo 1..1'
verdict bail "1 passed, 1 failed, 0 skipped" 'Bail out! no disk'
script report 'echo "ok 1 - a"; echo 1..1; f=${ASAN_OPTIONS#log_path=}; echo LEAK >"${f%%:*}.1"'
verdict report "1 passed, 1 failed, 0 skipped" 'a sanitizer reported a fault.*LEAK'
script gone x
rm src/tests/cli/gone.sh
verdict gone "0 passed, 1 failed, 0 skipped" 'exit status 127'

run good bad skip
is "several are added up" "$last" "3 passed, 1 failed, 1 skipped"
only='good|skip' run good bad skip
is "TESTS_ONLY chooses" "$last" "2 passed, 0 failed, 1 skipped"
only=nothing run good bad skip
is "TESTS_ONLY that matches nothing is a failure" "$last:$status" "0 passed, 1 failed, 0 skipped:1"

# Nothing a test starts outlives it.
script tree '# Timeout: 1 s
echo $$ >"$abs_top_builddir/pids"
(setsid bash -c "echo \$\$ >>$abs_top_builddir/pids; sleep 100" &)
sleep 0.2; sleep 100'
verdict tree "0 passed, 1 failed, 0 skipped" 'not done after [0-9.]+ s'
alive() {
    while read -r pid; do kill -0 "$pid" 2>/dev/null && echo "$pid"; done <b/pids
}
is "two processes were there" "$(grep -c . b/pids)" 2
none "a timeout ends the whole tree, also what called setsid" "$(alive)"
script left 'echo "ok 1 - a"; echo 1..1
setsid bash -c "echo \$\$ >$abs_top_builddir/pids; exec sleep 100" & sleep 0.3'
verdict left "1 passed, 0 failed, 0 skipped" 'killed 1 it had left running'
none "so does a normal end" "$(alive)"

# The world that tests see.
script world '
[ -w "$TMPDIR" ] && [ -d "$HOME" ] && [ "$LC_ALL" = C.UTF-8 ] && [ -n "$FACTORY" ] &&
    [ -z "$SECRET" ] && [ -n "$abs_top_srcdir" ] && [ -n "$abs_top_builddir" ] &&
    echo "ok 1 - world"
echo "$TMPDIR" >"$abs_top_builddir/where"; mkdir -p "$TMPDIR/x/y"; chmod 0 "$TMPDIR/x"
echo 1..1'
SECRET=1 verdict world "1 passed, 0 failed, 0 skipped" PASS
not_ok "the private directory is removed" test -e "$(cat b/where)"
ok "a log is kept" test -s b/test-logs/tests-cli-world.log

# A fuzz target fails on the first bad input, and the input is kept; the same inputs every time.
cat >target.c <<'C'
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4 && memcmp(data, "key", 3) == 0 && memchr(data, BAD, size)) {
        abort();
    }
    return 0;
}
C
mkdir -p fuzz/b/test-logs fuzz/tests/fuzz/corpus/x fuzz/tests/fuzz/corpus/y
echo 'key = value' >fuzz/tests/fuzz/corpus/x/one
echo 'key = [1, 2]' >fuzz/tests/fuzz/corpus/x/two
fuzz() {
    abs_top_srcdir=$TMPDIR/fuzz abs_top_builddir=$TMPDIR/fuzz/b "$@" 2>&1
}
main=$abs_top_srcdir/tests/lib/fuzz_main.c
# shellcheck disable=SC2086 # CC may carry options
build_target() {
    ${CC:-cc} -D_GNU_SOURCE -DBAD="$1" target.c "$main" -o "$2"
}
ok "fuzz targets build" build_target "'{'" fuzz_x
out=$(fuzz ./fuzz_x)
like "a bad input ends the program" "$?" '^134$'
like "after the corpus" "$out" 'ok 1 - 3 inputs of the corpus'
not_ok "the bad input is kept and does it again" bash -c './fuzz_x fuzz/b/test-logs/fuzz_x.crash ||
    exit 1'
cp fuzz/b/test-logs/fuzz_x.crash first
fuzz ./fuzz_x >/dev/null
ok "it is the same every time" cmp first fuzz/b/test-logs/fuzz_x.crash
ok "a target without a fault builds" build_target 300 fuzz_y
is "and passes" "$(fuzz ./fuzz_y)" "ok 1 - 1 inputs of the corpus
ok 2 - 3000 mutations
1..2"
not_ok "nothing is kept" test -e fuzz/b/test-logs/fuzz_y.crash

# The runner for ThreadSanitizer judges as Criterion does, and sees through exit(0).
cat >cases.c <<'C'
#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/parameterized.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int ready;
static void init(void) { ready = 1; }
TestSuite(with_init, .init = init);
Test(with_init, ok) { cr_assert(ready); }
Test(a, own_init, .init = init) { cr_assert(ready); }
Test(a, bad) { cr_assert(0, "first"); }
Test(a, bad_but_goes_on) { cr_expect(0, "second"); }
Test(a, skipped) { cr_skip_test("skip: install %s", "x"); }
Test(a, crash) { abort(); }
Test(a, abort_wanted, .signal = SIGABRT) { abort(); }
Test(a, status_wanted, .exit_code = 3) { exit(3); }
Test(a, slow, .timeout = 0.02) { sleep(10); }
Test(a, exits) { exit(0); }
Test(a, talks) { cr_log_info("said %d", 1); }
ParameterizedTestParameters(p, q)
{
    static int x[3] = {1, 2, 3};
    return cr_make_param_array(int, x, 3);
}
ParameterizedTest(int *i, p, q) { cr_assert(*i != 2, "param %d", *i); }
C
if ! echo '#include <criterion/criterion.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    skip "the plain runner" "install libcriterion-dev"
else
    # shellcheck disable=SC2086 # CC may carry options
    ok "tests build with the plain runner" ${CC:-cc} -D_GNU_SOURCE cases.c \
        "$abs_top_srcdir/tests/lib/plain_runner.c" -o cases -lcriterion
    out=$(./cases 2>err)
    is "the plain runner fails when a case does" "$?" 1
    is "the plain runner's verdicts" "$(sort <<<"$out")" "1..14
not ok - a::bad an assert failed
not ok - a::bad_but_goes_on an assert failed
not ok - a::crash unexpected signal
not ok - a::exits it called exit
not ok - a::slow timed out
not ok - p::q an assert failed
ok - a::abort_wanted
ok - a::own_init
ok - a::skipped # SKIP skip: install x
ok - a::status_wanted
ok - a::talks
ok - p::q
ok - p::q
ok - with_init::ok"
    like "the plain runner says what failed" "$(cat err)" 'cases.c:[0-9]+: param 2'
fi
done_testing
