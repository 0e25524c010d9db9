/*
 * run_update.h - table run_update: what clients ask of runs by dur_update().
 *
 * Owns: (execution, update_id) -> request, how far it came, outcome. A client admits, together with
 * a mark TASK_UPDATE; the engine's turn accepts, completes or rejects in the transaction that
 * appends the events; the end of the run cuts off the open ones (a trigger). Rows stay for the
 * run's life: they answer repeated requests with the same id.
 */
#ifndef JOURNAL_RUN_UPDATE_H
#define JOURNAL_RUN_UPDATE_H

#include "journal/store.h"

enum run_update_state {
    RUN_UPDATE_ADMITTED = 1,
    RUN_UPDATE_ACCEPTED = 2,
    RUN_UPDATE_COMPLETED = 3,
    RUN_UPDATE_REJECTED = 4,
    RUN_UPDATE_CUT_OFF = 5, /* by the end of its run; accepted_event_id tells how far it was */
};

struct run_update_row {
    int64_t execution;
    const char *update_id;
    int state;
    int64_t accepted_event_id; /* 0: not accepted */
    int64_t created_ns;
    const char *name;
    const char *input;    /* JSON or NULL */
    const char *identity; /* or NULL */
    const char *result;   /* JSON or NULL */
    const char *failure;  /* stored form (history/store.h) or NULL */
};
struct run_update_list {
    struct run_update_row *rows;
    size_t count;
};

/* A new one, or again after a rejection. False: this id is taken (or the transaction has failed).
 */
bool run_update_admit(struct txn *txn, const struct run_update_row *row);
bool run_update_accept(struct txn *txn, int64_t execution, const char *update_id,
                       int64_t accepted_event_id);
/* result or failure is NULL. */
bool run_update_complete(struct txn *txn, int64_t execution, const char *update_id,
                         const char *result, const char *failure);
bool run_update_reject(struct txn *txn, int64_t execution, const char *update_id,
                       const char *failure);
/* The open ones of a run that came closed: no trigger sees its end. */
void run_update_cut_off(struct txn *txn, int64_t execution);

/* 0, 1 no such update, <0. */
int run_update_get(struct db *db, struct arena *arena, int64_t execution, const char *update_id,
                   struct run_update_row *ret, struct err *err);
/* Admitted ones of a run, oldest first, at most limit (0: all). */
int run_update_list_admitted(struct db *db, struct arena *arena, int64_t execution, int limit,
                             struct run_update_list *ret, struct err *err);

#endif
