/*
 * timer.h - table timer: timers that run.
 *
 * Owns: (execution, started_event_id) -> timer id, due time. A fired or cancelled timer is deleted
 * in the transaction that appends its event.
 */
#ifndef JOURNAL_TIMER_H
#define JOURNAL_TIMER_H

#include "journal/store.h"

struct timer_row {
    int64_t execution;
    int64_t started_event_id;
    const char *timer_id;
    int64_t due_ns;
};
struct timer_list {
    struct timer_row *rows;
    size_t count;
};

void timer_insert(struct txn *txn, const struct timer_row *row);
bool timer_remove(struct txn *txn, int64_t execution, int64_t started_event_id);

int timer_list(struct db *db, struct arena *arena, int64_t execution, struct timer_list *ret,
               struct err *err);
/* due_ns <= now_ns, earliest first, at most limit (0: all). */
int timer_list_due(struct db *db, struct arena *arena, int64_t now_ns, int limit,
                   struct timer_list *ret, struct err *err);
int timer_next_due(struct db *db, int64_t *ret_ns, struct err *err); /* 1: no timer runs */

#endif
