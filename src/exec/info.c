/*
 * info.c - what a run knows of itself: attempt, parent, the run before it, memo, its history's
 * size.
 *
 * Owns: the look at the start event and at the starts of workflow tasks, and the calls of durable.h
 * that answer from it. All of it is recorded, so every replay answers the same.
 * Tests: tests/unit/test_exec_continue.c
 */
#include "exec/failure_info.h"
#include "exec/state.h"
#include "history/map.h"

void info_of_start(struct run *run, const struct event *event)
{
    const struct ev_workflow_execution_started *a = ev_workflow_execution_started(event);
    struct run_info *info = &run->info;
    size_t len = 0;

    info->attempt = a->attempt > 0 ? a->attempt : 1;
    info->has_policy = a->retry_policy != NULL;
    info->memo = map_text(run->arena, a->memo);
    if (a->parent_workflow_execution) {
        info->parent_id = run_strdup(run, a->parent_workflow_execution->workflow_id);
    }
    if (a->last_completion_result) {
        const char *json = payloads_first_json(a->last_completion_result, &len);
        info->last_result = json ? arena_strndup(run->arena, json, len) : NULL;
    }
    if (a->continued_failure) {
        info->last_failure = failure_copy(a->continued_failure, run->arena);
    }
}

void info_of_task(struct run *run, const struct event *event)
{
    const struct ev_workflow_task_started *a = ev_workflow_task_started(event);

    run->info.suggested = a->suggest_continue_as_new;
    if (a->history_size_bytes > run->info.bytes) {
        run->info.bytes = a->history_size_bytes;
    }
}

int dur_continue_suggested(const dur_ctx *ctx)
{
    return ctx->run->info.suggested;
}

int64_t dur_history_events(const dur_ctx *ctx)
{
    return ctx->run->task.started_id;
}

int64_t dur_history_bytes(const dur_ctx *ctx)
{
    return ctx->run->info.bytes;
}

int dur_attempt(const dur_ctx *ctx)
{
    return ctx->run->info.attempt;
}

const char *dur_parent_id(const dur_ctx *ctx)
{
    return ctx->run->info.parent_id;
}

const char *dur_memo(const dur_ctx *ctx)
{
    return ctx->run->info.memo ? ctx->run->info.memo : "{}";
}

const char *dur_last_result(const dur_ctx *ctx)
{
    return ctx->run->info.last_result;
}

const dur_failure_info *dur_last_failure(const dur_ctx *ctx)
{
    struct run_info *info = &ctx->run->info;

    if (info->last_failure && !info->last_info) {
        info->last_info = failure_info_new(ctx->run->arena, info->last_failure, 0);
    }
    return info->last_info;
}
