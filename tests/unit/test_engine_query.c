/*
 * test_engine_query.c - dur_query: in this process, by the engine that serves, of open, closed and
 * parked runs; without a trace.
 */
#include "tests/lib/engine_fixture.h"

TestSuite(engine_query, .timeout = 120);

struct state {
    int step;
};

static int tell(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct state *s = arg;
    if (dur_json_int(input, "", 0) < 0) {
        return dur_fail_run(ctx, "NoSuchStep", "no step %s", input);
    }
    *result = dur_ctx_jsonf(ctx, "{\"step\":%d,\"asked\":%j}", s->step, input);
    return DUR_OK;
}

static int asked(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct state *s = dur_ctx_alloc(ctx, sizeof(*s));
    const char *word = NULL;
    (void)input;
    (void)user;
    dur_on_query(ctx, "tell", tell, s);
    for (s->step = 1;; s->step++) {
        int rc = dur_receive(ctx, "go", -1, &word);
        if (rc != DUR_OK) {
            return rc;
        }
        if (dur_json_int(word, "", 0) == 0) {
            break;
        }
        if (dur_json_int(word, "", 0) == 13) {
            *result = "this is not JSON"; /* the task fails: the run is parked */
            return DUR_OK;
        }
    }
    *result = "\"end\"";
    return DUR_OK;
}

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_sleep(ctx, 1000);
    return asked(ctx, input, result, user);
}

static bool without_workflows, with_change;

static void fixture_register(dur_engine *engine)
{
    if (!without_workflows) {
        cr_assert_eq(dur_register_workflow(engine, "Asked", with_change ? changed : asked, NULL),
                     DUR_OK);
    }
}

/* Code, and the answer or the refusal. */
static const char *ask(dur_engine *engine, struct arena *arena, const char *id, const char *query,
                       const char *input)
{
    char *result = NULL;
    int rc = dur_query(engine, id, query, input, WAIT_MS, &result);
    const char *text = arena_printf(arena, "%d %s", rc, result ? result : dur_error(engine));
    dur_free(result);
    return text;
}

static void step_to(dur_engine *engine, struct arena *arena, const char *step)
{
    wait_until(strcmp(ask(engine, arena, "w", "tell", NULL), step) == 0);
}

static void expect_conversation(dur_engine *asker, dur_engine *starter, struct arena *arena)
{
    cr_assert_eq(dur_start(starter, "Asked", "w", NULL, NULL), DUR_OK);
    step_to(asker, arena, "0 {\"step\":1,\"asked\":null}");
    int64_t events = events_of(asker, "w");
    cr_expect_str_eq(ask(asker, arena, "w", "tell", "[2]"), "0 {\"step\":1,\"asked\":[2]}");
    cr_expect_str_eq(ask(asker, arena, "w", "tell", "-1"), "-1 NoSuchStep: no step -1");
    const char *text = ask(asker, arena, "w", "other", NULL);
    cr_expect(strstr(text, "-1 UnknownQuery: no handler for query other; there are: tell, "), "%s",
              text);
    text = ask(asker, arena, "w", "__stack_trace", NULL);
    cr_expect(strstr(text, "0 \"workflow Asked\\n    at "), "%s", text);
    cr_expect_eq(events_of(asker, "w"), events, "no trace");
    cr_assert_eq(dur_signal(starter, "w", "go", "1"), DUR_OK);
    step_to(asker, arena, "0 {\"step\":2,\"asked\":null}");
    cr_assert_eq(dur_signal(starter, "w", "go", "0"), DUR_OK);
    cr_assert_eq(dur_result(starter, "w", WAIT_MS, NULL), DUR_OK);
    cr_expect_str_eq(ask(asker, arena, "w", "tell", NULL), "0 {\"step\":2,\"asked\":null}",
                     "also of a closed run");
    cr_expect_str_eq(ask(asker, arena, "none", "tell", NULL), "-6 no run has the id none");
    cr_expect_eq(dur_query(asker, "w", "", NULL, 0, NULL), DUR_INVALID);
    cr_expect_eq(dur_query(asker, "w", NULL, NULL, 0, NULL), DUR_INVALID);
    cr_expect_eq(dur_query(asker, "w", "tell", "{", 0, NULL), DUR_INVALID);
    cr_expect_eq(dur_query(asker, "w", "tell", NULL, WAIT_MS, NULL), DUR_OK, "nobody reads it");
}

Test(engine_query, of_the_engine_that_serves_in_this_process)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_served_by(engine, NULL) == 1);
    expect_conversation(engine, engine, arena);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(engine_query, of_an_engine_elsewhere)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *server = open_engine(path);
    pthread_t thread = serve_begin(server);
    without_workflows = true;
    dur_engine *client = open_engine(path);
    expect_conversation(client, client, arena);
    dur_close(client);
    serve_end(server, thread);
    dur_close(server);
}

Test(engine_query, in_this_process_beside_an_engine)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *server = open_engine(path);
    pthread_t thread = serve_begin(server);
    dur_engine *client = open_with(path, (dur_options){.read_only = 1});
    expect_conversation(client, server, arena);
    dur_close(client);
    serve_end(server, thread);
    dur_close(server);
}

Test(engine_query, without_an_engine)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Asked", "w", NULL, NULL), DUR_OK);
    cr_expect_str_eq(ask(engine, arena, "w", "tell", NULL),
                     "-1 RunNotBegun: no workflow task of run w has been completed yet");
    without_workflows = true;
    dur_engine *stranger = open_engine(path);
    cr_expect_eq(dur_query(stranger, "w", "tell", NULL, 5, NULL), DUR_TIMED_OUT);
    cr_expect(strstr(dur_error(stranger), "no engine serves the store"), "%s", dur_error(stranger));
    dur_close(stranger);
    dur_engine *reader = open_with(path, (dur_options){.read_only = 1});
    cr_expect_eq(dur_query(reader, "w", "tell", NULL, 5, NULL), DUR_INVALID);
    dur_close(reader);
    dur_close(engine);
}

Test(engine_query, an_engine_that_does_not_know_the_workflow)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    without_workflows = true;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Asked", "w", NULL, NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    cr_expect_str_eq(ask(engine, arena, "w", "tell", NULL),
                     "-1 UnknownWorkflow: the engine that serves knows no workflow of type Asked");
    serve_end(engine, thread);
    dur_close(engine);
}

/* A task that fails parks the run: queries are answered as of the last good one, and say so. */
static void expect_stale(dur_engine *asker, dur_engine *engine, struct arena *arena)
{
    cr_assert_eq(dur_start(engine, "Asked", "w", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    step_to(asker, arena, "0 {\"step\":2,\"asked\":null}");
    cr_assert_eq(dur_signal(engine, "w", "go", "13"), DUR_OK);
    wait_until(is_parked(engine, "w"));
    char *result = NULL;
    cr_assert_eq(dur_query(asker, "w", "tell", NULL, WAIT_MS, &result), 1);
    cr_expect_str_eq(result, "{\"step\":2,\"asked\":null}");
    cr_expect(strstr(dur_error(asker), "run w is parked: answered as of event "), "%s",
              dur_error(asker));
    dur_free(result);
}

Test(engine_query, a_parked_run_answers_from_its_last_good_state)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_served_by(engine, NULL) == 1);
    expect_stale(engine, engine, arena);
    serve_end(engine, thread);
    char *result = NULL;
    cr_assert_eq(dur_query(engine, "w", "tell", NULL, WAIT_MS, &result), 1, "and without it");
    dur_free(result);
    dur_close(engine);
}

Test(engine_query, code_that_no_longer_fits_is_named)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "Asked", "w", NULL, NULL), DUR_OK);
    step_to(engine, arena, "0 {\"step\":1,\"asked\":null}");
    serve_end(engine, thread);
    dur_close(engine);
    with_change = true;
    engine = open_engine(path);
    const char *text = ask(engine, arena, "w", "tell", NULL);
    cr_expect(strstr(text, "-1 RunParked: [TMPRL1100] nondeterminism"), "%s", text);
    dur_close(engine);
}

static void *stop_soon(void *engine)
{
    dur_stop(engine);
    return NULL;
}

/* Whoever asks does not wait for an engine that has gone. */
Test(engine_query, an_engine_that_stops_leaves_the_answer_to_who_asks, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Asked", "w", NULL, NULL), DUR_OK);
    pthread_t first = serve_begin(engine);
    step_to(engine, arena, "0 {\"step\":1,\"asked\":null}");
    dur_stop(engine);
    pthread_join(first, NULL);
    for (int i = 0; i < 20; i++) {
        pthread_t stopper;
        pthread_t thread = serve_begin(engine);
        cr_assert_eq(pthread_create(&stopper, NULL, stop_soon, engine), 0);
        cr_expect_eq(dur_query(engine, "w", "__stack_trace", NULL, 600000, NULL), DUR_OK, "%s",
                     dur_error(engine));
        pthread_join(stopper, NULL);
        dur_stop(engine);
        pthread_join(thread, NULL);
    }
    dur_close(engine);
}
