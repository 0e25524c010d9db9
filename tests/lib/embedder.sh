# embedder.sh - programs of others: built in C99 with nothing but the headers and libdurable.so.
#
# Owns: the copy of the public headers in $TMPDIR, where the script then is, and the one way to
# build against them. Skips the script when this tree builds no shared library.
. "$abs_top_srcdir/tests/lib/tap.sh"
library=$abs_top_builddir/.libs/libdurable.so
[ -e "$library" ] || skip_all "this tree builds no libdurable.so"
cd "$TMPDIR" || exit 1
cp -R "$abs_top_srcdir/include" include

# embedder FILE.c OUT [FLAG...]: build the program.
# shellcheck disable=SC2086 # flags are lists
embedder() {
    local file=$1 out=$2
    shift 2
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror ${SANITIZE_CFLAGS:-} "$@" -Iinclude "$file" \
        -o "$out" -L"$abs_top_builddir/.libs" -Wl,-rpath,"$abs_top_builddir/.libs" -ldurable
}
