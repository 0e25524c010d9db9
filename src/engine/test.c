/*
 * test.c - engines for the tests of people's workflows: durable.h's dur_test_ calls.
 *
 * Owns: a store of its own that goes with the engine, mocks, and driving until nothing moves. Time
 * is worker/pace.c's; everything else is the engine that serves in production, turn by turn.
 * Must not: keep anything outside of the handle (several test engines live side by side).
 * Tests: tests/unit/test_engine_test.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "engine/engine.h"

#define START_NS 1767225600000000000LL /* 2026-01-01T00:00:00Z: a Thursday */
#define LIMIT_MS (366 * DUR_DAYS)
#define STUCK_MS 10000 /* real time that an activity may hold the clock in dur_test_run */

static void say_nothing(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

/* A private directory: in memory where there is such a place, else where temporary files go. */
static char *make_dir(struct err *err)
{
    const char *given = getenv("TMPDIR");
    const char *bases[] = {"/dev/shm", given && *given ? given : "/tmp"};
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        autofree char *prefix = mem_printf("%s/durable-test", bases[i]);
        char *dir;
        if (fs_make_temp_dir(prefix, &dir, err) == 0) {
            return dir;
        }
    }
    return NULL;
}

int dur_test_open_at(dur_engine **ret, const dur_test_options *options, size_t options_size)
{
    dur_test_options o = {0};
    struct err err = {0};
    if (!ret) {
        return engine_refuse(NULL, DUR_INVALID, "dur_test_open needs a place for the handle");
    }
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    autofree char *dir = o.path ? NULL : make_dir(&err);
    autofree char *path = o.path ? mem_strdup(o.path) : dir ? fs_join(dir, "test.db") : NULL;
    int rc = dur_open(ret, path,
                      &(dur_options){.reserve_bytes = -1,
                                     .min_free_bytes = -1,
                                     .identity = "test",
                                     .on_log = o.on_log ? o.on_log : say_nothing,
                                     .on_log_user = o.on_log_user});
    dur_engine *engine = *ret;
    engine->test_dir = steal(&dir);
    if (rc != DUR_OK) {
        return path ? rc : engine_fail(engine, &err);
    }
    engine->pace = pace_new(o.start_ns > 0 ? o.start_ns : START_NS);
    engine->clock = pace_clock(engine->pace);
    int64_t limit_ms = o.limit_ms > 0 ? o.limit_ms : LIMIT_MS;
    if (__builtin_mul_overflow(limit_ms, NS_PER_MS, &engine->test_limit_ns)) {
        engine->test_limit_ns = INT64_MAX;
    }
    if (o.replay_always) {
        engine->options.max_cached_runs = 0;
    }
    return DUR_OK;
}

void test_close(dur_engine *engine)
{
    engine->pace = pace_free(engine->pace);
    if (engine->test_dir) {
        fs_remove_tree(engine->test_dir, NULL);
        free(engine->test_dir);
    }
}

static int is_test(dur_engine *engine)
{
    int rc = engine_ready(engine, true);
    if (rc == DUR_OK && !engine->pace) {
        rc = engine_refuse(engine, DUR_INVALID, "this engine was not opened by dur_test_open");
    }
    return rc;
}

int dur_test_mock(dur_engine *engine, const char *type, dur_activity_fn fn, void *user)
{
    int rc = is_test(engine);
    if (rc) {
        return rc;
    }
    pthread_mutex_lock(&engine->mutex);
    rc = engine->serving ? DUR_BUSY : registry_set_activity(&engine->registry, type, fn, user);
    pthread_mutex_unlock(&engine->mutex);
    return rc == DUR_BUSY ? engine_refuse(engine, rc, "mock %s while nothing runs", type)
           : rc           ? engine_refuse(engine, DUR_INVALID,
                                          "a mock needs a function and a name of 1 to 1000 bytes")
                          : DUR_OK;
}

int64_t dur_test_now(dur_engine *engine)
{
    return engine && engine->pace ? pace_wall_ns(engine->pace) : 0;
}

/* The virtual clock by ms; DUR_INVALID beyond what it can show. */
static int turn_clock(dur_engine *engine, int64_t ms, bool suspends)
{
    int rc = is_test(engine);
    int64_t ns;
    int64_t there;
    if (rc) {
        return rc;
    }
    if (__builtin_mul_overflow(ms, NS_PER_MS, &ns) || (suspends && ns < 0) ||
        __builtin_add_overflow(pace_wall_ns(engine->pace), ns, &there) || there < 0 ||
        there > INT64_MAX / 2) {
        return engine_refuse(engine, DUR_INVALID, "the clock shows 1970 to 2116");
    }
    if (suspends) {
        pace_suspend(engine->pace, ns);
    } else {
        pace_set_wall(engine->pace, ns);
    }
    return DUR_OK;
}

int dur_test_set_wall(dur_engine *engine, int64_t by_ms)
{
    return turn_clock(engine, by_ms, false);
}

int dur_test_suspend(dur_engine *engine, int64_t ms)
{
    return turn_clock(engine, ms, true);
}

/* Which activity holds the clock. */
static int stuck(dur_engine *engine)
{
    const struct dur_activity *a = engine->host->running;
    return engine_refuse(engine, DUR_BUSY,
                         "activity %s of run %s has run for %d s of real time and holds the "
                         "clock: let it wait with dur_test_sleep",
                         a ? a->type : "(none)", a ? a->workflow_id : "(none)", STUCK_MS / 1000);
}

/* Passes until one finds nothing to do and nothing runs. DUR_OK, or why not. */
static int drive(dur_engine *engine, bool by_force)
{
    struct err err = {0};
    int64_t wait_ms = 0;
    int64_t quiet_since = 0;
    for (;;) {
        int rc = step_pass(engine, &wait_ms, &err);
        if (rc < 0) {
            return engine_fail(engine, &err);
        }
        struct host *host = engine->host;
        if (rc == HOST_OVER) {
            return engine_refuse(engine, DUR_CANCELLED, "dur_stop was called");
        }
        if (!host->lock || !lock_held(host->lock)) {
            return engine_refuse(engine, DUR_BUSY, "another engine serves this store");
        }
        if (rc == HOST_QUIET && !host->retry_ns && inbox_is_empty(host->inbox)) {
            int64_t now = clock_mono_ns();
            quiet_since = quiet_since ? quiet_since : now;
            if (pace_settle(host->pace)) {
                if (inbox_is_empty(host->inbox)) {
                    return DUR_OK;
                }
            } else if (by_force) {
                return DUR_OK;
            } else if (now - quiet_since > STUCK_MS * NS_PER_MS) {
                return stuck(engine);
            }
        } else {
            quiet_since = 0;
        }
        if (host->retry_ns) {
            clock_sleep_ms(wait_ms);
        }
    }
}

/* Drives up to an instant. DUR_TIMED_OUT: something is due after it. */
static int drive_until(dur_engine *engine, int64_t until_ns, bool by_force)
{
    int rc = dur_fd(engine); /* step_pass() keeps it informed */
    if (rc < 0 || (rc = engine_enter(engine, true, DUR_UNTIL_STOPPED))) {
        return rc;
    }
    pace_limit(engine->pace, until_ns, by_force);
    rc = drive(engine, by_force);
    pace_limit(engine->pace, INT64_MAX, false);
    bool is_over = !engine->host->lock || !lock_held(engine->host->lock);
    if (rc == DUR_OK && due_next_in_ns(engine->host) != INT64_MAX) {
        rc = DUR_TIMED_OUT;
    }
    engine_leave(engine, is_over);
    return rc;
}

int dur_test_run(dur_engine *engine)
{
    int rc = is_test(engine);
    if (rc) {
        return rc;
    }
    int64_t until;
    if (__builtin_add_overflow(pace_now_ns(engine->pace), engine->test_limit_ns, &until)) {
        until = INT64_MAX - 1;
    }
    rc = drive_until(engine, until, false);
    return rc == DUR_TIMED_OUT
               ? engine_refuse(engine, DUR_TIMED_OUT,
                               "something is still due %lld days later: go on with "
                               "dur_test_advance",
                               (long long)(engine->test_limit_ns / NS_PER_MS / DUR_DAYS))
               : rc;
}

int dur_test_advance(dur_engine *engine, int64_t ms)
{
    int rc = is_test(engine);
    int64_t ns;
    int64_t until;
    if (rc) {
        return rc;
    }
    if (ms < 0 || __builtin_mul_overflow(ms, NS_PER_MS, &ns) ||
        __builtin_add_overflow(pace_now_ns(engine->pace), ns, &until)) {
        return engine_refuse(engine, DUR_INVALID, "time moves forward, to the year 2262 at most");
    }
    rc = drive_until(engine, until, true);
    if (rc == DUR_OK || rc == DUR_TIMED_OUT) {
        pace_move(engine->pace, until);
        rc = DUR_OK;
    }
    return rc;
}
