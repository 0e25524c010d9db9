/*
 * test_engine_replay.c - dur_replay: recorded histories against the code of today.
 */
#include "tests/lib/engine_fixture.h"

static atomic_int variant; /* of the workflow */

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    int rc = atomic_load(&variant) == 1 ? DUR_OK : dur_sleep(ctx, 1);
    if (rc == DUR_OK) {
        rc = dur_run(ctx, atomic_load(&variant) == 2 ? "other" : "echo", input, &value, NULL);
    }
    if (rc == DUR_OK && atomic_load(&variant) == 3) {
        rc = dur_run(ctx, "echo", value, &value, NULL);
    }
    *result = value;
    return rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "steps", steps, NULL);
}

/* A recorded history of "steps" (dur_free), and an engine to replay it with. */
static char *record(dur_engine **ret_engine)
{
    autofree char *path = temp_path("e.db");
    char *json = NULL;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "steps", "w", "[1]", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_history(engine, "w", &json), DUR_OK);
    *ret_engine = engine;
    return json;
}

Test(replay, the_code_that_wrote_it_fits, .timeout = 60)
{
    dur_engine *engine;
    char untouched[] = "untouched";
    char *report = untouched;
    char *json = record(&engine);
    cr_assert_eq(dur_replay(engine, json, &report), DUR_OK, "%s", dur_error(engine));
    cr_assert_null(report);
    cr_assert_eq(dur_replay(engine, json, NULL), DUR_OK);
    dur_free(json);
    dur_close(engine);
}

Test(replay, changed_code_is_reported_with_its_place, .timeout = 60)
{
    dur_engine *engine;
    char *json = record(&engine);
    for (int i = 1; i <= 3; i++) {
        char *report = NULL;
        atomic_store(&variant, i);
        cr_assert_eq(dur_replay(engine, json, &report), DUR_MISMATCH);
        cr_assert_not_null(report);
        cr_assert_not_null(strstr(report, "test_engine_replay.c"), "%s", report);
        cr_assert_not_null(strstr(dur_error(engine), "TMPRL1100"), "%s", dur_error(engine));
        dur_free(report);
        cr_assert_eq(dur_replay(engine, json, NULL), DUR_MISMATCH);
    }
    dur_free(json);
    dur_close(engine);
}

/* Cut anywhere but within what one task wrote: an engine never does that. */
Test(replay, a_history_that_breaks_off_fits_too, .timeout = 60)
{
    dur_engine *engine;
    struct err err = {0};
    struct history history;
    autoarena struct arena *arena = arena_new();
    char *json = record(&engine);
    cr_assert_eq(history_from_json(arena, json, strlen(json), &history, &err), 0);
    for (size_t count = history.count; count > 0; count--) {
        if (count < history.count && event_is_command(history.items[count].type)) {
            continue;
        }
        autostr struct str text = {0};
        history.count = count;
        history_to_json(&text, &history);
        cr_assert_eq(dur_replay(engine, str_c(&text), NULL), DUR_OK, "%zu: %s", count,
                     dur_error(engine));
    }
    dur_free(json);
    dur_close(engine);
}

Test(replay, what_is_no_history_is_refused, .timeout = 60)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"events\":[]}",
                                      "{\"events\":[{}]}",
                                      "{\"events\":[{\"eventId\":\"1\",\"eventType\":"
                                      "\"EVENT_TYPE_WORKFLOW_TASK_SCHEDULED\"}]}",
                                      NULL};
    dur_engine *engine;
    char *json = record(&engine);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *report = NULL;
        cr_assert_eq(dur_replay(engine, bad[i], &report), DUR_INVALID, "%zu", i);
        cr_assert_null(report);
        cr_assert_str_neq(dur_error(engine), "");
    }
    char *name = strstr(json, "\"steps\"");
    cr_assert_not_null(name);
    name[1] = 'x';
    cr_assert_eq(dur_replay(engine, json, NULL), DUR_NOT_FOUND);
    dur_free(json);
    dur_close(engine);
}
