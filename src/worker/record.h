/*
 * record.h - events on their way into the journal: one event, a whole history, what it leaves.
 *
 * Owns: the one place where an event becomes a row, and what such a row counts in the size of its
 * history. Must not: decide which events there are. Used by everything that writes histories:
 * turns, births, clients, imports, resets. Threads: none of its own.
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

#endif
