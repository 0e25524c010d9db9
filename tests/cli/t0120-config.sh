#!/bin/bash
# t0120-config.sh - factory config validate and show: one line when good, every problem when not.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

err=$("$FACTORY" config validate 2>&1)
is "without a file: status 3" "$?" 3
like "and what makes one" "$err" 'factory init'
not_ok "a word is needed" "$FACTORY" config
not_ok "of two" "$FACTORY" config check

cat >factory.ini <<'END'
[harnesses.Codex]
type = generic
executable = codex
[verification.default.build]
argv = ["./build.sh"]
END
out=$("$FACTORY" config validate)
is "a good file: status 0" "$?" 0
like "one line says so" "$out" \
    '^configuration ok: factory.ini, 1 agent, 1 profile, digest [0-9a-f]{12}$'
like "the same as JSON" "$("$FACTORY" config validate --json)" '"ok": true'
is "it makes nothing" "$(ls -A)" factory.ini

shown=$("$FACTORY" config show)
is "show: status 0" "$?" 0
like "show prints the canonical name" "$shown" '"codex": \{'
like "and defaults" "$shown" '"agent_timeout_ms": 1800000'
if command -v python3 >/dev/null; then
    ok "show is JSON, and the digest is of its config" python3 -c '
import hashlib, json, sys
shown = json.loads(sys.argv[1])
compact = json.dumps(shown["config"], separators=(",", ":"), ensure_ascii=False)
assert hashlib.sha256(compact.encode()).hexdigest() == shown["digest"]' "$shown"
else
    skip "show is JSON, and the digest is of its config" "install python3"
fi
like "the environment's data directory wins" \
    "$(FACTORY_DATA_DIR=/else/where "$FACTORY" config show)" '"data_dir": "/else/where"'

cat >bad.ini <<'END'
[verification.default.build]
argv = ./build.sh --fast
[limit]
[limits]
agent_timout = 5m
END
err=$("$FACTORY" --config bad.ini config validate 2>&1 >out.txt)
is "problems: status 3" "$?" 3
is "all of them, in order, with what to write" "$err" \
    "factory: bad.ini:2: [verification.default.build] argv: expected a JSON list of strings,\
 found: ./build.sh --fast
factory:   write: argv = [\"./build.sh\", \"--fast\"]
factory: bad.ini:3: [limit]: unknown section; did you mean [limits]?
factory: bad.ini:5: [limits] agent_timout: unknown key; did you mean agent_timeout?"
is "nothing on standard output" "$(cat out.txt)" ""
json=$("$FACTORY" --config bad.ini config validate --json)
is "as JSON: status 3" "$?" 3
like "as JSON: ok is false" "$json" '"ok": false'
is "as JSON: three problems" "$(grep -c 'bad.ini:' <<<"$json")" 3
err=$(FACTORY_CONFIG=none.ini "$FACTORY" config show 2>&1)
is "a file that is named has to be there" "$?" 3
like "its name is said" "$err" 'none.ini'
done_testing
