/*
 * external.c - scenarios of runs that speak to each other: signals to a child and to any other run,
 * cancel requests, and nobody there.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include "scenario.h"

static int target(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "hello", -1, result);
}

static int sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, DUR_HOURS);
}

static int other(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int register_all(dur_engine *engine, const char *type, dur_workflow_fn fn)
{
    int rc = scenario_register(engine, type, fn);
    rc = rc ? rc : dur_register_workflow(engine, "ExternalSleeper", sleeper, NULL);
    return rc ? rc : dur_register_workflow(engine, "ExternalTarget", target, NULL);
}

/* --- signal ------------------------------------------------------------------------------------
 */

static int signals(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    return dur_await(ctx, dur_signal_external(ctx, "external-signal-target", "hello", input), NULL);
}

static int signals_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    return dur_await(ctx, dur_signal_external(ctx, "external-signal-target", "howdy", input), NULL);
}

static int signals_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ExternalSignal", changed ? signals_changed : signals);
}

static int signals_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "ExternalTarget", "external-signal-target", NULL);
    return rc && rc != DUR_EXISTS
               ? rc
               : scenario_start(engine, "ExternalSignal", "external-signal", "\"hi\"");
}

/* Cancelled before it signals, the target would wait for ever. */
static void signals_during(dur_engine *engine)
{
    char *result = NULL;
    if (dur_result(engine, "external-signal", -1, &result) == DUR_CANCELLED) {
        dur_signal(engine, "external-signal-target", "hello", "\"late\"");
    }
    dur_free(result);
}

static struct scenario signals_scenario = {.name = "external-signal",
                                           .primitive = "Signals to other runs",
                                           .type = "ExternalSignal",
                                           .id = "external-signal",
                                           .setup = signals_setup,
                                           .drive = signals_drive,
                                           .during = signals_during};
SCENARIO(signals_scenario)

/* --- cancel ------------------------------------------------------------------------------------
 */

static int cancels(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_await(ctx, dur_cancel_external(ctx, "external-cancel-target", "enough"), NULL);
}

static int cancels_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ExternalCancel", changed ? other : cancels);
}

static int cancels_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "ExternalSleeper", "external-cancel-target", NULL);
    return rc && rc != DUR_EXISTS
               ? rc
               : scenario_start(engine, "ExternalCancel", "external-cancel", NULL);
}

static void cancels_during(dur_engine *engine)
{
    char *result = NULL;
    if (dur_result(engine, "external-cancel", -1, &result) == DUR_CANCELLED) {
        dur_cancel(engine, "external-cancel-target", "late");
    }
    dur_free(result);
}

static struct scenario cancels_scenario = {.name = "external-cancel",
                                           .primitive = "Cancel requests to other runs",
                                           .type = "ExternalCancel",
                                           .id = "external-cancel",
                                           .setup = cancels_setup,
                                           .drive = cancels_drive,
                                           .during = cancels_during};
SCENARIO(cancels_scenario)

/* --- nobody there ------------------------------------------------------------------------------
 */

static int nobody(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *signal = dur_signal_external(ctx, "external-nobody-there", "hello", input);
    dur_future *cancel = dur_cancel_external(ctx, "external-nobody-there", NULL);
    (void)user;
    int rc = dur_await(ctx, signal, NULL);
    if (rc == DUR_FAILED) {
        rc = dur_await(ctx, cancel, NULL);
    }
    if (rc != DUR_FAILED) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "%q", dur_failure(ctx)->type);
    return DUR_OK;
}

static int nobody_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ExternalNobody", changed ? other : nobody);
}

static struct scenario nobody_scenario = {.name = "external-not-found",
                                          .primitive = "Requests to runs that are not there",
                                          .type = "ExternalNobody",
                                          .id = "external-not-found",
                                          .result = "\"ExternalWorkflowExecutionNotFound\"",
                                          .setup = nobody_setup};
SCENARIO(nobody_scenario)

/* --- a child -----------------------------------------------------------------------------------
 */

static int signals_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *child = dur_start_child(ctx, "ExternalTarget", NULL,
                                        &(dur_child_options){.workflow_id = "child-signal-kid"});
    (void)user;
    int rc = dur_child_started(ctx, child, NULL);
    if (rc == DUR_OK) {
        rc = dur_await(ctx, dur_signal_child(ctx, child, "hello", input), NULL);
    }
    return rc ? rc : dur_await(ctx, child, result);
}

static int signals_child_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildSignal", changed ? other : signals_child);
}

static struct scenario signals_child_scenario = {.name = "child-signal",
                                                 .primitive = "Signals to a child",
                                                 .type = "ChildSignal",
                                                 .id = "child-signal",
                                                 .input = "\"hi\"",
                                                 .result = "\"hi\"",
                                                 .setup = signals_child_setup};
SCENARIO(signals_child_scenario)
