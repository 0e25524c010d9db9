/*
 * test_engine_remote.c - durable.h on a connected engine: every client call reaches the server's
 * table with what the caller gave, codes and errors come through, what a server does not do is
 * refused. The server is tests/lib/remote_double.h.
 */
#include "tests/lib/remote_double.h"

#include "engine/admin.h"
#include "history/json.h"
#include "history/proto.h"

#define ID "order-1"

/* --- telling ---------------------------------------------------------------------------------- */

Test(engine_remote, starts_reach_the_server_with_their_options)
{
    dur_engine *e = double_connect();
    cr_assert_eq(dur_start(e, "Order", ID, "{\"n\":1}",
                           &(dur_start_options){.task_queue = "q",
                                                .conflict = DUR_CONFLICT_USE_EXISTING,
                                                .run_timeout_ms = 5000}),
                 DUR_OK);
    double_asked("start Order order-1 {\"n\":1} - - queue=q conflict=1 run=5000\n");
    cr_assert_eq(dur_start(e, "Order", ID, NULL, NULL), DUR_OK);
    double_asked("start Order order-1 - - - queue=- conflict=0 run=0\n");
    cr_assert_eq(dur_signal_with_start(e, "Order", ID, "1", "go", "2", NULL), DUR_OK);
    double_asked("start Order order-1 1 go 2 queue=- conflict=0 run=0\n");
    double_close(e);
}

Test(engine_remote, what_is_told_to_runs_reaches_the_server)
{
    dur_engine *e = double_connect();
    char *run_id = NULL;
    double_remote.result = "new-run";
    cr_assert_eq(dur_signal(e, ID, "go", "[1]"), DUR_OK);
    cr_assert_eq(dur_signal_once(e, "order-1@run", "go", NULL, "request"), DUR_OK);
    cr_assert_eq(dur_cancel(e, ID, "why"), DUR_OK);
    cr_assert_eq(dur_terminate(e, ID, NULL), DUR_OK);
    cr_assert_eq(dur_pause(e, ID, "hold"), DUR_OK);
    cr_assert_eq(dur_resume(e, ID, NULL), DUR_OK);
    cr_assert_eq(dur_reset(e, ID, &run_id, &(dur_reset_options){.event_id = 9, .reason = "again"}),
                 DUR_OK);
    cr_assert_str_eq(run_id, "new-run");
    cr_assert_eq(dur_reset(e, ID, NULL, NULL), DUR_OK);
    double_asked("signal order-1 go [1] -\n"
                 "signal order-1@run go - request\n"
                 "cancel order-1 why\n"
                 "terminate order-1 -\n"
                 "pause order-1 hold\n"
                 "resume order-1 -\n"
                 "reset order-1 9 again\n"
                 "reset order-1 0 -\n");
    dur_free(run_id);
    double_close(e);
}

Test(engine_remote, activities_are_completed_by_the_servers_tokens)
{
    dur_engine *e = double_connect();
    char *token = NULL;
    double_remote.result = "t0k";
    cr_assert_eq(dur_complete(e, "t0k", "{}"), DUR_OK);
    cr_assert_eq(dur_complete_failed(e, "t0k", DUR_TRANSIENT, "Busy", "later"), DUR_OK);
    cr_assert_eq(dur_complete_cancelled(e, "t0k"), DUR_OK);
    cr_assert_eq(dur_complete_heartbeat(e, "t0k", "7"), DUR_OK);
    cr_assert_eq(dur_activity_token_of(e, ID, "5", &token), DUR_OK);
    cr_assert_str_eq(token, "t0k");
    double_asked("complete t0k how=0 {} kind=0 - -\n"
                 "complete t0k how=1 - kind=2 Busy later\n"
                 "complete t0k how=2 - kind=0 - -\n"
                 "beat t0k 7\n"
                 "token_of order-1 5\n");
    double_remote.code = DUR_CANCELLED;
    cr_assert_eq(dur_complete_heartbeat(e, "t0k", NULL), DUR_CANCELLED);
    dur_free(token);
    double_close(e);
}

/* --- asking ----------------------------------------------------------------------------------- */

Test(engine_remote, questions_reach_the_server)
{
    dur_engine *e = double_connect();
    char *one = NULL, *two = NULL, *three = NULL, *four = NULL;
    double_remote.result = "42";
    cr_assert_eq(dur_result(e, ID, 250, &one), DUR_OK);
    cr_assert_eq(dur_query(e, ID, "state", "[]", 300, &two), DUR_OK);
    cr_assert_eq(dur_update(e, ID, "add", "1", &three,
                            &(dur_update_options){.wait = DUR_WAIT_ACCEPTED, .timeout_ms = 9}),
                 DUR_OK);
    cr_assert_eq(dur_update_result(e, ID, "u1", -1, &four), DUR_OK);
    cr_assert_str_eq(one, "42");
    cr_assert_str_eq(two, "42");
    cr_assert_str_eq(three, "42");
    cr_assert_str_eq(four, "42");
    cr_assert_eq(dur_result(e, ID, -1, NULL), DUR_OK); /* nobody wants the answer: nothing leaks */
    cr_assert_eq(dur_query(e, ID, "state", NULL, -1, NULL), DUR_OK);
    cr_assert_eq(dur_update(e, ID, "add", NULL, NULL, NULL), DUR_OK);
    cr_assert_eq(dur_update_result(e, ID, "u1", 0, NULL), DUR_OK);
    double_asked("result order-1 250\n"
                 "query order-1 state [] 300\n"
                 "update order-1 add 1 wait=1 9\n"
                 "update_result order-1 u1 -1\n"
                 "result order-1 -1\n"
                 "query order-1 state - -1\n"
                 "update order-1 add - wait=0 0\n"
                 "update_result order-1 u1 0\n");
    dur_free(one);
    dur_free(two);
    dur_free(three);
    dur_free(four);
    double_close(e);
}

Test(engine_remote, a_stale_answer_says_so)
{
    dur_engine *e = double_connect();
    char *result = NULL;
    double_remote.result = "1";
    double_remote.code = 1;
    double_remote.text = "run order-1 is parked: answered as of event 4";
    cr_assert_eq(dur_query(e, ID, "state", NULL, 10, &result), 1);
    cr_assert_str_eq(result, "1");
    cr_assert_str_eq(dur_error(e), "run order-1 is parked: answered as of event 4");
    dur_free(result);
    double_close(e);
}

static int keep_rows(void *user, int64_t token, const dur_description *d)
{
    str_addf(user, "%lld %s\n", (long long)token, d->workflow_id);
    return token == 2;
}

static const dur_description rows[] = {
    {.workflow_id = "a"}, {.workflow_id = "b"}, {.workflow_id = "c"}};

Test(engine_remote, lists_come_from_the_server)
{
    dur_engine *e = double_connect();
    autostr struct str seen = {0};
    double_remote.list = rows;
    double_remote.list_count = 3;
    cr_assert_eq(dur_list(e, DUR_COMPLETED, 0, 10, keep_rows, &seen), DUR_OK);
    cr_assert_eq(dur_list_where(e, "WorkflowType = 'A'", 2, 5, keep_rows, &seen), DUR_OK);
    cr_assert_eq(dur_list_where(e, " \n", 3, 5, keep_rows, &seen), DUR_OK);
    cr_assert_str_eq(str_c(&seen), "1 a\n2 b\n3 c\n");
    double_asked("list - status=2 after=0 limit=10\n"
                 "list WorkflowType = 'A' status=0 after=2 limit=5\n"
                 "list - status=0 after=3 limit=5\n");
    double_close(e);
}

Test(engine_remote, a_description_outlives_the_call)
{
    dur_engine *e = double_connect();
    dur_description *d = NULL;
    double_remote.description = (dur_description){
        .workflow_id = ID, .run_id = "r1", .type = "Order", .status = DUR_RUNNING};
    cr_assert_eq(dur_describe(e, ID, &d), DUR_OK);
    cr_assert_str_eq(d->workflow_id, ID);
    cr_assert_str_eq(d->memo, "{}"); /* what durable.h never gives as NULL */
    cr_assert_str_eq(d->search_attributes, "{}");
    cr_assert_str_eq(d->first_run_id, "r1");
    dur_description_free(d);
    double_remote.code = DUR_NOT_FOUND;
    double_remote.text = "no run has the id order-1";
    d = NULL;
    cr_assert_eq(dur_describe(e, ID, &d), DUR_NOT_FOUND);
    cr_assert_null(d);
    double_close(e);
}

/* --- histories -------------------------------------------------------------------------------- */

static struct history made_history(struct arena *arena, int signals)
{
    struct history h = {0};
    struct event *event = history_append(&h, arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    ev_workflow_execution_started(event)->workflow_type = "Order";
    ev_workflow_execution_started(event)->workflow_id = ID;
    event->time_ns = 1767225600000000000LL;
    for (int i = 0; i < signals; i++) {
        event = history_append(&h, arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
        ev_workflow_execution_signaled(event)->signal_name = "go";
        ev_workflow_execution_signaled(event)->input = payloads_json(arena, "{\"n\": 1}");
        event->time_ns = 1767225600000000000LL + i;
    }
    return h;
}

struct piece {
    struct str text;
    int calls, least; /* refuse from this call on; 0: never */
};

static int keep_bytes(void *user, const void *bytes, size_t len)
{
    struct piece *to = user;
    to->calls++;
    if (to->least && to->calls >= to->least) {
        return 1;
    }
    str_addn(&to->text, bytes, len);
    return 0;
}

Test(engine_remote, histories_are_printed_in_both_forms)
{
    dur_engine *e = double_connect();
    autoarena struct arena *arena = arena_new();
    struct history h = made_history(arena, 2000);
    autostr struct str json = {0}, proto = {0};
    struct piece pieces = {0};
    char *text = NULL;
    history_to_json(&json, &h);
    history_to_proto(&proto, &h);
    double_remote.history = &h;
    double_remote.piece = 7;
    cr_assert_eq(dur_history(e, ID, &text), DUR_OK);
    cr_assert_str_eq(text, str_c(&json));
    cr_assert_eq(dur_export(e, ID, DUR_FORM_JSON, keep_bytes, &pieces), DUR_OK);
    cr_assert_str_eq(str_c(&pieces.text), str_c(&json));
    cr_assert_gt(pieces.calls, 1); /* it was not gathered first */
    str_reset(&pieces.text);
    cr_assert_eq(dur_export(e, "order-1@r", DUR_FORM_PROTOBUF, keep_bytes, &pieces), DUR_OK);
    cr_assert_eq(pieces.text.len, proto.len);
    cr_assert_eq(memcmp(pieces.text.ptr, proto.ptr, proto.len), 0);
    double_asked("history order-1\nhistory order-1\nhistory order-1@r\n");
    str_free(&pieces.text);
    dur_free(text);
    double_close(e);
}

Test(engine_remote, a_receiver_may_break_an_export_off)
{
    dur_engine *e = double_connect();
    autoarena struct arena *arena = arena_new();
    struct history h = made_history(arena, 6000);
    struct piece first = {.least = 1}, second = {.least = 2};
    double_remote.history = &h;
    double_remote.piece = 100;
    cr_assert_eq(dur_export(e, ID, DUR_FORM_JSON, keep_bytes, &first), DUR_IO);
    cr_assert_str_eq(dur_error(e), "the export of order-1 was broken off by its receiver");
    cr_assert_eq(first.calls, 1);
    cr_assert_eq(dur_export(e, ID, DUR_FORM_PROTOBUF, keep_bytes, &second), DUR_IO);
    cr_assert_eq(second.calls, 2);
    double_asked("history order-1\nbroken off\nhistory order-1\nbroken off\n");
    str_free(&second.text);
    double_close(e);
}

Test(engine_remote, a_history_that_fails_gives_nothing)
{
    dur_engine *e = double_connect();
    struct piece piece = {0};
    char *text = NULL;
    double_remote.code = DUR_NOT_FOUND;
    double_remote.text = "no run has the id order-1";
    cr_assert_eq(dur_history(e, ID, &text), DUR_NOT_FOUND);
    cr_assert_null(text);
    cr_assert_eq(dur_export(e, ID, DUR_FORM_JSON, keep_bytes, &piece), DUR_NOT_FOUND);
    cr_assert_eq(piece.calls, 0);
    double_close(e);
}

/* --- failures and refusals -------------------------------------------------------------------- */

Test(engine_remote, codes_and_errors_come_through)
{
    static const int codes[] = {DUR_IO,       DUR_NOT_FOUND, DUR_EXISTS,    DUR_LIMIT,
                                DUR_REJECTED, DUR_FAILED,    DUR_TIMED_OUT, DUR_CANCELLED};
    dur_engine *e = double_connect();
    double_remote.text = "127.0.0.1:7233: SignalWorkflowExecution: what to check";
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        char *result = NULL;
        double_remote.code = codes[i];
        cr_assert_eq(dur_signal(e, ID, "go", NULL), codes[i]);
        cr_assert_str_eq(dur_error(e), double_remote.text);
        cr_assert_eq(dur_start(e, "T", ID, NULL, NULL), codes[i]);
        cr_assert_eq(dur_list(e, 0, 0, 1, keep_rows, NULL), codes[i]);
        cr_assert_eq(dur_query(e, ID, "q", NULL, 1, &result), codes[i]);
        cr_assert_eq(dur_update(e, ID, "q", NULL, &result, NULL), codes[i]);
        cr_assert_eq(dur_result(e, ID, 1, &result), codes[i]);
        cr_assert_null(result);
    }
    double_close(e);
}

Test(engine_remote, bad_arguments_never_reach_the_server)
{
    dur_engine *e = double_connect();
    dur_description *d;
    char *text;
    cr_assert_eq(dur_start(e, "", ID, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_start(e, "T", ID, "{", NULL), DUR_INVALID);
    cr_assert_eq(dur_start(e, "T", ID, NULL, &(dur_start_options){.memo = "[]"}), DUR_INVALID);
    cr_assert_eq(dur_start(e, "T", ID, NULL, &(dur_start_options){.cron = "x"}), DUR_INVALID);
    cr_assert_eq(dur_signal(e, ID, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_signal(e, ID, "go", "nonsense"), DUR_INVALID);
    cr_assert_eq(dur_signal_once(e, ID, "go", NULL, ""), DUR_INVALID);
    cr_assert_eq(dur_signal(e, NULL, "go", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_cancel(e, "", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_cancel(e, "\xff", NULL), DUR_NOT_FOUND);
    cr_assert_eq(dur_describe(e, NULL, &d), DUR_NOT_FOUND);
    cr_assert_eq(dur_describe(e, ID, NULL), DUR_INVALID);
    cr_assert_eq(dur_history(e, "", &text), DUR_NOT_FOUND);
    cr_assert_eq(dur_list(e, 99, 0, 1, keep_rows, NULL), DUR_INVALID);
    cr_assert_eq(dur_list_where(e, NULL, 0, 1, keep_rows, NULL), DUR_INVALID);
    cr_assert_eq(dur_query(e, ID, "", NULL, 0, NULL), DUR_INVALID);
    cr_assert_eq(dur_update(e, ID, "u", "x", NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_update_result(e, ID, "", 0, NULL), DUR_INVALID);
    cr_assert_eq(dur_complete(e, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_complete(e, "t", "x"), DUR_INVALID);
    cr_assert_eq(dur_complete_failed(e, "t", 9, "T", "m"), DUR_INVALID);
    cr_assert_eq(dur_complete_heartbeat(e, "", NULL), DUR_INVALID);
    cr_assert_eq(dur_activity_token_of(e, ID, NULL, &text), DUR_INVALID);
    double_asked("");
    double_close(e);
}

static int no_activity(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static int no_schedule(void *user, const dur_schedule_info *info)
{
    (void)user;
    (void)info;
    return 0;
}

Test(engine_remote, what_only_a_store_does_is_refused_with_what_to_do)
{
    dur_engine *e = double_connect();
    dur_schedule_info *info;
    const dur_schedule schedule = {.workflow_type = "T"};
    cr_assert_eq(dur_import(e, "{}", 2, NULL, NULL), DUR_INVALID);
    cr_assert_str_eq(dur_error(e), "runs of this engine live on the server at 127.0.0.1:7233: a "
                                   "history is imported into a store, opened by dur_open");
    cr_assert_eq(dur_schedule_set(e, "s", &schedule), DUR_INVALID);
    cr_assert_str_eq(dur_error(e), "runs of this engine live on the server at 127.0.0.1:7233: make "
                                   "the schedule with the server's own tools, or give dur_start a "
                                   "cron text");
    cr_assert_eq(dur_schedule_remove(e, "s"), DUR_INVALID);
    cr_assert_eq(dur_schedule_pause(e, "s", NULL), DUR_INVALID);
    cr_assert_eq(dur_schedule_resume(e, "s", NULL), DUR_INVALID);
    cr_assert_eq(dur_schedule_trigger(e, "s", 0), DUR_INVALID);
    cr_assert_eq(dur_schedule_backfill(e, "s", 0, 1, 0), DUR_INVALID);
    cr_assert_eq(dur_schedule_describe(e, "s", &info), DUR_INVALID);
    cr_assert_eq(dur_schedule_list(e, NULL, 1, no_schedule, NULL), DUR_INVALID);
    cr_assert_eq(dur_test_mock(e, "a", no_activity, NULL), DUR_INVALID);
    cr_assert_eq(dur_test_run(e), DUR_INVALID);
    cr_assert_eq(dur_test_advance(e, 1), DUR_INVALID);
    cr_assert_eq(dur_test_now(e), 0);
    cr_assert_eq(dur_queue(e, "q", &(dur_queue_options){.per_key = 1}), DUR_INVALID);
    cr_assert_not_null(strstr(dur_error(e), "no limit per key"));
    double_asked("");
    double_close(e);
}

Test(engine_remote, an_engine_that_did_not_connect_says_so)
{
    dur_engine *e = NULL;
    cr_assert_eq(engine_new(&e), DUR_OK);
    double_remote.code = DUR_NOT_FOUND;
    double_remote.text = "127.0.0.1:7233 has no namespace nowhere";
    cr_assert_eq(engine_connect(e, &double_module, "127.0.0.1:7233",
                                &(dur_connect_options){.name_space = "nowhere", .lazy = 1}),
                 DUR_NOT_FOUND);
    cr_assert_str_eq(dur_error(e), double_remote.text);
    double_asked("open 127.0.0.1:7233 nowhere lazy=1\n");
    cr_assert_eq(dur_signal(e, ID, "go", NULL), DUR_INVALID);
    cr_assert_eq(dur_serve(e, DUR_UNTIL_STOPPED), DUR_INVALID);
    cr_assert_str_eq(dur_error(e), "the engine is not open: opening it failed");
    cr_assert_eq(engine_connect(e, &double_module, "", &(dur_connect_options){0}), DUR_INVALID);
    dur_close(e);
    cr_assert_eq(double_remote.closed, 0); /* there was nothing to close */
    str_free(&double_remote.log);
}

static void *wait_for_result(void *engine)
{
    char *result = NULL;
    cr_assert_eq(dur_result(engine, ID, -1, &result), DUR_CANCELLED);
    cr_assert_null(result);
    return NULL;
}

Test(engine_remote, closing_cuts_short_what_waits, .timeout = 60)
{
    dur_engine *e = double_connect();
    pthread_t threads[4];
    double_remote.waits = true;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, wait_for_result, e), 0);
    }
    while (atomic_load(&double_remote.waiting) < (int)ARRAY_LEN(threads)) {
        clock_sleep_ms(1);
    }
    dur_close(e);
    cr_assert_eq(atomic_load(&double_remote.waiting), 0);
    cr_assert_eq(double_remote.closed, 1);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    str_free(&double_remote.log);
}

Test(engine_remote, a_forked_child_touches_nothing)
{
    dur_engine *e = double_connect();
    pid_t pid = fork();
    if (pid == 0) {
        bool is_refused = dur_signal(e, ID, "go", NULL) == DUR_INVALID &&
                          strstr(dur_error(e), "exec a program that connects") &&
                          dur_serve(e, DUR_UNTIL_STOPPED) == DUR_INVALID;
        dur_close(e);
        _exit(is_refused && double_remote.closed == 0 && double_remote.log.len == 0 ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    cr_assert_eq(dur_signal(e, ID, "go", NULL), DUR_OK);
    double_close(e);
}
