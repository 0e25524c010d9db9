/*
 * test_engine_search.c - search attributes and list filters through the public interface.
 */
#include "tests/lib/engine_fixture.h"

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

/* Takes its input as its attributes, adds one, takes one away. */
static int tagged(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_upsert_search_attributes(ctx, input);
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "echo", input, NULL, NULL);
    }
    if (rc == DUR_OK && dur_patched(ctx, "second") == 1) {
        rc = dur_upsert_search_attributes(ctx, "{\"Stage\":\"done\",\"Draft\":null}");
    }
    *result = dur_search_attributes(ctx);
    return rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "tagged", tagged, NULL);
}

static int collect(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    str_addf(user, "%s ", d->workflow_id);
    return 0;
}

static void expect_list(dur_engine *engine, const char *filter, const char *expected)
{
    autostr struct str ids = {0};
    cr_assert_eq(dur_list_where(engine, filter, 0, 10, collect, &ids), DUR_OK, "%s",
                 dur_error(engine));
    cr_expect_str_eq(str_c(&ids), expected, "%s: %s", filter, str_c(&ids));
}

Test(search, attributes_are_stored_found_and_replayed, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d;
    cr_assert_eq(
        dur_start(engine, "tagged", "a", "{\"Customer\":\"c1\",\"Amount\":3,\"Draft\":true}", NULL),
        DUR_OK);
    cr_assert_eq(
        dur_start(engine, "tagged", "b", "{\"Customer\":\"c2\",\"Tags\":[\"x\",\"y\"]}", NULL),
        DUR_OK);
    serve_until_idle(engine);
    expect_list(engine, "Customer = 'c1'", "a ");
    expect_list(engine, "Stage = 'done' AND WorkflowType = 'tagged'", "b a ");
    expect_list(engine, "Draft = true", "");
    expect_list(engine, "Tags IN ('y', 'z') OR Amount > 2.5", "b a ");
    expect_list(engine, "TemporalChangeVersion = 'second' AND ExecutionStatus = 'Completed'",
                "b a ");
    expect_list(engine, "", "b a ");
    cr_assert_eq(dur_describe(engine, "a", &d), DUR_OK);
    cr_expect_str_eq(d->search_attributes,
                     "{\"Customer\":\"c1\",\"Amount\":3,\"TemporalChangeVersion\":[\"second\"],"
                     "\"Stage\":\"done\"}");
    cr_expect_str_eq(d->result, d->search_attributes, "code saw the same");
    dur_description_free(d);
    check_history(engine, "a");
    check_history(engine, "b");
    dur_close(engine);
}

/* Before any code ran, with the types that JSON does not show. */
Test(search, attributes_of_a_start_are_found_at_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    static const char *const bad[] = {
        "[]", "{\"A\":{}}", "{\"A\":[1]}",
        "{",  "{\"\":1}",   "{\"A\":{\"type\":\"Datetime\",\"value\":\"noon\"}}"};
    cr_assert_eq(
        dur_start(engine, "tagged", "a", "{\"Stage\":\"x\"}",
                  &(dur_start_options){.search_attributes =
                                           "{\"Customer\":\"c1\",\"Score\":{\"type\":\"Double\","
                                           "\"value\":3},\"Due\":{\"type\":\"Datetime\",\"value\":"
                                           "\"2026-01-02T04:04:05.5+01:00\"}}"}),
        DUR_OK, "%s", dur_error(engine));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(dur_start(engine, "tagged", "b", NULL,
                               &(dur_start_options){.search_attributes = bad[i]}),
                     DUR_INVALID, "%s", bad[i]);
    }
    autofree char *much = mem_printf("{\"A\":\"%050000d\"}", 0);
    cr_expect_eq(
        dur_start(engine, "tagged", "b", NULL, &(dur_start_options){.search_attributes = much}),
        DUR_LIMIT);
    expect_list(engine, "Customer = 'c1' AND ExecutionStatus = 'Running'", "a ");
    expect_list(engine, "Score BETWEEN 2.5 AND 3", "a ");
    expect_list(engine, "Due > '2026-01-02T03:04:05.4Z' AND Due < '2026-01-02T03:04:06Z'", "a ");
    cr_assert_eq(dur_pause(engine, "a", "lunch"), DUR_OK);
    expect_list(engine, "ExecutionStatus = 'Running'", "");
    expect_list(engine, "ExecutionStatus = 'Paused'", "a ");
    cr_assert_eq(dur_resume(engine, "a", NULL), DUR_OK);
    serve_until_idle(engine);
    expect_list(engine, "Customer = 'c1' AND Stage = 'done' AND CloseTime IS NOT NULL", "a ");
    check_history(engine, "a");
    dur_close(engine);
}

Test(search, a_mistake_is_told_with_its_column, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    autostr struct str ids = {0};
    cr_expect_eq(dur_list_where(engine, "WorkflowType 'x'", 0, 10, collect, &ids), DUR_INVALID);
    cr_expect(strstr(dur_error(engine), "filter: column 14: "), "%s", dur_error(engine));
    cr_expect_eq(dur_list_where(engine, NULL, 0, 10, collect, &ids), DUR_INVALID);
    cr_expect_eq(dur_list_where(engine, "", 0, 10, NULL, &ids), DUR_INVALID);
    cr_expect_eq(dur_list_where(engine, "\xff", 0, 10, collect, &ids), DUR_INVALID);
    cr_expect_eq(dur_list_where(engine, "", -1, 10, collect, &ids), DUR_INVALID);
    dur_close(engine);
}
