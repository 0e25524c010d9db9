/*
 * close.c - the end of the workflow function, and the command that it becomes.
 *
 * Owns: the mapping from the function's return code to the closing command: 0 completes the run,
 * DUR_CANCELLED ends it as cancelled, DUR_CONTINUE continues it as
 * new (continue.c), anything else fails it with the failure behind the code.
 * Tests: tests/unit/test_exec_run.c, tests/unit/test_exec_failure.c
 */
#include "exec/state.h"

#include "history/failure.h"

static bool complete_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_WORKFLOW_EXECUTION_COMPLETED;
}

static void complete_bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)c;
    (void)event_id;
    must_move(&run_machine, &run->state, RUN_STATE_COMPLETED, run);
}

const struct command_def command_complete = {
    .name = "complete the run", .fits = complete_fits, .bind = complete_bind};

static bool fail_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_WORKFLOW_EXECUTION_FAILED;
}

static void fail_bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)c;
    (void)event_id;
    must_move(&run_machine, &run->state, RUN_STATE_FAILED, run);
}

const struct command_def command_fail = {
    .name = "fail the run", .fits = fail_fits, .bind = fail_bind};

static bool cancel_run_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_WORKFLOW_EXECUTION_CANCELED;
}

static void cancel_run_bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)c;
    (void)event_id;
    must_move(&run_machine, &run->state, RUN_STATE_CANCELED, run);
}

const struct command_def command_cancel_run = {
    .name = "end the run as cancelled", .fits = cancel_run_fits, .bind = cancel_run_bind};

static const char *code_word(int code)
{
    switch (code) {
    case DUR_FAILED:
        return "DUR_FAILED";
    case DUR_TIMED_OUT:
        return "DUR_TIMED_OUT";
    case DUR_UNWIND:
        return "DUR_UNWIND";
    case DUR_INVALID:
        return "DUR_INVALID";
    case DUR_LIMIT:
        return "DUR_LIMIT";
    default:
        return "ReturnCode";
    }
}

static void finish_completed(struct run *run, const char *result)
{
    int code = payload_check(result);

    if (code != DUR_OK) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_BAD_COMPLETE_WORKFLOW_EXECUTION_ATTRIBUTES,
                   code == DUR_LIMIT ? "the result is longer than %d bytes"
                                     : "the result is not JSON (limit %d bytes)",
                   RUN_MAX_PAYLOAD);
        return;
    }
    struct command *c = command_add(run, &command_complete);
    if (c && !run->replaying) {
        c->event = event_new(run->task_arena, EVENT_WORKFLOW_EXECUTION_COMPLETED);
        ev_workflow_execution_completed(c->event)->result = payloads_json(run->task_arena, result);
    }
}

static void finish_failed(struct run *run, int code)
{
    const dur_ctx *ctx = &run->main->ctx;
    const struct failure *failure = NULL;
    struct command *c = command_add(run, &command_fail);

    if (!c || run->replaying) {
        return;
    }
    if (code == DUR_FAILED) {
        failure = ctx->fresh_failure   ? ctx->fresh_failure
                  : run->main->failure ? run->main->failure
                                       : ctx->failure;
    }
    if (!failure) {
        failure = failure_application(run->task_arena, code_word(code),
                                      arena_printf(run->task_arena,
                                                   "the workflow function returned %s (%d)",
                                                   code_word(code), code),
                                      !run->info.has_policy, NULL);
    }
    c->event = event_new(run->task_arena, EVENT_WORKFLOW_EXECUTION_FAILED);
    ev_workflow_execution_failed(c->event)->failure = failure_copy(failure, run->task_arena);
    ev_workflow_execution_failed(c->event)->retry_state = RETRY_STATE_RETRY_POLICY_NOT_SET;
}

void run_finish(struct run *run, int code, const char *result)
{
    run->finished = true;
    if (code == DUR_OK) {
        finish_completed(run, result);
    } else if (code == DUR_CONTINUE && run->next.asked) {
        continue_finish(run);
    } else if (code == DUR_CANCELLED) {
        struct command *c = command_add(run, &command_cancel_run);
        if (c && !run->replaying) {
            c->event = event_new(run->task_arena, EVENT_WORKFLOW_EXECUTION_CANCELED);
        }
    } else {
        finish_failed(run, code);
    }
}
