/*
 * look.c - small questions to a tree: one file, the lock files, a status text.
 *
 * Owns: the looking part of tree.h. Must not write anything. Thread rule: tree.h.
 * Tests: tests/unit/test_repo_tree.c
 */
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "repo/list.h"
#include "repo/tree.h"

int tree_read(struct tree_store *store, const char *tree, const char *path, size_t max_bytes,
              struct str *ret, struct err *err)
{
    autolist struct list list = {0};
    int rc = list_load_hex(store, tree, &list, err);
    if (rc < 0) {
        return rc;
    }
    const struct list_entry *entry = list_find(&list, path);
    if (!entry || (entry->mode != MODE_FILE && entry->mode != MODE_EXEC)) {
        return 1;
    }
    autogit(git_odb_object) git_odb_object *blob = NULL;
    rc = store_read(store, &entry->id, GIT_OBJECT_BLOB, &blob, err);
    if (rc < 0) {
        return rc;
    }
    if (git_odb_object_size(blob) > max_bytes) {
        autostr struct str shown = {0};
        return err_set(err, ERR_PERMANENT, "FileTooLarge", "%s is larger than %zu bytes",
                       name_show(&shown, path), max_bytes);
    }
    str_reset(ret);
    str_addn(ret, git_odb_object_data(blob), git_odb_object_size(blob));
    return 0;
}

int tree_lockfiles(struct tree_store *store, const char *tree,
                   struct tree_file_hash ret[TREE_LOCKFILES_MAX], size_t *ret_count,
                   struct err *err)
{
    static const char *const names[TREE_LOCKFILES_MAX] = {
        "Cargo.lock",        "Gemfile.lock",   "Pipfile.lock", "composer.lock",    "go.sum",
        "package-lock.json", "pnpm-lock.yaml", "poetry.lock",  "requirements.txt", "yarn.lock"};
    autolist struct list list = {0};
    size_t count = 0;
    int rc = list_load_hex(store, tree, &list, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(names); i++) {
        const struct list_entry *entry = list_find(&list, names[i]);
        if (!entry || (entry->mode != MODE_FILE && entry->mode != MODE_EXEC)) {
            continue;
        }
        autogit(git_odb_object) git_odb_object *blob = NULL;
        rc = store_read(store, &entry->id, GIT_OBJECT_BLOB, &blob, err);
        if (rc == 0) {
            ret[count].name = names[i];
            sha256_hex(git_odb_object_data(blob), git_odb_object_size(blob), ret[count++].sha256);
        }
    }
    if (rc == 0) {
        *ret_count = count;
    }
    return rc;
}

int tree_status(struct tree_store *store, const char *from, const char *to, struct str *ret,
                struct err *err)
{
    autolist struct list a_list = {0};
    autolist struct list b_list = {0};
    int rc = list_load_hex(store, from, &a_list, err);
    if (rc == 0) {
        rc = list_load_hex(store, to, &b_list, err);
    }
    if (rc < 0) {
        return rc;
    }
    struct list_pair pair = {.from = &a_list, .to = &b_list};
    const struct list_entry *a;
    const struct list_entry *b;
    str_reset(ret);
    while (list_next(&pair, &a, &b)) {
        if (list_same(a, b)) {
            continue;
        }
        bool typed = a && b && (a->mode & 0170000u) != (b->mode & 0170000u);
        str_addc(ret, !a ? 'A' : !b ? 'D' : typed ? 'T' : 'M');
        str_add(ret, "  ");
        name_quote(ret, "", a ? a->path : b->path);
        str_addc(ret, '\n');
    }
    return 0;
}
