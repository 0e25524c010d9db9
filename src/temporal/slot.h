/*
 * slot.h - activity tasks of a serving engine: polled, run and answered, each by one thread.
 *
 * Owns: per lane its slots. A slot is a thread: poll, run the callback, answer. Never more polls
 * are open than slots are free, so no task is taken that would have to wait here; a lane's slots
 * are its own, so lanes do not starve each other. Threads start as they are needed.
 *
 *     poll --task--> attempt --callback--> answer --> poll
 *                      |  pulse.h: heartbeats out, cancel requests and time-outs in
 *
 * Answers (answer.h) are retried until the attempt would have timed out anyway; one that nobody
 * awaits any more (NOT_FOUND) is logged and dropped. The failure of the attempt before is not told
 * by the server: dur_activity_last_failure() is NULL on a server.
 * Lanes with 0 slots: a thread polls and answers, but the callback runs in slots_pass().
 * Threads: all calls from the loop's thread; `wake` comes from any.
 */
#ifndef TEMPORAL_SLOT_H
#define TEMPORAL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/remote.h"

struct slots;

/* Begins to poll every lane of worker but "local", for activities when the registry has any. wake:
 * slots_pass has something to do, slots_home changed, or slots_refused. */
struct slots *slots_begin(struct remote *remote, const struct remote_worker *worker,
                          void (*wake)(void *user), void *wake_user);
/* Runs one attempt of a lane without threads. True when there was one. */
bool slots_pass(struct slots *slots);
/* 0; DUR_IO: the server refuses polls for good, err says why. */
int slots_refused(struct slots *slots, struct err *err);
/* Polls end, attempts are told "stopping". After stop_grace_ms late ones are logged, and answers
 * that the server does not take are given up. */
void slots_stop(struct slots *slots);
bool slots_home(struct slots *slots);      /* nothing is polled, runs, or waits to be answered */
int64_t slots_due_ns(struct slots *slots); /* monotonic: ask slots_home then; or INT64_MAX */
/* slots_stop, then waits until all are home. NULL fine. */
void slots_end(struct slots *slots);

#endif
