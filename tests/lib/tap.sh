# shellcheck shell=bash
# tap.sh - the words of a test script; source it first:  . "$abs_top_srcdir/tests/lib/tap.sh"
#
# Owns: TAP output and the count of cases. Must not: know what is tested.
# Every script ends with done_testing; a script that stops before prints no plan, which fails it.
#   ok NAME COMMAND...       passes when COMMAND succeeds; its output is shown when not
#   not_ok NAME COMMAND...   passes when COMMAND fails with a status of its own (1..124)
#   is NAME GOT WANTED       passes when both texts are equal
#   like NAME TEXT REGEX     passes when TEXT matches the extended regular expression
#   unlike NAME TEXT REGEX   passes when it does not
#   none NAME LINES          passes when LINES is empty; each line is an offender
#   skip NAME REASON         says why a case cannot run: "install X"
#   skip_all REASON          the same for the whole script, and ends it
#   needs PROGRAM PACKAGE    skip_all "install PACKAGE" unless PROGRAM is there
# Tests: tests/tidy/selftest.sh.
tap_count=0
tap_failed=0

tap_result() {
    tap_count=$((tap_count + 1))
    if [ "$1" = 0 ]; then
        printf 'ok %d - %s\n' "$tap_count" "$2"
    else
        tap_failed=$((tap_failed + 1))
        printf 'not ok %d - %s\n' "$tap_count" "$2"
        [ -z "${3-}" ] || printf '%s\n' "$3" | sed 's/^/    # /'
    fi
}

ok() {
    local name=$1 out rc
    shift
    out=$("$@" 2>&1)
    rc=$?
    tap_result "$rc" "$name" "$out
status $rc of: $*"
}

not_ok() {
    local name=$1 out rc
    shift
    out=$("$@" 2>&1)
    rc=$?
    if [ "$rc" -ge 1 ] && [ "$rc" -le 124 ]; then
        tap_result 0 "$name"
    else
        tap_result 1 "$name" "$out
status $rc of: $*"
    fi
}

is() {
    if [ "$2" = "$3" ]; then
        tap_result 0 "$1"
    else
        tap_result 1 "$1" "got:    $2
wanted: $3"
    fi
}

like() {
    if [[ $2 =~ $3 ]]; then
        tap_result 0 "$1"
    else
        tap_result 1 "$1" "got:    $2
wanted: $3"
    fi
}

unlike() {
    if [[ $2 =~ $3 ]]; then
        tap_result 1 "$1" "got:      $2
unwanted: $3"
    else
        tap_result 0 "$1"
    fi
}

none() {
    if [ -z "$2" ]; then
        tap_result 0 "$1"
    else
        tap_result 1 "$1" "$2"
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() {
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

needs() {
    command -v "$1" >/dev/null 2>&1 || skip_all "install $2"
}

done_testing() {
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" = 0 ]
    exit
}
