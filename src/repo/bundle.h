/*
 * bundle.h - a git bundle of exactly one commit and its history.
 *
 * Owns: the version 2 bundle format:
 *     # v2 git bundle
 *     <commit> HEAD
 *     <commit> refs/heads/factory-baseline
 *     (empty line)
 *     pack
 * so that `git clone FILE` gives a working checkout without network or credentials. Deterministic:
 * equal commits give equal bytes. From a source whose history is incomplete (shallow or partial)
 * the bundle holds one parentless commit of the same tree, author, time and message instead. Thread
 * rule: as the source's.
 */
#ifndef REPO_BUNDLE_H
#define REPO_BUNDLE_H

#include <stdint.h>

#include "base/err.h"
#include "repo/source.h"

struct bundle_result {
    char commit[OBJECT_HEX_BYTES]; /* what HEAD is inside: the commit asked for, or its snapshot */
    bool snapshot;                 /* history was incomplete: commit is a parentless stand-in */
    uint64_t bytes;
    uint64_t objects;
};

/* Write to fd (still the caller's; not fsynced). ret may be NULL. */
int bundle_write_fd(struct source *source, const char *commit, int fd, struct bundle_result *ret,
                    struct err *err);
/* Write to a new file (0600, fsynced; replaced when it exists). */
int bundle_write_file(struct source *source, const char *commit, const char *path,
                      struct bundle_result *ret, struct err *err);

#endif
