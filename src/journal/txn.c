/*
 * txn.c - write transactions: begin immediate, keep the first error, commit once - together, when
 * several threads of this handle write.
 *
 * Must not: know any table. Invariant: after the first error no statement runs any more, because a
 * failed statement may have rolled the transaction back already and what follows would run (and
 * commit) alone.
 *
 * Riding. One sync makes many commits durable, so who commits while another thread of the same
 * handle waits to begin does not: it leaves SQLite's transaction open for the next (a passenger),
 * which goes on behind a savepoint, and so on; the last one, or the RIDE_MOST-th, commits for all.
 * Each txn_commit() returns when its writes are durable, as ever, or with the error that undid
 * them. So an engine's turn and the starts, signals and updates that its clients ask for meanwhile
 * share a sync. A participant that fails or is rolled back takes back its own part only; an error
 * that ends SQLite's transaction ends it for all of them. Whoever might do that on purpose (SQL of
 * the program's own) begins by txn_begin_alone(), which commits for the passengers first. Tests:
 * tests/unit/test_journal_txn.c
 */
#include <assert.h>

#include "base/str.h"
#include "journal/store_impl.h"

#define RIDE_MOST 64 /* one that committed early must not wait for ever */

/* A commit that waits for its outcome; on its thread's stack. */
struct passenger {
    struct passenger *next;
    struct err err; /* kind ERR_NONE: durable */
    bool has_arrived;
};

/* --- riding ----------------------------------------------------------------------------------- */

/* Under the writer's lock: tells all passengers how it ended. */
static void set_down(struct store *store, const struct err *err)
{
    pthread_mutex_lock(&store->ride_lock);
    for (struct passenger *p = store->passengers, *next; p; p = next) {
        next = p->next; /* it may be gone as soon as it is told */
        p->err = *err;
        p->has_arrived = true;
    }
    store->passengers = NULL;
    store->passenger_count = 0;
    pthread_cond_broadcast(&store->arrived);
    pthread_mutex_unlock(&store->ride_lock);
}

/* Somebody comes after this transaction for certain, and may as well commit it. */
static bool may_ride(const struct store *store)
{
    return atomic_load(&store->waiting) > 0 && store->passenger_count < RIDE_MOST;
}

/* Leaves SQLite's transaction open for the next thread, and waits for its end. */
static int ride(struct txn *txn, struct err *err)
{
    struct store *store = txn->store;
    struct passenger self = {.next = store->passengers};
    store->passengers = &self;
    store->passenger_count++;
    txn->open = false;
    store->writer.txn = NULL;
    pthread_mutex_unlock(&store->writer.lock);
    pthread_mutex_lock(&store->ride_lock);
    while (!self.has_arrived) {
        pthread_cond_wait(&store->arrived, &store->ride_lock);
    }
    pthread_mutex_unlock(&store->ride_lock);
    if (self.err.kind != ERR_NONE && err) {
        *err = self.err;
    }
    return self.err.kind == ERR_NONE ? 0 : -1;
}

/* --- beginning and ending --------------------------------------------------------------------- */

static bool sql_is_open(const struct store *store)
{
    return !sqlite3_get_autocommit(store->writer.raw);
}

/* COMMIT, for whoever wrote since BEGIN. The error is the transaction's. */
static void commit_sql(struct txn *txn)
{
    static const char SQL[] = "COMMIT";
    sqlite3_stmt *stmt = db_stmt(&txn->store->writer, SQL, NULL);
    if (stmt) {
        txn_run(txn, stmt);
    }
    /* The commit record may have reached the disk though its sync failed, or what came next. */
    if (txn_failed(txn) &&
        (str_eq(txn->first.name, "StoreIo") || str_eq(txn->first.name, "OutOfMemory"))) {
        txn->first.kind = ERR_AMBIGUOUS;
    }
}

/* Ends SQLite's transaction, if it is open still, and lets others write. */
static void end_sql(struct store *store)
{
    if (sql_is_open(store)) {
        sqlite3_exec(store->writer.raw, "ROLLBACK", NULL, NULL, NULL);
    }
    if (store->has_turn) {
        store->has_turn = false;
        turnstile_leave(store->turnstile);
    }
}

/* Commits what passengers wrote, without this transaction's part, which is taken back. */
static void carry_on(struct txn *txn)
{
    struct store *store = txn->store;
    sqlite3 *raw = store->writer.raw;
    bool is_whole = sql_is_open(store) &&
                    sqlite3_exec(raw, "ROLLBACK TO rider", NULL, NULL, NULL) == SQLITE_OK &&
                    sqlite3_exec(raw, "RELEASE rider", NULL, NULL, NULL) == SQLITE_OK;
    if (is_whole && may_ride(store)) {
        return; /* the next one goes on with it */
    }
    struct err err = txn->first;
    if (is_whole) {
        txn->first = (struct err){0};
        commit_sql(txn);
        struct err outcome = txn->first;
        if (!txn_failed(txn)) {
            upkeep_after_commit(store);
        }
        txn->first = err;
        err = outcome;
    } else if (err.kind == ERR_NONE) {
        err_set(&err, ERR_TRANSIENT, "StoreBusy", "the transaction that carried it was undone");
    }
    end_sql(store);
    set_down(store, &err);
}

/* After the transaction, however it ended. */
static void leave(struct txn *txn)
{
    struct store *store = txn->store;
    txn->open = false;
    if (!store->read_only) {
        store->writer.txn = NULL;
        pthread_mutex_unlock(&store->writer.lock);
    }
}

/* Under the writer's lock, with no statement of its own yet. */
static void begin_sql(struct txn *txn)
{
    static const char BEGIN[] = "BEGIN IMMEDIATE";
    static const char JOIN[] = "SAVEPOINT rider";
    struct store *store = txn->store;
    struct db *db = &store->writer;
    txn->is_joined = store->passengers != NULL;
    if (!txn->is_joined) {
        store->has_turn = turnstile_enter(store->turnstile, db->busy_timeout_ms);
        if (!store->has_turn) {
            db_fail(db, SQLITE_BUSY, NULL);
            return;
        }
    }
    sqlite3_stmt *stmt = db_stmt(db, txn->is_joined ? JOIN : BEGIN, NULL);
    if (stmt) {
        txn_run(txn, stmt);
    }
}

static struct txn *begin(struct store *store, bool alone)
{
    struct db *db = &store->writer;
    struct txn *txn = &store->txn;
    if (store->read_only) {
        assert(!txn->open);
        *txn = (struct txn){.store = store, .open = true};
        err_set(&txn->first, ERR_PERMANENT, "StoreReadOnly", "%s was opened read-only",
                store->path);
        return txn;
    }
    atomic_fetch_add(&store->waiting, 1);
    pthread_mutex_lock(&db->lock);
    atomic_fetch_sub(&store->waiting, 1);
    assert(!txn->open); /* one transaction at a time; a nested one is a bug of the caller */
    *txn = (struct txn){.store = store, .open = true};
    db->txn = txn;
    if (alone && store->passengers) {
        commit_sql(txn);
        struct err outcome = txn->first;
        end_sql(store);
        set_down(store, &outcome);
        txn->first = (struct err){0};
    }
    begin_sql(txn);
    return txn;
}

struct txn *txn_begin(struct store *store)
{
    return begin(store, false);
}

struct txn *txn_begin_alone(struct store *store)
{
    return begin(store, true);
}

int txn_commit(struct txn *txn, struct err *err)
{
    static const char RELEASE[] = "RELEASE rider";
    struct store *store = txn->store;
    assert(txn->open);
    if (!txn_failed(txn) && txn->is_joined) {
        txn_run(txn, db_stmt(&store->writer, RELEASE, NULL));
    }
    if (!txn_failed(txn) && may_ride(store)) {
        return ride(txn, err);
    }
    if (txn_failed(txn) && txn->is_joined) {
        carry_on(txn);
    } else {
        if (!txn_failed(txn)) {
            commit_sql(txn);
        }
        if (!txn_failed(txn)) {
            upkeep_after_commit(store);
        }
        if (!store->read_only) {
            end_sql(store);
            set_down(store, &txn->first);
        }
    }
    int rc = txn_failed(txn) ? -1 : 0;
    if (rc < 0 && err) {
        *err = txn->first;
    }
    leave(txn);
    return rc;
}

void txn_rollback(struct txn *txn)
{
    struct store *store = txn->store;
    assert(txn->open);
    if (txn->is_joined) {
        carry_on(txn);
    } else if (!store->read_only) {
        end_sql(store);
    }
    leave(txn);
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
