/*
 * crew.h - threads that run attempts given to them, and hand them back when they have ended.
 *
 * Owns: the threads (started as they are needed, at most `slots`) and two lists: attempts that
 * nobody took yet, attempts that ended. Must not: decide anything about an attempt.
 * Threads: all calls from one thread; `wake` comes from any.
 */
#ifndef TEMPORAL_CREW_H
#define TEMPORAL_CREW_H

#include <pthread.h>
#include <stdbool.h>

#include "activity/attempt.h"

#define CREW_STACK_BYTES                                                                           \
    (1024 * 1024) /* as of lanes in a store: callbacks use libgit2, curl ...                       \
                   */

struct crew;

/* slots 0: no threads, crew_run_one() runs them. wake: an attempt ended, or (0 slots) was given. */
struct crew *crew_new(const char *name, int slots, void (*wake)(void *user), void *wake_user);
bool crew_has_slot(const struct crew *crew);
/* An attempt that holds a slot until crew_take_ended() returns it. When no thread can be started at
 * all it ends at once as a transient failure. */
void crew_give(struct crew *crew, struct dur_activity *attempt);
bool crew_run_one(struct crew *crew);                    /* of a crew without threads */
struct dur_activity *crew_take_ended(struct crew *crew); /* NULL: none */
bool crew_is_idle(const struct crew *crew);              /* nothing is out */
void crew_end(struct crew *crew);                        /* joins; frees what ended. NULL fine */

/* Starts a thread with all signals blocked, of so much stack. 0 or an errno. */
int crew_thread(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg);

#endif
