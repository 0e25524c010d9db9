/*
 * question.h - table question: questions that clients put to the engine that serves.
 *
 * Owns: a row from the asking to the reading of its answer. The asker deletes it; the engine
 * deletes those whose asker has given up (expires_ns). Histories know nothing of it.
 */
#ifndef JOURNAL_QUESTION_H
#define JOURNAL_QUESTION_H

#include "journal/store.h"

struct question_row {
    int64_t id;
    int64_t execution;
    int64_t created_ns;
    int64_t expires_ns;
    int64_t answered_ns; /* 0: it waits */
    const char *name;
    const char *input;        /* JSON or NULL */
    const char *answer;       /* JSON, or NULL: refused */
    const char *failure_type; /* a stable word */
    const char *failure;      /* one line */
    int64_t stale;            /* the parked run was answered as of this event; 0: as it is */
};
struct question_list {
    struct question_row *rows;
    size_t count;
};

int64_t question_ask(struct txn *txn, const struct question_row *row); /* id; 0: txn has failed */
/* False: nobody waits for it any more. */
bool question_answer(struct txn *txn, const struct question_row *row);
bool question_delete(struct txn *txn, int64_t id);
void question_delete_expired(struct txn *txn, int64_t now_ns);

int question_get(struct db *db, struct arena *arena, int64_t id, struct question_row *ret,
                 struct err *err);
/* Those that wait, oldest first, at most limit. */
int question_list_waiting(struct db *db, struct arena *arena, int limit, struct question_list *ret,
                          struct err *err);

#endif
