/*
 * transaction.c - dur_run_transaction: SQL of the program's own in the task's commit.
 *
 * Owns: its marker, which is that of a local activity (local.h), so that Temporal's Core replays
 * such a history with a local activity in its place. Done when the call returns: what it wrote and
 * the marker that says so are on the disk together or not at all. In replay nothing runs.
 * A failure is recorded and its work taken back; it is not retried.
 * Tests: tests/unit/test_exec_local.c, tests/unit/test_engine_transaction.c
 */
#include "exec/local.h"

#include <string.h>

#include "exec/options.h"

/* The recorded marker with this number, or NULL. */
static const struct event *recorded(struct run *run, uint64_t seq, struct local_mark *ret)
{
    for (size_t i = 0; i < run->recorded_count; i++) {
        if (local_mark_read(run->task_arena, run->recorded[i], ret) && ret->seq == seq) {
            return run->recorded[i];
        }
    }
    return NULL;
}

static int answer(dur_ctx *ctx, const struct local_mark *mark, const char **result)
{
    struct run *run = ctx->run;
    dur_future end = {.code = mark->failure ? DUR_FAILED : DUR_OK, .attempt = mark->attempt};

    if (mark->failure) {
        end.failure = local_failure(run->arena, mark);
    } else if (result) {
        *result = run_strdup(run, mark->result);
    }
    return ctx_note(ctx, &end, end.code);
}

/* First execution: the host runs it on this fiber. False: the task has failed. */
static bool execute(struct run *run, const char *input, struct local_mark *mark)
{
    struct failure *failure = NULL;
    struct err err = {0};

    if (!run->spec.on_transaction) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                   "transaction %s: there is no store here", mark->type);
        return false;
    }
    run->in_callback = true;
    int rc = run->spec.on_transaction(run->spec.on_transaction_user, mark->type, input,
                                      run->task_arena, &mark->result, &failure, &err);
    run->in_callback = false;
    if (rc < 0) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, "%s",
                   err.text);
        return false;
    }
    mark->failure = failure;
    mark->result = mark->result ? mark->result : "null";
    return true;
}

int dur_run_transaction_at(dur_ctx *ctx, const char *name, const char *input, const char **result,
                           const char *file, int line)
{
    struct run *run = ctx->run;
    char id[ID_TEXT_BYTES];
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (ctx->scope->cancelled) {
        return DUR_CANCELLED;
    }
    code = options_is_name(name) ? payload_check(input) : DUR_INVALID;
    if (code != DUR_OK) {
        return code;
    }
    counter_print(id, ++run->next_activity);
    struct local_mark mark = {.seq = run->next_activity,
                              .attempt = 1,
                              .id = arena_strdup(run->task_arena, id),
                              .type = run_intern(run, name),
                              .completed_ns = run->now_ns,
                              .scheduled_ns = run->now_ns,
                              .backoff_ns = -1};
    struct local_mark found;
    const struct event *event = run->replaying ? recorded(run, mark.seq, &found) : NULL;
    if (!run->replaying && !execute(run, input, &mark)) {
        return call_park(run);
    }
    if (!local_mark_add(run, &mark)) {
        return call_park(run);
    }
    if (run->replaying && !event) {
        fault_mismatch(run, MISMATCH_EXTRA, run->completed, &run->commands[run->command_count - 1]);
        return call_park(run);
    }
    return answer(ctx, event ? &found : &mark, result);
}
