/*
 * timers.c - durable timers: sleeping for weeks, a deadline for something else, a regular tick.
 */
#include "example.h"

static int deliver(dur_activity *act, const char *input, const char **result, void *user)
{
    int *reminders = user;
    (void)input;
    (void)result;
    return dur_test_sleep(act, *reminders < 2 ? 10 * DUR_DAYS : DUR_HOURS);
}

static int remind(dur_activity *act, const char *input, const char **result, void *user)
{
    int *reminders = user;
    (void)act;
    (void)input;
    (void)result;
    *reminders += 1;
    return DUR_OK;
}

/* Waits for the delivery, and reminds every third day while it does. */
static int parcel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options patient = {0};
    dur_future *wait[2];
    int rc = dur_sleep(ctx, 14 * DUR_DAYS); /* it is not ordered before; costs nothing */
    (void)input;
    (void)user;
    if (rc != DUR_OK) {
        return rc;
    }
    patient.start_to_close_ms = 30 * DUR_DAYS;
    wait[0] = dur_start_activity(ctx, "Deliver", NULL, &patient);
    for (;;) {
        wait[1] = dur_timer(ctx, 3 * DUR_DAYS);
        rc = dur_select(ctx, wait, 2);
        if (rc == 0) {
            dur_cancel_future(ctx, wait[1]);
            *result = "\"delivered\"";
            return dur_await(ctx, wait[0], NULL);
        }
        if (rc < 0 || (rc = dur_run(ctx, "Remind", NULL, NULL, NULL)) != DUR_OK) {
            return rc;
        }
    }
}

int main(void)
{
    int reminders = 0;
    dur_engine *engine = example_test();
    int64_t began = dur_test_now(engine);
    dur_register_workflow(engine, "Parcel", parcel, NULL);
    dur_test_mock(engine, "Deliver", deliver, &reminders);
    dur_test_mock(engine, "Remind", remind, &reminders);
    OK(engine, dur_start(engine, "Parcel", "p-1", NULL, NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "p-1", "\"delivered\"");
    CHECK(reminders == 3);
    CHECK((dur_test_now(engine) - began) / 1000000 == 24 * DUR_DAYS); /* to the millisecond */
    dur_close(engine);
    printf("timers: twenty-four days\n");
    return 0;
}
