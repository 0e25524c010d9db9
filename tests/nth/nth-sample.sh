#!/bin/bash
# nth-sample.sh - a sample of `make nth`: a call of each kind on the main paths fails, once and for
# ever, and what comes of it is clean; and the bugs that are planted in the tool itself are found.
. "$abs_top_srcdir/tests/lib/tap.sh"
nth=$abs_top_builddir/tests/lib/nth
case ${SANITIZE_CFLAGS-} in
*address* | *thread*) skip_all "sanitizers stand in front of the C library too" ;;
esac

ok "every planted bug is found" "$nth" --planted
for path in fresh client upgrade histories; do
    ok "$path: whatever fails, the end is clean" "$nth" --sample 1 --path "$path"
done
done_testing
