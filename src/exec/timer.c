/*
 * timer.c - dur_timer, dur_sleep.
 *
 * Owns: timer ids (a counter, as Temporal's Core requires) and durations: zero or less is over at
 * once and leaves no trace; more than 100 years is 100 years.
 * Tests: tests/unit/test_exec_run.c
 */
#include "exec/state.h"

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
    struct command *c = command_add(run, COMMAND_START_TIMER);
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
