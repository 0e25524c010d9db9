/*
 * test_engine_local.c - local activities through durable.h: outcomes, retries in memory and through
 * a timer, time-outs, cancellation, slots, and what survives the engine's death.
 */
#include "tests/lib/engine_fixture.h"

static atomic_int calls;
static atomic_int told;
static atomic_int released;
static atomic_int running, most;
static char last_type[64];

/* {"fail": n attempts, "kind": k, "result": json} */
static int act(dur_activity *act, const char *input, const char **result, void *user)
{
    const dur_failure_info *last = dur_activity_last_failure(act);
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (last) {
        snprintf(last_type, sizeof(last_type), "%s", last->type);
    }
    cr_expect_null(dur_activity_token(act));
    cr_expect_eq(dur_heartbeat(act, "1"), DUR_OK);
    cr_expect_eq(dur_heartbeat_sync(act, "2"), DUR_OK);
    if (dur_json_bool(input, "/pending", 0)) {
        return DUR_PENDING;
    }
    if (dur_activity_attempt(act) <= dur_json_int(input, "/fail", 0)) {
        return dur_fail(act, (dur_kind)dur_json_int(input, "/kind", DUR_TRANSIENT), "Broken",
                        "attempt %d", dur_activity_attempt(act));
    }
    *result = dur_jsonf(act, "{\"key\":%d,\"attempt\":%d}", (int)strlen(dur_activity_key(act)) > 36,
                        dur_activity_attempt(act));
    return DUR_OK;
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    atomic_fetch_add(&calls, 1);
    while (!dur_activity_cancelled(act, NULL) && !atomic_load(&released)) {
        clock_sleep_ms(1);
    }
    atomic_fetch_add(&told, dur_activity_cancelled(act, NULL));
    return dur_activity_cancelled(act, NULL) ? DUR_CANCELLED : DUR_OK;
}

static int crowd(dur_activity *act, const char *input, const char **result, void *user)
{
    int now = atomic_fetch_add(&running, 1) + 1;
    int old = atomic_load(&most);
    (void)act;
    (void)user;
    while (old < now && !atomic_compare_exchange_weak(&most, &old, now)) {
    }
    clock_sleep_ms(2);
    atomic_fetch_sub(&running, 1);
    *result = input;
    return DUR_OK;
}

static dur_local_options options_of(dur_ctx *ctx, const char *input)
{
    (void)ctx;
    return (dur_local_options){.start_to_close_ms = dur_json_int(input, "/start", 0),
                               .schedule_to_close_ms = dur_json_int(input, "/close", 0),
                               .max_attempts = (int)dur_json_int(input, "/max", 0),
                               .local_retry_threshold_ms = dur_json_int(input, "/threshold", 0),
                               .retry = {.initial_interval_ms = dur_json_int(input, "/initial", 1),
                                         .backoff_coefficient = 1.0},
                               .cancellation = (dur_cancellation)dur_json_int(input, "/cancel", 0)};
}

static const char *tell(dur_ctx *ctx, int rc, const char *value)
{
    const dur_failure_info *f = rc == DUR_FAILED ? dur_failure(ctx) : NULL;
    if (!f) {
        return dur_ctx_jsonf(ctx, "{\"code\":%d,\"value\":%j}", rc, value);
    }
    return dur_ctx_jsonf(ctx,
                         "{\"code\":%d,\"of\":%q,\"attempt\":%d,\"type\":%q,\"message\":%q,"
                         "\"timeout\":%q}",
                         rc, f->activity_type, f->attempt, f->cause->type, f->cause->message,
                         f->cause->timeout_type);
}

static int one(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    dur_local_options o = options_of(ctx, input);
    int rc = dur_run_local(ctx, dur_ctx_json_string(ctx, input, "/do"), input, &value, &o);
    *result = tell(ctx, rc, value);
    return rc == DUR_CANCELLED ? rc : DUR_OK;
}

/* Three one after the other, between timers and an ordinary activity. */
static int mixed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    for (int i = 0; i < 3; i++) {
        dur_future *timer = dur_timer(ctx, 5);
        int rc = dur_run_local(ctx, "act", input, &value, NULL);
        if (rc || (rc = dur_run(ctx, "crowd", input, NULL, NULL)) ||
            (rc = dur_await(ctx, timer, NULL))) {
            return rc;
        }
    }
    *result = value;
    return DUR_OK;
}

static int fan(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *futures[40];
    const char *value;
    int64_t sum = 0;
    (void)input;
    (void)user;
    for (int i = 0; i < 40; i++) {
        futures[i] = dur_start_local(ctx, "crowd", dur_ctx_jsonf(ctx, "%d", i), NULL);
    }
    for (int i = 0; i < 40; i++) {
        int rc = dur_await(ctx, futures[i], &value);
        if (rc) {
            return rc;
        }
        sum += dur_json_int(value, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", sum);
    return DUR_OK;
}

/* Asks, and cancels it on a signal. */
static int canceller(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    dur_local_options o = options_of(ctx, input);
    dur_future *f = dur_start_local(ctx, dur_ctx_json_string(ctx, input, "/do"), input, &o);
    if (!dur_json_bool(input, "/early", 0)) {
        dur_receive(ctx, "now", -1, NULL);
    }
    dur_cancel_future(ctx, f);
    int rc = dur_await(ctx, f, &value);
    *result = tell(ctx, rc, value);
    dur_receive(ctx, "end", -1, NULL);
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "act", act, NULL);
    dur_register_activity(engine, "hang", hang, NULL);
    dur_register_activity(engine, "crowd", crowd, NULL);
    dur_register_workflow(engine, "one", one, NULL);
    dur_register_workflow(engine, "mixed", mixed, NULL);
    dur_register_workflow(engine, "fan", fan, NULL);
    dur_register_workflow(engine, "canceller", canceller, NULL);
}

static void check_one(const char *input, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(run_one("one", input, &result), DUR_OK);
    cr_assert_str_eq(result, expected);
    dur_free(result);
}

static void check_result(dur_engine *engine, const char *id, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(dur_result(engine, id, WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, expected);
    dur_free(result);
    check_history(engine, id);
}

static void start(dur_engine *engine, const char *type, const char *id, const char *input)
{
    cr_assert_eq(dur_start(engine, type, id, input, NULL), DUR_OK, "%s", dur_error(engine));
}

/* --- outcomes --- */

Test(local, only_a_marker_is_left, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "w", "{\"do\":\"act\"}");
    serve_until_idle(engine);
    check_result(engine, "w", "{\"code\":0,\"value\":{\"key\":1,\"attempt\":1}}");
    check_types(engine, "w", 2,
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted MarkerRecorded "
                "WorkflowExecutionCompleted");
    dur_close(engine);
}

Test(local, retries_in_memory_leave_no_trace, .timeout = 60)
{
    check_one("{\"do\":\"act\",\"fail\":2}", "{\"code\":0,\"value\":{\"key\":1,\"attempt\":3}}");
    cr_assert_str_eq(last_type, "Broken");
    check_one("{\"do\":\"act\",\"fail\":9,\"max\":2}",
              "{\"code\":-1,\"of\":\"act\",\"attempt\":2,\"type\":\"Broken\",\"message\":\"attempt "
              "2\",\"timeout\":null}");
    check_one("{\"do\":\"act\",\"fail\":9,\"kind\":1}",
              "{\"code\":-1,\"of\":\"act\",\"attempt\":1,\"type\":\"Broken\",\"message\":\"attempt "
              "1\",\"timeout\":null}");
    check_one("{\"do\":\"act\",\"pending\":true}",
              "{\"code\":-1,\"of\":\"act\",\"attempt\":1,\"type\":\"LocalPending\",\"message\":"
              "\"activity act returned DUR_PENDING, which a local one cannot\",\"timeout\":null}");
}

Test(local, a_long_back_off_is_a_timer_of_the_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "w", "{\"do\":\"act\",\"fail\":2,\"initial\":20,\"threshold\":10}");
    serve_until_idle(engine);
    check_result(engine, "w", "{\"code\":0,\"value\":{\"key\":1,\"attempt\":3}}");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&history, EVENT_MARKER_RECORDED), 3);
    cr_assert_eq(count_events(&history, EVENT_TIMER_FIRED), 2);
    dur_close(engine);
}

Test(local, time_outs, .timeout = 60)
{
    check_one("{\"do\":\"hang\",\"start\":20,\"max\":2}",
              "{\"code\":-1,\"of\":\"hang\",\"attempt\":2,\"type\":\"Timeout\",\"message\":"
              "\"activity StartToClose timeout\",\"timeout\":\"StartToClose\"}");
    cr_assert_eq(atomic_load(&calls), 2);
    check_one("{\"do\":\"hang\",\"close\":30}",
              "{\"code\":-1,\"of\":\"hang\",\"attempt\":1,\"type\":\"Timeout\",\"message\":"
              "\"activity ScheduleToClose timeout\",\"timeout\":\"ScheduleToClose\"}");
    check_one("{\"do\":\"act\",\"fail\":9,\"close\":1000,\"initial\":5000}",
              "{\"code\":-1,\"of\":\"act\",\"attempt\":1,\"type\":\"Broken\",\"message\":\"attempt "
              "1\",\"timeout\":null}");
}

Test(local, beside_everything_else, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("mixed", "{}", &result), DUR_OK);
    cr_assert_str_eq(result, "{\"key\":1,\"attempt\":1}");
    dur_free(result);
    cr_assert_eq(run_one("fan", NULL, &result), DUR_OK);
    cr_assert_str_eq(result, "780");
    cr_assert_leq(atomic_load(&most), 4);
    dur_free(result);
}

/* --- cancellation --- */

static void check_cancel(const char *input, const char *expected, int told_expected)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    int before = atomic_load(&told);
    atomic_store(&calls, 0);
    atomic_store(&released, 0);
    start(engine, "canceller", "w", input);
    if (!dur_json_bool(input, "/early", 0)) {
        wait_until(atomic_load(&calls) == 1);
    }
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "end", NULL), DUR_OK);
    check_result(engine, "w", expected);
    atomic_store(&released, 1);
    serve_end(engine, thread);
    cr_assert_eq(atomic_load(&told) - before, told_expected);
    dur_close(engine);
}

Test(local, cancelled_by_each_type, .timeout = 60)
{
    check_cancel("{\"do\":\"hang\",\"cancel\":0}", "{\"code\":-2,\"value\":null}", 1);
    check_cancel("{\"do\":\"hang\",\"cancel\":1}", "{\"code\":-2,\"value\":null}", 1);
    check_cancel("{\"do\":\"hang\",\"cancel\":0,\"early\":true}", "{\"code\":-2,\"value\":null}",
                 0);
    check_cancel("{\"do\":\"hang\",\"cancel\":1,\"early\":true}", "{\"code\":-2,\"value\":null}",
                 0);
}

Test(local, an_abandoned_one_runs_on, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "canceller", "w", "{\"do\":\"hang\",\"cancel\":2}");
    wait_until(atomic_load(&calls) == 1);
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    wait_until(events_of(engine, "w") >= 9);
    cr_assert_eq(atomic_load(&told), 0);
    atomic_store(&released, 1);
    cr_assert_eq(dur_signal(engine, "w", "end", NULL), DUR_OK);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(local, cancelled_while_its_back_off_timer_runs, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "canceller", "w",
          "{\"do\":\"act\",\"fail\":9,\"initial\":600000,\"threshold\":10}");
    wait_until(events_of(engine, "w") >= 9); /* its marker and timer are there */
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "end", NULL), DUR_OK);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&history, EVENT_TIMER_CANCELED), 1);
    serve_end(engine, thread);
    dur_close(engine);
}

/* --- the engine goes away --- */

Test(local, the_next_engine_runs_it_again, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "w", "{\"do\":\"hang\"}");
    pid_t child = serve_in_child(path);
    wait_until(events_of(engine, "w") == 4); /* asked for */
    kill_child(child);
    atomic_store(&released, 1);
    serve_until_idle(engine);
    cr_assert_eq(atomic_load(&calls), 1);
    check_result(engine, "w", "{\"code\":0,\"value\":null}");
    dur_close(engine);
}

Test(local, an_engine_that_stops_leaves_it_to_the_next, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "one", "w", "{\"do\":\"hang\"}");
    wait_until(atomic_load(&calls) == 1);
    serve_end(engine, thread);
    cr_assert_eq(atomic_load(&told), 1);
    atomic_store(&released, 1);
    serve_until_idle(engine);
    check_result(engine, "w", "{\"code\":0,\"value\":null}");
    dur_close(engine);
}

Test(local, runs_that_are_not_cached_keep_theirs, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.max_cached_runs = 1});
    pthread_t thread = serve_begin(engine);
    char id[8];
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof(id), "w%d", i);
        start(engine, "one", id, "{\"do\":\"hang\"}");
    }
    wait_until(atomic_load(&calls) == 4);
    start(engine, "mixed", "m", "{}");
    atomic_store(&released, 1);
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof(id), "w%d", i);
        check_result(engine, id, "{\"code\":0,\"value\":null}");
    }
    check_result(engine, "m", "{\"key\":1,\"attempt\":1}");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(local, a_terminated_run_stops_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "one", "w", "{\"do\":\"hang\"}");
    wait_until(atomic_load(&calls) == 1);
    cr_assert_eq(dur_terminate(engine, "w", NULL), DUR_OK);
    wait_until(atomic_load(&told) == 1);
    serve_end(engine, thread);
    dur_close(engine);
}

/* --- in skipped time --- */

static int late(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    return dur_activity_attempt(act) < 6 ? dur_fail(act, DUR_TRANSIENT, "Late", "no") : DUR_OK;
}

static int sleeper(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_test_sleep(act, 100 * DUR_DAYS);
}

static int pending(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_PENDING;
}

static int64_t seconds(dur_ctx *ctx, int64_t *since_ns)
{
    int64_t passed = (dur_now_ns(ctx) - *since_ns) / NS_PER_S;
    *since_ns = dur_now_ns(ctx);
    return passed;
}

/* How long each took: 20 + 40 s in memory, 80 + 160 + 320 s by timers; two attempts of an hour;
 * three of two days that nobody reported for; ten starts of one in 100 s. */
static int timed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t since = dur_now_ns(ctx);
    dur_future *futures[10];
    (void)user;
    dur_run_local(ctx, "late", input, NULL,
                  &(dur_local_options){.retry = {.initial_interval_ms = 20 * DUR_SECONDS}});
    int64_t retries = seconds(ctx, &since);
    dur_run_local(ctx, "sleeper", input, NULL,
                  &(dur_local_options){.start_to_close_ms = DUR_HOURS, .max_attempts = 2});
    int64_t time_outs = seconds(ctx, &since);
    dur_run(ctx, "pending", input, NULL,
            &(dur_activity_options){.start_to_close_ms = 2 * DUR_DAYS, .max_attempts = 3});
    int64_t reports = seconds(ctx, &since);
    for (int i = 0; i < 10; i++) {
        futures[i] =
            dur_start_activity(ctx, "crowd", input, &(dur_activity_options){.task_queue = "rated"});
    }
    for (int i = 0; i < 10; i++) {
        dur_await(ctx, futures[i], NULL);
    }
    *result = dur_ctx_jsonf(ctx, "[%i64,%i64,%i64,%i64]", retries, time_outs, reports,
                            seconds(ctx, &since));
    return DUR_OK;
}

Test(local, waits_are_as_long_as_they_should_be, .timeout = 60)
{
    for (int replays = 0; replays < 2; replays++) {
        dur_engine *engine;
        char *result = NULL;
        cr_assert_eq(dur_test_open(&engine, &(dur_test_options){.replay_always = replays}), DUR_OK);
        fixture_register(engine);
        dur_register_activity(engine, "late", late, NULL);
        dur_register_activity(engine, "sleeper", sleeper, NULL);
        dur_register_activity(engine, "pending", pending, NULL);
        dur_register_workflow(engine, "timed", timed, NULL);
        dur_queue(engine, "rated", &(dur_queue_options){.rate_per_s = 0.01});
        start(engine, "timed", "w", "1");
        cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
        cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
        cr_assert_str_eq(result, "[620,7201,518403,900]");
        dur_free(result);
        check_history(engine, "w");
        dur_close(engine);
    }
}
