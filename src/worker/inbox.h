/*
 * inbox.h - what activity threads hand to the loop.
 *
 * Owns: a list of attempts that finished or beat, and the eventfd that wakes the loop. Any thread
 * puts, only the loop takes. Invariant: an attempt is on the list at most once per kind (its own
 * flags say so), so putting never allocates and never fails.
 */
#ifndef WORKER_INBOX_H
#define WORKER_INBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"

struct arena;
struct clock_vtable;
struct dur_activity;

struct inbox {
    pthread_mutex_t mutex;
    struct dur_activity *done_first, *done_last;
    struct dur_activity *beat_first, *beat_last;
    bool ready;              /* inbox_init succeeded */
    int wake_fd;             /* eventfd; readable when the loop should look */
    atomic_bool holds;       /* something is in the lists: a hint that may be read unlocked */
    atomic_int done_count;   /* attempts in done_first, a hint too */
    atomic_bool loop_sleeps; /* set by the loop around its poll: who puts then writes wake_fd */
};

int inbox_init(struct inbox *inbox, struct err *err);
void inbox_free(struct inbox *inbox); /* fine on a zeroed one */
/* A new attempt (attempt_new) that hands itself to this inbox. */
struct dur_activity *inbox_attempt(struct arena *arena, struct inbox *inbox,
                                   const struct clock_vtable *clock);
void inbox_put_done(struct inbox *inbox, struct dur_activity *attempt);
void inbox_put_beat(struct inbox *inbox, struct dur_activity *attempt);
/* Everything so far, oldest first. Either may come back NULL. Done attempts are linked by next_done
 * and belong to the loop; beats still count as queued (their attempts go on and may beat again) and
 * are walked with inbox_next_beat() only. */
void inbox_take(struct inbox *inbox, struct dur_activity **ret_done,
                struct dur_activity **ret_beat);
/* The first of *beats, unlinked, or NULL: from now on its attempt may queue itself again. */
struct dur_activity *inbox_next_beat(struct inbox *inbox, struct dur_activity **beats);
bool inbox_is_empty(struct inbox *inbox);
bool inbox_looks_empty(struct inbox *inbox); /* without the lock; may be a moment late */
int inbox_done_count(struct inbox *inbox);   /* the same */

/* For loops that wait awake for another thread. */
static inline void spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
void inbox_wake(struct inbox *inbox); /* async-signal-safe */
/* Called by the loop: announce the sleep (returns false when there is something to take instead).
 */
bool inbox_begin_sleep(struct inbox *inbox);
void inbox_end_sleep(struct inbox *inbox); /* drains wake_fd */

#endif
