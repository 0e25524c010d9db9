/*
 * nthfail.h - system calls and allocations that fail on purpose: the Nth of a kind, or all from the
 * Nth on.
 *
 * Owns: the list of kinds, the plan and the counts, which lie in memory that processes share.
 * nthfail.c stands in for the C library's functions. Linked into a program it serves that program
 * and its forks, which call nth_plan(); as nthfail.so it is preloaded, and NTHFAIL_FILE names a
 * file with the plan (struct nth_shared), so that whole families of processes count together.
 * Thread-safe. The product knows nothing of it.
 */
#ifndef TESTS_NTHFAIL_H
#define TESTS_NTHFAIL_H

#include <stdatomic.h>
#include <stdbool.h>

/* Kind, name in tables, the error. A call may belong to several kinds: a write can meet a full
 * disk, an I/O error, a signal, or be short. */
#define NTH_KINDS(K)                                                                               \
    K(NTH_OWN_MEMORY, "own memory", ENOMEM)         /* asked for by the program itself */          \
    K(NTH_SQLITE_MEMORY, "SQLite's memory", ENOMEM) /* by libsqlite3 */                            \
    K(NTH_OTHER_MEMORY, "libraries' memory", ENOMEM)                                               \
    K(NTH_MAP, "mappings", ENOMEM)                                                                 \
    K(NTH_THREAD, "threads", EAGAIN)                                                               \
    K(NTH_PROCESS, "processes", EAGAIN) /* fork, vfork, posix_spawn */                             \
    K(NTH_OPEN, "open files", EMFILE)   /* open, openat, opendir */                                \
    K(NTH_CREATE, "new files", ENOSPC)  /* open with O_CREAT, mkdir, link, symlink */              \
    K(NTH_NAME, "names", EIO)           /* rename, unlink, rmdir */                                \
    K(NTH_READ, "reads", EIO)                                                                      \
    K(NTH_READ_SHORT, "short reads", 0)                                                            \
    K(NTH_WRITE, "writes", EIO)                                                                    \
    K(NTH_WRITE_FULL, "writes, full", ENOSPC)                                                      \
    K(NTH_WRITE_SHORT, "short writes", 0)                                                          \
    K(NTH_SYNC, "syncs", EIO)                                                                      \
    K(NTH_SIZE, "sizes", ENOSPC)             /* ftruncate, posix_fallocate */                      \
    K(NTH_DESCRIPTOR, "descriptors", EMFILE) /* pipe, eventfd, inotify, socketpair, dup ... */     \
    K(NTH_SOCKET, "sockets", EMFILE)         /* socket, accept, bind, listen */                    \
    K(NTH_CONNECT, "connections", ECONNREFUSED)                                                    \
    K(NTH_TRAFFIC, "traffic", ECONNRESET) /* send, recv */                                         \
    K(NTH_INTERRUPT, "interrupts", EINTR) /* read, write, poll, accept, send, recv, waitpid ... */

enum nth_kind {
#define NTH_ENUM(kind, name, error) kind,
    NTH_KINDS(NTH_ENUM)
#undef NTH_ENUM
        NTH_KIND_COUNT,
};

struct nth_shared {
    atomic_int kind;        /* which kind fails */
    atomic_long at;         /* the Nth call, from 1; 0: none */
    atomic_bool is_lasting; /* and all after it */
    atomic_bool is_off;     /* neither counts nor fails */
    atomic_long seen[NTH_KIND_COUNT];
    atomic_long failed; /* calls that were made to fail */
    char where[256];    /* the first of them: function, what for, which program */
};

#define NTH_FILE_VARIABLE "NTHFAIL_FILE"

const char *nth_kind_name(enum nth_kind kind);

/* Where the shim is linked in. nth_begin: once, before any fork. */
void nth_begin(const char *file); /* the plan lies in this file, for programs that are started */
void nth_look_on(void);           /* this process and its forks neither count nor fail any more */
struct nth_shared *nth_shared(void); /* NULL before nth_begin */
/* Counts begin at 0; at 0: only count. */
void nth_plan(struct nth_shared *shared, enum nth_kind kind, long at, bool is_lasting);
long nth_live_blocks(void); /* of this process: allocated and not freed */

#endif
