/*
 * lane.c - see lane.h. Owns thread start and hand-over. Threads block all signals: signals belong
 * to the program's main thread.
 * Tests: tests/unit/test_engine_run.c
 */
#include "worker/lane.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "activity/attempt.h"
#include "worker/inbox.h"

#define SPIN_NS (250 * NS_PER_US)
#define LANE_STACK_BYTES (1024 * 1024) /* callbacks use libgit2 (69 KiB), curl, their own code */

struct lane *lane_new(const char *name, int slots)
{
    struct lane *lane = mem_alloc(sizeof(*lane));
    lane->name = mem_strdup(name);
    lane->slots = slots;
    pthread_mutex_init(&lane->mutex, NULL);
    pthread_cond_init(&lane->work, NULL);
    return lane;
}

void lane_free(struct lane *lane)
{
    if (!lane) {
        return;
    }
    pthread_mutex_destroy(&lane->mutex);
    pthread_cond_destroy(&lane->work);
    free(lane->ids);
    free(lane->name);
    free(lane);
}

int lane_free_slots(const struct lane *lane)
{
    int slots = lane_is_inline(lane) ? 1 : lane->slots;
    return lane->busy < slots ? slots - lane->busy : 0;
}

bool lane_has_slot(const struct lane *lane)
{
    return lane_free_slots(lane) > 0;
}

/* Under the mutex. One wake-up at a time: who wakes takes work and wakes the next, so that
 * activities of microseconds are drained by whoever is awake and long ones still get their threads.
 */
static void wake_one(struct lane *lane)
{
    if (lane->first && lane->idle > 0 && !lane->waking) {
        lane->waking = true;
        pthread_cond_signal(&lane->work);
    }
}

/* The next attempt of a quick sequence comes about when a commit is done: sooner than this thread
 * could fall asleep and be woken. One thread of a lane, and only while waits are that short. */
static void spin(struct lane *lane)
{
    if (atomic_exchange(&lane->spins, true)) {
        return;
    }
    int64_t since = clock_mono_ns();
    while (!atomic_load(&lane->holds) && clock_mono_ns() - since < SPIN_NS) {
        spin_hint();
    }
    atomic_store(&lane->spins, false);
}

static struct dur_activity *take(struct lane *lane, int64_t *waited_ns)
{
    int64_t since = clock_mono_ns();
    if (*waited_ns < SPIN_NS) {
        spin(lane);
    }
    pthread_mutex_lock(&lane->mutex);
    lane->idle++;
    while (!lane->first && !lane->stopping) {
        pthread_cond_wait(&lane->work, &lane->mutex);
        lane->waking = false;
    }
    lane->idle--;
    struct dur_activity *attempt = lane->first;
    if (attempt) {
        lane->queued--;
        lane->first = attempt->next_work;
        if (!lane->first) {
            lane->last = NULL;
            atomic_store(&lane->holds, false);
        }
        wake_one(lane);
    }
    *waited_ns = clock_mono_ns() - since;
    pthread_mutex_unlock(&lane->mutex);
    return attempt;
}

static void *thread_main(void *arg)
{
    struct lane *lane = arg;
    struct dur_activity *attempt;
    int64_t waited_ns = 0;
    char name[16];
    snprintf(name, sizeof(name), "lane %s", lane->name);
    pthread_setname_np(pthread_self(), name);
    while ((attempt = take(lane, &waited_ns)) != NULL) {
        attempt_run(attempt);
        inbox_put_done(attempt->inbox, attempt);
    }
    return NULL;
}

/* True when a new thread runs. */
static bool start_thread(struct lane *lane)
{
    pthread_attr_t attr;
    sigset_t all, before;
    lane->ids = mem_grow(lane->ids, sizeof(pthread_t) * (size_t)(lane->threads + 1));
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, LANE_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&lane->ids[lane->threads], &attr, thread_main, lane);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc == 0) {
        lane->threads++;
    }
    return rc == 0;
}

void lane_dispatch(struct lane *lane, struct dur_activity *attempt)
{
    pthread_mutex_lock(&lane->mutex);
    int awake = lane->idle + (atomic_load(&lane->spins) ? 1 : 0);
    bool need_thread = lane->queued >= awake && lane->threads < lane->slots;
    pthread_mutex_unlock(&lane->mutex);
    if (need_thread && !start_thread(lane) && lane->threads == 0) {
        dur_fail(attempt, DUR_TRANSIENT, "NoThread", "no thread can be started for lane %s",
                 lane->name);
        inbox_put_done(attempt->inbox, attempt);
        return;
    }
    attempt->next_work = NULL;
    pthread_mutex_lock(&lane->mutex);
    if (lane->last) {
        lane->last->next_work = attempt;
    } else {
        lane->first = attempt;
    }
    lane->last = attempt;
    lane->queued++;
    atomic_store(&lane->holds, true);
    if (!atomic_load(&lane->spins)) {
        wake_one(lane);
    }
    pthread_mutex_unlock(&lane->mutex);
}

void lane_stop(struct lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->stopping = true;
    pthread_cond_broadcast(&lane->work);
    pthread_mutex_unlock(&lane->mutex);
    for (int i = 0; i < lane->threads; i++) {
        pthread_join(lane->ids[i], NULL);
    }
    lane->threads = 0;
}
