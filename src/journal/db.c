/*
 * db.c - see db.h. One SQLite connection: statements, lock, errors, waiting for other writers.
 * Must not: know any table. Tests: tests/unit/test_journal_store.c
 */
#include "journal/db.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

/* SQLite's own handler sleeps up to 100 ms, so that whoever releases the lock has it again first
 * and others starve. Short, jittered sleeps give every waiter its turn. */
#define BUSY_SLEEP_MIN_NS (50 * NS_PER_US)
#define BUSY_SLEEP_SPAN_NS (300 * NS_PER_US)

static int on_busy(void *user, int calls)
{
    struct db *db = user;
    int64_t now = clock_mono_ns();
    if (calls == 0) {
        db->busy_deadline_ns = now + db->busy_timeout_ms * NS_PER_MS;
    }
    if (now >= db->busy_deadline_ns) {
        return 0;
    }
    struct timespec pause = {.tv_nsec = BUSY_SLEEP_MIN_NS +
                                        (long)(rng_u64() % (uint64_t)BUSY_SLEEP_SPAN_NS)};
    nanosleep(&pause, NULL);
    return 1;
}

int db_open(struct db *db, const char *path, int flags, const char *vfs, int64_t busy_timeout_ms,
            struct err *err)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&db->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    db->busy_timeout_ms = busy_timeout_ms;
    int rc = sqlite3_open_v2(path, &db->raw, flags | SQLITE_OPEN_NOMUTEX, vfs);
    if (rc != SQLITE_OK) {
        db_fail(db, rc, err);
        err_wrap(err, "cannot open %s", path);
        db_close(db);
        return -1;
    }
    sqlite3_extended_result_codes(db->raw, 1);
    sqlite3_busy_handler(db->raw, on_busy, db);
    return 0;
}

void db_close(struct db *db)
{
    if (!db->raw) {
        return;
    }
    for (size_t i = 0; i < DB_CACHE_SLOTS; i++) {
        sqlite3_finalize(db->cache[i].stmt);
        db->cache[i] = (struct db_stmt){0};
    }
    sqlite3_close(db->raw);
    db->raw = NULL;
    pthread_mutex_destroy(&db->lock);
}

struct meaning {
    int code; /* primary SQLite result code */
    enum err_kind kind;
    const char *name;
};
static const struct meaning meanings[] = {
    {SQLITE_BUSY, ERR_TRANSIENT, "StoreBusy"},
    {SQLITE_LOCKED, ERR_TRANSIENT, "StoreBusy"},
    {SQLITE_PROTOCOL, ERR_TRANSIENT, "StoreBusy"},
    {SQLITE_FULL, ERR_TRANSIENT, "DiskFull"},
    {SQLITE_NOMEM, ERR_TRANSIENT, "OutOfMemory"},
    {SQLITE_IOERR, ERR_TRANSIENT, "StoreIo"},
    {SQLITE_CANTOPEN, ERR_PERMANENT, "StoreIo"},
    {SQLITE_READONLY, ERR_PERMANENT, "StoreReadOnly"},
    {SQLITE_PERM, ERR_PERMANENT, "StoreReadOnly"},
    {SQLITE_CONSTRAINT, ERR_PERMANENT, "StoreConstraint"},
    {SQLITE_CORRUPT, ERR_PERMANENT, "StoreCorrupt"},
    {SQLITE_NOTADB, ERR_PERMANENT, "NotADatabase"},
};

int db_fail(struct db *db, int rc, struct err *err)
{
    struct err local = {0};
    enum err_kind kind = ERR_PERMANENT;
    const char *name = "StoreError";
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        if (meanings[i].code == (rc & 0xff)) {
            kind = meanings[i].kind;
            name = meanings[i].name;
        }
    }
    if ((rc & 0xff) == SQLITE_NOMEM) {
        mem_note_short(); /* so that the next try may do */
    }
    int sys = db->raw ? sqlite3_system_errno(db->raw) : 0;
    if ((rc & 0xff) == SQLITE_CANTOPEN && err_sys_kind(sys) == ERR_TRANSIENT) {
        kind = ERR_TRANSIENT; /* no descriptor is free, say: the file is there */
    }
    const char *detail = db->raw ? sqlite3_errmsg(db->raw) : sqlite3_errstr(rc);
    err_set(&local, kind, name, "database: %s (%s, SQLite code %d)", detail, sqlite3_errstr(rc),
            rc);
    local.sys = sys;
    if (db->txn) {
        txn_fail(db->txn, &local);
    }
    if (err) {
        *err = local;
    }
    return -1;
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db->raw, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_fail(db, rc, err);
}

int db_ask_i64(struct db *db, const char *sql, int64_t *ret, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->raw, sql, -1, &stmt, NULL);
    if (rc != SQLITE_OK) {
        return db_fail(db, rc, err);
    }
    rc = sqlite3_step(stmt);
    int answer = 1;
    if (rc == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        answer = 0;
    } else if (rc != SQLITE_DONE) {
        answer = db_fail(db, rc, err);
    }
    sqlite3_finalize(stmt);
    return answer;
}

sqlite3_stmt *db_stmt(struct db *db, const char *sql, struct err *err)
{
    size_t slot = ((uintptr_t)sql * 0x9E3779B97F4A7C15u >> 40) & (DB_CACHE_SLOTS - 1);
    while (db->cache[slot].sql && db->cache[slot].sql != sql) {
        slot = (slot + 1) & (DB_CACHE_SLOTS - 1);
    }
    if (db->cache[slot].sql) {
        return db->cache[slot].stmt;
    }
    assert(db->stmt_count < DB_CACHE_SLOTS / 2);
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v3(db->raw, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
    if (rc != SQLITE_OK) {
        db_fail(db, rc, err);
        return NULL;
    }
    db->cache[slot] = (struct db_stmt){.sql = sql, .stmt = stmt};
    db->stmt_count++;
    return stmt;
}

struct query query_begin(struct db *db, const char *sql, struct err *err)
{
    pthread_mutex_lock(&db->lock);
    struct query q = {.db = db, .err = err};
    if (db->txn && txn_failed(db->txn)) {
        if (err) {
            *err = *txn_error(db->txn);
        }
    } else {
        q.stmt = db_stmt(db, sql, err);
    }
    return q;
}

int query_next(struct query *q)
{
    if (!q->stmt) {
        return -1;
    }
    int rc = sqlite3_step(q->stmt);
    if (rc == SQLITE_ROW) {
        return 1;
    }
    if (rc == SQLITE_DONE) {
        return 0;
    }
    return db_fail(q->db, rc, q->err);
}

void query_end(struct query *q)
{
    if (q->stmt) {
        sqlite3_reset(q->stmt);
    }
    pthread_mutex_unlock(&q->db->lock);
}

/* The answer of the last sqlite3_column_*() call is NULL: for want of memory? Then there may be
 * some now. */
static bool may_ask_again(sqlite3_stmt *stmt, bool is_null)
{
    if (!stmt || !is_null || sqlite3_errcode(sqlite3_db_handle(stmt)) != SQLITE_NOMEM) {
        return false;
    }
    mem_note_short();
    return true;
}

const char *column_text(sqlite3_stmt *stmt, int column)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);
    if (may_ask_again(stmt, !text)) {
        text = sqlite3_column_text(stmt, column);
        if (!text && sqlite3_column_type(stmt, column) != SQLITE_NULL) {
            mem_exhausted((size_t)sqlite3_column_bytes(stmt, column));
        }
    }
    return (const char *)text;
}

const void *column_blob(sqlite3_stmt *stmt, int column)
{
    const void *bytes = sqlite3_column_blob(stmt, column);
    if (may_ask_again(stmt, !bytes)) {
        bytes = sqlite3_column_blob(stmt, column);
        size_t len = (size_t)sqlite3_column_bytes(stmt, column);
        if (!bytes && len > 0) {
            mem_exhausted(len);
        }
    }
    return bytes;
}

void bind_copy(sqlite3_stmt *stmt, int index, const char *text, size_t len)
{
    int rc = sqlite3_bind_text64(stmt, index, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
    if (rc == SQLITE_NOMEM) {
        mem_note_short();
        rc = sqlite3_bind_text64(stmt, index, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    if (rc == SQLITE_NOMEM) {
        mem_exhausted(len);
    }
}

char *row_text(const struct query *q, struct arena *arena, int column)
{
    const char *text = column_text(q->stmt, column);
    if (!text) {
        return NULL;
    }
    return arena_dup(arena, text, (size_t)sqlite3_column_bytes(q->stmt, column));
}

int snapshot_begin(struct db *db, struct err *err)
{
    pthread_mutex_lock(&db->lock);
    if (db->txn || db->snapshots++ > 0) {
        return 0;
    }
    /* A plain BEGIN takes no snapshot until the first read. */
    int64_t unused;
    if (db_exec(db, "BEGIN", err) == 0 &&
        db_ask_i64(db, "SELECT count(*) FROM sqlite_schema", &unused, err) == 0) {
        return 0;
    }
    sqlite3_exec(db->raw, "ROLLBACK", NULL, NULL, NULL);
    db->snapshots = 0;
    pthread_mutex_unlock(&db->lock);
    return -1;
}

void snapshot_end(struct db *db)
{
    if (!db->txn && --db->snapshots == 0) {
        sqlite3_exec(db->raw, "COMMIT", NULL, NULL, NULL);
    }
    pthread_mutex_unlock(&db->lock);
}

void *arena_grow_(struct arena *arena, void *items, size_t count, size_t *cap, size_t each)
{
    if (count < *cap) {
        return items;
    }
    size_t more = *cap ? *cap * 2 : 16;
    void *bigger = arena_alloc(arena, more * each);
    if (count > 0) {
        memcpy(bigger, items, count * each);
    }
    *cap = more;
    return bigger;
}
