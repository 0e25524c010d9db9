/*
 * cache.h - the runs whose workflow functions this worker keeps in memory.
 *
 * Owns: struct cached, found by run id; which one was used last; their number. A cached run stands
 * where its last workflow task left it, and `predicted` says which events its commands should
 * become: the next task's events are compared with it before they are believed.
 * Must not: run code, talk to the server (drive.c does).
 * Threads: the loop's thread alone.
 */
#ifndef TEMPORAL_CACHE_H
#define TEMPORAL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "exec/run.h"
#include "history/event.h"

struct task; /* temporal/task.h */

#define CACHE_BUCKETS 4096

struct cached {
    struct cached *hash_next;
    struct cached *newer, *older;
    struct arena *arena; /* this and its texts */
    const char *run_id;
    const char *workflow_id;
    const char *type;
    const char *queue;      /* the server's name of its task queue */
    uint64_t serial;        /* no two have the same, not even of one run */
    struct run *run;        /* never NULL */
    int64_t last_started;   /* STARTED of the last task that it was given; 0: none */
    int64_t undone_started; /* last_started before that task */
    int64_t now_ns;         /* its time */
    /* Types of the events that its last task asked for, from this id on. Heap. */
    int64_t predicted_id;
    uint8_t *predicted;
    size_t predicted_count, predicted_cap;
    /* Attributes of event 1 that a run which continues as new passes on; input and memo are out. */
    const struct ev_workflow_execution_started *started;
    struct task *held;     /* its next task, while local activities run */
    int64_t held_until_ns; /* monotonic */
};

struct cache {
    struct cached *buckets[CACHE_BUCKETS];
    struct cached *newest, *oldest;
    size_t count;
    uint64_t next_serial;
};

struct cached *cache_find(struct cache *cache, const char *run_id); /* NULL: not here */
/* From the run's first event. */
struct cached *cache_add(struct cache *cache, struct run *run, const char *workflow_id,
                         const char *run_id, const char *type, const char *queue,
                         const struct event *first);
void cache_touch(struct cache *cache, struct cached *cached); /* used now */
/* Frees the run (its fibers unwind) and the entry. held must be NULL. */
void cache_drop(struct cache *cache, struct cached *cached);

/* The run was given a task that began with this STARTED, and asked for these events. */
void cached_advance(struct cached *cached, const struct event *started,
                    const struct run_output *out);
/* That task leaves no trace (run_undo_task). */
void cached_undo(struct cached *cached);
/* Do events that the server sends after previous_started_event_id go on where this run stands, with
 * what it predicted? */
bool cached_fits(const struct cached *cached, int64_t previous_started, const struct event *events,
                 size_t count);

#endif
