/*
 * facts.c - what a workflow uses instead of the clock, chance, ids and looking around: the same
 * answers at every replay. The test engine replays after every task.
 */
#include "example.h"

static int looks; /* how often the world was asked */

/* Something quick that an activity would be too much for. */
static int look_at_price(void *arg, const char **result)
{
    const char *const *price = arg;
    looks++;
    *result = *price;
    return DUR_OK;
}

static int trader(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *first, *now;
    int64_t began = dur_now_ns(ctx); /* of the task: stands still while the code runs */
    uint64_t dice = dur_random(ctx) % 6;
    const char *ticket = dur_uuid(ctx);
    int rises = 0, i, rc;
    (void)input;
    rc = dur_side_effect(ctx, look_at_price, user, &first); /* once, for ever */
    for (i = 0; rc == DUR_OK && i < 5; i++) {
        rc = dur_sleep(ctx, DUR_DAYS);
        if (rc == DUR_OK) { /* looks every day, and writes down only what changed */
            rc = dur_mutable_side_effect(ctx, "price", look_at_price, user, NULL, &now);
        }
        rises += rc == DUR_OK && dur_json_int(now, "", 0) > dur_json_int(first, "", 0);
    }
    if (rc != DUR_OK) {
        return rc;
    }
    dur_log(ctx, "dice %d, ticket %s", (int)dice, ticket); /* once, not at every replay */
    *result = dur_ctx_jsonf(ctx, "{\"rises\":%d,\"days\":%i64,\"ticket\":%q}", rises,
                            (dur_now_ns(ctx) - began) / 1000000 / DUR_DAYS, ticket);
    return DUR_OK;
}

static int markers(const char *history)
{
    int count = 0;
    while ((history = strstr(history, "EVENT_TYPE_MARKER_RECORDED")) != NULL) {
        history++;
        count++;
    }
    return count;
}

int main(void)
{
    const char *price = "100";
    char *result = NULL, *history = NULL;
    dur_engine *engine = example_test();
    dur_register_workflow(engine, "Trader", trader, &price);
    OK(engine, dur_start(engine, "Trader", "t", NULL, NULL));
    OK(engine, dur_test_advance(engine, 3 * DUR_DAYS + DUR_HOURS));
    price = "101";
    OK(engine, dur_test_run(engine));
    OK(engine, dur_result(engine, "t", 0, &result));
    CHECK(dur_json_int(result, "/rises", 0) == 2);
    CHECK(dur_json_int(result, "/days", 0) == 5);
    CHECK(looks == 6); /* five times replayed, six times asked */
    OK(engine, dur_history(engine, "t", &history));
    CHECK(markers(history) == 3); /* the first price, and two that differed from the last */
    dur_free(history);
    dur_free(result);
    dur_close(engine);
    printf("facts: asked six times, written down three\n");
    return 0;
}
