/*
 * control.c - what others may do to a run: start it by a signal, replace it, hold it, take it back
 * to a point of its history after the world (or the program) was mended.
 */
#include "example.h"

static int approved(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run(ctx, "LookUpPrice", NULL, result, NULL);
    (void)input;
    (void)user;
    return rc ? rc : dur_receive(ctx, "approve", -1, NULL);
}

/* The price list was wrong at first. */
static int look_up(dur_activity *act, const char *input, const char **result, void *user)
{
    int *cents = user;
    (void)input;
    *result = dur_jsonf(act, "%d", *cents);
    return DUR_OK;
}

static dur_status status_of(dur_engine *engine, const char *id)
{
    dur_description *d = NULL;
    dur_status status;
    OK(engine, dur_describe(engine, id, &d));
    status = d->status;
    dur_description_free(d);
    return status;
}

static int approve(dur_engine *engine, const char *request_id)
{
    dur_start_options once = {0};
    once.request_id = request_id; /* a repeated request changes nothing */
    return dur_signal_with_start(engine, "Approved", "offer", NULL, "approve", NULL, &once);
}

int main(void)
{
    dur_start_options replace = {0};
    dur_reset_options lookup = {0};
    dur_engine *engine;
    char *result = NULL;
    int cents = 999;
    OK(engine, dur_test_open(&engine, NULL));
    dur_register_workflow(engine, "Approved", approved, NULL);
    dur_register_activity(engine, "LookUpPrice", look_up, &cents);

    /* The run that is there is replaced: one commit ends it and begins the new one. */
    OK(engine, dur_start(engine, "Approved", "offer", NULL, NULL));
    CHECK(dur_start(engine, "Approved", "offer", NULL, NULL) == DUR_EXISTS);
    replace.conflict = DUR_CONFLICT_TERMINATE_EXISTING;
    OK(engine, dur_start(engine, "Approved", "offer", NULL, &replace));
    OK(engine, dur_test_run(engine));

    /* Held: the approval is recorded and waits. */
    OK(engine, dur_pause(engine, "offer", "the auditors are here"));
    OK(engine, approve(engine, "click-1"));
    OK(engine, approve(engine, "click-1"));
    OK(engine, dur_test_run(engine));
    CHECK(status_of(engine, "offer") == DUR_PAUSED);
    OK(engine, dur_resume(engine, "offer", "they are gone"));
    OK(engine, dur_test_run(engine));
    OK(engine, dur_result(engine, "offer", 0, &result));
    CHECK(strcmp(result, "999") == 0);
    dur_free(result);

    /* Taken back to its first task (events: started, scheduled, started, completed = 4). The price
     * is looked up again, the approval comes again by itself. */
    cents = 899;
    lookup.event_id = 4;
    lookup.reason = "the price list is mended";
    OK(engine, dur_reset(engine, "offer", NULL, &lookup));
    OK(engine, dur_test_run(engine));
    OK(engine, dur_result(engine, "offer", 0, &result));
    CHECK(strcmp(result, "899") == 0);
    dur_free(result);

    /* Nobody offers any more: the same call starts a run that finds the approval waiting. */
    OK(engine, approve(engine, "click-2"));
    OK(engine, dur_test_run(engine));
    CHECK(status_of(engine, "offer") == DUR_COMPLETED);
    return example_end(engine, "control: replaced, held, taken back, begun by a signal");
}
