# shellcheck shell=bash
# tidy.sh - what the tidy tests share; source it after tests/lib/tap.sh.
#
# Owns: which files are ours. Must not: judge them.
# TIDY_ROOT is the tree to be checked; tests/tidy/selftest.sh points it at trees with planted
# faults.
root=${TIDY_ROOT:-$abs_top_srcdir}
cd "$root" || exit 1

# shellcheck disable=SC2086 # patterns and file lists are split on purpose
# files PATTERN DIR...: our own files, relative to the root, without what the build makes.
files() {
    local pattern=$1 dir found
    shift
    set -f
    for dir in "$@"; do
        [ -d "$dir" ] || continue
        found=$(find "$dir" -type f \( $pattern \) ! -path '*/.*' |
            grep -vE '\.(o|lo|la)$' | LC_ALL=C sort)
        [ -z "$found" ] || grep -LE '^(/\*|#|--) .* generated from ' /dev/null $found |
            grep -v '^/dev/null$'
    done
    set +f
}

c_files() {
    files '-name *.c -o -name *.h' "$@"
}

# code FILE...: the C files without comments and texts, each line as FILE:LINE:CODE.
code() {
    [ $# = 0 ] || LC_ALL=C awk -f "$abs_top_srcdir/tests/tidy/code.awk" "$@"
}
