/*
 * lane.h - a task queue's own threads.
 *
 * Owns: the threads of one lane and the list of claimed attempts they take from. A slot is a
 * thread: the loop claims a slot in the transaction that records the attempt as started, dispatches
 * after the commit and gives the slot back when the attempt has come home. Waiting activities queue
 * in the loop, not here.
 */
#ifndef WORKER_LANE_H
#define WORKER_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"

struct dur_activity;

#define LANE_SLOTS_DEFAULT 4
#define LANE_SLOTS_MAX 1024 /* a thread each; more lanes, not more threads, is the cure */

struct lane {
    struct lane *next;
    char *name;
    int slots;   /* 0: no threads, the loop runs its attempts one by one between turns */
    int busy;    /* loop only: claimed and not yet home */
    int threads; /* started so far, <= slots */
    int idle;    /* under mutex: threads that wait */
    int queued;  /* under mutex: attempts that no thread took yet */
    pthread_t *ids;
    pthread_mutex_t mutex;
    pthread_cond_t work;
    struct dur_activity *first, *last; /* under mutex */
    bool waking;                       /* under mutex: a wake-up is on its way */
    bool stopping;                     /* under mutex */
    atomic_bool holds;                 /* something is queued: a hint that is read unlocked */
    atomic_bool spins;                 /* a thread waits for it awake */
};

struct lane *lane_new(const char *name, int slots);
void lane_free(struct lane *lane); /* after lane_stop; NULL fine */
int lane_free_slots(const struct lane *lane);
bool lane_has_slot(const struct lane *lane);
static inline bool lane_is_inline(const struct lane *lane)
{
    return lane->slots == 0;
}
/* Hand a claimed attempt (lane->busy already counts it) to a thread; starts one when all are busy.
 * When no thread can be started at all the attempt ends at once as a transient failure in its
 * inbox. */
void lane_dispatch(struct lane *lane, struct dur_activity *attempt);
/* No more work; joins the threads (they finish what they run). */
void lane_stop(struct lane *lane);

#endif
