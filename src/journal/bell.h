/*
 * bell.h - the doorbell: waking other processes after a commit.
 *
 * Owns: the file DBPATH.bell and inotify watches on it. Two sounds, so that an engine is not woken
 * by its own news: WORK (a byte is written: IN_MODIFY) is for the engine, NEWS (times are touched:
 * IN_ATTRIB) for those who follow runs. Ring AFTER the commit: the WAL changes before the commit is
 * visible, so watching the WAL wakes too early. A ring carries no data and may be lost or come
 * twice: the waiter looks at the store (store_data_version()) and also looks now and then on its
 * own. Threads: a struct bell belongs to one thread at a time; bell_ring is safe from any.
 */
#ifndef JOURNAL_BELL_H
#define JOURNAL_BELL_H

#include <stdint.h>

#include "base/err.h"

enum bell_sound {
    BELL_WORK = 1,
    BELL_NEWS = 2,
};

struct bell; /* opaque */

/* listen: sounds to hear (or'ed), 0 for a ringer only. Creates the file as needed. */
int bell_open(const char *db_path, int listen, struct bell **ret, struct err *err);
struct bell *bell_close(struct bell *bell); /* NULL fine; returns NULL */
static inline void bell_cleanup_(struct bell **bell)
{
    *bell = bell_close(*bell);
}
#define autobell cleanup_with(bell_cleanup_)

void bell_ring(struct bell *bell, enum bell_sound sound); /* best effort, never blocks */
int bell_fd(const struct bell *bell); /* readable when it has rung: for poll(); -1 for a ringer */
void bell_drain(struct bell *bell);   /* forget the rings so far: before looking at the store */
/* Waits for a ring, at most timeout_ms (< 0: for ever), or until stop_fd (-1: none) is readable.
 * 0: it rang (drained); 1: time is up or stopped. */
int bell_wait(struct bell *bell, int64_t timeout_ms, int stop_fd, struct err *err);

#endif
