#!/bin/bash
# t0655-history-files.sh - factory history on files: show, validate, diff, import, export, and back.
. "$abs_top_srcdir/tests/lib/cli.sh"
golden=$abs_top_srcdir/tests/golden
cp "$golden/history_example.json" demo.json

like "help lists the verbs" "$("$factory" history --help)" 'show.*export.*import.*validate.*diff'
like "help of a verb" "$("$factory" history diff --help)" 'history diff .*RUN.FILE RUN.FILE'

# --- show
text=$("$factory" history demo.json)
is "a file is shown: status 0" "$?" 0
like "without the verb" "$text" '^ +1  [0-9:.]+  WorkflowExecutionStarted +demo'
is "and with it" "$("$factory" history show demo.json)" "$text"
is "from standard input" "$("$factory" history show - <demo.json)" "$text"
like "the last line" "$(tail -n 1 <<<"$text")" '^20 events, '
like "as JSON" "$("$factory" history show --json demo.json)" '"eventType": "EVENT_TYPE_TIMER_FIRED"'
"$factory" history show none.json 2>err.txt
is "no such file: status 4" "$?" 4
like "is named" "$(cat err.txt)" 'none.json'
echo '{"events":[{"eventId":"x"}]}' >bad.json
"$factory" history show bad.json 2>err.txt
is "no history: status 1" "$?" 1
like "the error has file, event and member" "$(cat err.txt)" 'bad.json: event at index 0.*eventId'

# --- validate
out=$("$factory" history validate demo.json "$golden/history_wire.bin" bad.json)
is "not all valid: status 1" "$?" 1
like "a good one" "$out" 'demo.json: valid, 20 events, closed'
like "a bad one names the event and the rule" "$out" 'history_wire.bin: refused: event . .*breaks H'
like "one that is none is a finding too" "$out" 'bad.json: refused: event at index 0'
ok "all valid: status 0" "$factory" history validate demo.json
json=$("$factory" history validate --json demo.json bad.json)
like "as JSON" "$json" '"schema": 1,.*"valid": true,.*"events": 20,.*"valid": false'
sed '/"eventId":"7"/d' demo.json >gap.json
like "a gap" "$("$factory" history validate gap.json)" 'event 8 .* breaks H2'

# --- import
db=$workshop/other.db
out=$("$factory" history import demo.json --db "$db")
is "imported: status 0" "$?" 0
like "says what it is" "$out" '^demo-1@[0-9a-f-]{36}: 20 events, Completed$'
"$factory" history import demo.json --db "$db" 2>err.txt
is "twice: status 1" "$?" 1
like "and why" "$(cat err.txt)" 'demo.json: the store has run'
json=$("$factory" history import demo.json --db "$db" --id copy --json)
like "under another id, as JSON" "$json" '"id": "copy",.*"status": "Completed",.*"events": 20'
"$factory" history import gap.json --db "$db" --id gap 2>err.txt
is "an invalid one: status 1" "$?" 1
like "names the rule" "$(cat err.txt)" 'gap.json: event 8 .* breaks H2'
like "the store lists it" "$("$factory" engine list --db "$db")" 'copy .*Completed'
like "shown from the store" "$("$factory" history --db "$db" demo-1)" 'TimerFired'
sed '/"eventId":"12"/,/"eventId":"20"/d; s/"11",\(.*\)},$/"11",\1}/' demo.json >open.json
like "an open one is paused" "$("$factory" history import open.json --db "$db" --id open)" \
    '^open@.*: 11 events, Paused'

# --- export
"$factory" history export demo-1 --db "$db" >out.json
is "exported: status 0" "$?" 0
ok "it is what was imported" cmp out.json demo.json
like "to a file" "$("$factory" history export demo-1 --db "$db" --format proto -o out.bin)" \
    '^out.bin: [0-9.]+ (B|KiB)$'
is "nothing else is left" "$(ls out.*)" "$(printf 'out.bin\nout.json')"
ok "the binary form says the same" "$factory" history diff out.bin demo.json --all
"$factory" history export demo-1 --db "$db" --format xml 2>err.txt
is "no such format: status 2" "$?" 2
"$factory" history export none --db "$db" 2>err.txt
is "no such run: status 4" "$?" 4
"$factory" history export demo-1 --db "$db" -o nowhere/x.json 2>err.txt
is "no such directory: status 1" "$?" 1

# --- sealed
printf '{"active":"k1","keys":{"k1":"%s"}}' "$(head -c 32 /dev/urandom | base64 -w 0)" >ring.json
sealed=$workshop/sealed.db
"$factory" history import demo.json --db "$sealed" --keyring ring.json 2>err.txt
is "a keyring that others may read: status 2" "$?" 2
like "says what to do" "$(cat err.txt)" 'keyring ring.json: its mode is .*chmod 600'
chmod 600 ring.json
"$factory" history import demo.json --db "$sealed" --keyring ring.json >/dev/null
is "imported into a store with a keyring: status 0" "$?" 0
"$factory" history export demo-1 --db "$sealed" --keyring ring.json >opened.json
ok "exported with the keyring it is what was imported" cmp opened.json demo.json
"$factory" history export demo-1 --db "$sealed" >sealed.json
is "without: status 0" "$?" 0
like "its payloads are sealed" "$(cat sealed.json)" 'YmluYXJ5L2VuY3J5cHRlZA=='
is "not one shows" "$(grep -c anNvbi9wbGFpbg sealed.json)" 0
like "shown as such" "$("$factory" history --all --db "$sealed" demo-1)" 'TimerFired'
"$factory" history import sealed.json --db "$db" --id sealed 2>err.txt
is "sealed, into a store without: status 1" "$?" 1
like "names the key" "$(cat err.txt)" 'sealed with the key "k1"'
"$factory" history import sealed.json --db "$sealed" --keyring ring.json --id again >/dev/null
is "and into one with: status 0" "$?" 0
"$factory" history import demo.json --keyring ring.json 2>err.txt
is "--keyring without --db: status 2" "$?" 2
ok "the payloads are in the file of the one" grep -q "hi ada" other.db
is "and not in that of the other" "$(grep -l 'hi ada' sealed.db*)" ""

# --- diff
is "the same" "$("$factory" history diff demo.json --db "$db" demo-1)" "the same"
sed 's/"name":"greet"/"name":"wave"/; s/2026-01-02/2027-01-02/' demo.json >other.json
out=$("$factory" history diff demo.json other.json)
is "different: status 1" "$?" 1
like "which events" "$out" '^< +5  ActivityTaskScheduled +greet.*> +5  ActivityTaskScheduled +wave'
unlike "times are left out" "$out" 'time is'
like "but with --all" "$("$factory" history diff --all demo.json other.json)" 'the time is'
sed 's/"data":"ImhpIGFkYSI="/"data":"ImhpIGJvYiI="/' demo.json >result.json
like "what differs" "$("$factory" history diff demo.json result.json)" \
    '^!    7  ActivityTaskCompleted +result is .*bob.*expected .*ada'
json=$("$factory" history diff --json demo.json result.json)
like "as JSON" "$json" '"same": false,.*"left_event": 7'
"$factory" history diff - - 2>err.txt
is "standard input twice: status 2" "$?" 2
done_testing
