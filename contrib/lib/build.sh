# shellcheck shell=bash
# build.sh - configure and build the tree; sourced by check.sh and quickstart.sh.
#
# Owns: the steps from a fresh clone to a built tree. Must not: install anything.
# Needs: top (the source tree). A second call only builds what has changed.
# Tests: tests/cli/t0900-packages.sh.

# build_tree DIR [CONFIGURE-OPTION...]: builds in DIR, quietly; the logs are shown when it fails.
build_tree() {
    local dir=$1 log
    shift
    mkdir -p "$dir" || return 1
    dir=$(cd "$dir" && pwd) || return 1
    log=$dir/build.log
    : >"$log" || return 1
    if [ ! -x "$top/configure" ] || [ "$top/configure.ac" -nt "$top/configure" ]; then
        echo "build: autoreconf"
        (cd "$top" && autoreconf -fi) >>"$log" 2>&1 || build_failed "$log" || return 1
    fi
    if [ ! -f "$dir/Makefile" ] || [ "$*" != "$(cat "$dir/build.options" 2>/dev/null)" ]; then
        echo "build: configure $*"
        (cd "$dir" && "$top/configure" "$@") >>"$log" 2>&1 || build_failed "$log" || return 1
        echo "$*" >"$dir/build.options"
    fi
    echo "build: make"
    make -C "$dir" -j2 >>"$log" 2>&1 || build_failed "$log" || return 1
}

build_failed() {
    tail -n 60 "$1" >&2
    echo "build: failed; the whole log is $1" >&2
    return 1
}
