/*
 * ask.h - queries that come to a worker: alone, or along with a workflow task.
 *
 * Owns: from a query's message to run_query() and to the answer's messages.
 * Must not: make or find the run that is asked (drive.c does).
 * Threads: the loop's.
 */
#ifndef TEMPORAL_ASK_H
#define TEMPORAL_ASK_H

struct remote;
struct run;
struct task;

/* The task's answer is the answer to its query. */
void ask_answer(struct remote *remote, struct task *task, struct run *run);
/* The same: there is none. type is a stable word, cause of enum workflow_task_failed_cause. */
void ask_refuse(struct remote *remote, struct task *task, const char *type, const char *message,
                int cause);
/* Adds the answers of all queries that came with a workflow task to task->completed. */
void ask_answer_all(struct remote *remote, struct task *task, struct run *run);

#endif
