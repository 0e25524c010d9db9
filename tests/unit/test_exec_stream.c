/*
 * test_exec_stream.c - dur_channel: order, capacity, closing, timeouts, cancellation, select.
 */
#include <criterion/criterion.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_stream, name, .timeout = 30)

struct state {
    dur_channel *ch;
    int sent;
    int last; /* code of the last send */
};

static int producer(dur_ctx *ctx, void *arg, const char **result)
{
    struct state *s = arg;

    (void)result;
    for (int i = 1; i <= 4; i++) {
        s->last = dur_send(ctx, s->ch, dur_ctx_jsonf(ctx, "%d", i));
        if (s->last != DUR_OK) {
            return s->last;
        }
        s->sent++;
    }
    dur_channel_close(ctx, s->ch);
    return DUR_OK;
}

static int consume(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ch = dur_channel_new(ctx, (size_t)dur_json_int(input, "", 0))};
    const char *got[5] = {0};
    int code = DUR_OK, count = 0;

    (void)user;
    dur_go(ctx, producer, &s);
    dur_receive(ctx, "go", -1, NULL);
    int ahead = s.sent;
    while ((code = dur_take(ctx, s.ch, -1, &got[count])) == DUR_OK) {
        count++;
    }
    *result =
        dur_ctx_jsonf(ctx, "[%d,%j,%j,%j,%j,%d]", ahead, got[0], got[1], got[2], got[3], code);
    return DUR_OK;
}

static void expect_consumed(const char *capacity, const char *result)
{
    struct host h;

    host_init(&h, consume, NULL, capacity);
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "", "nothing of a channel is recorded");
    host_signal(&h, "go", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), result);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(values_come_in_order_whatever_the_capacity)
{
    expect_consumed("0", "=done:[0,1,2,3,4,-6]");
    expect_consumed("1", "=done:[1,1,2,3,4,-6]");
    expect_consumed("3", "=done:[3,1,2,3,4,-6]");
    expect_consumed("9", "=done:[4,1,2,3,4,-6]");
}

static int takes_late(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_channel *ch = dur_channel_new(ctx, 1);
    const char *got = NULL;

    (void)input;
    (void)user;
    int none = dur_take(ctx, ch, 0, &got);
    int late = dur_take(ctx, ch, 20, &got);
    dur_send(ctx, ch, NULL);
    int found = dur_take(ctx, ch, 20, &got);
    dur_channel_close(ctx, ch);
    dur_channel_close(ctx, ch);
    int closed = dur_send(ctx, ch, "1");
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%j,%d,%d,%d]", none, late, found, got, closed,
                            dur_take(ctx, ch, -1, NULL), dur_take(ctx, NULL, -1, NULL));
    return DUR_OK;
}

TEST(timeouts_and_closing)
{
    struct host h;

    host_init(&h, takes_late, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+T1", "only waiting takes a timer");
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-3,-3,0,null,-5,-6,-5]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int selects(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state *s = dur_ctx_alloc(ctx, sizeof(*s)); /* the producer outlives this frame */
    const char *got = NULL;

    (void)input;
    (void)user;
    s->ch = dur_channel_new(ctx, 0);
    dur_future *either[] = {dur_timer(ctx, 1000), dur_channel_future(ctx, s->ch)};
    dur_receive(ctx, "go", -1, NULL);
    dur_go(ctx, producer, s);
    int which = dur_select(ctx, either, 2);
    int awaited = dur_await(ctx, either[1], NULL);
    int taken = dur_take(ctx, s->ch, 0, &got);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%j]", which, awaited, taken, got);
    return DUR_OK;
}

TEST(a_channel_can_be_selected)
{
    struct host h;

    host_init(&h, selects, NULL, "null");
    host_task(&h);
    host_signal(&h, "go", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[1,0,0,1]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* A sender that is cancelled takes its value back. */
static int blocked_sender(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ch = dur_channel_new(ctx, 1)};
    dur_ctx *scope = dur_scope(ctx);
    const char *a = NULL;

    (void)input;
    (void)user;
    dur_future *sends = dur_go(scope, producer, &s);
    dur_receive(ctx, "go", -1, NULL);
    dur_cancel_scope(scope);
    int code = dur_await(ctx, sends, NULL);
    int first = dur_take(ctx, s.ch, 0, &a);
    int second = dur_take(ctx, s.ch, 0, NULL);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%j,%d]", code, first, a, second);
    return DUR_OK;
}

TEST(a_cancelled_sender_takes_its_value_back)
{
    struct host h;

    host_init(&h, blocked_sender, NULL, "null");
    host_task(&h);
    host_signal(&h, "go", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-2,0,1,-3]");
    host_free(&h);
}

static int waits_in_both(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state *s = dur_ctx_alloc(ctx, sizeof(*s)); /* the producer outlives this frame */

    (void)input;
    (void)user;
    s->ch = dur_channel_new(ctx, 0);
    dur_go(ctx, producer, s);
    dur_channel *empty = dur_channel_new(ctx, 0);
    int code = dur_take(ctx, empty, -1, NULL);
    *result = dur_ctx_jsonf(ctx, "%d", code);
    return DUR_OK;
}

TEST(cancelling_and_unwinding_end_the_wait)
{
    struct host h;

    host_init(&h, waits_in_both, NULL, "null");
    host_task(&h);
    cr_assert_eq(host_evict(&h), 0);
    host_cancel(&h, "x");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:-2");
    host_free(&h);
}
