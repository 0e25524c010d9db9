/*
 * test_engine_chain.c - runs that follow each other: continued as new, retried, due by cron;
 * delayed beginnings, time-outs of runs and of chains.
 */
#include "tests/lib/engine_fixture.h"

#define TEST(name) Test(engine_chain, name, .timeout = 120)

static int count_down(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t left = dur_json_int(input, "", 0);
    (void)user;
    if (left > 0) {
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", left - 1), NULL);
    }
    *result = dur_ctx_jsonf(ctx, "%q", dur_run_id(ctx));
    return DUR_OK;
}

/* Fails until its third attempt. */
static int unlucky(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const dur_failure_info *before = dur_last_failure(ctx);
    (void)input;
    (void)user;
    if (dur_attempt(ctx) < 3) {
        return dur_fail_run(ctx, "Busy", "attempt %d", dur_attempt(ctx));
    }
    *result = dur_ctx_jsonf(ctx, "[%d,%q]", dur_attempt(ctx), before ? before->message : NULL);
    return DUR_OK;
}

static int fails_as(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    return dur_fail_run(ctx, dur_ctx_json_string(ctx, input, ""), "always");
}

static int sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    return dur_sleep(ctx, dur_json_int(input, "", 0));
}

/* Counts its cron runs through the last result; the third fails. */
static int tick(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const dur_failure_info *failure = dur_last_failure(ctx);
    int64_t count = dur_json_int(dur_last_result(ctx), "/n", 0);
    (void)input;
    (void)user;
    if (count == 2 && !failure) {
        return dur_fail_run(ctx, "Third", "fails");
    }
    *result =
        dur_ctx_jsonf(ctx, "{\"n\":%i64,\"after\":%q}", count + 1, failure ? failure->type : NULL);
    return DUR_OK;
}

/* Receives one "go", then continues; signals of other names are for the next run. */
static int relay(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL, *b = NULL;
    (void)user;
    if (dur_json_int(input, "", 0) == 0) {
        int rc = dur_receive(ctx, "go", -1, NULL);
        return rc ? rc : dur_continue_as_new(ctx, "1", NULL);
    }
    int rc = dur_receive(ctx, "other", -1, &a);
    rc = rc ? rc : dur_receive(ctx, "go", -1, &b);
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return rc;
}

static int changes(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_json_int(input, "", 0) == 0) {
        dur_upsert_memo(ctx, "{\"b\":2}");
        return dur_continue_as_new(ctx, "1", NULL);
    }
    if (dur_json_int(input, "", 0) == 1) {
        return dur_continue_as_new(ctx, "\"last\"",
                                   &(dur_continue_options){.type = "tell",
                                                           .task_queue = "q2",
                                                           .memo = "{\"c\":3}",
                                                           .search_attributes = "{\"S\":5}",
                                                           .backoff_ms = 60000,
                                                           .run_timeout_ms = 7000});
    }
    *result = "\"never\"";
    return DUR_OK;
}

static int tell(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", input, dur_memo(ctx));
    return DUR_OK;
}

/* Grows its history until it is told to stop. */
static int grows(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    while (!dur_continue_suggested(ctx)) {
        int rc = dur_sleep(ctx, 1);
        if (rc) {
            return rc;
        }
    }
    *result = dur_ctx_jsonf(ctx, "[%i64,%b]", dur_history_events(ctx), dur_history_bytes(ctx) > 0);
    return DUR_OK;
}

static const struct {
    const char *name;
    dur_workflow_fn fn;
} workflows[] = {
    {"count_down", count_down}, {"unlucky", unlucky}, {"fails_as", fails_as},
    {"sleeper", sleeper},       {"tick", tick},         {"relay", relay},
    {"changes", changes},       {"tell", tell},         {"grows", grows},
};

static void fixture_register(dur_engine *engine)
{
    for (size_t i = 0; i < ARRAY_LEN(workflows); i++) {
        dur_register_workflow(engine, workflows[i].name, workflows[i].fn, NULL);
    }
}

/* Time skips. */
static dur_engine *open_test(void)
{
    dur_engine *engine;
    cr_assert_eq(dur_test_open(&engine, NULL), DUR_OK, "%s", dur_error(engine));
    fixture_register(engine);
    return engine;
}

static dur_engine *open_quick(const char *path)
{
    return open_with(path, (dur_options){.chain_spacing_ms = -1});
}

static void start(dur_engine *engine, const char *type, const char *input,
                  const dur_start_options *options)
{
    cr_assert_eq(dur_start(engine, type, "w", input, options), DUR_OK, "%s", dur_error(engine));
}

static dur_description *describe(dur_engine *engine, const char *id)
{
    dur_description *d = NULL;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s: %s", id, dur_error(engine));
    return d;
}

/* Walks the chain from the newest run's first to its end; every history is checked. Its length. */
static int walk(dur_engine *engine)
{
    dur_description *d = describe(engine, "w");
    char *run_id = mem_strdup(d->first_run_id);
    int count = 0;
    dur_description_free(d);
    while (run_id) {
        autofree char *id = mem_printf("w@%s", run_id);
        check_history(engine, id);
        d = describe(engine, id);
        cr_assert_str_eq(d->run_id, run_id);
        free(run_id);
        run_id = mem_strdup(d->next_run_id);
        dur_description_free(d);
        count++;
    }
    return count;
}

TEST(a_run_continues_as_new)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    dur_engine *engine = open_quick(path);
    start(engine, "count_down", "3", NULL);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(walk(engine), 4);
    dur_close(engine);
}

/* The start event of a run. */
static const struct ev_workflow_execution_started *start_event(dur_engine *engine,
                                                               struct arena *arena, const char *id)
{
    struct history h = read_history(engine, arena, id);
    return ev_workflow_execution_started(&h.items[0]);
}

static const struct event *last_event(dur_engine *engine, struct arena *arena, const char *id)
{
    struct history h = read_history(engine, arena, id);
    return &h.items[h.count - 1];
}

/* "w@RUN" of the nth run of the chain, from 0; heap. */
static char *nth(dur_engine *engine, int n)
{
    dur_description *d = describe(engine, "w");
    char *id = mem_printf("w@%s", d->first_run_id);
    dur_description_free(d);
    while (n-- > 0) {
        d = describe(engine, id);
        cr_assert_not_null(d->next_run_id);
        free(id);
        id = mem_printf("w@%s", d->next_run_id);
        dur_description_free(d);
    }
    return id;
}

static void expect_result(dur_engine *engine, const char *expected)
{
    autofree char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, expected);
}

TEST(the_runs_of_a_chain_name_each_other)
{
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_test();
    start(engine, "count_down", "1", NULL);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    autofree char *first = nth(engine, 0);
    autofree char *second = nth(engine, 1);
    const struct ev_workflow_execution_continued_as_new *c =
        ev_workflow_execution_continued_as_new(last_event(engine, arena, first));
    const struct ev_workflow_execution_started *s = start_event(engine, arena, second);
    cr_assert_str_eq(c->new_execution_run_id, second + 2);
    cr_assert_str_eq(c->workflow_type, "count_down");
    cr_assert_eq(c->workflow_task_timeout, 10 * NS_PER_S);
    cr_assert_eq(c->backoff_start_interval, NS_PER_S, "time stood still: a whole second is left");
    cr_assert_str_eq(s->continued_execution_run_id, first + 2);
    cr_assert_str_eq(s->first_execution_run_id, first + 2);
    cr_assert_str_eq(s->original_execution_run_id, second + 2);
    cr_assert_eq(s->initiator, CONTINUE_AS_NEW_INITIATOR_WORKFLOW);
    cr_assert_eq(s->first_workflow_task_backoff, NS_PER_S);
    cr_assert_eq(s->attempt, 1);
    cr_assert_eq(walk(engine), 2);
    dur_close(engine);
}

static int count_row(void *user, int64_t token, const dur_description *d)
{
    int64_t *state = user; /* rows so far, last token, those that were continued */
    cr_assert(state[1] == 0 || token < state[1]);
    state[0]++;
    state[1] = token;
    state[2] += d->status == DUR_CONTINUED_AS_NEW;
    return 0;
}

TEST(a_chain_of_a_thousand_runs_lists_and_follows)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    int64_t state[3] = {0};
    dur_engine *engine = open_quick(path);
    start(engine, "count_down", "999", NULL);
    serve_until_idle(engine);
    autofree char *first = nth(engine, 0);
    cr_assert_eq(dur_result(engine, first, 0, &result), DUR_OK, "%s", dur_error(engine));
    dur_description *d = describe(engine, "w");
    autofree char *quoted = mem_printf("\"%s\"", d->run_id);
    cr_assert_str_eq(result, quoted, "the first run's result is the last one's");
    cr_assert_str_eq(d->first_run_id, first + 2);
    dur_description_free(d);
    for (int64_t before = -1; state[0] != before;) {
        before = state[0];
        cr_assert_eq(dur_list(engine, 0, state[1], 77, count_row, state), DUR_OK);
    }
    cr_assert_eq(state[0], 1000);
    cr_assert_eq(state[2], 999);
    cr_assert_eq(walk(engine), 1000);
    dur_close(engine);
}

TEST(what_is_not_said_is_carried_over_and_what_is_said_counts)
{
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_test();
    dur_retry_policy policy = {.maximum_attempts = 2};
    start(engine, "changes", "0",
          &(dur_start_options){.memo = "{\"a\":1}",
                               .search_attributes = "{\"K\":\"v\"}",
                               .retry = &policy,
                               .task_timeout_ms = 4000,
                               .run_timeout_ms = 90000,
                               .execution_timeout_ms = 600000});
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    expect_result(engine, "[\"last\",{\"c\":3}]");
    cr_assert_eq(walk(engine), 3);
    autofree char *second = nth(engine, 1);
    autofree char *third = nth(engine, 2);
    const struct ev_workflow_execution_started *s = start_event(engine, arena, second);
    cr_assert_eq(s->memo->count, 2);
    cr_assert_str_eq(s->search_attributes->items[0].key, "K");
    cr_assert_eq(s->retry_policy->maximum_attempts, 2);
    cr_assert_eq(s->workflow_task_timeout, 4 * NS_PER_S);
    cr_assert_eq(s->workflow_run_timeout, 90 * NS_PER_S);
    cr_assert_eq(s->workflow_execution_timeout, 600 * NS_PER_S);
    const struct ev_workflow_execution_started *t = start_event(engine, arena, third);
    cr_assert_eq(t->workflow_execution_expiration_time, s->workflow_execution_expiration_time);
    cr_assert_str_eq(t->workflow_type, "tell");
    cr_assert_str_eq(t->task_queue->name, "q2");
    cr_assert_eq(t->workflow_run_timeout, 7 * NS_PER_S);
    cr_assert_eq(t->first_workflow_task_backoff, 60 * NS_PER_S);
    cr_assert_str_eq(t->search_attributes->items[0].key, "S");
    dur_description *d = describe(engine, "w");
    cr_assert_str_eq(d->type, "tell");
    cr_assert_str_eq(d->search_attributes, "{\"S\":5}");
    dur_description_free(d);
    dur_close(engine);
}

TEST(signals_that_nobody_received_reach_the_next_run)
{
    dur_engine *engine = open_test();
    start(engine, "relay", "0", NULL);
    cr_assert_eq(dur_signal(engine, "w", "other", "1"), DUR_OK);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "2", "r2"), DUR_OK);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "3", "r3"), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    expect_result(engine, "[1,3]");
    cr_assert_eq(walk(engine), 2);
    check_types(engine, "w", 1,
                "WorkflowExecutionStarted WorkflowExecutionSignaled WorkflowExecutionSignaled "
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "
                "WorkflowExecutionCompleted");
    dur_close(engine);
}

TEST(a_signal_to_a_delayed_run_waits_for_its_beginning)
{
    dur_engine *engine = open_test();
    start(engine, "relay", "1", &(dur_start_options){.start_delay_ms = 5000});
    cr_assert_eq(dur_test_advance(engine, 1000), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "other", "1"), DUR_OK);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "2", "x"), DUR_OK);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "2", "x"), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, 3999), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 3);
    cr_assert_eq(dur_test_advance(engine, 1), DUR_OK);
    expect_result(engine, "[1,2]");
    dur_description *d = describe(engine, "w");
    cr_assert_eq(d->begins_ns, 0);
    dur_description_free(d);
    check_history(engine, "w");
    dur_close(engine);
}

TEST(a_delayed_run_can_be_cancelled_and_times_out)
{
    dur_engine *engine = open_test();
    start(engine, "relay", "1", &(dur_start_options){.start_delay_ms = 5000});
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_CANCELLED);
    check_history(engine, "w");
    start(engine, "sleeper", "60000",
          &(dur_start_options){.start_delay_ms = 5000, .run_timeout_ms = 3000});
    cr_assert_eq(dur_test_advance(engine, 7999), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_TIMED_OUT, "it counts from the beginning");
    cr_assert_eq(dur_test_advance(engine, 1), DUR_OK);
    dur_description *d = describe(engine, "w");
    cr_assert_eq(d->status, DUR_RUN_TIMED_OUT);
    dur_description_free(d);
    check_history(engine, "w");
    dur_close(engine);
}

TEST(a_delay_outlives_its_engine)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    dur_engine *engine = open_engine(path);
    start(engine, "tell", "1", &(dur_start_options){.start_delay_ms = 300});
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_result(engine, "w", 20, NULL), DUR_TIMED_OUT);
    serve_end(engine, thread);
    serve_until_idle(engine);
    expect_result(engine, "[1,{}]");
    check_history(engine, "w");
    dur_close(engine);
}

/* --- retry ------------------------------------------------------------------------------------ */

TEST(a_failed_run_is_tried_again)
{
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_test();
    dur_retry_policy policy = {.initial_interval_ms = 2000, .maximum_attempts = 5};
    int64_t began_ns = dur_test_now(engine);
    start(engine, "unlucky", "\"in\"", &(dur_start_options){.retry = &policy});
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    expect_result(engine, "[3,\"attempt 2\"]");
    cr_assert_eq(dur_test_now(engine) - began_ns, 6 * NS_PER_S, "2 s and 4 s");
    cr_assert_eq(walk(engine), 3);
    autofree char *first = nth(engine, 0);
    autofree char *second = nth(engine, 1);
    const struct ev_workflow_execution_failed *f =
        ev_workflow_execution_failed(last_event(engine, arena, first));
    cr_assert_eq(f->retry_state, RETRY_STATE_IN_PROGRESS);
    cr_assert_str_eq(f->new_execution_run_id, second + 2);
    const struct ev_workflow_execution_started *s = start_event(engine, arena, second);
    cr_assert_eq(s->attempt, 2);
    cr_assert_eq(s->initiator, CONTINUE_AS_NEW_INITIATOR_RETRY);
    cr_assert_eq(s->first_workflow_task_backoff, 2 * NS_PER_S);
    cr_assert_str_eq(payloads_first_json(s->input, NULL), "\"in\"");
    cr_assert_str_eq(s->continued_failure->message, "attempt 1");
    cr_assert_str_eq(s->continued_execution_run_id, first + 2);
    dur_description *d = describe(engine, "w");
    cr_assert_eq(d->attempt, 3);
    dur_description_free(d);
    dur_close(engine);
}

TEST(retries_end_as_the_policy_says)
{
    static const char *const types[] = {"Final", NULL};
    static const struct {
        const char *type;
        int runs;
        enum retry_state state;
        int64_t execution_ms;
    } cases[] = {
        {"\"Other\"", 3, RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED, 0},
        {"\"Final\"", 1, RETRY_STATE_NON_RETRYABLE_FAILURE, 0},
        {"\"Other\"", 2, RETRY_STATE_TIMEOUT, 2500},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoarena struct arena *arena = arena_new();
        dur_engine *engine = open_test();
        dur_retry_policy policy = {.maximum_attempts = 3, .non_retryable_types = types};
        start(
            engine, "fails_as", cases[i].type,
            &(dur_start_options){.retry = &policy, .execution_timeout_ms = cases[i].execution_ms});
        cr_assert_eq(dur_test_run(engine), DUR_OK);
        cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_FAILED);
        cr_assert_eq(walk(engine), cases[i].runs, "%zu", i);
        const struct ev_workflow_execution_failed *f =
            ev_workflow_execution_failed(last_event(engine, arena, "w"));
        cr_assert_eq(f->retry_state, cases[i].state, "%zu: %d", i, f->retry_state);
        cr_assert_null(f->new_execution_run_id);
        dur_close(engine);
    }
}

TEST(a_run_that_timed_out_is_tried_again_until_the_chain_expires)
{
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_test();
    dur_retry_policy policy = {0};
    start(engine, "sleeper", "60000",
          &(dur_start_options){
              .retry = &policy, .run_timeout_ms = 2000, .execution_timeout_ms = 4500});
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(walk(engine), 2);
    autofree char *first = nth(engine, 0);
    const struct ev_workflow_execution_timed_out *t =
        ev_workflow_execution_timed_out(last_event(engine, arena, first));
    cr_assert_eq(t->retry_state, RETRY_STATE_IN_PROGRESS);
    cr_assert_not_null(t->new_execution_run_id);
    t = ev_workflow_execution_timed_out(last_event(engine, arena, "w"));
    cr_assert_eq(t->retry_state, RETRY_STATE_TIMEOUT);
    cr_assert_null(t->new_execution_run_id);
    dur_close(engine);
}

TEST(a_run_s_time_out_outlives_its_engine)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "sleeper", "600000", &(dur_start_options){.run_timeout_ms = 200});
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 5);
    serve_end(engine, thread);
    serve_until_idle(engine);
    dur_description *d = describe(engine, "w");
    cr_assert_eq(d->status, DUR_RUN_TIMED_OUT);
    dur_description_free(d);
    dur_close(engine);
}

TEST(completed_and_cancelled_runs_are_not_tried_again)
{
    dur_engine *engine = open_test();
    dur_retry_policy policy = {0};
    start(engine, "tell", "1", &(dur_start_options){.retry = &policy});
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(walk(engine), 1);
    start(engine, "sleeper", "60000", &(dur_start_options){.retry = &policy});
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK);
    cr_assert_eq(walk(engine), 1);
    dur_close(engine);
}

/* --- cron ------------------------------------------------------------------------------------- */

TEST(cron_runs_follow_each_other_and_hand_on_results)
{
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_test(); /* 2026-01-01T00:00:00Z, a Thursday */
    start(engine, "tick", "1", &(dur_start_options){.cron = "30 4 * * *"});
    cr_assert_eq(dur_test_advance(engine, 4 * DUR_HOURS), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 1);
    cr_assert_eq(dur_test_advance(engine, 4 * DUR_DAYS), DUR_OK);
    autofree char *third = nth(engine, 2);
    autofree char *fourth = nth(engine, 3);
    autofree char *fifth = nth(engine, 4);
    cr_assert_eq(walk(engine), 5, "the fifth waits for the next morning");
    const struct ev_workflow_execution_failed *f =
        ev_workflow_execution_failed(last_event(engine, arena, third));
    cr_assert_eq(f->retry_state, RETRY_STATE_RETRY_POLICY_NOT_SET);
    cr_assert_str_eq(f->new_execution_run_id, fourth + 2);
    const struct ev_workflow_execution_started *s = start_event(engine, arena, fourth);
    cr_assert_eq(s->initiator, CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE);
    cr_assert_eq(s->first_workflow_task_backoff, 24 * 3600 * NS_PER_S);
    cr_assert_str_eq(s->continued_failure->message, "fails");
    cr_assert_str_eq(payloads_first_json(s->last_completion_result, NULL),
                     "{\"n\":2,\"after\":null}");
    const struct ev_workflow_execution_completed *c =
        ev_workflow_execution_completed(last_event(engine, arena, fourth));
    cr_assert_str_eq(payloads_first_json(c->result, NULL), "{\"n\":3,\"after\":\"Third\"}");
    cr_assert_str_eq(c->new_execution_run_id, fifth + 2);
    s = start_event(engine, arena, fifth);
    cr_assert_null(s->continued_failure);
    cr_assert_str_eq(s->cron_schedule, "30 4 * * *");
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, DUR_DAYS), DUR_OK);
    dur_description *d = describe(engine, fifth);
    cr_assert_eq(d->status, DUR_COMPLETED, "the code did not mind, so it goes on");
    cr_assert_not_null(d->next_run_id);
    dur_description_free(d);
    cr_assert_eq(dur_terminate(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK, "the chain has ended");
    dur_close(engine);
}

TEST(every_counts_from_the_beginning_of_a_run_and_skips_what_it_missed)
{
    dur_engine *engine = open_test();
    int64_t zero_ns = dur_test_now(engine);
    start(engine, "sleeper", "130000", &(dur_start_options){.cron = "@every 60s"});
    cr_assert_eq(dur_test_advance(engine, 200 * DUR_SECONDS), DUR_OK);
    autofree char *second = nth(engine, 1);
    dur_description *d = describe(engine, second);
    cr_assert_eq(d->begins_ns - zero_ns, 240 * NS_PER_S, "began at 60, ended at 190, next at 240");
    dur_description_free(d);
    cr_assert_eq(dur_terminate(engine, "w", NULL), DUR_OK);
    dur_close(engine);
}

/* --- size --------------------------------------------------------------------------------------
 */

TEST(a_long_history_suggests_to_continue)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_with(path, (dur_options){.suggest_events = 60});
    start(engine, "grows", NULL, NULL);
    serve_until_idle(engine);
    struct history h = read_history(engine, arena, "w");
    const struct event *started = &h.items[h.count - 3];
    const struct ev_workflow_task_started *a = ev_workflow_task_started(started);
    autofree char *expected = mem_printf("[%lld,true]", (long long)started->id);
    expect_result(engine, expected);
    cr_assert(a->suggest_continue_as_new);
    cr_assert_gt(a->history_size_bytes, 0);
    cr_assert_eq(a->suggest_continue_as_new_reasons.count, 1);
    cr_assert_eq(a->suggest_continue_as_new_reasons.items[0],
                 SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_HISTORY_EVENTS);
    cr_assert_geq(started->id, 60);
    check_history(engine, "w");
    dur_close(engine);
}
