/*
 * test_engine_look.c - describing, listing, waiting for and exporting runs.
 */
#include "tests/lib/engine_fixture.h"

static int echo(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_json_bool(input, "/wait", 0)) {
        return dur_receive(ctx, "go", -1, result);
    }
    if (dur_json_bool(input, "/fail", 0)) {
        return dur_fail_run(ctx, "Sad", "it went wrong");
    }
    *result = input;
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "echo", echo, NULL);
}

/* "a b c" of the listed workflow ids, and the token of the last one. */
struct rows {
    struct str ids;
    int64_t last;
    int stop_after; /* rows; 0: never */
    int count;
};

static int collect(void *user, int64_t token, const dur_description *d)
{
    struct rows *rows = user;
    str_addf(&rows->ids, "%s%s", rows->ids.len ? " " : "", d->workflow_id);
    rows->last = token;
    return ++rows->count == rows->stop_after;
}

static void check_list(dur_engine *engine, dur_status status, int64_t after, int limit,
                       int stop_after, const char *expected, int64_t *ret_last)
{
    struct rows rows = {.stop_after = stop_after};
    cr_assert_eq(dur_list(engine, status, after, limit, collect, &rows), DUR_OK);
    cr_assert_str_eq(str_c(&rows.ids), expected);
    if (ret_last) {
        *ret_last = rows.last;
    }
    str_free(&rows.ids);
}

Test(look, runs_are_listed_newest_first_page_by_page, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    int64_t token = 0;
    check_list(engine, (dur_status)0, 0, 10, 0, "", NULL);
    dur_start(engine, "echo", "a", NULL, NULL);
    dur_start(engine, "echo", "b", "{\"fail\":true}", NULL);
    dur_start(engine, "echo", "c", NULL, NULL);
    serve_until_idle(engine);
    dur_start(engine, "echo", "d", "{\"wait\":true}", NULL);
    dur_start(engine, "echo", "e", "{\"wait\":true}", NULL);
    check_list(engine, (dur_status)0, 0, 10, 0, "e d c b a", NULL);
    check_list(engine, (dur_status)0, 0, 2, 0, "e d", &token);
    check_list(engine, (dur_status)0, token, 2, 0, "c b", &token);
    check_list(engine, (dur_status)0, token, 2, 0, "a", &token);
    check_list(engine, (dur_status)0, token, 2, 0, "", NULL);
    check_list(engine, (dur_status)0, 0, 10, 3, "e d c", NULL);
    check_list(engine, (dur_status)0, 0, 0, 0, "", NULL);
    check_list(engine, DUR_RUNNING, 0, 10, 0, "e d", NULL);
    check_list(engine, DUR_COMPLETED, 0, 1, 0, "c", &token);
    check_list(engine, DUR_COMPLETED, token, 1, 0, "a", NULL);
    check_list(engine, DUR_RUN_FAILED, 0, 10, 0, "b", NULL);
    check_list(engine, DUR_TERMINATED, 0, 10, 0, "", NULL);
    cr_assert_eq(dur_list(engine, (dur_status)0, 0, -1, collect, NULL), DUR_INVALID);
    cr_assert_eq(dur_list(engine, (dur_status)99, 0, 1, collect, NULL), DUR_INVALID);
    cr_assert_eq(dur_list(engine, (dur_status)0, 0, 1, NULL, NULL), DUR_INVALID);
    dur_close(engine);
}

Test(look, a_description_has_everything, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d = NULL;
    const dur_start_options o = {.memo = " {\"k\": [1, 2]}", .task_queue = "mine"};
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_NOT_FOUND);
    cr_assert_eq(dur_describe(engine, NULL, &d), DUR_NOT_FOUND);
    cr_assert_eq(dur_describe(engine, "w", NULL), DUR_INVALID);
    dur_start(engine, "echo", "w", "{\"fail\":true}", &o);
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_assert_eq(d->status, DUR_RUNNING);
    cr_assert_str_eq(d->workflow_id, "w");
    cr_assert_eq(strlen(d->run_id), 36);
    cr_assert_str_eq(d->type, "echo");
    cr_assert_str_eq(d->task_queue, "mine");
    cr_assert_str_eq(d->memo, "{\"k\":[1, 2]}");
    cr_assert_eq(d->closed_ns, 0);
    cr_assert_gt(d->started_ns, 0);
    cr_assert_eq(d->history_events, 2);
    cr_assert_gt(d->history_bytes, 0);
    cr_assert_null(d->result);
    cr_assert_null(d->failure);
    cr_assert_null(d->parked);
    dur_description_free(d);
    serve_until_idle(engine);
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_assert_eq(d->status, DUR_RUN_FAILED);
    cr_assert_geq(d->closed_ns, d->started_ns);
    cr_assert_not_null(strstr(d->failure, "it went wrong"));
    cr_assert_not_null(strstr(d->failure, "\"applicationFailureInfo\""));
    cr_assert_null(d->result);
    dur_description_free(d);
    dur_close(engine);
}

Test(look, a_run_is_named_by_its_run_id_too, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d;
    char *result = NULL;
    dur_start(engine, "echo", "w", "1", NULL);
    serve_until_idle(engine);
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    autofree char *first = mem_printf("w@%s", d->run_id);
    autofree char *foreign = mem_printf("v@%s", d->run_id);
    dur_description_free(d);
    dur_start(engine, "echo", "w", "2", NULL);
    dur_start(engine, "echo", "mail@example.org", "3", NULL);
    serve_until_idle(engine);
    static const char *const expected[] = {"1", "2", "3"};
    const char *const ids[] = {first, "w", "mail@example.org"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(dur_result(engine, ids[i], 0, &result), DUR_OK, "%s", ids[i]);
        cr_assert_str_eq(result, expected[i]);
        dur_free(result);
        check_history(engine, ids[i]);
    }
    cr_assert_eq(dur_result(engine, foreign, 0, NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_result(engine, "w@", 0, NULL), DUR_NOT_FOUND);
    dur_close(engine);
}

Test(look, results_say_how_it_ended, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    dur_start(engine, "echo", "w", "{\"wait\":true}", NULL);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_TIMED_OUT);
    cr_assert_eq(dur_result(engine, "w", 20, &result), DUR_TIMED_OUT);
    cr_assert_eq(dur_result(engine, "nobody", -1, &result), DUR_NOT_FOUND);
    cr_assert_null(result);
    dur_cancel(engine, "w", NULL);
    dur_start(engine, "echo", "v", NULL, NULL);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", INT64_MAX, NULL), DUR_CANCELLED);
    cr_assert_eq(dur_result(engine, "v", -1, &result), DUR_OK);
    cr_assert_str_eq(result, "null");
    dur_free(result);
    dur_close(engine);
}

static void *run_it(void *path)
{
    dur_engine *engine = open_engine(path);
    dur_start(engine, "echo", "other", NULL, NULL);
    serve_until_idle(engine);
    dur_close(engine);
    return NULL;
}

Test(look, a_waiting_client_hears_of_the_end_of_its_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    dur_start(engine, "echo", "w", "[7]", NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, run_it, path);
    cr_assert_eq(dur_result(engine, "w", -1, &result), DUR_OK);
    cr_assert_str_eq(result, "[7]");
    dur_free(result);
    pthread_join(thread, NULL);
    dur_close(engine);
}

Test(look, histories_are_exported_in_temporals_form, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *json = NULL;
    dur_start(engine, "echo", "w", "{\"x\":\"\\u00e9\"}", NULL);
    cr_assert_eq(dur_history(engine, "w", NULL), DUR_INVALID);
    cr_assert_eq(dur_history(engine, "v", &json), DUR_NOT_FOUND);
    serve_until_idle(engine);
    cr_assert_eq(dur_history(engine, "w", &json), DUR_OK);
    cr_assert(str_starts(json, "{\"events\":["), "%.40s", json);
    cr_assert_not_null(strstr(json, "\"eventType\":\"EVENT_TYPE_WORKFLOW_EXECUTION_STARTED\""));
    cr_assert_not_null(strstr(json, "\"workflowTaskCompletedEventId\":\"4\""));
    dur_free(json);
    check_history(engine, "w");
    dur_close(engine);
}
