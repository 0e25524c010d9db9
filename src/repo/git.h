/*
 * git.h - this room's inside: libgit2 started once, its errors and handles made ours.
 *
 * Owns: library start-up, error translation, cleanup tags, struct tree_store's layout. Must not be
 * included outside src/repo/. Thread rule: git_start() from any thread; handles as their owners
 * say.
 */
#ifndef REPO_GIT_H
#define REPO_GIT_H

#include <git2.h>
#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>

#include "base/err.h"
#include "base/str.h"
#include "repo/source.h"

/* Largest object that is read into memory at all. */
#define GIT_OBJECT_MAX_BYTES (2ULL * 1024 * 1024 * 1024 - 1)

void git_start(void);

/* Asked at once after a call that failed: for want of memory, descriptors or the like, which says
 * nothing about the repository? */
bool git_failed_of_host(void);
/* Fill err from libgit2's last error: "<fmt...>: <message>". Transient, whatever `kind` says, when
 * it failed so. Returns -1. */
int git_fail(struct err *err, enum err_kind kind, const char *name, const char *fmt, ...)
    printf_like(4, 5);

void git_hex(char out[OBJECT_HEX_BYTES], const git_oid *id);
/* Exactly 40 hex digits; else <0 "ObjectIdBad". */
int git_id(const char *hex, git_oid *ret, struct err *err);

/* The configuration of nobody: what host, user and repository say must not matter. */
int git_use_no_config(git_repository *repo, struct err *err);

#define GIT_CLEANUP(type)                                                                          \
    static inline void type##_cleanup_(type **p)                                                   \
    {                                                                                              \
        type##_free(*p);                                                                           \
    }
GIT_CLEANUP(git_repository)
GIT_CLEANUP(git_object)
GIT_CLEANUP(git_odb)
GIT_CLEANUP(git_odb_object)
GIT_CLEANUP(git_config)
GIT_CLEANUP(git_reference)
GIT_CLEANUP(git_packbuilder)
GIT_CLEANUP(git_revwalk)
GIT_CLEANUP(git_commit)
GIT_CLEANUP(git_remote)
GIT_CLEANUP(git_reference_iterator)
#define autogit(type) cleanup_with(type##_cleanup_)
static inline void git_buf_cleanup_(git_buf *buf)
{
    git_buf_dispose(buf);
}
#define autogitbuf cleanup_with(git_buf_cleanup_)

struct source {
    git_repository *repo;
    git_odb *odb;
    git_odb_backend *memory; /* objects of ours that must not be written to the source */
    char *name;              /* URL or path, for people */
    bool remote;
    bool shallow;
    bool partial;
    struct mirror *mirror; /* remote only */
};

struct tree_store {
    char *dir;
    git_repository *repo;
    git_odb *odb;
    git_odb_backend *memory; /* new objects gather here until store_flush() makes a pack of them */
    git_oid *pending; /* what is in memory */
    size_t pending_count;
    size_t pending_cap;
    size_t pending_bytes;
};

/* --- store.c --- */
/* Write one object (memory first; packs itself when much has gathered). */
int store_write(struct tree_store *store, const void *bytes, size_t len, git_object_t type,
                git_oid *ret, struct err *err);
int store_flush(struct tree_store *store, struct err *err); /* durable when it returns 0 */
/* Read a blob or tree; the caller frees with git_odb_object_free. */
int store_read(struct tree_store *store, const git_oid *id, git_object_t type, git_odb_object **ret,
               struct err *err);

#endif
