/*
 * serving.h - a serving engine on a server: what its threads share.
 *
 * Owns: struct remote_serving. Who does what:
 *
 *   poll.c     pollers (threads): long polls, read the pages of a history  --serving_hand--> loop
 *   drive.c    the loop: finds or makes the run (cache.c, keep.c), runs its code, has the answer
 * made (reply.c: command.c, message.c, ask.c) errand.c   errands (threads): send answers, fetch
 * histories            --serving_hand--> loop local.c, slot.c  local and other activities (threads
 * of theirs) serving.c  the loop's passes, its descriptor, its end
 *
 * All workflow code runs on the thread in serving_pass(): a run belongs to its thread. A task is in
 * one place at a time (task.h), so the lock guards lists and counters only.
 * Must not: know workflow code.
 */
#ifndef TEMPORAL_SERVING_H
#define TEMPORAL_SERVING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/remote.h"
#include "exec/fiber.h"
#include "temporal/cache.h"
#include "temporal/cancel.h"
#include "temporal/errand.h"
#include "temporal/idle.h"
#include "temporal/local.h"
#include "temporal/poll.h"
#include "temporal/slot.h"
#include "temporal/task.h"

#define SERVING_TASKS_MAX                                                                          \
    64                    /* tasks between poll and answer: more would wait here and time out      \
                           */
#define SERVING_ERRANDS 8 /* threads: answers under way at once */

struct remote_serving {
    struct remote *remote;
    const struct remote_worker *worker;
    struct rpc_cancel polls;   /* thrown when it stops */
    struct rpc_cancel answers; /* thrown when what is under way is given up */
    struct errands *errands;
    struct pollers *pollers;
    struct slots *slots;
    struct locals *locals;
    int epoll_fd, wake_fd, timer_fd;
    atomic_bool stopping;

    pthread_mutex_t mutex;
    pthread_cond_t room;       /* in_hand went down, or stopping */
    struct task *first, *last; /* for the loop */
    size_t in_hand;            /* tasks between poll and answer that are not held */
    int refused;               /* polls are refused for good: durable.h's code, and why */
    struct err why;

    /* the loop's alone */
    struct fiber_pool *fibers;
    struct cache cache;
    size_t held;     /* cached runs whose task waits for local activities */
    int64_t task_ns; /* monotonic: the last task, or the beginning */
    int64_t stop_ns; /* monotonic: since when it stops */
    struct idle *idle;
};

void serving_wake(void *serving); /* any thread: the loop has something to do */
/* A task for the loop; it must be counted in in_hand. Any thread. */
void serving_hand(struct remote_serving *serving, struct task *task);
/* Tasks come into being, or go: waits for room. False: it stops. Any thread. */
bool serving_room(struct remote_serving *serving);
void serving_count(struct remote_serving *serving, int change);
void serving_refuse(struct remote_serving *serving, int code, const struct err *err);

/* --- serving.c: entries of the table (engine/remote.h) --- */
int serving_begin(struct remote *remote, const struct remote_worker *worker,
                  struct remote_serving **ret, struct err *err);
int serving_fd(struct remote_serving *serving);
int serving_pass(struct remote_serving *serving, int64_t max_ms, struct err *err);
void serving_end(struct remote_serving *serving);

#endif
