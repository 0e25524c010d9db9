/*
 * migrate.c - what schema a file has, whether it may be touched, and bringing it up to date.
 *
 * Owns: table migration (schema, step, name, sha256), application_id and user_version (= engine
 * steps applied). Rules: forward only; an applied step must still have the checksum it was applied
 * with; all due steps of both schemas are applied in one transaction, after a copy of an existing
 * file was written to DBPATH.before-N (N = steps applied before). Two processes that arrive
 * together are told apart by BEGIN IMMEDIATE; the second finds nothing to do. Tests:
 * tests/unit/test_journal_migrate.c
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/embedded_sql.h"
#include "base/fs.h"
#include "base/mem.h"
#include "journal/migrate.h"
#include "journal/store_impl.h"

extern const struct embedded_sql engine_migrations[];

static const char ENGINE_SCHEMA[] = "engine";

/* One schema: its steps, and how many of them the file has. */
struct schema {
    const char *name;
    const struct store_migration *steps;
    int known;
    int applied;
};

static int count_steps(const struct store_migration *steps)
{
    int n = 0;
    while (steps && steps[n].name) {
        n++;
    }
    return n;
}

static int ask(struct db *db, const char *sql, int64_t *ret, struct err *err)
{
    return db_ask_i64(db, sql, ret, err);
}

int migrate_identify(struct db *db, const char *path, bool *ret_fresh, struct err *err)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t objects = 0;
    /* In this order: all three are set by one commit, which may come between two of these reads
     * when another process is just creating the file. */
    if (ask(db, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0 ||
        ask(db, "PRAGMA user_version", &version, err) < 0 ||
        ask(db, "PRAGMA application_id", &application, err) < 0) {
        return err_wrap(err, "%s", path);
    }
    *ret_fresh = application == 0 && version == 0 && objects == 0;
    if (!*ret_fresh && application != STORE_APPLICATION_ID) {
        return err_set(err, ERR_PERMANENT, "ForeignDatabase",
                       "%s is a SQLite database of another program (application id %lld): "
                       "left untouched; name another file",
                       path, (long long)application);
    }
    return 0;
}

static int refuse_newer(const char *path, const char *schema, int64_t has, int known,
                        struct err *err)
{
    return err_set(err, ERR_PERMANENT, "NewerFile",
                   "%s was written by a newer version (%s schema %lld, this program knows %d): "
                   "left untouched; upgrade this program",
                   path, schema, (long long)has, known);
}

/* Compares what was applied with what we know; fills schema->applied. */
static int verify(struct db *db, const char *path, struct schema *schema, struct err *err)
{
    static const char SQL[] = "SELECT name, sha256 FROM migration WHERE schema = ?1 ORDER BY step";
    struct query q autoquery = query_begin(db, SQL, err);
    bind_text(q.stmt, 1, schema->name);
    schema->applied = 0;
    int rc;
    while ((rc = query_next(&q)) > 0) {
        if (schema->applied >= schema->known) {
            return refuse_newer(path, schema->name, schema->applied + 1, schema->known, err);
        }
        const struct store_migration *step = &schema->steps[schema->applied];
        const char *name = column_text(q.stmt, 0);
        const char *sum = column_text(q.stmt, 1);
        char ours[SHA256_HEX_BYTES];
        sha256_hex(step->sql, strlen(step->sql), ours);
        if (!str_eq(name, step->name) || !str_eq(sum, ours)) {
            return err_set(err, ERR_PERMANENT, "MigrationChanged",
                           "%s: step %s of the %s schema is not the one applied (%s): left "
                           "untouched; use the program that made this file",
                           path, step->name, schema->name, name ? name : "NULL");
        }
        schema->applied++;
    }
    return rc;
}

/* How far is the file? Reads only. */
static int survey(struct db *db, const char *path, struct schema *schemas, size_t count,
                  struct err *err)
{
    int64_t version = 0;
    int64_t has_table = 0;
    if (ask(db, "PRAGMA user_version", &version, err) < 0 ||
        ask(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'migration'", &has_table, err) <
            0) {
        return -1;
    }
    if (version > schemas[0].known) { /* its migration table may have any form */
        return refuse_newer(path, schemas[0].name, version, schemas[0].known, err);
    }
    for (size_t i = 0; i < count && has_table; i++) {
        if (verify(db, path, &schemas[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

int migrate_copy_db(struct db *from, const char *to, struct err *err)
{
    struct db copy = {0};
    if (db_open(&copy, to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, STORE_BUSY_TIMEOUT_MS,
                err) < 0) {
        return -1;
    }
    int rc = SQLITE_ERROR;
    sqlite3_backup *backup = sqlite3_backup_init(copy.raw, "main", from->raw, "main");
    if (backup) {
        do {
            rc = sqlite3_backup_step(backup, 4096);
        } while (rc == SQLITE_OK);
        rc = sqlite3_backup_finish(backup);
    }
    int answer = rc == SQLITE_OK ? 0 : db_fail(&copy, rc, err);
    db_close(&copy);
    return answer;
}

/* The reading connection copies: the writing one holds BEGIN IMMEDIATE, so nothing moves. */
static int backup(struct store *store, int applied, struct err *err)
{
    autofree char *target = mem_printf("%s.before-%d", store->path, applied);
    autofree char *temporary = mem_printf("%s.tmp", target);
    autofree char *dir = fs_dirname(store->path);
    if (unlink(temporary) < 0 && errno != ENOENT) {
        return err_sys(err, errno, "MigrationFailed", "cannot remove %s", temporary);
    }
    if (migrate_copy_db(&store->reader, temporary, err) < 0) {
        unlink(temporary);
        return err_wrap(err, "copy of %s before its upgrade", store->path);
    }
    if (rename(temporary, target) < 0) {
        return err_sys(err, errno, "MigrationFailed", "cannot rename %s", temporary);
    }
    return fs_fsync_dir(dir, err);
}

static void apply_step(struct txn *txn, const struct schema *schema, int number)
{
    static const char SQL[] = "INSERT INTO migration (schema, step, name, sha256, applied_ns) "
                              "VALUES (?1, ?2, ?3, ?4, ?5)";
    const struct store_migration *step = &schema->steps[number];
    struct db *db = txn_db(txn);
    struct err why = {0};
    if (txn_failed(txn)) {
        return;
    }
    char sum[SHA256_HEX_BYTES];
    sha256_hex(step->sql, strlen(step->sql), sum);
    int rc = sqlite3_exec(db->raw, step->sql, NULL, NULL, NULL);
    if (rc != SQLITE_OK || sqlite3_get_autocommit(db->raw)) {
        err_set(&why, ERR_PERMANENT, "MigrationFailed", "step %s of the %s schema: %s", step->name,
                schema->name,
                rc == SQLITE_OK ? "it ends the transaction" : sqlite3_errmsg(db->raw));
        txn_fail(txn, &why);
        return;
    }
    sqlite3_stmt *stmt = txn_stmt(txn, SQL);
    bind_text(stmt, 1, schema->name);
    bind_i64(stmt, 2, number + 1);
    bind_text(stmt, 3, step->name);
    bind_text(stmt, 4, sum);
    bind_i64(stmt, 5, clock_wall_ns());
    txn_run(txn, stmt);
}

static void apply_all(struct txn *txn, struct schema *schemas, size_t count)
{
    struct db *db = txn_db(txn);
    char sql[128];
    db_exec(db,
            "CREATE TABLE IF NOT EXISTS migration (schema TEXT NOT NULL, step INTEGER NOT NULL, "
            "name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_ns INTEGER NOT NULL, "
            "PRIMARY KEY (schema, step)) STRICT, WITHOUT ROWID",
            NULL);
    for (size_t i = 0; i < count; i++) {
        for (int n = schemas[i].applied; n < schemas[i].known; n++) {
            apply_step(txn, &schemas[i], n);
        }
    }
    if (txn_failed(txn)) {
        return;
    }
    snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
             STORE_APPLICATION_ID, schemas[0].known);
    db_exec(db, sql, NULL);
}

static int pending(const struct schema *schemas, size_t count)
{
    int n = 0;
    for (size_t i = 0; i < count; i++) {
        n += schemas[i].known - schemas[i].applied;
    }
    return n;
}

static int applied(const struct schema *schemas, size_t count)
{
    int n = 0;
    for (size_t i = 0; i < count; i++) {
        n += schemas[i].applied;
    }
    return n;
}

static int upgrade(struct store *store, struct schema *schemas, size_t count, struct err *err)
{
    struct txn *txn = txn_begin(store);
    struct err why = {0};
    if (!txn_failed(txn)) {
        /* Another process may have been faster: look again, now that nobody else can write. */
        if (survey(txn_db(txn), store->path, schemas, count, &why) < 0 ||
            (pending(schemas, count) > 0 && applied(schemas, count) > 0 &&
             backup(store, applied(schemas, count), &why) < 0)) {
            txn_fail(txn, &why);
        } else if (pending(schemas, count) > 0) {
            apply_all(txn, schemas, count);
        }
    }
    if (txn_commit(txn, err) < 0) {
        return err_wrap(err, "upgrade of %s", store->path);
    }
    return 0;
}

/* Both schemas as this program knows them; engine: room for the engine's steps, the caller frees.
 */
static int known_schemas(const struct store_options *options, struct schema schemas[2],
                         size_t *ret_count, struct store_migration **ret_engine, struct err *err)
{
    int known = 0;
    while (engine_migrations[known].name) {
        known++;
    }
    struct store_migration *engine = mem_array((size_t)known + 1, sizeof(*engine));
    for (int i = 0; i < known; i++) {
        engine[i].name = engine_migrations[i].name;
        engine[i].sql = engine_migrations[i].sql;
    }
    *ret_engine = engine;
    schemas[0] = (struct schema){.name = ENGINE_SCHEMA, .steps = engine, .known = known};
    *ret_count = 1;
    if (options->schema_name) {
        if (str_eq(options->schema_name, ENGINE_SCHEMA) || !*options->schema_name) {
            return err_set(err, ERR_PERMANENT, "BadSchemaName",
                           "\"%s\" cannot name an application schema", options->schema_name);
        }
        schemas[1] = (struct schema){.name = options->schema_name,
                                     .steps = options->schema,
                                     .known = count_steps(options->schema)};
        *ret_count = 2;
    }
    return 0;
}

int migrate_store(struct store *store, const struct store_options *options, struct err *err)
{
    struct schema schemas[2];
    size_t count;
    autofree struct store_migration *engine = NULL;
    if (known_schemas(options, schemas, &count, &engine, err) < 0) {
        return -1;
    }
    struct db *db = store->read_only ? &store->reader : &store->writer;
    if (survey(db, store->path, schemas, count, err) < 0) {
        return -1;
    }
    if (pending(schemas, count) == 0) {
        return 0;
    }
    if (store->read_only || (options->no_migrate && applied(schemas, count) > 0)) {
        return err_set(err, ERR_PERMANENT, "OlderFile",
                       "%s was written by an older version (schema %d, this program writes %d): "
                       "it has to be upgraded first",
                       store->path, schemas[0].applied, schemas[0].known);
    }
    return upgrade(store, schemas, count, err);
}

int migrate_levels(const char *path, const struct store_options *options,
                   struct migrate_levels *ret, struct err *err)
{
    struct schema schemas[2] = {0};
    size_t count;
    bool is_fresh = false;
    struct db db = {0};
    autofree struct store_migration *engine = NULL;
    if (known_schemas(options, schemas, &count, &engine, err) < 0 ||
        db_open(&db, path, SQLITE_OPEN_READWRITE, NULL, STORE_BUSY_TIMEOUT_MS, err) < 0) {
        return -1;
    }
    int rc = db_exec(&db, "PRAGMA query_only = ON", err);
    if (rc == 0) {
        rc = migrate_identify(&db, path, &is_fresh, err);
    }
    if (rc == 0) {
        rc = survey(&db, path, schemas, count, err);
    }
    db_close(&db);
    *ret = (struct migrate_levels){.engine_has = schemas[0].applied,
                                   .engine_knows = schemas[0].known,
                                   .app_has = schemas[1].applied,
                                   .app_knows = schemas[1].known};
    return rc;
}
