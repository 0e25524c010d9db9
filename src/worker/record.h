/*
 * record.h - events on their way into the journal: one event, a whole history, what it leaves.
 *
 * Owns: the one place where an event becomes a row, what such a row counts in the size of its
 * history, and the rows that stand for what a history leaves open or was asked (record_rows.c).
 * Must not: decide which events there are. Used by everything that writes histories: turns, births,
 * clients, imports, resets. Threads: none of its own.
 */
#ifndef WORKER_RECORD_H
#define WORKER_RECORD_H

#include "base/arena.h"
#include "history/event.h"
#include "history/store.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "journal/store.h"

/* *ret stands for the event, in arena; codec has moved on past it. Its size in the history. */
int64_t record_event(struct store_context *codec, struct arena *arena, const struct event *event,
                     int64_t time_ns, struct event_row *ret);
/* All of them, with their own times, as the history of row->id: adds to row->history_bytes and
 * writes row's head. Errors stick to the transaction. */
void record_history(struct txn *txn, struct execution_row *row, const struct event *events,
                    size_t count);
/* Fills in WORKFLOW_TASK_SCHEDULED. */
void record_task_scheduled(struct arena *arena, struct event *event, const char *task_queue,
                           int64_t timeout_ns, int attempt);
/* Does the run need a WORKFLOW_TASK_SCHEDULED before it can see what came? Not when one is written
 * and not started, nor while it is held (paused, or before its first task): that comes later. 1, 0;
 * <0 error. */
int record_needs_task(struct db *db, const struct execution_row *row, struct err *err);
/* Memo, search attributes and pause of row, as the event leaves them. */
void record_state(struct arena *arena, struct execution_row *row, const struct event *event);

/* --- of a history that was written elsewhere or by another run (record_rows.c) ------------------
 * Servers leave out what they like: a member that is missing has its usual value, and an event that
 * does not say enough for a row makes none. Errors stick to the transaction. */

/* The activity, in its first attempt, as if scheduled at scheduled_ns; cancel_id: the request to
 * cancel it, 0: none. */
void record_activity(struct txn *txn, const struct execution_row *row, const struct event *event,
                     int64_t scheduled_ns, int64_t cancel_id);
/* Due when it was due there. */
void record_timer(struct txn *txn, int64_t execution, const struct event *event);
/* The child whose first run is run_id, started by event started_id. */
void record_child(struct txn *txn, int64_t execution, const struct event *event, int64_t started_id,
                  const char *run_id);
/* What a signal (its request id) or an update's ADMITTED, ACCEPTED or COMPLETED leaves for those
 * who ask again; nothing for any other event. Each of the history's, in order. */
void record_request(struct txn *txn, int64_t execution, const struct event *event);

#endif
