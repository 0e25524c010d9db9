/*
 * test_exec_child.c - child workflows: results, failures, cancellation, ids, limits, replay.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_child, name, .timeout = 30)
#define RUN_ID "0198c504-e431-787f-a871-2bf426943d58"
#define KID RUN_ID "_1"

static int one_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    return dur_run_child(ctx, "Ship", input, result, user);
}

static const struct ev_start_child_workflow_execution_initiated *initiated(const struct host *h)
{
    size_t i = h->count;

    while (h->events[i - 1]->type != EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
        i--;
    }
    return ev_start_child_workflow_execution_initiated(h->events[i - 1]);
}

TEST(a_child_starts_and_completes)
{
    struct host h;

    host_init(&h, one_child, NULL, "{\"a\":1}");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+C" KID ":Ship");
    const struct ev_start_child_workflow_execution_initiated *a = initiated(&h);
    cr_expect_str_eq(a->namespace, "default");
    cr_expect_str_eq(a->task_queue->name, "default");
    cr_expect_str_eq(payloads_first_json(a->input, NULL), "{\"a\":1}");
    cr_expect_eq(a->workflow_task_timeout, 10000000000);
    cr_expect_eq(a->workflow_run_timeout, 0);
    cr_expect_eq(a->parent_close_policy, PARENT_CLOSE_POLICY_TERMINATE);
    cr_expect_eq(a->workflow_id_reuse_policy, WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE);
    cr_expect_null(a->retry_policy);
    host_child_started(&h, KID);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "");
    host_child_ended(&h, KID, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[7]");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    cr_expect_eq(run_status(h.run), RUN_COMPLETED);
    host_free(&h);
}

TEST(start_and_end_may_come_together)
{
    struct host h;

    host_init(&h, one_child, NULL, "1");
    host_task(&h);
    host_child_started(&h, KID);
    host_child_ended(&h, KID, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "=done:[7]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(options_reach_the_event)
{
    static const char *const fatal[] = {"Broken", NULL};
    dur_retry_policy retry = {.maximum_attempts = 3, .non_retryable_types = fatal};
    dur_child_options o = {
        .workflow_id = "parcel-7",
        .task_queue = "slow",
        .execution_timeout_ms = 5000,
        .run_timeout_ms = 9000,
        .parent_close = DUR_PARENT_CLOSE_REQUEST_CANCEL,
        .reuse = DUR_REUSE_REJECT,
        .retry = &retry,
        .cron = "@daily",
        .memo = "{\"who\":\"ada\"}",
        .search_attributes = "{\"CustomerId\":\"c1\"}",
        .priority = 2,
    };
    struct host h;

    host_init(&h, one_child, &o, "1");
    cr_assert_eq(host_task(&h), 0);
    const struct ev_start_child_workflow_execution_initiated *a = initiated(&h);
    cr_expect_str_eq(a->workflow_id, "parcel-7");
    cr_expect_str_eq(a->task_queue->name, "slow");
    cr_expect_eq(a->workflow_execution_timeout, 5000000000);
    cr_expect_eq(a->workflow_run_timeout, 5000000000, "capped by the whole");
    cr_expect_eq(a->workflow_task_timeout, 5000000000, "and so is a task");
    cr_expect_eq(a->parent_close_policy, PARENT_CLOSE_POLICY_REQUEST_CANCEL);
    cr_expect_eq(a->workflow_id_reuse_policy, WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE);
    cr_expect_eq(a->retry_policy->maximum_attempts, 3);
    cr_expect_eq(a->retry_policy->initial_interval, 1000000000);
    cr_expect_eq(a->retry_policy->maximum_interval, 100000000000);
    cr_expect_str_eq(a->retry_policy->non_retryable_error_types.items[0], "Broken");
    cr_expect_str_eq(a->cron_schedule, "@daily");
    cr_expect_str_eq(payload_map_get(a->memo, "who")->data, "\"ada\"");
    cr_expect_str_eq(payload_map_get(a->search_attributes, "CustomerId")->data, "\"c1\"");
    cr_expect_eq(a->priority->priority_key, 2);
    host_free(&h);
}

static int nonsense(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    char name[1002];
    dur_retry_policy bad = {.backoff_coefficient = 0.5};
    const dur_child_options wrong[] = {
        {.workflow_id = ""},
        {.task_queue = ""},
        {.execution_timeout_ms = -1},
        {.run_timeout_ms = INT64_MAX},
        {.task_timeout_ms = -5},
        {.parent_close = (dur_parent_close)3},
        {.reuse = (dur_reuse)9},
        {.cancellation = (dur_cancellation)3},
        {.retry = &bad},
        {.cron = ""},
        {.cron = "every day"},
        {.memo = "[1]"},
        {.memo = "{\"a\":1,\"a\":2}"},
        {.search_attributes = "nonsense"},
        {.priority = 6},
        {.priority = -1},
    };

    (void)user;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(dur_run_child(ctx, "Ship", input, NULL, &wrong[i]), DUR_INVALID, "%zu", i);
    }
    cr_expect_eq(dur_run_child(ctx, name, input, NULL, NULL), DUR_INVALID);
    cr_expect_eq(dur_run_child(ctx, NULL, input, NULL, NULL), DUR_INVALID);
    cr_expect_eq(dur_run_child(ctx, "Ship", "{", NULL, NULL), DUR_INVALID);
    dur_future *dead = dur_start_child(ctx, "", input, NULL);
    dur_future *timer = dur_timer(ctx, 5);
    cr_expect_eq(dur_await(ctx, dead, NULL), DUR_INVALID);
    cr_expect_eq(dur_child_started(ctx, dead, NULL), DUR_INVALID);
    cr_expect_eq(dur_child_started(ctx, timer, NULL), DUR_INVALID);
    cr_expect_eq(dur_child_started(ctx, NULL, NULL), DUR_INVALID);
    cr_expect_null(dur_child_id(dead));
    cr_expect_null(dur_child_id(NULL));
    dur_cancel_future(ctx, timer);
    *result = "1";
    return DUR_OK;
}

TEST(nonsense_is_refused_and_leaves_no_trace)
{
    struct host h;

    host_init(&h, nonsense, NULL, "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:1");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* --- ends ---------------------------------------------------------------------------------------
 */

static int tells_why(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run_child(ctx, "Ship", input, NULL, user);
    const dur_failure_info *info = dur_failure(ctx);

    if (rc != DUR_FAILED) {
        return rc;
    }
    *result =
        dur_ctx_jsonf(ctx, "[%q,%q,%q,%q,%q,%q]", info->type, info->child_type, info->child_id,
                      info->child_run_id, info->cause->type, info->cause->timeout_type);
    return DUR_OK;
}

static void check_end(enum event_type type, const char *expected)
{
    struct host h;

    host_init(&h, tells_why, NULL, "1");
    host_task(&h);
    if (type != EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED) {
        host_child_started(&h, KID);
    }
    host_child_ended(&h, KID, type);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), expected);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

#define WHY(run, cause) "=done:[\"Child\",\"Ship\",\"" KID "\",\"" run "\"," cause "]"
#define FIRST "0198c504-e431-787f-a871-2bf426943d59"

TEST(every_end_is_told)
{
    check_end(EVENT_CHILD_WORKFLOW_EXECUTION_FAILED, WHY(FIRST, "\"Broken\",null"));
    check_end(EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT, WHY(FIRST, "\"Timeout\",\"StartToClose\""));
    check_end(EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED, WHY(FIRST, "\"Terminated\",null"));
    check_end(EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED,
              WHY("", "\"WorkflowExecutionAlreadyStarted\",null"));
    check_end(EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED, "=canceled");
}

TEST(a_run_that_passes_it_on_fails_with_the_whole_chain)
{
    struct host h;

    host_init(&h, one_child, NULL, "1");
    host_task(&h);
    host_child_started(&h, KID);
    host_child_ended(&h, KID, EVENT_CHILD_WORKFLOW_EXECUTION_FAILED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=failed");
    const struct failure *f = ev_workflow_execution_failed(h.events[h.count - 1])->failure;
    const struct child_failure_info *info = f->child_workflow_execution_failure_info;
    cr_assert_not_null(info);
    cr_expect_eq(info->initiated_event_id, 5);
    cr_expect_eq(info->started_event_id, 6);
    cr_expect_eq(info->retry_state, RETRY_STATE_RETRY_POLICY_NOT_SET);
    cr_expect_str_eq(info->workflow_type, "Ship");
    cr_expect_str_eq(f->cause->application_failure_info->type, "Broken");
    host_free(&h);
}

/* --- started ------------------------------------------------------------------------------------
 */

static int waits_for_start(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *run_id = NULL;
    dur_future *child = dur_start_child(ctx, "Ship", input, user);
    int rc = dur_child_started(ctx, child, &run_id);

    if (rc == DUR_OK) {
        rc = dur_run(ctx, "Tell", dur_ctx_jsonf(ctx, "[%q,%q]", dur_child_id(child), run_id), NULL,
                     NULL);
    }
    return rc ? rc : dur_await(ctx, child, result);
}

TEST(code_can_wait_for_the_start)
{
    struct host h;

    host_init(&h, waits_for_start, NULL, "1");
    host_task(&h);
    host_child_started(&h, KID);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+A1:Tell");
    cr_assert_eq(host_evict(&h), 0);
    host_child_ended(&h, KID, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    host_done(&h, "1", "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[7]");
    host_free(&h);
}

TEST(waiting_for_a_start_that_fails)
{
    struct host h;

    host_init(&h, waits_for_start, NULL, "1");
    host_task(&h);
    host_child_ended(&h, KID, EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED);
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=failed");
    host_free(&h);
}

/* --- cancelling ---------------------------------------------------------------------------------
 */

static void begin(struct host *h, dur_child_options *o, dur_cancellation how)
{
    *o = (dur_child_options){.cancellation = how};
    host_init(h, one_child, o, "1");
    host_task(h);
    host_child_started(h, KID);
    host_task(h);
    host_cancel(h, "no time");
    cr_assert_eq(host_task(h), 0, "%s", h->err.text);
}

TEST(try_cancel_asks_and_goes_on)
{
    struct host h;
    dur_child_options o;

    begin(&h, &o, DUR_TRY_CANCEL);
    cr_expect_str_eq(host_commands(&h), "?C" KID " =canceled");
    const struct ev_request_cancel_external_workflow_execution_initiated *a =
        ev_request_cancel_external_workflow_execution_initiated(h.events[h.count - 2]);
    cr_expect(a->child_workflow_only);
    cr_expect_str_eq(a->reason, "no time");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(wait_cancel_waits_for_the_real_end)
{
    struct host h;
    dur_child_options o;

    begin(&h, &o, DUR_WAIT_CANCEL);
    cr_expect_str_eq(host_commands(&h), "?C" KID);
    host_answered(&h, KID, EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "");
    cr_assert_eq(host_evict(&h), 0);
    host_child_ended(&h, KID, EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED);
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=canceled");
    host_free(&h);
}

TEST(wait_cancel_may_still_complete)
{
    struct host h;
    dur_child_options o;

    begin(&h, &o, DUR_WAIT_CANCEL);
    host_answered(&h, KID, EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED);
    host_child_ended(&h, KID, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "=done:[7]");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(abandon_tells_nobody)
{
    struct host h;
    dur_child_options o;

    begin(&h, &o, DUR_ABANDON);
    cr_expect_str_eq(host_commands(&h), "=canceled");
    host_free(&h);
}

static int never_starts(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_ctx *scope = dur_scope(ctx);
    dur_future *child = dur_start_child(scope, "Never", input, user);
    dur_future *other;

    dur_cancel_scope(scope);
    other = dur_start_child(ctx, "Ship", input, NULL);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d]", dur_await(ctx, child, NULL),
                            dur_child_started(ctx, child, NULL),
                            dur_run_child(scope, "Never", input, NULL, NULL),
                            dur_await(ctx, dur_signal_child(ctx, child, "x", NULL), NULL));
    return dur_await(ctx, other, NULL);
}

TEST(cancelled_before_its_command_it_never_starts)
{
    for (int how = DUR_TRY_CANCEL; how <= DUR_ABANDON; how++) {
        struct host h;
        dur_child_options o = {.cancellation = (dur_cancellation)how};

        host_init(&h, never_starts, &o, "1");
        host_task(&h);
        cr_expect_str_eq(host_commands(&h), "+C" RUN_ID "_2:Ship");
        host_child_started(&h, RUN_ID "_2");
        host_child_ended(&h, RUN_ID "_2", EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
        host_task(&h);
        cr_expect_str_eq(host_commands(&h), "=done:[-2,-2,-2,-2]");
        cr_assert_eq(host_evict(&h), 0);
        host_free(&h);
    }
}

static int outlives(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run_child(ctx, "Ship", input, NULL, user);

    dur_receive(dur_disconnected(ctx), "end", -1, result);
    return rc ? DUR_OK : rc;
}

TEST(a_late_end_finds_nobody)
{
    static const enum event_type ends[] = {
        EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED, EVENT_CHILD_WORKFLOW_EXECUTION_FAILED,
        EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED, EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
        EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        for (int how = DUR_TRY_CANCEL; how <= DUR_ABANDON; how += DUR_ABANDON) {
            struct host h;
            dur_child_options o = {.cancellation = (dur_cancellation)how};
            host_init(&h, outlives, &o, "1");
            host_task(&h);
            host_child_started(&h, KID);
            host_cancel(&h, "");
            cr_assert_eq(host_task(&h), 0);
            cr_expect_str_eq(host_commands(&h), how == DUR_ABANDON ? "" : "?C" KID);
            if (how != DUR_ABANDON) {
                host_answered(&h, KID, EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
            }
            host_cancel(&h, "again");
            host_child_ended(&h, KID, ends[i]);
            cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
            host_signal(&h, "end", "9");
            cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
            cr_expect_str_eq(host_commands(&h), "=done:9");
            cr_assert_eq(host_evict(&h), 0);
            host_free(&h);
        }
    }
}

/* --- many, and replay ---------------------------------------------------------------------------
 */

static int many(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    size_t count = *(size_t *)user;
    int rc = DUR_OK;

    (void)input;
    (void)result;
    for (size_t i = 0; i < count; i++) {
        if ((rc = dur_child_started(ctx, dur_start_child(ctx, "Ship", "1", NULL), NULL)) ==
            DUR_UNWIND) {
            return rc;
        }
    }
    return rc;
}

static int many_at_once(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    size_t count = *(size_t *)user;

    (void)result;
    for (size_t i = 0; i < count; i++) {
        dur_start_child(ctx, "Ship", input, NULL);
    }
    return dur_receive(ctx, "never", -1, NULL);
}

TEST(too_many_open_children_fail_the_task)
{
    struct host h;
    size_t count = RUN_MAX_OPEN;

    host_init(&h, many_at_once, &count, "1");
    cr_expect_eq(host_task(&h), 0);
    host_free(&h);
    count++;
    host_init(&h, many_at_once, &count, "1");
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_eq(h.out.cause, WORKFLOW_TASK_FAILED_CAUSE_PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED);
    host_free(&h);
}

TEST(ids_count_up)
{
    struct host h;
    size_t count = 3;
    char id[64];

    host_init(&h, many, &count, "1");
    for (size_t i = 1; i <= count; i++) {
        cr_assert_eq(host_task(&h), 0);
        snprintf(id, sizeof(id), RUN_ID "_%zu", i);
        host_child_started(&h, id);
    }
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:null");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

static int other_type(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    return dur_run_child(ctx, "Sink", input, result, user);
}

static int other_thing(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Ship", input, result, NULL);
}

static void check_mismatch(dur_workflow_fn fn, dur_child_options *o, const char *actual)
{
    struct host h;

    host_init(&h, one_child, NULL, "1");
    host_task(&h);
    h.spec.fn = fn;
    h.spec.user = o;
    cr_assert_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_str_eq(h.out.mismatch.actual, actual);
    cr_expect_str_eq(h.out.mismatch.expected,
                     "START_CHILD_WORKFLOW_EXECUTION_INITIATED id \"" KID "\" type \"Ship\"");
    host_free(&h);
}

TEST(changed_code_does_not_fit)
{
    check_mismatch(other_type, NULL, "start child workflow id \"" KID "\" type \"Sink\"");
    check_mismatch(one_child, &(dur_child_options){.workflow_id = "mine"},
                   "start child workflow id \"mine\" type \"Ship\"");
    check_mismatch(other_thing, NULL, "schedule activity id \"1\" type \"Ship\"");
}

TEST(other_inputs_and_policies_fit)
{
    struct host h;
    dur_child_options o = {.parent_close = DUR_PARENT_CLOSE_ABANDON,
                           .task_queue = "slow",
                           .run_timeout_ms = 5,
                           .cancellation = DUR_WAIT_CANCEL};

    host_init(&h, one_child, NULL, "1");
    host_task(&h);
    h.spec.user = &o;
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* As Go or TypeScript would have recorded it: another SDK's name, another kind of default id. */
static void make_foreign(struct host *h, const char *id)
{
    struct sdk_metadata *go = arena_new_of(h->arena, struct sdk_metadata);

    go->sdk_name = "temporal-go";
    for (size_t i = 0; i < h->count; i++) {
        struct event *e = h->events[i];
        if (e->type == EVENT_WORKFLOW_TASK_COMPLETED) {
            ev_workflow_task_completed(e)->sdk_metadata = go;
        } else if (e->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
            ev_start_child_workflow_execution_initiated(e)->workflow_id = id;
        }
    }
}

TEST(default_ids_of_other_programs_are_taken_over)
{
    struct host h;

    host_init(&h, waits_for_start, NULL, "1");
    host_task(&h);
    make_foreign(&h, RUN_ID "_5");
    cr_assert_eq(host_evict(&h), 0);
    host_child_started(&h, RUN_ID "_5");
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(
        payloads_first_json(ev_activity_task_scheduled(h.events[h.count - 1])->input, NULL),
        "[\"" RUN_ID "_5\",\"" FIRST "\"]");
    host_free(&h);

    dur_child_options named = {.workflow_id = "mine"};
    host_init(&h, one_child, &named, "1");
    host_task(&h);
    make_foreign(&h, "yours");
    cr_assert_eq(host_evict(&h), RUN_MISMATCH, "an id that the code gave is compared");
    host_free(&h);

    dur_child_options dropped = {0};
    host_init(&h, never_starts, &dropped, "1");
    host_task(&h);
    make_foreign(&h, "theirs");
    cr_assert_eq(host_evict(&h), 0, "the dropped one looked at the other's event");
    host_child_started(&h, "theirs");
    host_child_ended(&h, "theirs", EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    host_free(&h);
}

TEST(events_that_cannot_be_are_bad_histories)
{
    static const enum event_type types[] = {
        EVENT_CHILD_WORKFLOW_EXECUTION_STARTED,     EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED,
        EVENT_CHILD_WORKFLOW_EXECUTION_FAILED,      EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED,
        EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT,   EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED,
        EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct host h;
        host_init(&h, one_child, NULL, "1");
        host_task(&h);
        host_append(&h, types[i]); /* without an initiated id, or a run id */
        host_wake(&h);
        cr_expect_lt(host_task(&h), 0);
        cr_expect_str_eq(h.err.name, "BadHistory");
        host_free(&h);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct host h;
        bool before = types[i] == EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED;
        host_init(&h, one_child, NULL, "1");
        host_task(&h);
        if (before || types[i] == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED) {
            host_child_started(&h, KID);
        }
        if (types[i] == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED) {
            host_child_started(&h, KID);
        } else {
            host_child_ended(&h, KID, types[i]); /* not started; started already */
        }
        cr_expect_lt(host_task(&h), 0);
        cr_expect_str_eq(h.err.name, "BadHistory");
        host_free(&h);
    }
}
