/*
 * external.c - requests to other runs: dur_signal_external, dur_signal_child, dur_cancel_external,
 * and the request that a cancelled child is sent.
 *
 * Owns: both commands, their answers, their cancellation: a request whose command was not sent yet
 * is taken back, one that is under way is not: its answer comes. A target
 * "ID@RUN" whose RUN is a UUID names that run; any other text is a workflow id and means its
 * current run.
 * Tests: tests/unit/test_exec_external.c
 */
#include <string.h>

#include "exec/options.h"
#include "exec/state.h"
#include "history/failure.h"

#define UUID_CHARS 36

/* --- commands ----------------------------------------------------------------------------------
 */

static const char *target_of(const struct workflow_execution *execution)
{
    return execution ? execution->workflow_id : NULL;
}

static bool signal_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    if (event->type != EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED) {
        return false;
    }
    const struct ev_signal_external_workflow_execution_initiated *a =
        ev_signal_external_workflow_execution_initiated(event);
    const struct external *e = &c->future->external;
    return same_text(target_of(a->workflow_execution), e->workflow_id) &&
           same_text(a->signal_name, e->signal);
}

static bool cancel_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    if (event->type != EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED) {
        return false;
    }
    const struct ev_request_cancel_external_workflow_execution_initiated *a =
        ev_request_cancel_external_workflow_execution_initiated(event);
    return same_text(target_of(a->workflow_execution), c->future->external.workflow_id);
}

static struct event *request_event(struct run *run, const struct command *c)
{
    (void)run;
    return c->future->external.command;
}

static void bind(struct run *run, const struct command *c, int64_t event_id)
{
    struct external *e = &c->future->external;

    e->initiated_id = event_id;
    e->command = NULL; /* it lives no longer than this task */
    must_move(&external_machine, &e->state, EXTERNAL_INITIATED, e);
    open_add(run, event_id, c->future);
}

static const char *signal_describe(struct arena *arena, const struct command *c)
{
    const struct external *e = &c->future->external;
    return arena_printf(arena, "signal workflow id %s name %s", quoted(arena, e->workflow_id),
                        quoted(arena, e->signal));
}

static const char *cancel_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "request to cancel workflow id %s",
                        quoted(arena, c->future->external.workflow_id));
}

const struct command_def command_signal_external = {.name = "signal workflow",
                                                    .fits = signal_fits,
                                                    .event = request_event,
                                                    .bind = bind,
                                                    .describe = signal_describe};
const struct command_def command_cancel_external = {.name = "request to cancel workflow",
                                                    .fits = cancel_fits,
                                                    .event = request_event,
                                                    .bind = bind,
                                                    .describe = cancel_describe};

/* --- making them --------------------------------------------------------------------------------
 */

static bool is_uuid(const char *text)
{
    if (strlen(text) != UUID_CHARS) {
        return false;
    }
    for (int i = 0; i < UUID_CHARS; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i])) {
            return false;
        }
    }
    return true;
}

/* Splits "ID@RUN". */
static void set_target(struct run *run, struct external *e, const char *id)
{
    const char *at = strrchr(id, '@');

    if (at && at > id && is_uuid(at + 1)) {
        e->workflow_id = arena_strndup(run->arena, id, (size_t)(at - id));
        e->run_id = run_strdup(run, at + 1);
    } else {
        e->workflow_id = run_strdup(run, id);
    }
}

static struct workflow_execution *execution_new(struct arena *arena, const struct external *e)
{
    struct workflow_execution *execution = arena_new_of(arena, struct workflow_execution);

    execution->workflow_id = e->workflow_id;
    execution->run_id = e->run_id;
    return execution;
}

static struct event *signal_event(struct arena *arena, const struct external *e, const char *input)
{
    struct event *event = event_new(arena, EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED);
    struct ev_signal_external_workflow_execution_initiated *a =
        ev_signal_external_workflow_execution_initiated(event);

    a->namespace = RUN_NAMESPACE;
    a->workflow_execution = execution_new(arena, e);
    a->signal_name = e->signal;
    a->input = input ? payloads_json(arena, input) : NULL;
    a->child_workflow_only = e->child_only;
    return event;
}

static struct event *cancel_event(struct arena *arena, const struct external *e, const char *reason)
{
    struct event *event =
        event_new(arena, EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED);
    struct ev_request_cancel_external_workflow_execution_initiated *a =
        ev_request_cancel_external_workflow_execution_initiated(event);

    a->namespace = RUN_NAMESPACE;
    a->workflow_execution = execution_new(arena, e);
    a->child_workflow_only = e->child_only;
    a->reason = arena_strdup(arena, reason);
    return event;
}

/* NULL: the task has failed. text: the signal's input, or the reason to cancel. */
static dur_future *request(struct run *run, struct scope *scope, const struct external *what,
                           const char *text)
{
    if (run->open_externals >= RUN_MAX_OPEN) {
        fault_task(run,
                   what->signal ? WORKFLOW_TASK_FAILED_CAUSE_PENDING_SIGNALS_LIMIT_EXCEEDED
                                : WORKFLOW_TASK_FAILED_CAUSE_PENDING_REQUEST_CANCEL_LIMIT_EXCEEDED,
                   "more than %d requests to other runs are under way", RUN_MAX_OPEN);
        return NULL;
    }
    struct command *c =
        command_add(run, what->signal ? &command_signal_external : &command_cancel_external);
    if (!c) {
        return NULL;
    }
    dur_future *f = future_new(run, FUTURE_EXTERNAL, scope);
    f->external = *what;
    c->future = f;
    run->open_externals++;
    if (!run->replaying) {
        f->external.command = what->signal ? signal_event(run->task_arena, &f->external, text)
                                           : cancel_event(run->task_arena, &f->external, text);
    }
    return f;
}

bool external_cancel_child(struct run *run, const struct child *child)
{
    struct external what = {.workflow_id = child->id, .child_only = true};
    dur_future *f = request(run, NULL, &what, run->cancel.reason);

    if (f) { /* nobody waits for the answer */
        f->done = true;
        f->orphan = true;
    }
    return f != NULL;
}

static dur_future *ask(dur_ctx *ctx, const struct external *what, const char *text)
{
    struct run *run = ctx->run;

    if (ctx->scope->cancelled) {
        return future_dead(run, DUR_CANCELLED);
    }
    dur_future *f = request(run, ctx->scope, what, text);
    return f ? f : future_dead(run, call_park(run));
}

dur_future *dur_signal_external_at(dur_ctx *ctx, const char *id, const char *signal,
                                   const char *input, const char *file, int line)
{
    struct external what = {0};
    int code = call_enter(ctx->run, file, line);

    if (code == DUR_OK && (!options_is_target(id) || !options_is_name(signal))) {
        code = DUR_INVALID;
    }
    if (code == DUR_OK) {
        code = payload_check(input);
    }
    if (code != DUR_OK) {
        return future_dead(ctx->run, code);
    }
    set_target(ctx->run, &what, id);
    what.signal = run_intern(ctx->run, signal);
    return ask(ctx, &what, input);
}

dur_future *dur_signal_child_at(dur_ctx *ctx, dur_future *child, const char *signal,
                                const char *input, const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code == DUR_OK && (!child || child->kind != FUTURE_CHILD || !options_is_name(signal))) {
        code = DUR_INVALID;
    }
    if (code == DUR_OK) {
        code = payload_check(input);
    }
    if (code == DUR_OK && child->child.state == CHILD_DROPPED) {
        code = DUR_CANCELLED; /* it never started */
    }
    if (code != DUR_OK) {
        return future_dead(ctx->run, code);
    }
    struct external what = {
        .workflow_id = child->child.id, .signal = run_intern(ctx->run, signal), .child_only = true};
    return ask(ctx, &what, input);
}

dur_future *dur_cancel_external_at(dur_ctx *ctx, const char *id, const char *reason,
                                   const char *file, int line)
{
    struct external what = {0};
    int code = call_enter(ctx->run, file, line);

    if (code == DUR_OK &&
        (!options_is_target(id) || (reason && *reason && !options_is_name(reason)))) {
        code = DUR_INVALID;
    }
    if (code != DUR_OK) {
        return future_dead(ctx->run, code);
    }
    set_target(ctx->run, &what, id);
    return ask(ctx, &what, reason);
}

/* --- answers ------------------------------------------------------------------------------------
 */

static bool is_closed(const dur_future *f)
{
    return f->external.state >= EXTERNAL_DELIVERED;
}

static void cancel(struct run *run, dur_future *f)
{
    if (f->external.state == EXTERNAL_NEW) {
        must_move(&external_machine, &f->external.state, EXTERNAL_DROPPED, &f->external);
        command_drop(run, f);
        run->open_externals--;
        future_resolve(f, DUR_CANCELLED, NULL);
    }
}

const struct future_def future_external = {.closed = is_closed, .cancel = cancel};

static void resolve(struct run *run, dur_future *f, const struct event *event)
{
    const struct external *e = &f->external;

    if (e->state == EXTERNAL_DELIVERED) {
        future_resolve(f, DUR_OK, NULL);
        return;
    }
    (void)event;
    f->failure = failure_application(run->arena, "ExternalWorkflowExecutionNotFound",
                                     arena_printf(run->task_arena, "no run %s%s%s that could be %s",
                                                  e->workflow_id, e->run_id ? "@" : "",
                                                  e->run_id ? e->run_id : "",
                                                  e->signal ? "signalled" : "asked to cancel"),
                                     true, NULL);
    future_resolve(f, DUR_FAILED, NULL);
}

static int apply(struct run *run, const struct event *event, bool signal, int to, struct err *err)
{
    int64_t initiated = event_initiated_id(event);
    dur_future *f = open_find(run, initiated);

    if (!f || f->kind != FUTURE_EXTERNAL || (f->external.signal != NULL) != signal) {
        return bad_history(err, event, "event %lld is no open request of this kind",
                           (long long)initiated);
    }
    int rc = machine_apply(&external_machine, &f->external.state, to, &f->external, event, err);
    if (rc == 0) {
        run->open_externals--;
        closing_add(run, initiated, event, resolve);
    }
    return rc;
}

int external_apply_signaled(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, true, EXTERNAL_DELIVERED, err);
}

int external_apply_signal_failed(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, true, EXTERNAL_FAILED, err);
}

int external_apply_cancel_requested(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, false, EXTERNAL_DELIVERED, err);
}

int external_apply_cancel_failed(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, false, EXTERNAL_FAILED, err);
}
