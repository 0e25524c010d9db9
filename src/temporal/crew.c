/*
 * crew.c - see crew.h.
 * Tests: tests/unit/test_temporal_local.c
 */
#include "temporal/crew.h"

#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

struct crew {
    char *name;
    int slots;
    int busy; /* caller's thread only: given, and still to be taken back */
    void (*wake)(void *user);
    void *wake_user;
    int threads;
    pthread_t *ids;
    pthread_mutex_t mutex;
    pthread_cond_t work;
    struct dur_activity *first, *last; /* under mutex, as all below */
    struct dur_activity *ended;
    int idle;
    int queued;
    bool stopping;
};

int crew_thread(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg)
{
    pthread_attr_t attr;
    sigset_t all, before;
    char text[16]; /* the kernel's limit */
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, CREW_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(ret, &attr, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc == 0) {
        str_copy(text, sizeof(text), name);
        pthread_setname_np(*ret, text);
    }
    return rc;
}

struct crew *crew_new(const char *name, int slots, void (*wake)(void *user), void *wake_user)
{
    struct crew *crew = mem_alloc(sizeof(*crew));
    crew->name = mem_printf("lane %s", name);
    crew->slots = slots;
    crew->wake = wake;
    crew->wake_user = wake_user;
    crew->ids = mem_array((size_t)(slots > 0 ? slots : 1), sizeof(pthread_t));
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->work, NULL);
    return crew;
}

bool crew_has_slot(const struct crew *crew)
{
    return crew->busy < (crew->slots > 0 ? crew->slots : 1);
}

bool crew_is_idle(const struct crew *crew)
{
    return crew->busy == 0;
}

/* Under the mutex. */
static struct dur_activity *take_first(struct crew *crew)
{
    struct dur_activity *attempt = crew->first;
    if (attempt) {
        crew->queued--;
        crew->first = attempt->next_work;
        crew->last = crew->first ? crew->last : NULL;
    }
    return attempt;
}

static void put_ended(struct crew *crew, struct dur_activity *attempt)
{
    pthread_mutex_lock(&crew->mutex);
    attempt->next_done = crew->ended;
    crew->ended = attempt;
    pthread_mutex_unlock(&crew->mutex);
    crew->wake(crew->wake_user);
}

static void *thread_main(void *arg)
{
    struct crew *crew = arg;
    for (;;) {
        pthread_mutex_lock(&crew->mutex);
        crew->idle++;
        while (!crew->first && !crew->stopping) {
            pthread_cond_wait(&crew->work, &crew->mutex);
        }
        crew->idle--;
        struct dur_activity *attempt = take_first(crew);
        pthread_mutex_unlock(&crew->mutex);
        if (!attempt) {
            return NULL;
        }
        attempt_run(attempt);
        put_ended(crew, attempt);
    }
}

void crew_give(struct crew *crew, struct dur_activity *attempt)
{
    crew->busy++;
    pthread_mutex_lock(&crew->mutex);
    bool need_thread = crew->queued >= crew->idle && crew->threads < crew->slots;
    pthread_mutex_unlock(&crew->mutex);
    if (need_thread) {
        if (crew_thread(&crew->ids[crew->threads], crew->name, thread_main, crew) == 0) {
            crew->threads++;
        } else if (crew->threads == 0) {
            dur_fail(attempt, DUR_TRANSIENT, "NoThread", "no thread can be started for %s",
                     crew->name);
            put_ended(crew, attempt);
            return;
        }
    }
    pthread_mutex_lock(&crew->mutex);
    attempt->next_work = NULL;
    *(crew->last ? &crew->last->next_work : &crew->first) = attempt;
    crew->last = attempt;
    crew->queued++;
    pthread_cond_signal(&crew->work);
    pthread_mutex_unlock(&crew->mutex);
    if (crew->slots == 0) {
        crew->wake(crew->wake_user);
    }
}

bool crew_run_one(struct crew *crew)
{
    if (crew->slots > 0) {
        return false;
    }
    pthread_mutex_lock(&crew->mutex);
    struct dur_activity *attempt = take_first(crew);
    pthread_mutex_unlock(&crew->mutex);
    if (attempt) {
        attempt_run(attempt);
        put_ended(crew, attempt);
    }
    return attempt != NULL;
}

struct dur_activity *crew_take_ended(struct crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    struct dur_activity *attempt = crew->ended;
    if (attempt) {
        crew->ended = attempt->next_done;
        crew->busy--;
    }
    pthread_mutex_unlock(&crew->mutex);
    return attempt;
}

void crew_end(struct crew *crew)
{
    if (!crew) {
        return;
    }
    pthread_mutex_lock(&crew->mutex);
    crew->stopping = true;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->mutex);
    for (int i = 0; i < crew->threads; i++) {
        pthread_join(crew->ids[i], NULL);
    }
    while (crew->first) { /* of a crew without threads: never begun */
        attempt_free(take_first(crew));
    }
    for (struct dur_activity *attempt; (attempt = crew_take_ended(crew)) != NULL;) {
        attempt_free(attempt);
    }
    pthread_mutex_destroy(&crew->mutex);
    pthread_cond_destroy(&crew->work);
    free(crew->ids);
    free(crew->name);
    free(crew);
}
