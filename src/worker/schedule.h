/*
 * schedule.h - schedules in the turn: what is due becomes runs.
 *
 * Owns: which starts are due, whether a start may happen now, and the run that it makes. A turn
 * takes the schedules that are due, or ripe because a run of theirs closed or somebody triggered
 * them; the row, its waiting starts and the new runs change in the turn's one transaction, so each
 * start happens exactly once. Must not: depend on what its runs do for the next due time.
 * Loop thread only.
 */
#ifndef WORKER_SCHEDULE_H
#define WORKER_SCHEDULE_H

#include <stddef.h>

#include "worker/calendar.h"
#include "journal/schedule.h"
#include "worker/host.h"

#define SCHEDULE_WAITING_MAX 1000 /* starts of one schedule that wait; as Temporal's */
#define SCHEDULE_KEPT_RUNS 10     /* closed runs that are remembered; as Temporal's */

/* Within a turn: look at the schedules if there may be something to do (host->look_schedules).
 * How many there were. */
size_t schedule_take(struct host *host);
/* The committed turn closed runs: if there are schedules, the next turn looks. */
void schedule_after_close(struct host *host);

/* Where it stands in time after everything until after_ns is decided: fills has_next, nominal_ns
 * and due_ns. A paused or exhausted one has no next time. */
void schedule_advance(struct schedule_row *row, const struct calendar *calendar, int64_t after_ns);

#endif
