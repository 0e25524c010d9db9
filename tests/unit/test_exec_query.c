/*
 * test_exec_query.c - queries: answers, refusals, no trace, closed runs, frames that are gone.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_query, name, .timeout = 30)

struct state {
    int step;
};

static int tell(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct state *s = arg;

    if (dur_json_int(input, "", 0) < 0) {
        return dur_fail_run(ctx, "NoSuchStep", "there is no step %s", input);
    }
    *result = dur_ctx_jsonf(ctx, "{\"step\":%d,\"asked\":%j}", s->step, input);
    return DUR_OK;
}

static int meddle(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    dur_start_activity(ctx, "Forbidden", input, NULL);
    *result = "1";
    return DUR_OK;
}

static int draw(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)input;
    (void)arg;
    *result = dur_ctx_jsonf(ctx, "%q", dur_uuid(ctx));
    return DUR_OK;
}

static int bad(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)arg;
    *result = "{";
    return dur_json_int(input, "", DUR_OK) == 0 ? DUR_OK : (int)dur_json_int(input, "", 0);
}

static int helper(dur_ctx *ctx, void *arg, const char **result)
{
    (void)arg;
    (void)result;
    return dur_sleep(ctx, 1000);
}

static int asked(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state *s =
        dur_json_bool(input, "", 0) ? &(struct state){0} : dur_ctx_alloc(ctx, sizeof(struct state));

    (void)user;
    dur_on_query(ctx, "tell", tell, s);
    dur_on_query(ctx, "meddle", meddle, s);
    dur_on_query(ctx, "draw", draw, s);
    dur_on_query(ctx, "bad", bad, NULL);
    dur_go(ctx, helper, NULL);
    s->step = 1;
    dur_run(ctx, "Work", NULL, NULL, NULL);
    s->step = 2;
    dur_receive(ctx, "end", -1, NULL);
    s->step = 3;
    *result = dur_ctx_jsonf(ctx, "%q", dur_uuid(ctx));
    return DUR_OK;
}

static const char *ask(struct host *h, const char *name, const char *input)
{
    struct run_answer answer;
    int rc = run_query(h->run, name, input, h->arena, &answer);

    return rc == 0 ? answer.result : arena_printf(h->arena, "%s: %s", answer.type, answer.message);
}

TEST(answers_follow_the_state)
{
    struct host h;

    host_init(&h, asked, NULL, "false");
    cr_expect_str_eq(ask(&h, "tell", NULL),
                     "RunNotBegun: no workflow task of run order-42 has been completed yet");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "tell", NULL), "{\"step\":1,\"asked\":null}");
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "tell", "5"), "{\"step\":2,\"asked\":5}");
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_str_eq(ask(&h, "tell", "5"), "{\"step\":2,\"asked\":5}", "the same after a replay");
    host_signal(&h, "end", "1");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "tell", "6"), "{\"step\":3,\"asked\":6}", "closed, and still there");
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_str_eq(ask(&h, "tell", "6"), "{\"step\":3,\"asked\":6}");
    host_free(&h);
}

TEST(refusals_are_precise)
{
    struct host h;

    host_init(&h, asked, NULL, "false");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "tell", "-1"), "NoSuchStep: there is no step -1");
    cr_expect_str_eq(
        ask(&h, "other", NULL),
        "UnknownQuery: no handler for query other; there are: tell, meddle, draw, bad, "
        "__stack_trace, __temporal_workflow_metadata");
    cr_expect_str_eq(
        ask(&h, "bad", "0"),
        "BadQueryResult: the answer of query bad is not JSON of at most 2097152 bytes");
    cr_expect_str_eq(ask(&h, "bad", "-6"),
                     "QueryFailed: the handler of query bad returned code -6");
    const char *meddled = ask(&h, "meddle", NULL);
    cr_expect(strstr(meddled, "QueryMayOnlyRead: the handler of query meddle made a durable call "),
              "%s", meddled);
    cr_expect(strstr(meddled, "test_exec_query.c:"), "%s", meddled);
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "", "nothing of it was asked");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(numbers_drawn_by_a_query_move_nothing)
{
    struct host a, b;

    host_init(&a, asked, NULL, "false");
    host_init(&b, asked, NULL, "false");
    for (int i = 0; i < 3; i++) {
        struct host *h = i ? &a : &b;
        if (i == 2) {
            break;
        }
        host_task(h);
        for (int k = 0; i && k < 3; k++) {
            cr_expect_neq(strlen(ask(h, "draw", NULL)), 0);
        }
        host_done(h, "1", "1");
        host_signal(h, "end", "1");
        host_task(h);
    }
    const char *one = arena_strdup(a.arena, host_commands(&a));
    cr_expect_str_eq(one, host_commands(&b));
    cr_expect(strstr(one, "=done:\""), "%s", one);
    host_free(&a);
    host_free(&b);
}

TEST(state_on_a_returned_stack_is_not_touched)
{
    struct host h;

    host_init(&h, asked, NULL, "true");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "tell", NULL), "{\"step\":1,\"asked\":null}");
    host_done(&h, "1", "1");
    host_signal(&h, "end", "1");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "tell", NULL),
                     "QueryStateGone: the state of query tell lay in the frame of a function that "
                     "has returned: allocate it with dur_ctx_alloc()");
    host_free(&h);
}

TEST(where_everything_stands)
{
    struct host h;

    host_init(&h, asked, NULL, "false");
    host_task(&h);
    const char *trace = ask(&h, "__stack_trace", NULL);
    const char *main_at = strstr(trace, "workflow Order\\n    at ");
    const char *helper_at = strstr(trace, "coroutine\\n    at ");
    cr_assert(main_at && helper_at, "%s", trace);
    cr_expect_lt(main_at, helper_at, "oldest first");
    cr_expect(strstr(trace, "test_exec_query.c:"), "%s", trace);
    host_done(&h, "1", "1");
    host_signal(&h, "end", "1");
    host_task(&h);
    cr_expect_str_eq(ask(&h, "__stack_trace", NULL), "\"the run is closed (COMPLETED)\\n\"");
    host_free(&h);
}

TEST(what_a_run_offers)
{
    struct host h;

    host_init(&h, asked, NULL, "false");
    host_task(&h);
    host_done(&h, "1", "1");
    host_task(&h);
    const char *text = ask(&h, "__temporal_workflow_metadata", NULL);
    cr_expect(strstr(text, "{\"definition\":{\"type\":\"Order\",\"queryDefinitions\":[{\"name\":"
                           "\"__stack_trace\""),
              "%s", text);
    cr_expect(strstr(text, "{\"name\":\"tell\"}"), "%s", text);
    cr_expect(strstr(text, "\"signalDefinitions\":[{\"name\":\"end\"}],\"updateDefinitions\":[]}}"),
              "%s", text);
    host_free(&h);
}
