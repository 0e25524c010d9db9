/*
 * future.c - what a workflow can wait for: resolving, waiting, cancelling.
 *
 * Owns: struct dur_future from its making to its reuse, and the rule of cancellation per kind:
 *
 *   command not sent yet   the command is taken back, nothing is recorded
 *   activity TRY_CANCEL    request-cancel command, done with DUR_CANCELLED at once
 *            WAIT_CANCEL   request-cancel command, done when history says how it ended
 *            ABANDON       no command, done with DUR_CANCELLED at once
 *   timer                  cancel command, done with DUR_CANCELLED at once
 *   closed in history but not delivered yet: left alone, its real result comes in this very task
 *
 * Tests: tests/unit/test_exec_cancel.c, tests/unit/test_exec_run.c
 */
#include "exec/state.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static bool is_closed(const dur_future *f)
{
    return f->kind == FUTURE_ACTIVITY ? f->activity.state >= ACTIVITY_COMPLETED
                                      : f->kind == FUTURE_TIMER && f->timer.state >= TIMER_FIRED;
}

dur_future *future_new(struct run *run, enum future_kind kind, struct scope *scope)
{
    dur_future *f = run->spare;

    if (f) {
        run->spare = f->next;
        memset(f, 0, sizeof(*f));
    } else {
        f = arena_new_of(run->arena, dur_future);
    }
    f->kind = (uint8_t)kind;
    if (scope) {
        f->scope = scope;
        f->prev = scope->last;
        if (scope->last) {
            scope->last->next = f;
        } else {
            scope->first = f;
        }
        scope->last = f;
    }
    return f;
}

dur_future *future_dead(struct run *run, int code)
{
    dur_future *f = future_new(run, FUTURE_DEAD, NULL);

    f->done = true;
    f->code = code;
    return f;
}

void future_unlink(dur_future *f)
{
    struct scope *scope = f->scope;

    if (!scope) {
        return;
    }
    if (f->prev) {
        f->prev->next = f->next;
    } else {
        scope->first = f->next;
    }
    if (f->next) {
        f->next->prev = f->prev;
    } else {
        scope->last = f->prev;
    }
    f->scope = NULL;
    f->prev = f->next = NULL;
}

void future_resolve(dur_future *f, int code, const char *result)
{
    assert(!f->done);
    f->done = true;
    f->code = code;
    f->result = result;
    future_unlink(f);
    for (struct waiter *w = f->waiters; w; w = w->next) {
        coroutine_wake(w->coroutine);
    }
}

bool future_is_done(const dur_future *f)
{
    return f->kind == FUTURE_SIGNAL ? f->channel->first != NULL : f->done;
}

void future_recycle(struct run *run, dur_future *f)
{
    if (!f->done || f->waiters || f->kind == FUTURE_SIGNAL || f->kind == FUTURE_COROUTINE) {
        return;
    }
    if (f->kind != FUTURE_DEAD && !is_closed(f)) {
        f->orphan = true; /* its late end comes by in deliver.c */
        return;
    }
    f->next = run->spare;
    run->spare = f;
}

void waiter_add(dur_future *f, struct waiter *w)
{
    struct waiter **at = &f->waiters;

    while (*at) {
        at = &(*at)->next;
    }
    w->next = NULL;
    *at = w;
}

void waiter_remove(dur_future *f, struct waiter *w)
{
    struct waiter **at = &f->waiters;

    while (*at && *at != w) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = w->next;
    }
}

/* Will f end by itself because the waiter's scope was cancelled? Then the waiter joins it. */
static bool ends_with_scope(const dur_future *f)
{
    switch ((enum future_kind)f->kind) {
    case FUTURE_ACTIVITY:
    case FUTURE_TIMER:
        return f->scope && f->scope->cancelled;
    case FUTURE_COROUTINE:
        return f->coroutine->ctx.scope->cancelled;
    case FUTURE_SIGNAL:
    case FUTURE_DEAD:
        return false;
    }
    return false;
}

int future_wait(dur_ctx *ctx, dur_future *f, const char **result)
{
    struct run *run = ctx->run;
    struct waiter w = {.coroutine = run->current};

    while (!future_is_done(f)) {
        if (ctx->scope->cancelled && !ends_with_scope(f)) {
            return DUR_CANCELLED;
        }
        waiter_add(f, &w);
        call_block(run, ctx->scope);
        waiter_remove(f, &w);
        if (run->unwinding) {
            return DUR_UNWIND;
        }
    }
    if (result) {
        *result = f->kind == FUTURE_SIGNAL ? f->channel->first->input : f->result;
    }
    return ctx_note(ctx, f, f->code);
}

int ctx_note(dur_ctx *ctx, const dur_future *f, int code)
{
    if (code == DUR_OK) {
        ctx->fresh_failure = NULL;
    } else if (code == DUR_FAILED) {
        struct coroutine *co = ctx->run->current;
        ctx->failure = ctx->fresh_failure = co->failure = f->failure;
        ctx->attempt = co->attempt = f->attempt;
        ctx->info = NULL;
    }
    return code;
}

static void cancel_activity(struct run *run, dur_future *f)
{
    struct activity *a = &f->activity;

    if (a->state == ACTIVITY_NEW) {
        bool moved = machine_move(&activity_machine, &a->state, ACTIVITY_DROPPED, a);
        assert(moved);
        (void)moved;
        command_drop(run, f);
        run->open_activities--;
        future_resolve(f, DUR_CANCELLED, NULL);
        return;
    }
    if (a->cancellation != DUR_ABANDON && !a->cancel_requested) {
        struct command *c = command_add(run, COMMAND_CANCEL_ACTIVITY);
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

static void cancel_timer(struct run *run, dur_future *f)
{
    if (f->timer.state == TIMER_NEW) {
        bool moved = machine_move(&timer_machine, &f->timer.state, TIMER_DROPPED, &f->timer);
        assert(moved);
        (void)moved;
        command_drop(run, f);
    } else {
        struct command *c = command_add(run, COMMAND_CANCEL_TIMER);
        if (!c) {
            return;
        }
        c->future = f;
    }
    future_resolve(f, DUR_CANCELLED, NULL);
}

void future_cancel(struct run *run, dur_future *f)
{
    if (future_is_done(f) || is_closed(f)) {
        return;
    }
    if (f->kind == FUTURE_ACTIVITY) {
        cancel_activity(run, f);
    } else if (f->kind == FUTURE_TIMER) {
        cancel_timer(run, f);
    }
}
