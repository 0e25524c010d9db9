/*
 * mirror.h - the local copy of a remote repository.
 *
 * Owns: one bare repository per URL below the mirror directory, its lock, and the fetch into it.
 *     MIRRORS/<32 hex of SHA-256(url)>.git    refs/heads/ and refs/tags/ exactly as the remote's
 *     MIRRORS/<32 hex>.lock                   flock(2)ed while somebody fetches
 * Crash-safe: creation is a rename, packs and refs are renamed into place by libgit2, lock files
 * that a dead fetch left behind are swept by the next one. Readers need no lock: objects are only
 * added. Thread rule: as the source's; the fetch itself runs on a thread of its own, see mirror.c.
 */
#ifndef REPO_MIRROR_H
#define REPO_MIRROR_H

#include "base/err.h"
#include "repo/source.h"

struct mirror; /* opaque */

int mirror_open(const char *url, const struct source_remote *remote, struct mirror **ret,
                struct err *err);
struct mirror *mirror_free(struct mirror *mirror);   /* NULL fine; returns NULL */
const char *mirror_dir(const struct mirror *mirror); /* borrowed */

/* Make heads and tags as the remote's are now. With wanted (a full id), also fetch that object when
 * the remote gives it (outcome 1: it does not). Errors: see source_resolve. */
int mirror_fetch(struct mirror *mirror, const char *wanted, struct err *err);

#endif
