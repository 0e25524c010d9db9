/*
 * future.c - what a workflow can wait for: resolving, waiting, cancelling.
 *
 * Owns: struct dur_future from its making to its reuse. How each kind is cancelled is its
 * future_def's affair; a future that is closed in history but not delivered yet is left alone: its
 * real result comes in this very task.
 *
 * Tests: tests/unit/test_exec_cancel.c, tests/unit/test_exec_run.c
 */
#include "exec/state.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* A new kind of future with a history of its own has its row here. */
static const struct future_def *const defs[] = {
    [FUTURE_ACTIVITY] = &future_activity, [FUTURE_TIMER] = &future_timer,
    [FUTURE_CHILD] = &future_child,       [FUTURE_EXTERNAL] = &future_external,
    [FUTURE_LOCAL] = &future_local,       [FUTURE_DEAD] = NULL,
};

static bool is_closed(const dur_future *f)
{
    const struct future_def *def = defs[f->kind];
    return def && def->closed && def->closed(f);
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
    return f->kind == FUTURE_SIGNAL   ? f->channel->first != NULL
           : f->kind == FUTURE_STREAM ? stream_is_ready(f->stream)
                                      : f->done;
}

void future_recycle(struct run *run, dur_future *f)
{
    bool has_owner =
        f->kind == FUTURE_SIGNAL || f->kind == FUTURE_STREAM || f->kind == FUTURE_COROUTINE;
    if (!f->done || f->waiters || has_owner) {
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

bool future_ends_with_scope(const dur_future *f)
{
    if (f->kind == FUTURE_COROUTINE) {
        return f->coroutine->ctx.scope->cancelled;
    }
    const struct future_def *def = defs[f->kind];
    return def && def->cancel && f->scope && f->scope->cancelled;
}

int future_wait(dur_ctx *ctx, dur_future *f, const char **result)
{
    struct run *run = ctx->run;
    struct waiter w = {.coroutine = run->current};

    while (!future_is_done(f)) {
        if (ctx->scope->cancelled && !future_ends_with_scope(f)) {
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

void future_cancel(struct run *run, dur_future *f)
{
    const struct future_def *def = defs[f->kind];

    if (def && def->cancel && !future_is_done(f) && !is_closed(f)) {
        def->cancel(run, f);
    }
}
