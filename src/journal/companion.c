/*
 * companion.c - see companion.h. Names only; opens nothing. Tests: tests/unit/test_journal_store.c
 */
#include "journal/companion.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"

int companion_canonical(const char *db_path, char **ret, struct err *err)
{
    if (!db_path || !*db_path) {
        return err_set(err, ERR_PERMANENT, "BadPath", "the database needs a file name");
    }
    if (fs_exists(db_path)) {
        return fs_realpath(db_path, ret, err);
    }
    autofree char *dir = fs_dirname(db_path);
    autofree char *real = NULL;
    if (fs_realpath(dir, &real, err) < 0) {
        return err_wrap(err, "directory of %s", db_path);
    }
    *ret = fs_join(real, fs_basename(db_path));
    return 0;
}

int companion_path(const char *db_path, const char *suffix, char **ret, struct err *err)
{
    autofree char *canonical = NULL;
    if (companion_canonical(db_path, &canonical, err) < 0) {
        return -1;
    }
    *ret = mem_printf("%s%s", canonical, suffix);
    return 0;
}
