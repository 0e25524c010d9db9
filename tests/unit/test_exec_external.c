/*
 * test_exec_external.c - signals and cancel requests to other runs.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_external, name, .timeout = 30)
#define UUID "0198c504-e431-787f-a871-2bf426943d00"

static int signals(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    return dur_await(ctx, dur_signal_external(ctx, user, "hello", input), NULL);
}

static int cancels(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    return dur_await(ctx, dur_cancel_external(ctx, user, "too late"), NULL);
}

TEST(a_signal_is_answered)
{
    struct host h;
    char id[] = "other";

    host_init(&h, signals, id, "{\"a\":1}");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+Sother:hello");
    const struct ev_signal_external_workflow_execution_initiated *a =
        ev_signal_external_workflow_execution_initiated(h.events[h.count - 1]);
    cr_expect_str_eq(payloads_first_json(a->input, NULL), "{\"a\":1}");
    cr_expect_null(a->workflow_execution->run_id);
    cr_expect_not(a->child_workflow_only);
    host_answered(&h, "other", EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:null");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(a_run_can_be_named)
{
    struct host h;
    char id[] = "other@x@" UUID;
    char odd[] = "ada@example.org";

    host_init(&h, signals, id, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+Sother@x:hello");
    cr_expect_str_eq(ev_signal_external_workflow_execution_initiated(h.events[h.count - 1])
                         ->workflow_execution->run_id,
                     UUID);
    host_free(&h);
    host_init(&h, cancels, odd, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "?Cada@example.org");
    host_free(&h);
}

TEST(nobody_there_is_a_failure)
{
    struct host h;
    char id[] = "other";

    host_init(&h, signals, id, "1");
    host_task(&h);
    host_answered(&h, "other", EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=failed");
    cr_expect_str_eq(ev_workflow_execution_failed(h.events[h.count - 1])
                         ->failure->application_failure_info->type,
                     "ExternalWorkflowExecutionNotFound");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
    host_init(&h, cancels, id, "1");
    host_task(&h);
    cr_expect_str_eq(
        ev_request_cancel_external_workflow_execution_initiated(h.events[h.count - 1])->reason,
        "too late");
    host_answered(&h, "other", EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=failed");
    host_free(&h);
}

TEST(a_cancel_request_is_answered)
{
    struct host h;
    char id[] = "other";

    host_init(&h, cancels, id, "1");
    host_task(&h);
    host_answered(&h, "other", EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:null");
    host_free(&h);
}

static int nonsense(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    char name[1100];
    dur_ctx *scope = dur_scope(ctx);

    (void)user;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    dur_future *timer = dur_timer(ctx, 5);
    dur_future *wrong[] = {
        dur_signal_external(ctx, NULL, "s", input), dur_signal_external(ctx, "", "s", input),
        dur_signal_external(ctx, name, "s", input), dur_signal_external(ctx, "a", NULL, input),
        dur_signal_external(ctx, "a", "s", "{"),    dur_cancel_external(ctx, NULL, NULL),
        dur_cancel_external(ctx, "a", name),        dur_signal_child(ctx, NULL, "s", input),
        dur_signal_child(ctx, timer, "s", input),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(dur_await(ctx, wrong[i], NULL), DUR_INVALID, "%zu", i);
    }
    dur_cancel_future(ctx, timer);
    dur_future *taken_back = dur_signal_external(scope, "other", "s", NULL);
    dur_cancel_scope(scope);
    cr_expect_eq(dur_await(ctx, taken_back, NULL), DUR_CANCELLED);
    cr_expect_eq(dur_await(ctx, dur_cancel_external(scope, "other", NULL), NULL), DUR_CANCELLED);
    *result = "1";
    return DUR_OK;
}

TEST(nonsense_is_refused_and_what_is_taken_back_leaves_no_trace)
{
    struct host h;

    host_init(&h, nonsense, NULL, "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:1");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int signals_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *child = dur_start_child(ctx, "Ship", input, user);
    dur_future *signal = dur_signal_child(ctx, child, "go", input);
    int rc = dur_await(ctx, signal, NULL);

    return rc ? rc : dur_await(ctx, child, result);
}

TEST(a_child_is_signalled_in_the_step_that_starts_it)
{
    struct host h;
    dur_child_options o = {.workflow_id = "kid"};

    host_init(&h, signals_child, &o, "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "+Ckid:Ship +Skid:go");
    cr_expect(ev_signal_external_workflow_execution_initiated(h.events[h.count - 1])
                  ->child_workflow_only);
    host_child_started(&h, "kid");
    host_answered(&h, "kid", EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED);
    host_task(&h);
    host_child_ended(&h, "kid", EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[7]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(the_answer_comes_though_the_run_is_cancelled)
{
    struct host h;
    char id[] = "other";

    host_init(&h, signals, id, "1");
    host_task(&h);
    host_cancel(&h, "");
    host_answered(&h, "other", EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:null");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(changed_code_does_not_fit)
{
    char id[] = "other";
    char changed[] = "others";
    struct host h;

    host_init(&h, signals, id, "1");
    host_task(&h);
    h.spec.user = changed;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_str_eq(h.out.mismatch.actual, "signal workflow id \"others\" name \"hello\"");
    cr_expect_str_eq(h.out.mismatch.expected,
                     "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED id \"other\" name \"hello\"");
    h.spec.fn = cancels;
    h.spec.user = id;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_str_eq(h.out.mismatch.actual, "request to cancel workflow id \"other\"");
    host_free(&h);
    host_init(&h, cancels, id, "1");
    host_task(&h);
    h.spec.user = changed;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_str_eq(h.out.mismatch.expected,
                     "REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED id \"other\"");
    host_free(&h);
}

TEST(answers_that_cannot_be_are_bad_histories)
{
    static const enum event_type types[] = {
        EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED,
        EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
        EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED};
    char id[] = "other";

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct host h;
        host_init(&h, signals, id, "1");
        host_task(&h);
        host_append(&h, types[i]);
        host_wake(&h);
        cr_expect_lt(host_task(&h), 0);
        cr_expect_str_eq(h.err.name, "BadHistory");
        host_free(&h);
    }
    struct host h;
    host_init(&h, signals, id, "1");
    host_task(&h);
    struct event *e = host_append(&h, EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    ev_external_workflow_execution_cancel_requested(e)->initiated_event_id = 5;
    host_wake(&h);
    cr_expect_lt(host_task(&h), 0, "the answer to another kind of request");
    host_free(&h);
}
