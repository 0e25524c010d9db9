/*
 * txn.c - write transactions: begin immediate, keep the first error, commit once.
 *
 * Must not: know any table. Invariant: after the first error no statement runs any more, because a
 * failed statement may have rolled the transaction back already and what follows would run (and
 * commit) alone. Tests: tests/unit/test_journal_txn.c
 */
#include <assert.h>

#include "base/str.h"
#include "journal/store_impl.h"

struct txn *txn_begin(struct store *store)
{
    static const char SQL[] = "BEGIN IMMEDIATE";
    struct db *db = &store->writer;
    struct txn *txn = &store->txn;
    if (store->read_only) {
        assert(!txn->open);
        *txn = (struct txn){.store = store, .open = true};
        err_set(&txn->first, ERR_PERMANENT, "StoreReadOnly", "%s was opened read-only",
                store->path);
        return txn;
    }
    pthread_mutex_lock(&db->lock);
    assert(!txn->open); /* one transaction at a time; a nested one is a bug of the caller */
    *txn = (struct txn){.store = store, .open = true};
    db->txn = txn;
    txn->has_turn = turnstile_enter(store->turnstile, db->busy_timeout_ms);
    if (!txn->has_turn) {
        db_fail(db, SQLITE_BUSY, NULL);
        return txn;
    }
    sqlite3_stmt *stmt = db_stmt(db, SQL, NULL);
    if (stmt) {
        txn_run(txn, stmt);
    }
    return txn;
}

/* Ends the transaction whatever state it is in. */
static void end(struct txn *txn)
{
    struct store *store = txn->store;
    txn->open = false;
    if (store->read_only) {
        return;
    }
    struct db *db = &store->writer;
    db->txn = NULL;
    if (!sqlite3_get_autocommit(db->raw)) {
        sqlite3_exec(db->raw, "ROLLBACK", NULL, NULL, NULL);
    }
    if (txn->has_turn) {
        turnstile_leave(store->turnstile);
    }
    pthread_mutex_unlock(&db->lock);
}

int txn_commit(struct txn *txn, struct err *err)
{
    static const char SQL[] = "COMMIT";
    struct store *store = txn->store;
    assert(txn->open);
    if (!txn_failed(txn)) {
        sqlite3_stmt *stmt = db_stmt(&store->writer, SQL, NULL);
        if (stmt) {
            txn_run(txn, stmt);
        }
        /* The commit record may have reached the disk though its sync failed, or what came next. */
        if (txn_failed(txn) &&
            (str_eq(txn->first.name, "StoreIo") || str_eq(txn->first.name, "OutOfMemory"))) {
            txn->first.kind = ERR_AMBIGUOUS;
        }
    }
    if (txn_failed(txn)) {
        if (err) {
            *err = txn->first;
        }
        end(txn);
        return -1;
    }
    upkeep_after_commit(store);
    end(txn);
    return 0;
}

void txn_rollback(struct txn *txn)
{
    assert(txn->open);
    end(txn);
}

struct db *txn_db(struct txn *txn)
{
    return txn->store->read_only ? &txn->store->reader : &txn->store->writer;
}

struct store *txn_store(struct txn *txn)
{
    return txn->store;
}

bool txn_failed(const struct txn *txn)
{
    return txn->first.kind != ERR_NONE;
}

const struct err *txn_error(const struct txn *txn)
{
    return &txn->first;
}

int txn_fail(struct txn *txn, const struct err *err)
{
    if (!txn_failed(txn)) {
        txn->first = *err;
        txn->failed_at = txn->marks;
    }
    return -1;
}

sqlite3_stmt *txn_stmt(struct txn *txn, const char *sql)
{
    return txn_failed(txn) ? NULL : db_stmt(&txn->store->writer, sql, NULL);
}

int txn_run(struct txn *txn, sqlite3_stmt *stmt)
{
    if (!stmt || txn_failed(txn)) {
        return 0;
    }
    struct db *db = &txn->store->writer;
    int rc = sqlite3_step(stmt);
    while (rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
    }
    if (rc != SQLITE_DONE) {
        db_fail(db, rc, NULL);
        sqlite3_reset(stmt);
        return 0;
    }
    sqlite3_reset(stmt);
    return sqlite3_changes(db->raw);
}

bool txn_run_key(struct txn *txn, const char *sql, int64_t a, int64_t b)
{
    sqlite3_stmt *stmt = txn_stmt(txn, sql);
    bind_i64(stmt, 1, a);
    bind_i64(stmt, 2, b);
    return txn_run(txn, stmt) > 0;
}

int64_t txn_last_rowid(const struct txn *txn)
{
    return txn_failed(txn) ? 0 : sqlite3_last_insert_rowid(txn->store->writer.raw);
}

void txn_mark(struct txn *txn)
{
    static const char SQL[] = "SAVEPOINT mark";
    txn_run(txn, txn_stmt(txn, SQL));
    txn->marks++;
}

void txn_unmark(struct txn *txn)
{
    static const char SQL[] = "RELEASE mark";
    assert(txn->marks > 0);
    txn_run(txn, txn_stmt(txn, SQL));
    txn->marks--;
}

int txn_undo_to_mark(struct txn *txn)
{
    static const char UNDO[] = "ROLLBACK TO mark";
    static const char FORGET[] = "RELEASE mark";
    assert(txn->marks > 0);
    if (txn_failed(txn)) {
        bool is_lost = txn->store->read_only || sqlite3_get_autocommit(txn->store->writer.raw);
        if (is_lost || txn->failed_at < txn->marks) {
            txn->marks--;
            return 1;
        }
        txn->first = (struct err){0};
    }
    txn_run(txn, txn_stmt(txn, UNDO));
    txn_run(txn, txn_stmt(txn, FORGET));
    txn->marks--;
    return txn_failed(txn) ? 1 : 0;
}
