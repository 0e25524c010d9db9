/*
 * activity_event.c - an activity's two commands, its events, its cancellation.
 *
 * Owns: what a scheduled activity means to command.c, match.c, deliver.c and future.c:
 *
 *   cancelled before its command was sent   the command is taken back, nothing is recorded
 *   TRY_CANCEL    request-cancel command, done with DUR_CANCELLED at once
 *   WAIT_CANCEL   request-cancel command, done when history says how it ended
 *   ABANDON       no command, done with DUR_CANCELLED at once
 *
 * Must not: make activities (activity.c does).
 * Tests: tests/unit/test_exec_activity.c, tests/unit/test_exec_cancel.c
 */
#include "exec/state.h"

static bool schedule_fits(struct run *run, const struct command *c, const struct event *event)
{
    const struct ev_activity_task_scheduled *a;

    if (event->type != EVENT_ACTIVITY_TASK_SCHEDULED) {
        return false;
    }
    a = ev_activity_task_scheduled(event);
    return !run->compares_ids || (same_text(a->activity_id, c->future->activity.id) &&
                                  same_type(a->activity_type, c->future->activity.type));
}

static struct event *schedule_event(struct run *run, const struct command *c)
{
    (void)run;
    return c->future->activity.command;
}

static void schedule_bind(struct run *run, const struct command *c, int64_t event_id)
{
    struct activity *a = &c->future->activity;

    a->scheduled_id = event_id;
    a->command = NULL; /* it lives no longer than this task */
    must_move(&activity_machine, &a->state, ACTIVITY_SCHEDULED, a);
    open_add(run, event_id, c->future);
}

static const char *schedule_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "schedule activity id %s type %s",
                        quoted(arena, c->future->activity.id),
                        quoted(arena, c->future->activity.type));
}

const struct command_def command_schedule_activity = {.name = "schedule activity",
                                                      .fits = schedule_fits,
                                                      .event = schedule_event,
                                                      .bind = schedule_bind,
                                                      .describe = schedule_describe};

static bool cancel_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    return event->type == EVENT_ACTIVITY_TASK_CANCEL_REQUESTED &&
           event_scheduled_id(event) == c->future->activity.scheduled_id;
}

static struct event *cancel_event(struct run *run, const struct command *c)
{
    struct event *event = event_new(run->task_arena, EVENT_ACTIVITY_TASK_CANCEL_REQUESTED);

    ev_activity_task_cancel_requested(event)->scheduled_event_id = c->future->activity.scheduled_id;
    return event;
}

static const char *cancel_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "cancel activity id %s of event %lld",
                        quoted(arena, c->future->activity.id),
                        (long long)c->future->activity.scheduled_id);
}

const struct command_def command_cancel_activity = {.name = "cancel activity",
                                                    .fits = cancel_fits,
                                                    .event = cancel_event,
                                                    .describe = cancel_describe};

/* --- cancelling --------------------------------------------------------------------------------
 */

static bool is_closed(const dur_future *f)
{
    return f->activity.state >= ACTIVITY_COMPLETED;
}

static void cancel(struct run *run, dur_future *f)
{
    struct activity *a = &f->activity;

    if (a->state == ACTIVITY_NEW) {
        must_move(&activity_machine, &a->state, ACTIVITY_DROPPED, a);
        command_drop(run, f);
        run->open_activities--;
        future_resolve(f, DUR_CANCELLED, NULL);
        return;
    }
    if (a->cancellation != DUR_ABANDON && !a->cancel_requested) {
        struct command *c = command_add(run, &command_cancel_activity);
        if (!c) {
            return;
        }
        c->future = f;
        a->cancel_requested = true;
    }
    if (a->cancellation != DUR_WAIT_CANCEL) {
        future_resolve(f, DUR_CANCELLED, NULL);
    }
}

const struct future_def future_activity = {.closed = is_closed, .cancel = cancel};

/* --- its events ---------------------------------------------------------------------------------
 */

static void resolve(struct run *run, dur_future *f, const struct event *event)
{
    switch (event->type) {
    case EVENT_ACTIVITY_TASK_COMPLETED:
        future_resolve(f, DUR_OK, result_text(run, ev_activity_task_completed(event)->result));
        return;
    case EVENT_ACTIVITY_TASK_CANCELED:
        future_resolve(f, DUR_CANCELLED, NULL);
        return;
    default:
        f->failure = failure_of_activity(run->arena, &f->activity, event);
        f->attempt = f->activity.attempt;
        future_resolve(f, DUR_FAILED, NULL);
    }
}

static int apply(struct run *run, const struct event *event, int to, struct err *err)
{
    int64_t scheduled = event_scheduled_id(event);
    dur_future *f = open_find(run, scheduled);

    if (!f || f->kind != FUTURE_ACTIVITY) {
        return bad_history(err, event, "event %lld is no open activity", (long long)scheduled);
    }
    struct activity *a = &f->activity;
    if (to == ACTIVITY_STARTED && a->state == ACTIVITY_SCHEDULED) {
        a->started_id = event->id;
        a->attempt = ev_activity_task_started(event)->attempt;
    }
    if (to == ACTIVITY_CANCELED && !a->cancel_requested) {
        return bad_history(err, event, "nobody asked activity \"%.100s\" to cancel", a->id);
    }
    int rc = machine_apply(&activity_machine, &a->state, to, a, event, err);
    if (rc == 0 && to != ACTIVITY_STARTED) {
        run->open_activities--;
        closing_add(run, scheduled, event, resolve);
    }
    return rc;
}

int activity_apply_started(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, ACTIVITY_STARTED, err);
}

int activity_apply_completed(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, ACTIVITY_COMPLETED, err);
}

int activity_apply_failed(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, ACTIVITY_FAILED, err);
}

int activity_apply_timed_out(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, ACTIVITY_TIMED_OUT, err);
}

int activity_apply_canceled(struct run *run, const struct event *event, struct err *err)
{
    return apply(run, event, ACTIVITY_CANCELED, err);
}
