/*
 * test_engine_update.c - dur_update with the real store: outcomes, rejection without a trace,
 * repeated ids, crashes between admission and acceptance, the end of the run.
 */
#include "tests/lib/engine_fixture.h"

TestSuite(engine_update, .timeout = 120);

struct state {
    int64_t sum;
    int done;
    dur_ctx *ctx;
};

static int positive(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return dur_json_int(input, "", 0) > 0 ? DUR_OK
                                          : dur_fail_run(ctx, "Negative", "%s is not", input);
}

static int add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct state *s = arg;
    s->sum += dur_json_int(input, "", 0);
    *result = dur_ctx_jsonf(ctx, "%i64", s->sum);
    return DUR_OK;
}

static int slow(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    int rc = dur_sleep(ctx, dur_json_int(input, "", 10));
    *result = "\"slept\"";
    return rc;
}

static int fails(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    (void)result;
    return dur_fail_run(ctx, "TooLate", "no %s any more", input);
}

static int finish(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    (void)result;
    ((struct state *)arg)->done = dur_json_bool(input, "", 0) ? 2 : 1;
    return DUR_OK;
}

static int over(void *arg)
{
    struct state *s = arg;
    return s->done == 2 || (s->done && dur_all_handlers_finished(s->ctx));
}

static int account(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state *s = dur_ctx_alloc(ctx, sizeof(*s));
    (void)input;
    (void)user;
    s->ctx = ctx;
    dur_on_update(ctx, "add", positive, add, s);
    dur_on_update(ctx, "slow", NULL, slow, s);
    dur_on_update(ctx, "fails", NULL, fails, s);
    dur_on_update(ctx, "finish", NULL, finish, s);
    int rc = dur_wait(ctx, over, s, -1);
    *result = dur_ctx_jsonf(ctx, "%i64", s->sum);
    return rc;
}

static int deaf(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_receive(ctx, "end", -1, NULL);
}

static void fixture_register(dur_engine *engine)
{
    cr_assert_eq(dur_register_workflow(engine, "Account", account, NULL), DUR_OK);
    cr_assert_eq(dur_register_workflow(engine, "Deaf", deaf, NULL), DUR_OK);
}

/* Code and result of one update in one text. */
static const char *say(struct arena *arena, int rc, char *result)
{
    const char *text = arena_printf(arena, "%d %s", rc, result ? result : "-");
    dur_free(result);
    return text;
}

static const char *ask(dur_engine *engine, struct arena *arena, const char *id, const char *name,
                       const char *input)
{
    char *result = NULL;
    int rc =
        dur_update(engine, id, name, input, &result, &(dur_update_options){.timeout_ms = WAIT_MS});
    return say(arena, rc, result);
}

Test(engine_update, outcomes)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    cr_expect_str_eq(ask(engine, arena, "w", "add", "3"), "0 3");
    cr_expect_str_eq(ask(engine, arena, "w", "add", "4"), "0 7");
    cr_expect_str_eq(ask(engine, arena, "w", "slow", "5"), "0 \"slept\"");
    const char *failed = ask(engine, arena, "w", "fails", "\"eggs\"");
    cr_expect(strstr(failed, "-1 {\"message\":\"no \\\"eggs\\\" any more\""), "%s", failed);
    cr_expect(strstr(dur_error(engine), "TooLate"), "%s", dur_error(engine));
    cr_expect_str_eq(ask(engine, arena, "w", "finish", NULL), "0 null");
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK);
    cr_expect_str_eq(result, "7");
    dur_free(result);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_update, a_rejection_leaves_no_trace)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    cr_expect_str_eq(ask(engine, arena, "w", "add", "1"), "0 1");
    int64_t events = events_of(engine, "w");
    for (int i = 0; i < 3; i++) {
        const char *text = ask(engine, arena, "w", "add", "-5");
        cr_expect(strstr(text, "-15 {\"message\":\"-5 is not\""), "%s", text);
    }
    const char *text = ask(engine, arena, "w", "other", "1");
    cr_expect(strstr(text, "-15 {\"message\":\"no handler for update other; there are: add, slow, "
                           "fails, finish\""),
              "%s", text);
    cr_expect_eq(events_of(engine, "w"), events);
    cr_expect_str_eq(ask(engine, arena, "w", "add", "1"), "0 2");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_update, one_id_is_one_update)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    char *result = NULL;
    dur_update_options o = {.update_id = "u-1", .timeout_ms = WAIT_MS};
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    for (int i = 0; i < 3; i++) {
        int rc = dur_update(engine, "w", "add", "5", &result, &o);
        cr_expect_str_eq(say(arena, rc, result), "0 5");
    }
    cr_assert_eq(dur_update_result(engine, "w", "u-1", 0, &result), DUR_OK);
    cr_expect_str_eq(result, "5");
    dur_free(result);
    cr_expect_eq(dur_update_result(engine, "w", "u-2", 0, NULL), DUR_NOT_FOUND);
    cr_expect_str_eq(ask(engine, arena, "w", "finish", NULL), "0 null");
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    int rc = dur_update(engine, "w", "add", "5", &result, &o);
    cr_expect_str_eq(say(arena, rc, result), "0 5", "also when the run is closed");
    cr_expect_eq(dur_update(engine, "w", "add", "5", NULL, NULL), DUR_NOT_FOUND);
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_update, stages)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    dur_update_options o = {.update_id = "u-1", .wait = DUR_WAIT_ADMITTED};
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_update(engine, "w", "slow", "60000", &result, &o), DUR_OK);
    cr_expect_null(result);
    cr_expect_eq(dur_update_result(engine, "w", "u-1", 0, &result), DUR_TIMED_OUT);
    cr_expect(strstr(dur_error(engine), "no engine serves"), "%s", dur_error(engine));
    pthread_t thread = serve_begin(engine);
    o.wait = DUR_WAIT_ACCEPTED;
    cr_assert_eq(dur_update(engine, "w", "slow", "60000", &result, &o), DUR_OK, "the same one");
    cr_expect_eq(dur_update_result(engine, "w", "u-1", 5, &result), DUR_TIMED_OUT);
    cr_expect(strstr(dur_error(engine), "accepted and not completed"), "%s", dur_error(engine));
    o.update_id = "u-2";
    cr_assert_eq(dur_update(engine, "w", "add", "-1", &result, &o), DUR_REJECTED);
    dur_free(result);
    cr_assert_eq(dur_update(engine, "w", "finish", "true", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    cr_expect_eq(dur_update_result(engine, "w", "u-1", 0, NULL), DUR_FAILED);
    cr_expect(strstr(dur_error(engine), "the run closed before update u-1 was completed"), "%s",
              dur_error(engine));
    cr_expect(log_has("ended while 1 handlers"), "%s", fixture_log);
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_update, the_end_of_the_run_answers_those_who_wait)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_update_options o = {.update_id = "u-1", .wait = DUR_WAIT_ADMITTED};
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_update(engine, "w", "add", "1", NULL, &o), DUR_OK);
    cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
    cr_expect_eq(dur_update_result(engine, "w", "u-1", -1, NULL), DUR_FAILED);
    cr_expect(strstr(dur_error(engine), "was accepted"), "%s", dur_error(engine));
    dur_close(engine);
}

Test(engine_update, with_the_first_task_and_after_a_restart)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_update_options o = {.wait = DUR_WAIT_ADMITTED};
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    o.update_id = "a";
    cr_assert_eq(dur_update(engine, "w", "add", "2", NULL, &o), DUR_OK);
    o.update_id = "b";
    cr_assert_eq(dur_update(engine, "w", "add", "3", NULL, &o), DUR_OK);
    dur_close(engine);
    engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_update_result(engine, "w", "b", WAIT_MS, &result), DUR_OK);
    cr_expect_str_eq(result, "5");
    dur_free(result);
    serve_end(engine, thread);
    o.update_id = "c";
    cr_assert_eq(dur_update(engine, "w", "finish", NULL, NULL, &o), DUR_OK);
    dur_close(engine);
    engine = open_engine(path);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_expect_str_eq(result, "5");
    dur_free(result);
    check_history(engine, "w");
    check_types(engine, "w", 4,
                "WorkflowTaskCompleted WorkflowExecutionUpdateAccepted "
                "WorkflowExecutionUpdateCompleted WorkflowExecutionUpdateAccepted "
                "WorkflowExecutionUpdateCompleted WorkflowTaskScheduled WorkflowTaskStarted "
                "WorkflowTaskCompleted WorkflowExecutionUpdateAccepted "
                "WorkflowExecutionUpdateCompleted WorkflowExecutionCompleted");
    dur_close(engine);
}

Test(engine_update, more_than_one_task_takes)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    for (int i = 0; i < 300; i++) {
        char id[16];
        snprintf(id, sizeof(id), "u%d", i);
        dur_update_options o = {.update_id = id, .wait = DUR_WAIT_ADMITTED};
        cr_assert_eq(dur_update(engine, "w", "add", i % 2 ? "1" : "-1", NULL, &o), DUR_OK);
    }
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_update_result(engine, "w", "u299", WAIT_MS, &result), DUR_OK);
    cr_expect_str_eq(result, "150");
    dur_free(result);
    cr_expect_eq(dur_update_result(engine, "w", "u298", WAIT_MS, &result), DUR_REJECTED);
    dur_free(result);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_update, runs_without_handlers_and_bad_arguments)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "Deaf", "w", NULL, NULL), DUR_OK);
    const char *text = ask(engine, arena, "w", "add", "1");
    cr_expect(strstr(text, "-15 {\"message\":\"no handler for update add; there are: none\""), "%s",
              text);
    cr_expect_eq(dur_update(engine, "none", "add", "1", NULL, NULL), DUR_NOT_FOUND);
    cr_expect_eq(dur_update(engine, "w", "", "1", NULL, NULL), DUR_INVALID);
    cr_expect_eq(dur_update(engine, "w", NULL, "1", NULL, NULL), DUR_INVALID);
    cr_expect_eq(dur_update(engine, "w", "add", "{", NULL, NULL), DUR_INVALID);
    cr_expect_eq(dur_update(engine, "w", "add", "1", NULL, &(dur_update_options){.update_id = ""}),
                 DUR_INVALID);
    cr_expect_eq(dur_update(engine, "w", "add", "1", NULL, &(dur_update_options){.wait = 9}),
                 DUR_INVALID);
    cr_expect_eq(dur_update_result(engine, "w", NULL, 0, NULL), DUR_INVALID);
    serve_end(engine, thread);
    dur_close(engine);
}

/* An engine that is killed at any moment loses no update and does none twice. */
Test(engine_update, killed_engines_lose_nothing)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "Account", "w", NULL, NULL), DUR_OK);
    for (int i = 0; i < 12; i++) {
        char id[16];
        snprintf(id, sizeof(id), "u%d", i);
        pid_t pid = serve_in_child(path);
        dur_update_options o = {.update_id = id, .wait = DUR_WAIT_ADMITTED};
        cr_assert_eq(dur_update(engine, "w", "add", "1", NULL, &o), DUR_OK);
        clock_sleep_ms(i * 3);
        kill_child(pid);
    }
    pid_t pid = serve_in_child(path);
    for (int i = 0; i < 12; i++) {
        char id[16];
        snprintf(id, sizeof(id), "u%d", i);
        cr_assert_eq(dur_update_result(engine, "w", id, WAIT_MS, &result), DUR_OK, "%s",
                     dur_error(engine));
        dur_free(result);
    }
    cr_assert_eq(dur_update(engine, "w", "finish", NULL, NULL, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK);
    cr_expect_str_eq(result, "12");
    dur_free(result);
    check_history(engine, "w");
    kill_child(pid);
    dur_close(engine);
}
