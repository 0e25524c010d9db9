#!/bin/bash
# manual.sh - durable(3) has every function of libdurable, each with a word of explanation, and the
# pages of the functions' names lead there.
#
# Owns: the comparison of header, library and man page.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"
make_page="${AWK:-awk} -f $abs_top_srcdir/build-aux/durable-man.awk"
# durable.h and its parts, in its order.
headers="$abs_top_srcdir/include/durable.h $(sed -n \
    's|^#include "\(durable/[a-z]*\.h\)"$|'"$abs_top_srcdir"'/include/\1|p' include/durable.h |
    tr '\n' ' ')"
library=$abs_top_builddir/.libs/libdurable.so

page=$TMPDIR/durable.3
ok "the page is made" sh -c "$make_page -v version=1 \
    -v example='$abs_top_srcdir/contrib/examples/order.c' $headers >'$page'"
names=$($make_page -v names=1 $headers | sort -u)
ok "it is long" test "$(wc -l <"$page")" -ge 500
none "every function has a heading" "$(while IFS= read -r name; do
    grep -qE "^\.SS (.*, )?$name(,.*)?$" "$page" || echo "$name"
done <<<"$names")"
none "every function is shown as a caller writes it" "$(while IFS= read -r name; do
    grep -qE "[ *]$name\(" "$page" || echo "$name"
done <<<"$names")"
none "every function is explained" "$($make_page -v check=1 $headers)"
none "none shows what its macro adds" "$(grep -nE '_at\(|_size[,)]' "$page")"
if [ -e "$library" ]; then
    needs nm binutils
    exported=$(nm -D --defined-only "$library" |
        awk '$2 ~ /[A-Z]/ && $2 != "A" { sub(/@.*/, "", $3); sub(/_at$/, "", $3); print $3 }' |
        sort -u)
    none "in the library and not in the page" "$(comm -13 <(echo "$names") <(echo "$exported"))"
    none "in the page and not in the library" "$(comm -23 <(echo "$names") <(echo "$exported"))"
else
    skip "the library's functions are the page's" "this tree builds no libdurable.so"
fi
if command -v groff >/dev/null; then
    none "groff reads it without a warning" "$(groff -man -ww -z "$page" 2>&1)"
else
    skip "groff reads it without a warning" "install groff"
fi
done_testing
