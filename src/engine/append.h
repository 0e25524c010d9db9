/*
 * append.h - what client calls share: one transaction that appends events to one run.
 *
 * Owns: the checks of what callers give, finding the run, the events with their ids, the workflow
 * task that they make necessary, the mark for an engine, and the ring after the commit. So a call
 * is durable when it returns, whether or not an engine runs. The types that clients append have no
 * defaults but those of the execution's row, so no client reads a history to append to it.
 * Must not: execute anything.
 *
 *     struct append a = {0};
 *     append_open(&a, engine, arena, id)      begins; DUR_OK, or the refusal (nothing is begun)
 *     append_event(&a, type)                  fill it, then append_add(&a, event)
 *     append_task(&a)                         unless a task waits already
 *     append_write(&a, TASK_SIGNAL)
 *     append_commit(&a)
 */
#ifndef ENGINE_APPEND_H
#define ENGINE_APPEND_H

#include "engine/engine.h"
#include "journal/task.h"

#define APPEND_EVENTS_MAX 4

struct append {
    dur_engine *engine;
    struct txn *txn;
    struct arena *arena;
    struct execution_row row;
    struct event_row rows[APPEND_EVENTS_MAX];
    size_t count;
    int64_t now_ns;
};

int check_reason(dur_engine *engine, const char *reason); /* a name (engine.h), NULL, or empty */

/* Begins a transaction, whatever it will be about. */
int append_begin(struct append *a, dur_engine *engine, struct arena *arena);
/* The same, on the open run of "ID" or "ID@RUN". DUR_NOT_FOUND when there is none. */
int append_open(struct append *a, dur_engine *engine, struct arena *arena, const char *id);
struct event *append_event(struct append *a, enum event_type type);
void append_add(struct append *a, const struct event *event);
/* A workflow task, unless one is scheduled already. A run whose first task is still to come, or
 * that is paused, gets it later. */
void append_task(struct append *a);
/* The events, the row's head, the mark. */
void append_write(struct append *a, enum task_kind mark);
/* Closes a->row as terminated, with its event. The rest of `a` is untouched but for the count. */
void append_terminated(struct append *a, const char *reason, const struct payloads *details);
int append_commit(struct append *a);
int append_rollback(struct append *a, int code); /* returns code */

#endif
