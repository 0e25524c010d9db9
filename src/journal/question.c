/*
 * question.c - see question.h. Table question. Tests: tests/unit/test_journal_talk.c
 */
#include "journal/question.h"

#include "journal/db.h"

int64_t question_ask(struct txn *txn, const struct question_row *row)
{
    static const char SQL[] =
        "INSERT INTO question (execution, created_ns, expires_ns, name, input) "
        "VALUES (?1, ?2, ?3, ?4, ?5)";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->execution);
    bind_i64(stmt, 2, row->created_ns);
    bind_i64(stmt, 3, row->expires_ns);
    bind_text(stmt, 4, row->name);
    bind_sealed(txn, stmt, 5, row->input);
    txn_run(txn, stmt);
    return txn_last_rowid(txn);
}

bool question_answer(struct txn *txn, const struct question_row *row)
{
    static const char SQL[] =
        "UPDATE question SET answered_ns = ?2, answer = ?3, failure_type = ?4, failure = ?5, "
        "stale = ?6 WHERE id = ?1 AND answered_ns IS NULL";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, row->id);
    bind_i64(stmt, 2, row->answered_ns);
    bind_sealed(txn, stmt, 3, row->answer);
    bind_text(stmt, 4, row->failure_type);
    bind_sealed(txn, stmt, 5, row->failure);
    bind_i64_opt(stmt, 6, row->stale);
    return txn_run(txn, stmt) > 0;
}

bool question_delete(struct txn *txn, int64_t id)
{
    static const char SQL[] = "DELETE FROM question WHERE id = ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, id);
    return txn_run(txn, stmt) > 0;
}

void question_delete_expired(struct txn *txn, int64_t now_ns)
{
    static const char SQL[] = "DELETE FROM question WHERE expires_ns < ?1";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, now_ns);
    txn_run(txn, stmt);
}

#define COLUMNS                                                                                    \
    "id, execution, created_ns, expires_ns, answered_ns, name, input, answer, failure_type, "      \
    "failure, stale"

static void read_row(const struct query *q, struct arena *arena, struct question_row *ret)
{
    *ret = (struct question_row){
        .id = row_i64(q, 0),
        .execution = row_i64(q, 1),
        .created_ns = row_i64(q, 2),
        .expires_ns = row_i64(q, 3),
        .answered_ns = row_i64(q, 4),
        .name = row_text(q, arena, 5),
        .input = row_sealed(q, arena, 6),
        .answer = row_sealed(q, arena, 7),
        .failure_type = row_text(q, arena, 8),
        .failure = row_sealed(q, arena, 9),
        .stale = row_i64(q, 10),
    };
}

int question_get(struct db *db, struct arena *arena, int64_t id, struct question_row *ret,
                 struct err *err)
{
    static const char SQL[] = "SELECT " COLUMNS " FROM question WHERE id = ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, id);
    return query_one(&q, arena, ret, read_row);
}

int question_list_waiting(struct db *db, struct arena *arena, int limit, struct question_list *ret,
                          struct err *err)
{
    static const char SQL[] =
        "SELECT " COLUMNS " FROM question WHERE answered_ns IS NULL ORDER BY id LIMIT ?1";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_i64(q.stmt, 1, limit > 0 ? limit : -1);
    return query_list(&q, arena, ret, read_row);
}
