/*
 * test_temporal_errand.c - errands are all done, by a few threads, also at the end.
 */
#include "temporal/errand.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"

struct job {
    struct errand errand;
    struct job *then; /* given by the errand itself */
};

struct world {
    struct errands *errands;
    atomic_int done, under_way, most;
    pthread_mutex_t gate; /* held: no errand ends */
};

static void go(struct errand *errand, void *user)
{
    struct job *job = (struct job *)errand;
    struct world *w = user;
    int now = atomic_fetch_add(&w->under_way, 1) + 1;

    if (now > atomic_load(&w->most)) {
        atomic_store(&w->most, now);
    }
    pthread_mutex_lock(&w->gate);
    pthread_mutex_unlock(&w->gate);
    atomic_fetch_sub(&w->under_way, 1);
    if (job->then) {
        errand_give(w->errands, &job->then->errand);
    }
    atomic_fetch_add(&w->done, 1);
}

static void begin(struct world *w, int threads)
{
    pthread_mutex_init(&w->gate, NULL);
    w->errands = errands_new(threads, w);
}

Test(errand, all_are_done_by_a_few_threads, .timeout = 30)
{
    static struct world w;
    static struct job jobs[100];

    begin(&w, 3);
    for (int i = 0; i < 100; i++) {
        jobs[i].errand.go = go;
        errand_give(w.errands, &jobs[i].errand);
    }
    errands_free(w.errands);
    cr_assert_eq(atomic_load(&w.done), 100);
    cr_assert_leq(atomic_load(&w.most), 3);
}

Test(errand, the_end_waits_for_what_errands_give, .timeout = 30)
{
    static struct world w;
    static struct job jobs[50];

    begin(&w, 2);
    for (int i = 0; i < 50; i++) {
        jobs[i].errand.go = go;
        jobs[i].then = i + 1 < 50 ? &jobs[i + 1] : NULL;
    }
    errand_give(w.errands, &jobs[0].errand);
    errands_free(w.errands);
    cr_assert_eq(atomic_load(&w.done), 50);
}

Test(errand, an_offer_is_refused_while_others_wait, .timeout = 30)
{
    static struct world w;
    static struct job first, second, third, fourth;

    begin(&w, 1);
    first.errand.go = second.errand.go = third.errand.go = fourth.errand.go = go;
    pthread_mutex_lock(&w.gate);
    cr_assert(errand_offer(w.errands, &first.errand));
    while (atomic_load(&w.under_way) == 0) {
        clock_sleep_ms(1);
    }
    errand_give(w.errands, &second.errand); /* waits */
    cr_assert_not(errand_offer(w.errands, &third.errand));
    pthread_mutex_unlock(&w.gate);
    while (atomic_load(&w.done) < 2) {
        clock_sleep_ms(1);
    }
    cr_assert(errand_offer(w.errands, &fourth.errand));
    errands_free(w.errands);
    cr_assert_eq(atomic_load(&w.done), 3);
}
