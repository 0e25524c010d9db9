#!/bin/bash
# fuzz.sh - build-aux/run-fuzz finds what a target finds, counts its runs, and refuses nonsense.
#
# Owns: a planted tree whose targets are scripts that speak as libFuzzer does; no clang is needed.
# Must not: fuzz anything real (make fuzz does).
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
runner=$abs_top_srcdir/build-aux/run-fuzz
mkdir -p bin src/tests/fuzz/corpus/{good,bad} b/fuzz-tree/tests/fuzz
echo hello >src/tests/fuzz/corpus/good/by-hand

# A compiler whose libFuzzer works, or not.
printf '#!/bin/sh\nexit 0\n' >bin/cc-good
printf '#!/bin/sh\nexit 1\n' >bin/cc-bad
chmod +x bin/*
# The tree is configured and built already; targets that report.
printf 'all tests/fuzz/fuzz_good tests/fuzz/fuzz_bad:\n' >b/fuzz-tree/Makefile
target() {
    printf '#!/bin/bash\n%s\n' "$2" >"b/fuzz-tree/tests/fuzz/fuzz_$1"
    chmod +x "b/fuzz-tree/tests/fuzz/fuzz_$1"
}
target good 'for a; do case $a in -merge=1) merge=1 ;; -runs=*) runs=${a#-runs=} ;; esac; done
if [ "${merge:-}" ]; then echo more >"$2/0123456789abcdef"; exit 0; fi
echo "#9 DONE cov: 41 ft: 7"; echo "stat::number_of_executed_units: $runs"
echo "stat::average_exec_per_sec: 500"'
target bad 'echo "stat::number_of_executed_units: 3"; exit 77'
fuzz() {
    out=$(abs_top_srcdir=$TMPDIR/src abs_top_builddir=$TMPDIR/b \
        FUZZ_CC=$TMPDIR/bin/${CC_IS:-cc-good} FUZZ_JOBS=1 FUZZ_RUNS=${RUNS:-20} \
        FUZZ_KEEP=${KEEP:-} bash "$runner" "$@" 2>&1)
    status=$?
}

fuzz tests/fuzz/fuzz_good
is "a target that finds nothing passes" "$status" 0
like "its runs and reach are told" "$out" "good +20 +500/s +41 edges +clean"
fuzz tests/fuzz/fuzz_good tests/fuzz/fuzz_bad
is "a finding fails" "$status" 1
like "and is told" "$out" "bad +3 .*FOUND SOMETHING"
CC_IS=cc-bad fuzz tests/fuzz/fuzz_good
is "without libFuzzer it is a skip" "$status" 77
like "that says what to install" "$out" "install clang and its libclang-rt-dev"
RUNS=many fuzz tests/fuzz/fuzz_good
is "a number of runs that is none is refused" "$status" 2
fuzz
is "no target at all is refused" "$status" 2
is "nothing was written into the source tree" "$(find src -type f)" \
    src/tests/fuzz/corpus/good/by-hand
KEEP=yes fuzz tests/fuzz/fuzz_good
is "FUZZ_KEEP adds what reaches more" "$(cd src/tests/fuzz/corpus/good && echo *)" \
    "by-hand f-0123456789ab"
is "and leaves what people wrote" "$(cat src/tests/fuzz/corpus/good/by-hand)" hello
done_testing
