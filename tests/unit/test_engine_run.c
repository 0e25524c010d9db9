/*
 * test_engine_run.c - whole runs through durable.h: what workflows may rely on.
 * Crashes are real: a forked engine is killed with SIGKILL.
 */
#include <sqlite3.h>

#include "tests/lib/engine_fixture.h"

static atomic_int calls;

/* --- activities --- */

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    atomic_fetch_add(&calls, 1);
    *result = dur_jsonf(act, "{\"got\":%j}", input);
    return DUR_OK;
}

static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    if (dur_activity_attempt(act) < 3) {
        return dur_fail(act, DUR_TRANSIENT, "Flaky", "attempt %d", dur_activity_attempt(act));
    }
    *result = dur_jsonf(act, "%q", dur_activity_last_failure(act)->message);
    return DUR_OK;
}

static int refuse(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    atomic_fetch_add(&calls, 1);
    return dur_fail(act, DUR_PERMANENT, "Refused", "no");
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(2);
    }
    return DUR_CANCELLED;
}

/* Beats once with details, then is silent until told to stop; the second attempt returns them. */
static int silent(dur_activity *act, const char *input, const char **result, void *user)
{
    if (dur_heartbeat_details(act)) {
        *result = dur_heartbeat_details(act);
        return DUR_OK;
    }
    dur_heartbeat_sync(act, "{\"pid\":4711}");
    return hang(act, input, result, user);
}

/* --- workflows --- */

static int chain(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *one, *two;
    (void)user;
    int rc = dur_run(ctx, "echo", input, &one, NULL);
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "echo", one, &two, NULL);
    }
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "[%j,%j]", one, two);
    }
    return rc;
}

static int try_flaky(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "flaky", input, result,
                   &(dur_activity_options){.retry = {.initial_interval_ms = 1}});
}

static int try_refuse(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "refuse", input, result, NULL);
    cr_assert_eq(rc, DUR_FAILED);
    const dur_failure_info *failure = dur_failure(ctx);
    cr_assert_str_eq(failure->cause->type, "Refused");
    return rc;
}

static int wait_signal(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int sleepy(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    return dur_sleep(ctx, 30);
}

static int clean_up(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = dur_run(
        ctx, "hang", NULL, NULL,
        &(dur_activity_options){.cancellation = DUR_WAIT_CANCEL, .start_to_close_ms = 60000});
    dur_run(dur_disconnected(ctx), "echo", "\"bye\"", NULL, NULL);
    (void)result;
    return rc;
}

static int timed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    dur_activity_options o = {.start_to_close_ms = dur_json_int(input, "/start", 0),
                              .heartbeat_ms = dur_json_int(input, "/beat", 0),
                              .max_attempts = 1};
    int rc = dur_run(ctx, "hang", NULL, NULL, &o);
    if (rc == DUR_FAILED) {
        const dur_failure_info *f = dur_failure(ctx);
        while (f && !f->timeout_type) {
            f = f->cause;
        }
        *result = dur_ctx_jsonf(ctx, "%q", f ? f->timeout_type : "no timeout");
        rc = DUR_OK;
    }
    return rc;
}

static int beaten(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(ctx, "silent", NULL, result,
                   &(dur_activity_options){.start_to_close_ms = 60000,
                                           .heartbeat_ms = 200,
                                           .retry = {.initial_interval_ms = 1}});
}

static int fan_out(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *futures[50];
    (void)input;
    (void)user;
    for (int i = 0; i < 50; i++) {
        futures[i] = dur_start_activity(ctx, "echo", dur_ctx_jsonf(ctx, "%d", i), NULL);
    }
    for (int i = 0; i < 50; i++) {
        int rc = dur_await(ctx, futures[i], result);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    return DUR_OK;
}

static int note(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    dur_upsert_memo(ctx, "{\"step\":\"one\",\"gone\":1}");
    int rc = dur_run(ctx, "echo", NULL, NULL, NULL);
    dur_upsert_memo(ctx, "{\"step\":\"two\",\"gone\":null}");
    return rc;
}

/* --- helpers --- */

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_activity(engine, "flaky", flaky, NULL);
    dur_register_activity(engine, "refuse", refuse, NULL);
    dur_register_activity(engine, "hang", hang, NULL);
    dur_register_activity(engine, "silent", silent, NULL);
    dur_register_workflow(engine, "chain", chain, NULL);
    dur_register_workflow(engine, "try_flaky", try_flaky, NULL);
    dur_register_workflow(engine, "try_refuse", try_refuse, NULL);
    dur_register_workflow(engine, "wait_signal", wait_signal, NULL);
    dur_register_workflow(engine, "sleepy", sleepy, NULL);
    dur_register_workflow(engine, "clean_up", clean_up, NULL);
    dur_register_workflow(engine, "timed", timed, NULL);
    dur_register_workflow(engine, "beaten", beaten, NULL);
    dur_register_workflow(engine, "fan_out", fan_out, NULL);
    dur_register_workflow(engine, "note", note, NULL);
}

/* --- tests --- */

Test(run, two_activities_in_a_row, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("chain", "{\"n\":9007199254740993}", &result), DUR_OK);
    cr_assert_str_eq(result, "[{\"got\":{\"n\":9007199254740993}},"
                             "{\"got\":{\"got\":{\"n\":9007199254740993}}}]");
    dur_free(result);
}

Test(run, transient_failures_are_retried_and_the_last_one_is_known, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("try_flaky", NULL, &result), DUR_OK);
    cr_assert_str_eq(result, "\"attempt 2\"");
    dur_free(result);
}

Test(run, permanent_failure_fails_the_run_at_once, .timeout = 60)
{
    atomic_store(&calls, 0);
    cr_assert_eq(run_one("try_refuse", NULL, NULL), DUR_FAILED);
    cr_assert_eq(atomic_load(&calls), 1);
}

Test(run, timer_fires, .timeout = 60)
{
    cr_assert_eq(run_one("sleepy", NULL, NULL), DUR_OK);
}

Test(run, fifty_activities_share_four_slots, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("fan_out", NULL, &result), DUR_OK);
    cr_assert_str_eq(result, "{\"got\":49}");
    dur_free(result);
}

Test(run, start_to_close_and_heartbeat_time_outs, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("timed", "{\"start\":50}", &result), DUR_OK);
    cr_assert_str_eq(result, "\"StartToClose\"");
    dur_free(result);
    cr_assert_eq(run_one("timed", "{\"start\":60000,\"beat\":50}", &result), DUR_OK);
    cr_assert_str_eq(result, "\"Heartbeat\"");
    dur_free(result);
}

Test(run, heartbeat_details_reach_the_next_attempt, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("beaten", NULL, &result), DUR_OK);
    cr_assert_str_eq(result, "{\"pid\":4711}");
    dur_free(result);
}

Test(run, memo_keys_are_merged_and_removed, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d;
    dur_start(engine, "note", "w", NULL, &(dur_start_options){.memo = "{\"kept\":true}"});
    dur_serve(engine, DUR_UNTIL_IDLE);
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_assert_str_eq(d->memo, "{\"kept\":true,\"step\":\"two\"}");
    cr_assert_eq(d->status, DUR_COMPLETED);
    dur_description_free(d);
    check_history(engine, "w");
    dur_close(engine);
}

Test(run, signals_wait_for_their_receiver, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    dur_start(engine, "wait_signal", "early", NULL, NULL);
    dur_start(engine, "wait_signal", "late", NULL, NULL);
    cr_assert_eq(dur_signal(engine, "early", "go", "1"), DUR_OK);
    cr_assert_eq(dur_signal(engine, "nobody", "go", "1"), DUR_NOT_FOUND);
    cr_assert_eq(dur_signal(engine, "late", "go", "not json"), DUR_INVALID);
    pthread_t thread;
    pthread_create(&thread, NULL, serve_thread, engine);
    cr_assert_eq(dur_result(engine, "early", WAIT_MS, &result), DUR_OK);
    cr_assert_str_eq(result, "1");
    dur_free(result);
    dur_engine *other = open_engine(path);
    cr_assert_eq(dur_signal(other, "late", "stop", "0"), DUR_OK);
    cr_assert_eq(dur_signal(other, "late", "go", "2"), DUR_OK);
    cr_assert_eq(dur_result(other, "late", WAIT_MS, &result), DUR_OK);
    cr_assert_str_eq(result, "2");
    dur_free(result);
    dur_stop(engine);
    pthread_join(thread, NULL);
    check_history(engine, "early");
    check_history(engine, "late");
    dur_close(other);
    dur_close(engine);
}

Test(run, cancel_runs_the_disconnected_cleanup, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread;
    atomic_store(&calls, 0);
    dur_start(engine, "clean_up", "w", NULL, NULL);
    pthread_create(&thread, NULL, serve_thread, engine);
    cr_assert_eq(dur_result(engine, "w", 50, NULL), DUR_TIMED_OUT);
    cr_assert_eq(dur_cancel(engine, "w", "enough"), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", "enough"), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_CANCELLED);
    cr_assert_eq(atomic_load(&calls), 1);
    dur_stop(engine);
    pthread_join(thread, NULL);
    check_history(engine, "w");
    dur_close(engine);
}

Test(run, terminate_closes_at_once_and_frees_the_slot, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread;
    dur_start(engine, "clean_up", "w", NULL, NULL);
    pthread_create(&thread, NULL, serve_thread, engine);
    dur_result(engine, "w", 30, NULL);
    cr_assert_eq(dur_terminate(engine, "w", "stop"), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_FAILED);
    dur_start(engine, "chain", "w", "1", NULL);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    dur_stop(engine);
    pthread_join(thread, NULL);
    dur_close(engine);
}

Test(run, ids_are_used_once_while_open, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "chain", "w", "1", &(dur_start_options){.request_id = "r1"}),
                 DUR_OK);
    cr_assert_eq(dur_start(engine, "chain", "w", "1", &(dur_start_options){.request_id = "r1"}),
                 DUR_OK);
    cr_assert_eq(dur_start(engine, "chain", "w", "1", NULL), DUR_EXISTS);
    dur_serve(engine, DUR_UNTIL_IDLE);
    cr_assert_eq(
        dur_start(engine, "chain", "w", "1", &(dur_start_options){.reuse = DUR_REUSE_FAILED_ONLY}),
        DUR_EXISTS);
    cr_assert_eq(dur_start(engine, "chain", "w", "1", NULL), DUR_OK);
    dur_close(engine);
}

Test(run, an_engine_killed_at_any_time_is_followed_by_the_next, .timeout = 120)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client = open_engine(path);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof(id), "w%d", i);
        dur_start(client, "fan_out", id, NULL, NULL);
    }
    for (int kill_after_ms = 1; kill_after_ms < 40; kill_after_ms += 3) {
        pid_t pid = serve_in_child(path);
        clock_sleep_ms(kill_after_ms);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    cr_assert_eq(dur_serve(client, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(client));
    for (int i = 0; i < 20; i++) {
        char id[16];
        char *result = NULL;
        snprintf(id, sizeof(id), "w%d", i);
        cr_assert_eq(dur_result(client, id, 0, &result), DUR_OK, "%s", dur_error(client));
        cr_assert_str_eq(result, "{\"got\":49}");
        dur_free(result);
        check_history(client, id);
    }
    dur_close(client);
}

Test(run, standby_takes_over_when_the_owner_dies, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client = open_engine(path);
    int64_t pid_seen = 0;
    pid_t first = serve_in_child(path);
    while (!dur_served_by(client, &pid_seen) || pid_seen != first) {
        clock_sleep_ms(2);
    }
    pid_t second = serve_in_child(path);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    dur_start(client, "chain", "w", "1", NULL);
    cr_assert_eq(dur_result(client, "w", WAIT_MS, NULL), DUR_OK, "%s", dur_error(client));
    cr_assert_eq(dur_served_by(client, &pid_seen), 1);
    cr_assert_eq(pid_seen, second);
    kill(second, SIGKILL);
    waitpid(second, NULL, 0);
    cr_assert_eq(dur_served_by(client, NULL), 0);
    dur_close(client);
}

Test(run, a_stop_puts_the_attempt_back_without_counting_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread;
    dur_start(engine, "timed", "w", "{\"start\":100}", NULL); /* max_attempts 1 */
    pthread_create(&thread, NULL, serve_thread, engine);
    dur_result(engine, "w", 30, NULL);
    dur_stop(engine);
    pthread_join(thread, NULL);
    char *result = NULL;
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "\"StartToClose\"");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

/* --- a changed workflow --- */

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    dur_sleep(ctx, 1);
    return dur_run(ctx, "echo", "1", NULL, NULL);
}

Test(run, changed_code_parks_the_run_and_mended_code_goes_on, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d;
    dur_start(engine, "wait_signal", "w", NULL, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, serve_thread, engine);
    dur_result(engine, "w", 50, NULL);
    dur_stop(engine);
    pthread_join(thread, NULL);
    dur_close(engine);

    cr_assert_eq(dur_open(&engine, path, NULL), DUR_OK);
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "wait_signal", changed, NULL);
    dur_signal(engine, "w", "go", "7");
    pthread_create(&thread, NULL, serve_thread, engine);
    do {
        dur_result(engine, "w", 20, NULL);
        cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
        bool parked = d->parked != NULL;
        dur_description_free(d);
        if (parked) {
            break;
        }
    } while (1);
    dur_stop(engine);
    pthread_join(thread, NULL);
    dur_close(engine);

    engine = open_engine(path);
    char *result = NULL;
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "7");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

/* What a bad disk may do to one run: the others do not care. */
Test(run, a_damaged_history_parks_its_run_alone, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d;
    pthread_t thread;
    dur_start(engine, "wait_signal", "damaged", NULL, NULL);
    dur_start(engine, "wait_signal", "sound", NULL, NULL);
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db,
                              "DROP TRIGGER event_batch_frozen;"
                              "UPDATE event_batch SET events = replace(events, ':', ';') "
                              "WHERE execution = 1;",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    sqlite3_close(db);
    pthread_create(&thread, NULL, serve_thread, engine);
    cr_assert_eq(dur_signal(engine, "sound", "go", "1"), DUR_OK);
    cr_assert_eq(dur_signal(engine, "damaged", "go", "1"), DUR_OK);
    cr_assert_eq(dur_result(engine, "sound", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "damaged", 100, NULL), DUR_TIMED_OUT);
    cr_assert_eq(dur_describe(engine, "damaged", &d), DUR_OK);
    cr_assert_not_null(d->parked);
    dur_description_free(d);
    cr_assert_eq(dur_terminate(engine, "damaged", "damaged"), DUR_OK);
    dur_stop(engine);
    pthread_join(thread, NULL);
    dur_close(engine);
}

/* A run that waits for long gives back what it does not need, and goes on as if it had not. */
Test(run, a_long_wait_changes_nothing, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread;
    char *result = NULL;
    dur_start(engine, "wait_signal", "w", NULL, NULL);
    pthread_create(&thread, NULL, serve_thread, engine);
    cr_assert_eq(dur_result(engine, "w", 2500, NULL), DUR_TIMED_OUT);
    cr_assert_eq(dur_signal(engine, "w", "go", "\"late\""), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK);
    cr_assert_str_eq(result, "\"late\"");
    dur_free(result);
    dur_stop(engine);
    pthread_join(thread, NULL);
    check_history(engine, "w");
    dur_close(engine);
}
