/*
 * reply.h - the answer to a workflow task that was done.
 *
 * Owns: what stands in RespondWorkflowTaskCompleted: commands and messages of the run's output,
 * answers to queries that came along, whether this worker wants the run's next tasks (sticky queue)
 * and at once, whether there must be a next one (local activities run), whether the server may
 * forget the task (it did nothing but refuse updates).
 * Must not: send it (task.c does). Nothing in it points into the run, which may go on or away.
 * Threads: the loop's.
 */
#ifndef TEMPORAL_REPLY_H
#define TEMPORAL_REPLY_H

struct cached;
struct remote_serving;
struct run_output;
struct task;

/* After run_task and locals_sync, and before any other call on the run. */
void reply_complete(struct remote_serving *serving, struct task *task, struct cached *cached,
                    const struct run_output *out);

#endif
