/*
 * tree.h - raw trees: out of git into a sandbox as tar, out of a sandbox as tar into git.
 *
 * Owns: struct tree_store, a private bare repository in a run's scratch directory, which holds the
 * baseline's objects (copied, so that the source may vanish) and every tree that came back. Trees
 * are compared and rebuilt byte for byte: no filters, attributes, line-ending conversion, index or
 * configuration exist here.
 *
 *   source ─tree_store_add─> store ─tree_export─> tar ─> sandbox ─> tar ─tree_import─> store ─>
 * patch.h
 *
 * Format written: GNU tar, entries in path order, directories before their content, owner 0:0, one
 * fixed time, modes 0644 / 0755 / 0777 (symlinks); a submodule entry becomes an empty directory.
 *
 * The tar that comes back is hostile. What of it belongs to the tree is decided by the rules at
 * tree_import and docs/decisions/0003-what-belongs-to-the-patch.md. Nothing of it is ever written
 * as a file on the host.
 *
 * Thread rule: a store belongs to one thread at a time; several handles may be open on one
 * directory (objects are only ever added).
 */
#ifndef REPO_TREE_H
#define REPO_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "repo/source.h"

struct tree_store; /* opaque */

/* Open the store at dir, creating it (0700) when absent. Crash-safe: a store that was being created
 * is created anew. */
int tree_store_open(const char *dir, struct tree_store **ret, struct err *err);
struct tree_store *tree_store_free(struct tree_store *store); /* NULL fine; returns NULL */
static inline void tree_store_cleanup_(struct tree_store **store)
{
    *store = tree_store_free(*store);
}
#define autostore cleanup_with(tree_store_cleanup_)

/* Copy commit and its whole tree (not its history) from source; a second call is cheap. Refuses a
 * tree that git itself would not check out (name "BaselineRefused"). */
int tree_store_add(struct tree_store *store, struct source *source, const char *commit,
                   struct err *err);
bool tree_store_has(struct tree_store *store, const char *object); /* a full id */

/* --- out --- */
/* write is called with pieces of the tar stream; it returns 0, or -1 with *err filled to stop. */
int tree_export(struct tree_store *store, const char *tree, int64_t mtime_s,
                int (*write)(void *user, const void *bytes, size_t len, struct err *err),
                void *user, struct err *err);
int tree_export_fd(struct tree_store *store, const char *tree, int64_t mtime_s, int fd,
                   struct err *err);

/* --- in --- */
struct tree_limits {         /* 0: the default */
    uint64_t max_entries;    /* 1,000,000: everything in the stream, also what is left out */
    uint64_t max_bytes;      /* 16 GiB: content in the stream, also what is left out */
    uint64_t max_file_bytes; /* 1 GiB: one file that belongs to the tree */
    uint64_t max_tree_bytes; /* 4 GiB: all files that belong to the tree */
};
struct tree_import_options {
    const char *baseline;      /* tree id: decides what is ignored; NULL: nothing is */
    const char *const *ignore; /* further patterns in .gitignore syntax, from the operator */
    size_t ignore_count;
    struct tree_limits limits;
};
struct tree_import_result {
    char tree[OBJECT_HEX_BYTES];
    uint64_t files; /* in the tree: files, symlinks and submodule entries */
    uint64_t bytes; /* of its files */
    /* Left out, and why (entries): */
    uint64_t
        ignored; /* by the baseline's .gitignore files or options->ignore, not in the baseline */
    uint64_t git_dirs; /* below a component named .git, in any case of letters */
    uint64_t specials; /* devices, fifos, sockets */
    uint64_t
        unportable; /* names that git refuses to check out (git~1, ".git ", link .gitmodules) */
    uint64_t submodules; /* content below a submodule entry; the entry itself stays as it was */
    struct str notes;    /* first 40 of the last four kinds, one line each: "special dev/null" */
};
void tree_import_result_free(struct tree_import_result *result);
#define autoimport cleanup_with(tree_import_result_free)

/* Read one tar stream (GNU, pax or ustar; not compressed) of a checkout's content; names are
 * relative, with or without "./" in front. Rules:
 * - files, symlinks and hard links (resolved) belong to the tree; the executable bit of the owner
 * is kept, nothing else of the mode; empty directories do not exist in git;
 * - left out and counted: see tree_import_result. A path that exists in the baseline is never
 * ignored;
 * - refused as a whole (permanent, "TreeRefused"): absolute names, "..", empty components, names of
 *   more than 4095 bytes or components of more than 255, one name twice, a file that is also a
 *   directory, hard links to nothing, damaged or truncated streams ("TreeDamaged"; a stream without
 * its end mark is truncated), a limit crossed ("TreeTooLarge"). Hard links to left-out files need a
 * second pass: fd must then be a regular file (it is rewound to where it stood). fd is read to its
 * end. */
int tree_import_fd(struct tree_store *store, int fd, const struct tree_import_options *options,
                   struct tree_import_result *ret, struct err *err);
/* The same from memory. */
int tree_import_mem(struct tree_store *store, const void *tar, size_t len,
                    const struct tree_import_options *options, struct tree_import_result *ret,
                    struct err *err);

/* --- looking --- */
/* One file's content. Outcome 1: no such path, or not a regular file. */
int tree_read(struct tree_store *store, const char *tree, const char *path, size_t max_bytes,
              struct str *ret, struct err *err);
struct tree_file_hash {
    const char *name; /* static storage */
    char sha256[65];
};
#define TREE_LOCKFILES_MAX 10
/* SHA-256 of the dependency lock files at the root (go.sum, package-lock.json, pnpm-lock.yaml,
 * yarn.lock, requirements.txt, poetry.lock, Pipfile.lock, Cargo.lock, Gemfile.lock, composer.lock),
 * in name order. *ret_count <= TREE_LOCKFILES_MAX. */
int tree_lockfiles(struct tree_store *store, const char *tree,
                   struct tree_file_hash ret[TREE_LOCKFILES_MAX], size_t *ret_count,
                   struct err *err);
/* What `git status --porcelain` would say with everything staged: "M  path" lines (A, M, D, T),
 * paths quoted as git does. Empty when the trees are equal. */
int tree_status(struct tree_store *store, const char *from, const char *to, struct str *ret,
                struct err *err);

#endif
