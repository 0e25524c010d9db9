/*
 * test_exec_handler.c - signal handlers: order, coroutines, buffering, floods, frames that are
 * gone.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_handler, name, .timeout = 30)

struct state {
    int sum;
    int handled;
    const char *order;
    dur_ctx *ctx;
};

static int adds(dur_ctx *ctx, const char *input, void *arg)
{
    struct state *s = arg;

    s->order = dur_ctx_jsonf(ctx, "%j%j", s->order, input);
    s->sum += (int)dur_json_int(input, "", 0);
    s->handled++;
    return DUR_OK;
}

static int two(void *arg)
{
    return ((struct state *)arg)->handled >= 2;
}

static int handles(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.order = ""};

    (void)input;
    (void)user;
    dur_on_signal(ctx, "add", adds, &s);
    dur_on_signal(ctx, "sub", adds, &s);
    int code = dur_wait(ctx, two, &s, -1);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%q]", code, s.sum, s.order);
    return DUR_OK;
}

TEST(signals_are_handled_in_order_across_names)
{
    struct host h;

    host_init(&h, handles, NULL, "null");
    host_task(&h);
    host_signal(&h, "sub", "2");
    host_signal(&h, "add", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,3,\"21\"]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(buffered_ones_are_handled_when_the_handler_comes)
{
    struct host h;

    host_init(&h, handles, NULL, "null");
    host_signal(&h, "add", "1");
    host_signal(&h, "add", "2");
    host_signal(&h, "add", "3");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,6,\"123\"]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* A handler that waits: the others go on, and the end waits for all. */
static int slow(dur_ctx *ctx, const char *input, void *arg)
{
    struct state *s = arg;

    dur_run(ctx, "Slow", input, NULL, NULL);
    s->handled++;
    return DUR_OK;
}

static int all_done(void *arg)
{
    return dur_all_handlers_finished(((struct state *)arg)->ctx);
}

static int waits_for_all(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.ctx = ctx};

    (void)input;
    (void)user;
    dur_on_signal(ctx, "job", slow, &s);
    dur_receive(ctx, "end", -1, NULL);
    int finished = dur_all_handlers_finished(ctx);
    dur_wait(ctx, all_done, &s, -1);
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", finished, s.handled);
    return DUR_OK;
}

TEST(handlers_are_coroutines)
{
    struct host h;

    host_init(&h, waits_for_all, NULL, "null");
    host_task(&h);
    host_signal(&h, "end", "0");
    host_signal(&h, "job", "1");
    host_signal(&h, "job", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Slow +A2:Slow", "handlers begin before main goes on");
    host_done(&h, "2", "0");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "");
    cr_assert_eq(host_evict(&h), 0);
    host_done(&h, "1", "0");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,2]");
    cr_expect_eq(h.out.unfinished, 0);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int leaves_early(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state *s = dur_ctx_alloc(ctx, sizeof(*s));

    (void)input;
    (void)result;
    (void)user;
    dur_on_signal(ctx, "job", slow, s);
    dur_receive(ctx, "end", -1, NULL);
    return DUR_OK;
}

TEST(unfinished_handlers_are_counted_at_the_end)
{
    struct host h;

    host_init(&h, leaves_early, NULL, "null");
    host_task(&h);
    host_signal(&h, "job", "1");
    host_signal(&h, "job", "1");
    host_signal(&h, "end", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Slow +A2:Slow =done:null");
    cr_expect_eq(h.out.unfinished, 2);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int enough(void *arg)
{
    return ((struct state *)arg)->handled >= 1000;
}

static int flooded(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.order = ""};

    (void)input;
    (void)user;
    dur_on_signal(ctx, "job", slow, &s);
    int code = dur_wait(ctx, enough, &s, -1);
    *result = dur_ctx_jsonf(ctx, "%d", code);
    return DUR_OK;
}

TEST(a_flood_of_signals_takes_turns)
{
    struct host h;

    host_init(&h, flooded, NULL, "null");
    host_task(&h);
    for (int i = 0; i < 1000; i++) {
        host_signal(&h, "job", "1");
    }
    host_task(&h);
    cr_expect_eq(h.out.count, 1 + 256, "so many at a time");
    for (int round = 0; round < 4; round++) {
        const char *id;
        while ((id = host_open_activity(&h, 0, NULL)) != NULL) {
            host_done(&h, id, "0");
        }
        cr_assert_eq(host_task(&h), 0);
    }
    cr_expect_str_eq(host_commands(&h), "=done:0");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int takes_back(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state s = {.order = ""};
    const char *got = NULL;

    (void)input;
    (void)user;
    dur_on_signal(ctx, "add", adds, &s);
    dur_on_signal(ctx, "add", NULL, NULL);
    int code = dur_receive(ctx, "add", -1, &got);
    *result = dur_ctx_jsonf(ctx, "[%d,%j,%d,%d,%d]", code, got, s.handled,
                            dur_on_signal(ctx, "", adds, &s), dur_on_query(ctx, "__x", NULL, NULL));
    return DUR_OK;
}

TEST(a_handler_can_be_taken_back)
{
    struct host h;

    host_init(&h, takes_back, NULL, "null");
    host_task(&h);
    host_signal(&h, "add", "7");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,7,0,-5,-5]");
    host_free(&h);
}

/* The coroutine that registered returns, and its frame with it: the signal waits for another. */
static int registers(dur_ctx *ctx, void *arg, const char **result)
{
    struct state s = {.order = ""};

    (void)arg;
    (void)result;
    dur_on_signal(ctx, "add", adds, &s);
    return DUR_OK;
}

static int outlives(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *got = NULL;

    (void)input;
    (void)user;
    dur_await(ctx, dur_go(ctx, registers, NULL), NULL);
    int code = dur_receive(ctx, "add", -1, &got);
    *result = dur_ctx_jsonf(ctx, "[%d,%j]", code, got);
    return DUR_OK;
}

TEST(a_handler_ends_with_its_frame)
{
    struct host h;

    host_init(&h, outlives, NULL, "null");
    host_task(&h);
    host_signal(&h, "add", "5");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,5]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}
