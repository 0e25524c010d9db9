#!/bin/bash
# quickstart.sh - from a fresh clone to a verified patch.
#
# Usage: contrib/quickstart.sh [--all] [--build BUILD-DIRECTORY] [--program FACTORY] [DIRECTORY]
#   DIRECTORY   where the demonstration lives (default: ./quickstart); made when it is absent
#   --build     where factory is built, or was (default: build in the source tree)
#   --program   a factory that is there already; nothing is installed or built
#   --all       also a run whose gate fails, one that is blocked and one that is cancelled
#
# Installs the packages of contrib/packages.txt that are missing (Debian; root or sudo) and builds.
# Then: a git repository made from contrib/examples/greeting, a factory.ini, one run. Its agent is a
# script and says so. Nothing outside DIRECTORY and the build is written; no network but apt's is
# used. A second call installs nothing, builds only what has changed, keeps DIRECTORY's files, adds
# a run.
# Status 0: the run ended with FACTORY RESULT: SUCCEEDED (and the others as they should).
# Tests: tests/cli/t0900-packages.sh, tests/cli/t0670-quickstart.sh.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
. "$top/contrib/lib/packages.sh"
. "$top/contrib/lib/build.sh"

usage() {
    echo "usage: contrib/quickstart.sh [--all] [--build DIR] [--program FACTORY] [DIRECTORY]" >&2
    exit 2
}

die() {
    echo "quickstart: $*" >&2
    exit 1
}

all=no build=$top/build place=quickstart factory=
while [ $# -gt 0 ]; do
    case $1 in
    --all) all=yes ;;
    --build) [ $# -gt 1 ] || usage; build=$2; shift ;;
    --program) [ $# -gt 1 ] || usage; factory=$2; shift ;;
    -*) usage ;;
    *) [ $# = 1 ] || usage; place=$1 ;;
    esac
    shift
done

# The project: a git repository of its own. It is made once; runs never write to it.
make_repository() {
    local git=(git -C greeting -c user.name=Quickstart -c user.email=quickstart@localhost
        -c init.defaultBranch=main -c commit.gpgsign=false -c core.hooksPath=/dev/null)
    [ ! -d greeting/.git ] || return 0
    echo "quickstart: a git repository in $PWD/greeting, from contrib/examples/greeting"
    rm -rf greeting && cp -R "$top/contrib/examples/greeting" greeting && chmod -R u+w greeting &&
        "${git[@]}" init -q && "${git[@]}" add . && "${git[@]}" commit -q -m "A small greeting"
}

# The agent, the gates, where everything is kept. Written once, so that it can be edited and tried.
make_config() {
    [ ! -e factory.ini ] || return 0
    echo "quickstart: a configuration in $PWD/factory.ini"
    cp "$top/contrib/examples/greeting-agent" greeting-agent && chmod 755 greeting-agent || return 1
    cat >factory.ini <<INI
# Made by contrib/quickstart.sh. Every key is explained in factory.ini.sample.
[storage]
data_dir = data

# A script that is honest about being one; a real agent is configured the same way.
[harnesses.greeting-agent]
type = generic
executable = greeting-agent
binary = greeting-agent
binary_sha256 = $(sha256sum greeting-agent | cut -d ' ' -f 1)
prompt_mode = stdin_file

# What a patch has to pass: programs of the repository, run in a fresh sandbox on baseline + patch.
[verification.default]
protected = ["/build.sh", "/test.sh"]

[verification.default.build]
argv = ["./build.sh"]
timeout = 2m

[verification.default.test]
argv = ["./test.sh"]
timeout = 2m
INI
}

run() {
    "$factory" --config factory.ini run --local-path greeting --rev main "$@"
}

# expect STATUS WHAT COMMAND...: the command's output, and death when it ends otherwise.
expect() {
    local wanted=$1 what=$2 status
    shift 2
    echo
    echo "== $what"
    "$@"
    status=$?
    [ "$status" = "$wanted" ] || die "$what: exit status $status instead of $wanted"
    [ "$wanted" = 0 ] || echo "(exit status $status, as it should be)"
}

new_id() {
    local stem
    stem=$1-$(date +%Y%m%d-%H%M%S)-$$
    echo "$stem"
}

cancelled_run() {
    local id status
    id=$(new_id cancelled)
    run --run-id "$id" --task 'Change the greeting from "hello" to "goodbye". Take 300 seconds.' \
        >"$id.out" 2>&1 &
    until grep -qs 'working for' "data/runs/$id/agent/stdout.log"; do
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    "$factory" --config factory.ini cancel "$id" || echo "quickstart: the cancel was refused"
    wait $!
    status=$?
    cat "$id.out"
    rm -f "$id.out"
    return "$status"
}

demonstrate_all() {
    expect 10 "a run whose gate fails: the tests want letters" \
        run --run-id "$(new_id failing)" --task 'Change the greeting from "hello" to "2 hellos"'
    expect 13 "a run that is blocked: the agent does not understand" \
        run --run-id "$(new_id blocked)" --task 'Write an operating system'
    expect 16 "a run that is cancelled while its agent works" cancelled_run
}

main() {
    local id patch
    if [ -z "$factory" ]; then
        packages_install "$top/contrib/packages.txt" build run || exit 1
        build_tree "$build" || exit 1
        factory=$build/factory
    fi
    factory=$(cd "$(dirname "$factory")" && pwd)/$(basename "$factory")
    [ -x "$factory" ] || die "$factory is not a program"
    mkdir -p "$place" && cd "$place" || exit 1
    make_repository || die "cannot make the repository in $PWD"
    make_config || die "cannot write the configuration in $PWD"
    [ "$all" = no ] || demonstrate_all
    id=$(new_id greeting)
    patch=$PWD/data/runs/$id/changes.patch
    expect 0 "a run: one task, one sandbox, one agent, one verified patch" \
        run --run-id "$id" --task 'Change the greeting from "hello" to "good day"'
    [ -s "$patch" ] || die "the run left no patch in $patch"
    git -C greeting apply --check "$patch" || die "git apply refuses $patch"
    echo
    cat "$patch"
    cat <<TEXT

FACTORY RESULT: SUCCEEDED
Patch: $patch

What now:
  cd $PWD
  $factory status $id       what happened, condition by condition
  $factory logs $id         what the agent and the gates printed
  git -C greeting apply $patch
  $factory run --local-path greeting --rev main --task 'Change the greeting from "hello" to "ahoy"'
Your own project: edit factory.ini (agent, gates) and name your repository; factory --help has more.
TEXT
}
main
