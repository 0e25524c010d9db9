/*
 * testing.h - an engine whose time skips, for tests of one's own workflows. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_TESTING_H
#define DURABLE_TESTING_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

/* --- testing one's own workflows -------------------------------------------------------------- */

/* A test engine is an engine whose time skips: it stands still while anything runs and jumps to the
 * next deadline when nothing does, so a timer of 14 days takes none. Its store is private and goes
 * with it. All else is as in production: register, start, signal, look at results and histories.
 *
 *     dur_test_open(&engine, NULL);
 *     dur_register_workflow(engine, "Order", order, NULL);
 *     dur_test_mock(engine, "Charge", fake_charge, &bank);
 *     dur_start(engine, "Order", "o-1", "{}", NULL);
 *     dur_test_advance(engine, 3 * DUR_DAYS);      three days later
 *     dur_signal(engine, "o-1", "picked-up", NULL);
 *     dur_test_run(engine);                        until nothing moves
 *     dur_result(engine, "o-1", 0, &result);
 *
 * Several may live side by side; each has its own time. */
typedef struct dur_test_options {
    int64_t start_ns;  /* what time it is at first; default 2026-01-01T00:00:00Z */
    int replay_always; /* 1: runs are forgotten after every task and go on by replay, which finds
                        * code that is not deterministic */
    int64_t limit_ms;  /* dur_test_run gives up after so much time; default 366 days */
    const char *path;  /* keep the store there; default: in memory or $TMPDIR, removed at the end */
    void (*on_log)(void *user, int level, const char *line); /* default: nothing is said */
    void *on_log_user;
} dur_test_options;
/* As dur_open. */
#define dur_test_open(engine, ...)                                                                 \
    dur_test_open_at((engine), (__VA_ARGS__), sizeof(dur_test_options))
DUR_API int dur_test_open_at(dur_engine **engine, const dur_test_options *options,
                             size_t options_size);
/* From now on activities of this type are this function, also in place of a registered one. Any
 * time but while the engine is driven. */
DUR_API int dur_test_mock(dur_engine *engine, const char *type, dur_activity_fn fn, void *user);
/* Executes whatever there is, skipping time, until every run is closed or waits for something that
 * time alone does not bring. DUR_OK; DUR_TIMED_OUT when something is still due after limit_ms (an
 * endless retry, a cron); DUR_BUSY when an activity that does not return holds the clock. Belongs
 * to one thread, as dur_step. */
DUR_API int dur_test_run(dur_engine *engine);
/* The same for exactly so much time, 0 for what can be done now. What falls due on the way happens
 * at its own time. Does not wait for activities that wait for the outside. */
DUR_API int dur_test_advance(dur_engine *engine, int64_t ms);
DUR_API int64_t dur_test_now(dur_engine *engine); /* nanoseconds since 1970, by the wall clock */
/* Somebody sets the wall clock, forward or back (by_ms < 0). Timers, time-outs and delays go on by
 * the time that really passes; cron and schedules go by the new time. Between two drives. */
DUR_API int dur_test_set_wall(dur_engine *engine, int64_t by_ms);
/* The machine sleeps for so long: what fell due meanwhile happens with the next drive. Activities
 * that run, and their time-outs, sleep with it. Between two drives. */
DUR_API int dur_test_suspend(dur_engine *engine, int64_t ms);
/* For mocks: let the activity take so long, by the test engine's clock. Its timeouts and the run's
 * timers go on meanwhile. DUR_OK, or DUR_CANCELLED when it should stop; DUR_INVALID in an activity
 * of another engine. An activity that waits in any other way holds the clock. */
DUR_API int dur_test_sleep(dur_activity *act, int64_t ms);

#endif
