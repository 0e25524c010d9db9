#!/bin/bash
# t0503-sandbox-supervisor.sh - factory sandbox-supervisor: hidden, and not for
# starting by hand.
. "$abs_top_srcdir/tests/lib/cli.sh"
not_ok "without arguments" "$factory" sandbox-supervisor
not_ok "with nonsense" "$factory" sandbox-supervisor /nonexistent --what
unlike "help does not list it" "$("$factory" help)" 'supervisor'
is "it makes nothing" "$(ls -A)" ""
done_testing
