/*
 * test_engine_chain.c - runs that follow each other: continued as new, retried, due by cron;
 * delayed beginnings, time-outs of runs and of chains.
 */
#include "tests/lib/engine_fixture.h"

#define TEST(name) Test(engine_chain, name, .timeout = 120)

static int count_down(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t left = dur_json_int(input, "", 0);
    (void)user;
    if (left > 0) {
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", left - 1), NULL);
    }
    *result = dur_ctx_jsonf(ctx, "%q", dur_run_id(ctx));
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "count_down", count_down, NULL);
}

static dur_engine *open_quick(const char *path)
{
    return open_with(path, (dur_options){.chain_spacing_ms = -1});
}

static void start(dur_engine *engine, const char *type, const char *input,
                  const dur_start_options *options)
{
    cr_assert_eq(dur_start(engine, type, "w", input, options), DUR_OK, "%s", dur_error(engine));
}

static dur_description *describe(dur_engine *engine, const char *id)
{
    dur_description *d = NULL;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s: %s", id, dur_error(engine));
    return d;
}

/* Walks the chain from the newest run's first to its end; every history is checked. Its length. */
static int walk(dur_engine *engine)
{
    dur_description *d = describe(engine, "w");
    char *run_id = mem_strdup(d->first_run_id);
    int count = 0;
    dur_description_free(d);
    while (run_id) {
        autofree char *id = mem_printf("w@%s", run_id);
        check_history(engine, id);
        d = describe(engine, id);
        cr_assert_str_eq(d->run_id, run_id);
        free(run_id);
        run_id = mem_strdup(d->next_run_id);
        dur_description_free(d);
        count++;
    }
    return count;
}

TEST(a_run_continues_as_new)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    dur_engine *engine = open_quick(path);
    start(engine, "count_down", "3", NULL);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(walk(engine), 4);
    dur_close(engine);
}
