/*
 * task.c - see task.h. Table task. Tests: tests/unit/test_journal_task.c
 */
#include "journal/task.h"

#include "journal/db.h"

void task_put(struct txn *txn, int64_t execution, enum task_kind kind, int64_t created_ns)
{
    static const char SQL[] = "INSERT INTO task (execution, kind, created_ns) "
                              "VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_i64(stmt, 2, kind);
    bind_i64(stmt, 3, created_ns);
    txn_run(txn, stmt);
}

static void read_row(const struct query *q, struct arena *arena, struct task_row *ret)
{
    (void)arena;
    *ret = (struct task_row){
        .execution = row_i64(q, 0), .kind = (int)row_i64(q, 1), .created_ns = row_i64(q, 2)};
}

/* Marks of all kinds but one (0: all). */
static int list_but(struct db *db, struct arena *arena, int but, int limit, struct task_list *ret,
                    struct err *err)
{
    static const char SQL[] = "SELECT execution, kind, created_ns FROM task "
                              "WHERE kind <> ?1 ORDER BY execution, kind LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, but);
    bind_i64(q.stmt, 2, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}

int task_list(struct db *db, struct arena *arena, int limit, struct task_list *ret, struct err *err)
{
    return list_but(db, arena, 0, limit, ret, err);
}

static void take_but(struct txn *txn, struct arena *arena, int but, int limit,
                     struct task_list *ret)
{
    if (list_but(txn_db(txn), arena, but, limit, ret, NULL) < 0) {
        *ret = (struct task_list){0};
        return;
    }
    for (size_t i = 0; i < ret->count; i++) {
        task_delete(txn, ret->rows[i].execution, (enum task_kind)ret->rows[i].kind);
    }
    if (txn_failed(txn)) {
        *ret = (struct task_list){0};
    }
}

void task_take(struct txn *txn, struct arena *arena, int limit, struct task_list *ret)
{
    take_but(txn, arena, 0, limit, ret);
}

void task_take_new(struct txn *txn, struct arena *arena, int limit, struct task_list *ret)
{
    take_but(txn, arena, TASK_WAKE, limit, ret);
}

bool task_delete(struct txn *txn, int64_t execution, enum task_kind kind)
{
    static const char SQL[] = "DELETE FROM task WHERE execution = ?1 AND kind = ?2";
    return txn_run_key(txn, SQL, execution, kind);
}

int task_count(struct db *db, int64_t *ret, struct err *err)
{
    static const char SQL[] = "SELECT count(*) FROM task";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret = row_i64(&q, 0);
        rc = 0;
    }
    return rc;
}
