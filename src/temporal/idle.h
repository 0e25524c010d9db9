/*
 * idle.h - is any run of this worker's task queues open?
 *
 * Owns: asking the server, by its list of runs, after a quiet time. That list lags behind what
 * happens, so two answers in a row that say "none", a while apart and without a task between, are
 * needed. Must not: end anything.
 * Threads: the loop's; the call itself is an errand.
 */
#ifndef TEMPORAL_IDLE_H
#define TEMPORAL_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct remote_serving;
struct idle;

/* NULL when the worker never ends by itself. */
struct idle *idle_new(struct remote_serving *serving);
/* Asks when it is time to. True: nothing is open, and was not a while ago. NULL: false. */
bool idle_pass(struct idle *idle);
int64_t idle_due_ns(struct idle *idle); /* monotonic: call idle_pass then. NULL: INT64_MAX */
void idle_free(struct idle *idle);      /* no errand of it is under way. NULL fine */

#endif
