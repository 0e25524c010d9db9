/*
 * timer.c - dur_timer, dur_sleep.
 *
 * Owns: the timer's two commands, its end, its cancellation (a cancel command, done with
 * DUR_CANCELLED at once); timer ids (a counter, as Temporal's Core requires) and durations: zero or
 * less is over at once and leaves no trace; more than 100 years is 100 years. Tests:
 * tests/unit/test_exec_run.c
 */
#include "exec/state.h"

#include "base/clock.h"

#define MAX_TIMER_MS (100LL * 365 * DUR_DAYS)

dur_future *timer_start(dur_ctx *ctx, int64_t ms)
{
    struct run *run = ctx->run;

    if (ctx->scope->cancelled) {
        return future_dead(run, DUR_CANCELLED);
    }
    if (ms <= 0) {
        return future_dead(run, DUR_OK);
    }
    struct command *c = command_add(run, &command_start_timer);
    if (!c) {
        return future_dead(run, call_park(run));
    }
    dur_future *f = future_new(run, FUTURE_TIMER, ctx->scope);
    c->future = f;
    counter_print(f->id_text, ++run->next_timer);
    f->timer.id = f->id_text;
    f->timer.ms = ms < MAX_TIMER_MS ? ms : MAX_TIMER_MS;
    return f;
}

dur_future *timer_start_for(struct run *run, int64_t ms, struct local *owner)
{
    struct command *c = command_add(run, &command_start_timer);

    if (!c) {
        return NULL;
    }
    dur_future *f = future_new(run, FUTURE_TIMER, NULL);
    c->future = f;
    counter_print(f->id_text, ++run->next_timer);
    f->timer.id = f->id_text;
    f->timer.ms = ms < MAX_TIMER_MS ? ms : MAX_TIMER_MS;
    f->timer.owner = owner;
    return f;
}

int timer_end_wait(struct run *run, dur_future *timer, int code)
{
    if (timer && code != DUR_UNWIND) {
        future_cancel(run, timer);
        if (run->outcome) {
            return call_park(run);
        }
        future_recycle(run, timer);
    }
    return code;
}

dur_future *dur_timer_at(dur_ctx *ctx, int64_t ms, const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    return code != DUR_OK ? future_dead(ctx->run, code) : timer_start(ctx, ms);
}

int dur_sleep_at(dur_ctx *ctx, int64_t ms, const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    dur_future *f = timer_start(ctx, ms);
    code = future_wait(ctx, f, NULL);
    future_recycle(ctx->run, f);
    return code;
}

/* --- its commands and its end ----------------------------------------------------------------- */

static bool start_fits(struct run *run, const struct command *c, const struct event *event)
{
    return event->type == EVENT_TIMER_STARTED &&
           (!run->compares_timers ||
            same_text(ev_timer_started(event)->timer_id, c->future->timer.id));
}

static struct event *start_event(struct run *run, const struct command *c)
{
    struct event *event = event_new(run->task_arena, EVENT_TIMER_STARTED);
    struct ev_timer_started *a = ev_timer_started(event);

    a->timer_id = c->future->timer.id;
    a->start_to_fire_timeout = c->future->timer.ms * NS_PER_MS;
    return event;
}

static void start_bind(struct run *run, const struct command *c, int64_t event_id)
{
    c->future->timer.started_id = event_id;
    must_move(&timer_machine, &c->future->timer.state, TIMER_STARTED, &c->future->timer);
    open_add(run, event_id, c->future);
}

static const char *start_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "start timer id %s after %lld ms",
                        quoted(arena, c->future->timer.id), (long long)c->future->timer.ms);
}

const struct command_def command_start_timer = {.name = "start timer",
                                                .fits = start_fits,
                                                .event = start_event,
                                                .bind = start_bind,
                                                .describe = start_describe};

static bool cancel_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    return event->type == EVENT_TIMER_CANCELED &&
           (event_started_id(event)
                ? event_started_id(event) == c->future->timer.started_id
                : same_text(ev_timer_canceled(event)->timer_id, c->future->timer.id));
}

static struct event *cancel_event(struct run *run, const struct command *c)
{
    struct event *event = event_new(run->task_arena, EVENT_TIMER_CANCELED);
    struct ev_timer_canceled *a = ev_timer_canceled(event);

    a->timer_id = c->future->timer.id;
    a->started_event_id = c->future->timer.started_id;
    a->identity = run->spec.identity;
    return event;
}

static void cancel_bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)event_id;
    open_remove(run, c->future->timer.started_id);
    must_move(&timer_machine, &c->future->timer.state, TIMER_CANCELED, &c->future->timer);
    if (c->future->orphan) {
        c->future->orphan = false;
        future_recycle(run, c->future);
    }
}

static const char *cancel_describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "cancel timer id %s", quoted(arena, c->future->timer.id));
}

const struct command_def command_cancel_timer = {.name = "cancel timer",
                                                 .fits = cancel_fits,
                                                 .event = cancel_event,
                                                 .bind = cancel_bind,
                                                 .describe = cancel_describe};

static bool is_closed(const dur_future *f)
{
    return f->timer.state >= TIMER_FIRED;
}

static void cancel(struct run *run, dur_future *f)
{
    if (f->timer.state == TIMER_NEW) {
        must_move(&timer_machine, &f->timer.state, TIMER_DROPPED, &f->timer);
        command_drop(run, f);
    } else {
        struct command *c = command_add(run, &command_cancel_timer);
        if (!c) {
            return;
        }
        c->future = f;
    }
    future_resolve(f, DUR_CANCELLED, NULL);
}

const struct future_def future_timer = {.closed = is_closed, .cancel = cancel};

static void resolve(struct run *run, dur_future *f, const struct event *event)
{
    struct local *owner = f->timer.owner;

    (void)event;
    future_resolve(f, DUR_OK, NULL);
    if (owner) {
        local_timer_fired(run, owner);
        future_recycle(run, f);
    }
}

int timer_apply_fired(struct run *run, const struct event *event, struct err *err)
{
    const struct ev_timer_fired *a = ev_timer_fired(event);
    dur_future *f = open_find(run, a->started_event_id);

    if (!f || f->kind != FUTURE_TIMER) {
        return bad_history(err, event, "event %lld is no open timer",
                           (long long)a->started_event_id);
    }
    if (!same_text(a->timer_id, f->timer.id)) {
        return bad_history(err, event, "timer id \"%.100s\" is not the started one, \"%.100s\"",
                           a->timer_id ? a->timer_id : "", f->timer.id);
    }
    int rc = machine_apply(&timer_machine, &f->timer.state, TIMER_FIRED, &f->timer, event, err);
    if (rc == 0) {
        closing_add(run, a->started_event_id, event, resolve);
    }
    return rc;
}
