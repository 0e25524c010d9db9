/*
 * test_engine_pause.c - pausing and resuming: nothing of the run goes on meanwhile, nothing that
 * comes is lost, other runs and time-outs do not care, and a new engine knows of it.
 */
#include "tests/lib/engine_fixture.h"

#define TEST(name) Test(engine_pause, name, .timeout = 60)

static atomic_int attempts;
static atomic_bool gate; /* activity "gated" ends when it is open */

static int gated(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    atomic_fetch_add(&attempts, 1);
    while (!atomic_load(&gate)) {
        if (dur_activity_cancelled(act, NULL)) {
            return DUR_CANCELLED;
        }
        clock_sleep_ms(1);
    }
    *result = "\"done\"";
    return DUR_OK;
}

static int shaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    atomic_fetch_add(&attempts, 1);
    while (!atomic_load(&gate)) {
        clock_sleep_ms(1);
    }
    return dur_activity_attempt(act) == 1 ? dur_fail(act, DUR_TRANSIENT, "Shaky", "once") : DUR_OK;
}

static int wait_go(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int two_steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, dur_ctx_json_string(ctx, input, ""), NULL, NULL,
                     &(dur_activity_options){.retry = {.initial_interval_ms = 1}});
    return rc ? rc : dur_run(ctx, "gated", NULL, result, NULL);
}

static int timer(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = "\"slept\"";
    return dur_sleep(ctx, 200);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "wait_go", wait_go, NULL);
    dur_register_workflow(engine, "two_steps", two_steps, NULL);
    dur_register_workflow(engine, "timer", timer, NULL);
    dur_register_activity(engine, "gated", gated, NULL);
    dur_register_activity(engine, "shaky", shaky, NULL);
}

static dur_status status_of(dur_engine *engine)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK, "%s", dur_error(engine));
    dur_status status = d->status;
    cr_assert_eq(status == DUR_PAUSED, d->paused != NULL);
    dur_description_free(d);
    return status;
}

static void start(dur_engine *engine, const char *type, const char *input)
{
    cr_assert_eq(dur_start(engine, type, "w", input, NULL), DUR_OK, "%s", dur_error(engine));
}

static int count_row(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    cr_assert_eq(d->status, DUR_PAUSED);
    ++*(int *)user;
    return 0;
}

TEST(a_paused_run_waits_and_goes_on)
{
    autofree char *path = temp_path("e.db");
    autofree char *result = NULL;
    int listed = 0;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_NOT_FOUND);
    start(engine, "wait_go", NULL);
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    cr_assert_eq(dur_pause(engine, "w", "lunch"), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_pause(engine, "w", "again"), DUR_OK);
    cr_assert_eq(status_of(engine), DUR_PAUSED);
    cr_assert_eq(dur_list(engine, DUR_PAUSED, 0, 9, count_row, &listed), DUR_OK);
    cr_assert_eq(dur_list(engine, DUR_RUNNING, 0, 9, count_row, &listed), DUR_OK);
    cr_assert_eq(listed, 2);
    cr_assert_eq(dur_signal(engine, "w", "go", "7"), DUR_OK);
    cr_assert_eq(dur_start(engine, "timer", "other", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "other", WAIT_MS, NULL), DUR_OK, "others go on");
    check_types(engine, "w", 5, "WorkflowExecutionPaused WorkflowExecutionSignaled");
    cr_assert_eq(dur_resume(engine, "w", NULL), DUR_OK);
    int again = dur_resume(engine, "w", NULL);
    cr_assert(again == DUR_OK || again == DUR_NOT_FOUND, "it may have ended");
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "7");
    check_types(engine, "w", 7,
                "WorkflowExecutionUnpaused WorkflowTaskScheduled WorkflowTaskStarted "
                "WorkflowTaskCompleted WorkflowExecutionCompleted");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(a_run_may_be_paused_before_it_begins)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "timer", NULL);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    cr_assert_eq(dur_start(engine, "timer", "other", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "other", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 3);
    cr_assert_eq(dur_resume(engine, "w", "now"), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(timers_and_results_are_recorded_meanwhile)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "timer", NULL);
    cr_assert_eq(dur_start(engine, "two_steps", "v", "\"gated\"", NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(atomic_load(&attempts) == 1);
    cr_assert_eq(dur_pause(engine, "v", NULL), DUR_OK);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_OK); /* its timer may have fired already */
    atomic_store(&gate, true);
    wait_until(events_of(engine, "v") == 8);
    check_types(engine, "v", 6,
                "WorkflowExecutionPaused ActivityTaskStarted ActivityTaskCompleted");
    clock_sleep_ms(20);
    cr_assert_eq(events_of(engine, "v"), 8, "the code does not run");
    cr_assert_eq(dur_resume(engine, "v", NULL), DUR_OK);
    cr_assert_eq(dur_resume(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "v", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    check_history(engine, "v");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(no_attempt_starts_while_paused)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "two_steps", "\"shaky\"");
    pthread_t thread = serve_begin(engine);
    wait_until(atomic_load(&attempts) == 1);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_OK);
    atomic_store(&gate, true); /* the attempt fails; its retry is due after a millisecond */
    cr_assert_eq(dur_start(engine, "timer", "other", NULL, NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "other", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(atomic_load(&attempts), 1);
    serve_end(engine, thread);
    thread = serve_begin(engine); /* taken over: still paused */
    clock_sleep_ms(20);
    cr_assert_eq(atomic_load(&attempts), 1);
    cr_assert_eq(dur_resume(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(atomic_load(&attempts), 3);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(a_paused_run_can_be_terminated_and_times_out)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "wait_go", NULL);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_terminate(engine, "w", NULL), DUR_OK);
    cr_assert_eq(status_of(engine), DUR_TERMINATED);
    cr_assert_eq(
        dur_start(engine, "wait_go", "w", NULL, &(dur_start_options){.run_timeout_ms = 50}),
        DUR_OK);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(status_of(engine), DUR_RUN_TIMED_OUT);
    check_validity(engine, "w");
    dur_close(engine);
}

TEST(a_cancel_request_waits)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "wait_go", NULL);
    cr_assert_eq(dur_pause(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    clock_sleep_ms(20);
    cr_assert_eq(status_of(engine), DUR_PAUSED);
    cr_assert_eq(dur_resume(engine, "w", NULL), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_CANCELLED);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}
