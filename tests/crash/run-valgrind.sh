#!/bin/bash
# run-valgrind.sh - whole runs with the engine and its clients under valgrind: no error, no leak.
#
# Three runs: one succeeds and, in make check-long (CHECK_LONG=1), one fails its gate and one is
# cancelled while its agent works. Checked are the engine's process and the client's; what they
# start goes unchecked (shells, git, bubblewrap).
# Timeout: 240 s
. "$abs_top_srcdir/tests/lib/tap.sh"
needs valgrind valgrind
needs bwrap bubblewrap
needs git git
[ -z "${SANITIZE_CFLAGS-}" ] || skip_all "sanitizers and valgrind do not get along"

home=$TMPDIR/valgrind
mkdir -p "$home" && cd "$home" || exit 1
cp -r "$abs_top_srcdir/contrib/examples/greeting" repo && chmod -R u+w repo || exit 1
{
    git -C repo init -q -b main && git -C repo add -A &&
        git -C repo -c user.email=t@example.org -c user.name=t commit -qm one
} || exit 1
cat >agent.sh <<'END'
read -r seconds
sed -i 's/^#define GREETING .*/#define GREETING "checked"/' greet.c
sleep "$seconds"
END
cat >factory.ini <<END
[storage]
data_dir = $home/data
[engine]
idle_exit = 100ms
[local]
binds = {"/agent.sh": "$home/agent.sh"}
[harnesses.editor]
type = generic
executable = /bin/sh
args = ["/agent.sh"]
[verification.good]
[verification.good.build]
argv = ["./build.sh"]
[verification.bad]
[verification.bad.never]
argv = ["false"]
END

checked() {
    valgrind -q --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
        --show-leak-kinds=definite,indirect,possible --num-callers=30 --error-exitcode=99 \
        --child-silent-after-fork=yes --log-file="$home/valgrind.%p" \
        "$FACTORY" --config "$home/factory.ini" "$@"
}

run() {
    checked run --local-path repo --rev main --run-id "$1" --verification "$2" --task "$3" \
        >"$1.out" 2>&1
}

checked worker --idle-exit 3s >worker.out 2>&1 &
worker=$!
for _ in $(seq 200); do
    ! grep -q serving worker.out 2>/dev/null || break
    sleep 0.05
done
run r1 good 0
is "a run that succeeds" "$? $(grep -c 'RESULT: SUCCEEDED' r1.out)" "0 1"
if [ -n "${CHECK_LONG-}" ]; then
    run r2 bad 0
    status=$?
    like "a run whose gate fails" "$status $(cat r2.out)" '^[1-9][0-9]? .*VERIFICATION_FAILED'
    run r3 good 60 &
    client=$!
    for _ in $(seq 200); do
        [ ! -e data/runs/r3/agent/stdout.log ] || break
        sleep 0.05
    done
    checked cancel r3 >cancel.out 2>&1
    is "cancel" "$?" 0
    wait "$client"
    like "a run that is cancelled" "$? $(cat r3.out)" '^[1-9][0-9]* .*CANCELLED'
fi
wait "$worker"
is "the engine leaves with status 0" "$?" 0
none "valgrind has nothing to say" "$(grep -h '^==' valgrind.* | head -n 200)"
done_testing
