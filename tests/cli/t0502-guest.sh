#!/bin/bash
# t0502-guest.sh - factory guest: hidden, and refuses to be started by hand without its options.
. "$abs_top_srcdir/tests/lib/cli.sh"
"$factory" guest >out.txt 2>err.txt </dev/null
is "without options: status 2" "$?" 2
like "it says so" "$(cat err.txt)" '^factory: '
"$factory" guest --no-such-option >out.txt 2>err.txt </dev/null
is "an unknown option: status 2" "$?" 2
unlike "help does not list it" "$("$factory" help)" '  guest'
done_testing
