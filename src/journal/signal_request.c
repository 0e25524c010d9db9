/*
 * signal_request.c - see signal_request.h. Table signal_request.
 * Tests: tests/unit/test_journal_execution.c
 */
#include "journal/signal_request.h"

#include "journal/db.h"

bool signal_request_put(struct txn *txn, int64_t execution, const char *request_id)
{
    static const char SQL[] = "INSERT INTO signal_request (execution, request_id) VALUES (?1, ?2) "
                              "ON CONFLICT DO NOTHING";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, execution);
    bind_text(stmt, 2, request_id);
    return txn_run(txn, stmt) > 0;
}

void signal_request_copy(struct txn *txn, int64_t from, int64_t to)
{
    static const char SQL[] = "INSERT INTO signal_request (execution, request_id) "
                              "SELECT ?2, request_id FROM signal_request WHERE execution = ?1 "
                              "ON CONFLICT DO NOTHING";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, from);
    bind_i64(stmt, 2, to);
    txn_run(txn, stmt);
}
