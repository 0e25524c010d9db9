#!/bin/bash
# words.sh - nothing unfinished, and nothing about the machine it was written on.
#
# Owns: the words that may not appear. What is not built is absent, not announced.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

everything=$(files '-name *' src include tests migrations contrib docs | grep -v \
    -e '^tests/tidy/words.sh$' -e '^tests/tidy/selftest.sh$')
sources=$(grep -E '^(src|include|tests)/' <<<"$everything")

# search REGEX FILES
search() {
    # shellcheck disable=SC2086 # our file names have no blanks
    grep -nIiE "(^|[^a-z])($1)" /dev/null $2
}
none "no unfinished work is announced" \
    "$(search '(todo|fixme|xxx|stub|stubs|stubbed)([^a-z]|$)' "$sources")"
# Where harnesses are configured, {{prompt}} and its like are called placeholders, as operators do.
none "nothing holds the place of something else" \
    "$(search '(placeholder|placeholders)([^a-z]|$)' "$sources" |
        grep -vE '^(src/(factory|harness)/|tests/(unit/test_(factory|harness)_|cli/))')"
none "no paths of one machine" \
    "$(search '/(work|root)/|/tmp/b-' "$everything" | grep -vE '[]>})]/(work|root)/')"
done_testing
