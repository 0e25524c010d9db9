/*
 * test_engine_activity.c - activities through durable.h: the four time-outs in every state,
 * retries, cancellation by type and state, heartbeats, and what survives the engine's death.
 */
#include "engine/admin.h"
#include "tests/lib/engine_fixture.h"

static atomic_int calls;
static atomic_int released; /* "hold" and "stubborn" go on until then */
static atomic_int told;     /* attempts that saw a reason to stop */
static char reason_told[32];
static char keys[2][128];

/* --- activities --- */

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *reason = NULL;
    (void)input;
    (void)user;
    (void)result;
    atomic_fetch_add(&calls, 1);
    while (!dur_activity_cancelled(act, &reason)) {
        clock_sleep_ms(1);
    }
    snprintf(reason_told, sizeof(reason_told), "%s", reason);
    atomic_fetch_add(&told, 1);
    return DUR_CANCELLED;
}

/* Does not listen. */
static int stubborn(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    atomic_fetch_add(&calls, 1);
    while (!atomic_load(&released)) {
        clock_sleep_ms(1);
    }
    atomic_fetch_add(&told, dur_activity_cancelled(act, NULL));
    return dur_json_bool(input, "/fail", 0) ? dur_fail(act, DUR_TRANSIENT, "Late", "too late")
                                            : DUR_OK;
}

static int fail(dur_activity *act, const char *input, const char **result, void *user)
{
    static const dur_kind kinds[] = {DUR_PERMANENT, DUR_TRANSIENT, DUR_AMBIGUOUS};
    int attempt = dur_activity_attempt(act);
    (void)user;
    atomic_fetch_add(&calls, 1);
    snprintf(keys[attempt % 2], sizeof(keys[0]), "%s", dur_activity_key(act));
    if (attempt > dur_json_int(input, "/times", 1000)) {
        const dur_failure_info *last = dur_activity_last_failure(act);
        *result = dur_jsonf(act, "{\"attempt\":%d,\"type\":%q,\"message\":%q,\"kind\":%d}", attempt,
                            last->type, last->message, (int)last->kind);
        return DUR_OK;
    }
    return dur_fail(act, kinds[dur_json_int(input, "/kind", 1)], "Broken", "attempt %d", attempt);
}

/* Two beats, of which the second is throttled; then as told. A later attempt returns what it got.
 */
static int beat(dur_activity *act, const char *input, const char **result, void *user)
{
    if (dur_heartbeat_details(act)) {
        *result = dur_heartbeat_details(act);
        return DUR_OK;
    }
    dur_heartbeat_sync(act, "{\"n\":1}");
    dur_heartbeat(act, "{\"n\":2}");
    return dur_json_bool(input, "/fail", 0) ? dur_fail(act, DUR_TRANSIENT, "Broken", "no")
                                            : hang(act, input, result, user);
}

static int bad_beats(dur_activity *act, const char *input, const char **result, void *user)
{
    char *large = mem_alloc(2 * 1024 * 1024 + 3);
    (void)input;
    (void)user;
    memset(large, '1', 2 * 1024 * 1024 + 2);
    *result = dur_jsonf(act, "[%d,%d,%d,%d]", dur_heartbeat(act, "{"), dur_heartbeat(act, large),
                        dur_heartbeat_sync(act, "nope"), dur_heartbeat(act, NULL));
    free(large);
    return DUR_OK;
}

static int ends_badly(dur_activity *act, const char *input, const char **result, void *user)
{
    int64_t how = dur_json_int(input, "/how", 0);
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (how == 0) {
        *result = "{not json";
        return DUR_OK;
    }
    if (how == 1) {
        char *large = dur_activity_alloc(act, 2 * 1024 * 1024 + 3);
        memset(large, '1', 2 * 1024 * 1024 + 2);
        *result = large;
        return DUR_OK;
    }
    if (how == 2) {
        return DUR_INVALID; /* without dur_fail: forwarded from some call */
    }
    if (how == 3) {
        char *large = dur_activity_alloc(act, 100001);
        memset(large, 'x', 100000);
        return dur_fail(act, DUR_PERMANENT, "Long", "%s", large);
    }
    return dur_fail(act, DUR_PERMANENT, "Bytes\xff", "a\xff\xfe\x01z");
}

static int poll_fd(dur_activity *act, const char *input, const char **result, void *user)
{
    int fd = dur_activity_cancel_fd(act);
    uint64_t count;
    (void)input;
    (void)user;
    (void)result;
    atomic_fetch_add(&calls, 1);
    while (read(fd, &count, sizeof(count)) != sizeof(count)) {
        clock_sleep_ms(1);
    }
    return dur_activity_cancelled(act, NULL) ? DUR_CANCELLED : DUR_OK;
}

static int quick(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = dur_jsonf(act, "[%q,%d]", dur_activity_workflow_id(act),
                        (int)strlen(dur_activity_run_id(act)));
    return DUR_OK;
}

/* --- workflows --- */

static dur_activity_options options_of(dur_ctx *ctx, const char *input)
{
    static const char *const listed[] = {"Broken", "TemporalTimeout:StartToClose", NULL};
    return (dur_activity_options){
        .task_queue = dur_ctx_json_string(ctx, input, "/queue"),
        .schedule_to_close_ms = dur_json_int(input, "/close", 0),
        .schedule_to_start_ms = dur_json_int(input, "/wait", 0),
        .start_to_close_ms = dur_json_int(input, "/start", 0),
        .heartbeat_ms = dur_json_int(input, "/beat", 0),
        .max_attempts = (int)dur_json_int(input, "/max", 0),
        .retry = {.initial_interval_ms = dur_json_int(input, "/initial", 1),
                  .backoff_coefficient = 1.0,
                  .non_retryable_types = dur_json_bool(input, "/listed", 0) ? listed : NULL},
        .cancellation = (dur_cancellation)dur_json_int(input, "/cancel", 0),
    };
}

static const char *tell(dur_ctx *ctx, int rc, const char *value)
{
    const dur_failure_info *f = rc == DUR_FAILED ? dur_failure(ctx) : NULL;
    const dur_failure_info *c = f ? f->cause : NULL;
    if (!c) {
        return dur_ctx_jsonf(ctx, "{\"code\":%d,\"value\":%j}", rc, rc == DUR_OK ? value : NULL);
    }
    return dur_ctx_jsonf(
        ctx,
        "{\"code\":%d,\"type\":%q,\"timeout\":%q,\"details\":%j,\"attempt\":%d,\"kind\":%d,"
        "\"message\":%q,\"under\":%q,\"deeper\":%q}",
        rc, c->type, c->timeout_type, c->details, f->attempt, (int)c->kind, c->message,
        c->cause ? c->cause->type : NULL, c->cause && c->cause->cause ? "yes" : NULL);
}

/* One activity as the input says; what came of it. */
static int one(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    dur_activity_options o = options_of(ctx, input);
    int rc = dur_run(ctx, dur_ctx_json_string(ctx, input, "/do"), input, &value, &o);
    *result = tell(ctx, rc, value);
    return rc == DUR_CANCELLED ? rc : DUR_OK;
}

/* Starts it, cancels it when signalled, awaits it; then waits for "end" unless told to leave. */
static int canceller(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    dur_activity_options o = options_of(ctx, input);
    dur_future *f = dur_start_activity(ctx, dur_ctx_json_string(ctx, input, "/do"), input, &o);
    dur_receive(ctx, "now", -1, NULL);
    dur_cancel_future(ctx, f);
    int rc = dur_await(ctx, f, &value);
    *result = tell(ctx, rc, value);
    if (!dur_json_bool(input, "/leave", 0)) {
        dur_receive(ctx, "end", -1, NULL);
    }
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "hang", hang, NULL);
    dur_register_activity(engine, "stubborn", stubborn, NULL);
    dur_register_activity(engine, "fail", fail, NULL);
    dur_register_activity(engine, "beat", beat, NULL);
    dur_register_activity(engine, "bad_beats", bad_beats, NULL);
    dur_register_activity(engine, "ends_badly", ends_badly, NULL);
    dur_register_activity(engine, "poll_fd", poll_fd, NULL);
    dur_register_activity(engine, "quick", quick, NULL);
    dur_register_workflow(engine, "one", one, NULL);
    dur_register_workflow(engine, "canceller", canceller, NULL);
    cr_assert_eq(dur_lane(engine, "single", 1), DUR_OK);
}

/* --- helpers --- */

static void check_one(const char *input, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(run_one("one", input, &result), DUR_OK);
    cr_assert_str_eq(result, expected);
    dur_free(result);
}

static void check_result(dur_engine *engine, const char *id, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(dur_result(engine, id, WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, expected);
    dur_free(result);
}

static void start(dur_engine *engine, const char *type, const char *id, const char *input)
{
    cr_assert_eq(dur_start(engine, type, id, input, NULL), DUR_OK, "%s", dur_error(engine));
}

/* The only pending activity of a run; zeroed when there is none. */
static struct admin_activity pending_of(dur_engine *engine, const char *id)
{
    struct admin_activities list = {0};
    autoarena struct arena *arena = arena_new();
    cr_assert_eq(admin_activities(engine, arena, id, &list), DUR_OK, "%s", dur_error(engine));
    return list.count ? list.rows[0] : (struct admin_activity){0};
}

/* --- time-outs --- */

Test(activity, start_to_close_is_retried_until_the_attempts_are_used_up, .timeout = 60)
{
    check_one("{\"do\":\"hang\",\"start\":20,\"max\":3}",
              "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"StartToClose\",\"details\":null,"
              "\"attempt\":3,\"kind\":3,\"message\":\"activity StartToClose timeout\","
              "\"under\":\"Timeout\",\"deeper\":null}");
    cr_assert_eq(atomic_load(&calls), 3);
    cr_assert_str_eq(reason_told, "timed out");
}

Test(activity, a_time_out_that_is_listed_is_not_retried, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "w", "{\"do\":\"hang\",\"start\":20,\"listed\":true}");
    serve_until_idle(engine);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_TIMED_OUT);
    cr_assert_not_null(event);
    cr_assert_eq(ev_activity_task_timed_out(event)->retry_state, RETRY_STATE_NON_RETRYABLE_FAILURE);
    check_history(engine, "w");
    dur_close(engine);
}

Test(activity, waiting_too_long_for_a_slot_closes_it_unstarted, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "one", "holder", "{\"do\":\"stubborn\",\"queue\":\"single\"}");
    wait_until(atomic_load(&calls) == 1);
    start(engine, "one", "start", "{\"do\":\"quick\",\"queue\":\"single\",\"wait\":20}");
    start(engine, "one", "close", "{\"do\":\"quick\",\"queue\":\"single\",\"close\":20}");
    static const char *const ids[] = {"start", "close"};
    for (size_t i = 0; i < 2; i++) { /* Temporal: schedule-to-start goes first when both are due */
        check_result(engine, ids[i],
                     "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"ScheduleToStart\","
                     "\"details\":null,\"attempt\":0,\"kind\":2,\"message\":\"activity "
                     "ScheduleToStart timeout\",\"under\":null,\"deeper\":null}");
        check_types(engine, ids[i], 5,
                    "ActivityTaskScheduled ActivityTaskTimedOut WorkflowTaskScheduled "
                    "WorkflowTaskStarted WorkflowTaskCompleted WorkflowExecutionCompleted");
        check_history(engine, ids[i]);
    }
    atomic_store(&released, 1);
    check_result(engine, "holder", "{\"code\":0,\"value\":null}");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, schedule_to_close_ends_a_running_attempt, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "w", "{\"do\":\"hang\",\"close\":30,\"start\":10000}");
    serve_until_idle(engine);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_TIMED_OUT);
    cr_assert_not_null(event);
    cr_assert_eq(ev_activity_task_timed_out(event)->retry_state, RETRY_STATE_TIMEOUT);
    cr_assert_eq(ev_activity_task_timed_out(event)->started_event_id, event->id - 1);
    check_history(engine, "w");
    cr_assert_str_eq(reason_told, "timed out");
    dur_close(engine);
}

Test(activity, no_retry_that_would_begin_after_schedule_to_close, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "failed", "{\"do\":\"fail\",\"close\":1000,\"initial\":5000}");
    start(engine, "one", "late", "{\"do\":\"hang\",\"close\":5000,\"start\":20,\"initial\":60000}");
    serve_until_idle(engine);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "failed");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_FAILED);
    cr_assert_not_null(event);
    cr_assert_eq(ev_activity_task_failed(event)->retry_state, RETRY_STATE_TIMEOUT);
    check_result(engine, "late",
                 "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"ScheduleToClose\","
                 "\"details\":null,\"attempt\":1,\"kind\":2,\"message\":\"Not enough time to "
                 "schedule next retry before activity ScheduleToClose timeout, giving up "
                 "retrying\",\"under\":null,\"deeper\":null}");
    check_history(engine, "failed");
    check_history(engine, "late");
    cr_assert_eq(atomic_load(&calls), 2);
    dur_close(engine);
}

/* --- retries --- */

Test(activity, the_next_attempt_knows_the_last_failure_and_its_kind, .timeout = 60)
{
    check_one("{\"do\":\"fail\",\"kind\":2,\"times\":2}",
              "{\"code\":0,\"value\":{\"attempt\":3,\"type\":\"Broken\",\"message\":\"attempt "
              "2\",\"kind\":3}}");
    cr_assert_str_eq(keys[0], keys[1]);
    cr_assert_gt(strlen(keys[0]), 36);
}

Test(activity, permanent_failures_and_listed_types_end_it, .timeout = 60)
{
    check_one("{\"do\":\"fail\",\"kind\":0}",
              "{\"code\":-1,\"type\":\"Broken\",\"timeout\":null,\"details\":null,\"attempt\":1,"
              "\"kind\":1,\"message\":\"attempt 1\",\"under\":null,\"deeper\":null}");
    check_one("{\"do\":\"fail\",\"listed\":true}",
              "{\"code\":-1,\"type\":\"Broken\",\"timeout\":null,\"details\":null,\"attempt\":1,"
              "\"kind\":2,\"message\":\"attempt 1\",\"under\":null,\"deeper\":null}");
    cr_assert_eq(atomic_load(&calls), 2);
}

Test(activity, only_the_last_attempt_is_in_the_history, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "one", "w", "{\"do\":\"fail\",\"max\":4}");
    serve_until_idle(engine);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&history, EVENT_ACTIVITY_TASK_STARTED), 1);
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_STARTED);
    cr_assert_eq(ev_activity_task_started(event)->attempt, 4);
    cr_assert_str_eq(ev_activity_task_started(event)->last_failure->message, "attempt 3");
    cr_assert_null(ev_activity_task_started(event)->last_failure->cause);
    event = find_event(&history, EVENT_ACTIVITY_TASK_FAILED);
    cr_assert_eq(ev_activity_task_failed(event)->retry_state, RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    check_history(engine, "w");
    dur_close(engine);
}

Test(activity, whatever_a_callback_returns_becomes_a_result_or_a_failure, .timeout = 60)
{
    static const char *const types[] = {"BadResult", "ResultTooLarge", "ActivityError", "Long"};
    for (int how = 0; how < 5; how++) {
        char *result = NULL;
        autofree char *input = mem_printf("{\"do\":\"ends_badly\",\"how\":%d}", how);
        atomic_store(&calls, 0);
        cr_assert_eq(run_one("one", input, &result), DUR_OK);
        cr_assert_eq(atomic_load(&calls), 1, "%s", result);
        if (how < 4) {
            autofree char *type = mem_printf("\"type\":\"%s\"", types[how]);
            cr_assert_not_null(strstr(result, type), "%s", result);
        }
        cr_assert_lt(strlen(result), 20000);
        dur_free(result);
    }
}

/* --- heartbeats --- */

Test(activity, details_of_throttled_beats_are_in_the_time_out, .timeout = 60)
{
    check_one("{\"do\":\"beat\",\"beat\":60,\"start\":10000,\"max\":1}",
              "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"Heartbeat\",\"details\":{\"n\":2},"
              "\"attempt\":1,\"kind\":3,\"message\":\"activity Heartbeat timeout\","
              "\"under\":null,\"deeper\":null}");
}

Test(activity, details_of_throttled_beats_reach_the_next_attempt, .timeout = 60)
{
    check_one("{\"do\":\"beat\",\"beat\":10000,\"fail\":true}", "{\"code\":0,\"value\":{\"n\":2}}");
    check_one("{\"do\":\"beat\",\"beat\":60}", "{\"code\":0,\"value\":{\"n\":2}}");
}

Test(activity, bad_details_change_nothing, .timeout = 60)
{
    check_one("{\"do\":\"bad_beats\"}", "{\"code\":0,\"value\":[-5,-12,-5,0]}");
}

/* --- cancellation --- */

/* A canceller whose activity waits for the single slot; it is signalled when the slot is taken. */
static void cancel_waiting(const char *more, int64_t events, const char *types)
{
    autofree char *path = temp_path("e.db");
    autofree char *input = mem_printf("{\"do\":\"quick\",\"queue\":\"single\"%s}", more);
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    atomic_store(&calls, 0);
    atomic_store(&released, 0);
    start(engine, "one", "holder", "{\"do\":\"stubborn\",\"queue\":\"single\"}");
    wait_until(atomic_load(&calls) == 1);
    start(engine, "canceller", "w", input);
    wait_until(events_of(engine, "w") >= 5);
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    wait_until(events_of(engine, "w") >= events);
    cr_assert_eq(dur_signal(engine, "w", "end", NULL), DUR_OK);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    check_types(engine, "w", 5, types);
    check_history(engine, "w");
    atomic_store(&released, 1);
    serve_end(engine, thread);
    dur_close(engine);
}

#define TASK "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "
#define SIGNALLED "ActivityTaskScheduled WorkflowExecutionSignaled " TASK
#define THEN_END "WorkflowExecutionSignaled " TASK "WorkflowExecutionCompleted"

Test(activity, cancelled_while_it_waits, .timeout = 60)
{
    static const char types[] =
        SIGNALLED "ActivityTaskCancelRequested ActivityTaskCanceled " TASK THEN_END;
    cancel_waiting(",\"cancel\":0", 14, types);
    cancel_waiting(",\"cancel\":1", 14, types);
    cancel_waiting(",\"cancel\":2", 9, SIGNALLED THEN_END);
}

Test(activity, cancelled_and_left_in_one_task, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "one", "holder", "{\"do\":\"stubborn\",\"queue\":\"single\"}");
    wait_until(atomic_load(&calls) == 1);
    start(engine, "canceller", "w", "{\"do\":\"quick\",\"queue\":\"single\",\"leave\":true}");
    wait_until(events_of(engine, "w") >= 5);
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    check_types(engine, "w", 5, SIGNALLED "ActivityTaskCancelRequested WorkflowExecutionCompleted");
    check_history(engine, "w");
    atomic_store(&released, 1);
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, cancelled_between_two_attempts, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "canceller", "w", "{\"do\":\"fail\",\"initial\":60000,\"cancel\":1}");
    wait_until(pending_of(engine, "w").state == ADMIN_BACKOFF);
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    wait_until(events_of(engine, "w") >= 10);
    cr_assert_eq(dur_signal(engine, "w", "end", NULL), DUR_OK);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK);
    cr_assert_str_eq(result, "{\"code\":-2,\"value\":null}");
    dur_free(result);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&history, EVENT_ACTIVITY_TASK_STARTED), 0);
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_CANCELED);
    cr_assert_not_null(event);
    cr_assert_eq(ev_activity_task_canceled(event)->started_event_id, 0);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

/* A canceller whose activity runs, and is asked to stop. */
static void cancel_running(const char *activity, const char *more, dur_engine **ret_engine,
                           pthread_t *ret_thread)
{
    autofree char *path = temp_path("e.db");
    autofree char *input = mem_printf("{\"do\":\"%s\"%s}", activity, more);
    dur_engine *engine = open_engine(path);
    *ret_thread = serve_begin(engine);
    atomic_store(&calls, 0);
    start(engine, "canceller", "w", input);
    wait_until(atomic_load(&calls) == 1);
    cr_assert_eq(dur_signal(engine, "w", "now", NULL), DUR_OK);
    *ret_engine = engine;
}

Test(activity, try_cancel_returns_at_once_and_tells_it, .timeout = 60)
{
    dur_engine *engine;
    pthread_t thread;
    cancel_running("hang", ",\"cancel\":0", &engine, &thread);
    wait_until(atomic_load(&told) == 1);
    cr_assert_str_eq(reason_told, "cancelled");
    wait_until(events_of(engine, "w") >= 11); /* its end is history too */
    dur_signal(engine, "w", "end", NULL);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_CANCELED);
    cr_assert_not_null(event);
    cr_assert_eq(ev_activity_task_canceled(event)->started_event_id, event->id - 1);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, wait_cancel_waits_for_its_real_end, .timeout = 60)
{
    dur_engine *engine;
    pthread_t thread;
    cancel_running("stubborn", ",\"cancel\":1", &engine, &thread);
    dur_signal(engine, "w", "end", NULL);
    cr_assert_eq(dur_result(engine, "w", 30, NULL), DUR_TIMED_OUT);
    atomic_store(&released, 1);
    check_result(engine, "w", "{\"code\":0,\"value\":null}"); /* it completed all the same */
    cr_assert_eq(atomic_load(&told), 1);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, a_failure_after_the_cancel_is_not_retried, .timeout = 60)
{
    dur_engine *engine;
    pthread_t thread;
    cancel_running("stubborn", ",\"cancel\":1,\"fail\":true", &engine, &thread);
    autoarena struct arena *arena = arena_new();
    wait_until(events_of(engine, "w") >= 10);
    atomic_store(&released, 1);
    dur_signal(engine, "w", "end", NULL);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    struct history history = read_history(engine, arena, "w");
    const struct event *event = find_event(&history, EVENT_ACTIVITY_TASK_FAILED);
    cr_assert_not_null(event);
    cr_assert_eq(ev_activity_task_failed(event)->retry_state, RETRY_STATE_CANCEL_REQUESTED);
    cr_assert_eq(atomic_load(&calls), 1);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, abandon_tells_nobody_until_the_run_is_over, .timeout = 60)
{
    dur_engine *engine;
    pthread_t thread;
    cancel_running("hang", ",\"cancel\":2,\"leave\":true", &engine, &thread);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    wait_until(atomic_load(&told) == 1);
    cr_assert_str_eq(reason_told, "closed");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_null(find_event(&history, EVENT_ACTIVITY_TASK_CANCEL_REQUESTED));
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, the_cancel_descriptor_becomes_readable, .timeout = 60)
{
    dur_engine *engine;
    pthread_t thread;
    cancel_running("poll_fd", ",\"cancel\":1", &engine, &thread);
    dur_signal(engine, "w", "end", NULL);
    check_result(engine, "w", "{\"code\":-2,\"value\":null}");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

Test(activity, termination_tells_what_runs, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    start(engine, "one", "w", "{\"do\":\"hang\"}");
    wait_until(atomic_load(&calls) == 1);
    cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
    wait_until(atomic_load(&told) == 1);
    cr_assert_str_eq(reason_told, "closed");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

/* --- who runs it --- */

Test(activity, an_unknown_type_waits_for_an_engine_that_knows_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *poor;
    cr_assert_eq(dur_open(&poor, path, &(dur_options){.reserve_bytes = -1, .on_log = keep_line}),
                 DUR_OK);
    dur_register_workflow(poor, "one", one, NULL);
    dur_register_activity(poor, "quick", quick, NULL);
    dur_lane(poor, "single", 1);
    start(poor, "one", "unknown", "{\"do\":\"fail\",\"kind\":0,\"queue\":\"single\"}");
    pthread_t thread = serve_begin(poor);
    wait_until(log_has("no such type here"));
    start(poor, "one", "known", "{\"do\":\"quick\",\"queue\":\"single\"}");
    check_result(poor, "known", "{\"code\":0,\"value\":[\"known\",36]}");
    serve_end(poor, thread);
    dur_close(poor);
    dur_engine *engine = open_engine(path);
    thread = serve_begin(engine);
    cr_assert_eq(dur_result(engine, "unknown", WAIT_MS, NULL), DUR_OK);
    check_history(engine, "unknown");
    serve_end(engine, thread);
    dur_close(engine);
}

/* Serves in a child until the run has so many events, then kills it. */
static void kill_when(dur_engine *client, const char *path, const char *id, int64_t events)
{
    pid_t pid = serve_in_child(path);
    wait_until(events_of(client, id) >= events);
    clock_sleep_ms(10); /* the attempt begins */
    kill_child(pid);
}

Test(activity, an_attempt_that_died_with_its_engine_counts, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client = open_engine(path);
    start(client, "one", "once", "{\"do\":\"hang\",\"max\":1,\"start\":60000}");
    kill_when(client, path, "once", 5);
    serve_until_idle(client);
    check_result(client, "once",
                 "{\"code\":-1,\"type\":\"Timeout\",\"timeout\":\"StartToClose\",\"details\":null,"
                 "\"attempt\":1,\"kind\":3,\"message\":\"activity StartToClose timeout\","
                 "\"under\":null,\"deeper\":null}");
    check_history(client, "once");
    dur_close(client);
}

Test(activity, beats_survive_the_engine, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client = open_engine(path);
    start(client, "one", "w", "{\"do\":\"beat\",\"beat\":60000,\"start\":60000}");
    pid_t pid = serve_in_child(path);
    wait_until(pending_of(client, "w").heartbeat_ns != 0);
    kill_child(pid);
    serve_until_idle(client);
    char *result = NULL;
    cr_assert_eq(dur_result(client, "w", 0, &result), DUR_OK);
    cr_assert(strstr(result, "{\"n\":1}") || strstr(result, "{\"n\":2}"), "%s", result);
    dur_free(result);
    check_history(client, "w");
    dur_close(client);
}

Test(activity, deadlines_survive_the_engine, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client = open_engine(path);
    start(client, "one", "close", "{\"do\":\"hang\",\"close\":400,\"max\":100}");
    kill_when(client, path, "close", 5);
    serve_until_idle(client);
    char *result = NULL;
    cr_assert_eq(dur_result(client, "close", 0, &result), DUR_OK);
    cr_assert_not_null(strstr(result, "\"timeout\":\"ScheduleToClose\""), "%s", result);
    dur_free(result);
    check_history(client, "close");
    dur_close(client);
}

Test(activity, back_off_goes_on_where_it_was, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *client = open_engine(path);
    start(client, "one", "w", "{\"do\":\"fail\",\"times\":2,\"initial\":100}");
    kill_when(client, path, "w", 5);
    serve_until_idle(client);
    check_result(client, "w",
                 "{\"code\":0,\"value\":{\"attempt\":3,\"type\":\"Broken\",\"message\":\"attempt "
                 "2\",\"kind\":2}}");
    check_history(client, "w");
    dur_close(client);
}
