/*
 * endless.c - a run that goes on for ever continues as new, so that no history grows without bound.
 */
#include "example.h"

/* Counts days; every thirty it hands over to a fresh run of the same id. */
static int calendar(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t day = dur_json_int(input, "/day", 0);
    int64_t until = dur_json_int(input, "/until", 0);
    int i;
    (void)user;
    for (i = 0; i < 30 && !dur_continue_suggested(ctx); i++) {
        int rc = day < until ? dur_sleep(ctx, DUR_DAYS) : DUR_OK;
        if (rc != DUR_OK) {
            return rc;
        }
        if (day == until) {
            *result = dur_ctx_jsonf(ctx, "{\"days\":%i64}", day);
            return DUR_OK;
        }
        day++;
    }
    return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "{\"day\":%i64,\"until\":%i64}", day, until),
                               NULL);
}

static int count(void *user, int64_t token, const dur_description *description)
{
    int *runs = user;
    (void)token;
    *runs += strcmp(description->workflow_id, "gregor") == 0;
    CHECK(description->history_events < 200);
    return 0;
}

int main(void)
{
    dur_engine *engine = example_test();
    int runs = 0;
    dur_register_workflow(engine, "Calendar", calendar, NULL);
    OK(engine, dur_start(engine, "Calendar", "gregor", "{\"day\":0,\"until\":360}", NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "gregor", "{\"days\":360}"); /* follows the chain to its end */
    OK(engine, dur_list(engine, DUR_CONTINUED_AS_NEW, 0, 100, count, &runs));
    CHECK(runs == 12);
    dur_close(engine);
    printf("endless: 360 days in 13 runs, no history longer than 200 events\n");
    return 0;
}
