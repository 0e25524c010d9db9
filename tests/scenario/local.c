/*
 * local.c - scenarios of steps that leave a marker only: local activities, their retries in memory
 * and through timers, their cancellation, and transactions.
 *
 * Owns: these scenarios. The counter table of the last one counts how often its transaction really
 * happened. Tests: tests/scenario/scenario.c plays them.
 */
#include <stdio.h>

#include "base/clock.h"
#include "scenario.h"

static int hurried(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    return dur_activity_attempt(act) < 3 ? dur_fail(act, DUR_TRANSIENT, "Hurried", "too early")
                                         : DUR_OK;
}

static int endless(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(1);
    }
    return DUR_CANCELLED;
}

static int refuse(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail(act, DUR_PERMANENT, "Refused", "never");
}

static int setup(dur_engine *engine, const char *type, dur_workflow_fn fn)
{
    int rc = scenario_register(engine, type, fn);
    rc = rc ? rc : dur_register_activity(engine, "Hurried", hurried, NULL);
    rc = rc ? rc : dur_register_activity(engine, "Endless", endless, NULL);
    return rc ? rc : dur_register_activity(engine, "Refuse", refuse, NULL);
}

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

/* --- one after the other, between other steps --------------------------------------------------
 */

static int locals(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *step = input;
    (void)user;
    int rc = dur_run_local(ctx, "Echo", step, &step, NULL);
    if (rc || (rc = dur_run_local(ctx, "Echo", step, &step, NULL)) || (rc = dur_sleep(ctx, 1)) ||
        (rc = dur_run(ctx, "Echo", step, &step, &scenario_quick)) ||
        (rc = dur_run_local(ctx, "Hurried", step, &step,
                            &(dur_local_options){.retry = {.initial_interval_ms = 1}}))) {
        return rc;
    }
    rc = dur_run_local(ctx, "Refuse", step, NULL, NULL);
    *result = rc == DUR_FAILED ? dur_ctx_jsonf(ctx, "%q", dur_failure(ctx)->cause->type) : "null";
    return rc == DUR_FAILED ? DUR_OK : rc;
}

static int locals_setup(dur_engine *engine, bool is_changed)
{
    return setup(engine, "Locals", is_changed ? changed : locals);
}

static struct scenario locals_scenario = {.name = "local-activity",
                                          .primitive = "Local activities",
                                          .type = "Locals",
                                          .id = "locals",
                                          .input = "{\"n\":1}",
                                          .result = "\"Refused\"",
                                          .setup = locals_setup};
SCENARIO(locals_scenario)

/* --- a back-off that is too long to be waited for in memory ------------------------------------
 */

static int patient(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run_local(
        ctx, "Hurried", input, result,
        &(dur_local_options){.local_retry_threshold_ms = 1,
                             .retry = {.initial_interval_ms = 10, .backoff_coefficient = 1.0}});
}

static int patient_setup(dur_engine *engine, bool is_changed)
{
    return setup(engine, "Patient", is_changed ? changed : patient);
}

static struct scenario patient_scenario = {.name = "local-retry",
                                           .primitive = "Local activities: retry through a timer",
                                           .type = "Patient",
                                           .id = "patient",
                                           .input = "{\"n\":1}",
                                           .result = "{\"n\":1}",
                                           .setup = patient_setup};
SCENARIO(patient_scenario)

/* --- cancelled ---------------------------------------------------------------------------------
 */

static int stopped(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    dur_future *f = dur_start_local(ctx, "Endless", input, NULL);
    int rc = dur_sleep(ctx, 10);
    if (rc) {
        return rc;
    }
    dur_cancel_future(ctx, f);
    rc = dur_await(ctx, f, NULL);
    *result = rc == DUR_CANCELLED ? "\"cancelled\"" : "\"other\"";
    return dur_is_cancelled(ctx) ? DUR_CANCELLED : DUR_OK;
}

static int stopped_setup(dur_engine *engine, bool is_changed)
{
    return setup(engine, "Stopped", is_changed ? changed : stopped);
}

static struct scenario stopped_scenario = {.name = "local-cancel",
                                           .primitive = "Local activities: cancelled",
                                           .type = "Stopped",
                                           .id = "stopped",
                                           .input = "{\"n\":1}",
                                           .result = "\"cancelled\"",
                                           .setup = stopped_setup};
SCENARIO(stopped_scenario)

/* --- transactions ------------------------------------------------------------------------------
 */

static const dur_migration counters[] = {
    {"0001_init", "CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT;"
                  "INSERT INTO counter VALUES ('steps', 0)"},
    {0}};

static int count(dur_sql *sql, const char *input, const char **result, void *user)
{
    const char *rows;
    (void)user;
    int rc = dur_sql_exec(sql, "UPDATE counter SET n = n + 1 WHERE name = ?1", input);
    if (rc || (rc = dur_sql_rows(sql, "SELECT n FROM counter WHERE name = ?1", input, &rows))) {
        return dur_sql_fail(sql, "Broken", "%s", dur_sql_error(sql));
    }
    char *text = dur_sql_alloc(sql, 32);
    snprintf(text, 32, "%d", (int)dur_json_int(rows, "/0/n", -1));
    *result = text;
    return DUR_OK;
}

/* Counts, and thinks better of it. */
static int miscount(dur_sql *sql, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    dur_sql_exec(sql, "UPDATE counter SET n = n + 100 WHERE name = ?1", input);
    return dur_sql_fail(sql, "Miscount", "taken back");
}

static int counting(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    for (int i = 0; i < 3; i++) {
        int rc = dur_run_transaction(ctx, "Count", input, NULL);
        if (rc || (rc = dur_sleep(ctx, 1))) {
            return rc;
        }
    }
    if (dur_run_transaction(ctx, "Miscount", input, NULL) != DUR_FAILED) {
        return dur_is_cancelled(ctx) ? DUR_CANCELLED : DUR_FAILED;
    }
    return dur_run_transaction(ctx, "Count", input, result);
}

static int counting_setup(dur_engine *engine, bool is_changed)
{
    int rc = setup(engine, "Counting", is_changed ? changed : counting);
    rc = rc ? rc : dur_register_transaction(engine, "Count", count, NULL);
    return rc ? rc : dur_register_transaction(engine, "Miscount", miscount, NULL);
}

static struct scenario counting_scenario = {.name = "transaction",
                                            .primitive = "Local transactions: exactly once",
                                            .type = "Counting",
                                            .id = "counting",
                                            .input = "[\"steps\"]",
                                            .result = "4",
                                            .setup = counting_setup,
                                            .no_server = "a server has no store of ours",
                                            .schema = counters};
SCENARIO(counting_scenario)
