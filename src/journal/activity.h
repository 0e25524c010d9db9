/*
 * activity.h - table activity: what is pending, attempt by attempt.
 *
 * Owns: the mutable state of activities that are scheduled and not yet closed (a closed one lives
 * on as events). Key: (execution, scheduled_event_id). Must not: decide about retries.
 *
 *     insert ──> SCHEDULED ──start──> STARTED ──backoff──> BACKOFF ──start──> STARTED ...
 *                     └────────────────── delete ──────────────────┘
 * An activity may be inserted as STARTED at once (it is dispatched right after the commit).
 */
#ifndef JOURNAL_ACTIVITY_H
#define JOURNAL_ACTIVITY_H

#include "journal/store.h"

enum activity_state {
    ACTIVITY_SCHEDULED = 1, /* waits for a slot */
    ACTIVITY_STARTED = 2,   /* an attempt runs (or did, in an engine that died: see epoch) */
    ACTIVITY_BACKOFF = 3,   /* next attempt at next_attempt_ns */
};

#define ACTIVITY_PRIORITY_DEFAULT 3 /* Temporal's middle of 1..5 */

struct activity_row {
    int64_t execution;
    int64_t scheduled_event_id;
    const char *activity_id;
    const char *type;
    const char *task_queue;
    const char *input;   /* NULL: it is in the scheduled event */
    const char *options; /* text of the caller's choice: timeouts, retry policy; NULL likewise */
    int attempt;         /* from 1 */
    enum activity_state state;
    int64_t epoch;                 /* engine that started the running attempt (epoch.h); 0: none */
    int64_t scheduled_ns;          /* first scheduling */
    int64_t started_ns;            /* running attempt; 0: none */
    int64_t next_attempt_ns;       /* of BACKOFF, else 0 */
    int64_t deadline_ns;           /* earliest timeout that can end it as things are; 0: none */
    int64_t heartbeat_ns;          /* last heartbeat of the running attempt; 0: none */
    int64_t cancel_event_id;       /* its ActivityTaskCancelRequested; 0: not asked to stop */
    const char *heartbeat_details; /* survive into the next attempt */
    const char *last_failure;
    bool is_async;               /* of STARTED: nobody runs it, its outcome comes by token */
    int priority;                /* 1 first .. 5 last; 0 is written as 3 */
    const char *concurrency_key; /* at most so many of a key at once (admission.h); NULL: none */
    int64_t queued_ns; /* since when it waits in a queue with limits (admission.h); 0: no limits */
};

void activity_insert(struct txn *txn, const struct activity_row *row);
/* The writers below return true when the row was there (false also when the txn has failed). */
bool activity_start(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                    int64_t started_ns, int64_t deadline_ns, int64_t epoch);
/* attempt: the number of the attempt to come. failure: of the attempt that just ended. */
bool activity_backoff(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                      int64_t next_attempt_ns, int64_t deadline_ns, const char *failure);
/* Only for the running attempt of this number (a zombie's heartbeat changes nothing: false).
 * details NULL: unchanged. */
bool activity_heartbeat(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                        int64_t heartbeat_ns, int64_t deadline_ns, const char *details);
/* The running attempt of this number went home without an outcome: it will be reported. */
bool activity_set_async(struct txn *txn, int64_t execution, int64_t scheduled_event_id, int attempt,
                        int64_t now_ns, int64_t deadline_ns);
/* It waits for a slot, in the line of a queue with limits since queued_ns (0: without). */
bool activity_requeue(struct txn *txn, int64_t execution, int64_t scheduled_event_id,
                      int64_t queued_ns);
bool activity_request_cancel(struct txn *txn, int64_t execution, int64_t scheduled_event_id,
                             int64_t cancel_event_id);
bool activity_delete(struct txn *txn, int64_t execution, int64_t scheduled_event_id);

int activity_get(struct db *db, struct arena *arena, int64_t execution, int64_t scheduled_event_id,
                 struct activity_row *ret, struct err *err);
struct activity_list {
    struct activity_row *rows;
    size_t count;
};
/* Of one run, in scheduling order. */
int activity_list(struct db *db, struct arena *arena, int64_t execution, struct activity_list *ret,
                  struct err *err);
/* Of all runs, keys greater than (execution, scheduled_event_id), at most limit: for recovery. */
int activity_list_all(struct db *db, struct arena *arena, int64_t after_execution,
                      int64_t after_event_id, int limit, struct activity_list *ret,
                      struct err *err);
/* BACKOFF with next_attempt_ns <= now, or any with 0 < deadline_ns <= now. O(pending): the engine
 * keeps due times in memory and asks this only to start up or to check itself. */
int activity_list_due(struct db *db, struct arena *arena, int64_t now_ns, struct activity_list *ret,
                      struct err *err);
int activity_next_due(struct db *db, int64_t *ret_ns, struct err *err); /* 1: none */

struct activity_queue_count {
    const char *task_queue;
    int64_t scheduled;
    int64_t started;
    int64_t backoff;
};
struct activity_queue_list {
    struct activity_queue_count *rows;
    size_t count;
};
/* How many of its task queue wait for a slot and were scheduled before this one. */
int activity_count_ahead(struct db *db, const struct activity_row *row, int64_t *ret,
                         struct err *err);
int activity_count_by_queue(struct db *db, struct arena *arena, struct activity_queue_list *ret,
                            struct err *err);

#endif
