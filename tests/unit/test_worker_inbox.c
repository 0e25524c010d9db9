/*
 * test_worker_inbox.c - what activity threads hand to the loop: order, once each, no lost wake-up.
 */
#include <poll.h>
#include <pthread.h>

#include "tests/lib/attempt_fixture.h"

#define THREADS 4
#define ATTEMPTS 200 /* per thread */

TestSuite(inbox, .init = inbox_make, .fini = inbox_end, .timeout = 60);

static bool is_awake(void)
{
    struct pollfd fd = {.fd = inbox.wake_fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

Test(inbox, done_attempts_come_in_order)
{
    struct dur_activity *a = make_attempt(NULL, NULL);
    struct dur_activity *b = make_attempt(NULL, NULL);
    struct dur_activity *done, *beats;
    cr_assert(inbox_is_empty(&inbox));
    inbox_put_done(&inbox, a);
    inbox_put_done(&inbox, b);
    cr_assert_not(inbox_is_empty(&inbox));
    inbox_take(&inbox, &done, &beats);
    cr_assert_eq(done, a);
    cr_assert_eq(a->next_done, b);
    cr_assert_null(b->next_done);
    cr_assert_null(beats);
    cr_assert(inbox_is_empty(&inbox));
    attempt_free(a);
    attempt_free(b);
}

Test(inbox, a_beat_is_queued_once_until_it_is_taken)
{
    struct dur_activity *a = make_attempt(NULL, NULL);
    struct dur_activity *b = make_attempt(NULL, NULL);
    struct dur_activity *done, *beats, *later;
    inbox_put_beat(&inbox, a);
    inbox_put_beat(&inbox, a);
    inbox_put_beat(&inbox, b);
    inbox_take(&inbox, &done, &beats);
    inbox_put_beat(&inbox, b); /* it waits in the list that was taken: nothing new */
    cr_assert(inbox_is_empty(&inbox));
    cr_assert_eq(inbox_next_beat(&inbox, &beats), a);
    inbox_put_beat(&inbox, a); /* beats again while the loop is on its way through the list */
    cr_assert_eq(inbox_next_beat(&inbox, &beats), b);
    cr_assert_null(inbox_next_beat(&inbox, &beats));
    inbox_take(&inbox, &done, &later);
    cr_assert_eq(inbox_next_beat(&inbox, &later), a);
    cr_assert_null(inbox_next_beat(&inbox, &later));
    attempt_free(a);
    attempt_free(b);
}

Test(inbox, only_a_sleeping_loop_is_woken)
{
    struct dur_activity *a = make_attempt(NULL, NULL);
    struct dur_activity *done, *beats;
    inbox_put_done(&inbox, a);
    cr_assert_not(is_awake());
    cr_assert_not(inbox_begin_sleep(&inbox)); /* there is something to take */
    inbox_take(&inbox, &done, &beats);
    cr_assert(inbox_begin_sleep(&inbox));
    inbox_put_beat(&inbox, a);
    cr_assert(is_awake());
    inbox_end_sleep(&inbox);
    cr_assert_not(is_awake());
    inbox_wake(&inbox);
    inbox_wake(&inbox);
    cr_assert(is_awake());
    inbox_end_sleep(&inbox);
    cr_assert_not(is_awake());
    attempt_free(a);
}

static void *feed(void *arg)
{
    (void)arg;
    for (int i = 0; i < ATTEMPTS; i++) {
        struct dur_activity *a = make_attempt(NULL, NULL);
        inbox_put_beat(&inbox, a);
        inbox_put_beat(&inbox, a);
        inbox_put_done(&inbox, a);
    }
    return NULL;
}

Test(inbox, nothing_is_lost_between_threads)
{
    pthread_t threads[THREADS];
    int finished = 0, beaten = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, feed, NULL);
    }
    while (finished < THREADS * ATTEMPTS) {
        struct dur_activity *done, *beats;
        if (inbox_begin_sleep(&inbox)) {
            struct pollfd fd = {.fd = inbox.wake_fd, .events = POLLIN};
            cr_assert_eq(poll(&fd, 1, 20000), 1, "a wake-up was lost");
        }
        inbox_end_sleep(&inbox);
        inbox_take(&inbox, &done, &beats);
        while (inbox_next_beat(&inbox, &beats)) {
            beaten++;
        }
        while (done) {
            struct dur_activity *next = done->next_done;
            attempt_free(done);
            done = next;
            finished++;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_geq(beaten, THREADS * ATTEMPTS);
    cr_assert(inbox_is_empty(&inbox));
}
