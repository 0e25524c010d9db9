/*
 * list.h - a whole tree as one flat, sorted list of paths.
 *
 * Owns: reading git's tree objects into the list and writing them from it; all comparing and
 * rebuilding in this room works on lists. Invariant after list_load and list_seal: paths strictly
 * ascend bytewise, none is a directory of another, every path is well-formed (name.h).
 * Modes are canonical (name.h's MODE_...); an entry also keeps the raw mode that an old tree may
 * have, so that an unchanged tree keeps its id. Thread rule: one thread at a time.
 */
#ifndef REPO_LIST_H
#define REPO_LIST_H

#include "base/arena.h"
#include "repo/git.h"
#include "repo/name.h"

#define LIST_MAX_ENTRIES 4000000 /* of a baseline; a kernel tree has 80,000 */

struct list_entry {
    const char *path;
    uint32_t mode;
    uint32_t raw_mode; /* 0: write the canonical one */
    git_oid id;
};
struct list {
    struct arena *arena; /* paths */
    struct list_entry *entries;
    size_t count;
    size_t cap;
};
void list_init(struct list *list);
void list_free(struct list *list);
#define autolist cleanup_with(list_free)

/* Refuses, "BaselineRefused", what git would not check out. */
int list_load(git_odb *odb, const git_oid *tree, struct list *ret, struct err *err);
int list_load_hex(struct tree_store *store, const char *tree, struct list *ret, struct err *err);

/* Append; path is copied. Order does not matter until list_seal. */
void list_add(struct list *list, const char *path, uint32_t mode, uint32_t raw_mode,
              const git_oid *id);
/* Sort and check. <0 "TreeRefused": one path twice, or a file that is also a directory. */
int list_seal(struct list *list, struct err *err);

struct list_entry *list_find(const struct list *list, const char *path); /* NULL when absent */
size_t list_lower(const struct list *list, const char *path);            /* first entry >= path */
/* Some entry lies below path (path is a directory). */
bool list_has_below(const struct list *list, const char *path);

/* Write all trees; does not flush. */
int list_write(const struct list *list, struct tree_store *store, git_oid *ret, struct err *err);

/* Walk two lists side by side. Sets *a and *b to the entries of the next path that either has (the
 * absent one to NULL); false at the end. Zero the struct (with a and b set) to start. */
struct list_pair {
    const struct list *from;
    const struct list *to;
    size_t at_from;
    size_t at_to;
};
bool list_next(struct list_pair *pair, const struct list_entry **a, const struct list_entry **b);
bool list_same(const struct list_entry *a, const struct list_entry *b); /* either may be NULL */

#endif
