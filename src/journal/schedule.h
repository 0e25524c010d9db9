/*
 * schedule.h - tables schedule, schedule_start and schedule_run: what starts runs by the clock.
 *
 * Owns: a row per schedule with its place in time, the starts that wait, and the runs that it
 * started (by the first run of their chain; closed ones are kept as the latest few). Must not: know
 * what a definition says. A schedule's place in time is a row of its own and depends on no run's
 * outcome: whatever a run does, the next due time stands.
 *
 *     set ──> due_ns ──(due)──> schedule_start ──(may start)──> execution + schedule_run
 *              ^   next time <──┘                                   │ closed: ripe = 1 (trigger)
 *              └────────────────────────────────────────────────────┘
 */
#ifndef JOURNAL_SCHEDULE_H
#define JOURNAL_SCHEDULE_H

#include "journal/store.h"

struct schedule_row {
    int64_t id;
    const char *name;
    const char *definition; /* JSON of the caller's choice */
    bool paused;
    const char *note;    /* or NULL */
    const char *problem; /* why it cannot go on as it should; NULL: it can */
    bool limited;        /* `remaining` counts */
    int64_t remaining;   /* scheduled starts left */
    int64_t created_ns;
    int64_t changed_ns; /* set, paused or resumed last */
    int64_t cursor_ns;  /* every nominal time until then is decided */
    bool has_next;
    int64_t nominal_ns; /* the next one */
    int64_t due_ns;     /* when to look at it; 0: no time announces anything */
    bool ripe;
    int64_t started, skipped, missed, dropped;
    const char *last_result;  /* JSON of the run that completed last, or NULL */
    const char *last_failure; /* of the run that closed last, as stored, or NULL */
};

struct schedule_start {
    int64_t number; /* ascending in a schedule */
    int64_t nominal_ns;
    int overlap; /* of the caller's choice */
    bool manual;
};

struct schedule_run {
    int64_t number;
    const char *workflow_id;
    const char *run_id; /* first of its chain */
    int64_t nominal_ns;
    int64_t started_ns;
    bool closed;
};

/* --- the row --- */
int64_t schedule_insert(struct txn *txn, const struct schedule_row *row); /* its id; 0: failed */
/* Everything but id, name and created_ns. */
bool schedule_update(struct txn *txn, const struct schedule_row *row);
bool schedule_delete(struct txn *txn, int64_t id); /* its runs go on */
bool schedule_ripen(struct txn *txn, int64_t id);

int schedule_find(struct db *db, struct arena *arena, const char *name, struct schedule_row *ret,
                  struct err *err);
struct schedule_list {
    struct schedule_row *rows;
    size_t count;
};
/* By name, names greater than `after` (NULL: from the first), at most limit (0: all). */
int schedule_list(struct db *db, struct arena *arena, const char *after, int limit,
                  struct schedule_list *ret, struct err *err);
/* Those that are ripe, and those due at now_ns, at most limit. */
int schedule_list_due(struct db *db, struct arena *arena, int64_t now_ns, int limit,
                      struct schedule_list *ret, struct err *err);
bool schedule_any(struct db *db); /* is there one at all */
/* When the next one is due; 0 when one is ripe. 1: none. */
int schedule_next_due(struct db *db, int64_t *ret_ns, struct err *err);

/* --- starts that wait --- */
void schedule_start_put(struct txn *txn, int64_t schedule, const struct schedule_start *start);
bool schedule_start_drop(struct txn *txn, int64_t schedule, int64_t number);
struct schedule_starts {
    struct schedule_start *rows;
    size_t count;
};
/* Oldest first. */
int schedule_start_list(struct db *db, struct arena *arena, int64_t schedule,
                        struct schedule_starts *ret, struct err *err);

/* --- runs that it started --- */
void schedule_run_put(struct txn *txn, int64_t schedule, const struct schedule_run *run);
bool schedule_run_close(struct txn *txn, int64_t schedule, int64_t number);
/* Forget closed ones but for the latest `keep`. */
void schedule_run_trim(struct txn *txn, int64_t schedule, int keep);
struct schedule_runs {
    struct schedule_run *rows;
    size_t count;
};
/* Oldest first. */
int schedule_run_list(struct db *db, struct arena *arena, int64_t schedule,
                      struct schedule_runs *ret, struct err *err);

#endif
