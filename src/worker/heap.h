/*
 * heap.h - what is due when: the engine's deadlines in memory.
 *
 * Owns: a binary min-heap of (due time, kind, execution, scheduled event, stamp). Entries are never
 * removed early: whoever takes one checks `stamp` against the object it was made for and drops
 * stale ones. Rebuilt from the journal at recovery; holds nothing that is not derivable from it.
 * Loop thread only.
 */
#ifndef WORKER_HEAP_H
#define WORKER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum due_kind {
    DUE_TIMER,           /* a workflow timer fires: event = its TIMER_STARTED id */
    DUE_RETRY,           /* an activity's back-off ends: event = its scheduled id */
    DUE_START_TIMEOUT,   /* schedule-to-start of a waiting activity */
    DUE_CLOSE_TIMEOUT,   /* schedule-to-close of an activity */
    DUE_ATTEMPT_TIMEOUT, /* start-to-close of a running attempt */
    DUE_HEARTBEAT,       /* heartbeat time-out of a running attempt: checked, re-armed or fatal */
    DUE_FLUSH,           /* throttled heartbeat details of a running attempt go to the journal */
    DUE_RUN_TIMEOUT,     /* the execution's own run time-out */
    DUE_QUEUE,           /* the rate of a task queue lets another one through */
    DUE_FIRST_TASK,      /* a delayed run begins */
    DUE_SCHEDULE,        /* schedules: look which (no execution) */
    DUE_PURGE,           /* closed runs: look which may go (no execution) */
    DUE_LOOK_AGAIN,      /* a run that a failed turn dropped: whatever it waits for, load it */
};

struct due {
    int64_t at_ns; /* on the heap's clock */
    enum due_kind kind;
    int64_t execution;
    int64_t event;
    int64_t stamp; /* attempt number for attempt-bound kinds, else 0 */
};

struct heap {
    struct due *items;
    size_t count;
    size_t cap;
};

void heap_free(struct heap *heap);
void heap_push(struct heap *heap, const struct due *due);
/* The earliest entry when it is due at now_ns; false otherwise. */
bool heap_pop_due(struct heap *heap, int64_t now_ns, struct due *ret);
/* Due time of the earliest entry, or INT64_MAX. */
int64_t heap_next_ns(const struct heap *heap);

#endif
