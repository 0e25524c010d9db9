/*
 * children.c - a workflow made of workflows: children at the same time, one that fails, one that is
 * left behind, and signals between runs.
 */
#include "example.h"

/* One parcel: a run of its own, with its own id and history. It waits for the courier. */
static int parcel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *courier;
    int rc;
    (void)user;
    if (dur_json_bool(input, "/broken", 0)) {
        return dur_fail_run(ctx, "Broken", "nothing to send");
    }
    rc = dur_receive(ctx, "courier", -1, &courier);
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "{\"by\":%j}", courier);
    }
    return rc;
}

/* Goes on after its parent has ended. */
static int survey(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    return dur_sleep(ctx, 10);
}

/* Another run, which knows nothing of the order but the ids that it is told. */
static int courier(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *id = dur_ctx_json_string(ctx, input, "/parcel");
    (void)result;
    (void)user;
    return dur_await(ctx, dur_signal_external(ctx, id, "courier", "\"ada\""), NULL);
}

static int order(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_child_options behind = {0};
    dur_future *first, *second;
    const char *by;
    int rc;
    (void)user;
    first = dur_start_child(ctx, "Parcel", input, NULL);
    second = dur_start_child(ctx, "Parcel", "{\"broken\":true}", NULL);

    /* A failure of a child is an answer like any other. */
    rc = dur_await(ctx, second, NULL);
    if (rc != DUR_FAILED) {
        return rc; /* cancelled, or sent home */
    }
    dur_log(ctx, "%s failed: %s", dur_failure(ctx)->child_id, dur_failure(ctx)->cause->message);

    /* Somebody who brings the other one. Its end is of no interest here, so it is left behind. */
    behind.parent_close = DUR_PARENT_CLOSE_ABANDON;
    rc = dur_child_started(
        ctx,
        dur_start_child(ctx, "Courier", dur_ctx_jsonf(ctx, "{\"parcel\":%q}", dur_child_id(first)),
                        &behind),
        NULL);
    if (rc == DUR_OK) {
        rc = dur_await(ctx, first, &by);
    }
    if (rc) {
        return rc; /* with it the children end: DUR_PARENT_CLOSE_TERMINATE is the default */
    }
    behind.workflow_id = "survey-1";
    dur_start_child(ctx, "Survey", "{\"stars\":5}", &behind); /* starts though this is the end */
    *result = by;
    return DUR_OK;
}

int main(void)
{
    dur_engine *engine = example_open();
    char *result;
    dur_register_workflow(engine, "Order", order, NULL);
    dur_register_workflow(engine, "Parcel", parcel, NULL);
    dur_register_workflow(engine, "Courier", courier, NULL);
    dur_register_workflow(engine, "Survey", survey, NULL);
    result = example_run(engine, "Order", "order-1", "{}");
    CHECK(strcmp(result, "{\"by\":\"ada\"}") == 0);
    dur_free(result);
    OK(engine, dur_result(engine, "survey-1", 0, &result));
    CHECK(strcmp(result, "{\"stars\":5}") == 0);
    dur_free(result);
    return example_end(engine, "children: workflows of workflows");
}
