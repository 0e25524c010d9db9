/*
 * test_engine_serve.c - serving: stopping in every way, standing by, idling, several engines, many
 * runs, workflows that nobody here knows, and runs that are parked.
 */
#include "history/store.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "journal/task.h"
#include "tests/lib/engine_fixture.h"

#define MANY 200
#define MORE_THAN_A_TURN 1100 /* marks: see HOST_TURN_INPUTS */

static atomic_int calls;
static atomic_int bad; /* the workflow "mendable" misbehaves */
static dur_engine *to_stop;

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    atomic_fetch_add(&calls, 1);
    *result = input;
    return DUR_OK;
}

/* Finishes its work when told to stop. */
static int diligent(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *reason = NULL;
    (void)input;
    (void)user;
    atomic_fetch_add(&calls, 1);
    while (!dur_activity_cancelled(act, &reason)) {
        clock_sleep_ms(1);
    }
    *result = dur_jsonf(act, "%q", reason);
    return DUR_OK;
}

static int chain(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *one;
    (void)user;
    int rc = dur_run(ctx, "echo", input, &one, NULL);
    return rc == DUR_OK ? dur_run(ctx, "echo", one, result, NULL) : rc;
}

static int wait_go(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int work(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(ctx, "diligent", NULL, result, NULL);
}

/* Waits for "go", then returns what is no JSON while `bad` is 1, asks for something else than it
 * asked before while `bad` is 2. */
static int mendable(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = atomic_load(&bad) == 2 ? dur_sleep(ctx, 1) : dur_run(ctx, "echo", "1", NULL, NULL);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "go", -1, result);
    }
    if (rc == DUR_OK && atomic_load(&bad) == 1) {
        *result = "this is no JSON";
    }
    return rc;
}

static int endless(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    while (dur_sleep(ctx, 1) == DUR_OK) {
    }
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_activity(engine, "diligent", diligent, NULL);
    dur_register_workflow(engine, "chain", chain, NULL);
    dur_register_workflow(engine, "wait_go", wait_go, NULL);
    dur_register_workflow(engine, "work", work, NULL);
    dur_register_workflow(engine, "mendable", mendable, NULL);
    dur_register_workflow(engine, "endless", endless, NULL);
}

static void start(dur_engine *engine, const char *type, const char *id)
{
    cr_assert_eq(dur_start(engine, type, id, NULL, NULL), DUR_OK, "%s", dur_error(engine));
}

/* --- stopping --- */

Test(serve, a_stop_before_serving_counts_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "endless", "w");
    dur_stop(engine);
    dur_stop(engine);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_STOPPED), DUR_OK);
    cr_assert_eq(events_of(engine, "w"), 2);
    dur_terminate(engine, "w", NULL);
    serve_until_idle(engine);
    dur_close(engine);
}

static void on_signal(int number)
{
    (void)number;
    dur_stop(to_stop);
}

Test(serve, a_signal_handler_may_stop_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    to_stop = engine;
    signal(SIGUSR1, on_signal);
    start(engine, "endless", "w");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") > 10);
    raise(SIGUSR1);
    raise(SIGUSR1);
    pthread_join(thread, NULL);
    cr_assert_eq(dur_served_by(engine, NULL), 0);
    dur_terminate(engine, "w", NULL);
    check_history(engine, "w");
    dur_close(engine);
}

Test(serve, what_comes_back_within_the_grace_is_kept, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "work", "w");
    pthread_t thread = serve_begin(engine);
    wait_until(atomic_load(&calls) == 1);
    serve_end(engine, thread);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "\"stopping\"");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

Test(serve, closing_a_serving_handle_ends_it_first, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "work", "w");
    pthread_t thread = serve_begin(engine);
    wait_until(atomic_load(&calls) == 1);
    dur_close(engine);
    pthread_join(thread, NULL);
    engine = open_engine(path);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    dur_close(engine);
}

Test(serve, it_ends_when_idle_long_enough, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.idle_exit_ms = 20});
    start(engine, "chain", "w");
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_STOPPED), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK);
    dur_close(engine);
}

/* --- several --- */

Test(serve, one_engine_serves_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    int64_t pid = 0;
    cr_assert_eq(dur_served_by(engine, &pid), 0);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_served_by(engine, &pid) == 1);
    cr_assert_eq(pid, getpid());
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_BUSY);
    cr_assert_eq(dur_register_workflow(engine, "late", chain, NULL), DUR_INVALID);
    cr_assert_eq(dur_register_activity(engine, "late", echo, NULL), DUR_INVALID);
    serve_end(engine, thread);
    cr_assert_eq(dur_register_workflow(engine, "late", chain, NULL), DUR_OK);
    dur_close(engine);
}

Test(serve, a_standby_can_be_stopped_and_takes_over, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *first = open_engine(path);
    dur_engine *second = open_engine(path);
    pthread_t one = serve_begin(first);
    wait_until(dur_served_by(second, NULL) == 1);
    pthread_t two = serve_begin(second);
    serve_end(second, two);
    two = serve_begin(second);
    serve_end(first, one);
    start(first, "chain", "w");
    cr_assert_eq(dur_result(first, "w", WAIT_MS, NULL), DUR_OK);
    serve_end(second, two);
    check_history(first, "w");
    dur_close(first);
    dur_close(second);
}

Test(serve, two_stores_in_one_process, .timeout = 60)
{
    autofree char *path_a = temp_path("a.db");
    autofree char *path_b = temp_path("b.db");
    dur_engine *a = open_engine(path_a);
    dur_engine *b = open_engine(path_b);
    pthread_t thread_a = serve_begin(a);
    pthread_t thread_b = serve_begin(b);
    for (int i = 0; i < 20; i++) {
        autofree char *id = mem_printf("w%d", i);
        start(i % 2 ? a : b, "chain", id);
    }
    for (int i = 0; i < 20; i++) {
        autofree char *id = mem_printf("w%d", i);
        cr_assert_eq(dur_result(i % 2 ? a : b, id, WAIT_MS, NULL), DUR_OK);
        check_history(i % 2 ? a : b, id);
    }
    serve_end(a, thread_a);
    serve_end(b, thread_b);
    dur_close(a);
    dur_close(b);
}

Test(serve, several_hundred_runs_at_once, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    for (int i = 0; i < MANY; i++) {
        autofree char *id = mem_printf("w%d", i);
        autofree char *input = mem_printf("%d", i);
        cr_assert_eq(dur_start(engine, "chain", id, input, NULL), DUR_OK);
    }
    serve_until_idle(engine);
    for (int i = 0; i < MANY; i++) {
        autofree char *id = mem_printf("w%d", i);
        autofree char *expected = mem_printf("%d", i);
        char *result = NULL;
        cr_assert_eq(dur_result(engine, id, 0, &result), DUR_OK);
        cr_assert_str_eq(result, expected);
        dur_free(result);
    }
    check_history(engine, "w0");
    check_history(engine, "w199");
    cr_assert_eq(atomic_load(&calls), 2 * MANY);
    dur_close(engine);
}

/* Marks of runs that were closed long ago, of which more lie there than one turn takes; behind them
 * in line a signal to a cached run, whose timer is due at the same time: its history must be read
 * before it is written to. */
static void leave_marks(struct store *store, const int64_t *closed, const char *id)
{
    struct err err = {0};
    struct execution_row row;
    struct store_context codec;
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct txn *txn = txn_begin(store);
    clock_sleep_ms(20); /* the engine waits for us; its timer falls due */
    for (int i = 0; i < MORE_THAN_A_TURN; i++) {
        task_put(txn, closed[i], TASK_SIGNAL, 1);
    }
    cr_assert_eq(execution_find_open(txn_db(txn), arena, id, &row, &err), 0);
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    event->id = row.next_event_id;
    ev_workflow_execution_signaled(event)->signal_name = "unheard";
    store_context_init(&codec, NULL, row.task_queue, NULL, row.workflow_id, row.run_id);
    store_encode(&codec, event, &text);
    struct event_row stored = {.event_id = event->id,
                               .type = (int)event->type,
                               .time_ns = clock_wall_ns(),
                               .attributes = text.ptr,
                               .attributes_len = text.len};
    event_append(txn, row.id, &stored, 1, row.history_bytes);
    task_put(txn, row.id, TASK_SIGNAL, 1);
    cr_assert_eq(txn_commit(txn, &err), 0, "%s", err.text);
}

Test(serve, more_marks_than_a_turn_takes, .timeout = 60)
{
    static int64_t closed[MORE_THAN_A_TURN];
    struct err err = {0};
    struct store *store = NULL;
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err), 0);
    struct txn *txn = txn_begin(store);
    for (int i = 0; i < MORE_THAN_A_TURN; i++) {
        char id[16];
        snprintf(id, sizeof(id), "old%d", i);
        closed[i] = execution_insert(txn, &(struct execution_row){.workflow_id = id,
                                                                  .run_id = id,
                                                                  .type = "old",
                                                                  .task_queue = "default",
                                                                  .status = EXECUTION_COMPLETED,
                                                                  .next_event_id = 1,
                                                                  .started_ns = 1,
                                                                  .closed_ns = 2});
    }
    cr_assert_eq(txn_commit(txn, &err), 0, "%s", err.text);
    start(engine, "endless", "busy");
    pthread_t thread = serve_begin(engine);
    for (int i = 0; i < 5; i++) {
        int64_t before = events_of(engine, "busy");
        wait_until(events_of(engine, "busy") > before + 8);
        leave_marks(store, closed, "busy");
    }
    int64_t before = events_of(engine, "busy");
    wait_until(events_of(engine, "busy") > before + 8);
    serve_end(engine, thread);
    cr_assert_not(log_has("the store failed"), "%s", fixture_log);
    check_history(engine, "busy");
    store_close(store);
    dur_close(engine);
}

/* --- nobody here can run it --- */

Test(serve, an_unknown_workflow_waits_for_an_engine_that_knows_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *poor;
    int rc = dur_open(&poor, path, &(dur_options){.reserve_bytes = -1, .on_log = keep_line});
    cr_assert_eq(rc, DUR_OK);
    cr_assert_eq(dur_start(poor, "wait_go", "w", NULL, NULL), DUR_OK);
    pthread_t thread = serve_begin(poor);
    wait_until(log_has("run w (wait_go): waits"));
    cr_assert_eq(dur_signal(poor, "w", "go", "5"), DUR_OK);
    cr_assert_eq(dur_result(poor, "w", 20, NULL), DUR_TIMED_OUT);
    serve_end(poor, thread);
    cr_assert_eq(events_of(poor, "w"), 3);
    dur_close(poor);
    dur_engine *engine = open_engine(path);
    serve_until_idle(engine);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "5");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

/* --- parked runs --- */

static void serve_a_while(dur_engine *engine, const char *marker_id)
{
    pthread_t thread = serve_begin(engine);
    start(engine, "chain", marker_id); /* when it is done the engine has looked at all the rest */
    cr_assert_eq(dur_result(engine, marker_id, WAIT_MS, NULL), DUR_OK);
    serve_end(engine, thread);
}

Test(serve, a_failing_task_parks_the_run_and_leaves_one_trace, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "mendable", "w");
    cr_assert_eq(dur_signal(engine, "w", "go", "2"), DUR_OK);
    atomic_store(&bad, 1);
    serve_a_while(engine, "m1");
    wait_until(is_parked(engine, "w"));
    int64_t events = events_of(engine, "w");
    for (int i = 0; i < 3; i++) { /* every next engine tries once, without a trace */
        autofree char *id = mem_printf("n%d", i);
        serve_a_while(engine, id);
        cr_assert(is_parked(engine, "w"));
        cr_assert_eq(events_of(engine, "w"), events);
    }
    check_validity(engine, "w");
    atomic_store(&bad, 0);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, NULL), DUR_OK);
    cr_assert_not(is_parked(engine, "w"));
    check_types(engine, "w", (size_t)events - 2,
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskFailed "
                "WorkflowTaskScheduled WorkflowTaskStarted WorkflowTaskCompleted "
                "WorkflowExecutionCompleted");
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    const struct event *again = &history.items[history.count - 4];
    cr_assert_eq(ev_workflow_task_scheduled(again)->attempt, 2);
    check_history(engine, "w");
    dur_close(engine);
}

Test(serve, signals_to_a_parked_run_are_kept, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "mendable", "w");
    serve_a_while(engine, "m1");
    wait_until(events_of(engine, "w") >= 8);
    atomic_store(&bad, 2); /* replay does not fit any more */
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(is_parked(engine, "w"));
    cr_assert_eq(dur_signal(engine, "w", "go", "2"), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", NULL), DUR_OK);
    start(engine, "chain", "m2");
    cr_assert_eq(dur_result(engine, "m2", WAIT_MS, NULL), DUR_OK);
    serve_end(engine, thread);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&history, EVENT_WORKFLOW_TASK_FAILED), 1);
    const struct event *failed = find_event(&history, EVENT_WORKFLOW_TASK_FAILED);
    cr_assert_eq(ev_workflow_task_failed(failed)->cause,
                 WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR);
    check_validity(engine, "w");
    atomic_store(&bad, 0);
    serve_until_idle(engine);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "1");
    dur_free(result);
    check_history(engine, "w");
    dur_close(engine);
}

Test(serve, a_parked_run_can_be_terminated, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "mendable", "w");
    cr_assert_eq(dur_signal(engine, "w", "go", "1"), DUR_OK);
    atomic_store(&bad, 1);
    pthread_t thread = serve_begin(engine);
    wait_until(is_parked(engine, "w"));
    cr_assert_eq(dur_terminate(engine, "w", "gone"), DUR_OK);
    serve_end(engine, thread);
    serve_until_idle(engine);
    check_validity(engine, "w");
    dur_close(engine);
}
