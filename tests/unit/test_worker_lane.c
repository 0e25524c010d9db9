/*
 * test_worker_lane.c - the threads of one task queue.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/lib/attempt_fixture.h"
#include "worker/lane.h"

TestSuite(lane, .init = inbox_make, .fini = inbox_end, .timeout = 60);

static atomic_int running, most, finished;
static atomic_int gate; /* callbacks end when it is open */

static int enter(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    int now = atomic_fetch_add(&running, 1) + 1;
    int before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
    while (!atomic_load(&gate)) {
        clock_sleep_ms(1);
    }
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&finished, 1);
    *result = input;
    return DUR_OK;
}

/* Signals are the main thread's. */
static int look_at_mask(dur_activity *act, const char *input, const char **result, void *user)
{
    sigset_t mask;
    (void)input;
    (void)user;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    *result = dur_jsonf(act, "%b", sigismember(&mask, SIGTERM));
    return DUR_OK;
}

static int take_home(int count)
{
    int64_t until = clock_mono_ns() + 20 * NS_PER_S;
    int home = 0;
    while (home < count && clock_mono_ns() < until) {
        struct dur_activity *done, *beats;
        inbox_take(&inbox, &done, &beats);
        while (done) {
            struct dur_activity *next = done->next_done;
            cr_assert_eq(done->outcome.code, DUR_OK);
            attempt_free(done);
            done = next;
            home++;
        }
        clock_sleep_ms(1);
    }
    return home;
}

Test(lane, threads_are_started_as_they_are_needed)
{
    struct lane *lane = lane_new("lane", 3);
    cr_assert(lane_has_slot(lane));
    for (int i = 0; i < 3; i++) {
        lane->busy++;
        lane_dispatch(lane, make_attempt(enter, "1"));
    }
    cr_assert_not(lane_has_slot(lane));
    while (atomic_load(&running) < 3) {
        clock_sleep_ms(1);
    }
    cr_assert_eq(lane->threads, 3);
    atomic_store(&gate, 1);
    cr_assert_eq(take_home(3), 3);
    lane->busy = 0;
    for (int i = 0; i < 5; i++) { /* one after the other: no further thread */
        lane_dispatch(lane, make_attempt(enter, "1"));
        cr_assert_eq(take_home(1), 1);
    }
    cr_assert_leq(lane->threads, 3);
    cr_assert_eq(atomic_load(&most), 3);
    lane_stop(lane);
    lane_free(lane);
}

Test(lane, stopping_finishes_what_was_dispatched)
{
    struct lane *lane = lane_new("lane", 1);
    for (int i = 0; i < 4; i++) {
        lane_dispatch(lane, make_attempt(enter, "1"));
    }
    atomic_store(&gate, 1);
    lane_stop(lane);
    cr_assert_eq(atomic_load(&finished), 4);
    cr_assert_eq(atomic_load(&most), 1);
    cr_assert_eq(take_home(4), 4);
    lane_free(lane);
    lane_free(NULL);
}

Test(lane, its_threads_take_no_signals)
{
    struct lane *lane = lane_new("lane", 1);
    struct dur_activity *attempt = make_attempt(look_at_mask, NULL);
    lane_dispatch(lane, attempt);
    lane_stop(lane);
    cr_assert_str_eq(attempt->outcome.result, "true");
    cr_assert_eq(take_home(1), 1);
    lane_free(lane);
}
