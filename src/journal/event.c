/*
 * event.c - see event.h. Table event. Long attributes move to blob and come back here.
 * Must not: update or delete (triggers refuse it). Tests: tests/unit/test_journal_event.c
 */
#include "journal/event.h"

#include "journal/blob.h"
#include "journal/db.h"

static void append_one(struct txn *txn, int64_t execution, const struct event_row *row)
{
    static const char SQL[] =
        "INSERT INTO event (execution, event_id, type, time_ns, attributes, blob) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    int64_t blob = 0;
    if (row->attributes && row->attributes_len > EVENT_INLINE_BYTES) {
        blob = blob_put(txn, execution, row->attributes, row->attributes_len, NULL);
    }
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, row->event_id);
    bind_i64(stmt, 3, row->type);
    bind_i64(stmt, 4, row->time_ns);
    sqlite3_bind_text64(stmt, 5, blob ? NULL : row->attributes, row->attributes_len, SQLITE_STATIC,
                        SQLITE_UTF8);
    bind_i64_opt(stmt, 6, blob);
    txn_run(txn, stmt);
}

void event_append(struct txn *txn, int64_t execution, const struct event_row *rows, size_t count)
{
    for (size_t i = 0; i < count && !txn_failed(txn); i++) {
        append_one(txn, execution, &rows[i]);
    }
}

int event_read(struct db *db, struct arena *arena, int64_t execution, int64_t from_id, int limit,
               struct event_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT event_id, type, time_ns, attributes, blob FROM event "
                              "WHERE execution = ?1 AND event_id >= ?2 ORDER BY event_id LIMIT ?3";
    struct query q autoquery = query_begin(db, SQL, err);
    size_t cap = 0;
    int rc;
    *ret = (struct event_list){0};
    bind_i64(q.stmt, 1, execution);
    bind_i64(q.stmt, 2, from_id);
    bind_i64(q.stmt, 3, limit > 0 ? limit : -1);
    while ((rc = query_next(&q)) > 0) {
        arena_grow(arena, ret->rows, ret->count, &cap);
        struct event_row *row = &ret->rows[ret->count];
        *row = (struct event_row){
            .event_id = row_i64(&q, 0), .type = (int)row_i64(&q, 1), .time_ns = row_i64(&q, 2)};
        char *text = row_text(&q, arena, 3);
        row->attributes_len = (size_t)sqlite3_column_bytes(q.stmt, 3);
        if (row_i64(&q, 4) &&
            (rc = blob_get(db, arena, row_i64(&q, 4), &text, &row->attributes_len, err)) != 0) {
            return rc < 0
                       ? rc
                       : err_set(err, ERR_PERMANENT, "StoreCorrupt",
                                 "attributes of event %lld are missing", (long long)row->event_id);
        }
        row->attributes = text;
        ret->count++;
    }
    return rc;
}

int event_count(struct db *db, int64_t execution, int64_t *ret, struct err *err)
{
    static const char SQL[] = "SELECT count(*) FROM event WHERE execution = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret = row_i64(&q, 0);
        rc = 0;
    }
    return rc;
}

int event_last(struct db *db, int64_t execution, int first_type, int last_type, int64_t *ret_id,
               int *ret_type, struct err *err)
{
    static const char SQL[] = "SELECT event_id, type FROM event WHERE execution = ?1 "
                              "AND type BETWEEN ?2 AND ?3 ORDER BY event_id DESC LIMIT 1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    bind_i64(q.stmt, 2, first_type);
    bind_i64(q.stmt, 3, last_type);
    int rc = query_next(&q);
    if (rc <= 0) {
        return rc < 0 ? rc : 1;
    }
    *ret_id = row_i64(&q, 0);
    *ret_type = (int)row_i64(&q, 1);
    return 0;
}
