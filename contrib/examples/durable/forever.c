/*
 * forever.c - what goes on for ever: a run that continues as new, one that is tried again as a
 * whole, one that comes every morning. Time skips (testing.c says how).
 */
#include "example.h"

/* A counter of visitors. Its history would grow with every one of them, so after ten (a real
 * program asks dur_continue_suggested) the next run takes over with the count; visitors that come
 * meanwhile go along. */
static int visitors(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t count = dur_json_int(input, "", 0);
    int here;
    (void)user;
    for (here = 0; here < 10; here++) {
        int rc = dur_receive(ctx, "visitor", DUR_DAYS, NULL);
        if (rc == DUR_TIMED_OUT) { /* a day without any */
            *result = dur_ctx_jsonf(ctx, "%i64", count);
            return DUR_OK;
        }
        if (rc) {
            return rc;
        }
        count++;
    }
    return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", count), NULL);
}

/* Does not succeed before its third attempt. */
static int migration(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const dur_failure_info *before = dur_last_failure(ctx);
    (void)input;
    (void)user;
    if (dur_attempt(ctx) < 3) {
        return dur_fail_run(ctx, "Locked", "attempt %d found the table locked", dur_attempt(ctx));
    }
    *result = dur_ctx_jsonf(ctx, "%q", before->message);
    return DUR_OK;
}

/* Each report adds to the last one. */
static int report(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = dur_ctx_jsonf(ctx, "%i64", dur_json_int(dur_last_result(ctx), "", 0) + 1);
    return DUR_OK;
}

static int sum_results(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    if (strcmp(d->type, "Report") == 0 && d->result) {
        *(int64_t *)user += dur_json_int(d->result, "", 0);
    }
    return 0;
}

int main(void)
{
    dur_retry_policy twice_as_long = {0};
    dur_start_options retried = {0}, daily = {0};
    dur_engine *engine;
    char *result = NULL;
    int64_t sum = 0;
    int i;
    OK(engine, dur_test_open(&engine, NULL));
    dur_register_workflow(engine, "Visitors", visitors, NULL);
    dur_register_workflow(engine, "Migration", migration, NULL);
    dur_register_workflow(engine, "Report", report, NULL);

    OK(engine, dur_start(engine, "Visitors", "door", "0", NULL));
    for (i = 0; i < 25; i++) {
        OK(engine, dur_signal(engine, "door", "visitor", NULL));
    }
    OK(engine, dur_test_run(engine));
    OK(engine, dur_result(engine, "door", 0, &result)); /* of the last run of the chain */
    CHECK(strcmp(result, "25") == 0);
    dur_free(result);

    twice_as_long.initial_interval_ms = DUR_MINUTES;
    retried.retry = &twice_as_long;
    OK(engine, dur_start(engine, "Migration", "m", NULL, &retried));
    OK(engine, dur_test_run(engine)); /* a minute later, then two minutes later */
    OK(engine, dur_result(engine, "m", 0, &result));
    CHECK(strcmp(result, "\"attempt 2 found the table locked\"") == 0);
    dur_free(result);

    daily.cron = "CRON_TZ=Europe/Berlin 30 6 * * *";
    OK(engine, dur_start(engine, "Report", "r", NULL, &daily));
    OK(engine, dur_test_advance(engine, 3 * DUR_DAYS));
    OK(engine, dur_terminate(engine, "r", "seen enough")); /* the one that waits for tomorrow */
    OK(engine, dur_list(engine, DUR_COMPLETED, 0, 100, sum_results, &sum));
    CHECK(sum == 1 + 2 + 3);
    return example_end(engine,
                       "forever: three runs counted visitors, three attempts, three reports");
}
