/*
 * stream.c - dur_channel: coroutines of one run hand values to each other, in order.
 *
 * Owns: the queue of a channel. Its first `capacity` items are buffered; behind them stand the
 * items of senders that wait, in order of sending:
 *
 *     head [ item ][ item ] | [ item of a blocked sender ] ... tail
 *            <= capacity    |
 *
 * A taken item lets the first waiting sender's item move up, and its sender go on. Nothing here is
 * recorded: a channel is made anew by every replay.
 * Tests: tests/unit/test_exec_stream.c
 */
#include "exec/state.h"

struct item {
    const char *json;
    struct coroutine *sender; /* blocked until it moved up; NULL: buffered */
    bool moved_up;
    struct item *next;
};

struct dur_channel {
    struct run *run;
    size_t capacity;
    size_t count;
    bool closed;
    struct item *first, *last;
    dur_future future; /* FUTURE_STREAM: done while dur_take would not block */
};

bool stream_is_ready(const struct dur_channel *ch)
{
    return ch->first || ch->closed;
}

dur_channel *dur_channel_new(dur_ctx *ctx, size_t capacity)
{
    struct dur_channel *ch = arena_new_of(ctx->run->arena, struct dur_channel);

    ch->run = ctx->run;
    ch->capacity = capacity;
    ch->future.kind = FUTURE_STREAM;
    ch->future.stream = ch;
    return ch;
}

static void wake_takers(struct dur_channel *ch)
{
    for (struct waiter *w = ch->future.waiters; w; w = w->next) {
        coroutine_wake(w->coroutine);
    }
}

static void append(struct dur_channel *ch, struct item *item)
{
    if (ch->last) {
        ch->last->next = item;
    } else {
        ch->first = item;
    }
    ch->last = item;
    ch->count++;
    wake_takers(ch);
}

static void release(struct item *item)
{
    item->moved_up = true;
    if (item->sender) {
        coroutine_wake(item->sender);
        item->sender = NULL;
    }
}

/* Out of the queue; the item behind the buffered ones moves up. */
static void take_out(struct dur_channel *ch, struct item *item)
{
    struct item **at = &ch->first;
    struct item *before = NULL;
    size_t place = 0;

    while (*at != item) {
        before = *at;
        at = &(*at)->next;
    }
    *at = item->next;
    if (ch->last == item) {
        ch->last = before;
    }
    item->next = NULL;
    ch->count--;
    for (struct item *i = ch->first; i && place < ch->capacity; i = i->next, place++) {
        if (i->sender) {
            release(i);
        }
    }
}

/* The sender's item waits for room (or, without capacity, for its taker). */
static int wait_for_room(dur_ctx *ctx, struct dur_channel *ch, struct item *item)
{
    struct run *run = ctx->run;

    while (!item->moved_up) {
        if (ctx->scope->cancelled || ch->closed) {
            item->sender = NULL;
            take_out(ch, item);
            return ctx->scope->cancelled ? DUR_CANCELLED : DUR_INVALID;
        }
        call_block(run, ctx->scope);
        if (run->unwinding) {
            return DUR_UNWIND;
        }
    }
    return DUR_OK;
}

int dur_send_at(dur_ctx *ctx, dur_channel *ch, const char *json, const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!ch || ch->run != run || ch->closed) {
        return DUR_INVALID;
    }
    if (ch->count >= ch->capacity && ctx->scope->cancelled) {
        return DUR_CANCELLED;
    }
    struct item *item = arena_new_of(run->arena, struct item);
    item->json = json ? run_strdup(run, json) : "null";
    item->moved_up = ch->count < ch->capacity;
    item->sender = item->moved_up ? NULL : run->current;
    append(ch, item);
    return wait_for_room(ctx, ch, item);
}

/* DUR_OK when there is something to say: an item, or that nothing comes any more. */
static int wait_for_item(dur_ctx *ctx, struct dur_channel *ch, dur_future *timer)
{
    struct run *run = ctx->run;

    while (!stream_is_ready(ch)) {
        struct waiter on_item = {.coroutine = run->current};
        struct waiter on_timer = {.coroutine = run->current};
        if (ctx->scope->cancelled) {
            return DUR_CANCELLED;
        }
        if (timer && future_is_done(timer)) {
            return timer->code == DUR_OK ? DUR_TIMED_OUT : timer->code;
        }
        waiter_add(&ch->future, &on_item);
        if (timer) {
            waiter_add(timer, &on_timer);
        }
        call_block(run, ctx->scope);
        waiter_remove(&ch->future, &on_item);
        if (timer) {
            waiter_remove(timer, &on_timer);
        }
        if (run->unwinding) {
            return DUR_UNWIND;
        }
    }
    return DUR_OK;
}

static int take(struct dur_channel *ch, const char **result)
{
    struct item *item = ch->first;

    if (!item) {
        return DUR_NOT_FOUND;
    }
    take_out(ch, item);
    release(item);
    if (result) {
        *result = item->json;
    }
    return DUR_OK;
}

int dur_take_at(dur_ctx *ctx, dur_channel *ch, int64_t timeout_ms, const char **result,
                const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!ch || ch->run != run) {
        return DUR_INVALID;
    }
    if (stream_is_ready(ch)) {
        return take(ch, result);
    }
    if (timeout_ms == 0) {
        return ctx->scope->cancelled ? DUR_CANCELLED : DUR_TIMED_OUT;
    }
    dur_future *timer = timeout_ms > 0 ? timer_start(ctx, timeout_ms) : NULL;
    code = wait_for_item(ctx, ch, timer);
    code = timer_end_wait(run, timer, code);
    return code == DUR_OK ? take(ch, result) : code;
}

void dur_channel_close(dur_ctx *ctx, dur_channel *ch)
{
    struct run *run = ctx->run;

    if (!ch || ch->run != run || !run->current || run->in_callback || run->unwinding) {
        return;
    }
    ch->closed = true;
    wake_takers(ch);
    for (struct item *i = ch->first; i; i = i->next) {
        if (i->sender) {
            coroutine_wake(i->sender); /* it takes its item back */
        }
    }
}

dur_future *dur_channel_future(dur_ctx *ctx, dur_channel *ch)
{
    return ch && ch->run == ctx->run ? &ch->future : future_dead(ctx->run, DUR_INVALID);
}
