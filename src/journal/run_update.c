/*
 * run_update.c - see run_update.h. Table run_update. Tests: tests/unit/test_journal_talk.c
 */
#include "journal/run_update.h"

#include "journal/db.h"

bool run_update_admit(struct txn *txn, const struct run_update_row *row)
{
    static const char SQL[] =
        "INSERT INTO run_update (execution, update_id, state, created_ns, name, input, identity) "
        "VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET state = 1, "
        "created_ns = excluded.created_ns, name = excluded.name, input = excluded.input, "
        "identity = excluded.identity, failure = NULL WHERE state = 4";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->execution);
    bind_text(stmt, 2, row->update_id);
    bind_i64(stmt, 3, row->created_ns);
    bind_text(stmt, 4, row->name);
    bind_sealed(txn, stmt, 5, row->input);
    bind_text(stmt, 6, row->identity);
    return txn_run(txn, stmt) > 0;
}

bool run_update_accept(struct txn *txn, int64_t execution, const char *update_id,
                       int64_t accepted_event_id)
{
    static const char SQL[] = "UPDATE run_update SET state = 2, accepted_event_id = ?3 "
                              "WHERE execution = ?1 AND update_id = ?2 AND state = 1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_text(stmt, 2, update_id);
    bind_i64(stmt, 3, accepted_event_id);
    return txn_run(txn, stmt) > 0;
}

bool run_update_complete(struct txn *txn, int64_t execution, const char *update_id,
                         const char *result, const char *failure)
{
    static const char SQL[] = "UPDATE run_update SET state = 3, result = ?3, failure = ?4 "
                              "WHERE execution = ?1 AND update_id = ?2 AND state = 2";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_text(stmt, 2, update_id);
    bind_sealed(txn, stmt, 3, result);
    bind_sealed(txn, stmt, 4, failure);
    return txn_run(txn, stmt) > 0;
}

bool run_update_reject(struct txn *txn, int64_t execution, const char *update_id,
                       const char *failure)
{
    static const char SQL[] = "UPDATE run_update SET state = 4, failure = ?3 "
                              "WHERE execution = ?1 AND update_id = ?2 AND state = 1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_text(stmt, 2, update_id);
    bind_sealed(txn, stmt, 3, failure);
    return txn_run(txn, stmt) > 0;
}

void run_update_cut_off(struct txn *txn, int64_t execution)
{
    static const char SQL[] =
        "UPDATE run_update SET state = 5 WHERE execution = ?1 AND state IN (1, 2)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    txn_run(txn, stmt);
}

#define COLUMNS                                                                                    \
    "execution, update_id, state, accepted_event_id, created_ns, name, input, identity, result, "  \
    "failure"

static void read_row(const struct query *q, struct arena *arena, struct run_update_row *ret)
{
    *ret = (struct run_update_row){
        .execution = row_i64(q, 0),
        .update_id = row_text(q, arena, 1),
        .state = (int)row_i64(q, 2),
        .accepted_event_id = row_i64(q, 3),
        .created_ns = row_i64(q, 4),
        .name = row_text(q, arena, 5),
        .input = row_sealed(q, arena, 6),
        .identity = row_text(q, arena, 7),
        .result = row_sealed(q, arena, 8),
        .failure = row_sealed(q, arena, 9),
    };
}

int run_update_get(struct db *db, struct arena *arena, int64_t execution, const char *update_id,
                   struct run_update_row *ret, struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS " FROM run_update WHERE execution = ?1 AND update_id = ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    bind_text(q.stmt, 2, update_id);
    return query_one(&q, arena, ret, read_row);
}

int run_update_list_admitted(struct db *db, struct arena *arena, int64_t execution, int limit,
                             struct run_update_list *ret, struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS " FROM run_update "
                              "WHERE execution = ?1 AND state = 1 "
                              "ORDER BY created_ns, update_id LIMIT ?2";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, execution);
    bind_i64(q.stmt, 2, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}
