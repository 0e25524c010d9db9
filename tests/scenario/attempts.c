/*
 * attempts.c - scenarios of how activities and runs fail: retries, failures with compensation, the
 * four timeouts, heartbeat details that reach the next attempt.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include <string.h>

#include "base/clock.h"
#include "scenario.h"

/* Of an activity that waits to be told. A server tells only who sends heartbeats. */
#define PATIENCE_MS 190 /* rule of scenario.h */
#define SERVER_PATIENCE_MS 20000
#define HEARTBEAT_MS 1000

static int wait_for(dur_activity *act, int patience_ms, bool beats)
{
    for (int ms = 0; ms < patience_ms; ms++) {
        if (beats) {
            dur_heartbeat(act, NULL);
        }
        if (dur_activity_cancelled(act, NULL)) {
            return DUR_CANCELLED;
        }
        clock_sleep_ms(1);
    }
    return DUR_OK;
}

/* Works until it is told to stop. */
static int linger(dur_activity *act, const char *input, const char **result, void *user)
{
    bool on_server = scenario_on_server();
    (void)user;
    int rc = wait_for(act, on_server ? SERVER_PATIENCE_MS : PATIENCE_MS, on_server);
    if (rc) {
        return rc;
    }
    *result = input;
    return DUR_OK;
}

/* Fails twice, then does it. */
static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) < 3) {
        return dur_fail(act, DUR_TRANSIENT, "BankDown", "try again");
    }
    *result = input;
    return DUR_OK;
}

static int broken(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail(act, DUR_PERMANENT, "CardDeclined", "no money");
}

/* Says how far it came, then says no more: the next attempt goes on from there. */
static int counting(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *before = dur_heartbeat_details(act);
    (void)user;
    if (!before) {
        dur_heartbeat_sync(act, input);
        *result = input;
        return wait_for(act, PATIENCE_MS, false);
    }
    *result = before;
    return DUR_OK;
}

static int setup(dur_engine *engine, const char *type, dur_workflow_fn fn)
{
    int rc = scenario_register(engine, type, fn);
    rc = rc ? rc : dur_register_activity(engine, "Linger", linger, NULL);
    rc = rc ? rc : dur_register_activity(engine, "Flaky", flaky, NULL);
    rc = rc ? rc : dur_register_activity(engine, "Broken", broken, NULL);
    rc = rc ? rc : dur_register_activity(engine, "Counting", counting, NULL);
    return rc ? rc : dur_lane(engine, "narrow", 1);
}

/* The changed twin of all: it sleeps first. */
static int sleeps_first(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    return dur_sleep(ctx, 1);
}

/* What a workflow does about a failed step: another one instead, given the reason. */
static int instead(dur_ctx *ctx, int rc, const char **result)
{
    const dur_failure_info *why = dur_failure(ctx);
    if (rc != DUR_FAILED || !why) {
        return rc;
    }
    while (why->cause) {
        why = why->cause;
    }
    return dur_run(ctx, "Echo",
                   dur_ctx_jsonf(ctx, "%q", why->timeout_type ? why->timeout_type : why->type),
                   result, &scenario_quick);
}

/* --- retries and failures ----------------------------------------------------------------------
 */

static int retried(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Flaky", input, result, &scenario_quick);
}

static int retried_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "Retried", changed ? sleeps_first : retried);
}

static struct scenario retried_scenario = {.name = "activity-retry",
                                           .primitive = "Activities: retry policy",
                                           .type = "Retried",
                                           .id = "retried",
                                           .input = "7",
                                           .result = "7",
                                           .setup = retried_setup};
SCENARIO(retried_scenario)

static int compensated(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return instead(ctx, dur_run(ctx, "Broken", input, NULL, &scenario_quick), result);
}

static int compensated_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "Compensated", changed ? sleeps_first : compensated);
}

static struct scenario compensated_scenario = {.name = "activity-failure",
                                               .primitive = "Activities: failure, compensation",
                                               .type = "Compensated",
                                               .id = "compensated",
                                               .result = "\"CardDeclined\"",
                                               .setup = compensated_setup};
SCENARIO(compensated_scenario)

static int failing(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Echo", input, result, &scenario_quick);
    return rc ? rc : dur_fail_run(ctx, "TooLate", "no parcel after %d days", 14);
}

static int failing_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "Failing", changed ? sleeps_first : failing);
}

static struct scenario failing_scenario = {.name = "run-failure",
                                           .primitive = "A run that fails",
                                           .type = "Failing",
                                           .id = "failing",
                                           .status = DUR_RUN_FAILED,
                                           .setup = failing_setup};
SCENARIO(failing_scenario)

/* The activity's failure ends the run, chain of causes and all. */
static int failing_through(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Broken", input, result, &scenario_quick);
}

static int failing_through_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "FailingThrough", changed ? sleeps_first : failing_through);
}

static struct scenario failing_through_scenario = {.name = "run-failure-cause",
                                                   .primitive =
                                                       "A run that fails with its activity",
                                                   .type = "FailingThrough",
                                                   .id = "failing-through",
                                                   .status = DUR_RUN_FAILED,
                                                   .setup = failing_through_setup};
SCENARIO(failing_through_scenario)

/* --- timeouts ----------------------------------------------------------------------------------
 */

static int start_to_close(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Linger", input, NULL,
                     &(dur_activity_options){.start_to_close_ms = 20, .max_attempts = 1});
    return instead(ctx, rc, result);
}

static int start_to_close_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "StartToClose", changed ? sleeps_first : start_to_close);
}

static struct scenario start_to_close_scenario = {.name = "timeout-start-to-close",
                                                  .primitive = "Timeouts: start to close",
                                                  .type = "StartToClose",
                                                  .id = "start-to-close",
                                                  .result = "\"StartToClose\"",
                                                  .setup = start_to_close_setup};
SCENARIO(start_to_close_scenario)

/* The only slot of its lane is taken. */
static int schedule_to_start(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    dur_future *holder = dur_start_activity(ctx, "Linger", input,
                                            &(dur_activity_options){.task_queue = "narrow",
                                                                    .cancellation = DUR_WAIT_CANCEL,
                                                                    .heartbeat_ms = HEARTBEAT_MS});
    int rc = dur_sleep(ctx, 50); /* so that it is the first in line anywhere */
    rc = rc ? rc
            : dur_run(ctx, "Echo", input, NULL,
                      &(dur_activity_options){.task_queue = "narrow",
                                              .schedule_to_start_ms = 20,
                                              .start_to_close_ms = DUR_MINUTES});
    if (rc != DUR_FAILED) {
        return rc;
    }
    dur_cancel_future(ctx, holder);
    int ended = dur_await(dur_disconnected(ctx), holder, NULL);
    return ended == DUR_UNWIND ? ended : instead(ctx, rc, result);
}

static int schedule_to_start_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "ScheduleToStart", changed ? sleeps_first : schedule_to_start);
}

static struct scenario schedule_to_start_scenario = {.name = "timeout-schedule-to-start",
                                                     .primitive = "Timeouts: schedule to start",
                                                     .type = "ScheduleToStart",
                                                     .id = "schedule-to-start",
                                                     .setup = schedule_to_start_setup};
SCENARIO(schedule_to_start_scenario)

/* There is no time for the next attempt. */
static int schedule_to_close(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Linger", input, NULL,
                     &(dur_activity_options){.start_to_close_ms = 15,
                                             .schedule_to_close_ms = 40,
                                             .retry = {.initial_interval_ms = DUR_MINUTES,
                                                       .maximum_interval_ms = DUR_MINUTES}});
    return instead(ctx, rc, result);
}

static int schedule_to_close_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "ScheduleToClose", changed ? sleeps_first : schedule_to_close);
}

static struct scenario schedule_to_close_scenario = {.name = "timeout-schedule-to-close",
                                                     .primitive = "Timeouts: schedule to close",
                                                     .type = "ScheduleToClose",
                                                     .id = "schedule-to-close",
                                                     .setup = schedule_to_close_setup};
SCENARIO(schedule_to_close_scenario)

static int heartbeat(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(
        ctx, "Counting", input, result,
        &(dur_activity_options){.start_to_close_ms = DUR_MINUTES,
                                .heartbeat_ms = 20,
                                .retry = {.initial_interval_ms = 1, .maximum_interval_ms = 4}});
}

static int heartbeat_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "Heartbeat", changed ? sleeps_first : heartbeat);
}

static struct scenario heartbeat_scenario = {.name = "timeout-heartbeat",
                                             .primitive =
                                                 "Timeouts: heartbeat; details for the next try",
                                             .type = "Heartbeat",
                                             .id = "heartbeat",
                                             .input = "{\"at\":40}",
                                             .result = "{\"at\":40}",
                                             .setup = heartbeat_setup};
SCENARIO(heartbeat_scenario)

/* --- cancelling an activity --------------------------------------------------------------------
 */

/* Waits a moment, then cancels its activity; then one more step. */
static int cancels(dur_ctx *ctx, dur_cancellation cancellation, const char **result)
{
    dur_activity_options options = scenario_quick;
    options.cancellation = cancellation;
    options.heartbeat_ms = HEARTBEAT_MS;
    dur_future *work = dur_start_activity(ctx, "Linger", "\"work\"", &options);
    int rc = dur_sleep(ctx, 10);
    if (rc == DUR_OK) {
        dur_cancel_future(ctx, work);
        rc = dur_await(ctx, work, NULL);
        /* On a server one that is lost with its worker meanwhile has timed out. */
        bool is_over = rc == DUR_CANCELLED || rc == DUR_FAILED;
        rc = is_over && !dur_is_cancelled(ctx) ? DUR_OK : rc;
    }
    return rc ? rc : dur_run(ctx, "Echo", "\"after\"", result, &scenario_quick);
}

static int try_cancel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return cancels(ctx, DUR_TRY_CANCEL, result);
}

static int wait_cancel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return cancels(ctx, DUR_WAIT_CANCEL, result);
}

static int abandon(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return cancels(ctx, DUR_ABANDON, result);
}

static int try_cancel_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "TryCancel", changed ? abandon : try_cancel);
}

static int wait_cancel_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "WaitCancel", changed ? abandon : wait_cancel);
}

static int abandon_setup(dur_engine *engine, bool changed)
{
    return setup(engine, "Abandon", changed ? try_cancel : abandon);
}

static struct scenario try_cancel_scenario = {.name = "activity-cancel-try",
                                              .primitive = "Activities: cancelled, not waited for",
                                              .type = "TryCancel",
                                              .id = "try-cancel",
                                              .result = "\"after\"",
                                              .varies = "the activity may end before the run does",
                                              .setup = try_cancel_setup};
static struct scenario wait_cancel_scenario = {.name = "activity-cancel-wait",
                                               .primitive = "Activities: cancelled, waited for",
                                               .type = "WaitCancel",
                                               .id = "wait-cancel",
                                               .result = "\"after\"",
                                               .setup = wait_cancel_setup};
static struct scenario abandon_scenario = {.name = "activity-cancel-abandon",
                                           .primitive = "Activities: abandoned",
                                           .type = "Abandon",
                                           .id = "abandon",
                                           .result = "\"after\"",
                                           .setup = abandon_setup};
SCENARIO(try_cancel_scenario)
SCENARIO(wait_cancel_scenario)
SCENARIO(abandon_scenario)
