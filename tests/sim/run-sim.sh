#!/bin/bash
# run-sim.sh - a sample of `make sim`: 200 seeds hold (SEEDS=N: so many), each planted bug is found
# by the invariant that it breaks, and the same seed is the same play to the last write.
. "$abs_top_srcdir/tests/lib/tap.sh"
simulate=$abs_top_builddir/tests/sim/simulate
seeds=${SEEDS:-200}
jobs=$(($(nproc) + 1))
case ${SANITIZE_CFLAGS-} in
*address* | *thread*) seeds=20 ;;
esac
case ${CHECK_LONG-} in 1) seeds=2000 ;; esac

play() { "$simulate" --seed "$1" --seeds 3 --jobs "$2" --trace | grep '^seed' | sort; }
same() { play 1 1 >first && play 1 3 >second && diff first second && [ "$(wc -l <first)" = 3 ]; }

ok "$seeds seeds hold every invariant" "$simulate" --seeds "$seeds" --jobs "$jobs"
ok "every planted bug is found by the invariant that it breaks" "$simulate" --plants --jobs "$jobs"
ok "a seed is the same play again" same
ok "a plant that there is not is refused" bash -c "! '$simulate' --plant no-such-plant"
done_testing
