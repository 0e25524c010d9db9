/*
 * test_engine_chain.c - runs that follow each other: continued as new, retried, due by cron; delayed
 * beginnings, time-outs of runs and of chains.
 */
#include "tests/lib/engine_fixture.h"

TestSuite(engine_chain, .init = temp_begin, .fini = temp_end, .timeout = 120);

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

Test(engine_chain, a_run_continues_as_new)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    dur_engine *engine = open_with(path, (dur_options){.chain_spacing_ms = -1});
    cr_assert_eq(dur_start(engine, "count_down", "w", "3", NULL), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    check_history(engine, "w");
    dur_close(engine);
}
