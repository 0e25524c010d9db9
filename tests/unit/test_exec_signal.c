/*
 * test_exec_signal.c - signals: before and after the wait, order, timeouts, futures, cancellation.
 */
#include <criterion/criterion.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_signal, name, .timeout = 30)

static int wait_two(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL;
    const char *b = NULL;

    (void)input;
    (void)user;
    int first = dur_receive(ctx, "go", -1, &a);
    int second = dur_receive(ctx, "go", 1000, &b);
    *result = dur_ctx_jsonf(ctx, "[%d,%j,%d,%j]", first, a, second, b);
    return DUR_OK;
}

TEST(a_signal_that_came_first_is_waiting)
{
    struct host h;

    host_init(&h, wait_two, NULL, "null");
    host_signal(&h, "other", "0");
    host_signal(&h, "go", "1");
    host_signal(&h, "go", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,1,0,2]", "in order, without a timer");
    host_free(&h);
}

TEST(a_signal_ends_the_wait_and_its_timer)
{
    struct host h;

    host_init(&h, wait_two, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "");
    host_signal(&h, "go", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+T1");
    host_signal(&h, "go", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "-T1 =done:[0,1,0,2]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(a_timeout_ends_the_wait)
{
    struct host h;

    host_init(&h, wait_two, NULL, "null");
    host_signal(&h, "go", "1");
    host_task(&h);
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,1,-3,null]");
    host_free(&h);
}

TEST(signal_and_timeout_in_one_task_give_the_signal)
{
    struct host h;

    host_init(&h, wait_two, NULL, "null");
    host_signal(&h, "go", "1");
    host_task(&h);
    host_fired(&h, "1");
    host_signal(&h, "go", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,1,0,2]");
    host_free(&h);
}

static int looks(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *f = dur_signal_future(ctx, "go");
    const char *seen = NULL;
    const char *got = NULL;
    int before = dur_receive(ctx, "go", 0, NULL);
    int done_before = dur_done(f);

    (void)input;
    (void)user;
    dur_future *both[] = {dur_timer(ctx, DUR_HOURS), f};
    int which = dur_select(ctx, both, 2);
    int rc = dur_await(ctx, f, &seen);
    int take = dur_receive(ctx, "go", 0, &got);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d,%j,%d,%j,%d]", before, done_before, which, rc, seen,
                            take, got, dur_done(f));
    return DUR_OK;
}

TEST(a_signal_future_looks_without_taking)
{
    struct host h;

    host_init(&h, looks, NULL, "null");
    host_task(&h);
    host_signal(&h, "go", "{\"n\":1}");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-3,0,1,0,{\"n\":1},0,{\"n\":1},0]");
    host_free(&h);
}

static int drains(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int count = 0;
    int rc;

    (void)input;
    (void)user;
    dur_run(ctx, "Work", "null", NULL, NULL);
    while ((rc = dur_receive(ctx, "go", -1, NULL)) == DUR_OK) {
        count++;
    }
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", count, rc);
    return DUR_OK;
}

TEST(buffered_signals_survive_a_cancel)
{
    struct host h;

    host_init(&h, drains, NULL, "null");
    host_task(&h);
    host_cancel(&h, "stop");
    host_signal(&h, "go", "1");
    host_signal(&h, "go", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "?A1 =done:[2,-2]");
    host_free(&h);
}

static int waits_forever(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = dur_receive(ctx, "go", DUR_HOURS, NULL);
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", rc, dur_receive(ctx, NULL, 0, NULL));
    return DUR_OK;
}

TEST(a_cancel_ends_the_wait_and_its_timer)
{
    struct host h;

    host_init(&h, waits_forever, NULL, "null");
    host_task(&h);
    host_cancel(&h, "stop");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "-T1 =done:[-2,-5]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}
