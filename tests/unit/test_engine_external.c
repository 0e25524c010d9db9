/*
 * test_engine_external.c - signals and cancel requests between runs of one store.
 */

#include "tests/lib/engine_fixture.h"
#include "tests/lib/sql.h"

#define TEST(name) Test(engine_external, name, .timeout = 120)

static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

/* {"to":..., "cancel":bool}: the result is why it failed, or "ok". */
static int asks(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *to = dur_ctx_json_string(ctx, input, "/to");
    dur_future *f = dur_json_bool(input, "/cancel", 0)
                        ? dur_cancel_external(ctx, to, "because")
                        : dur_signal_external(ctx, to, "go", "{\"from\":\"w\"}");
    int rc = dur_await(ctx, f, NULL);
    (void)user;
    if (rc != DUR_OK && rc != DUR_FAILED) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "%q", rc ? dur_failure(ctx)->type : "ok");
    return DUR_OK;
}

/* Asks in its last step. */
static int last_words(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)result;
    (void)user;
    if (dur_json_bool(input, "/cancel", 0)) {
        dur_cancel_external(ctx, "other", "because");
    } else {
        dur_signal_external(ctx, "other", "go", "1");
        dur_signal_external(ctx, dur_workflow_id(ctx), "go", "1");
    }
    return DUR_OK;
}

/* Two runs that answer each other's signals, "count" times. */
static int ping(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *to = dur_ctx_json_string(ctx, input, "/to");
    int64_t count = dur_json_int(input, "/count", 0);
    (void)user;
    if (dur_json_bool(input, "/first", 0)) {
        dur_await(ctx, dur_signal_external(ctx, to, "ball", "0"), NULL);
    }
    for (int64_t i = 0; i < count; i++) {
        int rc = dur_receive(ctx, "ball", -1, NULL);
        if (rc == DUR_OK) {
            rc = dur_await(ctx, dur_signal_external(ctx, to, "ball", "0"), NULL);
        }
        if (rc == DUR_FAILED) {
            break; /* the other was done first */
        }
        if (rc) {
            return rc;
        }
    }
    *result = "1";
    return DUR_OK;
}

static int with_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *child =
        dur_start_child(ctx, "Waits", "1", &(dur_child_options){.workflow_id = "kid"});
    int rc = dur_await(ctx, dur_signal_child(ctx, child, "go", input), NULL);
    (void)user;
    return rc ? rc : dur_await(ctx, child, result);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "Waits", waits, NULL);
    dur_register_workflow(engine, "Asks", asks, NULL);
    dur_register_workflow(engine, "LastWords", last_words, NULL);
    dur_register_workflow(engine, "Ping", ping, NULL);
    dur_register_workflow(engine, "WithChild", with_child, NULL);
}

static void expect_result(dur_engine *engine, const char *id, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(dur_result(engine, id, WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_expect_str_eq(result, expected);
    dur_free(result);
}

TEST(a_signal_arrives)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Waits", "other", "1", NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "Asks", "w", "{\"to\":\"other\"}", NULL), DUR_OK);
    serve_until_idle(engine);
    expect_result(engine, "w", "\"ok\"");
    expect_result(engine, "other", "{\"from\":\"w\"}");
    check_history(engine, "w");
    check_history(engine, "other");
    check_types(engine, "w", 5,
                "SignalExternalWorkflowExecutionInitiated ExternalWorkflowExecutionSignaled "
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "
                "WorkflowExecutionCompleted");
    struct history its = read_history(engine, arena, "other");
    const struct ev_workflow_execution_signaled *s =
        ev_workflow_execution_signaled(find_event(&its, EVENT_WORKFLOW_EXECUTION_SIGNALED));
    cr_expect_str_eq(s->external_workflow_execution->workflow_id, "w");
    cr_expect_str_eq(s->identity, "history-service");
    dur_close(engine);
}

static void ask(const char *to, bool cancel, bool by_run, const char *expected)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_description *d = NULL;
    char input[256];
    cr_assert_eq(dur_start(engine, "LastWords", "closed", "{}", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_start(engine, "Waits", "other", "1", NULL), DUR_OK);
    bool exists = dur_describe(engine, *to ? to : "w", &d) == DUR_OK;
    cr_assert(exists || !by_run);
    snprintf(input, sizeof(input), "{\"to\":\"%s%s%s\",\"cancel\":%s}", *to ? to : "w",
             by_run ? "@" : "", by_run ? d->run_id : "", cancel ? "true" : "false");
    cr_assert_eq(dur_start(engine, "Asks", "w", input, NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    expect_result(engine, "w", expected);
    serve_end(engine, thread);
    check_history(engine, "w");
    dur_description_free(exists ? d : NULL);
    dur_close(engine);
}

TEST(who_can_be_asked)
{
    static const char nobody[] = "\"ExternalWorkflowExecutionNotFound\"";
    ask("other", false, true, "\"ok\"");
    ask("closed", false, true, nobody);
    ask("closed", false, false, nobody);
    ask("nobody", false, false, nobody);
    ask("", false, false, nobody); /* itself */
    ask("other", true, false, "\"ok\"");
    ask("other", true, true, "\"ok\"");
    ask("closed", true, false, "\"ok\""); /* nothing to be done */
    ask("nobody", true, false, nobody);
    ask("", true, false, nobody);
}

TEST(a_cancelled_run_is_asked_once)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Waits", "other", "1", NULL), DUR_OK);
    for (int i = 0; i < 3; i++) {
        char id[] = {'w', (char)('0' + i), '\0'};
        cr_assert_eq(dur_start(engine, "Asks", id, "{\"to\":\"other\",\"cancel\":true}", NULL),
                     DUR_OK);
    }
    serve_until_idle(engine);
    struct history its = read_history(engine, arena, "other");
    cr_expect_eq(count_events(&its, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED), 1);
    const struct ev_workflow_execution_cancel_requested *c = ev_workflow_execution_cancel_requested(
        find_event(&its, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED));
    cr_expect_str_eq(c->cause, "because");
    cr_expect_eq(c->external_initiated_event_id, 5);
    cr_expect_eq(dur_result(engine, "other", 0, NULL), DUR_CANCELLED);
    check_history(engine, "other");
    dur_close(engine);
}

TEST(the_last_step_is_heard)
{
    for (int cancel = 0; cancel < 2; cancel++) {
        autofree char *path = temp_path("e.db");
        dur_engine *engine = open_engine(path);
        cr_assert_eq(dur_start(engine, "Waits", "other", "1", NULL), DUR_OK);
        cr_assert_eq(dur_start(engine, "LastWords", "w", cancel ? "{\"cancel\":true}" : "{}", NULL),
                     DUR_OK);
        serve_until_idle(engine);
        cr_expect_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
        cr_expect_eq(dur_result(engine, "other", 0, NULL), cancel ? DUR_CANCELLED : DUR_OK);
        check_history(engine, "w");
        check_history(engine, "other");
        dur_close(engine);
    }
}

TEST(a_run_that_cannot_be_read_now_hears_it_later)
{
    for (int cancel = 0; cancel < 2; cancel++) {
        autofree char *path = temp_path("e.db");
        dur_engine *engine = open_engine(path);
        cr_assert_eq(dur_start(engine, "Waits", "other", "1", NULL), DUR_OK);
        pthread_t thread = serve_begin(engine);
        wait_until(events_of(engine, "other") == 4);
        serve_end(engine, thread);
        dur_close(engine);
        sql_run(path, "DROP TRIGGER event_batch_frozen;"
                      "UPDATE event_batch SET events = replace(events, ':', ';')");
        engine = open_engine(path);
        cr_assert_eq(dur_start(engine, "Asks", "w",
                               cancel ? "{\"to\":\"other\",\"cancel\":true}" : "{\"to\":\"other\"}",
                               NULL),
                     DUR_OK);
        thread = serve_begin(engine);
        expect_result(engine, "w", "\"ok\"");
        wait_until(is_parked(engine, "other"));
        cr_expect_eq(events_of(engine, "other"), 6, "what was asked, and the task for it");
        serve_end(engine, thread);
        dur_close(engine);
        sql_run(path, "UPDATE event_batch SET events = replace(events, ';', ':') "
                      "WHERE execution = 1");
        engine = open_engine(path);
        serve_until_idle(engine);
        cr_expect_eq(dur_result(engine, "other", 0, NULL), cancel ? DUR_CANCELLED : DUR_OK);
        check_history(engine, "other");
        dur_close(engine);
    }
}

TEST(runs_that_keep_signalling_each_other_do_not_stop_the_engine)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(
        dur_start(engine, "Ping", "a", "{\"to\":\"b\",\"count\":1000,\"first\":false}", NULL),
        DUR_OK);
    cr_assert_eq(
        dur_start(engine, "Ping", "b", "{\"to\":\"a\",\"count\":1000,\"first\":true}", NULL),
        DUR_OK);
    pthread_t thread = serve_begin(engine);
    expect_result(engine, "a", "1");
    expect_result(engine, "b", "1");
    serve_end(engine, thread);
    check_history(engine, "a");
    check_history(engine, "b");
    dur_close(engine);
}

TEST(a_child_is_signalled_in_the_step_that_starts_it)
{
    char *result = NULL;
    cr_assert_eq(run_one("WithChild", "42", &result), DUR_OK);
    cr_expect_str_eq(result, "42");
    dur_free(result);
}
