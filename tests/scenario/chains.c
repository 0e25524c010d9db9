/*
 * chains.c - scenarios of runs that follow each other, wait for their time, pause, and are taken
 * back.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include <string.h>

#include "scenario.h"

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_run(ctx, "Another", NULL, NULL, &scenario_quick);
}

/* --- continue-as-new ---------------------------------------------------------------------------
 */

/* Input: how many runs are to follow. A word that comes early is for the last of them. */
static int countdown(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t left = dur_json_int(input, "", 0);
    const char *word = NULL;
    (void)user;
    int rc = dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    if (rc == DUR_OK && left > 0) {
        dur_upsert_memo(ctx, dur_ctx_jsonf(ctx, "{\"left\":%i64}", left - 1));
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", left - 1), NULL);
    }
    rc = rc ? rc : dur_receive(ctx, "word", -1, &word);
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", word, dur_memo(ctx));
    return rc;
}

static int countdown_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Countdown", is_changed ? changed : countdown);
}

static int countdown_drive(dur_engine *engine)
{
    return dur_signal_with_start(engine, "Countdown", "countdown", "2", "word", "\"early\"",
                                 &(dur_start_options){.request_id = "scenario"});
}

static struct scenario countdown_scenario = {.name = "continue-as-new",
                                             .primitive = "Continue-as-new, with signals and memo",
                                             .type = "Countdown",
                                             .id = "countdown",
                                             .result = "[\"early\",{\"left\":0}]",
                                             .setup = countdown_setup,
                                             .drive = countdown_drive};
SCENARIO(countdown_scenario)

/* --- retry of whole runs -----------------------------------------------------------------------
 */

static int persist(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const dur_failure_info *before = dur_last_failure(ctx);
    (void)user;
    int rc = dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    if (rc == DUR_OK && dur_attempt(ctx) < 3) {
        return dur_fail_run(ctx, "NotYet", "attempt %d", dur_attempt(ctx));
    }
    *result = dur_ctx_jsonf(ctx, "[%d,%q]", dur_attempt(ctx), before ? before->message : NULL);
    return rc;
}

static int persist_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Persist", is_changed ? changed : persist);
}

static int persist_drive(dur_engine *engine)
{
    dur_retry_policy policy = {.initial_interval_ms = 2, .maximum_attempts = 5};
    return dur_start(engine, "Persist", "persist", "1",
                     &(dur_start_options){.request_id = "scenario", .retry = &policy});
}

static struct scenario persist_scenario = {.name = "run-retry",
                                           .primitive = "Workflow retry",
                                           .type = "Persist",
                                           .id = "persist",
                                           .result = "[3,\"attempt 2\"]",
                                           .setup = persist_setup,
                                           .drive = persist_drive};
SCENARIO(persist_scenario)

/* --- cron ---------------------------------------------------------------------------------------
 */

/* Two points, then it ends its chain. */
static int tick(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Echo", input, result, &scenario_quick);
    return rc ? rc : dur_last_result(ctx) ? DUR_CANCELLED : DUR_OK;
}

static int tick_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Tick", is_changed ? changed : tick);
}

static int tick_drive(dur_engine *engine)
{
    return dur_start(engine, "Tick", "tick", "1",
                     &(dur_start_options){.request_id = "scenario", .cron = "@every 1s"});
}

static struct scenario tick_scenario = {.name = "cron",
                                        .is_slow = true,
                                        .primitive = "Workflow cron",
                                        .type = "Tick",
                                        .id = "tick",
                                        .status = DUR_CANCELED,
                                        .varies = "each delay is what is left of a second",
                                        .setup = tick_setup,
                                        .drive = tick_drive};
SCENARIO(tick_scenario)

/* --- time-outs of runs and chains ---------------------------------------------------------------
 */

static int oversleep(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    if (dur_json_int(input, "", 0) == 0) {
        return dur_continue_as_new(ctx, "1", NULL);
    }
    return dur_sleep(ctx, 10 * DUR_MINUTES);
}

static int oversleep_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Oversleep", is_changed ? changed : oversleep);
}

static int run_timeout_drive(dur_engine *engine)
{
    return dur_start(engine, "Oversleep", "run-timeout", "1",
                     &(dur_start_options){.request_id = "scenario", .run_timeout_ms = 500});
}

static struct scenario run_timeout_scenario = {.name = "run-timeout",
                                               .primitive = "Run timeout",
                                               .type = "Oversleep",
                                               .id = "run-timeout",
                                               .status = DUR_RUN_TIMED_OUT,
                                               .setup = oversleep_setup,
                                               .drive = run_timeout_drive};
SCENARIO(run_timeout_scenario)

static int execution_timeout_drive(dur_engine *engine)
{
    return dur_start(
        engine, "Oversleep", "execution-timeout", "0",
        &(dur_start_options){.request_id = "scenario",
                             .execution_timeout_ms = scenario_on_server() ? 4000 : 200});
}

static struct scenario execution_timeout_scenario = {
    .name = "execution-timeout",
    .primitive = "Execution timeout, of a chain",
    .type = "Oversleep",
    .id = "execution-timeout",
    .status = DUR_RUN_TIMED_OUT,
    .varies = "a slow machine uses the time up before the second run",
    .setup = oversleep_setup,
    .drive = execution_timeout_drive};
SCENARIO(execution_timeout_scenario)

/* --- start delay -------------------------------------------------------------------------------
 */

static int late(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *word = NULL;
    (void)user;
    int rc = dur_receive(ctx, "word", 0, &word);
    rc = rc ? rc : dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    *result = word;
    return rc;
}

static int late_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Late", is_changed ? changed : late);
}

static int late_drive(dur_engine *engine)
{
    int rc = dur_start(engine, "Late", "late", "1",
                       &(dur_start_options){.request_id = "scenario", .start_delay_ms = 30});
    return rc ? rc : dur_signal_once(engine, "late", "word", "\"waiting\"", "scenario");
}

static struct scenario late_scenario = {.name = "start-delay",
                                        .primitive = "Start delay; a signal meanwhile",
                                        .type = "Late",
                                        .id = "late",
                                        .result = "\"waiting\"",
                                        .setup = late_setup,
                                        .drive = late_drive};
SCENARIO(late_scenario)

/* --- signal-with-start -------------------------------------------------------------------------
 */

static int greeted(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL, *b = NULL;
    (void)user;
    int rc = dur_receive(ctx, "hello", -1, &a);
    rc = rc ? rc : dur_receive(ctx, "hello", -1, &b);
    rc = rc ? rc : dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return rc;
}

static int greeted_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Greeted", is_changed ? changed : greeted);
}

static int greeted_drive(dur_engine *engine)
{
    dur_start_options first = {.request_id = "first", .reuse = DUR_REUSE_REJECT};
    dur_start_options second = {.request_id = "second", .reuse = DUR_REUSE_REJECT};
    int rc = dur_signal_with_start(engine, "Greeted", "greeted", "1", "hello", "1", &first);
    return rc ? rc
              : dur_signal_with_start(engine, "Greeted", "greeted", "1", "hello", "2", &second);
}

static struct scenario greeted_scenario = {.name = "signal-with-start",
                                           .primitive = "Signal-with-start",
                                           .type = "Greeted",
                                           .id = "greeted",
                                           .result = "[1,2]",
                                           .setup = greeted_setup,
                                           .drive = greeted_drive};
SCENARIO(greeted_scenario)

/* --- terminate-existing ------------------------------------------------------------------------
 */

static int replaced(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int replaced_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Replaced", is_changed ? changed : replaced);
}

static int replaced_drive(dur_engine *engine)
{
    int rc = dur_start(engine, "Replaced", "replaced", "\"old\"",
                       &(dur_start_options){.request_id = "old"});
    return rc ? rc
              : dur_start(engine, "Replaced", "replaced", "\"new\"",
                          &(dur_start_options){.request_id = "new",
                                               .conflict = DUR_CONFLICT_TERMINATE_EXISTING});
}

static struct scenario replaced_scenario = {.name = "terminate-existing",
                                            .primitive = "Conflict policy: terminate existing",
                                            .type = "Replaced",
                                            .id = "replaced",
                                            .result = "\"new\"",
                                            .varies = "its end names the run id of the new one",
                                            .setup = replaced_setup,
                                            .drive = replaced_drive};
SCENARIO(replaced_scenario)

/* --- pause ---------------------------------------------------------------------------------------
 */

static int paused(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_receive(ctx, "word", -1, result);
    return rc ? rc : dur_run(ctx, "Echo", input, NULL, &scenario_quick);
}

static int paused_setup(dur_engine *engine, bool is_changed)
{
    return scenario_register(engine, "Paused", is_changed ? changed : paused);
}

static int paused_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "Paused", "paused", "1");
    rc = rc ? rc : dur_pause(engine, "paused", "lunch");
    rc = rc ? rc : dur_signal_once(engine, "paused", "word", "\"meanwhile\"", "scenario");
    return rc ? rc : dur_resume(engine, "paused", "back");
}

static struct scenario paused_scenario = {.name = "pause",
                                          .primitive = "Pause and resume of a run",
                                          .type = "Paused",
                                          .id = "paused",
                                          .result = "\"meanwhile\"",
                                          .setup = paused_setup,
                                          .no_server = "most servers cannot pause a run",
                                          .drive = paused_drive};
SCENARIO(paused_scenario)

/* --- reset ---------------------------------------------------------------------------------------
 */

static int count_run(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    *(int *)user += strcmp(d->workflow_id, "regret") == 0;
    return 0;
}

/* Takes its own run back to its first task, once; then nobody waits for this attempt any more. */
static int undo(dur_activity *act, const char *input, const char **result, void *user)
{
    dur_engine *engine = user;
    int runs = 0;
    (void)input;
    int rc = dur_list(engine, 0, 0, 10, count_run, &runs);
    if (rc == DUR_OK && runs == 1) {
        rc = dur_reset(engine, dur_activity_workflow_id(act), NULL,
                       &(dur_reset_options){.event_id = 4, .reason = "again"});
    }
    *result = dur_jsonf(act, "%d", runs);
    return rc == DUR_OK ? DUR_OK : dur_fail(act, DUR_TRANSIENT, "Undo", "%s", dur_error(engine));
}

static int regret(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    return rc ? rc : dur_run(ctx, "Undo", NULL, result, &scenario_quick);
}

static int regret_setup(dur_engine *engine, bool is_changed)
{
    int rc = scenario_register(engine, "Regret", is_changed ? changed : regret);
    return rc ? rc : dur_register_activity(engine, "Undo", undo, engine);
}

static struct scenario regret_scenario = {.name = "reset",
                                          .primitive = "Reset",
                                          .type = "Regret",
                                          .id = "regret",
                                          .input = "1",
                                          .result = "2",
                                          .setup = regret_setup};
SCENARIO(regret_scenario)
