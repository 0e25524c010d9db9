/*
 * exec_host.h - a host for the tests of exec/: keeps a history in memory and drives one run.
 *
 * Owns: the bookkeeping that a real host does (ids, times, task scheduling, closing events of
 * activities and timers) and short notations for what a task asked for. Must not: check anything
 * that a test should state itself; it asserts only that the run follows the rules of run.h.
 */
#ifndef TESTS_EXEC_HOST_H
#define TESTS_EXEC_HOST_H

#include "base/arena.h"
#include "base/str.h"
#include "exec/failure_info.h"
#include "exec/run.h"
#include "history/event.h"

struct host {
    struct arena *arena;
    struct event **events; /* the whole history */
    size_t count, cap;
    struct run *run;
    struct run_spec spec;
    struct run_output out; /* of the last task; its events are copied into the history */
    size_t last;           /* index of the first event that the last task appended */
    struct err err;
    int64_t now_ns;
    bool task_pending;
    struct run_update updates[16]; /* for the next task */
    size_t update_count;
    struct str text; /* of host_commands() */
};

/* A history with STARTED and a pending task, and a fresh run. */
void host_init(struct host *h, dur_workflow_fn fn, void *user, const char *input);
void host_free(struct host *h);
/* Append one event, ids and times filled; the caller fills the attributes. */
struct event *host_append(struct host *h, enum event_type type);
void host_wake(struct host *h); /* WORKFLOW_TASK_SCHEDULED unless one is pending */
/* Start the task, run it, append what it returns. The outcome of run_task. */
int host_task(struct host *h);
/* Throw the run away and replay the history into a new one. The outcome of run_replay. */
int host_evict(struct host *h);

/* Activities by their id (the open one), timers by theirs. Each wakes the run. */
void host_done(struct host *h, const char *activity_id, const char *result);
void host_failed(struct host *h, const char *activity_id, dur_kind kind, const char *type,
                 const char *message);
void host_timed_out(struct host *h, const char *activity_id, enum timeout_type type);
void host_canceled(struct host *h, const char *activity_id);
void host_canceled_waiting(struct host *h, const char *activity_id); /* no attempt ran */
void host_fired(struct host *h, const char *timer_id);
void host_signal(struct host *h, const char *name, const char *input);
void host_cancel(struct host *h, const char *reason);
/* An update for the next task. */
void host_update(struct host *h, const char *id, const char *name, const char *input);
/* "id:Type: message, ..." of the updates that the last task rejected. */
const char *host_rejections(struct host *h);

/* Children and requests to other runs, by workflow id (the last one initiated). type is that of the
 * event: CHILD_..., START_CHILD_..._FAILED; EXTERNAL_..., ..._FAILED. Each wakes the run. */
void host_child_started(struct host *h, const char *id);
void host_child_ended(struct host *h, const char *id, enum event_type type);
void host_set_initiated(struct event *answer, int64_t id); /* of a request's answer */
void host_answered(struct host *h, const char *id, enum event_type type);

/* What is open: index-th open activity's (or timer's) id, or NULL. */
const char *host_open_activity(const struct host *h, size_t index, bool *ret_cancel_requested);
const char *host_open_timer(const struct host *h, size_t index);

/* Commands of the last task: "+A1:Charge ?A1 +T1 -T1 !SideEffect !Version attr memo +Uid
 * =Uid:result =Uid!Type =done =failed =canceled +Cid:Type +Sid:signal ?Cid", blanks between. */
const char *host_commands(struct host *h);
/* The same for the whole history, all events. */
const char *host_trace(struct host *h);

#endif
