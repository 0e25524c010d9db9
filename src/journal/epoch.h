/*
 * epoch.h - table engine: which engine serves the store, and how many did before.
 *
 * Owns: the single row (epoch, pid, host, started). The epoch grows by one with every engine that
 * took the ownership lock: an activity whose attempt carries an older epoch was left by a dead
 * engine. Whether an engine lives is the lock's word (lock.h), never this row's.
 */
#ifndef JOURNAL_EPOCH_H
#define JOURNAL_EPOCH_H

#include "journal/store.h"

struct epoch_row {
    int64_t epoch; /* 0: no engine ever served this store */
    int64_t pid;
    const char *host;
    int64_t started_ns;
};

/* Call once, right after the ownership lock was taken. Returns the new epoch, 0 on failure. */
int64_t epoch_bump(struct txn *txn, int64_t pid, const char *host, int64_t started_ns);
int epoch_get(struct db *db, struct arena *arena, struct epoch_row *ret, struct err *err);

#endif
