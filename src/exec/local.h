/*
 * local.h - local activities: their futures, and the marker that records an outcome.
 *
 * Owns: struct local, and Core's form of the marker: name "core_local_activity", details "data"
 * {"seq", "attempt", "activity_id", "activity_type", "complete_time", "backoff",
 * "original_schedule_time"}, "result" on success; the failure in the event's own field.
 * Private to exec/.
 */
#ifndef EXEC_LOCAL_H
#define EXEC_LOCAL_H

#include "exec/state.h"

enum local_state {
    LOCAL_WAITING, /* the host runs it, or will */
    LOCAL_BACKOFF, /* an attempt failed; the next one comes when a timer of the run has fired */
    LOCAL_DONE,
};

/* The future's part that lives in the run's memory. */
struct local {
    uint8_t state;
    struct run_local ask;
    dur_future *future;
    dur_future *timer;  /* of BACKOFF */
    int64_t backoff_ms; /* likewise */
    int64_t asked_in; /* WORKFLOW_TASK_STARTED of the task that asked: the host knows of it after */
    struct local *next;
};

/* What one marker says. */
struct local_mark {
    uint64_t seq;
    int attempt;
    const char *id;
    const char *type;
    int64_t completed_ns;          /* 0: not recorded */
    int64_t scheduled_ns;          /* of the first attempt; 0: not recorded */
    int64_t backoff_ns;            /* -1: this was the last attempt */
    const char *result;            /* JSON; of a success without one: "null" */
    const struct failure *failure; /* NULL: success */
};

bool local_is_marker(const struct event *event);
/* False: it is no such marker, or not in the form above. Everything in arena, but the failure. */
bool local_mark_read(struct arena *arena, const struct event *event, struct local_mark *ret);
/* Adds the command that records it; false: too many commands, the task has failed. */
bool local_mark_add(struct run *run, const struct local_mark *mark);
/* The failure as workflow code sees it, wrapped as for any activity. */
const struct failure *local_failure(struct arena *arena, const struct local_mark *mark);

#endif
