/*
 * upkeep.c - keeping the files within bounds: WAL cap, disk reserve, admission, vacuum, checks.
 *
 * Must not: fail a commit (it runs after it). The WAL is checkpointed every thousand frames, which
 * keeps it small enough to be overwritten in place; a long reader can make it grow, then it is cut
 * to nothing at the first chance after the cap was passed.
 * Tests: tests/unit/test_journal_reserve.c, tests/unit/test_journal_store.c
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "journal/store_impl.h"

int upkeep_on_wal(void *user, sqlite3 *raw is_unused, const char *schema is_unused, int frames)
{
    struct store *store = user;
    if (frames < store->wal_frames) { /* it was reset and begins anew */
        store->next_checkpoint = STORE_CHECKPOINT_FRAMES;
    }
    store->wal_frames = frames;
    return SQLITE_OK;
}

void upkeep_after_commit(struct store *store)
{
    int frames = store->wal_frames;
    if ((int64_t)frames * STORE_PAGE_SIZE > store->wal_cap_bytes) {
        store->wal_is_oversized = true;
    }
    if (frames < store->next_checkpoint) {
        return;
    }
    struct db *db = &store->writer;
    int mode = store->wal_is_oversized ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    int64_t timeout_ms = db->busy_timeout_ms;
    db->busy_timeout_ms = 0; /* nobody waits for the cutting */
    int rc = sqlite3_wal_checkpoint_v2(db->raw, NULL, mode, NULL, NULL);
    db->busy_timeout_ms = timeout_ms;
    /* With a reader in the way, do not try again at each commit. */
    store->next_checkpoint = frames + STORE_CHECKPOINT_FRAMES / 4;
    if (rc == SQLITE_OK && mode == SQLITE_CHECKPOINT_TRUNCATE) {
        store->wal_is_oversized = false;
        store->wal_frames = 0;
        store->next_checkpoint = STORE_CHECKPOINT_FRAMES;
    }
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Reads one number from a pragma through the reading connection, under its lock. */
static int ask(struct store *store, const char *sql, int64_t *ret, struct err *err)
{
    pthread_mutex_lock(&store->reader.lock);
    int rc = db_ask_i64(&store->reader, sql, ret, err);
    pthread_mutex_unlock(&store->reader.lock);
    return rc;
}

static int disk_free(const struct store *store, int64_t *ret, struct err *err)
{
    uint64_t bytes = 0;
    if (fs_free_bytes(store->path, &bytes, err) < 0) {
        return -1;
    }
    *ret = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    return 0;
}

int store_facts(struct store *store, struct store_facts *ret, struct err *err)
{
    int64_t pages = 0;
    int64_t unused = 0;
    int64_t version = 0;
    *ret = (struct store_facts){0};
    if (ask(store, "PRAGMA page_count", &pages, err) < 0 ||
        ask(store, "PRAGMA freelist_count", &unused, err) < 0 ||
        ask(store, "PRAGMA user_version", &version, err) < 0 ||
        disk_free(store, &ret->disk_free_bytes, err) < 0) {
        return -1;
    }
    ret->db_bytes = pages * STORE_PAGE_SIZE;
    ret->free_db_bytes = unused * STORE_PAGE_SIZE;
    ret->wal_bytes = size_of(store->wal_path);
    ret->reserve_bytes = size_of(store->reserve_path);
    ret->schema_version = (int)version;
    return 0;
}

int store_restore_reserve(struct store *store, struct err *err)
{
    if (store->reserve_bytes <= 0 || store->read_only || fs_exists(store->reserve_path)) {
        return 0;
    }
    int64_t bytes = 0;
    if (disk_free(store, &bytes, err) < 0) {
        return -1;
    }
    if (bytes < store->reserve_bytes + store->min_free_bytes) {
        return err_set(err, ERR_TRANSIENT, "StoreFull",
                       "no room for the disk reserve %s (%lld MiB): free some space",
                       store->reserve_path, (long long)(store->reserve_bytes >> 20));
    }
    return fs_reserve_file(store->reserve_path, (uint64_t)store->reserve_bytes, err);
}

int store_admits_new_runs(struct store *store, struct err *err)
{
    struct store_facts facts;
    if (mem_is_short() && !mem_refill()) {
        return err_set(err, ERR_TRANSIENT, "MemoryShort",
                       "memory is short in process %d: new runs are refused", (int)getpid());
    }
    if (store_facts(store, &facts, err) < 0) {
        return -1;
    }
    if (store->min_free_bytes > 0 && facts.disk_free_bytes < store->min_free_bytes) {
        return err_set(err, ERR_TRANSIENT, "StoreFull",
                       "only %lld MiB are free beside %s (%lld wanted): new runs are refused",
                       (long long)(facts.disk_free_bytes >> 20), store->path,
                       (long long)(store->min_free_bytes >> 20));
    }
    int64_t used = facts.db_bytes - facts.free_db_bytes;
    if (store->max_db_bytes > 0 && used >= store->max_db_bytes) {
        return err_set(err, ERR_TRANSIENT, "StoreFull",
                       "%s holds %lld of %lld bytes: new runs are refused", store->path,
                       (long long)used, (long long)store->max_db_bytes);
    }
    struct err why = {0};
    if (facts.reserve_bytes == 0 && store_restore_reserve(store, &why) < 0) {
        return err_set(err, ERR_TRANSIENT, "StoreFull", "new runs are refused: %s", why.text);
    }
    return 0;
}

void store_release_memory(struct store *store)
{
    struct db *dbs[] = {&store->writer, &store->reader};
    for (size_t i = 0; i < ARRAY_LEN(dbs); i++) {
        if (dbs[i]->raw) {
            pthread_mutex_lock(&dbs[i]->lock);
            sqlite3_db_release_memory(dbs[i]->raw);
            pthread_mutex_unlock(&dbs[i]->lock);
        }
    }
}

int store_checkpoint(struct store *store, struct err *err)
{
    if (store->read_only) {
        return err_set(err, ERR_PERMANENT, "StoreReadOnly", "%s was opened read-only", store->path);
    }
    struct db *db = &store->writer;
    pthread_mutex_lock(&db->lock);
    int rc = sqlite3_wal_checkpoint_v2(db->raw, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    int answer = 0;
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED) {
        answer = 1;
    } else if (rc != SQLITE_OK) {
        answer = db_fail(db, rc, err);
    } else {
        store->wal_frames = 0;
        store->next_checkpoint = STORE_CHECKPOINT_FRAMES;
        store->wal_is_oversized = false;
    }
    pthread_mutex_unlock(&db->lock);
    return answer;
}

int store_shrink(struct store *store, int64_t max_pages, struct err *err)
{
    struct txn *txn = txn_begin(store);
    if (!txn_failed(txn) && max_pages > 0) {
        char sql[64];
        sqlite3_snprintf(sizeof(sql), sql, "PRAGMA incremental_vacuum(%lld)", (long long)max_pages);
        db_exec(txn_db(txn), sql, NULL);
    }
    return txn_commit(txn, err);
}

/* First column of the first row as text into err, name "StoreCorrupt"; 0 when there is no row. */
static int refuse_rows(struct db *db, const char *sql, const char *what, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->raw, sql, -1, &stmt, NULL);
    int answer = 0;
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
    }
    if (rc == SQLITE_ROW) {
        const char *text = column_text(stmt, 0);
        answer = err_set(err, ERR_PERMANENT, "StoreCorrupt", "%s: %s", what, text ? text : "NULL");
    } else if (rc != SQLITE_DONE) {
        answer = db_fail(db, rc, err);
    }
    sqlite3_finalize(stmt);
    return answer;
}

int store_check(struct store *store, struct err *err)
{
    static const struct {
        const char *sql;
        const char *what;
    } checks[] = {
        {"SELECT * FROM pragma_integrity_check(1) WHERE integrity_check <> 'ok'",
         "integrity check"},
        {"SELECT \"table\" || ' row ' || ifnull(rowid, '?') FROM pragma_foreign_key_check",
         "row without its parent"},
        {"SELECT digest FROM blob WHERE id NOT IN (SELECT blob FROM blob_ref)",
         "blob without a reference"},
        {"SELECT status FROM execution_count AS c WHERE n <> "
         "(SELECT count(*) FROM execution AS e WHERE e.status = c.status)",
         "wrong count of runs with status"},
        {"SELECT execution FROM (SELECT execution, first_event_id, lag(last_event_id, 1, 0) OVER "
         "(PARTITION BY execution ORDER BY first_event_id) AS before FROM event_batch) "
         "WHERE first_event_id <> before + 1",
         "history with a gap, run"},
        {"SELECT b.execution FROM event_batch AS b WHERE json_valid(b.events) = 0 OR "
         "json_array_length(b.events) <> b.last_event_id - b.first_event_id + 1",
         "events that cannot be read, run"},
        {"SELECT e.execution FROM event AS e WHERE e.blob IS NOT NULL AND NOT EXISTS "
         "(SELECT 1 FROM blob_ref AS r WHERE r.execution = e.execution AND r.blob = e.blob)",
         "event without its blob, run"},
        {"SELECT id FROM execution AS e WHERE status <> 1 AND next_event_id - 1 <> "
         "(SELECT ifnull(max(last_event_id), 0) FROM event_batch WHERE execution = e.id)",
         "history does not end at its head, run"},
    };
    int answer = snapshot_begin(&store->reader, err);
    if (answer < 0) {
        return answer;
    }
    for (size_t i = 0; i < ARRAY_LEN(checks) && answer == 0; i++) {
        answer = refuse_rows(&store->reader, checks[i].sql, checks[i].what, err);
    }
    snapshot_end(&store->reader);
    return answer;
}
