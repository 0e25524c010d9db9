/*
 * event.h - table event: the append-only histories.
 *
 * Owns: (execution, event_id) -> type, time, attributes. Event ids of a run are 1..n without gaps
 * (the writer counts; the primary key refuses doubles). Rows never change and go only with their
 * run: triggers enforce it. Attributes longer than EVENT_INLINE_BYTES are kept compressed in blob;
 * readers never notice.
 */
#ifndef JOURNAL_EVENT_H
#define JOURNAL_EVENT_H

#include "journal/store.h"

/* Attributes up to this size stay readable text in the row. Above it zstd saves more pages than the
 * extra row costs. */
#define EVENT_INLINE_BYTES ((size_t)16 * 1024)

struct event_row {
    int64_t event_id;
    int type;
    int64_t time_ns;
    const char *attributes; /* NUL-terminated text, or NULL when all of it is derivable */
    size_t attributes_len;
};

/* Append count rows in order. */
void event_append(struct txn *txn, int64_t execution, const struct event_row *rows, size_t count);

struct event_list {
    struct event_row *rows;
    size_t count;
};
/* Events with from_id <= event_id, ascending, at most limit (0: all). */
int event_read(struct db *db, struct arena *arena, int64_t execution, int64_t from_id, int limit,
               struct event_list *ret, struct err *err);
/* The newest event whose type is in [first_type, last_type]; 1: there is none. Walks backwards, so
 * it is quick for types that come often. */
int event_last(struct db *db, int64_t execution, int first_type, int last_type, int64_t *ret_id,
               int *ret_type, struct err *err);
int event_count(struct db *db, int64_t execution, int64_t *ret, struct err *err);

#endif
