/*
 * drive.h - the loop's work on a task: from events to an answer.
 *
 * Owns: which run a task belongs to (cached and fitting, or made anew from the whole history), the
 * run of its code; what becomes of the run when the server does not take the answer; the tasks that
 * are held for local activities.
 *
 * Never assumed: that events got the ids that exec predicted. A task whose events do not go on
 * where the cached run stands makes the run anew. The failure of a task is told for its first
 * attempt alone: the server would send it again at once; later attempts are left to time out, with
 * the server's growing pauses, until other code answers. Must not: wait for anything. Threads: the
 * loop's.
 */
#ifndef TEMPORAL_DRIVE_H
#define TEMPORAL_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

struct remote_serving;
struct task;

void drive_task(struct remote_serving *serving, struct task *task); /* takes it over */
/* Held tasks whose local activities have ended, or whose time is nearly over. True: there was one.
 */
bool drive_held(struct remote_serving *serving);
int64_t drive_held_due_ns(const struct remote_serving *serving); /* monotonic; INT64_MAX: none */
void drive_drop_all(struct remote_serving *serving); /* every run unwinds; held tasks are freed */

#endif
