/*
 * attempt.h - one attempt of an activity: what the callback sees as dur_activity.
 *
 * Owns: the attempt's memory, its cancel flag, its heartbeats and its outcome, whichever host made
 * it. Two threads know it: the one that runs the callback and its host's loop. Fields are grouped
 * by who may touch them; those of the loop are the SQLite host's alone. Nothing here may live in a
 * global: a host in a module of its own has a copy of this code (engine/remote.h).
 * Invariant: from attempt_new until its callback has returned that thread owns it; then the loop
 * does. A fenced attempt (timed out, run closed) is only told to stop; its outcome is dropped when
 * it comes back.
 */
#ifndef ACTIVITY_ATTEMPT_H
#define ACTIVITY_ATTEMPT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "durable.h"

struct dur_activity;
struct inbox; /* these three are the SQLite host's: worker/ */
struct lane;
struct pace;

#define ATTEMPT_PAYLOAD_MAX                                                                        \
    (2U * 1024 * 1024) /* result, heartbeat details: Temporal's blob limit */
#define ATTEMPT_MESSAGE_MAX                                                                        \
    (16U * 1024) /* of a failure: one line for people, longer ones are cut */

/* How the callback ended, in words of its own (set by the lane thread, read by the loop). */
struct attempt_outcome {
    int code;           /* DUR_OK, DUR_CANCELLED, DUR_PENDING or DUR_FAILED */
    const char *result; /* JSON or NULL */
    dur_kind kind;      /* the rest: of a failure */
    const char *type;
    const char *message;
    const char *details;   /* JSON or NULL */
    int64_t next_delay_ns; /* its own wish for the next attempt; 0: none */
};

/* What an attempt asks of its host, on the callback's thread. */
struct attempt_host {
    void (*beat)(struct dur_activity *attempt); /* its details should go out (throttled by host) */
    /* dur_test_sleep(); NULL: there is no test's clock */
    int (*wait)(struct dur_activity *attempt, int64_t ns);
};

struct dur_activity {
    /* fixed at birth */
    struct arena *arena;
    const struct attempt_host *host;
    void *host_data; /* the host's own */
    struct inbox *inbox;
    const struct clock_vtable *clock; /* its engine's; NULL: the system's */
    dur_activity_fn fn;
    void *user;
    bool is_local; /* local.c: no row, no heartbeats, no token */
    int64_t execution;
    int64_t scheduled_event_id;
    int32_t attempt;
    int64_t heartbeat_ns; /* time-out; 0: none */
    int64_t deadline_ns;  /* monotonic, of start-to-close; 0: none */
    const char *type;
    const char *task_queue;
    const char *activity_id;
    const char *input;
    const char *workflow_id;
    const char *run_id;
    const char *key;
    const char *token;                      /* names this attempt to dur_complete() */
    const char *details_before;             /* of the attempt before, or NULL */
    const dur_failure_info *failure_before; /* or NULL */
    int64_t started_ns;                     /* wall clock of the claim */
    struct pace *pace;                      /* of a test's engine, or NULL */
    uint64_t paced_order;                   /* which one of its attempts this is */
    /* On the loop's own thread: makes it commit what there is; false when the store is lost. */
    bool (*commit)(void *user);
    void *commit_user;

    /* both threads, under mutex */
    pthread_mutex_t mutex;
    pthread_cond_t committed;   /* details_committed grew, or stopping */
    char *details;              /* newest, heap */
    uint64_t details_seq;       /* counts changes */
    uint64_t details_committed; /* newest that is on disk */
    int cancel_fd;              /* eventfd, made on demand; -1 before */
    const char *cancel_reason;  /* static text */
    atomic_bool cancelled;
    atomic_llong beat_ns;    /* monotonic time of the last sign of life */
    atomic_llong flushed_ns; /* monotonic time of the last details flush; 0: never */
    atomic_bool awaits_commit; /* dur_heartbeat_sync() waits for a turn */
    atomic_bool flush_armed; /* the loop knows of unflushed details and has a deadline */
    atomic_bool beat_wanted; /* the host waits for the next heartbeat, with news or without */

    /* lane thread until done, then the loop */
    bool failed; /* dur_fail was called */
    struct attempt_outcome outcome;
    bool fenced;      /* loop only: nobody waits for the outcome */
    const char *told; /* loop only: this turn's word to it, said after the commit; or NULL */
    bool told_fence;  /* loop only: this turn fenced it */

    /* links, owned by whoever holds the attempt */
    struct dur_activity *next_done;
    struct dur_activity *next_beat;
    bool beat_queued; /* under inbox->mutex */
    struct dur_activity *next_work;
    struct dur_activity *next_running;  /* loop only: all attempts that are out */
    struct dur_activity **link_running; /* what points at this one there */
    struct dur_activity *next_flushed;  /* loop only: details in this turn's transaction */
    struct dur_activity *next_told;     /* loop only: cancelled or fenced by this turn */
    uint64_t flush_seq;                 /* loop only: newest details in this turn's transaction */
    bool flush_listed;                  /* loop only: it is on that list */
    struct lane *lane;
};

/* arena becomes the attempt's; every text must live in it. */
struct dur_activity *attempt_new(struct arena *arena, const struct attempt_host *host,
                                 const struct clock_vtable *clock);
void attempt_free(struct dur_activity *attempt);         /* NULL fine */
struct arena *attempt_end(struct dur_activity *attempt); /* the same, but its arena is yours */
/* Run the callback (lane thread): fills outcome. */
void attempt_run(struct dur_activity *attempt);
/* Tell it to stop; reason is static text: "cancelled", "timed out", "stopping", "closed". First one
 * stays. */
void attempt_cancel(struct dur_activity *attempt, const char *reason);
/* Newest details for the journal: heap copy in *ret (free), its number in *ret_seq; false when all
 * are committed. attempt_details_committed() wakes dur_heartbeat_sync. */
bool attempt_take_details(struct dur_activity *attempt, char **ret, uint64_t *ret_seq);
void attempt_details_committed(struct dur_activity *attempt, uint64_t seq);
/* Monotonic time from which the next flush of details may go out (throttle). */
int64_t attempt_flush_after_ns(const struct dur_activity *attempt);

#endif
