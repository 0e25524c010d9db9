/*
 * paths.h - protected paths: did the tree touch them, and the tree with them put back.
 *
 * Owns: the pattern language and raw comparison (object ids and modes) of two trees of one store.
 * Pattern: a path relative to the root. `*` and `?` match within one component, `[...]` a set, `**`
 * as a whole component matches any number of components; a pattern that matches a directory
 * protects everything below it; without any "/" it matches at every depth. `\` quotes. A leading
 * "/" ties a pattern to the root. Thread rule: as the store's.
 */
#ifndef REPO_PATHS_H
#define REPO_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "repo/tree.h"

/* <0 ("PatternBad"): empty, absolute beyond the leading "/", "." or ".." components, broken set. */
int paths_pattern_check(const char *pattern, struct err *err);
bool paths_match(const char *const *patterns, size_t count, const char *path);

enum paths_kind { PATHS_MISSING, PATHS_ADDED, PATHS_MODIFIED };
const char *paths_kind_name(enum paths_kind kind); /* "missing", "added", "modified" */

struct paths_change {
    enum paths_kind kind;
    uint32_t old_mode, new_mode;                             /* 0 when absent */
    char old_id[OBJECT_HEX_BYTES], new_id[OBJECT_HEX_BYTES]; /* "" when absent */
    char *path;
};
struct paths_report {
    uint64_t checked;             /* paths of either tree that a pattern matches */
    struct paths_change *changes; /* in path order */
    size_t count;
};
void paths_report_free(struct paths_report *report);
#define autoreport cleanup_with(paths_report_free)

int paths_compare(struct tree_store *store, const char *from_tree, const char *to_tree,
                  const char *const *patterns, size_t count, struct paths_report *ret,
                  struct err *err);

/* to_tree with every protected path as it is in from_tree: changed ones restored, missing ones put
 * back, added ones taken away; whatever stands in a restored path's way goes. */
int paths_overlay(struct tree_store *store, const char *from_tree, const char *to_tree,
                  const char *const *patterns, size_t count, char ret_tree[OBJECT_HEX_BYTES],
                  struct err *err);

#endif
