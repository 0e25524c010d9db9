/*
 * store.h - the durable ledger: one SQLite file, opened, checked, migrated and kept within bounds.
 *
 * Owns: the file and its companions (path-wal, path-shm, path.reserve), the two connections of a
 * handle, write transactions. The tables have a file each: execution.h, event.h, activity.h,
 * timer.h, task.h, blob.h, epoch.h. Must not: know what an event means (types are integers,
 * attributes are text), ring bells or take the ownership lock by itself (bell.h, lock.h).
 *
 * Handles and threads. A store has one writing and one reading connection, each behind a
 * recursive lock.
 *   - Writing: txn_begin() takes the writing connection until txn_commit() or txn_rollback() by the
 *     same thread; another thread's txn_begin() on this handle waits meanwhile.
 *   - Reading: every read function takes a `struct db *`: store_db(store) sees what is committed
 * and may be used from any thread; txn_db(txn) sees the transaction's own writes and belongs to its
 *     thread. All text of a row is copied into the caller's arena.
 *   - Processes: each opens its own handle. After fork() the child must not touch the parent's.
 *
 * The main file, -wal and -shm are never opened except through SQLite (a plain close() of any
 * descriptor on them would drop this process's locks).
 *
 * Error names (err.name) beyond those that single functions document:
 *   StoreBusy (transient)     somebody wrote for longer than the busy timeout
 *   DiskFull (transient)      no room, even after giving up the reserve: nothing was committed
 *   OutOfMemory (transient)   SQLite was refused memory; the reserve was given up for the next try
 *   StoreIo (transient; ambiguous from txn_commit: the commit may come back after a crash)
 *   StoreReadOnly, StoreConstraint, StoreCorrupt, StoreError (permanent)
 */
#ifndef JOURNAL_STORE_H
#define JOURNAL_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sealer.h"

struct store; /* opaque */
#define STORE_PAGE_SIZE 4096 /* one WAL frame per changed page: larger pages sync more */

struct db;    /* a view to read through: store_db() or txn_db() */
struct txn;   /* a write transaction */

/* One step of a schema, forward only; a released step never changes (SHA-256 is verified). */
struct store_migration {
    const char *name; /* "0001_init"; ascending */
    const char *sql;
};

struct store_options {
    bool read_only;                       /* looks only: never creates, migrates or writes */
    bool no_create;                       /* a missing file is an error (name "StoreNotFound") */
    bool no_migrate;                      /* an older file is an error (name "OlderFile") */
    int64_t busy_timeout_ms;              /* 0: 10000 */
    int64_t wal_cap_bytes;                /* 0: 64 MiB */
    int64_t reserve_bytes;                /* 0: 16 MiB; -1: none */
    int64_t min_free_bytes;               /* 0: 64 MiB; -1: no limit */
    int64_t max_db_bytes;                 /* 0: no budget */
    const char *schema_name;              /* application schema in the same file, or NULL */
    const struct store_migration *schema; /* its steps, ends with a zeroed entry */
    const char *vfs;                      /* SQLite VFS to stand on; NULL: the system's */
    const struct sealer *sealer;          /* of what people wrote (sealed.h); outlives the store */
};

/* Open, creating and migrating as needed. Costs O(1), not O(file). options may be NULL. Before an
 * existing file is migrated a copy is written to path.before-N (N: steps applied until then).
 * Refusals leave the file untouched: StoreNotFound, NotADatabase (not SQLite), ForeignDatabase
 * (SQLite, but not ours), NewerFile (written by a newer version), OlderFile (read_only or
 * no_migrate, and a migration is due), MigrationChanged (an applied step's checksum differs),
 * NetworkFileSystem (NFS, CIFS, FUSE ...), SettingRefused (a pragma did not read back),
 * MigrationFailed. */
int store_open(const char *path, const struct store_options *options, struct store **ret,
               struct err *err);
struct store *store_close(struct store *store); /* NULL fine; rolls back; returns NULL */
static inline void store_cleanup_(struct store **store)
{
    *store = store_close(*store);
}
#define autostore cleanup_with(store_cleanup_)

const char *store_path(const struct store *store); /* absolute */
struct db *store_db(struct store *store);
const struct sealer *db_sealer(const struct db *db); /* of its store; NULL: nothing is sealed */

/* A value that changes whenever any connection, of any process, commits. Costs 2 us. */
int store_data_version(struct store *store, int64_t *ret, struct err *err);

struct store_facts {
    int64_t db_bytes;      /* pages x page size: the main file after a full checkpoint */
    int64_t free_db_bytes; /* of those: pages ready for reuse */
    int64_t wal_bytes;     /* size of -wal now */
    int64_t reserve_bytes; /* size of path.reserve now; 0 when given up */
    int64_t disk_free_bytes;
    int schema_version; /* engine migrations applied */
};
int store_facts(struct store *store, struct store_facts *ret, struct err *err);

/* May a new run be started? 0: yes. <0, name "StoreFull" (transient): free space or disk budget is
 * used up, or the reserve is gone and could not be made again; name "MemoryShort" (transient): this
 * process is short of memory (base/mem.h). Running runs go on. */
int store_admits_new_runs(struct store *store, struct err *err);
/* Make a given-up reserve again when there is room for it and for min_free_bytes (idle-time chore).
 */
int store_restore_reserve(struct store *store, struct err *err);
/* Give back the pages that SQLite keeps in memory without need. */
void store_release_memory(struct store *store);
/* Move the WAL into the file and cut it to nothing. 1: a reader or writer was in the way. */
int store_checkpoint(struct store *store, struct err *err);
/* Give up to max_pages free pages back to the file system (incremental vacuum). */
int store_shrink(struct store *store, int64_t max_pages, struct err *err);
/* SQLite's own full check plus foreign keys: O(file). <0, name "StoreCorrupt": what was found. */
int store_check(struct store *store, struct err *err);

/* --- write transactions --------------------------------------------------------------------- */

/* BEGIN IMMEDIATE. Never NULL: when it could not begin, the transaction is born failed. The first
 * error sticks, every write after it does nothing, and txn_commit() reports it: callers check once,
 * at the end. (A write's own return value still tells whether a row was there.) */
struct txn *txn_begin(struct store *store);
/* The same, and what it does cannot undo what other threads of this handle wrote: for statements
 * that may end SQLite's transaction. */
struct txn *txn_begin_alone(struct store *store);
/* 0: durable, perhaps by a commit that other threads of this handle share. <0: rolled back
 * (kind ambiguous: see StoreIo above). Ends the transaction. */
int txn_commit(struct txn *txn, struct err *err);
void txn_rollback(struct txn *txn); /* ends the transaction; nothing happened */
struct db *txn_db(struct txn *txn);
struct store *txn_store(struct txn *txn);

bool txn_failed(const struct txn *txn);
const struct err *txn_error(const struct txn *txn); /* the first error; kind ERR_NONE when none */
/* Make the transaction fail with this error unless it already has one. Always returns -1. */
int txn_fail(struct txn *txn, const struct err *err);

/* Savepoint for one member of a group commit. Marks nest like brackets. txn_undo_to takes back all
 * that was written since the mark, and the error with it when the error came after the mark and the
 * transaction itself survived (1: it did not, the whole transaction is lost). */
void txn_mark(struct txn *txn);
void txn_unmark(struct txn *txn); /* keep what was written since */
int txn_undo_to_mark(struct txn *txn);

/* --- snapshots ------------------------------------------------------------------------------ */

/* Several reads from one state. Keep it short: the WAL cannot be reset meanwhile. Holds the view's
 * lock. Within a transaction both do nothing. */
int snapshot_begin(struct db *db, struct err *err);
void snapshot_end(struct db *db);

#endif
