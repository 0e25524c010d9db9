/*
 * errand.c - see errand.h. Invariant: an errand that was given is done, whatever happens: when no
 * thread can be begun, the one who gives it does it.
 * Tests: tests/unit/test_temporal_errand.c
 */
#include "temporal/errand.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "temporal/crew.h"

struct errands {
    void *user;
    int max;
    pthread_t *ids;
    pthread_mutex_t mutex;
    pthread_cond_t work;
    struct errand *first, *last; /* under mutex, as all below */
    int waiting;                 /* length of that list */
    int threads, free;           /* begun; of those: without an errand */
    bool ending;
};

struct errands *errands_new(int threads, void *user)
{
    struct errands *errands = mem_alloc(sizeof(*errands));

    errands->user = user;
    errands->max = threads;
    errands->ids = mem_array((size_t)threads, sizeof(*errands->ids));
    pthread_mutex_init(&errands->mutex, NULL);
    pthread_cond_init(&errands->work, NULL);
    return errands;
}

static struct errand *take_first(struct errands *errands)
{
    struct errand *errand = errands->first;

    if (errand) {
        errands->first = errand->next;
        errands->last = errands->first ? errands->last : NULL;
        errands->waiting--;
    }
    return errand;
}

static void *thread_main(void *arg)
{
    struct errands *errands = arg;

    pthread_mutex_lock(&errands->mutex);
    for (;;) {
        struct errand *errand = take_first(errands);
        if (!errand && errands->ending) {
            break;
        }
        if (!errand) {
            errands->free++;
            pthread_cond_wait(&errands->work, &errands->mutex);
            errands->free--;
            continue;
        }
        pthread_mutex_unlock(&errands->mutex);
        errand->go(errand, errands->user);
        pthread_mutex_lock(&errands->mutex);
    }
    pthread_mutex_unlock(&errands->mutex);
    return NULL;
}

/* Under the mutex. */
static void add_thread(struct errands *errands)
{
    if (!errands->ending && errands->threads < errands->max &&
        crew_thread(&errands->ids[errands->threads], "errands", thread_main, errands) == 0) {
        errands->threads++;
    }
}

void errand_give(struct errands *errands, struct errand *errand)
{
    pthread_mutex_lock(&errands->mutex);
    if (errands->waiting >= errands->free) {
        add_thread(errands);
    }
    if (errands->threads == 0) {
        pthread_mutex_unlock(&errands->mutex);
        errand->go(errand, errands->user);
        return;
    }
    errand->next = NULL;
    *(errands->last ? &errands->last->next : &errands->first) = errand;
    errands->last = errand;
    errands->waiting++;
    pthread_cond_signal(&errands->work);
    pthread_mutex_unlock(&errands->mutex);
}

bool errand_offer(struct errands *errands, struct errand *errand)
{
    pthread_mutex_lock(&errands->mutex);
    bool is_busy = errands->waiting > 0;
    pthread_mutex_unlock(&errands->mutex);
    if (!is_busy) {
        errand_give(errands, errand);
    }
    return !is_busy;
}

void errands_free(struct errands *errands)
{
    if (!errands) {
        return;
    }
    pthread_mutex_lock(&errands->mutex);
    errands->ending = true;
    pthread_cond_broadcast(&errands->work);
    pthread_mutex_unlock(&errands->mutex);
    for (int i = 0; i < errands->threads; i++) {
        pthread_join(errands->ids[i], NULL);
    }
    pthread_cond_destroy(&errands->work);
    pthread_mutex_destroy(&errands->mutex);
    free(errands->ids);
    free(errands);
}
