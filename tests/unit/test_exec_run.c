/*
 * test_exec_run.c - run.h and the waiting calls: tasks, ids, select, coroutines, timers, results.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_run, name, .timeout = 30)

static int sequential(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *receipt;
    int rc;

    (void)user;
    if ((rc = dur_run(ctx, "Charge", input, &receipt, NULL))) {
        return rc;
    }
    return dur_run(ctx, "Pack", receipt, result, NULL);
}

TEST(sequential_activities_run_to_completion)
{
    struct host h;

    host_init(&h, sequential, NULL, "{\"card\":\"1\"}");
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "+A1:Charge");
    cr_expect_str_eq(
        payloads_first_json(ev_activity_task_scheduled(h.events[h.count - 1])->input, NULL),
        "{\"card\":\"1\"}");
    cr_expect_eq(h.out.status, RUN_RUNNING);
    host_done(&h, "1", "\"r-1\"");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+A2:Pack");
    host_done(&h, "2", "\"p-1\"");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:\"p-1\"");
    cr_expect_eq(h.out.status, RUN_COMPLETED);
    cr_expect_eq(run_status(h.run), RUN_COMPLETED);
    host_free(&h);
}

TEST(the_first_completed_task_names_sdk_and_rule)
{
    struct host h;

    host_init(&h, sequential, NULL, "null");
    host_task(&h);
    const struct ev_workflow_task_completed *a = ev_workflow_task_completed(h.events[h.last]);
    cr_assert(a->sdk_metadata);
    cr_expect_str_eq(a->sdk_metadata->sdk_name, RUN_SDK_NAME);
    cr_assert_eq(a->sdk_metadata->lang_used_flags.count, 2);
    cr_expect_eq(a->sdk_metadata->lang_used_flags.items[0], RUN_FLAG_DELIVERY_1);
    cr_expect_eq(a->sdk_metadata->lang_used_flags.items[1], RUN_FLAG_ONE_BATCH);
    cr_assert_eq(a->sdk_metadata->core_used_flags.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(a->sdk_metadata->core_used_flags.items[i], i + 1);
    }
    cr_expect_eq(a->scheduled_event_id, 2);
    cr_expect_eq(a->started_event_id, 3);
    cr_expect_str_eq(a->identity, "test@host");
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_null(ev_workflow_task_completed(h.events[h.last])->sdk_metadata);
    host_free(&h);
}

TEST(sites_name_the_line_that_asked)
{
    struct host h;

    host_init(&h, sequential, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_assert_eq(h.out.count, 2);
    cr_expect_null(h.out.sites[0].file);
    cr_assert(h.out.sites[1].file);
    cr_expect_str_eq(strrchr(h.out.sites[1].file, '/') + 1, "test_exec_run.c");
    cr_expect_eq(h.out.sites[1].line, 20);
    cr_expect_eq(run_last_call(h.run).line, 20);
    host_free(&h);
}

static int parallel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *f[3];
    const char *text[3];

    (void)user;
    for (int i = 0; i < 3; i++) {
        f[i] = dur_start_activity(ctx, "Part", input, NULL);
    }
    for (int i = 0; i < 3; i++) {
        int rc = dur_await(ctx, f[i], &text[i]);
        if (rc) {
            return rc;
        }
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j,%j]", text[0], text[1], text[2]);
    return dur_await(ctx, f[0], NULL); /* asking again gives the same answer */
}

TEST(parallel_activities_may_end_in_any_order)
{
    struct host h;

    host_init(&h, parallel, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Part +A2:Part +A3:Part");
    host_done(&h, "3", "3");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "");
    host_done(&h, "1", "1");
    host_done(&h, "2", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[1,2,3]");
    host_free(&h);
}

static int selecting(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *f[] = {NULL, dur_start_activity(ctx, "Slow", input, NULL),
                       dur_timer(ctx, 2 * DUR_HOURS)};

    (void)user;
    int which = dur_select(ctx, f, 3);
    if (which == 1) {
        dur_cancel_future(ctx, f[2]);
    }
    *result = dur_ctx_jsonf(ctx, "%d", which);
    return which < 0 ? which : DUR_OK;
}

TEST(select_returns_the_lowest_done_index)
{
    struct host h;

    host_init(&h, selecting, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Slow +T1");
    host_fired(&h, "1");
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:1",
                     "both done: the lower index; a fired timer is "
                     "not cancelled");
    host_free(&h);
}

TEST(select_sees_the_timer)
{
    struct host h;

    host_init(&h, selecting, NULL, "null");
    host_task(&h);
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:2");
    host_free(&h);
}

TEST(cancelling_the_loser_of_a_select_cancels_its_timer)
{
    struct host h;

    host_init(&h, selecting, NULL, "null");
    host_task(&h);
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "-T1 =done:1");
    host_free(&h);
}

static int bad_select(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *none[2] = {NULL, NULL};

    (void)input;
    (void)user;
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d]", dur_select(ctx, none, 2),
                            dur_select(ctx, NULL, 0), dur_await(ctx, NULL, NULL), dur_done(NULL));
    return DUR_OK;
}

TEST(waiting_for_nothing_is_invalid)
{
    struct host h;

    host_init(&h, bad_select, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-5,-5,-5,0]");
    host_free(&h);
}

static int timers(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t before = dur_now_ns(ctx);

    (void)input;
    (void)user;
    int now = dur_sleep(ctx, 0);
    int past = dur_sleep(ctx, -5);
    int later = dur_sleep(ctx, 1500);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%b]", now, past, later, dur_now_ns(ctx) > before);
    return DUR_OK;
}

TEST(timers_have_counters_and_zero_is_over_at_once)
{
    struct host h;

    host_init(&h, timers, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+T1");
    cr_expect_eq(ev_timer_started(h.events[h.count - 1])->start_to_fire_timeout, 1500000000LL);
    host_fired(&h, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,0,0,true]");
    host_free(&h);
}

static int worker(dur_ctx *ctx, void *arg, const char **result)
{
    const char *text;
    int rc = dur_run(ctx, arg, "null", &text, NULL);

    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "{\"got\":%j}", text);
    }
    return rc;
}

static int coroutines(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    char names[2][8] = {"Left", "Right"};
    dur_future *f[2] = {dur_go(ctx, worker, names[0]), dur_go(ctx, worker, names[1])};
    const char *text[2] = {"", ""};

    (void)input;
    (void)user;
    int rc = dur_run(ctx, "Main", "null", NULL, NULL);
    for (int i = 0; i < 2 && rc == DUR_OK; i++) {
        rc = dur_await(ctx, f[i], &text[i]);
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", text[0], text[1]);
    return rc;
}

TEST(coroutines_run_when_their_maker_blocks)
{
    struct host h;

    host_init(&h, coroutines, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+A1:Main +A2:Left +A3:Right");
    host_done(&h, "3", "3");
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "");
    cr_assert_eq(host_evict(&h), 0);
    host_done(&h, "2", "2");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[{\"got\":2},{\"got\":3}]");
    host_free(&h);
}

static int failing_coroutine(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    return dur_await(ctx, dur_go(ctx, worker, (char[]){"Bad"}), NULL);
}

TEST(a_coroutine_carries_its_failure_to_the_run)
{
    struct host h;

    host_init(&h, failing_coroutine, NULL, "null");
    host_task(&h);
    host_failed(&h, "1", DUR_PERMANENT, "Broken", "it broke");
    host_task(&h);
    cr_assert_str_eq(host_commands(&h), "=failed");
    const struct failure *f = ev_workflow_execution_failed(h.events[h.count - 1])->failure;
    cr_assert(f && f->cause);
    cr_expect_str_eq(f->cause->application_failure_info->type, "Broken");
    host_free(&h);
}

static int bad_result(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)input;
    (void)user;
    *result = "{not json";
    return DUR_OK;
}

TEST(a_result_that_is_not_json_fails_the_task)
{
    struct host h;

    host_init(&h, bad_result, NULL, "null");
    cr_assert_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_eq(h.out.cause,
                 WORKFLOW_TASK_FAILED_CAUSE_BAD_COMPLETE_WORKFLOW_EXECUTION_ATTRIBUTES);
    cr_expect(strstr(h.out.message, "not JSON"), "%s", h.out.message);
    cr_expect(strstr(h.out.report, "What to do"), "%s", h.out.report);
    cr_expect_eq(h.out.count, 0);
    host_free(&h);
}

static int endless(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    for (;;) {
        if (dur_done(dur_timer(ctx, 1000)) && dur_is_cancelled(ctx) == 7) {
            dur_log(ctx, "%s", input);
        }
        if (dur_sleep(ctx, 0) == DUR_UNWIND) {
            return DUR_UNWIND;
        }
    }
}

TEST(a_loop_that_never_waits_fails_the_task)
{
    struct host h;

    host_init(&h, endless, NULL, "null");
    cr_assert_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect(strstr(h.out.message, "commands"), "%s", h.out.message);
    host_free(&h);
}

static int deaf(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    while (dur_run(ctx, "Never", input, NULL, NULL) != DUR_OK) {
        ++*(int *)user;
    }
    return DUR_OK;
}

TEST(code_that_loops_on_unwind_is_given_up)
{
    struct host h;
    int calls = 0;

    host_init(&h, deaf, &calls, "null");
    cr_assert_eq(host_task(&h), 0);
    host_free(&h);
    cr_expect_eq(calls, RUN_UNWIND_CALLS + 1);
}

static int returns(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)input;
    (void)result;
    return *(int *)user;
}

TEST(return_codes_become_closing_events)
{
    static const struct {
        int code;
        const char *commands;
        const char *type; /* of the failure */
    } cases[] = {
        {DUR_OK, "=done:null", NULL},          {DUR_CANCELLED, "=canceled", NULL},
        {DUR_FAILED, "=failed", "DUR_FAILED"}, {DUR_TIMED_OUT, "=failed", "DUR_TIMED_OUT"},
        {5, "=failed", "ReturnCode"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct host h;
        int code = cases[i].code;
        host_init(&h, returns, &code, "null");
        cr_assert_eq(host_task(&h), 0);
        cr_expect_str_eq(host_commands(&h), cases[i].commands);
        if (cases[i].type) {
            const struct failure *f = ev_workflow_execution_failed(h.events[h.count - 1])->failure;
            cr_expect_str_eq(f->application_failure_info->type, cases[i].type);
            cr_expect_str_eq(f->source, RUN_FAILURE_SOURCE);
        }
        host_free(&h);
    }
}

static int counted(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t n = dur_json_int(input, "", 0);

    (void)user;
    for (int64_t i = 0; i < n; i++) {
        int rc = dur_run(ctx, "Step", dur_ctx_jsonf(ctx, "%i64", i), result, NULL);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

TEST(deep_histories_replay)
{
    struct host h;

    host_init(&h, counted, NULL, "1700");
    for (int i = 1; i <= 1700; i++) {
        char id[16];
        cr_assert_eq(host_task(&h), 0);
        snprintf(id, sizeof(id), "%d", i);
        /* by hand: the open list of the host is slow */
        struct event *s = host_append(&h, EVENT_ACTIVITY_TASK_STARTED);
        ev_activity_task_started(s)->scheduled_event_id = s->id - 1;
        struct event *c = host_append(&h, EVENT_ACTIVITY_TASK_COMPLETED);
        ev_activity_task_completed(c)->scheduled_event_id = s->id - 1;
        ev_activity_task_completed(c)->started_event_id = s->id;
        ev_activity_task_completed(c)->result = payloads_json(h.arena, id);
        host_wake(&h);
    }
    cr_assert_gt(h.count, 10000);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:1700");
    cr_expect_eq(host_evict(&h), 0);
    cr_expect_eq(run_status(h.run), RUN_COMPLETED);
    host_free(&h);
}

TEST(a_finished_run_takes_no_more_tasks)
{
    struct host h;
    int code = DUR_OK;

    host_init(&h, returns, &code, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_lt(host_task(&h), 0);
    cr_expect_str_eq(h.err.name, "RunIsOver");
    host_free(&h);
}

TEST(a_run_may_be_freed_at_any_time)
{
    struct run_spec spec = {.fn = sequential};

    run_free(run_new(&spec));
    cr_expect_null(run_free(NULL));
}

static int crowd(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *last = NULL;

    (void)input;
    (void)result;
    for (int i = 0; i < RUN_MAX_FIBERS; i++) {
        last = dur_go(ctx, worker, (char[]){"Never"});
        ++*(int *)user;
    }
    return dur_await(ctx, last, NULL);
}

TEST(coroutines_have_a_limit)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    cr_skip_test("skip: a sanitizer's bookkeeping of 4096 stacks is too slow");
#endif
    struct host h;
    int made = 0;

    host_init(&h, crowd, &made, "null");
    cr_assert_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect(strstr(h.out.message, "coroutine"), "%s", h.out.message);
    run_free(h.run);
    h.run = NULL;
    cr_expect_eq(made, RUN_MAX_FIBERS, "unwinding lets the loop end");
    host_free(&h);
}

TEST(a_trimmed_run_goes_on)
{
    struct host h;

    host_init(&h, parallel, NULL, "null");
    host_task(&h);
    size_t before = run_bytes(h.run);
    run_trim(h.run);
    cr_expect_lt(run_bytes(h.run), before);
    for (int i = 1; i <= 3; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%d", i);
        host_done(&h, id, id);
        cr_assert_eq(host_task(&h), 0);
        run_trim(h.run);
    }
    cr_expect_eq(run_status(h.run), RUN_COMPLETED);
    cr_expect_str_eq(host_commands(&h), "=done:[1,2,3]");
    host_free(&h);
}

static int wakes_all(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    dur_future *gone = dur_go(ctx, NULL, NULL);
    *result =
        dur_ctx_jsonf(ctx, "[%d,%d]", dur_await(ctx, gone, NULL), dur_receive(ctx, "x", 0, NULL));
    return DUR_OK;
}

TEST(a_coroutine_needs_a_function)
{
    struct host h;

    host_init(&h, wakes_all, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-5,-3]");
    host_free(&h);
}
