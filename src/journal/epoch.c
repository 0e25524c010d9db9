/*
 * epoch.c - see epoch.h. Table engine (one row). Tests: tests/unit/test_journal_task.c
 */
#include "journal/epoch.h"

#include "journal/db.h"

int64_t epoch_bump(struct txn *txn, int64_t pid, const char *host, int64_t started_ns)
{
    static const char SQL[] =
        "INSERT INTO engine (id, epoch, pid, host, started_ns) VALUES (1, 1, ?1, ?2, ?3) "
        "ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, pid = excluded.pid, "
        "host = excluded.host, started_ns = excluded.started_ns";
    static const char READ[] = "SELECT epoch FROM engine";
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_i64(stmt, 1, pid);
    bind_text(stmt, 2, host);
    bind_i64(stmt, 3, started_ns);
    txn_run(txn, stmt);
    struct query q autoquery = query_begin(txn_db(txn), READ, NULL);
    return query_next(&q) > 0 ? row_i64(&q, 0) : 0;
}

int epoch_get(struct db *db, struct arena *arena, struct epoch_row *ret, struct err *err)
{
    static const char SQL[] = "SELECT epoch, pid, host, started_ns FROM engine";
    struct query q autoquery = query_begin(db, SQL, err);
    int rc = query_next(&q);
    *ret = (struct epoch_row){.host = ""};
    if (rc > 0) {
        *ret = (struct epoch_row){.epoch = row_i64(&q, 0),
                                  .pid = row_i64(&q, 1),
                                  .host = row_text(&q, arena, 2),
                                  .started_ns = row_i64(&q, 3)};
        rc = 0;
    }
    return rc;
}
