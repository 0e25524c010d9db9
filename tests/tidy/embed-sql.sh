#!/bin/bash
# embed-sql.sh - the generated C arrays hold the SQL byte for byte, and bad names are refused.
#
# Owns: the checks of build-aux/embed-sql. Must not: look at the real migrations.
. "$abs_top_srcdir/tests/lib/tap.sh"

embed() {
    sh "$abs_top_srcdir/build-aux/embed-sql" "$@"
}

cd "$TMPDIR" || exit 1
printf 'CREATE TABLE a("b\\c\t??/");\n\n-- \303\274 %%s \\n\r\nlast' >0001_init.sql
printf '\n\nx\\\n\n' >0002_next.sql
cat >main.c <<'C'
#include "base/embedded_sql.h"
#include <stdio.h>
extern const struct embedded_sql steps[];
int main(int argc, char **argv)
{
    const struct embedded_sql *step = &steps[argc - 1];
    (void)argv;
    return step->name ? fputs(step->sql, stdout) < 0 : 9;
}
C
cc=${CC:-cc}
# shellcheck disable=SC2086 # CC may carry options
build() {
    embed steps "$@" >steps.c &&
        $cc -std=gnu17 -Wall -Werror -I"$abs_top_srcdir/src" steps.c main.c -o main
}
ok "files become an array that compiles" build 0002_next.sql 0001_init.sql
./main >out1
ok "the first step is the file, byte for byte" cmp out1 0001_init.sql
./main second >out2
ok "the second step too, with its last newline" cmp out2 0002_next.sql
./main the end
is "the array ends with a NULL name" "$?" 9
ok "no files give an empty array" build
./main
is "the empty array ends at once" "$?" 9

cp 0001_init.sql 0003_gap.sql
not_ok "a gap in the numbers is refused" embed steps 0001_init.sql 0003_gap.sql
cp 0001_init.sql 0002_twice.sql
not_ok "a number used twice is refused" embed steps 0001_init.sql 0002_next.sql 0002_twice.sql
cp 0001_init.sql 0001_Bad-Name.sql
not_ok "a name that is not a-z 0-9 _ is refused" embed steps 0001_Bad-Name.sql
cp 0001_init.sql 0001_.sql
not_ok "a step without a name is refused" embed steps 0001_.sql
cp 0001_init.sql 0001_init.txt
not_ok "another suffix is refused" embed steps 0001_init.txt
: >0001_empty.sql
not_ok "an empty file is refused" embed steps 0001_empty.sql
not_ok "a missing file is refused" embed steps 0001_missing.sql
done_testing
