# shellcheck shell=bash
# packages.sh - install what contrib/packages.txt lists; sourced by check.sh and quickstart.sh.
#
# Owns: the only calls of apt-get. Must not: run apt-get when nothing is missing, or ask questions.
# Works as root and, through sudo, as an ordinary user. Says what it installs before it does.
# Tests: tests/cli/t0900-packages.sh.

# packages_listed FILE SET...: the names of those sets, one a line.
packages_listed() {
    local file=$1
    shift
    awk -v sets=" $* " '{ sub(/#.*/, "") } NF == 2 && index(sets, " " $1 " ") { print $2 }' "$file"
}

# packages_missing NAME...: those that are not installed.
packages_missing() {
    local name
    for name in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) in
        installed) ;;
        *) echo "$name" ;;
        esac
    done
}

# packages_install FILE SET...: status 0 when all of them are there afterwards.
packages_install() {
    local missing sudo=
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "packages: this is not a Debian system; install the counterparts of $1 yourself" >&2
        return 0
    fi
    # shellcheck disable=SC2046 # names have no blanks
    missing=$(packages_missing $(packages_listed "$@") | paste -sd ' ')
    if [ -z "$missing" ]; then
        echo "packages: all there"
        return 0
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "packages: as root, please: apt-get install --no-install-recommends $missing" >&2
            return 1
        fi
        sudo=sudo
    fi
    echo "packages: installing $missing"
    $sudo apt-get update -qq </dev/null || echo "packages: apt-get update failed; trying anyway" >&2
    # shellcheck disable=SC2086 # a list of names
    if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o Dpkg::Options::=--force-confold $missing </dev/null; then
        echo "packages: apt-get could not install them; the reason is above" >&2
        return 1
    fi
}
