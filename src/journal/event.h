/*
 * event.h - table event_batch: the append-only histories.
 *
 * Owns: (execution, event id) -> type, time, attributes. What a run's history gains in one
 * transaction is one row (a few, when it is much), and rows lie in the order of time, so that
 * a turn of many runs writes few pages. Event ids of a run are 1..n without gaps (the writer
 * counts; a unique index refuses doubles). Rows never change and go only with their run:
 * triggers enforce it. Attributes longer than EVENT_INLINE_BYTES are kept compressed in blob;
 * readers never notice. The view `event` shows the events one by one.
 * Must not: know what an event means. Attributes are JSON objects; they are trusted to be.
 */
#ifndef JOURNAL_EVENT_H
#define JOURNAL_EVENT_H

#include "journal/store.h"

/* Attributes up to this size stay readable text in the row. Above it zstd saves more pages than the
 * extra row costs. */
#define EVENT_INLINE_BYTES ((size_t)16 * 1024)
#define EVENT_ROW_BYTES 16 /* what an event counts in history_bytes beside its attributes */

struct event_row {
    int64_t event_id;
    int type;
    int64_t time_ns;
    const char *attributes; /* a JSON object, NUL-terminated; NULL when all of it is derivable */
    size_t attributes_len;
};

/* Append count rows in order, each id one more than the one before. history_bytes: of the run's
 * history with them. */
void event_append(struct txn *txn, int64_t execution, const struct event_row *rows, size_t count,
                  int64_t history_bytes);

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

/* --- the text of a batch (for event_read and fuzzers) --- */

/* Takes the next event out of a batch's text, which is changed: attributes are cut out in place.
 * *text moves on. 1: an event (row->event_id is not set; *ret_blob: 0, or where its attributes
 * are); 0: the end; -1: this is no batch. */
int event_batch_next(char **text, int64_t time_ns, struct event_row *row, int64_t *ret_blob);

#endif
