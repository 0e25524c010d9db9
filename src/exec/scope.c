/*
 * scope.c - cancellation scopes, and the contexts that carry them.
 *
 * Owns: the tree of scopes. Cancelling one cancels its pending futures oldest first, wakes the
 * coroutines that wait in it, then goes to its children in order of making. A disconnected scope
 * has no parent: nothing but dur_cancel_scope() on it reaches it. Tests:
 * tests/unit/test_exec_cancel.c
 */
#include "exec/state.h"

static void cancel_one(struct run *run, struct scope *scope)
{
    if (scope->cancelled) {
        return;
    }
    scope->cancelled = true;
    for (dur_future *f = scope->first, *next; f; f = next) {
        next = f->next;
        future_cancel(run, f);
    }
    for (struct coroutine *co = run->all; co; co = co->all_next) {
        if (co->wait_scope == scope) {
            coroutine_wake(co);
        }
    }
}

void scope_cancel(struct run *run, struct scope *scope)
{
    struct scope *s = scope;

    for (;;) { /* the tree in preorder, without recursion: scopes may nest as deep as code likes */
        cancel_one(run, s);
        if (s->first_child) {
            s = s->first_child;
            continue;
        }
        while (s != scope && !s->sibling) {
            s = s->parent;
        }
        if (s == scope) {
            return;
        }
        s = s->sibling;
    }
}

static dur_ctx *ctx_new(struct run *run, struct scope *parent)
{
    dur_ctx *ctx = arena_new_of(run->arena, struct dur_ctx);
    struct scope *scope = arena_new_of(run->arena, struct scope);

    ctx->run = run;
    ctx->scope = scope;
    if (parent) {
        scope->parent = parent;
        scope->cancelled = parent->cancelled;
        if (parent->last_child) {
            parent->last_child->sibling = scope;
        } else {
            parent->first_child = scope;
        }
        parent->last_child = scope;
    }
    return ctx;
}

dur_ctx *dur_disconnected(dur_ctx *ctx)
{
    if (!ctx->disconnected || ctx->disconnected->scope->cancelled) {
        ctx->disconnected = ctx_new(ctx->run, NULL);
    }
    return ctx->disconnected;
}

dur_ctx *dur_scope(dur_ctx *ctx)
{
    return ctx_new(ctx->run, ctx->scope);
}

void dur_cancel_scope(dur_ctx *scope)
{
    struct run *run = scope->run;

    if (run->current && !run->in_callback && !run->unwinding) {
        scope_cancel(run, scope->scope);
        if (run->outcome) {
            (void)call_park(run);
        }
    }
}

int dur_is_cancelled(const dur_ctx *ctx)
{
    return ctx->scope->cancelled;
}

const char *dur_cancel_reason(const dur_ctx *ctx)
{
    return ctx->run->cancel.reason ? ctx->run->cancel.reason : "";
}
