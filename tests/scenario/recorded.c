/*
 * recorded.c - scenarios of what a run records of itself: side effect, code version, memo, numbers
 * and times that are the same in every replay.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include "scenario.h"

static int pick(void *arg, const char **result)
{
    (void)arg;
    *result = "42";
    return DUR_OK;
}

static int side_effect(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value;
    (void)input;
    (void)user;
    int rc = dur_side_effect(ctx, pick, NULL, &value);
    if (rc == DUR_OK) {
        rc = dur_upsert_memo(ctx, dur_ctx_jsonf(ctx, "{\"picked\":%j}", value));
    }
    return rc ? rc : dur_run(ctx, "Echo", value, result, &scenario_quick);
}

static int side_effect_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int side_effect_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "SideEffect", changed ? side_effect_changed : side_effect);
}

static struct scenario side_effect_scenario = {.name = "side-effect",
                                               .primitive = "Side effects, memo",
                                               .type = "SideEffect",
                                               .id = "side-effect",
                                               .result = "42",
                                               .setup = side_effect_setup};
SCENARIO(side_effect_scenario)

static int version(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int way = dur_code_version(ctx, "second-step", -1, 1);
    int rc = dur_run(ctx, "Echo", input, result, &scenario_quick);
    if (rc == DUR_OK && way == 1) {
        rc = dur_run(ctx, "Echo", "\"two\"", result, &scenario_quick);
    }
    return rc;
}

static int version_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)dur_code_version(ctx, "second-step", 2, 3); /* 1 is not supported any more */
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int version_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Version", changed ? version_changed : version);
}

static struct scenario version_scenario = {.name = "code-version",
                                           .primitive = "Code versions",
                                           .type = "Version",
                                           .id = "version",
                                           .input = "\"one\"",
                                           .result = "\"two\"",
                                           .setup = version_setup};
SCENARIO(version_scenario)

/* Numbers, ids and times: a replay that drew others would run other activities. */
static int same_again(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int64_t before_ns = dur_now_ns(ctx);
    const char *id = dur_uuid(ctx);
    int rc = dur_run(ctx, dur_random(ctx) % 2 ? "Heads" : "Tails", dur_ctx_jsonf(ctx, "%q", id),
                     result, &scenario_quick);
    dur_log(ctx, "said once");
    *result = "\"done\"";
    return rc == DUR_OK && dur_now_ns(ctx) < before_ns ? DUR_CANCELLED : rc;
}

static int same_again_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)dur_random(ctx);
    return same_again(ctx, input, result, user) ?: dur_sleep(ctx, 1);
}

static int same_again_setup(dur_engine *engine, bool changed)
{
    int rc =
        dur_register_workflow(engine, "SameAgain", changed ? same_again_changed : same_again, NULL);
    if (rc == DUR_OK) {
        rc = dur_register_activity(engine, "Heads", scenario_echo, NULL);
    }
    return rc ? rc : dur_register_activity(engine, "Tails", scenario_echo, NULL);
}

static struct scenario same_again_scenario = {.name = "deterministic",
                                              .primitive =
                                                  "Deterministic time, random numbers, ids, log",
                                              .type = "SameAgain",
                                              .id = "same-again",
                                              .result = "\"done\"",
                                              .varies = "every run draws its own numbers",
                                              .setup = same_again_setup};
SCENARIO(same_again_scenario)
