/*
 * pace.h - time that skips: the clock of an engine that is driven by a test.
 *
 * Owns: what time it is for one engine, by all its clocks (the wall clock may be set against the
 * others, and the machine may sleep), and the attempts that sleep by that time. It stands still
 * while anything runs and moves, from deadline to deadline, when nothing does:
 *
 *     attempts that are out = active (their callback runs) + asleep (pace_sleep) + home (inbox)
 *     a turn waits, in real time, until none is active: so what ends at the same time is one turn's
 *     time skips when none is active and the turn found nothing to do
 *
 * Threads: the loop and the attempts' threads; `mutex` guards all. Lock order: pace, then attempt.
 */
#ifndef WORKER_PACE_H
#define WORKER_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct pace;
struct dur_activity;

struct pace *pace_new(int64_t start_ns);
struct pace *pace_free(struct pace *pace); /* NULL fine; returns NULL */

const struct clock_vtable *pace_clock(const struct pace *pace);
int64_t pace_now_ns(const struct pace *pace); /* boot time: what skips and is limited */
int64_t pace_wall_ns(const struct pace *pace);
void pace_set_wall(struct pace *pace, int64_t by_ns); /* the wall clock, forward or back */
/* Time passes at once, while nothing runs and the monotonic clock and sleepers stand still. */
void pace_suspend(struct pace *pace, int64_t ns);
/* Skipping goes no further than that; INT64_MAX: no limit. by_force: it goes there even while
 * attempts are active. */
/* Before it is driven: a turn waits so long (real time) for activities that are out, instead of a
 * quarter of a second. For simulations, whose activities wait for nothing outside: then no machine
 * is too slow for the same play. */
void pace_wait_longer(struct pace *pace, int64_t settle_ms);
void pace_limit(struct pace *pace, int64_t until_ns, bool by_force);
void pace_move(struct pace *pace, int64_t to_ns); /* never back; sleepers that are due wake */
void pace_release(struct pace *pace);             /* all sleepers wake: their loop is gone */

/* --- the loop --- */
void pace_went_out(struct pace *pace, struct dur_activity *attempt); /* before its thread has it */
/* Wait, a moment of real time at most, until none is active or one wants a turn (heartbeat). True:
 * none is active. */
bool pace_settle(struct pace *pace);
/* Nothing is to be done now and the next deadline comes in so much time (INT64_MAX: there is none):
 * go there, or to the first sleeper that wakes before. False: time stands, something is active or
 * the limit is reached. */
bool pace_skip(struct pace *pace, int64_t in_ns);
/* In the order in which they went out, not in that of the fastest thread. */
struct dur_activity *pace_sort(struct dur_activity *done);

/* --- an attempt's thread --- */
void pace_came_home(struct pace *pace);
void pace_wants_turn(struct pace *pace);
/* DUR_OK when so much time has passed, DUR_CANCELLED when it was told to stop before. */
int pace_sleep(struct pace *pace, struct dur_activity *attempt, int64_t ns);

#endif
