/*
 * store_impl.h - the inside of a store handle (private to this room's store, txn, migrate, upkeep).
 *
 * Owns: struct store and struct txn. Invariants: txn.open is true exactly while the writer's lock
 * is held by txn_begin and writer.txn points to it; while there are passengers, SQLite's
 * transaction is open and some thread is in txn_begin() or within its transaction.
 */
#ifndef JOURNAL_STORE_IMPL_H
#define JOURNAL_STORE_IMPL_H

#include <stdatomic.h>

#include "journal/db.h"
#include "journal/turnstile.h"

/* Limits and defaults, with their reasons. */
#define STORE_APPLICATION_ID 0x64757261 /* "dura" */
#define STORE_CHECKPOINT_FRAMES                                                                    \
    1000 /* more makes the WAL grow by appending, which syncs slower                               \
          */
#define STORE_BUSY_TIMEOUT_MS 10000
#define STORE_WAL_CAP_BYTES ((int64_t)64 << 20)
#define STORE_RESERVE_BYTES ((int64_t)16 << 20)
#define STORE_MIN_FREE_BYTES ((int64_t)64 << 20)

struct txn {
    struct store *store;
    bool open;
    bool is_joined;   /* it goes on in a transaction that holds what others wrote: see txn.c */
    struct err first; /* kind ERR_NONE: no error yet */
    int marks;        /* depth of txn_mark */
    int failed_at;    /* that depth when `first` came */
};

struct store {
    char *path;
    char *wal_path;
    char *reserve_path;
    bool read_only;
    int64_t wal_cap_bytes;
    int64_t reserve_bytes;  /* 0: none */
    int64_t min_free_bytes; /* 0: no limit */
    int64_t max_db_bytes;   /* 0: no budget */
    struct db writer;
    struct db reader;
    struct txn txn;
    struct turnstile *turnstile;  /* of this process's writers; NULL when read_only */
    bool has_turn;                /* there: to be given on when SQLite's transaction ends */
    atomic_int waiting;           /* threads in txn_begin() that wait for this handle */
    struct passenger *passengers; /* have handed their commit over: see txn.c */
    int passenger_count;
    pthread_mutex_t ride_lock; /* of a passenger's outcome */
    pthread_cond_t arrived;
    int wal_frames;        /* after this handle's last commit */
    int next_checkpoint;   /* frames at which to checkpoint next */
    bool wal_is_oversized; /* grew beyond the cap: cut it at the next chance */
};

/* migrate.c: identify, verify and upgrade the file behind store->writer (read_only: reader). */
int migrate_store(struct store *store, const struct store_options *options, struct err *err);
/* A copy of what the connection sees, by SQLite's backup. */
int migrate_copy_db(struct db *from, const char *to, struct err *err);
/* Refuses what is not ours; *ret_fresh: nothing in it yet. Reads only. */
int migrate_identify(struct db *db, const char *path, bool *ret_fresh, struct err *err);

/* upkeep.c: after a commit. Never fails: the commit is durable already. */
void upkeep_after_commit(struct store *store);
int upkeep_on_wal(void *store, sqlite3 *raw, const char *schema, int frames);

#endif
