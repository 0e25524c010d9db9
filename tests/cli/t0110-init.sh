#!/bin/bash
# t0110-init.sh - factory init writes the sample, once.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

out=$("$FACTORY" init)
is "it exits 0" "$?" 0
like "it says what comes next" "$out" 'next: factory doctor'
ok "what it wrote is the sample" cmp factory.ini "$abs_top_srcdir/factory.ini.sample"
is "anybody may read it" "$(stat -c %a factory.ini)" 644
ok "it validates" "$FACTORY" config validate

echo mine >factory.ini
err=$("$FACTORY" init 2>&1)
is "a second time is refused" "$?" 1
like "it says how to replace it" "$err" \
    '^factory: factory.ini is there already; factory init --force'
is "and nothing was touched" "$(cat factory.ini)" mine
ok "--force replaces it" "$FACTORY" init --force
ok "by the sample" cmp factory.ini "$abs_top_srcdir/factory.ini.sample"

echo outside >elsewhere
ln -sf elsewhere link.ini
ok "a link is replaced, not followed" "$FACTORY" --config link.ini init --force
is "what it pointed at stays" "$(cat elsewhere)" outside

mkdir sub
ok "--config says where" "$FACTORY" --config sub/other.ini init
ok "there it is" cmp sub/other.ini "$abs_top_srcdir/factory.ini.sample"
not_ok "not into a directory that is not there" "$FACTORY" --config none/x.ini init
is "no temporary file stays" "$(find . -name '.tmp-*')" ""
done_testing
