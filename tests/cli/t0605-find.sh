#!/bin/bash
# t0605-find.sh - naming a run; a missing store, a broken configuration; looking makes nothing.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
looks=("status X" "logs X" "get runs" "describe run X" "history X" "cancel X")

for words in "${looks[@]}"; do
    # shellcheck disable=SC2086 # words are words
    text=$("$factory" $words 2>&1)
    is "$words without a store: status 4" "$?" 4
    like "and it says so" "$text" 'there is no store in .*/.factory yet'
done
is "nothing was made" "$(ls -A)" ""

make_repository
make_config
run greeter --run-id apple-1
is "a named run succeeds" "$rc" 0
run greeter --run-id apple-2
run greeter
long=$("$factory" get runs --json | sed -n 's/.*"run_id": "\(run-[0-9a-f]*\)".*/\1/p')
find . -path ./err.txt -prune -o -print | sort >before.txt
like "the whole id" "$("$factory" status "$long")" SUCCEEDED
like "a beginning" "$("$factory" status "${long:0:9}")" SUCCEEDED
like "without run-" "$("$factory" status "${long#run-}")" SUCCEEDED
like "a beginning without run-" "$("$factory" status "${long:4:8}")" SUCCEEDED
like "the workflow's id" "$("$factory" status "factory-run-$long")" SUCCEEDED
text=$("$factory" status apple 2>&1)
is "a beginning of two: status 2" "$?" 2
like "both are told" "$text" 'apple-2, apple-1'
like "an exact id wins" "$("$factory" describe run apple-1)" 'apple-1'
for words in "${looks[@]}"; do
    case $words in get*) continue ;; esac
    # shellcheck disable=SC2086
    text=$("$factory" ${words/X/aple-1} 2>&1)
    is "$words of a typo: status 4" "$?" 4
    like "and the nearest" "$text" 'there is no run aple-1; did you mean apple-1\?'
done
text=$("$factory" status $'\e[31mx' 2>&1)
is "escape sequences are not repeated" "$text" \
    "factory: there is no run x; factory get runs lists them"
not_ok "an empty id" "$factory" status ""
not_ok "a path" "$factory" status ../../etc
find . -path ./err.txt -prune -o -path ./before.txt -prune -o -print | sort >after.txt
none "looking made nothing" "$(comm -13 before.txt after.txt | grep -v -e after.txt -e before.txt)"

if [ "$(id -u)" = 0 ]; then
    skip "a store that may not be looked at is no missing one" "run as an ordinary user"
else
    chmod 0 .factory
    text=$("$factory" status apple-1 2>&1)
    is "a store that may not be looked at is no missing one" "$?" 1
    like "it says why" "$text" 'cannot look at .*: Permission denied'
    chmod 0750 .factory
fi

# A configuration that does not validate.
echo 'nonsense here' >>factory.ini
for words in "${looks[@]}"; do
    # shellcheck disable=SC2086
    text=$("$factory" ${words/X/apple-1} 2>&1)
    is "$words with a broken configuration" "$?" 0
    like "it is told" "$text" 'the configuration does not validate'
done
printf '[storage]\ndata_dir = .factory\n[nonsense\n' >factory.ini
like "data_dir is read leniently" "$("$factory" status apple-1 2>/dev/null)" SUCCEEDED
FACTORY_DATA_DIR=$data
export FACTORY_DATA_DIR
like "or comes from the environment" "$(cd / && "$factory" status apple-1)" SUCCEEDED
text=$("$factory" --config /nonexistent/factory.ini run --rev x --task x 2>&1)
is "a run needs a configuration" "$?" 3
no_process_left
done_testing
