/*
 * paths.c - protected paths: compared raw, and put back.
 *
 * Owns and must not: see paths.h. Thread rule: tree.h. Tests: tests/unit/test_repo_paths.c
 */
#include "repo/paths.h"

#include <string.h>

#include "base/mem.h"
#include "repo/glob.h"
#include "repo/list.h"

int paths_pattern_check(const char *pattern, struct err *err)
{
    const char *body = pattern[0] == '/' ? pattern + 1 : pattern;
    size_t len = strlen(body);
    if (len && body[len - 1] == '/') {
        len--;
    }
    autofree char *plain = mem_strndup(body, len);
    const char *fault = len == 0 ? "is empty" : name_fault(plain);
    if (!fault) {
        fault = glob_fault(plain);
    }
    return fault
               ? err_set(err, ERR_PERMANENT, "PatternBad", "pattern \"%.200s\" %s", pattern, fault)
               : 0;
}

static bool match_one(const char *pattern, const char *path, size_t len, bool whole)
{
    size_t pattern_len = strlen(pattern);
    bool any_depth = strchr(pattern, '/') == NULL;
    if (pattern_len && pattern[pattern_len - 1] == '/') {
        pattern_len--;
        any_depth = memchr(pattern, '/', pattern_len) == NULL;
        if (whole) {
            return false; /* only directories are meant, and path is none */
        }
    }
    if (any_depth) {
        size_t start = len;
        while (start > 0 && path[start - 1] != '/') {
            start--;
        }
        return glob_part(pattern, pattern_len, path + start, len - start);
    }
    size_t skip = pattern[0] == '/';
    return glob_path(pattern + skip, pattern_len - skip, path, len);
}

bool paths_match(const char *const *patterns, size_t count, const char *path)
{
    for (size_t i = 1;; i++) {
        if (path[i - 1] == '\0') {
            return false;
        }
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        for (size_t n = 0; n < count; n++) {
            if (match_one(patterns[n], path, i, path[i] == '\0')) {
                return true;
            }
        }
    }
}

const char *paths_kind_name(enum paths_kind kind)
{
    switch (kind) {
    case PATHS_MISSING:
        return "missing";
    case PATHS_ADDED:
        return "added";
    case PATHS_MODIFIED:
        break;
    }
    return "modified";
}

void paths_report_free(struct paths_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->changes[i].path);
    }
    free(report->changes);
    *report = (struct paths_report){0};
}

static int load_both(struct tree_store *store, const char *from_tree, const char *to_tree,
                     const char *const *patterns, size_t count, struct list *from, struct list *to,
                     struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = paths_pattern_check(patterns[i], err);
    }
    if (rc == 0) {
        rc = list_load_hex(store, from_tree, from, err);
    }
    if (rc == 0) {
        rc = list_load_hex(store, to_tree, to, err);
    }
    return rc;
}

static struct paths_change change_of(const struct list_entry *a, const struct list_entry *b)
{
    struct paths_change change = {
        .kind = !b   ? PATHS_MISSING
                : !a ? PATHS_ADDED
                     : PATHS_MODIFIED,
        .old_mode = a ? a->mode : 0,
        .new_mode = b ? b->mode : 0,
        .path = mem_strdup(a ? a->path : b->path),
    };
    if (a) {
        git_hex(change.old_id, &a->id);
    }
    if (b) {
        git_hex(change.new_id, &b->id);
    }
    return change;
}

int paths_compare(struct tree_store *store, const char *from_tree, const char *to_tree,
                  const char *const *patterns, size_t count, struct paths_report *ret,
                  struct err *err)
{
    autolist struct list from = {0};
    autolist struct list to = {0};
    int rc = load_both(store, from_tree, to_tree, patterns, count, &from, &to, err);
    if (rc < 0) {
        return rc;
    }
    struct paths_report report = {0};
    size_t cap = 0;
    struct list_pair pair = {.from = &from, .to = &to};
    const struct list_entry *a;
    const struct list_entry *b;
    while (list_next(&pair, &a, &b)) {
        if (!paths_match(patterns, count, a ? a->path : b->path)) {
            continue;
        }
        report.checked++;
        if (!list_same(a, b)) {
            mem_reserve(report.changes, &cap, report.count + 1);
            report.changes[report.count++] = change_of(a, b);
        }
    }
    *ret = report;
    return 0;
}

/* A directory above path is a protected file that is being put back. */
static bool in_the_way(const struct list *kept, const char *path)
{
    autofree char *part = mem_strdup(path);
    for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (list_find(kept, part)) {
            return true;
        }
        *slash = '/';
    }
    return list_has_below(kept, path);
}

int paths_overlay(struct tree_store *store, const char *from_tree, const char *to_tree,
                  const char *const *patterns, size_t count, char ret_tree[OBJECT_HEX_BYTES],
                  struct err *err)
{
    autolist struct list from = {0};
    autolist struct list to = {0};
    autolist struct list kept = {0};
    autolist struct list result = {0};
    git_oid id;
    int rc = load_both(store, from_tree, to_tree, patterns, count, &from, &to, err);
    if (rc < 0) {
        return rc;
    }
    list_init(&kept);
    list_init(&result);
    for (size_t i = 0; i < from.count; i++) {
        const struct list_entry *e = &from.entries[i];
        if (paths_match(patterns, count, e->path)) {
            list_add(&kept, e->path, e->mode, e->raw_mode, &e->id);
            list_add(&result, e->path, e->mode, e->raw_mode, &e->id);
        }
    }
    for (size_t i = 0; i < to.count; i++) {
        const struct list_entry *e = &to.entries[i];
        if (!paths_match(patterns, count, e->path) && !in_the_way(&kept, e->path)) {
            list_add(&result, e->path, e->mode, e->raw_mode, &e->id);
        }
    }
    rc = list_seal(&result, err);
    if (rc == 0) {
        rc = list_write(&result, store, &id, err);
    }
    if (rc == 0) {
        rc = store_flush(store, err);
    }
    if (rc == 0) {
        git_hex(ret_tree, &id);
    }
    return rc;
}
