/*
 * lock.h - the ownership lock: which process serves a store.
 *
 * Owns: the file DBPATH.lock and the open-file-description lock on it. The kernel drops the lock
 * when the process dies, so there are no leases and no clocks. The file's text (pid, start ticks)
 * only names the holder for people and dur_served_by; it decides nothing. The file stays for ever
 * (unlinking it would let two processes lock two different files).
 * Threads: a struct lock belongs to one thread at a time.
 */
#ifndef JOURNAL_LOCK_H
#define JOURNAL_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct lock; /* opaque */

/* Opens (creates) DBPATH.lock; holds nothing yet. */
int lock_open(const char *db_path, struct lock **ret, struct err *err);
struct lock *lock_close(struct lock *lock); /* releases; NULL fine; returns NULL */
static inline void lock_cleanup_(struct lock **lock)
{
    *lock = lock_close(*lock);
}
#define autolock cleanup_with(lock_cleanup_)

/* 0: held now. 1: another holder has it. */
int lock_try(struct lock *lock, struct err *err);
/* Sleeps as standby until the lock is ours (0) or stop_fd is readable (1); -1: none. A lock that
 * gets free by its holder's release or death is taken within milliseconds. */
int lock_wait(struct lock *lock, int stop_fd, struct err *err);
void lock_release(struct lock *lock); /* keeps the struct for another try */
bool lock_held(const struct lock *lock);

struct lock_holder {
    int64_t pid;   /* 0 when unknown (it has just taken the lock) */
    bool is_alive; /* pid exists and started when the file says */
};
/* Does some process hold the lock? 1: nobody (also when there is no lock file). Never creates it.
 */
int lock_query(const char *db_path, struct lock_holder *ret, struct err *err);

#endif
