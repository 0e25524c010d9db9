/*
 * testing.c - testing a workflow of one's own: time that skips, mocks instead of the world, and
 * replay after every task.
 */
#include "example.h"

/* The workflow under test: an invoice is sent; a month later it is reminded of, until it is paid.
 */
static int invoice(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int reminders = 0;
    int rc = dur_run(ctx, "Send", input, NULL, NULL);
    (void)user;
    while (rc == DUR_OK) {
        rc = dur_receive(ctx, "paid", 30 * DUR_DAYS, NULL);
        if (rc == DUR_OK) {
            *result = dur_ctx_jsonf(ctx, "{\"reminders\":%d}", reminders);
            return DUR_OK;
        }
        if (rc == DUR_TIMED_OUT && reminders < 3) {
            reminders++;
            rc = dur_run(ctx, "Remind", input, NULL, NULL);
        } else if (rc == DUR_TIMED_OUT) {
            return dur_fail_run(ctx, "Unpaid", "%d reminders were of no use", reminders);
        }
    }
    return rc;
}

static int count(dur_activity *act, const char *input, const char **result, void *user)
{
    int *calls = user;
    (void)input;
    (void)result;
    *calls += 1;
    return dur_test_sleep(act, 2 * DUR_MINUTES); /* so long does the post office take */
}

static dur_engine *open_test(int *sent, int *reminded)
{
    dur_test_options options = {0};
    dur_engine *engine;
    options.replay_always = 1; /* find what is not deterministic */
    OK(engine, dur_test_open(&engine, &options));
    dur_register_workflow(engine, "Invoice", invoice, NULL);
    dur_test_mock(engine, "Send", count, sent);
    dur_test_mock(engine, "Remind", count, reminded);
    OK(engine, dur_start(engine, "Invoice", "i-1", "{\"cents\":4200}", NULL));
    return engine;
}

static void who_pays_late_is_reminded(void)
{
    int sent = 0, reminded = 0;
    char *result = NULL;
    dur_engine *engine = open_test(&sent, &reminded);
    OK(engine, dur_test_advance(engine, 29 * DUR_DAYS));
    CHECK(sent == 1 && reminded == 0);
    OK(engine, dur_test_advance(engine, 2 * DUR_DAYS));
    CHECK(reminded == 1);
    OK(engine, dur_signal(engine, "i-1", "paid", NULL));
    OK(engine, dur_test_run(engine));
    OK(engine, dur_result(engine, "i-1", 0, &result));
    CHECK(strcmp(result, "{\"reminders\":1}") == 0);
    dur_free(result);
    dur_close(engine);
}

static void who_never_pays_is_given_up(void)
{
    int sent = 0, reminded = 0;
    dur_engine *engine = open_test(&sent, &reminded);
    int64_t began = dur_test_now(engine);
    OK(engine, dur_test_run(engine)); /* four months, in no time */
    CHECK(dur_result(engine, "i-1", 0, NULL) == DUR_FAILED);
    CHECK(reminded == 3);
    CHECK((dur_test_now(engine) - began) / 1000000 == 4 * (30 * DUR_DAYS + 2 * DUR_MINUTES));
    dur_close(engine);
}

int main(void)
{
    who_pays_late_is_reminded();
    who_never_pays_is_given_up();
    printf("testing: four months took no time\n");
    return 0;
}
