/*
 * repo_lab.h - a scratch directory with a tree store and git(1) as the judge, for the repo tests.
 *
 * Owns: temporary directories, running git in a clean environment, making trees and tars from lists
 * of files. Must not be linked into the product. One thread.
 */
#ifndef TESTS_LIB_REPO_LAB_H
#define TESTS_LIB_REPO_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "repo/patch.h"
#include "repo/paths.h"
#include "repo/source.h"
#include "repo/tree.h"

struct lab {
    char *dir;
    struct tree_store *store;
    char *store_dir;
};
void lab_open(struct lab *lab);
void lab_close(struct lab *lab);
char *lab_path(struct lab *lab, const char *name); /* caller frees */
bool lab_has_git(void);

/* Run git in dir (NULL: lab->dir) with words split at spaces; returns its exit code. Output
 * (trimmed at the end) goes to out, which may be NULL. Nothing of the host's configuration is seen.
 */
int lab_git(struct lab *lab, const char *dir, struct str *out, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int lab_git_argv(struct lab *lab, const char *dir, struct str *out, const char *const *argv);
/* The same, and it must succeed. */
void lab_must(struct lab *lab, const char *dir, struct str *out, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void lab_write(const char *dir, const char *name, const void *bytes, size_t len); /* mkdir -p too */

/* One file of a made tree. mode 0: a tar-only special, see lab_tar. */
struct lab_file {
    const char *path;
    unsigned mode; /* git's */
    const char *bytes;
    size_t len;
};
#define LAB_TEXT(p, text)                                                                          \
    {                                                                                              \
        (p), 0100644, (text), sizeof(text) - 1                                                     \
    }
#define LAB_EXEC(p, text)                                                                          \
    {                                                                                              \
        (p), 0100755, (text), sizeof(text) - 1                                                     \
    }
#define LAB_LINK(p, text)                                                                          \
    {                                                                                              \
        (p), 0120000, (text), sizeof(text) - 1                                                     \
    }

/* Write a tree into the store, straight (no tar). */
void lab_tree(struct lab *lab, const struct lab_file *files, size_t count,
              char ret[OBJECT_HEX_BYTES]);

/* A tar stream under construction: raw ustar headers, so that hostile ones can be made. */
void lab_tar_add(struct str *tar, const char *path, char type, unsigned mode, const char *link,
                 const void *bytes, size_t len);
void lab_tar_end(struct str *tar);
void lab_tar_files(struct str *tar, const struct lab_file *files, size_t count);

/* git's verdict: apply text to tree with git apply and return git write-tree's id. With worktree
 * the patch is applied with --index on a checkout, else with --cached. */
bool lab_git_apply(struct lab *lab, const char *tree, const struct str *text, bool worktree,
                   struct str *ret);

struct lab_rng {
    uint64_t state;
};
uint32_t lab_rand(struct lab_rng *rng, uint32_t below);
uint64_t lab_seed(void); /* FACTORY_TEST_SEED, else a fixed one */

#endif
