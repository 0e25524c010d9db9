/*
 * changes.c - a program that changes while its runs are open, and runs that are found by what they
 * are about. The first program waits and ships. The second checks the stock first: a run that the
 * first one began stays on its way, a new one takes the other.
 */
#include "example.h"

static int raised; /* a setting of the world outside */

static int act(dur_activity *activity, const char *input, const char **result, void *user)
{
    (void)activity;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int read_limit(void *arg, const char **result)
{
    *result = *(int *)arg ? "200" : "100";
    return DUR_OK;
}

static int wait_and_ship(dur_ctx *ctx, const char *input, const char **result, int checks_stock)
{
    const char *limit; /* recorded when it changes, so that every replay sees the same */
    int rc = dur_upsert_search_attributes(
        ctx, dur_ctx_jsonf(ctx, "{\"Customer\":%j,\"Stage\":\"waiting\"}", input));
    rc = rc ? rc : dur_mutable_side_effect(ctx, "limit", read_limit, &raised, NULL, NULL);
    rc = rc || !checks_stock ? rc : dur_run(ctx, "CheckStock", input, NULL, NULL);
    rc = rc ? rc : dur_receive(ctx, "paid", -1, NULL);
    rc = rc ? rc : dur_mutable_side_effect(ctx, "limit", read_limit, &raised, NULL, &limit);
    rc = rc ? rc : dur_run(ctx, "Ship", input, result, NULL);
    return rc ? rc
              : dur_upsert_search_attributes(
                    ctx, dur_ctx_jsonf(ctx, "{\"Stage\":\"shipped\",\"Checked\":%b,\"Limit\":%j}",
                                       checks_stock, limit));
}

static int order_before(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return wait_and_ship(ctx, input, result, 0);
}

static int order_now(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int way = dur_patched(ctx, "check-stock"); /* 0: began before the change; negative: leave */
    (void)user;
    return way < 0 ? way : wait_and_ship(ctx, input, result, way);
}

static dur_engine *open_with(dur_workflow_fn order)
{
    dur_engine *engine = example_open();
    OK(engine, dur_register_activity(engine, "CheckStock", act, NULL));
    OK(engine, dur_register_activity(engine, "Ship", act, NULL));
    OK(engine, dur_register_workflow(engine, "Order", order, NULL));
    return engine;
}

static int count(void *user, int64_t token, const dur_description *run)
{
    *(int *)user += token > 0 && run;
    return 0;
}

static int runs_that(dur_engine *engine, const char *filter)
{
    int n = 0;
    OK(engine, dur_list_where(engine, filter, 0, 100, count, &n));
    return n;
}

int main(void)
{
    dur_engine *engine = open_with(order_before);
    OK(engine, dur_start(engine, "Order", "old", "\"ada\"", NULL));
    while (runs_that(engine, "Customer = 'ada' AND Stage = 'waiting'") < 1) {
        CHECK(dur_step(engine, 100) >= 0);
    }
    dur_close(engine);

    engine = open_with(order_now); /* the new program takes up the old run */
    OK(engine, dur_start(engine, "Order", "new", "\"ada\"", NULL));
    while (runs_that(engine, "Stage = 'waiting' AND Customer STARTS_WITH 'a'") < 2) {
        CHECK(dur_step(engine, 100) >= 0);
    }
    raised = 1;
    OK(engine, dur_signal(engine, "old", "paid", NULL));
    OK(engine, dur_signal(engine, "new", "paid", NULL));
    while (runs_that(engine, "Stage = 'shipped' AND ExecutionStatus = 'Completed'") < 2) {
        CHECK(dur_step(engine, 100) >= 0);
    }
    CHECK(runs_that(engine, "WorkflowId = 'old' AND Checked = false AND Limit = 200") == 1);
    CHECK(runs_that(engine, "WorkflowId = 'new' AND Checked = true AND Limit = 200") == 1);
    CHECK(runs_that(engine, "TemporalChangeVersion = 'check-stock'") == 1);
    return example_end(engine, "changes: an old run stayed on its way, a new one took the other");
}
