#!/bin/bash
# bench.sh - build-aux/run-bench prints figures and fails when a benchmark fails or prints none;
# bench-table judges them, plot-svg draws them.
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

table() {
    printf 'figure %s\n' "$@" | abs_top_builddir='' bash "$abs_top_srcdir/build-aux/bench-table"
}
judged=$(table 'recovery_ms 1000 ms' 'sequential_ratio 0.849 ratio' 'other 3 ms')
ok "figures pass through the table" grep -qx 'figure other 3 ms' <<<"$judged"
ok "one at its budget is good" grep -q '^recovery_ms .* good' <<<"$judged"
ok "one beyond it is a miss" grep -q '^sequential_ratio .* MISS' <<<"$judged"
ok "and they are counted" grep -qx '1 of 2 within their budget' <<<"$judged"
none "without a budget there is no table" "$(table 'other 3 ms' | grep -v '^figure')"

svg=$(printf 'a 1 10\na 100 1000\nb 1 20\n' |
    awk -v title=T -v xlabel=X -v ylabel=Y -v ylog=1 -f "$abs_top_srcdir/build-aux/plot-svg")
is "a plot has a mark for each point and one for each series" \
    "$(grep -oE '<(circle|rect)' <<<"$svg" | sort | uniq -c | tr -s ' \n' ' ')" \
    " 3 <circle 2 <rect "
for text in T X Y a b 100; do
    ok "it says $text" grep -q ">$text</text>" <<<"$svg"
done
fails=$(awk -v title=T -f "$abs_top_srcdir/build-aux/plot-svg" </dev/null || echo no)
is "without a point there is no picture" "$fails" no
done_testing
