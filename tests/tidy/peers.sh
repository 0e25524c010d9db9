#!/bin/bash
# peers.sh - build-aux/run-peers: every peer's median is in the table of its durability, what is not
# installed is named, and a driver that fails is a failure.
#
# Owns: planted drivers. Must not: start a server or measure anything.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
runner=$abs_top_srcdir/build-aux/run-peers
mkdir -p src b/tests/bench/peers b/peers
cat >b/tests/bench/peers/durable <<'END'
#!/bin/bash
echo "$(($1 * $2)) 0.100000"
END
cat >b/peers/goworkflows <<'END'
#!/bin/bash
n=$(cat b/n 2>/dev/null || echo 0); echo $((n + 1)) >b/n
case $((n % 3)) in 0) s=0.5 ;; 1) s=9 ;; 2) s=1 ;; esac
echo "$(($1 * $2)) $s"
END
cp b/tests/bench/peers/durable b/peers/dbosgo
chmod +x b/tests/bench/peers/durable b/peers/*
peers() {
    out=$(abs_top_srcdir=$TMPDIR/src abs_top_builddir=$TMPDIR/b TEMPORAL_CLI= \
        PEERS_ONLY='go' PEERS_LOADS="${LOADS:-^seq$}" PEERS_ROUNDS="${ROUNDS:-3}" PATH=$1 \
        bash "$runner" "${2:-bench}" 2>err)
    status=$?
}
# Without strace nothing but the planted drivers is run.
mkdir bin
for tool in bash awk paste sed seq mkdir rm tail df nproc uname chmod env cat ls sort grep; do
    ln -s "$(command -v $tool)" bin/
done
peers "$TMPDIR/bin"
is "it passes" "$status" 0
like "libdurable's rate" "$out" "libdurable +1000"
like "a peer's median of three rounds" "$out" "go-workflows +100"
like "the ratio to the best" "$out" "ours / best +10.0x"
like "weaker durability has a table of its own" "$out" "Weaker: .*dbos-go +1000"
like "the head says of how many rounds" "$out" "median of 3 rounds"
printf '#!/bin/sh\necho broken >&2; exit 3\n' >b/peers/goworkflows
peers "$TMPDIR/bin"
is "a driver that fails is a failure" "$status" 1
like "that is named" "$(cat err)" "go-workflows failed at seq: broken"
rm b/peers/dbosgo
peers "$TMPDIR/bin"
like "what is not installed is named, with what to install" "$out" \
    "not installed: dbos-go: make peers-tools, with Go"
ROUNDS=0 peers "$TMPDIR/bin"
is "nonsense is refused" "$status" 2
peers "$TMPDIR/bin" frob
is "so is another verb" "$status" 2
done_testing
