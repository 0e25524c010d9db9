/*
 * child.c - dur_run_child, dur_start_child, dur_child_started, dur_child_id: from options to a
 * complete START_CHILD_WORKFLOW_EXECUTION_INITIATED.
 *
 * Owns: validation and normalisation of what the caller asks for, so that the event carries the
 * final values, and the default id: "<id of the run's chance>_<number>", where the number counts
 * this run's children. A reset run draws a new one from where it was reset, so that it does not
 * meet the children of the run it was copied from. Histories that other programs wrote may hold
 * other default ids (Go predicts an event id, TypeScript draws a UUID): theirs are taken over.
 * Tests: tests/unit/test_exec_child.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/cron.h"
#include "exec/options.h"
#include "exec/state.h"
#include "history/attributes.h"
#include "history/map.h"

#define TASK_TIMEOUT_NS (10 * NS_PER_S) /* Temporal's default for workflow tasks */
#define PRIORITY_LOWEST 5

static bool is_cron(const char *text)
{
    struct cron *cron autocron = NULL;

    return cron_parse(text, NULL, &cron, NULL) == 0;
}

static int check_options(const dur_child_options *o)
{
    if ((o->workflow_id && !options_is_name(o->workflow_id)) ||
        (o->task_queue && !options_is_name(o->task_queue)) || (o->cron && !is_cron(o->cron))) {
        return DUR_INVALID;
    }
    if (payload_check(o->memo) != DUR_OK || payload_check(o->search_attributes) != DUR_OK) {
        return DUR_INVALID;
    }
    if (!options_is_duration(o->execution_timeout_ms) || !options_is_duration(o->run_timeout_ms) ||
        !options_is_duration(o->task_timeout_ms)) {
        return DUR_INVALID;
    }
    if ((unsigned)o->parent_close > DUR_PARENT_CLOSE_REQUEST_CANCEL ||
        (unsigned)o->reuse > DUR_REUSE_REJECT || (unsigned)o->cancellation > DUR_ABANDON ||
        o->priority < 0 || o->priority > PRIORITY_LOWEST) {
        return DUR_INVALID;
    }
    return o->retry && !options_is_policy(o->retry) ? DUR_INVALID : DUR_OK;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_timeouts(const dur_child_options *o,
                         struct ev_start_child_workflow_execution_initiated *a)
{
    int64_t whole = o->execution_timeout_ms * NS_PER_MS;
    int64_t run = o->run_timeout_ms * NS_PER_MS;
    int64_t task = o->task_timeout_ms ? o->task_timeout_ms * NS_PER_MS : TASK_TIMEOUT_NS;

    if (whole > 0) {
        run = run > 0 ? smaller(run, whole) : whole;
    }
    a->workflow_execution_timeout = whole;
    a->workflow_run_timeout = run;
    a->workflow_task_timeout = run > 0 ? smaller(task, run) : task;
}

/* DUR_OK with *ret, or DUR_INVALID: a map that is none. */
static int initiated_event(struct run *run, const struct child *child, const char *input,
                           const dur_child_options *o, struct event **ret)
{
    struct arena *arena = run->task_arena;
    struct event *event = event_new(arena, EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED);
    struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(event);

    a->namespace = RUN_NAMESPACE;
    a->workflow_id = child->id;
    a->workflow_type = child->type;
    a->task_queue = task_queue_new(arena, o->task_queue ? o->task_queue : run->spec.task_queue);
    a->input = payloads_json(arena, input);
    set_timeouts(o, a);
    a->parent_close_policy = (enum parent_close_policy)(o->parent_close + 1); /* same order */
    a->workflow_id_reuse_policy = (enum workflow_id_reuse_policy)(o->reuse + 1);
    a->retry_policy = o->retry ? options_policy(arena, o->retry, 0) : NULL;
    a->cron_schedule = arena_strdup(arena, o->cron);
    if (o->priority) {
        a->priority = arena_new_of(arena, struct priority);
        a->priority->priority_key = o->priority;
    }
    a->memo = map_parse(arena, o->memo);
    *ret = event;
    if ((o->memo && !a->memo) ||
        attributes_parse(arena, o->search_attributes, &a->search_attributes, NULL) < 0) {
        return DUR_INVALID;
    }
    return DUR_OK;
}

/* In replay of another program's history: the id of the next recorded child, for one that the code
 * gave no id. NULL: there is none (match.c will say so). */
static const char *recorded_id(struct run *run)
{
    for (size_t i = run->child_at; i < run->recorded_count; i++) {
        const struct event *event = run->recorded[i];
        if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
            run->child_at = i + 1;
            return ev_start_child_workflow_execution_initiated(event)->workflow_id;
        }
    }
    return NULL;
}

static void set_id(struct run *run, struct child *child, const char *given)
{
    bool is_theirs = run->replaying && !run->own;
    const char *recorded = is_theirs ? recorded_id(run) : NULL;

    run->next_child++;
    child->any_id = is_theirs && !given;
    if (given) {
        child->id = run_strdup(run, given);
    } else if (recorded) {
        child->id = run_strdup(run, recorded);
    } else {
        child->id = arena_printf(run->arena, "%s_%llu", run->chance_id,
                                 (unsigned long long)run->next_child);
    }
}

/* DUR_OK, or why there can be no such child. */
static int check(dur_ctx *ctx, const char *type, const char *input, const dur_child_options *o)
{
    struct run *run = ctx->run;

    if (ctx->scope->cancelled) {
        return DUR_CANCELLED;
    }
    int code = options_is_name(type) ? check_options(o) : DUR_INVALID;
    if (code == DUR_OK) {
        code = payload_check(input);
    }
    if (code == DUR_OK && run->open_children >= RUN_MAX_OPEN) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED,
                   "more than %d child workflows are open at once", RUN_MAX_OPEN);
        code = call_park(run);
    }
    return code;
}

/* The future of a new child, or *ret_code says why there is none. */
static dur_future *start(dur_ctx *ctx, const char *type, const char *input,
                         const dur_child_options *o, int *ret_code)
{
    struct run *run = ctx->run;
    struct child child = {.cancellation = o->cancellation};
    struct event *event = NULL;

    *ret_code = check(ctx, type, input, o);
    if (*ret_code != DUR_OK) {
        return NULL;
    }
    child.type = run_intern(run, type);
    child.id = o->workflow_id;
    *ret_code = initiated_event(run, &child, input, o, &event);
    if (*ret_code != DUR_OK) {
        return NULL;
    }
    struct command *c = command_add(run, &command_start_child);
    if (!c) {
        *ret_code = call_park(run);
        return NULL;
    }
    set_id(run, &child, o->workflow_id);
    ev_start_child_workflow_execution_initiated(event)->workflow_id = child.id;
    child.command = run->replaying ? NULL : event;
    dur_future *f = future_new(run, FUTURE_CHILD, ctx->scope);
    f->child = child;
    c->future = f;
    run->open_children++;
    return f;
}

static dur_child_options sized_options(const dur_child_options *options, size_t bytes)
{
    dur_child_options o = {0};

    if (options) {
        memcpy(&o, options, bytes < sizeof(o) ? bytes : sizeof(o));
    }
    return o;
}

int dur_run_child_at(dur_ctx *ctx, const char *type, const char *input, const char **result,
                     const dur_child_options *options, size_t options_size, const char *file,
                     int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    dur_child_options o = sized_options(options, options_size);
    dur_future *f = start(ctx, type, input, &o, &code);
    if (!f) {
        return code;
    }
    code = future_wait(ctx, f, result);
    future_recycle(ctx->run, f);
    return code;
}

dur_future *dur_start_child_at(dur_ctx *ctx, const char *type, const char *input,
                               const dur_child_options *options, size_t options_size,
                               const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return future_dead(ctx->run, code);
    }
    dur_child_options o = sized_options(options, options_size);
    dur_future *f = start(ctx, type, input, &o, &code);
    return f ? f : future_dead(ctx->run, code);
}

int dur_child_started_at(dur_ctx *ctx, dur_future *future, const char **run_id, const char *file,
                         int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!future || future->kind != FUTURE_CHILD) {
        return future && future->kind == FUTURE_DEAD ? future->code : DUR_INVALID;
    }
    struct waiter w = {.coroutine = run->current};
    while (!future->child.run_id && !future->done) {
        if (ctx->scope->cancelled && !future_ends_with_scope(future)) {
            return DUR_CANCELLED;
        }
        waiter_add(future, &w);
        call_block(run, ctx->scope);
        waiter_remove(future, &w);
        if (run->unwinding) {
            return DUR_UNWIND;
        }
    }
    if (!future->child.run_id) {
        return ctx_note(ctx, future, future->code);
    }
    if (run_id) {
        *run_id = future->child.run_id;
    }
    return DUR_OK;
}

const char *dur_child_id(const dur_future *future)
{
    return future && future->kind == FUTURE_CHILD ? future->child.id : NULL;
}
