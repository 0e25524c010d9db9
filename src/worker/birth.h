/*
 * birth.h - how a run comes into the store: by a client, as a child, as the successor of a run that
 * continues as new, is retried or is due by its cron text, or from a schedule.
 *
 * Owns: the row, WORKFLOW_EXECUTION_STARTED with what Temporal's server fills in, the signals that
 * the run is born with, the first workflow task (unless it is delayed), and the mark that makes an
 * engine look. All of it in the caller's transaction, so a run exists together with what made it.
 * Must not: decide whether the id may be used (the caller closed or refused an open run before), or
 * execute anything.
 *
 *     1        WORKFLOW_EXECUTION_STARTED
 *     2..k     WORKFLOW_EXECUTION_SIGNALED    signals given along
 *     k+1      WORKFLOW_TASK_SCHEDULED        unless first_task_backoff_ns > 0: then an engine
 *                                             writes it when row.first_task_ns has come
 */
#ifndef WORKER_BIRTH_H
#define WORKER_BIRTH_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "history/event.h"
#include "journal/execution.h"
#include "journal/store.h"

struct birth {
    const char *workflow_id;
    const char *run_id; /* NULL: a new one is made */
    const char *type;
    const char *task_queue; /* NULL: "default" */
    const struct payloads *input;
    const struct payload_map *memo;
    const struct payload_map *search_attributes;
    const struct payload_map *header;

    int64_t execution_timeout_ns; /* of the chain; 0: none */
    int64_t expires_ns;           /* of the chain, absolute; 0: counted from now, for a first run */
    int64_t run_timeout_ns;       /* as asked for; 0: as long as the chain may take */
    int64_t task_timeout_ns;      /* 0: 10 s; capped at 120 s and at the run's time */
    const struct retry_policy *retry; /* of the run as a whole; NULL: none */
    const char *cron;                 /* NULL: none */
    int64_t first_task_backoff_ns;    /* the first workflow task comes so much later */
    int32_t priority;                 /* 1 high .. 5 low; 0: not given */

    /* a successor's */
    int32_t attempt; /* 0: 1 */
    enum continue_as_new_initiator initiator;
    const struct failure *continued_failure;
    const struct payloads *last_completion_result;
    const char *continued_run_id; /* the run before; NULL: none */
    const char *first_run_id;     /* of the chain; NULL: this one */
    const char *original_run_id;  /* seeds chance; NULL: this one's id */

    /* a child's */
    int64_t parent; /* id of the parent's row; 0: none */
    const char *parent_namespace;
    const char *parent_namespace_id;
    const char *parent_workflow_id;
    const char *parent_run_id;
    int64_t parent_event_id; /* START_CHILD_WORKFLOW_EXECUTION_INITIATED in the parent's history */
    const char *root_workflow_id; /* NULL: this run is its own root and says nothing */
    const char *root_run_id;

    /* WORKFLOW_EXECUTION_SIGNALED events with their attributes; ids are given here, so is a time
     * to those that have none. Their request ids count as seen by the new run. */
    const struct event *const *signals;
    size_t signal_count;

    const char *request_id; /* dedupes a repeated start; NULL: none */
    const char *identity;
};

/* Write it. 0 with the row as stored (texts in arena, or as given); -1: the transaction has failed
 * (name "RunExists" when the id has an open run). An engine in this process sets host->look. */
int birth_write(struct txn *txn, struct arena *arena, const struct birth *birth, int64_t now_ns,
                struct execution_row *ret);

/* A new run id, for a closing event that must name its successor before that is written. */
const char *birth_run_id(struct arena *arena);

/* Time-out of a run's workflow tasks: asked (0: 10 s), at most 120 s and the run's own time. */
int64_t birth_task_timeout_ns(int64_t asked_ns, int64_t run_timeout_ns);
/* The same from a row, also one that an older program wrote. */
int64_t birth_row_task_timeout_ns(const struct execution_row *row);

#endif
