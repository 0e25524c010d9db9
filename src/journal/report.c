/*
 * report.c - see report.h. Table activity_report. Tests: tests/unit/test_journal_report.c
 */
#include "journal/report.h"

#include "journal/db.h"

bool report_put(struct txn *txn, const struct report_row *row)
{
    static const char SQL[] =
        "INSERT INTO activity_report (execution, scheduled_event_id, kind, attempt, code, body, "
        "identity, created_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
        "ON CONFLICT DO UPDATE SET attempt = ?4, code = ?5, body = ?6, identity = ?7, "
        "created_ns = ?8 WHERE kind = 1 OR attempt < ?4";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->execution);
    bind_i64(stmt, 2, row->scheduled_event_id);
    bind_i64(stmt, 3, row->kind);
    bind_i64(stmt, 4, row->attempt);
    bind_i64(stmt, 5, row->code);
    bind_sealed(txn, stmt, 6, row->body);
    bind_text(stmt, 7, row->identity);
    bind_i64(stmt, 8, row->created_ns);
    return txn_run(txn, stmt) > 0;
}

static void read_report_row(const struct query *q, struct arena *arena, struct report_row *ret)
{
    *ret = (struct report_row){
        .execution = row_i64(q, 0),
        .scheduled_event_id = row_i64(q, 1),
        .kind = (enum report_kind)row_i64(q, 2),
        .attempt = (int)row_i64(q, 3),
        .code = (int)row_i64(q, 4),
        .body = row_sealed(q, arena, 5),
        .identity = row_text(q, arena, 6),
        .created_ns = row_i64(q, 7),
    };
}

static int list(struct txn *txn, struct arena *arena, int64_t execution, struct report_list *ret)
{
    static const char SQL[] =
        "SELECT execution, scheduled_event_id, kind, attempt, code, body, identity, created_ns "
        "FROM activity_report WHERE execution = ?1 ORDER BY kind, scheduled_event_id";
    struct query q autoquery = query_begin(txn_db(txn), SQL, NULL);
    bind_i64(q.stmt, 1, execution);
    return query_list(&q, arena, ret, read_report_row);
}

void report_take(struct txn *txn, struct arena *arena, int64_t execution, struct report_list *ret)
{
    static const char SQL[] = "DELETE FROM activity_report WHERE execution = ?1";
    *ret = (struct report_list){0};
    if (list(txn, arena, execution, ret) < 0) {
        *ret = (struct report_list){0};
        return;
    }
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    txn_run(txn, stmt);
    if (txn_failed(txn)) {
        *ret = (struct report_list){0};
    }
}
