/*
 * timer.c - see timer.h. Table timer. Tests: tests/unit/test_journal_timer.c
 */
#include "journal/timer.h"

#include "journal/db.h"

void timer_insert(struct txn *txn, const struct timer_row *row)
{
    static const char SQL[] = "INSERT INTO timer (execution, started_event_id, timer_id, due_ns) "
                              "VALUES (?1, ?2, ?3, ?4)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->execution);
    bind_i64(stmt, 2, row->started_event_id);
    bind_text(stmt, 3, row->timer_id);
    bind_i64(stmt, 4, row->due_ns);
    txn_run(txn, stmt);
}

bool timer_remove(struct txn *txn, int64_t execution, int64_t started_event_id)
{
    static const char SQL[] = "DELETE FROM timer WHERE execution = ?1 AND started_event_id = ?2";
    return txn_run_key(txn, SQL, execution, started_event_id);
}

static void read_row(const struct query *q, struct arena *arena, struct timer_row *ret)
{
    *ret = (struct timer_row){
        .execution = row_i64(q, 0),
        .started_event_id = row_i64(q, 1),
        .timer_id = row_text(q, arena, 2),
        .due_ns = row_i64(q, 3),
    };
}

int timer_list(struct db *db, struct arena *arena, int64_t execution, struct timer_list *ret,
               struct err *err)
{
    static const char SQL[] = "SELECT execution, started_event_id, timer_id, due_ns FROM timer "
                              "WHERE execution = ?1 ORDER BY started_event_id";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    return query_list(&q, arena, ret, read_row);
}

int timer_list_due(struct db *db, struct arena *arena, int64_t now_ns, int limit,
                   struct timer_list *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT execution, started_event_id, timer_id, due_ns FROM timer "
        "WHERE due_ns <= ?1 ORDER BY due_ns, execution, started_event_id LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, now_ns);
    bind_i64(q.stmt, 2, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}

int timer_next_due(struct db *db, int64_t *ret_ns, struct err *err)
{
    static const char SQL[] = "SELECT due_ns FROM timer ORDER BY due_ns LIMIT 1";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret_ns = row_i64(&q, 0);
        return 0;
    }
    return rc < 0 ? rc : 1;
}
