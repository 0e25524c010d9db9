/*
 * test_exec_wait.c - dur_wait: conditions over the run's memory, with and without a timeout.
 */
#include <criterion/criterion.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_wait, name, .timeout = 30)

struct state {
    int count;
    int wanted;
    int looks;
    dur_ctx *ctx;
};

static int reached(void *arg)
{
    struct state *s = arg;

    s->looks++;
    return s->count >= s->wanted;
}

static int count_signals(dur_ctx *ctx, void *arg, const char **result)
{
    struct state *s = arg;

    (void)result;
    while (dur_receive(ctx, "add", -1, NULL) == DUR_OK) {
        s->count++;
    }
    return DUR_OK;
}

static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.wanted = 2};

    (void)user;
    dur_go(ctx, count_signals, &s);
    int code = dur_wait(ctx, reached, &s, dur_json_int(input, "", -1));
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", code, s.count);
    return DUR_OK;
}

TEST(a_condition_ends_the_wait)
{
    struct host h;

    host_init(&h, waits, NULL, "-1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "", "no timer for a wait without an end");
    host_signal(&h, "add", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "", "not yet");
    cr_assert_eq(host_evict(&h), 0);
    host_signal(&h, "add", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,2]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(a_timeout_is_a_timer)
{
    struct host h;

    host_init(&h, waits, NULL, "1000");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+T1");
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-3,0]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(the_condition_wins_against_its_timeout_in_one_task)
{
    struct host h;

    host_init(&h, waits, NULL, "1000");
    host_task(&h);
    host_signal(&h, "add", "1");
    host_signal(&h, "add", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "-T1 =done:[0,2]", "its timer is taken back");
    host_free(&h);
    host_init(&h, waits, NULL, "1000");
    host_task(&h);
    host_fired(&h, "1");
    host_signal(&h, "add", "1");
    host_signal(&h, "add", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,2]", "what holds is not late");
    host_free(&h);
}

TEST(zero_only_looks)
{
    struct host h;

    host_init(&h, waits, NULL, "0");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-3,0]");
    host_free(&h);
}

TEST(a_cancelled_scope_ends_the_wait)
{
    struct host h;

    host_init(&h, waits, NULL, "5000");
    host_task(&h);
    host_cancel(&h, "enough");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "-T1 =done:[-2,0]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(an_eviction_unwinds)
{
    struct host h;

    host_init(&h, waits, NULL, "-1");
    host_task(&h);
    cr_assert_eq(host_evict(&h), 0);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* Two waiters of one condition: the first takes, so the second finds it false again. */
static int has_one(void *arg)
{
    return *(int *)arg > 0;
}

static int taker(dur_ctx *ctx, void *arg, const char **result)
{
    int *n = arg;

    if (dur_wait(ctx, has_one, n, -1) == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "%d", *n);
        (*n)--;
    }
    return DUR_OK;
}

static int shares(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int n = 0;
    const char *a = NULL, *b = NULL;
    dur_future *first = dur_go(ctx, taker, &n);
    dur_future *second = dur_go(ctx, taker, &n);

    (void)input;
    (void)user;
    dur_receive(ctx, "go", -1, NULL);
    n = 1;
    dur_await(ctx, first, &a);
    int was_done = dur_done(second);
    dur_receive(ctx, "go", -1, NULL);
    n = 1;
    dur_await(ctx, second, &b);
    *result = dur_ctx_jsonf(ctx, "[%j,%j,%d,%d]", a, b, was_done, n);
    return DUR_OK;
}

TEST(a_condition_holds_when_its_waiter_goes_on)
{
    struct host h;

    host_init(&h, shares, NULL, "null");
    host_task(&h);
    host_signal(&h, "go", "1");
    host_task(&h);
    host_signal(&h, "go", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[1,1,0,0]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* A condition that calls is refused, and changes nothing. */
static int calls(void *arg)
{
    struct state *s = arg;

    s->looks = dur_sleep(s->ctx, 1000);
    return s->count;
}

static int naughty(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ctx = ctx};

    (void)input;
    (void)user;
    int code = dur_wait(ctx, calls, &s, 50);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d]", code, s.looks, dur_wait(ctx, NULL, NULL, 0));
    return DUR_OK;
}

TEST(a_condition_may_not_call)
{
    struct host h;

    host_init(&h, naughty, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+T1");
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-3,-5,-5]");
    host_free(&h);
}
