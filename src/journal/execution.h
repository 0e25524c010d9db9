/*
 * execution.h - table execution: one row per run of a workflow.
 *
 * Owns: identity, head of the history, status, timeouts and results of runs; counts by status.
 * Must not: append events (event.h). A workflow id has at most one open run (unique index).
 * Conventions of all table headers: readers return 0 found / 1 no such row / <0 error; 0 in an
 * integer and NULL in a text stand for SQL NULL; writers take a txn, record their error there.
 */
#ifndef JOURNAL_EXECUTION_H
#define JOURNAL_EXECUTION_H

#include "journal/filter.h"
#include "journal/store.h"

enum execution_status { /* Temporal's WorkflowExecutionStatus */
                        EXECUTION_RUNNING = 1,
                        EXECUTION_COMPLETED = 2,
                        EXECUTION_FAILED = 3,
                        EXECUTION_CANCELED = 4,
                        EXECUTION_TERMINATED = 5,
                        EXECUTION_CONTINUED_AS_NEW = 6,
                        EXECUTION_TIMED_OUT = 7,
};
#define EXECUTION_STATUS_COUNT 8
#define EXECUTION_PAUSED 8 /* for lists only: the row is RUNNING, its column `paused` is set */

struct execution_row {
    int64_t id; /* ascending: newer runs have larger ids */
    const char *workflow_id;
    const char *run_id;
    const char *type;
    const char *task_queue;
    int status;
    int64_t next_event_id; /* the id that the next event gets; 1 before the first. Of an open run */
    int64_t history_bytes; /* both are read from its last batch of events */
    int64_t started_ns;
    int64_t closed_ns;             /* 0 while open */
    int64_t run_deadline_ns;       /* run timeout falls due; 0: none */
    int64_t expires_ns;            /* expiry of the whole chain of runs; 0: none */
    const char *request_id;        /* dedupes a repeated start */
    const char *memo;              /* JSON object or NULL */
    const char *result;            /* JSON of a completed run, else NULL */
    const char *failure;           /* JSON of a failed, cancelled, timed out run, else NULL */
    const char *parked;            /* mismatch report, else NULL */
    int64_t first_task_ns;         /* no workflow task before; 0: the first one was scheduled */
    int64_t task_timeout_ns;       /* of its workflow tasks; 0: the default */
    int attempt;                   /* of the run as a whole, from 1 */
    const char *first_run_id;      /* of the chain of runs; NULL: this one */
    const char *next_run_id;       /* the run that took over when this one closed, else NULL */
    const char *paused;            /* the reason ("" when none was given); NULL: not paused */
    const char *search_attributes; /* JSON object or NULL */
    int64_t parent;                /* the run that started it, 0: none (it may be gone) */
    int64_t parent_event_id;       /* where that one's history says so */
    bool first_task_by_wall;       /* first_task_ns is cron's: it stays when the clock is set */
};

/* Insert (row->id is ignored); returns the new id, 0 when the transaction has failed. A second open
 * run of a workflow id fails the transaction (name "RunExists"). */
int64_t execution_insert(struct txn *txn, const struct execution_row *row);
/* The head of a history that came whole, of a run that is closed. False: no such row, or the
 * transaction has failed. */
bool execution_set_head(struct txn *txn, int64_t id, int64_t next_event_id, int64_t history_bytes);
/* Ends the run, all of whose events are written: status, time, result or failure (NULL fine), where
 * its history ends; clears deadline and parked. Its
 * pending activities, timers and tasks are deleted. False: no such open run. */
bool execution_close(struct txn *txn, int64_t id, enum execution_status status, int64_t closed_ns,
                     const char *result, const char *failure);
/* The closed run's successor. */
bool execution_set_next(struct txn *txn, int64_t id, const char *next_run_id);
/* The first workflow task was scheduled. */
bool execution_set_begun(struct txn *txn, int64_t id);
bool execution_set_paused(struct txn *txn, int64_t id, const char *reason /* NULL: goes on */);
/* The run that it reports its end to. */
bool execution_set_parent(struct txn *txn, int64_t id, int64_t parent);
bool execution_set_search_attributes(struct txn *txn, int64_t id, const char *json);
bool execution_set_memo(struct txn *txn, int64_t id, const char *memo);
bool execution_set_parked(struct txn *txn, int64_t id, const char *report /* NULL: no more */);
/* Retention: the closed run and everything that belongs to it. False: no such closed run, or an
 * engine has still to look at it (a client closed it: its parent and children do not know yet). */
bool execution_delete(struct txn *txn, int64_t id);

int execution_get(struct db *db, struct arena *arena, int64_t id, struct execution_row *ret,
                  struct err *err);
int execution_find_open(struct db *db, struct arena *arena, const char *workflow_id,
                        struct execution_row *ret, struct err *err);
int execution_find_newest(struct db *db, struct arena *arena, const char *workflow_id,
                          struct execution_row *ret, struct err *err);
/* The newest run of this id that was started by this request. */
int execution_find_request(struct db *db, struct arena *arena, const char *workflow_id,
                           const char *request_id, struct execution_row *ret, struct err *err);
int execution_find_run(struct db *db, struct arena *arena, const char *run_id,
                       struct execution_row *ret, struct err *err);

struct execution_list {
    struct execution_row *rows;
    size_t count;
};
/* Newest first, at most limit. status 0: all, EXECUTION_PAUSED: open ones that are paused. before:
 * id of the last row seen; 0: from the newest. */
int execution_list(struct db *db, struct arena *arena, int status, int64_t before, int limit,
                   struct execution_list *ret, struct err *err);
/* The same of those that pass a filter (journal/filter.h). */
int execution_list_where(struct db *db, struct arena *arena, const struct filter *filter,
                         int64_t before, int limit, struct execution_list *ret, struct err *err);
/* Distinct workflow ids that begin with prefix, newest run first, at most limit. */
int execution_ids_with_prefix(struct db *db, struct arena *arena, const char *prefix, int limit,
                              const char ***ret_ids, size_t *ret_count, struct err *err);
/* Open runs in ascending id, ids greater than after: for recovery. */
int execution_list_open(struct db *db, struct arena *arena, int64_t after, int limit,
                        struct execution_list *ret, struct err *err);
/* Open runs whose run_deadline_ns or expires_ns is <= now_ns, earliest first (limit 0: all). */
int execution_list_due(struct db *db, struct arena *arena, int64_t now_ns, int limit,
                       struct execution_list *ret, struct err *err);
/* Open runs whose first workflow task is still to come, earliest first. */
int execution_list_delayed(struct db *db, struct arena *arena, struct execution_list *ret,
                           struct err *err);
/* The earliest of those times among open runs; 1: there is none. */
int execution_next_due(struct db *db, int64_t *ret_ns, struct err *err);
/* counts[status] for every status; counts[0] is their sum. O(1). */
int execution_counts(struct db *db, int64_t counts[EXECUTION_STATUS_COUNT], struct err *err);

#endif
