/*
 * schedule.c - which coroutine runs next, and how all of them end.
 *
 * Owns: the ready queue (first in, first out: the order is part of what makes replay exact), the
 * entry point of every fiber, blocking, parking and unwinding.
 *
 *   ready --resume--> running --call_block--> blocked --coroutine_wake--> ready
 *                        `--function returns--> returned
 *
 * Between two tasks' events and their code, coroutines of handlers are moved to the front. When all
 * are blocked, the conditions of dur_wait() are looked at (wait.c).
 *
 * Unwinding goes newest first, so that a coroutine that borrowed its parent's variables ends before
 * the parent's frame does.
 * Tests: tests/unit/test_exec_run.c, tests/unit/test_exec_cancel.c
 */
#include "exec/handler.h"

#include <assert.h>

#include "base/mem.h"

static void coroutine_main(void *arg)
{
    struct coroutine *co = arg;
    struct run *run = co->run;
    const char *result = NULL;
    int code;

    if (co->fn) {
        code = co->fn(&co->ctx, co->arg, &result);
    } else {
        code = run->spec.fn(&co->ctx, run->input, &result, run->spec.user);
    }
    co->returned = true;
    if (run->unwinding) {
        return;
    }
    if (!co->fn) {
        run_finish(run, code, result);
        return;
    }
    co->future.failure = co->ctx.fresh_failure ? co->ctx.fresh_failure : co->failure;
    co->future.attempt = co->ctx.fresh_failure ? co->ctx.attempt : co->attempt;
    future_resolve(&co->future, code, run_strdup(run, result));
}

struct coroutine *coroutine_new(struct run *run, struct scope *scope, dur_coroutine_fn fn,
                                void *arg)
{
    struct coroutine *co = arena_new_of(run->arena, struct coroutine);

    co->fiber = fiber_new(run->spec.pool, coroutine_main, co);
    if (!co->fiber) {
        return NULL;
    }
    run->fibers++;
    co->run = run;
    co->fn = fn;
    co->arg = arg;
    co->ctx.run = run;
    co->ctx.scope = scope;
    co->future.kind = FUTURE_COROUTINE;
    co->future.coroutine = co;
    co->all_next = run->all;
    if (run->all) {
        run->all->all_prev = co;
    }
    run->all = co;
    coroutine_wake(co);
    return co;
}

void coroutine_wake(struct coroutine *co)
{
    struct run *run = co->run;

    if (co->ready || co->returned) {
        return;
    }
    co->ready = true;
    co->ready_next = NULL;
    if (run->ready_last) {
        run->ready_last->ready_next = co;
    } else {
        run->ready = co;
    }
    run->ready_last = co;
}

/* Frees the fiber; the struct stays, its future may still be asked. */
static void retire(struct coroutine *co)
{
    struct run *run = co->run;

    co->fiber = fiber_free(co->fiber);
    run->fibers--;
    free(co->waiters);
    co->waiters = NULL;
    co->waiters_cap = 0;
    if (co->all_prev) {
        co->all_prev->all_next = co->all_next;
    } else {
        run->all = co->all_next;
    }
    if (co->all_next) {
        co->all_next->all_prev = co->all_prev;
    }
    co->all_next = co->all_prev = NULL;
}

static void step(struct coroutine *co)
{
    struct run *run = co->run;

    run->current = co;
    run->stepped |= !co->update; /* an update's coroutine says so itself, once it is accepted */
    fiber_resume(co->fiber);
    run->current = NULL;
    if (fiber_done(co->fiber)) {
        assert(co->returned);
        retire(co);
    }
}

void schedule_run(struct run *run)
{
    assert(!run->current && !run->unwinding);
    while (!run->finished && !run->outcome && (run->ready || conditions_wake(run))) {
        struct coroutine *co = run->ready;
        run->ready = co->ready_next;
        if (!run->ready) {
            run->ready_last = NULL;
        }
        co->ready = false;
        step(co);
    }
}

void schedule_handlers_first(struct run *run)
{
    struct coroutine *lists[2] = {NULL, NULL}; /* handlers, others */
    struct coroutine **ends[2] = {&lists[0], &lists[1]};

    for (struct coroutine *co = run->ready; co; co = co->ready_next) {
        int which = co->handler ? 0 : 1;
        *ends[which] = co;
        ends[which] = &co->ready_next;
        run->ready_last = co;
    }
    *ends[1] = NULL;
    *ends[0] = lists[1];
    run->ready = lists[0];
    for (struct coroutine *co = run->ready; co; co = co->ready_next) {
        run->ready_last = co;
    }
}

void schedule_unwind(struct run *run)
{
    assert(!run->current);
    run->unwinding = true;
    run->ready = run->ready_last = NULL;
    while (run->all) {
        struct coroutine *co = run->all;
        bool is_cut = co->handler && !handler_is_there(co->handler); /* its frame is gone */
        if (!is_cut) {
            step(co);
        }
        if (co->fiber) { /* or it loops on DUR_UNWIND: its frames are given up, the arena remains */
            co->returned = true;
            retire(co);
        }
    }
}

int call_enter(struct run *run, const char *file, int line)
{
    if (!run->current || run->in_callback) {
        if (run->aside && !run->trespass.file) {
            run->trespass = (struct run_site){.file = file, .line = line};
        }
        return DUR_INVALID;
    }
    atomic_store_explicit(&run->last_file, file, memory_order_relaxed);
    atomic_store_explicit(&run->last_line, line, memory_order_relaxed);
    run->current->site = (struct run_site){.file = file, .line = line};
    if (run->unwinding) {
        struct coroutine *co = run->current;
        if (++co->unwind_calls > RUN_UNWIND_CALLS) {
            fiber_yield(co->fiber);
            assert(!"a fiber that was given up runs again");
        }
        return DUR_UNWIND;
    }
    return DUR_OK;
}

void call_block(struct run *run, struct scope *scope)
{
    struct coroutine *co = run->current;

    assert(co && !run->in_callback && !run->unwinding);
    co->wait_scope = scope;
    fiber_yield(co->fiber);
    co->wait_scope = NULL;
}

int call_park(struct run *run)
{
    assert(run->outcome);
    while (!run->unwinding) {
        call_block(run, NULL);
    }
    return DUR_UNWIND;
}
