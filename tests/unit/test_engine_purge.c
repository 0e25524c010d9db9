/*
 * test_engine_purge.c - retention as its users see it: while an engine serves, and at once.
 */
#include "engine/engine.h"
#include "journal/store.h"
#include "tests/lib/engine_fixture.h"

#define HOUR_MS (3600 * 1000)

static int quick(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    return dur_sleep(ctx, dur_json_int(input, "", 1));
}

static int parent(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc =
        dur_run_child(ctx, "quick", input, result, &(dur_child_options){.workflow_id = "child"});
    return rc == DUR_OK ? dur_receive(ctx, "go", -1, NULL) : rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "quick", quick, NULL);
    dur_register_workflow(engine, "parent", parent, NULL);
}

/* An engine whose time skips, with this retention. */
static dur_engine *open_keeping(int64_t keep_ms, int64_t keep_runs)
{
    dur_engine *engine;
    cr_assert_eq(dur_test_open(&engine, NULL), DUR_OK);
    engine->options.keep_closed_ms = keep_ms;
    engine->options.keep_closed_runs = keep_runs;
    fixture_register(engine);
    return engine;
}

static void run_some(dur_engine *engine, const char *prefix, int count)
{
    for (int i = 0; i < count; i++) {
        autofree char *id = mem_printf("%s-%d", prefix, i);
        cr_assert_eq(dur_start(engine, "quick", id, "1000", NULL), DUR_OK, "%s", dur_error(engine));
    }
    cr_assert_eq(dur_test_advance(engine, 2000), DUR_OK);
}

static int count_row(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    (void)d;
    ++*(int *)user;
    return 0;
}

static int runs_of(dur_engine *engine)
{
    int count = 0;
    cr_assert_eq(dur_list(engine, 0, 0, 100000, count_row, &count), DUR_OK);
    return count;
}

static void check_whole(dur_engine *engine)
{
    struct err err = {0};
    cr_assert_eq(store_check(engine->store, &err), 0, "%s", err.text);
}

Test(engine_purge, runs_go_when_they_are_old, .timeout = 60)
{
    dur_engine *engine = open_keeping(HOUR_MS, 0);
    run_some(engine, "a", 5);
    cr_assert_eq(dur_test_advance(engine, HOUR_MS / 2), DUR_OK);
    run_some(engine, "b", 3);
    cr_assert_eq(runs_of(engine), 8);
    cr_assert_eq(dur_test_advance(engine, HOUR_MS / 2 + 5000), DUR_OK);
    cr_assert_eq(runs_of(engine), 3);
    cr_assert_eq(dur_describe(engine, "a-0", &(dur_description *){NULL}), DUR_NOT_FOUND);
    cr_assert_eq(dur_test_advance(engine, HOUR_MS), DUR_OK);
    cr_assert_eq(runs_of(engine), 0);
    check_whole(engine);
    dur_close(engine);
}

Test(engine_purge, runs_go_when_they_are_many, .timeout = 60)
{
    dur_engine *engine = open_keeping(0, 4);
    run_some(engine, "a", 10);
    cr_assert_eq(dur_test_advance(engine, 5000), DUR_OK);
    cr_assert_eq(runs_of(engine), 4);
    run_some(engine, "b", 3);
    cr_assert_eq(dur_test_advance(engine, 5000), DUR_OK);
    cr_assert_eq(runs_of(engine), 4);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "b-2", 0, &result), DUR_OK);
    dur_free(result);
    check_whole(engine);
    dur_close(engine);
}

Test(engine_purge, without_a_limit_all_stay, .timeout = 60)
{
    dur_engine *engine = open_keeping(0, 0);
    run_some(engine, "a", 5);
    cr_assert_eq(dur_test_advance(engine, 1000L * HOUR_MS), DUR_OK);
    cr_assert_eq(runs_of(engine), 5);
    dur_close(engine);
}

Test(engine_purge, a_new_engine_removes_what_the_last_one_left, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "quick", "a", "1", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_start(engine, "quick", "b", "1", NULL), DUR_OK);
    serve_until_idle(engine);
    dur_close(engine);
    engine = open_with(path, (dur_options){.keep_closed_runs = 1});
    pthread_t thread = serve_begin(engine);
    wait_until(runs_of(engine) == 1);
    serve_end(engine, thread);
    cr_assert_eq(dur_describe(engine, "a", &(dur_description *){NULL}), DUR_NOT_FOUND);
    dur_close(engine);
}

Test(engine_purge, a_parent_keeps_what_it_learnt, .timeout = 60)
{
    dur_engine *engine = open_keeping(0, 0);
    dur_purged purged;
    cr_assert_eq(dur_start(engine, "parent", "p", "7", NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, 10), DUR_OK);
    dur_purge_options o = {.older_than_ms = 1};
    cr_assert_eq(dur_purge(engine, &purged, &o), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(purged.runs, 1);
    cr_assert_eq(dur_describe(engine, "child", &(dur_description *){NULL}), DUR_NOT_FOUND);
    check_whole(engine);
    cr_assert_eq(dur_signal(engine, "p", "go", NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "p", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "7");
    dur_free(result);
    check_history(engine, "p");
    dur_close(engine);
}

Test(engine_purge, at_once_and_the_file_shrinks, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    autofree char *big = mem_alloc(200003);
    memset(big, 'x', 200002);
    big[0] = big[200001] = '"';
    dur_purged told, purged;
    for (int i = 0; i < 20; i++) {
        autofree char *id = mem_printf("r-%d", i);
        big[1] = (char)('a' + i);
        cr_assert_eq(dur_start(engine, "quick", id, big, NULL), DUR_OK);
    }
    serve_until_idle(engine);
    clock_sleep_ms(2);
    dur_purge_options dry = {.keep_runs = 5, .dry_run = 1};
    dur_purge_options wet = {.keep_runs = 5};
    cr_assert_eq(dur_purge(engine, &told, &dry), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(told.runs, 15);
    cr_assert_eq(told.freed_bytes, 0);
    cr_assert_eq(runs_of(engine), 20);
    cr_assert_eq(dur_purge(engine, &purged, &wet), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(purged.runs, 15);
    cr_assert_eq(purged.events, told.events);
    cr_assert_eq(purged.history_bytes, told.history_bytes);
    cr_assert_gt(purged.freed_bytes, 0);
    cr_assert_eq(runs_of(engine), 5);
    check_whole(engine);
    cr_assert_eq(dur_purge(engine, &purged, &wet), DUR_OK);
    cr_assert_eq(purged.runs, 0);
    dur_close(engine);
}

Test(engine_purge, beside_an_engine_that_serves, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_engine *client = open_engine(path);
    pthread_t thread = serve_begin(engine);
    dur_purge_options o = {.older_than_ms = 1};
    for (int i = 0; i < 30; i++) {
        autofree char *id = mem_printf("r-%d", i);
        cr_assert_eq(dur_start(engine, "quick", id, "1", NULL), DUR_OK);
        cr_assert_eq(dur_purge(client, NULL, &o), DUR_OK, "%s", dur_error(client));
    }
    wait_until((dur_purge(client, NULL, &o), runs_of(client) == 0));
    serve_end(engine, thread);
    check_whole(client);
    dur_close(client);
    dur_close(engine);
}

Test(engine_purge, nonsense_is_refused, .timeout = 60)
{
    dur_engine *engine = open_keeping(0, 0);
    dur_purge_options none = {0};
    dur_purge_options negative = {.older_than_ms = -1, .keep_runs = 5};
    dur_purge_options huge = {.older_than_ms = INT64_MAX};
    run_some(engine, "a", 1);
    cr_assert_eq(dur_purge(engine, NULL, &none), DUR_INVALID);
    cr_assert(strstr(dur_error(engine), "how many stay"), "%s", dur_error(engine));
    cr_assert_eq(dur_purge(engine, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_purge(engine, NULL, &negative), DUR_INVALID);
    cr_assert_eq(dur_purge(engine, NULL, &huge), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_purge(NULL, NULL, &huge), DUR_INVALID);
    cr_assert_eq(runs_of(engine), 1);
    dur_close(engine);
}
