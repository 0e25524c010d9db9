/*
 * cancel.c - a cancelled run cleans up: scopes that can be cancelled alone, and one that cannot.
 */
#include "example.h"

static int machine_on;

static int start_machine(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)user;
    machine_on = 1;
    *result = "true";
    return DUR_OK;
}

static int stop_machine(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    machine_on = 0;
    return DUR_OK;
}

/* Notices that it should stop: at a heartbeat, or as here in a wait that ends early. */
static int burn_in(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_test_sleep(act, 5 * DUR_DAYS);
}

static int trial(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options polite = {0};
    dur_ctx *warm_up = dur_scope(ctx);
    int rc = dur_run(ctx, "StartMachine", NULL, NULL, NULL);
    (void)input;
    (void)user;
    if (rc != DUR_OK) {
        return rc;
    }
    /* A scope of its own: cancelling it is no concern of the rest. */
    dur_future *fan = dur_timer(warm_up, 30 * DUR_DAYS);
    dur_cancel_scope(warm_up);
    CHECK(dur_await(ctx, fan, NULL) == DUR_CANCELLED && !dur_is_cancelled(ctx));

    polite.cancellation = DUR_WAIT_CANCEL; /* learn how it really ended */
    polite.start_to_close_ms = 10 * DUR_DAYS;
    rc = dur_run(ctx, "BurnIn", NULL, NULL, &polite);
    if (rc == DUR_UNWIND) { /* only this process leaves the run: nothing is to be cleaned up */
        return rc;
    }
    if (rc == DUR_CANCELLED) {
        *result = dur_ctx_jsonf(ctx, "%q", dur_cancel_reason(ctx));
    }
    int stopped = dur_run(dur_disconnected(ctx), "StopMachine", NULL, NULL, NULL);
    return stopped == DUR_OK ? rc : stopped;
}

int main(void)
{
    dur_engine *engine = example_test();
    dur_register_workflow(engine, "Trial", trial, NULL);
    dur_test_mock(engine, "StartMachine", start_machine, NULL);
    dur_test_mock(engine, "StopMachine", stop_machine, NULL);
    dur_test_mock(engine, "BurnIn", burn_in, NULL);

    OK(engine, dur_start(engine, "Trial", "whole", NULL, NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "whole", "null");
    CHECK(!machine_on);

    OK(engine, dur_start(engine, "Trial", "short", NULL, NULL));
    OK(engine, dur_test_advance(engine, DUR_DAYS));
    CHECK(machine_on);
    OK(engine, dur_cancel(engine, "short", "the power bill"));
    OK(engine, dur_test_advance(engine, 0));
    CHECK(dur_result(engine, "short", 0, NULL) == DUR_CANCELLED);
    CHECK(!machine_on);
    dur_close(engine);
    printf("cancel: the machine is off\n");
    return 0;
}
