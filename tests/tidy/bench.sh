#!/bin/bash
# bench.sh - build-aux/run-bench prints figures and fails when a benchmark fails or prints none.
#
# Owns: planted benchmark programs. Must not: measure anything.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
mkdir b
runner=$abs_top_srcdir/build-aux/run-bench

# bench TEXT...: run one program for each TEXT; output in $out, status in $status.
bench() {
    local n=0 names=() text
    for text; do
        n=$((n + 1))
        printf '#!/bin/sh\n%s\n' "$text" >"b/bench-$n"
        chmod +x "b/bench-$n"
        names+=("bench-$n")
    done
    out=$(abs_top_srcdir=$TMPDIR abs_top_builddir=$TMPDIR/b \
        bash "$runner" "${names[@]}" 2>/dev/null)
    status=$?
}
bench 'echo talk; echo "figure a/b 1.5 ratio"; echo more >&2' 'echo "figure c -2 ms"'
is "figures, and nothing else, are printed" "$out" "figure a/b 1.5 ratio
figure c -2 ms"
is "status 0" "$status" 0
ok "the rest is in the log" grep -q talk b/bench-logs/bench-1.log
bench 'echo "figure a 1 s"; exit 3'
is "a failing benchmark fails" "$status" 1
bench 'echo nothing'
is "a benchmark without a figure fails" "$status" 1
bench 'echo "figure a fast s"'
is "a figure that is not a number fails" "$status" 1
bench
is "no benchmark at all fails" "$status" 1
bench 'touch here; echo "figure a $(ls | wc -l) files"' 'echo "figure b $(ls | wc -l) files"'
is "each runs in a directory of its own" "$out" "figure a 2 files
figure b 1 files"
none "which is removed" "$(find b/bench-logs -name 'run.*')"
done_testing
