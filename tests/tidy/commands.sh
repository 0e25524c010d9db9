#!/bin/bash
# commands.sh - every command has its row, its file, its man page, its test and its completion.
#
# Owns: the reading of cli's cmd_list.h, whose rows are "CMD(NAME, ...)", one a line. NAME's
# underscores are hyphens in the man page and on the command line.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

[ -e src/cli/cmd_list.h ] || skip_all "this tree has no src/cli/cmd_list.h"
rows=$(code src/cli/cmd_list.h | cut -d: -f3- | grep -v define |
    grep -oE '(^|[^A-Za-z_])CMD\([a-z][a-z0-9_]*' | sed 's/.*(//')

ok "there are rows" test -n "$rows"
none "no row twice" "$(sort <<<"$rows" | uniq -d)"
none "every row has its file" "$(for row in $rows; do
    [ -e "src/cli/cmd_$row.c" ] || echo "src/cli/cmd_$row.c"
done)"
none "every command file has its row" "$(for file in src/cli/cmd_*.c; do
    row=${file#src/cli/cmd_}
    grep -qxF "${row%.c}" <<<"$rows" || echo "$file"
done)"
none "every row has its man page" "$(for row in $rows; do
    page=docs/man/factory-${row//_/-}.1.scd
    [ -e "$page" ] || echo "$page"
done)"
none "every row has its test" "$(for row in $rows; do
    word=${row//_/-}
    grep -lqE "^t[0-9]{4}-([a-z0-9-]+-)?$word(-[a-z0-9-]+)?\.sh$" <(ls tests/cli) ||
        echo "tests/cli/tNNNN-$word.sh"
done)"
none "every row is completed" "$(for shell in bash zsh fish; do
    file=contrib/completion/factory.$shell
    [ -e "$file" ] || { echo "$file"; continue; }
    # A shim asks the program itself; anything else has to know every name.
    grep -q __complete "$file" && continue
    for row in $rows; do
        grep -qw -e "${row//_/-}" "$file" || echo "$file: ${row//_/-}"
    done
done)"
done_testing
