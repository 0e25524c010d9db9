/*
 * outcomes.c - scenarios of activities beyond the plain ones: details that reach the next attempt,
 * failures that are final, completion by token; and how activities stand in line.
 *
 * Owns: these scenarios. What an activity does hangs on what it is told, never on how often it was
 * called: a crash calls it again. Tests: tests/scenario/scenario.c plays them.
 */
#include <string.h>

#include "scenario.h"

/* --- activities --------------------------------------------------------------------------------
 */

/* Leaves a note and fails; whoever finds the note returns it. */
static int note(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_heartbeat_details(act);
    if (*result) {
        return DUR_OK;
    }
    dur_heartbeat(act, input);
    return dur_fail(act, DUR_TRANSIENT, "NoNote", "the next attempt finds it");
}

static int declined(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail(act, DUR_TRANSIENT, "CardDeclined", "no money");
}

static int ask(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_PENDING;
}

static int setup(dur_engine *engine, const char *type, dur_workflow_fn fn)
{
    static const struct {
        const char *name;
        dur_activity_fn fn;
    } acts[] = {{"Note", note}, {"Declined", declined}, {"Ask", ask}};
    int rc = scenario_register(engine, type, fn);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]) && rc == DUR_OK; i++) {
        rc = dur_register_activity(engine, acts[i].name, acts[i].fn, NULL);
    }
    return rc;
}

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

#define OUTCOME(variable, label, function, title, words, answer)                                   \
    static int variable##_setup(dur_engine *engine, bool is_changed)                               \
    {                                                                                              \
        return setup(engine, title, is_changed ? changed : function);                              \
    }                                                                                              \
    static struct scenario variable##_scenario = {.name = label,                                   \
                                                  .primitive = words,                              \
                                                  .type = title,                                   \
                                                  .id = label,                                     \
                                                  .input = "{\"n\":1}",                            \
                                                  .result = answer,                                \
                                                  .setup = variable##_setup};                      \
    SCENARIO(variable##_scenario)

/* --- retries -----------------------------------------------------------------------------------
 */

static int note_flow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Note", input, result,
                   &(dur_activity_options){.heartbeat_ms = 5000,
                                           .start_to_close_ms = 10000,
                                           .retry = {.initial_interval_ms = 1}});
}
OUTCOME(activity_heartbeat, "activity-heartbeat", note_flow, "NoteFlow",
        "Activities: heartbeat details to the next attempt", "{\"n\":1}")

/* The type behind a failure, as the result. */
static int end_of(dur_ctx *ctx, int rc, const char **result)
{
    const dur_failure_info *f = rc == DUR_FAILED ? dur_failure(ctx) : NULL;
    if (!f) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "%q", f->cause->type);
    return DUR_OK;
}

static int final(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const char *const types[] = {"CardDeclined", NULL};
    (void)user;
    int rc = dur_run(ctx, "Declined", input, NULL,
                     &(dur_activity_options){.start_to_close_ms = 10000,
                                             .retry = {.non_retryable_types = types}});
    return end_of(ctx, rc, result);
}
OUTCOME(activity_final, "activity-final", final, "Final", "Activities: non-retryable types",
        "\"CardDeclined\"")

/* --- in line -----------------------------------------------------------------------------------
 */

static int ranked(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "Echo", input, result,
                     &(dur_activity_options){.start_to_close_ms = 10000, .priority = 1});
    if (rc) {
        return rc;
    }
    return dur_run(ctx, "Echo", *result, result,
                   &(dur_activity_options){.task_queue = "limited",
                                           .start_to_close_ms = 10000,
                                           .priority = 5,
                                           .concurrency_key = "customer-1"});
}

static int priority_setup(dur_engine *engine, bool is_changed)
{
    int per_key = scenario_on_server() ? 0 : 1; /* a server has no keys */
    int rc = dur_queue(engine, "limited",
                       &(dur_queue_options){.slots = 2, .rate_per_s = 1000, .per_key = per_key});
    return rc ? rc : setup(engine, "Ranked", is_changed ? changed : ranked);
}

static struct scenario priority_scenario = {.name = "activity-priority",
                                            .primitive = "Task queues: limits, priorities, keys",
                                            .type = "Ranked",
                                            .id = "activity-priority",
                                            .input = "{\"n\":1}",
                                            .result = "{\"n\":1}",
                                            .setup = priority_setup};
SCENARIO(priority_scenario)

/* --- by token ----------------------------------------------------------------------------------
 */

static int approval(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(
        ctx, "Ask", input, result,
        &(dur_activity_options){.start_to_close_ms = 60000, .retry = {.initial_interval_ms = 1}});
}

static int approval_setup(dur_engine *engine, bool is_changed)
{
    return setup(engine, "Approval", is_changed ? changed : approval);
}

/* Reports as soon as there is an attempt to report for, until the run is over. */
static void approve(dur_engine *engine)
{
    char *result = NULL;
    char *token = NULL;
    while (dur_result(engine, "async", 1, &result) == DUR_TIMED_OUT) {
        if (dur_activity_token_of(engine, "async", "1", &token) == DUR_OK) {
            dur_complete(engine, token, "{\"approved\":true}");
            dur_free(token);
        }
    }
    dur_free(result);
}

static struct scenario approval_scenario = {.name = "activity-async",
                                            .primitive = "Activities: completed by token",
                                            .type = "Approval",
                                            .id = "async",
                                            .input = "{\"n\":1}",
                                            .result = "{\"approved\":true}",
                                            .setup = approval_setup,
                                            .during = approve};
SCENARIO(approval_scenario)
