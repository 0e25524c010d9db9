/*
 * child.c - see child.h. Table child. Tests: tests/unit/test_journal_child.c
 */
#include "journal/child.h"

#include "journal/db.h"

#define COLUMNS                                                                                    \
    "execution, initiated_event_id, started_event_id, close_policy, workflow_id, run_id "

static void read_row(const struct query *q, struct arena *arena, struct child_row *ret)
{
    *ret = (struct child_row){
        .execution = row_i64(q, 0),
        .initiated_event_id = row_i64(q, 1),
        .started_event_id = row_i64(q, 2),
        .close_policy = (int)row_i64(q, 3),
        .workflow_id = row_text(q, arena, 4),
        .run_id = row_text(q, arena, 5),
    };
}

void child_insert(struct txn *txn, const struct child_row *row)
{
    static const char SQL[] = "INSERT INTO child (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->execution);
    bind_i64(stmt, 2, row->initiated_event_id);
    bind_i64(stmt, 3, row->started_event_id);
    bind_i64(stmt, 4, row->close_policy);
    bind_text(stmt, 5, row->workflow_id);
    bind_text(stmt, 6, row->run_id);
    txn_run(txn, stmt);
}

bool child_remove(struct txn *txn, int64_t execution, int64_t initiated_event_id)
{
    static const char SQL[] = "DELETE FROM child WHERE execution = ?1 AND initiated_event_id = ?2";
    return txn_run_key(txn, SQL, execution, initiated_event_id);
}

void child_remove_all(struct txn *txn, int64_t execution)
{
    static const char SQL[] = "DELETE FROM child WHERE execution = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    txn_run(txn, stmt);
}

int child_get(struct db *db, struct arena *arena, int64_t execution, int64_t initiated_event_id,
              struct child_row *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM child WHERE execution = ?1 AND initiated_event_id = ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    bind_i64(q.stmt, 2, initiated_event_id);
    return query_one(&q, arena, ret, read_row);
}

int child_list(struct db *db, struct arena *arena, int64_t execution, struct child_list *ret,
               struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS "FROM child WHERE execution = ?1 ORDER BY initiated_event_id";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    return query_list(&q, arena, ret, read_row);
}
