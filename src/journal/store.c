/*
 * store.c - opening and closing a store handle: path checks, connections, settings.
 *
 * Must not: know any table but through migrate.c. Order at creation matters: page_size and
 * auto_vacuum take effect only before the first page is written, so they come before WAL.
 * Tests: tests/unit/test_journal_store.c
 */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "journal/companion.h"
#include "journal/store_impl.h"
#include "journal/vfs.h"

static int64_t defaulted(int64_t value, int64_t otherwise)
{
    return value == 0 ? otherwise : value < 0 ? 0 : value;
}

static int refuse_remote(const char *path, struct err *err)
{
    const char *kind = "unknown";
    autofree char *dir = fs_dirname(path);
    enum fs_class class = fs_classify(dir, &kind);
    if (class == FS_NETWORK || class == FS_FUSE) {
        return err_set(err, ERR_PERMANENT, "NetworkFileSystem",
                       "%s lies on a %s file system, whose locks and syncs cannot be trusted: "
                       "use a local disk",
                       path, kind);
    }
    return 0;
}

/* Each setting, how it is asked for, and what must come back. */
struct setting {
    const char *name;
    int64_t value;
};

static int read_back(struct db *db, const char *path, struct err *err)
{
    static const struct setting settings[] = {
        {"page_size", STORE_PAGE_SIZE}, {"auto_vacuum", 2 /* incremental */},
        {"synchronous", 2 /* full */},  {"foreign_keys", 1},
        {"recursive_triggers", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        char sql[64];
        int64_t value = -1;
        sqlite3_snprintf(sizeof(sql), sql, "PRAGMA %s", settings[i].name);
        if (db_ask_i64(db, sql, &value, err) < 0) {
            return -1;
        }
        if (value != settings[i].value) {
            return err_set(err, ERR_PERMANENT, "SettingRefused",
                           "%s: PRAGMA %s reads back as %lld, not %lld", path, settings[i].name,
                           (long long)value, (long long)settings[i].value);
        }
    }
    return 0;
}

/* 0: the journal mode is (now) WAL. 1: it is not. */
static int journal_is_wal(struct db *db, const char *sql, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->raw, sql, -1, &stmt, NULL);
    int answer = 1;
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        answer = str_eq(column_text(stmt, 0), "wal") ? 0 : 1;
    } else {
        answer = db_fail(db, rc, err);
    }
    sqlite3_finalize(stmt);
    return answer;
}

/* Two processes that create the file together get SQLITE_BUSY at once here: try until time is up.
 */
static int enter_wal(struct db *db, const char *path, struct err *err)
{
    int64_t deadline = clock_mono_ns() + db->busy_timeout_ms * NS_PER_MS;
    for (;;) {
        struct err why = {0};
        int rc = journal_is_wal(db, "PRAGMA journal_mode = WAL", &why);
        if (rc == 0) {
            return 0;
        }
        if (rc > 0) {
            return err_set(err, ERR_PERMANENT, "SettingRefused",
                           "%s: the journal mode cannot be set to WAL", path);
        }
        if (!str_eq(why.name, "StoreBusy") || clock_mono_ns() >= deadline) {
            if (err) {
                *err = why;
            }
            return err_wrap(err, "%s", path);
        }
        clock_sleep_ms(1);
    }
}

/* Does the file itself say that it is in WAL mode? A power cut while a store is made can leave a
 * header that says otherwise beside a WAL. SQLite goes by the WAL then and calls the mode WAL, but
 * when the WAL is gone so is the mode. */
static bool header_says_wal(struct db *db)
{
    unsigned char versions[2] = {2, 2}; /* file format: write version, read version */
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db->raw, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file || !file->pMethods ||
        file->pMethods->xRead(file, versions, sizeof(versions), 18) != SQLITE_OK) {
        return true; /* no header yet */
    }
    return versions[0] == 2 && versions[1] == 2;
}

/* enter_wal, and the header says so. Leaving WAL mode needs the file for oneself: while others have
 * it open, it stays as it is and the next one tries. */
static int enter_wal_for_good(struct db *db, const char *path, struct err *err)
{
    if (enter_wal(db, path, err) < 0) {
        return -1;
    }
    if (header_says_wal(db)) {
        return 0;
    }
    (void)db_exec(db, "PRAGMA journal_mode = DELETE", NULL);
    return enter_wal(db, path, err);
}

/* The WAL is there and has a name that a power cut does not take away, before anything is committed
 * to it. SQLite syncs the directory only by the connection that made the WAL, with its first
 * commit: that is to be this one; and where somebody else's was quicker, it is done here. */
static int name_wal(struct db *db, const char *path, struct err *err)
{
    int64_t version;
    if (db_ask_i64(db, "PRAGMA schema_version", &version, err) < 0) {
        return -1;
    }
    autofree char *dir = fs_dirname(path);
    (void)fs_fsync_dir(dir, NULL); /* like SQLite, go on where a directory cannot be opened */
    return 0;
}

static int open_writer(struct store *store, const char *vfs, int64_t busy_timeout_ms, int flags,
                       struct err *err)
{
    struct db *db = &store->writer;
    bool is_fresh = false;
    if (db_open(db, store->path, flags, vfs, busy_timeout_ms, err) < 0 ||
        migrate_identify(db, store->path, &is_fresh, err) < 0) {
        return -1;
    }
    if (is_fresh && db_exec(db,
                            "PRAGMA page_size = 4096;"
                            "PRAGMA auto_vacuum = INCREMENTAL;",
                            err) < 0) {
        return -1;
    }
    if (enter_wal_for_good(db, store->path, err) < 0 || db_exec(db,
                                                                "PRAGMA synchronous = FULL;"
                                                                "PRAGMA foreign_keys = ON;"
                                                                "PRAGMA recursive_triggers = ON;"
                                                                "PRAGMA secure_delete = FAST;"
                                                                "PRAGMA temp_store = MEMORY;"
                                                                "PRAGMA cache_size = -8000;"
                                                                "PRAGMA wal_autocheckpoint = 0;",
                                                                err) < 0) {
        return -1;
    }
    if (name_wal(db, store->path, err) < 0) {
        return -1;
    }
    sqlite3_wal_hook(db->raw, upkeep_on_wal, store);
    store->next_checkpoint = STORE_CHECKPOINT_FRAMES;
    return read_back(db, store->path, err);
}

static int open_reader(struct store *store, const char *vfs, int64_t busy_timeout_ms,
                       struct err *err)
{
    struct db *db = &store->reader;
    bool is_fresh = false;
    if (db_open(db, store->path, SQLITE_OPEN_READWRITE, vfs, busy_timeout_ms, err) < 0) {
        return -1;
    }
    if (store->read_only) {
        if (migrate_identify(db, store->path, &is_fresh, err) < 0) {
            return -1;
        }
        if (is_fresh) {
            return err_set(err, ERR_PERMANENT, "StoreNotFound", "%s is empty", store->path);
        }
    }
    if (db_exec(db,
                "PRAGMA query_only = ON;"
                "PRAGMA synchronous = FULL;"
                "PRAGMA foreign_keys = ON;"
                "PRAGMA recursive_triggers = ON;"
                "PRAGMA cache_size = -4000;",
                err) < 0) {
        return -1;
    }
    int rc = journal_is_wal(db, "PRAGMA journal_mode", err);
    if (rc > 0) {
        return err_set(err, ERR_PERMANENT, "SettingRefused",
                       "%s: the journal mode is not WAL: open it once for writing", store->path);
    }
    return rc < 0 ? rc : read_back(db, store->path, err);
}

static int open_at(struct store *store, const struct store_options *options, struct err *err)
{
    const char *vfs = NULL;
    struct stat st;
    bool is_missing = stat(store->path, &st) < 0;
    int64_t busy_timeout_ms = defaulted(options->busy_timeout_ms, STORE_BUSY_TIMEOUT_MS);
    if (is_missing && (options->no_create || options->read_only)) {
        return err_set(err, ERR_PERMANENT, "StoreNotFound", "no database at %s", store->path);
    }
    if (!is_missing && !S_ISREG(st.st_mode)) {
        return err_set(err, ERR_PERMANENT, "NotADatabase", "%s is not a regular file", store->path);
    }
    if (refuse_remote(store->path, err) < 0 || vfs_register(options->vfs, &vfs, err) < 0) {
        return -1;
    }
    int flags = SQLITE_OPEN_READWRITE | (options->no_create ? 0 : SQLITE_OPEN_CREATE);
    if ((!store->read_only && open_writer(store, vfs, busy_timeout_ms, flags, err) < 0) ||
        open_reader(store, vfs, busy_timeout_ms, err) < 0 ||
        migrate_store(store, options, err) < 0) {
        return -1;
    }
    /* Without room for the reserve the store still serves what it has; admission says no. */
    store_restore_reserve(store, NULL);
    return 0;
}

int store_open(const char *path, const struct store_options *options, struct store **ret,
               struct err *err)
{
    static const struct store_options defaults = {0};
    options = options ? options : &defaults;
    *ret = NULL;
    autostore struct store *store = mem_alloc(sizeof(*store));
    pthread_mutex_init(&store->ride_lock, NULL);
    pthread_cond_init(&store->arrived, NULL);
    if (companion_canonical(path, &store->path, err) < 0) {
        return -1;
    }
    store->wal_path = mem_printf("%s-wal", store->path);
    store->reserve_path = mem_printf("%s.reserve", store->path);
    store->read_only = options->read_only;
    store->wal_cap_bytes = defaulted(options->wal_cap_bytes, STORE_WAL_CAP_BYTES);
    store->reserve_bytes = defaulted(options->reserve_bytes, STORE_RESERVE_BYTES);
    store->min_free_bytes = defaulted(options->min_free_bytes, STORE_MIN_FREE_BYTES);
    store->max_db_bytes = defaulted(options->max_db_bytes, 0);
    store->writer.sealer = store->reader.sealer = options->sealer;
    store->turnstile = store->read_only ? NULL : turnstile_get(store->path);
    if (open_at(store, options, err) < 0) {
        return -1;
    }
    *ret = steal(&store);
    return 0;
}

struct store *store_close(struct store *store)
{
    if (!store) {
        return NULL;
    }
    if (store->txn.open) {
        txn_rollback(&store->txn);
    }
    db_close(&store->reader);
    db_close(&store->writer);
    turnstile_put(store->turnstile);
    pthread_mutex_destroy(&store->ride_lock);
    pthread_cond_destroy(&store->arrived);
    free(store->path);
    free(store->wal_path);
    free(store->reserve_path);
    free(store);
    return NULL;
}

const char *store_path(const struct store *store)
{
    return store->path;
}

struct db *store_db(struct store *store)
{
    return &store->reader;
}

const struct sealer *db_sealer(const struct db *db)
{
    return db->sealer;
}

int store_data_version(struct store *store, int64_t *ret, struct err *err)
{
    static const char SQL[] = "PRAGMA data_version";
    struct query q autoquery = query_begin(&store->reader, SQL, err);
    int rc = query_next(&q);
    if (rc > 0) {
        *ret = row_i64(&q, 0);
        rc = 0;
    }
    return rc;
}
