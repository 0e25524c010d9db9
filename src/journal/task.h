/*
 * task.h - table task: runs that have something for the engine to look at.
 *
 * Owns: (execution, kind) marks that clients leave, in the transaction that appends their event.
 * The engine takes the marks in the transaction that acts upon them, so a crash leaves them.
 */
#ifndef JOURNAL_TASK_H
#define JOURNAL_TASK_H

#include "journal/store.h"

enum task_kind {
    TASK_START = 1,     /* a new run */
    TASK_SIGNAL = 2,    /* signals were appended */
    TASK_CANCEL = 3,    /* a cancel request was appended */
    TASK_TERMINATE = 4, /* the run was closed by a client: drop it from the cache */
    TASK_WAKE = 5,      /* the next engine shall look: parked, or no such workflow in this one */
    TASK_PAUSE = 6,     /* it was paused, or goes on */
    TASK_UPDATE = 20,   /* updates were asked for (run_update.h) */
    TASK_REPORT = 12,   /* something came for an activity by token (report.h) */
};

struct task_row {
    int64_t execution;
    int kind;
    int64_t created_ns; /* of the oldest mark of this kind */
};
struct task_list {
    struct task_row *rows;
    size_t count;
};

void task_put(struct txn *txn, int64_t execution, enum task_kind kind, int64_t created_ns);
/* Everything that waits, oldest run first, at most limit (0: all). */
int task_list(struct db *db, struct arena *arena, int limit, struct task_list *ret,
              struct err *err);
/* The same, and they are deleted. On error the transaction has failed and the list is empty. */
void task_take(struct txn *txn, struct arena *arena, int limit, struct task_list *ret);
/* The same for the marks of clients only: TASK_WAKE stays for the next engine. */
void task_take_new(struct txn *txn, struct arena *arena, int limit, struct task_list *ret);
bool task_delete(struct txn *txn, int64_t execution, enum task_kind kind);
int task_count(struct db *db, int64_t *ret, struct err *err);

#endif
