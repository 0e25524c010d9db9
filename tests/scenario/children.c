/*
 * children.c - scenarios of child workflows: their ends, their cancellation, what becomes of them
 * when the parent ends first.
 *
 * Owns: these scenarios. Every child has an id of its own, so that histories are the same from play
 * to play. Tests: tests/scenario/scenario.c plays them.
 */
#include <string.h>
#include <time.h>

#include "scenario.h"

/* --- children ----------------------------------------------------------------------------------
 */

static int child_echo(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int child_broken(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail_run(ctx, "Broken", "it broke");
}

/* Tells its parent that it is there, and waits. */
static int child_waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = dur_await(ctx, dur_signal_external(ctx, dur_parent_id(ctx), "ready", NULL), NULL);
    return rc ? rc : dur_receive(ctx, "go", -1, result);
}

static int child_naps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, 20);
}

/* Fails at the first attempt of the run as a whole. */
static int child_retried(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_attempt(ctx) == 1) {
        return dur_fail_run(ctx, "NotYet", "once more");
    }
    *result = input;
    return DUR_OK;
}

static int register_all(dur_engine *engine, const char *type, dur_workflow_fn fn)
{
    int rc = scenario_register(engine, type, fn);
    rc = rc ? rc : dur_register_workflow(engine, "ChildEcho", child_echo, NULL);
    rc = rc ? rc : dur_register_workflow(engine, "ChildBroken", child_broken, NULL);
    rc = rc ? rc : dur_register_workflow(engine, "ChildWaits", child_waits, NULL);
    rc = rc ? rc : dur_register_workflow(engine, "ChildNaps", child_naps, NULL);
    return rc ? rc : dur_register_workflow(engine, "ChildRetried", child_retried, NULL);
}

/* --- ends --------------------------------------------------------------------------------------
 */

static int completes(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run_child(ctx, "ChildEcho", input, result,
                         &(dur_child_options){.workflow_id = "child-complete-kid"});
}

static int completes_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run_child(ctx, "ChildOther", input, result,
                         &(dur_child_options){.workflow_id = "child-complete-kid"});
}

static int completes_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildComplete", changed ? completes_changed : completes);
}

static struct scenario completes_scenario = {.name = "child-complete",
                                             .primitive = "Child workflows",
                                             .type = "ChildComplete",
                                             .id = "child-complete",
                                             .input = "\"parcel\"",
                                             .result = "\"parcel\"",
                                             .setup = completes_setup};
SCENARIO(completes_scenario)

/* The result is the type of what is behind the failure of the child. */
static int told(dur_ctx *ctx, int rc, const char **result)
{
    if (rc != DUR_FAILED) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "%q", dur_failure(ctx)->cause->type);
    return DUR_OK;
}

static int fails(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return told(ctx,
                dur_run_child(ctx, "ChildBroken", input, NULL,
                              &(dur_child_options){.workflow_id = "child-fail-kid"}),
                result);
}

static int fails_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int fails_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildFail", changed ? fails_changed : fails);
}

static struct scenario fails_scenario = {.name = "child-fail",
                                         .primitive = "Child workflows: failure",
                                         .type = "ChildFail",
                                         .id = "child-fail",
                                         .result = "\"Broken\"",
                                         .setup = fails_setup};
SCENARIO(fails_scenario)

static int exists(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return told(ctx,
                dur_run_child(ctx, "ChildEcho", input, NULL,
                              &(dur_child_options){.workflow_id = dur_workflow_id(ctx)}),
                result);
}

static int exists_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildExists", changed ? fails_changed : exists);
}

static struct scenario exists_scenario = {.name = "child-exists",
                                          .primitive = "Child workflows: the id is taken",
                                          .type = "ChildExists",
                                          .id = "child-exists",
                                          .result = "\"WorkflowExecutionAlreadyStarted\"",
                                          .setup = exists_setup};
SCENARIO(exists_scenario)

static int retried(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_retry_policy retry = {.initial_interval_ms = 10, .maximum_attempts = 3};
    (void)user;
    return dur_run_child(ctx, "ChildRetried", input, result,
                         &(dur_child_options){.workflow_id = "child-retry-kid", .retry = &retry});
}

static int retried_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildRetry", changed ? fails_changed : retried);
}

static struct scenario retried_scenario = {.name = "child-retry",
                                           .primitive = "Child workflows: retried as a whole",
                                           .type = "ChildRetry",
                                           .id = "child-retry",
                                           .input = "\"again\"",
                                           .result = "\"again\"",
                                           .setup = retried_setup};
SCENARIO(retried_scenario)

/* --- terminated by somebody --------------------------------------------------------------------
 */

#define TERMINATED_KID "child-terminated-kid"
#define KID_WAITS_EVENTS 9 /* it has told its parent, and waits */

static int terminated(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return told(ctx,
                dur_run_child(ctx, "ChildWaits", input, NULL,
                              &(dur_child_options){.workflow_id = TERMINATED_KID}),
                result);
}

static int terminated_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildTerminated", changed ? fails_changed : terminated);
}

/* 0: no such run. */
static int64_t events_of(dur_engine *engine, const char *id, dur_status *ret_status)
{
    dur_description *d;
    if (dur_describe(engine, id, &d) != DUR_OK) {
        *ret_status = (dur_status)0;
        return 0;
    }
    int64_t events = d->history_events;
    *ret_status = d->status;
    dur_description_free(d);
    return events;
}

static void terminate_kid(dur_engine *engine)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    dur_status kid, main_run;
    do {
        nanosleep(&pause, NULL);
        if (events_of(engine, TERMINATED_KID, &kid) >= KID_WAITS_EVENTS && kid == DUR_RUNNING) {
            dur_terminate(engine, TERMINATED_KID, "not wanted any more");
        }
        events_of(engine, "child-terminated", &main_run);
    } while (main_run == DUR_RUNNING);
}

static struct scenario terminated_scenario = {.name = "child-terminated",
                                              .primitive = "Child workflows: terminated",
                                              .type = "ChildTerminated",
                                              .id = "child-terminated",
                                              .result = "\"Terminated\"",
                                              .setup = terminated_setup,
                                              .during = terminate_kid};
SCENARIO(terminated_scenario)

/* --- cancelled by its parent -------------------------------------------------------------------
 */

/* Starts it in a scope of its own, and cancels that when it has started. */
static int cancel_child(dur_ctx *ctx, const char *type, const char *id, dur_cancellation how,
                        const char **result)
{
    dur_ctx *scope = dur_scope(ctx);
    dur_future *child = dur_start_child(
        scope, type, NULL,
        &(dur_child_options){
            .workflow_id = id, .cancellation = how, .parent_close = DUR_PARENT_CLOSE_ABANDON});
    int rc = dur_child_started(ctx, child, NULL);
    if (rc == DUR_OK && how != DUR_ABANDON) {
        rc = dur_receive(ctx, "ready", -1, NULL);
    }
    if (rc) {
        return rc;
    }
    dur_cancel_scope(scope);
    rc = dur_await(dur_disconnected(ctx), child, NULL);
    *result = rc == DUR_CANCELLED ? "\"cancelled\"" : "\"not cancelled\"";
    /* Not in the task that asks: a server forgets what a run asks of others with its last words. */
    rc = rc == DUR_CANCELLED && !dur_is_cancelled(ctx) ? DUR_OK : rc;
    return rc ? rc : dur_run(ctx, "Echo", *result, NULL, &scenario_quick);
}

static int cancel_try(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return cancel_child(ctx, "ChildWaits", "child-cancel-try-kid", DUR_TRY_CANCEL, result);
}

static int cancel_wait(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return cancel_child(ctx, "ChildWaits", "child-cancel-wait-kid", DUR_WAIT_CANCEL, result);
}

static int cancel_abandon(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return cancel_child(ctx, "ChildNaps", "child-cancel-abandon-kid", DUR_ABANDON, result);
}

static int cancel_try_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildCancelTry", changed ? fails_changed : cancel_try);
}

static int cancel_wait_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildCancelWait", changed ? fails_changed : cancel_wait);
}

static int cancel_abandon_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ChildCancelAbandon", changed ? fails_changed : cancel_abandon);
}

static struct scenario cancel_try_scenario = {.name = "child-cancel-try",
                                              .primitive = "Child workflows: DUR_TRY_CANCEL",
                                              .type = "ChildCancelTry",
                                              .id = "child-cancel-try",
                                              .result = "\"cancelled\"",
                                              .setup = cancel_try_setup};
SCENARIO(cancel_try_scenario)
static struct scenario cancel_wait_scenario = {.name = "child-cancel-wait",
                                               .primitive = "Child workflows: DUR_WAIT_CANCEL",
                                               .type = "ChildCancelWait",
                                               .id = "child-cancel-wait",
                                               .result = "\"cancelled\"",
                                               .setup = cancel_wait_setup};
SCENARIO(cancel_wait_scenario)
/* Without a result: when its worker was killed, the child has ended before anybody cancels. */
static struct scenario cancel_abandon_scenario = {.name = "child-cancel-abandon",
                                                  .primitive = "Child workflows: DUR_ABANDON",
                                                  .type = "ChildCancelAbandon",
                                                  .id = "child-cancel-abandon",
                                                  .setup = cancel_abandon_setup};
SCENARIO(cancel_abandon_scenario)

/* --- the parent ends first ---------------------------------------------------------------------
 */

static int leave(dur_ctx *ctx, const char *type, const char *id, dur_parent_close close)
{
    dur_future *child = dur_start_child(
        ctx, type, NULL, &(dur_child_options){.workflow_id = id, .parent_close = close});
    int rc = dur_child_started(ctx, child, NULL);
    return rc == DUR_OK && close != DUR_PARENT_CLOSE_ABANDON ? dur_receive(ctx, "ready", -1, NULL)
                                                             : rc;
}

static int close_terminate(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return leave(ctx, "ChildWaits", "parent-close-terminate-kid", DUR_PARENT_CLOSE_TERMINATE);
}

static int close_abandon(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return leave(ctx, "ChildNaps", "parent-close-abandon-kid", DUR_PARENT_CLOSE_ABANDON);
}

static int close_cancel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return leave(ctx, "ChildWaits", "parent-close-cancel-kid", DUR_PARENT_CLOSE_REQUEST_CANCEL);
}

static int close_terminate_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ParentCloseTerminate", changed ? fails_changed : close_terminate);
}

static int close_abandon_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ParentCloseAbandon", changed ? fails_changed : close_abandon);
}

static int close_cancel_setup(dur_engine *engine, bool changed)
{
    return register_all(engine, "ParentCloseCancel", changed ? fails_changed : close_cancel);
}

static struct scenario close_terminate_scenario = {.name = "parent-close-terminate",
                                                   .primitive = "Parent-close policy: terminate",
                                                   .type = "ParentCloseTerminate",
                                                   .id = "parent-close-terminate",
                                                   .setup = close_terminate_setup};
SCENARIO(close_terminate_scenario)
static struct scenario close_abandon_scenario = {.name = "parent-close-abandon",
                                                 .primitive = "Parent-close policy: abandon",
                                                 .type = "ParentCloseAbandon",
                                                 .id = "parent-close-abandon",
                                                 .setup = close_abandon_setup};
SCENARIO(close_abandon_scenario)
static struct scenario close_cancel_scenario = {.name = "parent-close-cancel",
                                                .primitive = "Parent-close policy: request cancel",
                                                .type = "ParentCloseCancel",
                                                .id = "parent-close-cancel",
                                                .setup = close_cancel_setup};
SCENARIO(close_cancel_scenario)
