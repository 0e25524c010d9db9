/*
 * test_engine_evict.c - more runs than are kept in memory: signals, timers, activities, cancels and
 * heartbeats of runs whose fibers are gone and come back by replay.
 */
#include "tests/lib/engine_fixture.h"

#define RUNS 12

static atomic_int beats;

static int add_one(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) == 1) {
        dur_heartbeat(act, input);
        return dur_fail(act, DUR_TRANSIENT, "First", "once more");
    }
    *result = dur_jsonf(act, "%i64", dur_json_int(dur_heartbeat_details(act), "", 0) + 1);
    return DUR_OK;
}

static int beat_until(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    int rc = DUR_OK;
    for (int i = 0; rc == DUR_OK; i++) {
        rc = dur_heartbeat(act, dur_jsonf(act, "%d", i));
        atomic_fetch_add(&beats, 1);
        clock_sleep_ms(1);
    }
    return rc;
}

/* Three rounds of signal, timer and activity; the answer is their sum. */
static int rounds(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t total = 0;
    (void)input;
    (void)user;
    for (int i = 0; i < 3; i++) {
        const char *value;
        int rc = dur_receive(ctx, "go", -1, &value);
        if (rc == DUR_OK) {
            rc = dur_sleep(ctx, 3);
        }
        if (rc == DUR_OK) {
            rc = dur_run(ctx, "add_one", value, &value,
                         &(dur_activity_options){.retry = {.initial_interval_ms = 2}});
        }
        if (rc != DUR_OK) {
            return rc;
        }
        total += dur_json_int(value, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", total);
    return DUR_OK;
}

static int watch(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(ctx, "beat_until", NULL, result,
                   &(dur_activity_options){.heartbeat_ms = 5000,
                                           .task_queue = "watch",
                                           .cancellation = DUR_WAIT_CANCEL});
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "add_one", add_one, NULL);
    dur_register_activity(engine, "beat_until", beat_until, NULL);
    dur_register_workflow(engine, "rounds", rounds, NULL);
    dur_register_workflow(engine, "watch", watch, NULL);
    dur_lane(engine, "watch", RUNS);
}

static char *id_of(const char *prefix, int i)
{
    return mem_printf("%s%d", prefix, i);
}

Test(evict, runs_come_back_by_replay_whatever_wakes_them, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.max_cached_runs = 2});
    pthread_t thread = serve_begin(engine);
    for (int i = 0; i < RUNS; i++) {
        autofree char *id = id_of("w", i);
        cr_assert_eq(dur_start(engine, "rounds", id, NULL, NULL), DUR_OK);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < RUNS; i++) {
            autofree char *id = id_of("w", i);
            autofree char *value = mem_printf("%d", 10 * i + round);
            cr_assert_eq(dur_signal(engine, id, "go", value), DUR_OK);
        }
    }
    for (int i = 0; i < RUNS; i++) {
        autofree char *id = id_of("w", i);
        autofree char *expected = mem_printf("%d", 30 * i + 3 + 3);
        char *result = NULL;
        cr_assert_eq(dur_result(engine, id, WAIT_MS, &result), DUR_OK, "%s", fixture_log);
        cr_assert_str_eq(result, expected);
        dur_free(result);
        check_history(engine, id);
    }
    serve_end(engine, thread);
    dur_close(engine);
}

Test(evict, running_activities_outlive_the_fibers_of_their_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.max_cached_runs = 1});
    pthread_t thread = serve_begin(engine);
    for (int i = 0; i < RUNS; i++) {
        autofree char *id = id_of("v", i);
        cr_assert_eq(dur_start(engine, "watch", id, NULL, NULL), DUR_OK);
    }
    wait_until(atomic_load(&beats) > 10 * RUNS);
    for (int i = 0; i < RUNS; i++) {
        autofree char *id = id_of("v", i);
        cr_assert_eq(i % 3 == 0 ? dur_terminate(engine, id, NULL) : dur_cancel(engine, id, "stop"),
                     DUR_OK);
    }
    for (int i = 0; i < RUNS; i++) {
        autofree char *id = id_of("v", i);
        cr_assert_eq(dur_result(engine, id, WAIT_MS, NULL),
                     i % 3 == 0 ? DUR_FAILED : DUR_CANCELLED);
        check_history(engine, id);
    }
    serve_end(engine, thread);
    dur_close(engine);
}
