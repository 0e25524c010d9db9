/*
 * test_engine_clock.c - an engine whose wall clock is set and whose machine sleeps: timers are
 * never early and not held up, cron and schedules follow the wall, running attempts are not blamed.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "tests/lib/temp_path.h"

#define HOUR_MS (3600 * 1000LL)

static char *path;

static void setup(void)
{
    path = temp_path("clock.db");
}

static void teardown(void)
{
    free(path);
}
TestSuite(engine_clock, .init = setup, .fini = teardown, .timeout = 60);

static int sleeps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    return dur_sleep(ctx, dur_json_int(input, "", 0));
}

static int never(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, 1000 * DUR_DAYS);
}

static atomic_int attempts;

static int fails_once(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return atomic_fetch_add(&attempts, 1) == 0 ? dur_fail(act, DUR_TRANSIENT, "Once", "again")
                                               : DUR_OK;
}

static int retries(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(
        ctx, "FailsOnce", NULL, result,
        &(dur_activity_options){.retry = {.initial_interval_ms = 60000, .backoff_coefficient = 1}});
}

static int ticks(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)input;
    (void)result;
    atomic_fetch_add((atomic_int *)user, 1);
    return DUR_OK;
}

static atomic_int ticked;

static dur_engine *open_at(int64_t start_ns)
{
    dur_engine *engine;
    dur_test_options o = {.path = path, .start_ns = start_ns, .limit_ms = DUR_DAYS};
    cr_assert_eq(dur_test_open(&engine, &o), DUR_OK, "%s", dur_error(engine));
    dur_register_workflow(engine, "Sleeps", sleeps, NULL);
    dur_register_workflow(engine, "Never", never, NULL);
    dur_register_workflow(engine, "Retries", retries, NULL);
    dur_register_workflow(engine, "Ticks", ticks, &ticked);
    dur_register_activity(engine, "FailsOnce", fails_once, NULL);
    return engine;
}

static bool is_open(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s: %s", id, dur_error(engine));
    bool open = d->status == DUR_RUNNING;
    dur_description_free(d);
    return open;
}

static void advance(dur_engine *engine, int64_t ms)
{
    cr_assert_eq(dur_test_advance(engine, ms), DUR_OK, "%s", dur_error(engine));
}

/* A run that sleeps for a minute is open one second before its time and closed one after it. */
static void expect_a_minute(dur_engine *engine, const char *id, int64_t gone_ms)
{
    advance(engine, 59000 - gone_ms);
    cr_expect(is_open(engine, id), "%s ended early", id);
    advance(engine, 2000);
    cr_expect(!is_open(engine, id), "%s is late", id);
}

static void timer_lasts(int64_t jump_ms)
{
    dur_engine *engine = open_at(0);
    dur_start(engine, "Sleeps", "a", "60000", NULL);
    advance(engine, 10000);
    cr_assert_eq(dur_test_set_wall(engine, jump_ms), DUR_OK);
    expect_a_minute(engine, "a", 10000);
    dur_start(engine, "Sleeps", "b", "60000", NULL);
    expect_a_minute(engine, "b", 0);
    dur_close(engine);
}

Test(engine_clock, a_timer_lasts_as_long_when_the_clock_is_set_forward)
{
    timer_lasts(HOUR_MS);
}

Test(engine_clock, a_timer_lasts_as_long_when_the_clock_is_set_back)
{
    timer_lasts(-HOUR_MS);
}

Test(engine_clock, a_timer_lasts_as_long_when_the_clock_is_set_by_a_year)
{
    timer_lasts(24 * 365 * HOUR_MS);
}

Test(engine_clock, also_when_nobody_served_while_the_clock_was_set)
{
    dur_engine *engine = open_at(0);
    dur_start(engine, "Sleeps", "a", "60000", NULL);
    dur_start(engine, "Sleeps", "timed", "600000", &(dur_start_options){.run_timeout_ms = 60000});
    dur_start(engine, "Ticks", "later", NULL, &(dur_start_options){.start_delay_ms = 60000});
    advance(engine, 10000);
    int64_t now = dur_test_now(engine);
    dur_close(engine);
    /* the same boot ten seconds on, by the boot clock; its wall clock is an hour ahead */
    engine = open_at(now + 10 * NS_PER_S);
    cr_assert_eq(dur_test_set_wall(engine, HOUR_MS), DUR_OK);
    dur_start(engine, "Sleeps", "b", "60000", NULL); /* a client notices first */
    advance(engine, 39000);
    cr_expect(is_open(engine, "a") && is_open(engine, "timed") && is_open(engine, "later"));
    advance(engine, 2000);
    cr_expect(!is_open(engine, "a") && !is_open(engine, "timed") && !is_open(engine, "later"));
    cr_expect(is_open(engine, "b"));
    advance(engine, 20000);
    cr_expect(!is_open(engine, "b"));
    dur_close(engine);
}

Test(engine_clock, runs_that_are_not_in_memory_wait_as_long)
{
    dur_engine *engine = open_at(0);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "r%d", i);
        dur_start(engine, "Sleeps", id, "60000", NULL);
    }
    advance(engine, 10000);
    int64_t now = dur_test_now(engine);
    dur_close(engine);
    engine = open_at(now);
    advance(engine, 0);
    dur_test_set_wall(engine, -HOUR_MS);
    advance(engine, 49000);
    cr_expect(is_open(engine, "r0") && is_open(engine, "r49"));
    advance(engine, 2000);
    cr_expect(!is_open(engine, "r0") && !is_open(engine, "r49"));
    dur_close(engine);
}

Test(engine_clock, a_retry_comes_when_its_time_has_passed)
{
    dur_engine *engine = open_at(0);
    atomic_store(&attempts, 0);
    dur_start(engine, "Retries", "a", NULL, NULL);
    advance(engine, 10000);
    cr_assert_eq(atomic_load(&attempts), 1);
    dur_test_set_wall(engine, HOUR_MS);
    advance(engine, 49000);
    cr_expect_eq(atomic_load(&attempts), 1, "not before its back-off is over");
    advance(engine, 2000);
    cr_expect_eq(atomic_load(&attempts), 2);
    cr_expect(!is_open(engine, "a"));
    dur_close(engine);
}

Test(engine_clock, what_fell_due_while_the_machine_slept_happens_at_once)
{
    dur_engine *engine = open_at(0);
    dur_start(engine, "Sleeps", "a", "60000", NULL);
    dur_start(engine, "Sleeps", "b", "7200000", NULL);
    advance(engine, 10000);
    cr_assert_eq(dur_test_suspend(engine, HOUR_MS), DUR_OK);
    advance(engine, 0);
    cr_expect(!is_open(engine, "a"));
    cr_expect(is_open(engine, "b"));
    advance(engine, HOUR_MS);
    cr_expect(!is_open(engine, "b"));
    dur_close(engine);
}

static int slow(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_test_sleep(act, 30000);
}

static int runs_slow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(
        ctx, "Slow", NULL, result,
        &(dur_activity_options){.start_to_close_ms = 60000, .retry = {.maximum_attempts = 1}});
}

Test(engine_clock, an_attempt_that_slept_with_the_machine_is_not_blamed)
{
    dur_engine *engine = open_at(0);
    dur_register_workflow(engine, "RunsSlow", runs_slow, NULL);
    dur_register_activity(engine, "Slow", slow, NULL);
    dur_start(engine, "RunsSlow", "a", NULL, NULL);
    advance(engine, 10000);
    dur_test_suspend(engine, HOUR_MS);
    advance(engine, 10000);
    cr_expect(is_open(engine, "a"));
    advance(engine, 15000);
    cr_expect_eq(dur_result(engine, "a", 0, NULL), DUR_OK);
    dur_close(engine);
}

/* What the wall clock does, how long the engine goes on then, and how often it has ticked. */
struct stage {
    int64_t set_ms, go_ms;
    int want;
    const char *why;
};

static void play(dur_engine *engine, const struct stage *stages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        dur_test_set_wall(engine, stages[i].set_ms);
        advance(engine, stages[i].go_ms);
        cr_expect_eq(atomic_load(&ticked), stages[i].want, "%s: %d", stages[i].why,
                     atomic_load(&ticked));
    }
    dur_close(engine);
}

/* Every day at noon; the engine's day begins at midnight. */
Test(engine_clock, cron_goes_by_the_wall)
{
    static const struct stage stages[] = {
        {0, HOUR_MS, 0, "one o'clock"},
        {10 * HOUR_MS, 30 * 60000, 0, "half past eleven by the wall"},
        {0, 31 * 60000, 1, "noon by the wall, after two hours"},
        {-2 * HOUR_MS, 3 * HOUR_MS, 1, "no noon comes twice"},
        {0, 24 * HOUR_MS, 2, "the next is tomorrow's"},
    };
    dur_engine *engine = open_at(0);
    dur_start(engine, "Ticks", "c", NULL, &(dur_start_options){.cron = "0 12 * * *"});
    play(engine, stages, ARRAY_LEN(stages));
}

Test(engine_clock, schedules_go_by_the_wall)
{
    static const struct stage stages[] = {
        {0, HOUR_MS, 0, "one o'clock"},
        {12 * HOUR_MS, 60000, 1, "a time that was jumped over is caught up once"},
        {-3 * HOUR_MS, 3 * HOUR_MS, 1, "and does not come twice"},
        {0, 24 * HOUR_MS, 2, "the next is tomorrow's"},
    };
    dur_engine *engine = open_at(0);
    const char *const noon[] = {"0 12 * * *", NULL};
    dur_schedule o = {.cron = noon, .workflow_type = "Ticks", .catchup_window_ms = DUR_DAYS};
    cr_assert_eq(dur_schedule_set(engine, "s", &o), DUR_OK, "%s", dur_error(engine));
    play(engine, stages, ARRAY_LEN(stages));
}

Test(engine_clock, a_new_boot_with_a_wrong_clock_fires_nothing_early)
{
    dur_engine *engine = open_at(0);
    dur_start(engine, "Sleeps", "a", "60000", NULL);
    advance(engine, 10000);
    dur_close(engine);
    engine = open_at(1000 * NS_PER_S); /* January 1970: behind the anchor, so another boot */
    advance(engine, 30000);
    cr_expect(is_open(engine, "a"));
    dur_test_set_wall(engine, 56 * 365 * 24 * HOUR_MS); /* the network tells the time */
    advance(engine, 15000);
    cr_expect(is_open(engine, "a"));
    advance(engine, 20000); /* the anchor may be a minute old */
    cr_expect(!is_open(engine, "a"), "but not much later either");
    dur_close(engine);
}

Test(engine_clock, nonsense_is_refused)
{
    dur_engine *engine = open_at(0);
    cr_expect_eq(dur_test_suspend(engine, -1), DUR_INVALID);
    cr_expect_eq(dur_test_set_wall(engine, INT64_MAX), DUR_INVALID);
    cr_expect_eq(dur_test_set_wall(engine, -100 * 365 * 24 * HOUR_MS), DUR_INVALID);
    cr_expect_eq(dur_test_set_wall(NULL, 1), DUR_INVALID);
    dur_close(engine);
}
