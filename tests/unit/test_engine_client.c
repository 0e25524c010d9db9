/*
 * test_engine_client.c - starting, signalling, cancelling and terminating: what is refused, what is
 * deduplicated, and what is durable while no engine runs.
 */
#include "tests/lib/engine_fixture.h"

static int wait_go(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int refuse(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    return dur_fail_run(ctx, "Refused", "no %d", 1);
}

static int sum(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t total = 0;
    int64_t count = dur_json_int(input, "", 0);
    (void)user;
    for (int64_t i = 0; i < count; i++) {
        const char *value;
        int rc = dur_receive(ctx, "add", -1, &value);
        if (rc != DUR_OK) {
            return rc;
        }
        total += dur_json_int(value, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", total);
    return DUR_OK;
}

/* Misuse: a workflow that is its own client. */
static int meddle(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_engine *engine = user;
    dur_description *d = NULL;
    (void)input;
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d]", dur_start(engine, "refuse", "x", NULL, NULL),
                            dur_signal(engine, "w", "go", NULL), dur_cancel(engine, "w", NULL),
                            dur_describe(engine, "w", &d));
    dur_description_free(d);
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "meddle", meddle, engine);
    dur_register_workflow(engine, "wait_go", wait_go, NULL);
    dur_register_workflow(engine, "refuse", refuse, NULL);
    dur_register_workflow(engine, "sum", sum, NULL);
}

static char *text_of(size_t bytes, char first, char fill, char last)
{
    char *text = mem_alloc(bytes + 1);
    memset(text, fill, bytes);
    text[0] = first;
    text[bytes - 1] = last;
    return text;
}

Test(client, wrong_arguments_are_refused_with_a_line, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autofree char *long_name = text_of(1001, 'a', 'a', 'a');
    autofree char *large = text_of(2 * 1024 * 1024 + 1, '"', 'x', '"');
    dur_engine *e = open_engine(path);
    const struct {
        const char *type, *id, *input;
        dur_start_options o;
        int code;
    } wrong[] = {
        {NULL, "w", NULL, {0}, DUR_INVALID},
        {"", "w", NULL, {0}, DUR_INVALID},
        {"t", NULL, NULL, {0}, DUR_INVALID},
        {"t", "", NULL, {0}, DUR_INVALID},
        {"t", long_name, NULL, {0}, DUR_INVALID},
        {long_name, "w", NULL, {0}, DUR_INVALID},
        {"t", "w\xff", NULL, {0}, DUR_INVALID},
        {"t", "w", "{", {0}, DUR_INVALID},
        {"t", "w", "", {0}, DUR_INVALID},
        {"t", "w", large, {0}, DUR_LIMIT},
        {"t", "w", NULL, {.memo = "[1]"}, DUR_INVALID},
        {"t", "w", NULL, {.memo = "{"}, DUR_INVALID},
        {"t", "w", NULL, {.memo = "\"{}\""}, DUR_INVALID},
        {"t", "w", NULL, {.task_queue = ""}, DUR_INVALID},
        {"t", "w", NULL, {.task_queue = long_name}, DUR_INVALID},
        {"t", "w", NULL, {.request_id = long_name}, DUR_INVALID},
        {"t", "w", NULL, {.run_timeout_ms = -1}, DUR_INVALID},
        {"t", "w", NULL, {.execution_timeout_ms = INT64_MAX}, DUR_INVALID},
        {"t", "w", NULL, {.reuse = (dur_reuse)7}, DUR_INVALID},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int rc = dur_start(e, wrong[i].type, wrong[i].id, wrong[i].input, &wrong[i].o);
        cr_assert_eq(rc, wrong[i].code, "%zu: %d", i, rc);
        cr_assert_str_neq(dur_error(e), "");
    }
    cr_assert_eq(dur_start(e, "wait_go", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_signal(e, "w", NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_signal(e, "w", long_name, NULL), DUR_INVALID);
    cr_assert_eq(dur_signal(e, "w", "s", "nope"), DUR_INVALID);
    cr_assert_eq(dur_signal(e, "w", "s", large), DUR_LIMIT);
    cr_assert_eq(dur_signal(e, NULL, "s", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_cancel(e, "w", long_name), DUR_INVALID);
    cr_assert_eq(dur_cancel(e, "other", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_terminate(e, "w", "\xff"), DUR_INVALID);
    cr_assert_eq(dur_terminate(e, "other", NULL), DUR_NOT_FOUND);
    cr_assert_eq(events_of(e, "w"), 2);
    dur_close(e);
}

Test(client, names_and_payloads_may_be_as_long_as_documented, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autofree char *id = text_of(1000, 'w', 'x', 'y');
    autofree char *large = text_of(2 * 1024 * 1024, '"', 'x', '"');
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "wait_go", id, large, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_signal(engine, id, "go", large), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, id, 0, &result), DUR_OK);
    cr_assert_str_eq(result, large);
    dur_free(result);
    check_history(engine, id);
    dur_close(engine);
}

Test(client, a_closed_id_is_reused_as_the_policy_says, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    const dur_start_options reject = {.reuse = DUR_REUSE_REJECT};
    const dur_start_options failed_only = {.reuse = DUR_REUSE_FAILED_ONLY};
    cr_assert_eq(dur_start(engine, "refuse", "w", NULL, &reject), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_start(engine, "refuse", "w", NULL, &reject), DUR_EXISTS);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, &failed_only), DUR_OK);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, &failed_only), DUR_EXISTS);
    cr_assert_eq(dur_terminate(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, &failed_only), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "go", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, &failed_only), DUR_EXISTS);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_OK);
    dur_close(engine);
}

Test(client, the_same_request_starts_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    const dur_start_options o = {.request_id = "r1", .reuse = DUR_REUSE_REJECT};
    cr_assert_eq(dur_start(engine, "refuse", "w", NULL, &o), DUR_OK);
    cr_assert_eq(dur_start(engine, "refuse", "w", NULL, &o), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 2);
    serve_until_idle(engine);
    cr_assert_eq(dur_start(engine, "refuse", "w", NULL, &o), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_FAILED);
    cr_assert_eq(dur_start(engine, "refuse", "w", NULL,
                           &(dur_start_options){.request_id = "r2", .reuse = DUR_REUSE_REJECT}),
                 DUR_EXISTS);
    dur_close(engine);
}

Test(client, a_full_disk_refuses_new_runs_and_serves_the_open_ones, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    const dur_start_options o = {.request_id = "r1"};
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, &o), DUR_OK);
    dur_close(engine);
    engine = open_with(path, (dur_options){.min_free_bytes = INT64_MAX});
    cr_assert_eq(dur_start(engine, "wait_go", "v", NULL, NULL), DUR_FULL);
    cr_assert_str_neq(dur_error(engine), "");
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, &o), DUR_OK); /* it is there */
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_EXISTS);
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    dur_close(engine);
    engine = open_with(path, (dur_options){.max_db_bytes = 4096});
    cr_assert_eq(dur_start(engine, "wait_go", "v", NULL, NULL), DUR_FULL);
    dur_close(engine);
}

Test(client, cancel_is_asked_once_and_has_its_reason, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", "because"), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", "again"), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_CANCELLED);
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_NOT_FOUND);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&history, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED), 1);
    const struct event *event = find_event(&history, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    cr_assert_str_eq(ev_workflow_execution_cancel_requested(event)->cause, "because");
    check_history(engine, "w");
    dur_close(engine);
}

Test(client, termination_needs_no_engine, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d;
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "go", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_assert_eq(d->status, DUR_TERMINATED);
    cr_assert_not_null(strstr(d->failure, "enough"));
    cr_assert_gt(d->closed_ns, 0);
    dur_description_free(d);
    check_types(engine, "w", 1,
                "WorkflowExecutionStarted WorkflowTaskScheduled WorkflowExecutionTerminated");
    check_history(engine, "w");
    serve_until_idle(engine); /* nothing left to do for it */
    dur_close(engine);
}

Test(client, time_outs_are_written_capped_and_kept, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(
        dur_start(engine, "wait_go", "run", NULL, &(dur_start_options){.run_timeout_ms = 30}),
        DUR_OK);
    cr_assert_eq(
        dur_start(engine, "wait_go", "all", NULL,
                  &(dur_start_options){.run_timeout_ms = 60000, .execution_timeout_ms = 40}),
        DUR_OK);
    dur_close(engine);
    clock_sleep_ms(60); /* due while no engine runs: the unregistered one below learns of it too */
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.reserve_bytes = -1, .on_log = keep_line}),
                 DUR_OK);
    serve_until_idle(engine);
    dur_close(engine);
    engine = open_engine(path);
    static const char *const ids[] = {"run", "all"};
    static const enum retry_state states[] = {RETRY_STATE_RETRY_POLICY_NOT_SET,
                                              RETRY_STATE_TIMEOUT};
    for (size_t i = 0; i < 2; i++) {
        autoarena struct arena *arena = arena_new();
        struct history history = read_history(engine, arena, ids[i]);
        const struct ev_workflow_execution_started *s =
            ev_workflow_execution_started(&history.items[0]);
        const struct event *end = find_event(&history, EVENT_WORKFLOW_EXECUTION_TIMED_OUT);
        cr_assert_eq(s->workflow_run_timeout, (i ? 40 : 30) * NS_PER_MS);
        cr_assert_eq(s->workflow_task_timeout, (i ? 40 : 30) * NS_PER_MS);
        cr_assert_eq(s->workflow_execution_expiration_time != 0, i == 1);
        cr_assert_not_null(end);
        cr_assert_eq(ev_workflow_execution_timed_out(end)->retry_state, states[i]);
        cr_assert_eq(dur_result(engine, ids[i], 0, NULL), DUR_FAILED);
        check_history(engine, ids[i]);
    }
    dur_close(engine);
}

Test(client, a_run_time_out_ends_a_waiting_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(
        dur_start(engine, "wait_go", "w", NULL, &(dur_start_options){.run_timeout_ms = 1000}),
        DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_FAILED);
    cr_assert_not_null(strstr(dur_error(engine), "TimedOut"));
    check_types(engine, "w", 1,
                "WorkflowExecutionStarted WorkflowTaskScheduled WorkflowTaskStarted "
                "WorkflowTaskCompleted WorkflowExecutionTimedOut");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(client, workflow_code_is_no_client, .timeout = 60)
{
    char *result = NULL;
    cr_assert_eq(run_one("meddle", NULL, &result), DUR_OK);
    cr_assert_str_eq(result, "[-5,-5,-5,0]");
    dur_free(result);
}

Test(client, signals_from_several_processes_all_arrive, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "sum", "w", "60", NULL), DUR_OK);
    dur_close(engine);
    pid_t server = serve_in_child(path);
    pid_t clients[3];
    for (int i = 0; i < 3; i++) {
        clients[i] = fork();
        if (clients[i] == 0) {
            dur_engine *client = open_engine(path);
            int rc = DUR_OK;
            for (int n = 1; n <= 20 && rc == DUR_OK; n++) {
                char value[16];
                snprintf(value, sizeof(value), "%d", n);
                rc = dur_signal(client, "w", "add", value);
            }
            dur_close(client);
            _exit(rc == DUR_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < 3; i++) {
        int status = 0;
        waitpid(clients[i], &status, 0);
        cr_assert_eq(status, 0);
    }
    engine = open_engine(path);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "630");
    dur_free(result);
    check_history(engine, "w");
    kill_child(server);
    dur_close(engine);
}
