/*
 * await.c - dur_await, dur_select, dur_done, dur_cancel_future.
 *
 * Owns: waiting for several futures at once. dur_select answers with the lowest done index,
 * whatever order they became done in: the answer depends on nothing but the history. Tests:
 * tests/unit/test_exec_run.c
 */
#include "base/mem.h"
#include "exec/state.h"

int dur_await_at(dur_ctx *ctx, dur_future *future, const char **result, const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    return future ? future_wait(ctx, future, result) : DUR_INVALID;
}

static int first_done(dur_future *const *futures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (futures[i] && future_is_done(futures[i])) {
            return (int)i;
        }
    }
    return -1;
}

static size_t count_given(dur_future *const *futures, size_t count)
{
    size_t given = 0;

    for (size_t i = 0; i < count; i++) {
        given += futures[i] != NULL;
    }
    return given;
}

int dur_select_at(dur_ctx *ctx, dur_future *const *futures, size_t count, const char *file,
                  int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!futures || count > INT32_MAX || count_given(futures, count) == 0) {
        return DUR_INVALID;
    }
    struct coroutine *co = run->current;
    for (;;) {
        int done = first_done(futures, count);
        if (done >= 0) {
            return done;
        }
        if (ctx->scope->cancelled) {
            return DUR_CANCELLED;
        }
        mem_reserve(co->waiters, &co->waiters_cap, count);
        for (size_t i = 0; i < count; i++) {
            co->waiters[i] = (struct waiter){.coroutine = co};
            if (futures[i]) {
                waiter_add(futures[i], &co->waiters[i]);
            }
        }
        call_block(run, ctx->scope);
        for (size_t i = 0; i < count; i++) {
            if (futures[i]) {
                waiter_remove(futures[i], &co->waiters[i]);
            }
        }
        if (run->unwinding) {
            return DUR_UNWIND;
        }
    }
}

int dur_done(const dur_future *future)
{
    return future && future_is_done(future);
}

void dur_cancel_future(dur_ctx *ctx, dur_future *future)
{
    struct run *run = ctx->run;

    if (!future || !run->current || run->in_callback || run->unwinding) {
        return;
    }
    future_cancel(run, future);
    if (run->outcome) {
        (void)call_park(run);
    }
}
