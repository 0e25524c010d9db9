/*
 * signal.c - signal channels, dur_receive, dur_signal_future.
 *
 * Owns: one channel per signal name; a signal waits there until code asks for it, in order of
 * arrival, each given out once. A buffered signal is given out even in a cancelled scope.
 * Tests: tests/unit/test_exec_signal.c
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "exec/handler.h"

struct channel *channel_get(struct run *run, const char *name)
{
    struct channel **at = &run->channels;

    for (; *at; at = &(*at)->next) {
        if (strcmp((*at)->name, name) == 0) {
            return *at;
        }
    }
    struct channel *ch = arena_new_of(run->arena, struct channel);
    ch->name = run_strdup(run, name);
    ch->future.kind = FUTURE_SIGNAL;
    ch->future.channel = ch;
    *at = ch;
    return ch;
}

static const char *take(struct channel *ch)
{
    struct signal *s = ch->first;

    ch->first = s->next;
    if (!ch->first) {
        ch->last = NULL;
    }
    s->next = NULL;
    bool moved = machine_move(&signal_machine, &s->state, SIGNAL_RECEIVED, s);
    assert(moved);
    (void)moved;
    return s->input;
}

/* 0 when a signal is there, else why not. */
static int wait_signal(dur_ctx *ctx, struct channel *ch, int64_t timeout_ms)
{
    struct run *run = ctx->run;

    if (ch->first) {
        return DUR_OK;
    }
    if (timeout_ms == 0) {
        return ctx->scope->cancelled ? DUR_CANCELLED : DUR_TIMED_OUT;
    }
    dur_future *timer = timeout_ms > 0 ? timer_start(ctx, timeout_ms) : NULL;
    int code = DUR_OK;
    while (!ch->first && code == DUR_OK) {
        struct waiter on_signal = {.coroutine = run->current};
        struct waiter on_timer = {.coroutine = run->current};
        if (ctx->scope->cancelled) {
            code = DUR_CANCELLED;
            break;
        }
        if (timer && future_is_done(timer)) {
            code = timer->code == DUR_OK ? DUR_TIMED_OUT : timer->code;
            break;
        }
        waiter_add(&ch->future, &on_signal);
        if (timer) {
            waiter_add(timer, &on_timer);
        }
        call_block(run, ctx->scope);
        waiter_remove(&ch->future, &on_signal);
        if (timer) {
            waiter_remove(timer, &on_timer);
        }
        code = run->unwinding ? DUR_UNWIND : DUR_OK;
    }
    return timer_end_wait(run, timer, code);
}

int dur_receive_at(dur_ctx *ctx, const char *signal, int64_t timeout_ms, const char **input,
                   const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!signal) {
        return DUR_INVALID;
    }
    struct channel *ch = channel_get(ctx->run, signal);
    ch->asked = true;
    code = wait_signal(ctx, ch, timeout_ms);
    if (code == DUR_OK) {
        const char *text = take(ch);
        if (input) {
            *input = text;
        }
    }
    return code;
}

dur_future *dur_signal_future(dur_ctx *ctx, const char *signal)
{
    if (!signal) {
        return future_dead(ctx->run, DUR_INVALID);
    }
    struct channel *ch = channel_get(ctx->run, signal);
    ch->asked = true;
    return &ch->future;
}

void signal_put_back(struct run *run, const char *name, struct signal *s)
{
    struct channel *ch = channel_get(run, name);

    s->next = ch->first;
    ch->first = s;
    if (!ch->last) {
        ch->last = s;
    }
    for (struct waiter *w = ch->future.waiters; w; w = w->next) {
        coroutine_wake(w->coroutine);
    }
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* ids NULL: only counts. */
static size_t collect_left(const struct run *run, int64_t *ids)
{
    size_t count = 0;

    for (const struct channel *ch = run->channels; ch; ch = ch->next) {
        for (const struct signal *s = ch->first; s; s = s->next) {
            if (ids) {
                ids[count] = s->event_id;
            }
            count++;
        }
    }
    for (const struct coroutine *co = run->all; co; co = co->all_next) {
        const struct signal *s = handler_signal_of(co);
        if (s && s->state == SIGNAL_BUFFERED) { /* its handler has not run */
            if (ids) {
                ids[count] = s->event_id;
            }
            count++;
        }
    }
    return count;
}

const int64_t *signals_left(struct run *run, size_t *ret_count)
{
    *ret_count = collect_left(run, NULL);
    int64_t *ids = arena_array_of(run->task_arena, int64_t, *ret_count + 1);
    collect_left(run, ids);
    if (*ret_count > 1) {
        qsort(ids, *ret_count, sizeof(*ids), by_id);
    }
    return ids;
}

int signal_apply(struct run *run, const struct event *event, struct err *err)
{
    const struct ev_workflow_execution_signaled *a = ev_workflow_execution_signaled(event);
    struct channel *ch = channel_get(run, a->signal_name ? a->signal_name : "");
    struct signal *s = arena_new_of(run->arena, struct signal);

    s->input = result_text(run, a->input);
    s->event_id = event->id;
    int rc = machine_apply(&signal_machine, &s->state, SIGNAL_BUFFERED, s, event, err);
    if (rc) {
        return rc;
    }
    if (ch->last) {
        ch->last->next = s;
    } else {
        ch->first = s;
    }
    ch->last = s;
    run->news = true;
    if (ch->handler) {
        signals_pump(run, ch);
    }
    for (struct waiter *w = ch->first ? ch->future.waiters : NULL; w; w = w->next) {
        coroutine_wake(w->coroutine);
    }
    return 0;
}
