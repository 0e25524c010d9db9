#!/bin/bash
# migrations.sh - schema steps are numbered without a gap and never change once released.
#
# Owns: the comparison with migrations/RELEASED (lines of sha256sum).
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

for set in engine factory; do
    steps=$(files '-name *.sql' "migrations/$set")
    if [ -z "$steps" ]; then
        skip "$set: steps are numbered 0001, 0002, ..." "there are no migrations in migrations/$set"
        continue
    fi
    # shellcheck disable=SC2086 # our file names have no blanks
    ok "$set: steps are numbered 0001, 0002, ..." sh "$abs_top_srcdir/build-aux/embed-sql" x $steps
done
released=$(grep -v '^#' migrations/RELEASED)
if [ -n "$released" ]; then
    none "released steps are unchanged" "$(sha256sum --quiet -c <<<"$released" 2>&1)"
else
    skip "released steps are unchanged" "migrations/RELEASED lists none before the first release"
fi
done_testing
