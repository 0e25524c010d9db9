/*
 * child.h - table child: children that have started and not ended, of runs that are open.
 *
 * Owns: (execution of the parent, event id of its request) -> the child's id, where its start was
 * recorded, what becomes of it when the parent ends first. A row goes in the transaction that
 * records the child's end in the parent's history, or in the one that acts upon the parent's own
 * end; so a row of a closed run says that its children were not looked after yet.
 */
#ifndef JOURNAL_CHILD_H
#define JOURNAL_CHILD_H

#include "journal/store.h"

enum child_close_policy { /* Temporal's ParentClosePolicy */
                          CHILD_CLOSE_TERMINATE = 1,
                          CHILD_CLOSE_ABANDON = 2,
                          CHILD_CLOSE_REQUEST_CANCEL = 3,
};

struct child_row {
    int64_t execution; /* of the parent */
    int64_t initiated_event_id;
    int64_t started_event_id;
    int close_policy;
    const char *workflow_id;
    const char *run_id; /* of its first run */
};
struct child_list {
    struct child_row *rows;
    size_t count;
};

void child_insert(struct txn *txn, const struct child_row *row);
bool child_remove(struct txn *txn, int64_t execution, int64_t initiated_event_id);
void child_remove_all(struct txn *txn, int64_t execution);

int child_get(struct db *db, struct arena *arena, int64_t execution, int64_t initiated_event_id,
              struct child_row *ret, struct err *err);
/* Of one parent, in the order of their starts. */
int child_list(struct db *db, struct arena *arena, int64_t execution, struct child_list *ret,
               struct err *err);

#endif
