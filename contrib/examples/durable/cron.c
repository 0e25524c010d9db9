/*
 * cron.c - runs that follow one another: cron, and the retry of a run as a whole.
 */
#include "example.h"

/* Fails on the third night; a failed night does not end the cron. */
static int nightly(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t nights = dur_json_int(dur_last_result(ctx), "/nights", 0) + 1;
    int *failures = user;
    (void)input;
    if (dur_last_failure(ctx)) {
        *failures += 1;
    }
    if (nights == 3 && !dur_last_failure(ctx)) {
        return dur_fail_run(ctx, "NoMoon", "it is too dark");
    }
    *result = dur_ctx_jsonf(ctx, "{\"nights\":%i64}", nights);
    return DUR_OK;
}

static int unlucky(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    if (dur_attempt(ctx) < 4) {
        return dur_fail_run(ctx, "NotYet", "attempt %d", dur_attempt(ctx));
    }
    *result = dur_ctx_jsonf(ctx, "%d", dur_attempt(ctx));
    return DUR_OK;
}

int main(void)
{
    dur_engine *engine = example_test();
    dur_start_options options = {0};
    dur_retry_policy retry = {0};
    int failures = 0;
    int64_t began;
    dur_register_workflow(engine, "Nightly", nightly, &failures);
    dur_register_workflow(engine, "Unlucky", unlucky, NULL);

    options.cron = "30 2 * * *"; /* also "@daily", "@every 90s", "CRON_TZ=Europe/Berlin 30 2 ..." */
    OK(engine, dur_start(engine, "Nightly", "n", NULL, &options));
    OK(engine, dur_test_advance(engine, 5 * DUR_DAYS));
    CHECK(failures == 1);
    OK(engine, dur_terminate(engine, "n", "the bulb is broken"));
    OK(engine, dur_test_run(engine));

    options.cron = NULL;
    retry.initial_interval_ms = DUR_HOURS; /* 1, 2, 4 hours between the runs */
    retry.maximum_interval_ms = DUR_DAYS;
    options.retry = &retry;
    began = dur_test_now(engine);
    OK(engine, dur_start(engine, "Unlucky", "s", NULL, &options));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "s", "4"); /* of the whole chain */
    CHECK((dur_test_now(engine) - began) / 1000000 / DUR_HOURS == 7);
    dur_close(engine);
    printf("cron: five nights, and four attempts in seven hours\n");
    return 0;
}
