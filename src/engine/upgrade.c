/*
 * upgrade.c - see upgrade.h.
 *
 * Owns: the ownership lock around the journal's steps. Must not: know a table.
 * Tests: tests/cli/t0720-upgrade.sh
 */
#include "engine/upgrade.h"

#include <stdlib.h>

#include "base/mem.h"
#include "journal/lock.h"
#include "journal/migrate.h"

/* The application's steps in the journal's form; free. */
static struct store_migration *steps_of(const dur_options *options)
{
    size_t count = 0;
    while (options->schema && options->schema[count].name) {
        count++;
    }
    struct store_migration *steps = mem_array(count + 1, sizeof(*steps));
    for (size_t i = 0; i < count; i++) {
        steps[i].name = options->schema[i].name;
        steps[i].sql = options->schema[i].sql;
    }
    return steps;
}

static struct store_options store_options_of(const dur_options *options,
                                             const struct store_migration *steps)
{
    return (struct store_options){.no_create = true,
                                  .reserve_bytes = -1,
                                  .min_free_bytes = -1,
                                  .schema_name = options->schema_name,
                                  .schema = options->schema ? steps : NULL};
}

int upgrade_look(const char *path, const dur_options *options, struct upgrade_levels *ret,
                 struct err *err)
{
    autofree struct store_migration *steps = steps_of(options);
    struct store_options o = store_options_of(options, steps);
    struct migrate_levels levels = {0};
    int rc = migrate_levels(path, &o, &levels, err);
    *ret = (struct upgrade_levels){levels.engine_has, levels.engine_knows, levels.app_has,
                                   levels.app_knows};
    return rc;
}

int upgrade_copy(const char *path, const char *to, struct err *err)
{
    return migrate_copy(path, to, err);
}

/* The store is ours alone until the lock is closed. */
static int own(const char *path, struct lock **ret, struct err *err)
{
    struct lock_holder holder = {0};
    if (lock_open(path, ret, err) < 0) {
        return -1;
    }
    int rc = lock_try(*ret, err);
    if (rc <= 0) {
        return rc;
    }
    (void)lock_query(path, &holder, NULL);
    return err_set(err, ERR_TRANSIENT, "Served",
                   "process %lld serves %s: stop it first (it leaves its runs as they are)",
                   (long long)holder.pid, path);
}

int upgrade_apply(const char *path, const dur_options *options, char **ret_copy, struct err *err)
{
    autofree struct store_migration *steps = steps_of(options);
    struct store_options o = store_options_of(options, steps);
    struct migrate_levels levels;
    autolock struct lock *lock = NULL;
    autostore struct store *store = NULL;
    *ret_copy = NULL;
    if (own(path, &lock, err) < 0 || migrate_levels(path, &o, &levels, err) < 0) {
        return -1;
    }
    bool is_due = levels.engine_has < levels.engine_knows || levels.app_has < levels.app_knows;
    if (!is_due) {
        return 1;
    }
    if (store_open(path, &o, &store, err) < 0 || store_check(store, err) < 0) {
        return -1;
    }
    *ret_copy = mem_printf("%s.before-%d", path, levels.engine_has + levels.app_has);
    return 0;
}

int upgrade_back(const char *path, const dur_options *options, struct str *needs, char **ret_copy,
                 struct err *err)
{
    autofree struct store_migration *steps = steps_of(options);
    struct store_options o = store_options_of(options, steps);
    autolock struct lock *lock = NULL;
    *ret_copy = NULL;
    if (own(path, &lock, err) < 0) {
        return -1;
    }
    return migrate_back(path, &o, needs, ret_copy, err);
}
