/*
 * test_engine_async.c - activities that are completed by token, through durable.h: every outcome,
 * time-outs from rows, restarts, fences; and failures that carry more than a message.
 */
#include "engine/admin.h"
#include "tests/lib/engine_fixture.h"

static atomic_int calls;
static atomic_int released;
static char token[128]; /* of the newest attempt */
static pthread_mutex_t token_mutex = PTHREAD_MUTEX_INITIALIZER;
static char last_type[64];
static dur_kind last_kind;
static char last_details[64];

static void keep_token(dur_activity *act)
{
    pthread_mutex_lock(&token_mutex);
    snprintf(token, sizeof(token), "%s", dur_activity_token(act));
    pthread_mutex_unlock(&token_mutex);
    atomic_fetch_add(&calls, 1);
}

static int later(dur_activity *act, const char *input, const char **result, void *user)
{
    const dur_failure_info *last = dur_activity_last_failure(act);
    (void)input;
    (void)result;
    (void)user;
    if (last) {
        snprintf(last_type, sizeof(last_type), "%s", last->type);
        last_kind = last->kind;
    }
    if (dur_heartbeat_details(act)) {
        snprintf(last_details, sizeof(last_details), "%s", dur_heartbeat_details(act));
    }
    keep_token(act);
    return DUR_PENDING;
}

/* Gives its token away and takes its time. */
static int slow(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    keep_token(act);
    while (!atomic_load(&released) && !dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(1);
    }
    return DUR_PENDING;
}

/* Fails once as told by the input, then says what it was told. */
static int detailed(dur_activity *act, const char *input, const char **result, void *user)
{
    const dur_failure_info *last = dur_activity_last_failure(act);
    int64_t large = dur_json_int(input, "/large", 0);
    (void)user;
    if (last) {
        *result = dur_jsonf(
            act, "{\"type\":%q,\"kind\":%d,\"details\":%j,\"bytes\":%d,\"beat\":%j}", last->type,
            (int)last->kind, last->details, (int)strlen(last->message), dur_heartbeat_details(act));
        return DUR_OK;
    }
    char *message = dur_activity_alloc(act, (size_t)large + 1);
    memset(message, 'x', (size_t)large);
    dur_heartbeat_sync(act, "{\"at\":1}");
    dur_heartbeat(act, "{\"at\":2}"); /* throttled, then thrown away unless it goes with the end */
    return dur_fail_with(
        act, &(dur_failure_options){.kind = (dur_kind)dur_json_int(input, "/kind", 0),
                                    .type = "Detailed",
                                    .message = message,
                                    .details = dur_json_string(act, input, "/details"),
                                    .next_retry_delay_ms = dur_json_int(input, "/delay", 0)});
}

static int one(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    dur_future *f = dur_start_activity(
        ctx, dur_ctx_json_string(ctx, input, "/do"), input,
        &(dur_activity_options){.start_to_close_ms = dur_json_int(input, "/start", 0),
                                .schedule_to_close_ms = dur_json_int(input, "/close", 0),
                                .heartbeat_ms = dur_json_int(input, "/beat", 0),
                                .max_attempts = (int)dur_json_int(input, "/max", 0),
                                .cancellation = DUR_WAIT_CANCEL,
                                .retry = {.initial_interval_ms = dur_json_int(input, "/initial", 1),
                                          .backoff_coefficient = 1.0}});
    int rc = dur_await(ctx, f, &value);
    const dur_failure_info *c = rc == DUR_FAILED ? dur_failure(ctx)->cause : NULL;
    *result = c ? dur_ctx_jsonf(ctx,
                                "{\"code\":%d,\"type\":%q,\"timeout\":%q,\"message\":%q,"
                                "\"details\":%j}",
                                rc, c->type, c->timeout_type, c->message, c->details)
                : dur_ctx_jsonf(ctx, "{\"code\":%d,\"value\":%j}", rc, value);
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "later", later, NULL);
    dur_register_activity(engine, "slow", slow, NULL);
    dur_register_activity(engine, "detailed", detailed, NULL);
    dur_register_workflow(engine, "one", one, NULL);
    cr_assert_eq(dur_lane(engine, "default", 1), DUR_OK);
}

/* --- helpers --- */

static void start(dur_engine *engine, const char *id, const char *input)
{
    cr_assert_eq(dur_start(engine, "one", id, input, NULL), DUR_OK, "%s", dur_error(engine));
}

static void check_result(dur_engine *engine, const char *id, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(dur_result(engine, id, WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, expected);
    dur_free(result);
    check_history(engine, id);
}

static struct admin_activity pending_of(dur_engine *engine, const char *id)
{
    struct admin_activities list = {0};
    autoarena struct arena *arena = arena_new();
    cr_assert_eq(admin_activities(engine, arena, id, &list), DUR_OK, "%s", dur_error(engine));
    return list.count ? list.rows[0] : (struct admin_activity){0};
}

#define wait_async(engine, id) wait_until(pending_of(engine, id).state == ADMIN_ASYNC)

/* --- outcomes --- */

Test(async, a_token_completes_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_engine *client = open_with(path, (dur_options){.identity = "client"});
    pthread_t thread = serve_begin(engine);
    start(client, "w", "{\"do\":\"later\"}");
    start(client, "x", "{\"do\":\"later\"}"); /* its slot is free although the first one waits */
    wait_async(client, "w");
    wait_async(client, "x");
    char *found = NULL;
    cr_assert_eq(dur_activity_token_of(client, "w", "1", &found), DUR_OK, "%s", dur_error(client));
    cr_assert_eq(dur_complete(client, found, "{\"n\":7}"), DUR_OK, "%s", dur_error(client));
    check_result(client, "w", "{\"code\":0,\"value\":{\"n\":7}}");
    check_types(client, "w", 5,
                "ActivityTaskScheduled ActivityTaskStarted ActivityTaskCompleted "
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "
                "WorkflowExecutionCompleted");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(client, arena, "w");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_COMPLETED);
    cr_assert_str_eq(ev_activity_task_completed(event)->identity, "client");
    cr_assert_eq(dur_complete(client, found, NULL), DUR_NOT_FOUND);
    cr_assert(strstr(dur_error(client), "the run is closed"), "%s", dur_error(client));
    dur_free(found);
    cr_assert_eq(dur_activity_token_of(client, "x", "2", &found), DUR_NOT_FOUND);
    cr_assert_eq(dur_activity_token_of(client, "nobody", "1", &found), DUR_NOT_FOUND);
    serve_end(engine, thread);
    dur_close(client);
    dur_close(engine);
}

Test(async, a_failure_is_retried_and_the_old_token_is_over, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "w", "{\"do\":\"later\",\"max\":2}");
    wait_async(engine, "w");
    autofree char *first = mem_strdup(token);
    cr_assert_eq(dur_complete_failed(engine, first, DUR_AMBIGUOUS, "NoReply", "line is dead"),
                 DUR_OK);
    wait_until(atomic_load(&calls) == 2);
    cr_assert_str_eq(last_type, "NoReply");
    cr_assert_eq(last_kind, DUR_AMBIGUOUS);
    wait_async(engine, "w");
    cr_assert_eq(dur_complete(engine, first, NULL), DUR_NOT_FOUND);
    cr_assert(strstr(dur_error(engine), "another attempt"), "%s", dur_error(engine));
    cr_assert_eq(dur_complete_failed(engine, token, DUR_PERMANENT, "No", "never"), DUR_OK);
    check_result(engine, "w",
                 "{\"code\":-1,\"type\":\"No\",\"timeout\":null,\"message\":\"never\","
                 "\"details\":null}");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(async, only_an_asked_one_may_be_cancelled, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "w", "{\"do\":\"later\"}");
    wait_async(engine, "w");
    cr_assert_eq(dur_complete_cancelled(engine, token), DUR_INVALID);
    cr_assert_eq(dur_complete_heartbeat(engine, token, "{\"step\":1}"), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", "enough"), DUR_OK);
    wait_until(pending_of(engine, "w").cancel_requested);
    cr_assert_eq(dur_complete_heartbeat(engine, token, NULL), DUR_CANCELLED);
    cr_assert_eq(dur_complete_cancelled(engine, token), DUR_OK, "%s", dur_error(engine));
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(async, nonsense_is_refused, .timeout = 60)
{
    static const char *const tokens[] = {
        NULL,
        "",
        "x",
        "00000000-0000-4000-8000-000000000000",
        "00000000-0000-4000-8000-000000000000.",
        "00000000-0000-4000-8000-000000000000.5",
        "00000000-0000-4000-8000-000000000000.5.0",
        "00000000-0000-4000-8000-000000000000.5.1.1",
        "00000000-0000-4000-8000-000000000000.-5.1",
        "00000000-0000-4000-8000-000000000000.99999999999999999999999.1"};
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        cr_assert_eq(dur_complete(engine, tokens[i], NULL), DUR_INVALID, "%zu", i);
    }
    cr_assert_eq(dur_complete(engine, "00000000-0000-4000-8000-000000000000.5.1", NULL),
                 DUR_NOT_FOUND);
    cr_assert_eq(dur_complete(engine, "00000000-0000-4000-8000-000000000000.5.1", "{"),
                 DUR_INVALID);
    cr_assert_eq(dur_complete_heartbeat(engine, "00000000-0000-4000-8000-000000000000.5.1", "x"),
                 DUR_INVALID);
    cr_assert_eq(dur_complete_failed(engine, "x", 7, "T", "m"), DUR_INVALID);
    cr_assert_eq(dur_complete_failed(engine, "x", DUR_PERMANENT, "", "m"), DUR_INVALID);
    cr_assert_eq(dur_complete(NULL, "x", NULL), DUR_INVALID);
    dur_close(engine);
}

/* --- races and restarts --- */

Test(async, the_outcome_may_come_before_the_function_returns, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "w", "{\"do\":\"slow\"}");
    wait_until(atomic_load(&calls) == 1);
    cr_assert_eq(dur_complete(engine, token, "1"), DUR_OK, "%s", dur_error(engine));
    check_result(engine, "w", "{\"code\":0,\"value\":1}");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(async, twice_is_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "w", "{\"do\":\"later\"}");
    wait_async(engine, "w");
    serve_end(engine, thread); /* nobody takes the first one before the second comes */
    cr_assert_eq(dur_complete_heartbeat(engine, token, "1"), DUR_OK);
    cr_assert_eq(dur_complete_heartbeat(engine, token, "2"), DUR_OK);
    cr_assert_eq(dur_complete(engine, token, "1"), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_complete(engine, token, "2"), DUR_EXISTS);
    cr_assert_eq(dur_complete_failed(engine, token, DUR_PERMANENT, "T", "m"), DUR_EXISTS);
    serve_until_idle(engine);
    check_result(engine, "w", "{\"code\":0,\"value\":1}");
    dur_close(engine);
}

Test(async, it_survives_engines_that_die, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "w", "{\"do\":\"later\",\"start\":600000}");
    pid_t child = serve_in_child(path);
    wait_async(engine, "w");
    kill_child(child);
    child = serve_in_child(path);
    wait_until(dur_served_by(engine, NULL) == 1);
    start(engine, "x", "{\"do\":\"later\"}");
    wait_async(engine, "x"); /* that engine has recovered */
    cr_assert_eq(pending_of(engine, "w").state, ADMIN_ASYNC);
    cr_assert_eq(pending_of(engine, "w").attempt, 1);
    kill_child(child);
    char *found = NULL;
    cr_assert_eq(dur_activity_token_of(engine, "w", "1", &found), DUR_OK);
    cr_assert_eq(dur_complete(engine, found, "\"late\""), DUR_OK, "%s", dur_error(engine));
    dur_free(found);
    cr_assert_eq(dur_terminate(engine, "x", NULL), DUR_OK);
    serve_until_idle(engine);
    check_result(engine, "w", "{\"code\":0,\"value\":\"late\"}");
    dur_close(engine);
}

Test(async, start_to_close_goes_on_over_a_restart, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "w", "{\"do\":\"later\",\"start\":300,\"max\":1}");
    pthread_t thread = serve_begin(engine);
    wait_async(engine, "w");
    serve_end(engine, thread);
    serve_until_idle(engine);
    check_result(engine, "w",
                 "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"StartToClose\","
                 "\"message\":\"activity StartToClose timeout\",\"details\":null}");
    cr_assert_eq(dur_complete(engine, token, NULL), DUR_NOT_FOUND);
    dur_close(engine);
}

Test(async, silence_is_a_heartbeat_time_out_with_the_last_details, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "w", "{\"do\":\"later\",\"beat\":300,\"start\":600000,\"max\":2}");
    pthread_t thread = serve_begin(engine);
    wait_async(engine, "w");
    cr_assert_eq(dur_complete_heartbeat(engine, token, "{\"step\":3}"), DUR_OK);
    check_result(engine, "w",
                 "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"Heartbeat\","
                 "\"message\":\"activity Heartbeat timeout\",\"details\":{\"step\":3}}");
    cr_assert_eq(atomic_load(&calls), 2);
    cr_assert_str_eq(last_details, "{\"step\":3}");
    serve_end(engine, thread);
    dur_close(engine);
}

/* --- failures in full --- */

static void check_detailed(const char *input, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(run_one("one", input, &result), DUR_OK);
    cr_assert_str_eq(result, expected);
    dur_free(result);
}

Test(async, a_failure_carries_details_and_the_last_heartbeat, .timeout = 60)
{
    check_detailed(
        "{\"do\":\"detailed\",\"details\":\"{\\\"a\\\":[1]}\"}",
        "{\"code\":0,\"value\":{\"type\":\"Detailed\",\"kind\":2,\"details\":{\"a\":[1]},"
        "\"bytes\":0,\"beat\":{\"at\":2}}}");
    check_detailed("{\"do\":\"detailed\",\"details\":\"{\\\"a\\\":1}\",\"kind\":1}",
                   "{\"code\":-1,\"type\":\"Detailed\",\"timeout\":null,\"message\":\"\","
                   "\"details\":{\"a\":1}}");
    check_detailed(
        "{\"do\":\"detailed\",\"details\":\"{\"}",
        "{\"code\":-1,\"type\":\"BadDetails\",\"timeout\":null,\"message\":\"the details "
        "of failure Detailed are not JSON of at most 2097152 bytes\","
        "\"details\":null}");
}

Test(async, its_own_delay_replaces_the_policys, .timeout = 60)
{
    /* The policy would wait for an hour, and the time for all would not allow it. */
    check_detailed("{\"do\":\"detailed\",\"initial\":3600000,\"close\":60000,\"delay\":1}",
                   "{\"code\":0,\"value\":{\"type\":\"Detailed\",\"kind\":2,\"details\":null,"
                   "\"bytes\":0,\"beat\":{\"at\":2}}}");
    check_detailed("{\"do\":\"detailed\",\"close\":60000,\"delay\":3600000}",
                   "{\"code\":-1,\"type\":\"Detailed\",\"timeout\":null,\"message\":\"\","
                   "\"details\":null}");
}

Test(async, a_long_failure_is_kept_short_between_attempts, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "w", "{\"do\":\"detailed\",\"large\":9000,\"kind\":3}");
    serve_until_idle(engine);
    check_result(engine, "w",
                 "{\"code\":0,\"value\":{\"type\":\"Detailed\",\"kind\":3,\"details\":null,"
                 "\"bytes\":2048,\"beat\":{\"at\":2}}}");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_STARTED);
    const struct failure *last = ev_activity_task_started(event)->last_failure;
    cr_assert_str_eq(last->message, "Failure exceeds size limit.");
    cr_assert_not_null(last->server_failure_info);
    cr_assert_eq(strlen(last->cause->message), 2048);
    dur_close(engine);
}
