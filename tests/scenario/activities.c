/*
 * activities.c - scenarios of plain activities: in sequence, at once, cancelled with cleanup.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include "scenario.h"

/* --- in sequence -------------------------------------------------------------------------------
 */

static int sequence(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *step = input;
    (void)user;
    for (int i = 0; i < 3; i++) {
        int rc = dur_run(ctx, "Echo", step, &step, &scenario_quick);
        if (rc) {
            return rc;
        }
    }
    *result = step;
    return DUR_OK;
}

static int sequence_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Echo", input, result, &scenario_quick);
    return rc ? rc : dur_sleep(ctx, 1);
}

static int sequence_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Sequence", changed ? sequence_changed : sequence);
}

static struct scenario sequence_scenario = {.name = "activity-sequence",
                                            .primitive = "Activities, one after the other",
                                            .type = "Sequence",
                                            .id = "sequence",
                                            .input = "{\"n\":1}",
                                            .result = "{\"n\":1}",
                                            .setup = sequence_setup};
SCENARIO(sequence_scenario)

/* --- in parallel -------------------------------------------------------------------------------
 */

static int fan_out(dur_ctx *ctx, int count)
{
    dur_future *parts[4];
    for (int i = 0; i < count; i++) {
        parts[i] = dur_start_activity(ctx, "Echo", dur_ctx_jsonf(ctx, "%d", i), &scenario_quick);
    }
    for (int i = 0; i < count; i++) {
        int rc = dur_await(ctx, parts[i], NULL);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

static int parallel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = "\"all\"";
    return fan_out(ctx, 4);
}

static int parallel_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return fan_out(ctx, 2);
}

static int parallel_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Parallel", changed ? parallel_changed : parallel);
}

static struct scenario parallel_scenario = {.name = "activity-parallel",
                                            .primitive = "Activities, at once",
                                            .type = "Parallel",
                                            .id = "parallel",
                                            .result = "\"all\"",
                                            .varies = "activities end in any order",
                                            .setup = parallel_setup};
SCENARIO(parallel_scenario)

/* --- cancelled, with cleanup -------------------------------------------------------------------
 */

static int cleanup(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Echo", input, result, &scenario_quick);
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 100);
    }
    if (rc == DUR_CANCELLED) {
        (void)dur_run(dur_disconnected(ctx), "Echo", "\"undo\"", NULL, &scenario_quick);
    }
    return rc;
}

static int cleanup_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Other", input, result, &scenario_quick);
}

static int cleanup_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Cleanup", changed ? cleanup_changed : cleanup);
}

static int cleanup_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "Cleanup", "cleanup", "1");
    return rc ? rc : dur_cancel(engine, "cleanup", "no longer wanted");
}

static struct scenario cleanup_scenario = {.name = "cancel-cleanup",
                                           .primitive = "Cancellation, disconnected scopes",
                                           .type = "Cleanup",
                                           .id = "cleanup",
                                           .status = DUR_CANCELED,
                                           .setup = cleanup_setup,
                                           .drive = cleanup_drive};
SCENARIO(cleanup_scenario)
