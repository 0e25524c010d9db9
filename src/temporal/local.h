/*
 * local.h - local activities of a serving engine: this process runs them, tasks record their ends.
 *
 * Owns: what the runs of this worker wait for (run_next_local), the threads of lane "local" that
 * run it, retries in memory up to the threshold, time-outs, cancellation. In memory alone: when the
 * process dies the run is replayed elsewhere and finds the same ones waiting.
 * What the loop does with a run whose workflow task it holds:
 *
 *     run_task(...)           append nothing yet
 *     locals_sync(...)        starts what is new, stops what is cancelled, lets go of what is gone
 *     locals_open() > 0:      answer the task with force_create_new_workflow_task; the server gives
 *                             the next one at once, which is held until locals_give() says true or
 *                             80 % of its time-out have passed
 *     locals_give(...), run_task(next task), locals_sync(...)
 *
 * So a history has the same tasks here as in a store. Durations are measured on this machine's
 * clock; the times that a marker records are the server's (9.23: no skew between the two matters).
 * Must not: talk to the server; touch a run but by run_next_local and run_give_locals.
 * Threads: all calls from the loop's thread; `wake` comes from any.
 */
#ifndef TEMPORAL_LOCAL_H
#define TEMPORAL_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "activity/registry.h"
#include "exec/run.h"

#define LOCAL_LANE "local"
#define LOCAL_SLOTS_DEFAULT 4

struct locals;

struct locals_spec {
    const struct registry *registry;
    int slots; /* of lane "local"; 0: no threads, locals_pass runs one attempt at a time itself */
    void (*wake)(void *user); /* locals_pass has something to do. Any thread */
    void *wake_user;
    void (*log)(void *user, int level, const char *line); /* levels of dur_options.on_log */
    void *log_user;
};

struct locals *locals_new(const struct locals_spec *spec);
/* After each run_task and run_replay of a run. run_now_ns: event time of its last WORKFLOW_TASK_
 * STARTED. Attempts that were left behind (locals_leave) are found again. */
void locals_sync(struct locals *locals, struct run *run, const char *workflow_id,
                 const char *run_id, int64_t run_now_ns);
size_t locals_open(const struct locals *locals, const char *run_id);     /* have no outcome yet */
bool locals_have_ended(const struct locals *locals, const char *run_id); /* some have one */
/* Gives the run the outcomes that there are, for its next run_task; they live until the next
 * locals_sync of this run. True when there was one. */
bool locals_give(struct locals *locals, struct run *run, const char *run_id);
/* The run left this worker's cache, open. It may come back (its task was lost on the way): attempts
 * go on, and for ten minutes what comes of them is kept. */
void locals_leave(struct locals *locals, const char *run_id);
/* The run is closed: attempts are told so ("closed"). */
void locals_close(struct locals *locals, const char *run_id);
/* Attempts that ended, time-outs, back-offs that are over. True when some run has an outcome that
 * it had not at the last pass. */
bool locals_pass(struct locals *locals);
int64_t locals_due_ns(const struct locals *locals); /* monotonic: call locals_pass then; or max */
/* No attempt begins any more; running ones are told "stopping". They count as not made. */
void locals_stop(struct locals *locals);
bool locals_home(const struct locals *locals); /* no attempt runs */
/* Waits for attempts that still run. NULL fine. */
void locals_end(struct locals *locals);

#endif
