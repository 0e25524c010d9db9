/*
 * test_engine_test.c - the test engine: time that skips, mocks, order, replay after every task, and
 * what it says when it cannot go on. The whole file takes no time to speak of.
 */
#include "tests/lib/engine_fixture.h"

#define DAY_NS (86400 * NS_PER_S)

static atomic_int calls;

static void fixture_register(dur_engine *engine)
{
    (void)engine; /* each test registers what it needs */
}

static int count(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    atomic_fetch_add(&calls, 1);
    *result = input;
    return DUR_OK;
}

/* Takes as many milliseconds as its input says, then gives that back. */
static int slow(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    atomic_fetch_add(&calls, 1);
    int rc = dur_test_sleep(act, dur_json_int(input, "", 0));
    *result = input;
    return rc;
}

static int failing(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    atomic_fetch_add(&calls, 1);
    return dur_fail(act, DUR_TRANSIENT, "Down", "not yet");
}

static int sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    return dur_sleep(ctx, dur_json_int(input, "", 0));
}

/* Waits three days for a signal, then reminds, then waits for ever. */
static int patient(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = dur_receive(ctx, "go", 3 * DUR_DAYS, result);
    if (rc == DUR_TIMED_OUT) {
        rc = dur_run(ctx, "remind", NULL, NULL, NULL);
        rc = rc == DUR_OK ? dur_receive(ctx, "go", -1, result) : rc;
    }
    return rc;
}

static int wants(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const dur_activity_options *options = user;
    return dur_run(ctx, "work", input, result, options);
}

/* Five slow activities at once; the order in which they end. */
static int race(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const char *const lengths[] = {"5000", "1000", "3000", "1000", "2000"};
    dur_future *all[5];
    autostr struct str order = {0};
    (void)input;
    (void)user;
    for (size_t i = 0; i < 5; i++) {
        all[i] = dur_start_activity(ctx, "work", lengths[i],
                                    &(dur_activity_options){.task_queue = "wide"});
    }
    for (size_t i = 0; i < 5; i++) {
        int index = dur_select(ctx, all, 5);
        if (index < 0) {
            return index;
        }
        all[index] = NULL;
        str_addf(&order, "%d", index);
    }
    *result = dur_ctx_jsonf(ctx, "%q", str_c(&order));
    return DUR_OK;
}

static int forgetful(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static int passage; /* what a workflow must not have */
    (void)input;
    (void)result;
    (void)user;
    return passage++ == 0 ? dur_sleep(ctx, 10) : dur_run(ctx, "work", NULL, NULL, NULL);
}

static dur_engine *open_test(const dur_test_options *options)
{
    dur_engine *engine;
    int rc = dur_test_open(&engine, options);
    cr_assert_eq(rc, DUR_OK, "%s", dur_error(engine));
    return engine;
}

static void start(dur_engine *engine, const char *type, const char *id, const char *input)
{
    cr_assert_eq(dur_start(engine, type, id, input, NULL), DUR_OK, "%s", dur_error(engine));
}

TestSuite(engine_test, .timeout = 60);

Test(engine_test, a_year_takes_no_time)
{
    dur_engine *engine = open_test(NULL);
    int64_t before = clock_mono_ns();
    dur_register_workflow(engine, "sleeper", sleeper, NULL);
    int64_t began = dur_test_now(engine);
    cr_assert_eq(began, 1767225600 * NS_PER_S);
    start(engine, "sleeper", "w", "31536000000");
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_test_now(engine) - began, 365 * DAY_NS);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    cr_assert_lt(clock_mono_ns() - before, 30 * NS_PER_S);
    check_history(engine, "w");
    dur_close(engine);
}

Test(engine_test, events_bear_the_times_of_the_test)
{
    dur_engine *engine = open_test(&(dur_test_options){.start_ns = 1000 * DAY_NS});
    dur_description *d;
    dur_register_workflow(engine, "sleeper", sleeper, NULL);
    start(engine, "sleeper", "w", "86400000");
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_assert_eq(d->started_ns, 1000 * DAY_NS);
    cr_assert_eq(d->closed_ns, 1001 * DAY_NS);
    dur_description_free(d);
    dur_close(engine);
}

Test(engine_test, time_moves_as_far_as_it_is_told)
{
    dur_engine *engine = open_test(NULL);
    dur_register_workflow(engine, "patient", patient, NULL);
    dur_test_mock(engine, "remind", count, NULL);
    int64_t began = dur_test_now(engine);
    start(engine, "patient", "early", NULL);
    start(engine, "patient", "late", NULL);
    cr_assert_eq(dur_test_advance(engine, 2 * DUR_DAYS), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_test_now(engine) - began, 2 * DAY_NS);
    cr_assert_eq(dur_signal(engine, "early", "go", "1"), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, 0), DUR_OK);
    cr_assert_eq(dur_result(engine, "early", 0, NULL), DUR_OK);
    cr_assert_eq(atomic_load(&calls), 0);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(atomic_load(&calls), 1, "the late one was reminded");
    cr_assert_eq(dur_test_now(engine) - began, 3 * DAY_NS, "the early one's timer moves nothing");
    cr_assert_eq(dur_result(engine, "late", 0, NULL), DUR_TIMED_OUT);
    cr_assert_eq(dur_signal(engine, "late", "go", "1"), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(dur_result(engine, "late", 0, NULL), DUR_OK);
    dur_close(engine);
}

Test(engine_test, activities_end_in_the_order_of_their_length)
{
    for (int i = 0; i < 5; i++) {
        char *order = NULL;
        dur_engine *engine = open_test(NULL);
        int64_t began = dur_test_now(engine);
        dur_lane(engine, "wide", 5);
        dur_register_workflow(engine, "race", race, NULL);
        dur_test_mock(engine, "work", slow, NULL);
        start(engine, "race", "w", NULL);
        cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
        cr_assert_eq(dur_result(engine, "w", 0, &order), DUR_OK, "%s", dur_error(engine));
        cr_assert_str_eq(order, "\"13420\"");
        cr_assert_eq(dur_test_now(engine) - began, 5 * NS_PER_S);
        dur_free(order);
        dur_close(engine);
    }
}

Test(engine_test, a_slow_activity_times_out)
{
    dur_activity_options strict = {.start_to_close_ms = 1000, .max_attempts = 3};
    dur_engine *engine = open_test(NULL);
    dur_register_workflow(engine, "wants", wants, &strict);
    dur_test_mock(engine, "work", slow, NULL);
    start(engine, "wants", "slow", "5000");
    start(engine, "wants", "quick", "500");
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "slow", 0, NULL), DUR_FAILED);
    cr_assert_eq(dur_result(engine, "quick", 0, NULL), DUR_OK);
    cr_assert_eq(atomic_load(&calls), 4);
    check_history(engine, "slow");
    dur_close(engine);
}

Test(engine_test, silence_is_noticed)
{
    dur_activity_options watched = {
        .start_to_close_ms = DUR_HOURS, .heartbeat_ms = 1000, .max_attempts = 1};
    dur_engine *engine = open_test(NULL);
    int64_t began = dur_test_now(engine);
    dur_register_workflow(engine, "wants", wants, &watched);
    dur_test_mock(engine, "work", slow, NULL);
    start(engine, "wants", "w", "600000");
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_FAILED);
    cr_assert_eq(dur_test_now(engine) - began, NS_PER_S);
    dur_close(engine);
}

Test(engine_test, retries_wait_in_test_time)
{
    dur_activity_options four = {.max_attempts = 4}; /* 1 s, 2 s, 4 s between them */
    dur_engine *engine = open_test(NULL);
    int64_t began = dur_test_now(engine);
    dur_register_workflow(engine, "wants", wants, &four);
    dur_register_activity(engine, "work", count, NULL);
    dur_test_mock(engine, "work", failing, NULL); /* in place of the registered one */
    start(engine, "wants", "w", NULL);
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(atomic_load(&calls), 4);
    cr_assert_eq(dur_test_now(engine) - began, 7 * NS_PER_S);
    dur_close(engine);
}

Test(engine_test, an_endless_retry_is_given_up)
{
    dur_engine *engine = open_test(&(dur_test_options){.limit_ms = DUR_HOURS});
    dur_register_workflow(engine, "wants", wants, NULL);
    dur_test_mock(engine, "work", failing, NULL);
    start(engine, "wants", "w", NULL);
    cr_assert_eq(dur_test_run(engine), DUR_TIMED_OUT);
    cr_assert(strstr(dur_error(engine), "still due"), "%s", dur_error(engine));
    cr_assert_eq(dur_test_mock(engine, "work", count, NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    dur_close(engine);
}

Test(engine_test, cancelling_reaches_a_sleeping_activity)
{
    dur_activity_options waits = {.cancellation = DUR_WAIT_CANCEL,
                                  .start_to_close_ms = 10 * DUR_DAYS};
    dur_engine *engine = open_test(NULL);
    dur_register_workflow(engine, "wants", wants, &waits);
    dur_test_mock(engine, "work", slow, NULL);
    start(engine, "wants", "w", "604800000");
    cr_assert_eq(dur_test_advance(engine, DUR_DAYS), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_OK);
    int64_t asked = dur_test_now(engine);
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_CANCELLED);
    cr_assert_eq(dur_test_now(engine), asked);
    check_history(engine, "w");
    dur_close(engine);
}

Test(engine_test, replay_after_every_task_finds_what_is_not_deterministic)
{
    dur_engine *engine = open_test(&(dur_test_options){.replay_always = 1});
    dur_description *d;
    dur_register_workflow(engine, "forgetful", forgetful, NULL);
    dur_register_workflow(engine, "race", race, NULL);
    dur_test_mock(engine, "work", slow, NULL);
    start(engine, "forgetful", "bad", NULL);
    start(engine, "race", "good", NULL);
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "good", 0, NULL), DUR_OK);
    cr_assert_eq(dur_describe(engine, "bad", &d), DUR_OK);
    cr_assert_not_null(d->parked);
    dur_description_free(d);
    check_history(engine, "good");
    dur_close(engine);
}

Test(engine_test, each_engine_has_its_own_time)
{
    dur_engine *one = open_test(NULL);
    dur_engine *two = open_test(NULL);
    int64_t began = dur_test_now(one);
    dur_register_workflow(one, "sleeper", sleeper, NULL);
    start(one, "sleeper", "w", "1000");
    cr_assert_eq(dur_test_run(one), DUR_OK);
    cr_assert_eq(dur_test_advance(two, DUR_DAYS), DUR_OK);
    cr_assert_eq(dur_test_now(one) - began, NS_PER_S);
    cr_assert_eq(dur_test_now(two) - began, DAY_NS);
    dur_close(one);
    dur_close(two);
}

Test(engine_test, serving_skips_too)
{
    dur_engine *engine = open_test(NULL);
    dur_register_workflow(engine, "sleeper", sleeper, NULL);
    start(engine, "sleeper", "w", "31536000000");
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    dur_close(engine);
}

Test(engine_test, a_store_that_is_kept)
{
    autofree char *path = temp_path("kept.db");
    dur_engine *engine = open_test(&(dur_test_options){.path = path});
    dur_register_workflow(engine, "patient", patient, NULL);
    start(engine, "patient", "w", NULL);
    cr_assert_eq(dur_test_advance(engine, 0), DUR_OK);
    dur_close(engine);
    engine = open_test(&(dur_test_options){.path = path});
    dur_register_workflow(engine, "patient", patient, NULL);
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    dur_close(engine);
}

Test(engine_test, misuse_is_refused)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_test_run(engine), DUR_INVALID);
    cr_assert_eq(dur_test_advance(engine, 1), DUR_INVALID);
    cr_assert_eq(dur_test_mock(engine, "x", count, NULL), DUR_INVALID);
    cr_assert_eq(dur_test_now(engine), 0);
    dur_close(engine);
    engine = open_test(NULL);
    cr_assert_eq(dur_test_advance(engine, -1), DUR_INVALID);
    cr_assert_eq(dur_test_advance(engine, INT64_MAX), DUR_INVALID);
    cr_assert_eq(dur_test_mock(engine, "", count, NULL), DUR_INVALID);
    cr_assert_eq(dur_test_mock(engine, "x", NULL, NULL), DUR_INVALID);
    dur_close(engine);
    cr_assert_eq(dur_test_open(NULL, NULL), DUR_INVALID);
    cr_assert_neq(dur_test_open(&engine, &(dur_test_options){.path = "/nonexistent/e.db"}), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_INVALID);
    dur_close(engine);
}
