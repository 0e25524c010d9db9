/*
 * admission.h - table task_queue: which of the waiting activities of a queue with limits may start.
 *
 * Owns: the limits of task queues (slots, rate, so many per key at once) and the one statement that
 * decides: it counts the attempts that are alive from their rows, compares with the limits, and
 * marks whom it lets through as started. No counter is stored that could be wrong after a crash;
 * only the bucket of the rate is (its tokens grow with time by themselves).
 * Order: priority (1 first), then the time since when they wait. Whoever waits for a key that is
 * full does not stand in the way of other keys.
 * Must not: know the engine's threads; how many of them are free is told.
 *
 * Activities of such queues have activity.queued_ns set. Queues that have nothing but slots are
 * kept in memory by the worker and never come here.
 */
#ifndef JOURNAL_ADMISSION_H
#define JOURNAL_ADMISSION_H

#include "journal/store.h"

struct queue_row {
    const char *name;
    int slots;
    double rate_per_s; /* starts per second; 0: no limit */
    int burst;         /* size of the bucket, >= 1 */
    int per_key;       /* at once of one concurrency key; 0: no limit */
    double tokens;     /* in the bucket at refilled_ns */
    int64_t refilled_ns;
    int64_t waiting, running, backoff, async; /* read only: attempts in these states now */
};
struct queue_list {
    struct queue_row *rows;
    size_t count;
};

/* Sets the limits. A queue that is known keeps its tokens (at most the new burst), a new one starts
 * with a full bucket. */
void queue_put(struct txn *txn, const struct queue_row *row, int64_t now_ns);
/* Forgets the queues whose names are not in this JSON array. */
void queue_keep(struct txn *txn, const char *names_json);
int queue_list(struct db *db, struct arena *arena, struct queue_list *ret, struct err *err);

struct queue_ask {
    const char *name;
    const char *types_json; /* array of the activity types that this process offers */
    int free_slots;
    int64_t epoch;
    int64_t now_ns;
};
struct admission {
    int64_t execution;
    int64_t scheduled_event_id;
    int64_t priority, queued_ns;
};
struct admission_list {
    struct admission *rows; /* in the order in which they are to start */
    size_t count;
    int64_t more_at_ns; /* the rate holds others back until then; 0: it does not */
};
/* Their rows say STARTED by this epoch now. Empty when the transaction has failed. */
void queue_admit(struct txn *txn, struct arena *arena, const struct queue_ask *ask,
                 struct admission_list *ret);

#endif
