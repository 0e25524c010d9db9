/*
 * turnstile.h - the writers of one store in one process take turns, first come, first served.
 *
 * Owns: a queue per database file and process. SQLite lets one connection write at a time, and who
 * finds it locked can only sleep and ask again: two busy writers (an engine and a client's handle
 * beside it) then spend most of their time asleep while nobody writes. Here the next in line is
 * woken by whoever leaves. Writers of other processes still meet in SQLite's lock (db.c).
 * Must not: know SQLite, or hold anybody up for longer than its time-out.
 * Threads: any. Fork: a child begins with no turnstiles; those of its parent's handles it must not
 * touch (durable.h forbids to use them).
 */
#ifndef JOURNAL_TURNSTILE_H
#define JOURNAL_TURNSTILE_H

#include <stdbool.h>
#include <stdint.h>

struct turnstile;

/* The one of this file (absolute path); every get needs its put. */
struct turnstile *turnstile_get(const char *path);
struct turnstile *turnstile_put(struct turnstile *turnstile); /* NULL fine; returns NULL */

/* Waits for the turn, at most so long (real time). false: it did not come. */
bool turnstile_enter(struct turnstile *turnstile, int64_t timeout_ms);
void turnstile_leave(struct turnstile *turnstile); /* after a true enter, by any thread */

#endif
