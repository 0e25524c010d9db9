#!/bin/bash
# t0602-run-terminal.sh - factory run on a terminal: lines in place, widths, colour, Ctrl-C.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
needs script bsdutils
make_repository
make_config

# on_terminal COLUMNS COMMAND: what it wrote to a terminal of that width, 40 rows high.
on_terminal() {
    TERM=xterm script -qec "stty cols $1 rows 40; $2" /dev/null </dev/null | tr -d '\r'
}
# The longest line in characters, colours and cursor movements taken away. Paths may be longer.
longest() {
    sed -e $'s/\e\\[[0-9;]*[A-Za-z]//g' | grep -v /runs/ | LC_ALL=C.UTF-8 wc -L
}
run_line="'$factory' run --local-path greeting --rev main --agent short --task Greet"

for columns in 40 60 120; do
    text=$(on_terminal "$columns" "$run_line")
    like "$columns columns: it succeeds" "$text" 'FACTORY RESULT: .*SUCCEEDED'
    like "lines are written again" "$text" $'\e\\[[0-9]+A'
    ok "no line is wider" test "$(longest <<<"$text")" -le "$columns"
done
like "the agent's last line is shown" "$text" '●[^ ]* agent +[0-9.]+s   line [0-9]+'
like "what comes too" "$text" '┄ collect · audit · gates · cleanup'
like "and how to leave" "$text" '\^C leaves it running'
like "in colour" "$text" $'\e\\[32m✓'
text=$(NO_COLOR=1 on_terminal 80 "$run_line")
unlike "NO_COLOR: none" "$text" $'\e\\[[0-9]*m'
text=$(TERM=dumb script -qec "TERM=dumb $run_line" /dev/null </dev/null)
unlike "a dumb terminal: plain lines" "$text" $'\e'

id=$("$factory" get runs -n 1 --json | sed -n 's/.*"run_id": "\(.*\)",/\1/p')
for columns in 40 60 120; do
    for words in "get runs" "describe run $id" "status $id" "history $id"; do
        text=$(on_terminal "$columns" "'$factory' $words")
        ok "$columns columns: ${words%% *} fits" test "$(longest <<<"$text")" -le "$columns"
    done
done
text=$(COLUMNS=50 "$factory" get runs)
ok "COLUMNS counts in a pipe" test "$(longest <<<"$text")" -le 50
text=$("$factory" get runs)
like "without it nothing is cut" "$text" 'run-[0-9a-f]{24} '

# Ctrl-C.
"$factory" run --local-path greeting --rev main --agent slow --task x --run-id left \
    >out.txt 2>err.txt &
client=$!
ok "the agent works" wait_for "agent, attempt 1" "$factory" status left
kill -INT "$client"
wait "$client"
is "Ctrl-C: status 130" "$?" 130
like "it says how to follow" "$(cat err.txt)" 'run left goes on.*factory status left --watch'
like "and how to stop" "$(cat err.txt)" 'factory cancel left'
like "the run goes on" "$("$factory" status left)" 'RUNNING'
"$factory" status left --watch >watch.txt 2>err.txt &
client=$!
ok "somebody watches" wait_for repository cat watch.txt
kill -INT "$client"
kill -INT "$client"
wait "$client"
is "twice is no worse" "$?" 130
"$factory" cancel left --wait >/dev/null
is "it can be cancelled" "$?" 16
no_process_left
done_testing
