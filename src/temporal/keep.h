/*
 * keep.h - which runs a worker keeps in memory, and how they leave it.
 *
 * Owns: letting go of a run: its held task, its local activities, its fibers; eviction of those
 * that were not used for the longest time. An evicted run's sticky queue is reset, so that its next
 * task comes whole.
 * Must not: decide that a run is wrong (drive.c does).
 * Threads: the loop's.
 */
#ifndef TEMPORAL_KEEP_H
#define TEMPORAL_KEEP_H

#include <stddef.h>

struct cached;
struct remote_serving;

/* Its held task, if there is one, is left to time out. */
void keep_release(struct remote_serving *serving, struct cached *cached);
/* The run leaves, open: its local activities go on, in case that it comes back. */
void keep_drop(struct remote_serving *serving, struct cached *cached);
/* Evicts until so many are left, or all others have tasks held. */
void keep_at_most(struct remote_serving *serving, size_t limit);
size_t keep_limit(const struct remote_serving *serving); /* max_cached_runs; 0: none is kept */

#endif
