#!/bin/bash
# banned.sh - calls that have a safer form in base/ do not appear.
#
# Owns: the list of banned calls and the few places where base/ itself needs one.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

# shellcheck disable=SC2046 # our file names have no blanks
all=$(code $(c_files src include tests contrib/examples)) || exit 1

# calls REGEX DIR...: FILE:LINE:CODE of every call of a function that matches.
calls() {
    local regex=$1 dirs
    shift
    dirs=$(IFS='|' && echo "$*")
    LC_ALL=C grep -E "^($dirs)/[^:]*:[0-9]+:(.*[^A-Za-z0-9_.>])?($regex) *\(" <<<"$all" |
        grep -v '^src/base/banned\.h:' # the same list, for the compiler
}

none "texts: no sprintf, strcpy, strcat, strtok, gets (base/str.h)" \
    "$(calls 'v?sprintf|st[rp]cpy|strn?cat|strtok|gets' src include tests contrib/examples)"
none "numbers: no atoi, atol, atoll, atof (base/str.h)" \
    "$(calls 'ato(i|l|ll|f)' src include tests contrib/examples)"
none "time: no time, gmtime, localtime, ctime, asctime, sleep (base/clock.h)" \
    "$(calls 'time|gmtime|localtime|ctime|asctime|sleep|usleep' src include)"
none "chance: no rand, srand, random, drand48 (base/rng.h)" \
    "$(calls 's?rand|s?random|drand48|rand_r' src include tests)"
none "processes: no system, popen, vfork (base/proc.h)" \
    "$(calls 'system|popen|vfork' src include tests contrib/examples)"
none "errors: no strerror, perror (base/err.h)" "$(calls 'strerror|perror' src include)"
none "memory: no alloca, no raw malloc outside base/ (base/mem.h)" \
    "$(calls 'alloca' src include
    calls 'malloc|calloc|realloc|reallocarray|strn?dup|v?asprintf' src | grep -v '^src/base/')"
none "files: no tmpnam, tempnam, mktemp" "$(calls 'tmpnam|tempnam|mktemp' src include tests)"
none "unit tests do not call exit: Criterion takes exit(0) for a pass" "$(calls 'exit' tests/unit)"
none "pure rooms read no clock, roll no dice and start no threads" \
    "$(calls 'clock_[a-z_]+|rng_[a-z_]+|pthread_[a-z_]+|getenv|fopen' src/history src/exec)"
none "an engine asks its own clock (host_wall_ns, engine_now_ns): tests own it" \
    "$(calls 'clock_wall_ns' src/worker src/engine)"
none "exec tells nothing apart by its address: a module has a copy of the room (engine/remote.h)" \
    "$(LC_ALL=C grep -E '^src/exec/.*(def|fn) *[!=]= *&?(command|handle)_' <<<"$all")"
none "nobody but base/json.c knows JSON libraries" "$(calls 'cJSON_[A-Za-z]*' src include tests)"
done_testing
