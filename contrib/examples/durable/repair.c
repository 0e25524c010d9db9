/*
 * repair.c - when something went wrong: hold a run, let it go on, take it back to an earlier point.
 */
#include "example.h"

static int rate; /* what a careless colleague typed in */

static int price(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%i64", dur_json_int(input, "", 0) * rate);
    return DUR_OK;
}

static int invoice(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_receive(ctx, "deliver", -1, NULL);
    (void)user;
    return rc != DUR_OK ? rc : dur_run(ctx, "Price", input, result, NULL);
}

int main(void)
{
    dur_engine *engine = example_test();
    char *run_id = NULL;
    dur_description *description;
    dur_register_workflow(engine, "Invoice", invoice, NULL);
    dur_test_mock(engine, "Price", price, NULL);
    OK(engine, dur_start(engine, "Invoice", "i", "10", NULL));
    OK(engine, dur_test_run(engine));

    /* Held: what comes is kept, nothing is done. */
    OK(engine, dur_pause(engine, "i", "prices are being checked"));
    OK(engine, dur_signal(engine, "i", "deliver", NULL));
    OK(engine, dur_test_run(engine));
    CHECK(dur_result(engine, "i", 0, NULL) == DUR_TIMED_OUT);
    OK(engine, dur_describe(engine, "i", &description));
    CHECK(strcmp(description->paused, "prices are being checked") == 0);
    dur_description_free(description);
    OK(engine, dur_resume(engine, "i", NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "i", "0"); /* the rate was wrong after all */

    /* Taken back to its first task: the signal comes again, the price is asked for anew. */
    rate = 7;
    dur_reset_options options = {0};
    options.event_id = 4;
    options.reason = "the rate was 0";
    OK(engine, dur_reset(engine, "i", &run_id, &options));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "i", "70");
    dur_free(run_id);
    dur_close(engine);
    printf("repair: 70, not 0\n");
    return 0;
}
