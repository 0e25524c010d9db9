/*
 * migrate_back.c - see migrate.h: copies of stores, and the way back.
 *
 * Owns: the order of the way back: look what needs the step, copy the store, take the step away,
 * all but the copy in one transaction. Must not: know a table; migrations/back says what to ask and
 * what to drop.
 * Tests: tests/unit/test_journal_migrate.c, tests/cli/t0720-upgrade.sh
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded_sql.h"
#include "base/fs.h"
#include "base/mem.h"
#include "journal/migrate.h"
#include "journal/store_impl.h"

extern const struct embedded_sql engine_migrations[];
extern const struct embedded_sql engine_way_back[];
extern const struct embedded_sql engine_needs[];

int migrate_copy(const char *path, const char *to, struct err *err)
{
    struct db db = {0};
    bool is_fresh = false;
    if (fs_exists(to)) {
        return err_set(err, ERR_PERMANENT, "FileExists", "%s exists already", to);
    }
    if (db_open(&db, path, SQLITE_OPEN_READWRITE, NULL, STORE_BUSY_TIMEOUT_MS, err) < 0) {
        return -1;
    }
    int rc = db_exec(&db, "PRAGMA query_only = ON", err);
    if (rc == 0) {
        rc = migrate_identify(&db, path, &is_fresh, err);
    }
    if (rc == 0) {
        rc = migrate_copy_db(&db, to, err);
    }
    db_close(&db);
    if (rc < 0) {
        (void)unlink(to);
        return err_wrap(err, "copy of %s", path);
    }
    return 0;
}

static const struct embedded_sql *find_step(const struct embedded_sql *steps, const char *name)
{
    while (steps->name && !str_eq(steps->name, name)) {
        steps++;
    }
    return steps->name ? steps : NULL;
}

/* A line for each thing that needs the step. */
static int ask_needs(struct db *db, const char *sql, struct str *needs, struct err *err)
{
    struct query q autoquery = query_begin(db, sql, err);
    int rc;
    while ((rc = query_next(&q)) > 0) {
        str_addf(needs, "%s\n", column_text(q.stmt, 0));
    }
    return rc;
}

static void take_away(struct txn *txn, const struct embedded_sql *step, int number)
{
    char sql[160];
    struct err why = {0};
    struct db *db = txn_db(txn);
    snprintf(sql, sizeof(sql),
             "DELETE FROM migration WHERE schema = 'engine' AND step = %d;"
             "PRAGMA user_version = %d",
             number, number - 1);
    if (db_exec(db, step->sql, &why) < 0 || db_exec(db, sql, &why) < 0) {
        txn_fail(txn, &why);
    }
}

static int go_back(struct store *store, const char *copy, struct str *needs, struct err *err)
{
    int number = 0;
    while (engine_migrations[number].name) {
        number++;
    }
    const char *name = engine_migrations[number - 1].name;
    const struct embedded_sql *back = find_step(engine_way_back, name);
    const struct embedded_sql *query = find_step(engine_needs, name);
    if (!back || !query) {
        return err_set(err, ERR_PERMANENT, "NoWayBack",
                       "%s: step %s is the first one; there is nothing before it", store->path,
                       name);
    }
    struct txn *txn = txn_begin(store);
    struct err why = {0};
    if (!txn_failed(txn) &&
        (ask_needs(txn_db(txn), query->sql, needs, &why) < 0 ||
         (needs->len == 0 && migrate_copy_db(&store->reader, copy, &why) < 0))) {
        txn_fail(txn, &why);
    }
    if (!txn_failed(txn) && needs->len > 0) {
        txn_rollback(txn);
        return 1;
    }
    if (!txn_failed(txn)) {
        take_away(txn, back, number);
    }
    return txn_commit(txn, err) < 0 ? err_wrap(err, "way back of %s", store->path) : 0;
}

int migrate_back(const char *path, const struct store_options *options, struct str *needs,
                 char **ret_copy, struct err *err)
{
    struct migrate_levels levels;
    struct store_options o = *options;
    autostore struct store *store = NULL;
    o.no_create = o.no_migrate = true;
    o.read_only = false;
    *ret_copy = NULL;
    if (migrate_levels(path, options, &levels, err) < 0 || store_open(path, &o, &store, err) < 0) {
        return -1;
    }
    autofree char *copy = mem_printf("%s.after-%d", path, levels.engine_has + levels.app_has);
    if (fs_exists(copy)) { /* of an earlier way back: the newest copy counts */
        (void)unlink(copy);
    }
    int rc = go_back(store, copy, needs, err);
    if (rc == 0) {
        *ret_copy = steal(&copy);
    }
    return rc;
}
