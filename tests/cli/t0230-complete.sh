#!/bin/bash
# t0230-complete.sh - factory __complete: candidates from the table, the configuration, the store.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

# words WORD...: the candidates alone, on one line.
words() {
    "$FACTORY" __complete "$@" | cut -f1 | paste -sd' '
}

none "every command that help shows is offered" "$("$FACTORY" help |
    sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | while read -r name; do
    grep -qx "$name" <("$FACTORY" __complete '' | cut -f1) || echo "$name"
done)"
unlike "hidden ones are not" "$(words '')" 'guest|__complete'
is "by its beginning" "$(words docto)" doctor
like "with what it is" "$("$FACTORY" __complete docto)" $'^doctor\tcheck this machine'
is "global options" "$(words --)" "--config --help --version"
is "a file behind --config" "$(words --config '')" :files
is "options of a command" "$(words doctor --)" "--json --offline --help"
is "behind --config X too" "$(words --config x doctor --o)" --offline
is "words of a command" "$(words config '')" "validate show"
is "the second is another" "$(words config validate '')" ""
is "an option in between counts for nothing" "$(words config --json '')" "validate show"
is "behind -- come words" "$(words config -- s)" show
is "a command that is not there" "$(words nonsense '')" ""
is "nothing at all" "$(words | wc -w)" "$(words '' | wc -w)"
is "directories" "$(words run --local-path '')" :dirs
is "files" "$(words run --task-file x)" :files

is "no agents without a configuration" "$(words run --agent '')" ""
cat >factory.ini <<'END'
[harnesses.Codex]
type = generic
executable = codex
[harnesses.greeter]
type = generic
executable = greeter
[verification.strict.unit-tests]
argv = ["true"]
END
is "agents" "$(words run --agent '')" "codex greeter"
is "agents, as bash splits --agent=g" "$(words run --agent = g)" greeter
is "profiles" "$(words run --verification s)" strict
is "run ids: none without a store" "$(words status '')" ""
is "sandboxes: none" "$(words sandboxes destroy '')" ""
is "and nothing was made" "$(ls -A)" factory.ini
echo nonsense >>factory.ini
is "a broken configuration: nothing, in silence" "$("$FACTORY" __complete run --agent '' 2>&1)" ""

# A store that answers late: what is not there in time is left out.
rm factory.ini && mkdir .factory && mkfifo .factory/factory.db
ok "it ends" timeout 30 "$FACTORY" __complete status ''
done_testing
