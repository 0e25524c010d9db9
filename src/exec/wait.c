/*
 * wait.c - dur_wait: a coroutine waits until a condition over the run's own memory holds.
 *
 * Owns: the list of waiting conditions and the moment when they are looked at: whenever every
 * coroutine is blocked, in order of waiting. The first that holds wakes its coroutine, which runs
 * until it blocks again before the next look; so a condition still holds when its waiter goes on.
 * Must not: let a condition ask for anything: it is called off every fiber, where every dur_ call
 * that asks is refused.
 * Tests: tests/unit/test_exec_wait.c
 */
#include "exec/state.h"

/* Lives in the waiting call. */
struct condition {
    int (*holds)(void *arg);
    void *arg;
    struct coroutine *coroutine;
    bool was_true; /* when it was looked at last */
    struct condition *next;
};

static bool look(struct run *run, int (*holds)(void *arg), void *arg)
{
    bool was = run->in_callback;

    run->in_callback = true;
    bool is_true = holds(arg) != 0;
    run->in_callback = was;
    return is_true;
}

bool conditions_wake(struct run *run)
{
    for (struct condition *c = run->conditions; c; c = c->next) {
        if (look(run, c->holds, c->arg)) {
            c->was_true = true;
            coroutine_wake(c->coroutine);
            return true;
        }
    }
    return false;
}

static void enlist(struct run *run, struct condition *c)
{
    struct condition **at = &run->conditions;

    while (*at) {
        at = &(*at)->next;
    }
    c->next = NULL;
    *at = c;
}

static void strike(struct run *run, const struct condition *c)
{
    struct condition **at = &run->conditions;

    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
}

/* DUR_OK once it holds; else why not. timer: NULL for ever. */
static int wait_for(dur_ctx *ctx, struct condition *c, dur_future *timer)
{
    struct run *run = ctx->run;

    for (;;) {
        if (ctx->scope->cancelled) {
            return DUR_CANCELLED;
        }
        if (timer && future_is_done(timer)) {
            return timer->code == DUR_OK ? DUR_TIMED_OUT : timer->code;
        }
        struct waiter on_timer = {.coroutine = run->current};
        if (timer) {
            waiter_add(timer, &on_timer);
        }
        enlist(run, c);
        call_block(run, ctx->scope);
        strike(run, c);
        if (timer) {
            waiter_remove(timer, &on_timer);
        }
        if (run->unwinding) {
            return DUR_UNWIND;
        }
        if (c->was_true || look(run, c->holds, c->arg)) {
            return DUR_OK;
        }
    }
}

int dur_wait_at(dur_ctx *ctx, int (*condition)(void *arg), void *arg, int64_t timeout_ms,
                const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!condition) {
        return DUR_INVALID;
    }
    if (look(run, condition, arg)) {
        return DUR_OK;
    }
    if (timeout_ms == 0) {
        return ctx->scope->cancelled ? DUR_CANCELLED : DUR_TIMED_OUT;
    }
    struct condition c = {.holds = condition, .arg = arg, .coroutine = run->current};
    dur_future *timer = timeout_ms > 0 ? timer_start(ctx, timeout_ms) : NULL;
    code = wait_for(ctx, &c, timer);
    return timer_end_wait(run, timer, code);
}
