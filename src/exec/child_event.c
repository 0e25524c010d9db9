/*
 * child_event.c - a child's command, its events, its cancellation.
 *
 * Owns: what a child means to command.c, match.c, deliver.c and future.c:
 *
 *   cancelled before its command was sent   the command is taken back: it never starts
 *   TRY_CANCEL    request-cancel command (child_workflow_only), done with DUR_CANCELLED at once
 *   WAIT_CANCEL   the same command, done when history says how it ended
 *   ABANDON       no command, done with DUR_CANCELLED at once
 *
 * Must not: make children (child.c does), nor the request to cancel (external.c does).
 * Tests: tests/unit/test_exec_child.c
 */
#include "exec/state.h"

#include "history/failure.h"

static bool start_fits(struct run *run, const struct command *c, const struct event *event)
{
    if (event->type != EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
        return false;
    }
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(event);
    struct child *child = &c->future->child;
    bool any_id = child->any_id || !run->compares_ids;
    if (any_id && !same_text(child->id, a->workflow_id)) { /* whose events will follow */
        child->id = run_strdup(run, a->workflow_id);
    }
    return same_text(a->workflow_id, child->id) &&
           (!run->compares_ids || same_type(a->workflow_type, child->type));
}

static struct event *start_event(struct run *run, const struct command *c)
{
    (void)run;
    return c->future->child.command;
}

static void start_bind(struct run *run, const struct command *c, int64_t event_id)
{
    struct child *child = &c->future->child;

    child->initiated_id = event_id;
    child->command = NULL; /* it lives no longer than this task */
    must_move(&child_machine, &child->state, CHILD_INITIATED, child);
    open_add(run, event_id, c->future);
}

static const char *start_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "start child workflow id %s type %s",
                        quoted(arena, c->future->child.id), quoted(arena, c->future->child.type));
}

const struct command_def command_start_child = {.name = "start child workflow",
                                                .fits = start_fits,
                                                .event = start_event,
                                                .bind = start_bind,
                                                .describe = start_describe};

/* --- cancelling --------------------------------------------------------------------------------
 */

static bool is_closed(const dur_future *f)
{
    return f->child.state >= CHILD_COMPLETED;
}

static void cancel(struct run *run, dur_future *f)
{
    struct child *child = &f->child;

    if (child->state == CHILD_NEW) {
        must_move(&child_machine, &child->state, CHILD_DROPPED, child);
        command_drop(run, f);
        run->open_children--;
        future_resolve(f, DUR_CANCELLED, NULL);
        return;
    }
    if (child->cancellation != DUR_ABANDON && !child->cancel_requested) {
        if (!external_cancel_child(run, child)) {
            return;
        }
        child->cancel_requested = true;
    }
    if (child->cancellation != DUR_WAIT_CANCEL) {
        future_resolve(f, DUR_CANCELLED, NULL);
    }
}

const struct future_def future_child = {.closed = is_closed, .cancel = cancel};

/* --- its events ---------------------------------------------------------------------------------
 */

/* What the parent is told, and how it came about. */
static struct failure *cause_of(struct arena *arena, const struct event *event,
                                enum retry_state *ret_state)
{
    switch (event->type) {
    case EVENT_CHILD_WORKFLOW_EXECUTION_FAILED: {
        const struct ev_child_workflow_execution_failed *a =
            ev_child_workflow_execution_failed(event);
        *ret_state = a->retry_state;
        return a->failure ? failure_copy(a->failure, arena) : NULL;
    }
    case EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
        *ret_state = ev_child_workflow_execution_timed_out(event)->retry_state;
        return failure_timeout(arena, TIMEOUT_TYPE_START_TO_CLOSE, "child workflow timeout", NULL,
                               NULL);
    case EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED:
        *ret_state = RETRY_STATE_NON_RETRYABLE_FAILURE;
        return failure_terminated(arena, "child workflow terminated", NULL);
    default:
        *ret_state = RETRY_STATE_NON_RETRYABLE_FAILURE;
        return failure_application(arena, "WorkflowExecutionAlreadyStarted",
                                   "a run with the child's id is open, or the id may not be reused",
                                   true, NULL);
    }
}

static void resolve(struct run *run, dur_future *f, const struct event *event)
{
    const struct child *c = &f->child;
    enum retry_state state = RETRY_STATE_UNSPECIFIED;

    switch (event->type) {
    case EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED:
        future_resolve(f, DUR_OK,
                       result_text(run, ev_child_workflow_execution_completed(event)->result));
        return;
    case EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED:
        future_resolve(f, DUR_CANCELLED, NULL);
        return;
    default: {
        struct failure *cause = cause_of(run->arena, event, &state);
        f->failure = failure_child(run->arena, c->id, c->run_id ? c->run_id : "", c->type,
                                   c->initiated_id, c->started_id, state, cause);
        future_resolve(f, DUR_FAILED, NULL);
    }
    }
}

static dur_future *find(struct run *run, const struct event *event, struct err *err)
{
    int64_t initiated = event_initiated_id(event);
    dur_future *f = open_find(run, initiated);

    if (!f || f->kind != FUTURE_CHILD) {
        bad_history(err, event, "event %lld is no open child workflow", (long long)initiated);
        return NULL;
    }
    return f;
}

int child_apply_started(struct run *run, const struct event *event, struct err *err)
{
    const struct ev_child_workflow_execution_started *a =
        ev_child_workflow_execution_started(event);
    dur_future *f = find(run, event, err);

    if (!f) {
        return -1;
    }
    if (!a->workflow_execution || !a->workflow_execution->run_id) {
        return bad_history(err, event, "has no run id");
    }
    struct child *c = &f->child;
    if (c->state == CHILD_INITIATED) {
        c->started_id = event->id;
        c->run_id = run_strdup(run, a->workflow_execution->run_id);
    }
    int rc = machine_apply(&child_machine, &c->state, CHILD_STARTED, c, event, err);
    for (struct waiter *w = f->waiters; rc == 0 && w; w = w->next) {
        coroutine_wake(w->coroutine); /* whoever waits for the result looks and waits on */
    }
    return rc;
}

static int apply_end(struct run *run, const struct event *event, int to, struct err *err)
{
    dur_future *f = find(run, event, err);

    if (!f) {
        return -1;
    }
    int rc = machine_apply(&child_machine, &f->child.state, to, &f->child, event, err);
    if (rc == 0) {
        run->open_children--;
        closing_add(run, f->child.initiated_id, event, resolve);
    }
    return rc;
}

int child_apply_start_failed(struct run *run, const struct event *event, struct err *err)
{
    return apply_end(run, event, CHILD_START_FAILED, err);
}

int child_apply_completed(struct run *run, const struct event *event, struct err *err)
{
    return apply_end(run, event, CHILD_COMPLETED, err);
}

int child_apply_failed(struct run *run, const struct event *event, struct err *err)
{
    return apply_end(run, event, CHILD_FAILED, err);
}

int child_apply_canceled(struct run *run, const struct event *event, struct err *err)
{
    return apply_end(run, event, CHILD_CANCELED, err);
}

int child_apply_timed_out(struct run *run, const struct event *event, struct err *err)
{
    return apply_end(run, event, CHILD_TIMED_OUT, err);
}

int child_apply_terminated(struct run *run, const struct event *event, struct err *err)
{
    return apply_end(run, event, CHILD_TERMINATED, err);
}
