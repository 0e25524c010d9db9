#!/bin/bash
# headers.sh - the public header compiles alone as C99 and as C++, and every room's header alone.
#
# Owns: the check that a header includes what it needs.
# shellcheck disable=SC2086 # flags are lists
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"
cc=${CC:-cc}
strict='-fsyntax-only -Wall -Wextra -Wpedantic -Werror'

alone() {
    local language=$1 compiler=$2 header=$3
    shift 3
    printf '#include "%s"\n' "$header" >"$TMPDIR/alone.$language"
    $compiler $strict "$@" "$TMPDIR/alone.$language"
}
ok "durable.h alone as C99" alone c "$cc" durable.h -std=c99 -Iinclude
ok "durable.h alone as C17" alone c "$cc" durable.h -std=c17 -Iinclude
if command -v g++ >/dev/null; then
    ok "durable.h alone as C++11" alone cc g++ durable.h -std=c++11 -Iinclude
    ok "durable.h alone as C++20" alone cc g++ durable.h -std=c++20 -Iinclude
else
    skip "durable.h alone as C++" "install g++"
fi
none "durable.h names no third-party header" "$(files '-name *.h' include |
    xargs grep -HnE '^ *# *include' |
    grep -vE '<(stddef|stdint|stdarg|stdbool)\.h>|"durable/[a-z]+\.h"')"

bad=
for header in $(files '-name *.h' src); do
    printf '#include "%s"\n' "${header#src/}" >"$TMPDIR/alone.c"
    # shellcheck disable=SC2086 # flags are lists
    out=$($cc -std=gnu17 -fsyntax-only -Wall -Werror -include "$abs_top_builddir/config.h" \
        -Isrc -Iinclude -I"$abs_top_builddir/src" ${ROOM_CFLAGS:-} "$TMPDIR/alone.c" 2>&1) ||
        bad+="$header: $out"$'\n'
done
none "every room's header compiles alone" "${bad%$'\n'}"
done_testing
