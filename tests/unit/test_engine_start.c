/*
 * test_engine_start.c - starting: conflict and reuse of ids, repeated requests, signal-with-start,
 * what the options put into the start event, and ids that name one run.
 */
#include "tests/lib/engine_fixture.h"

#define TEST(name) Test(engine_start, name, .timeout = 60)

static int wait_go(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int echo(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int refuse(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    return dur_fail_run(ctx, "Refused", "no");
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "wait_go", wait_go, NULL);
    dur_register_workflow(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "refuse", refuse, NULL);
}

static int start(dur_engine *engine, const char *type, const dur_start_options *options)
{
    return dur_start(engine, type, "w", "1", options);
}

static int signal_start(dur_engine *engine, const char *input, const dur_start_options *options)
{
    return dur_signal_with_start(engine, "wait_go", "w", "1", "go", input, options);
}

static char *run_id_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s", dur_error(engine));
    char *run_id = mem_strdup(d->run_id);
    dur_description_free(d);
    return run_id;
}

static dur_status status_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s", dur_error(engine));
    dur_status status = d->status;
    dur_description_free(d);
    return status;
}

TEST(an_open_run_conflicts_as_asked)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(start(engine, "wait_go", NULL), DUR_OK);
    autofree char *first = run_id_of(engine, "w");
    cr_assert_eq(start(engine, "wait_go", NULL), DUR_EXISTS);
    cr_assert_eq(
        start(engine, "wait_go", &(dur_start_options){.conflict = DUR_CONFLICT_USE_EXISTING}),
        DUR_OK);
    autofree char *second = run_id_of(engine, "w");
    cr_assert_str_eq(first, second);
    cr_assert_eq(events_of(engine, "w"), 2);
    cr_assert_eq(
        start(engine, "echo", &(dur_start_options){.conflict = DUR_CONFLICT_TERMINATE_EXISTING}),
        DUR_OK, "%s", dur_error(engine));
    autofree char *third = run_id_of(engine, "w");
    cr_assert_str_neq(first, third);
    autofree char *old = mem_printf("w@%s", first);
    cr_assert_eq(status_of(engine, old), DUR_TERMINATED);
    autoarena struct arena *arena = arena_new();
    struct history h = read_history(engine, arena, old);
    const struct ev_workflow_execution_terminated *t =
        ev_workflow_execution_terminated(&h.items[h.count - 1]);
    cr_assert(strstr(payloads_first_json(t->details, NULL), third));
    serve_until_idle(engine);
    cr_assert_eq(status_of(engine, "w"), DUR_COMPLETED);
    check_validity(engine, old);
    check_history(engine, "w");
    dur_close(engine);
}

TEST(a_terminated_run_in_memory_makes_room_too)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(start(engine, "wait_go", NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    autofree char *old = run_id_of(engine, "w");
    cr_assert_eq(
        start(engine, "echo", &(dur_start_options){.conflict = DUR_CONFLICT_TERMINATE_EXISTING}),
        DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "1");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(a_repeated_request_is_the_same_call_whatever_came_after)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_start_options o = {.request_id = "r1", .reuse = DUR_REUSE_REJECT};
    cr_assert_eq(start(engine, "echo", &o), DUR_OK);
    cr_assert_eq(start(engine, "echo", &o), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(start(engine, "echo", &o), DUR_OK);
    cr_assert_eq(start(engine, "echo", &(dur_start_options){.request_id = "r2"}), DUR_OK);
    autofree char *newest = run_id_of(engine, "w");
    cr_assert_eq(start(engine, "echo", &o), DUR_OK, "the first call, repeated late");
    autofree char *still = run_id_of(engine, "w");
    cr_assert_str_eq(newest, still);
    dur_close(engine);
}

TEST(a_closed_run_s_id_is_reused_as_asked)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_start_options failed_only = {.reuse = DUR_REUSE_FAILED_ONLY};
    dur_start_options reject = {.reuse = DUR_REUSE_REJECT,
                                .conflict = DUR_CONFLICT_TERMINATE_EXISTING};
    cr_assert_eq(start(engine, "echo", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(start(engine, "echo", &failed_only), DUR_EXISTS);
    cr_assert_eq(start(engine, "refuse", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(start(engine, "echo", &reject), DUR_EXISTS);
    cr_assert_eq(start(engine, "echo", &failed_only), DUR_OK);
    dur_close(engine);
}

TEST(signal_with_start_starts_or_signals)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(signal_start(engine, "\"a\"", NULL), DUR_OK, "%s", dur_error(engine));
    check_types(engine, "w", 1,
                "WorkflowExecutionStarted WorkflowExecutionSignaled WorkflowTaskScheduled");
    cr_assert_eq(signal_start(engine, "\"b\"", NULL), DUR_OK);
    check_types(engine, "w", 4, "WorkflowExecutionSignaled");
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "\"a\"");
    check_history(engine, "w");
    cr_assert_eq(signal_start(engine, "\"c\"", NULL), DUR_OK, "the id is free again");
    check_types(engine, "w", 1,
                "WorkflowExecutionStarted WorkflowExecutionSignaled WorkflowTaskScheduled");
    dur_close(engine);
}

TEST(signal_with_start_is_deduplicated)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_start_options o = {.request_id = "r1"};
    cr_assert_eq(signal_start(engine, "1", &o), DUR_OK);
    cr_assert_eq(signal_start(engine, "1", &o), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 3);
    cr_assert_eq(signal_start(engine, "1", &(dur_start_options){.request_id = "r2"}), DUR_OK);
    cr_assert_eq(signal_start(engine, "1", &(dur_start_options){.request_id = "r2"}), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 4);
    autofree char *old = run_id_of(engine, "w");
    o = (dur_start_options){.request_id = "r3", .conflict = DUR_CONFLICT_TERMINATE_EXISTING};
    cr_assert_eq(signal_start(engine, "1", &o), DUR_OK);
    autofree char *fresh = run_id_of(engine, "w");
    cr_assert_str_neq(old, fresh);
    cr_assert_eq(events_of(engine, "w"), 3);
    dur_close(engine);
}

TEST(a_signal_is_sent_once)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "1", "r"), DUR_NOT_FOUND);
    cr_assert_eq(start(engine, "wait_go", NULL), DUR_OK);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "1", ""), DUR_INVALID);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "1", NULL), DUR_INVALID);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "1", "r"), DUR_OK);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "2", "r"), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 3);
    cr_assert_eq(dur_signal_once(engine, "w", "go", "2", "s"), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 4);
    autoarena struct arena *arena = arena_new();
    struct history h = read_history(engine, arena, "w");
    cr_assert_str_eq(ev_workflow_execution_signaled(&h.items[2])->request_id, "r");
    dur_close(engine);
}

TEST(options_stand_in_the_start_event)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    dur_retry_policy policy = {.initial_interval_ms = 50, .maximum_attempts = 7};
    dur_start_options o = {.task_timeout_ms = 3000,
                           .retry = &policy,
                           .cron = "CRON_TZ=Europe/Berlin 0 3 * * *",
                           .search_attributes = "{\"CustomerId\":\"c1\",\"Amount\":3}",
                           .priority = 2,
                           .memo = "{\"m\":1}"};
    cr_assert_eq(start(engine, "echo", &o), DUR_OK, "%s", dur_error(engine));
    struct history h = read_history(engine, arena, "w");
    cr_assert_eq(h.count, 1, "it waits for its first point");
    const struct ev_workflow_execution_started *s = ev_workflow_execution_started(&h.items[0]);
    cr_assert_eq(s->workflow_task_timeout, 3 * NS_PER_S);
    cr_assert_eq(s->retry_policy->maximum_attempts, 7);
    cr_assert_eq(s->retry_policy->initial_interval, 50 * NS_PER_MS);
    cr_assert_eq(s->retry_policy->maximum_interval, 5 * NS_PER_S);
    cr_assert_str_eq(s->cron_schedule, "CRON_TZ=Europe/Berlin 0 3 * * *");
    cr_assert_gt(s->first_workflow_task_backoff, 0);
    cr_assert_eq(s->priority->priority_key, 2);
    cr_assert_eq(s->search_attributes->count, 2);
    cr_assert_str_eq(s->search_attributes->items[1].payload.meta->value, "Int");
    dur_description *d;
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_assert_gt(d->begins_ns, d->started_ns);
    cr_assert_str_eq(d->search_attributes, "{\"CustomerId\":\"c1\",\"Amount\":3}");
    cr_assert_str_eq(d->first_run_id, d->run_id);
    cr_assert_eq(d->attempt, 1);
    dur_description_free(d);
    dur_close(engine);
}

TEST(nonsense_is_refused)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    static const char *const bad_types[] = {"", NULL};
    const dur_start_options bad[] = {
        {.conflict = (dur_conflict)3},
        {.conflict = (dur_conflict)-1},
        {.task_timeout_ms = -1},
        {.start_delay_ms = -5},
        {.retry = &(dur_retry_policy){.maximum_attempts = -1}},
        {.retry = &(dur_retry_policy){.non_retryable_types = bad_types}},
        {.cron = "99 * * * *"},
        {.cron = "CRON_TZ=Atlantis/Harbour 0 3 * * *"},
        {.cron = "@daily", .start_delay_ms = 5},
        {.search_attributes = "[1]"},
        {.search_attributes = "{\"a\":{}}"},
        {.search_attributes = "{"},
        {.priority = 6},
        {.priority = -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_assert_eq(start(engine, "echo", &bad[i]), DUR_INVALID, "%zu", i);
        cr_assert_gt(strlen(dur_error(engine)), 5, "%zu", i);
    }
    cr_assert_eq(dur_signal_with_start(engine, "echo", "w", "1", "", NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_signal_with_start(engine, "echo", "w", "1", "s", "{", NULL), DUR_INVALID);
    cr_assert_eq(dur_signal_with_start(engine, NULL, "w", "1", "s", "1", NULL), DUR_INVALID);
    dur_close(engine);
}

TEST(an_id_may_name_one_run)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(start(engine, "echo", NULL), DUR_OK);
    serve_until_idle(engine);
    autofree char *old_run = run_id_of(engine, "w");
    autofree char *old = mem_printf("w@%s", old_run);
    cr_assert_eq(start(engine, "wait_go", NULL), DUR_OK);
    autofree char *run = run_id_of(engine, "w");
    autofree char *now = mem_printf("w@%s", run);
    autofree char *wrong = mem_printf("x@%s", run);
    cr_assert_eq(dur_signal(engine, old, "go", NULL), DUR_NOT_FOUND, "closed");
    cr_assert_eq(dur_signal(engine, wrong, "go", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_signal(engine, now, "go", NULL), DUR_OK);
    cr_assert_eq(dur_pause(engine, old, NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_pause(engine, now, NULL), DUR_OK);
    cr_assert_eq(dur_resume(engine, now, NULL), DUR_OK);
    cr_assert_eq(dur_cancel(engine, now, NULL), DUR_OK);
    cr_assert_eq(dur_terminate(engine, now, NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "wait_go", "a@b", NULL, NULL), DUR_OK, "an id with an @");
    cr_assert_eq(dur_signal(engine, "a@b", "go", NULL), DUR_OK);
    dur_close(engine);
}
