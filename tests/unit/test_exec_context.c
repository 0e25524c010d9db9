/*
 * test_exec_context.c - time, randomness, ids, logging and JSON of a workflow context.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_context, name, .timeout = 30)

struct notes {
    uint64_t random[4];
    const char *uuid[2];
    int64_t now[2];
    int replaying;
    struct str log;
};

static int notes(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct notes *n = user;

    n->replaying = dur_is_replaying(ctx);
    n->now[0] = dur_now_ns(ctx);
    n->random[0] = dur_random(ctx);
    n->uuid[0] = dur_uuid(ctx);
    n->random[1] = dur_random(ctx);
    dur_log(ctx, "hello %d", 1);
    dur_run(ctx, "Work", input, NULL, NULL);
    n->now[1] = dur_now_ns(ctx);
    n->random[2] = dur_random(ctx);
    n->uuid[1] = dur_uuid(ctx);
    dur_log(ctx, "hello %d", 2);
    *result = dur_ctx_jsonf(ctx, "[%q,%q]", dur_workflow_id(ctx), dur_run_id(ctx));
    return dur_run(ctx, "End", input, NULL, NULL);
}

static void on_log(void *user, const char *line)
{
    struct notes *n = user;

    str_addf(&n->log, "%s;", line);
}

TEST(replay_sees_the_same_time_numbers_and_ids)
{
    struct host h;
    struct notes n = {0};

    host_init(&h, notes, &n, "null");
    h.spec.on_log = on_log;
    h.spec.on_log_user = &n;
    run_free(h.run);
    h.run = run_new(&h.spec);
    host_task(&h);
    cr_expect_eq(n.replaying, 0);
    cr_expect_eq(n.now[0], h.events[2]->time_ns);
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_gt(n.now[1], n.now[0]);
    cr_expect_neq(n.random[0], n.random[1]);
    cr_expect_eq(strlen(n.uuid[0]), 36);
    cr_expect_eq(n.uuid[0][14], '4');
    cr_expect_str_neq(n.uuid[0], n.uuid[1]);
    cr_expect_str_eq(str_c(&n.log), "hello 1;hello 2;");
    struct notes first = n;
    char uuid[37];
    memcpy(uuid, n.uuid[1], sizeof(uuid));
    str_reset(&n.log);
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_eq(n.replaying, 1);
    cr_expect_eq(n.now[1], first.now[1]);
    cr_expect_eq(memcmp(n.random, first.random, sizeof(n.random)), 0);
    cr_expect_str_eq(n.uuid[1], uuid);
    cr_expect_str_eq(str_c(&n.log), "", "logging is silent in replay");
    host_done(&h, "2", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h),
                     "=done:[\"order-42\",\"0198c504-e431-787f-a871-2bf426943d58\"]");
    str_free(&n.log);
    host_free(&h);
}

TEST(time_never_runs_backwards)
{
    struct host h;
    struct notes n = {0};

    host_init(&h, notes, &n, "null");
    host_task(&h);
    h.now_ns -= 3600 * 1000000000LL;
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_eq(n.now[1], n.now[0]);
    host_free(&h);
}

static int json(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_ctx_jsonf(
        ctx, "{\"q\":%q,\"n\":%q,\"j\":%j,\"d\":%d,\"i\":%i64,\"t\":%b,\"f\":%b,\"p\":\"100%%\"}",
        "a\"b\\\n", NULL, NULL, -7, INT64_MIN, 2, 0);
    (void)input;
    return DUR_OK;
}

TEST(the_formatter_writes_json)
{
    struct host h;

    host_init(&h, json, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h),
                     "=done:{\"q\":\"a\\\"b\\\\\\n\",\"n\":null,\"j\":null,\"d\":-7,"
                     "\"i\":-9223372036854775808,\"t\":true,\"f\":false,\"p\":\"100%\"}");
    host_free(&h);
}

TEST(look_ups_are_pure)
{
    static const char doc[] = "{\"a\":{\"b\":[10,true,\"x\"]},\"n\":1.5,\"s\":\"7\"}";

    cr_expect_eq(dur_json_int(doc, "/a/b/0", -1), 10);
    cr_expect_eq(dur_json_int(doc, "/a/b/9", -1), -1);
    cr_expect_eq(dur_json_int(doc, "/n", -1), -1, "not an integer");
    cr_expect_eq(dur_json_int(doc, "/s", -1), -1, "another type");
    cr_expect_eq(dur_json_int(NULL, "/s", -1), -1);
    cr_expect_eq(dur_json_int("{", "/s", -1), -1);
    cr_expect_eq(dur_json_bool(doc, "/a/b/1", 0), 1);
    cr_expect_eq(dur_json_bool(doc, "/a/b/0", 5), 5);
}

static int strings(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_ctx_jsonf(ctx, "[%q,%q,%q]", dur_ctx_json_string(ctx, input, "/a/0"),
                            dur_ctx_json_string(ctx, input, "/n"),
                            dur_ctx_json_string(ctx, input, "/missing"));
    return DUR_OK;
}

TEST(strings_are_decoded_into_the_run)
{
    struct host h;

    host_init(&h, strings, NULL, "{\"a\":[\"\\u00e4\\n\"],\"n\":1}");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[\"\u00e4\\n\",null,null]");
    host_free(&h);
}

TEST(a_reset_run_draws_other_numbers)
{
    struct host h;
    struct notes n = {0};

    host_init(&h, notes, &n, "null");
    host_task(&h);
    host_done(&h, "1", "1");
    cr_assert_eq(host_task(&h), 0);
    struct notes plain = n;
    run_free(h.run);
    h.run = NULL;

    host_free(&h);
    host_init(&h, notes, &n, "null");
    host_task(&h);
    host_done(&h, "1", "1");
    host_append(&h, EVENT_WORKFLOW_TASK_STARTED);
    struct ev_workflow_task_failed *a =
        ev_workflow_task_failed(host_append(&h, EVENT_WORKFLOW_TASK_FAILED));
    a->cause = WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;
    a->new_run_id = "0198c504-ffff-787f-a871-2bf426943d58";
    h.task_pending = false;
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_eq(n.random[0], plain.random[0], "before the reset nothing changes");
    cr_expect_neq(n.random[2], plain.random[2]);
    struct notes live = n;
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_eq(n.random[2], live.random[2]);
    str_free(&n.log);
    host_free(&h);
}
