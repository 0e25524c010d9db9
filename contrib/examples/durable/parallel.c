/*
 * parallel.c - several activities at once: wait for all of them, or for the first.
 */
#include "example.h"

static int quote(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%i64", dur_json_int(input, "/price", 0));
    return dur_test_sleep(act, dur_json_int(input, "/days", 0) * DUR_DAYS);
}

static int start_quotes(dur_ctx *ctx, dur_future *quotes[3])
{
    dur_activity_options options = {0};
    options.start_to_close_ms = 30 * DUR_DAYS;
    quotes[0] = dur_start_activity(ctx, "Quote", "{\"days\":3,\"price\":30}", &options);
    quotes[1] = dur_start_activity(ctx, "Quote", "{\"days\":1,\"price\":50}", &options);
    quotes[2] = dur_start_activity(ctx, "Quote", "{\"days\":2,\"price\":40}", &options);
    return 3;
}

static int cheapest(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *quotes[3];
    int64_t best = INT64_MAX;
    int i, count = start_quotes(ctx, quotes);
    (void)input;
    (void)user;
    for (i = 0; i < count; i++) { /* they run all at once; this only collects */
        const char *price;
        int rc = dur_await(ctx, quotes[i], &price);
        if (rc != DUR_OK) {
            return rc;
        }
        best = dur_json_int(price, "", 0) < best ? dur_json_int(price, "", 0) : best;
    }
    *result = dur_ctx_jsonf(ctx, "%i64", best);
    return DUR_OK;
}

static int fastest(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *quotes[3];
    int i, count = start_quotes(ctx, quotes);
    int first = dur_select(ctx, quotes, count);
    (void)input;
    (void)user;
    if (first < 0) {
        return first;
    }
    for (i = 0; i < count; i++) { /* nobody needs the others any more */
        if (i != first) {
            dur_cancel_future(ctx, quotes[i]);
        }
    }
    return dur_await(ctx, quotes[first], result);
}

int main(void)
{
    dur_engine *engine = example_test();
    int64_t began = dur_test_now(engine);
    dur_register_workflow(engine, "Cheapest", cheapest, NULL);
    dur_register_workflow(engine, "Fastest", fastest, NULL);
    dur_test_mock(engine, "Quote", quote, NULL);
    OK(engine, dur_start(engine, "Cheapest", "all", NULL, NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "all", "30");
    CHECK(dur_test_now(engine) - began == 3 * DUR_DAYS * 1000000); /* not six days */
    OK(engine, dur_start(engine, "Fastest", "one", NULL, NULL));
    OK(engine, dur_test_advance(engine, DUR_DAYS));
    example_expect(engine, "one", "50");
    OK(engine, dur_test_run(engine));
    dur_close(engine);
    printf("parallel: all in three days, one in one\n");
    return 0;
}
