#!/bin/sh
# test.sh - builds, then checks what greet says: one line, a greeting in letters, a comma, the name.
cd "$(dirname "$0")" || exit 1
./build.sh >/dev/null || exit 1
failed=0
check() {
    if printf '%s\n' "$2" | grep -Eq "$3" && [ "$(printf '%s\n' "$2" | wc -l)" = 1 ]; then
        echo "ok: $1"
    else
        echo "not ok: $1: it said '$2'"
        failed=1
    fi
}
check "without a name it greets the world" "$(build/greet)" '^[A-Za-z][A-Za-z ]*, world$'
check "with a name it greets that name" "$(build/greet Ada)" '^[A-Za-z][A-Za-z ]*, Ada$'
if build/greet a b >/dev/null 2>&1; then
    echo "not ok: two names are refused"
    failed=1
else
    echo "ok: two names are refused"
fi
exit $failed
