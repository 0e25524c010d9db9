/*
 * lock.h - the ownership lock: which process serves a store.
 *
 * Owns: the file DBPATH.lock and the open-file-description lock on it. The kernel drops the lock
 * when the process dies, so there are no leases and no clocks. The file's text (pid, start ticks)
 * only names the holder for people and dur_served_by; it decides nothing. The file stays for ever
 * (unlinking it would let two processes lock two different files).
 * Threads: a struct lock belongs to one thread at a time. A forked child holds nothing: its copies
 * are closed at the fork (they would keep the lock alive after the parent's death).
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
/* The same for who sleeps elsewhere: lock_try(), and when another holder has it, how long to sleep
 * until the next try unless lock_watch_fd() gets readable before (-1: there is none). */
int lock_stand_by(struct lock *lock, int64_t *ret_pause_ms, struct err *err);
int lock_watch_fd(const struct lock *lock);
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
