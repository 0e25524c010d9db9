/*
 * test_exec_activity.c - what dur_run makes of its options: timeouts, retry policy, ids, refusals.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_activity, name, .timeout = 30)

static int with_options(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    return dur_run(ctx, "Work", input, NULL, user);
}

static const struct ev_activity_task_scheduled *scheduled(struct host *h,
                                                          dur_activity_options *options,
                                                          int64_t run_timeout_ns)
{
    host_init(h, with_options, options, "null");
    ev_workflow_execution_started(h->events[0])->workflow_run_timeout = run_timeout_ns;
    cr_assert_eq(host_task(h), 0);
    cr_assert_eq(h->events[h->count - 1]->type, EVENT_ACTIVITY_TASK_SCHEDULED, "%s",
                 host_commands(h));
    return ev_activity_task_scheduled(h->events[h->count - 1]);
}

TEST(timeouts_are_normalised_as_temporal_does)
{
    static const struct {
        int64_t whole, wait, once, beat, run; /* asked, seconds */
        int64_t got_whole, got_wait, got_once, got_beat;
    } rows[] = {
        {0, 0, 0, 0, 0, 0, 0, 600, 0},          /* the default: one attempt 10 minutes */
        {0, 0, 30, 0, 0, 0, 0, 30, 0},          /* no run timeout: unlimited */
        {0, 0, 30, 0, 3600, 3600, 3600, 30, 0}, /* run timeout fills in */
        {60, 0, 0, 0, 0, 60, 60, 60, 0},        /* the whole fills in */
        {60, 90, 120, 0, 0, 60, 60, 60, 0},     /* and caps */
        {60, 5, 10, 0, 0, 60, 5, 10, 0},        /* smaller ones stay */
        {60, 5, 10, 20, 0, 60, 5, 10, 10},      /* heartbeat is capped by one attempt */
        {7200, 0, 30, 5, 3600, 3600, 3600, 30, 5},
        {0, 7200, 7200, 5, 3600, 3600, 3600, 3600, 5},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host h;
        dur_activity_options o = {.schedule_to_close_ms = rows[i].whole * DUR_SECONDS,
                                  .schedule_to_start_ms = rows[i].wait * DUR_SECONDS,
                                  .start_to_close_ms = rows[i].once * DUR_SECONDS,
                                  .heartbeat_ms = rows[i].beat * DUR_SECONDS};
        const struct ev_activity_task_scheduled *a = scheduled(&h, &o, rows[i].run * NS_PER_S);
        cr_expect_eq(a->schedule_to_close_timeout, rows[i].got_whole * NS_PER_S, "row %zu", i);
        cr_expect_eq(a->schedule_to_start_timeout, rows[i].got_wait * NS_PER_S, "row %zu", i);
        cr_expect_eq(a->start_to_close_timeout, rows[i].got_once * NS_PER_S, "row %zu", i);
        cr_expect_eq(a->heartbeat_timeout, rows[i].got_beat * NS_PER_S, "row %zu", i);
        host_free(&h);
    }
}

TEST(the_retry_policy_gets_its_defaults)
{
    struct host h;
    const char *const never[] = {"TemporalTimeout:Heartbeat", "NoMoney", NULL};
    dur_activity_options o = {0};

    const struct retry_policy *p = scheduled(&h, &o, 0)->retry_policy;
    cr_expect_eq(p->initial_interval, NS_PER_S);
    cr_expect_eq(p->maximum_interval, 100 * NS_PER_S);
    cr_expect_float_eq(p->backoff_coefficient, 2.0, 0.0);
    cr_expect_eq(p->maximum_attempts, 0);
    cr_expect_str_eq(ev_activity_task_scheduled(h.events[h.count - 1])->task_queue->name,
                     "default");
    host_free(&h);

    o = (dur_activity_options){.max_attempts = 5,
                               .task_queue = "agent",
                               .retry = {.initial_interval_ms = 200,
                                         .backoff_coefficient = 1.5,
                                         .maximum_interval_ms = 900,
                                         .maximum_attempts = 7,
                                         .non_retryable_types = never}};
    p = scheduled(&h, &o, 0)->retry_policy;
    cr_expect_eq(p->initial_interval, 200 * NS_PER_MS);
    cr_expect_eq(p->maximum_interval, 900 * NS_PER_MS);
    cr_expect_float_eq(p->backoff_coefficient, 1.5, 0.0);
    cr_expect_eq(p->maximum_attempts, 5, "the short form wins");
    cr_assert_eq(p->non_retryable_error_types.count, 2);
    cr_expect_str_eq(p->non_retryable_error_types.items[1], "NoMoney");
    host_free(&h);
}

static char long_name[1002];

static int refused(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const char *const unknown_timeout[] = {"TemporalTimeout:Never", NULL};
    static const char *const nameless[] = {"A", "", NULL};
    static const dur_activity_options bad[] = {
        {.start_to_close_ms = -1},
        {.heartbeat_ms = INT64_MAX},
        {.max_attempts = -1},
        {.task_queue = ""},
        {.activity_id = ""},
        {.retry = {.backoff_coefficient = 0.5}},
        {.retry = {.backoff_coefficient = NAN}},
        {.retry = {.maximum_interval_ms = 10}},
        {.retry = {.maximum_attempts = -2}},
        {.cancellation = (dur_cancellation)9},
        {.retry = {.non_retryable_types = unknown_timeout}},
        {.retry = {.non_retryable_types = nameless}},
    };
    int *codes = user;
    int n = 0;

    memset(long_name, 'x', sizeof(long_name) - 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        codes[n++] = dur_run(ctx, "Work", input, NULL, &bad[i]);
    }
    codes[n++] = dur_run(ctx, "", input, NULL, NULL);
    codes[n++] = dur_run(ctx, NULL, input, NULL, NULL);
    codes[n++] = dur_run(ctx, long_name, input, NULL, NULL);
    codes[n++] = dur_run(ctx, "Work", "{\"a\":1", NULL, NULL);
    codes[n++] = dur_await(ctx, dur_start_activity(ctx, "Work", "nope", NULL), NULL);
    *result = dur_ctx_jsonf(ctx, "%d", n);
    return DUR_OK;
}

TEST(bad_options_are_invalid_and_leave_no_trace)
{
    struct host h;
    int codes[32] = {0};

    host_init(&h, refused, codes, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:17");
    for (int i = 0; i < 17; i++) {
        cr_expect_eq(codes[i], DUR_INVALID, "case %d gave %d", i, codes[i]);
    }
    host_free(&h);
}

static int own_ids(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options two = {.activity_id = "2"};
    dur_future *a = dur_start_activity(ctx, "A", input, &two);
    dur_future *b = dur_start_activity(ctx, "B", input, NULL);
    dur_future *c = dur_start_activity(ctx, "C", input, NULL);

    (void)user;
    int twice = dur_run(ctx, "D", input, NULL, &two);
    int rc = dur_await(ctx, a, NULL);
    dur_future *again = dur_start_activity(ctx, "E", input, &two); /* closed: free again */
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d]", twice, rc, dur_done(again));
    return dur_await(ctx, b, NULL) + dur_await(ctx, c, NULL);
}

TEST(own_ids_and_counters_do_not_collide)
{
    struct host h;

    host_init(&h, own_ids, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A2:A +A1:B +A3:C");
    host_done(&h, "2", "0");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A2:E");
    cr_assert_eq(host_evict(&h), 0);
    host_done(&h, "1", "0");
    host_done(&h, "3", "0");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-5,0,0]");
    host_free(&h);
}

static int too_big(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%d", dur_run(ctx, "Work", user, NULL, NULL));
    return DUR_OK;
}

TEST(a_payload_has_a_limit)
{
    struct host h;
    size_t bytes = RUN_MAX_PAYLOAD + 1;
    char *text = malloc(bytes + 1);

    memset(text, '1', bytes);
    text[bytes] = '\0';
    host_init(&h, too_big, text, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:-12");
    host_free(&h);
    free(text);
}

static int too_many(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    for (int i = 0; i <= RUN_MAX_OPEN; i++) {
        if (!dur_start_activity(ctx, "Work", input, NULL)) {
            return DUR_FAILED;
        }
    }
    return dur_receive(ctx, "never", -1, NULL);
}

TEST(open_activities_have_a_limit)
{
    struct host h;

    host_init(&h, too_many, NULL, "null");
    cr_assert_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_eq(h.out.cause, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED);
    host_free(&h);
}

static int small_options(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    /* a program that was built when options were shorter: the rest must not be read */
    struct {
        const char *queue;
        unsigned char junk[64];
    } old = {.queue = "agent"};

    (void)user;
    memset(old.junk, 0xee, sizeof(old.junk));
    return dur_run_at(ctx, "Work", input, result, (const dur_activity_options *)(void *)&old,
                      sizeof(const char *), __FILE__, __LINE__);
}

TEST(options_of_an_older_program_are_shorter)
{
    struct host h;

    host_init(&h, small_options, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+A1:Work");
    cr_expect_str_eq(ev_activity_task_scheduled(h.events[h.count - 1])->task_queue->name, "agent");
    host_free(&h);
}
