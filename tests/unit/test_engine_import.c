/*
 * test_engine_import.c - dur_import, dur_export and the replay of long histories.
 */
#include <sys/resource.h>

#include "engine/admin.h"
#include "history/builder.h"
#include "history/diff.h"
#include "history/proto.h"
#include "history/source.h"
#include "tests/lib/engine_fixture.h"

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

/* What the builder's histories below were recorded of. */
static int greet(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)input;
    int rc = dur_run(ctx, "hello", "\"ada\"", result, NULL);
    return rc == DUR_OK ? dur_upsert_memo(ctx, "{\"mood\":\"good\"}") : rc;
}

static int rest(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)input;
    (void)result;
    dur_future *activity = dur_start_activity(ctx, "hello", "1", NULL);
    int rc = dur_sleep(ctx, 3600 * DUR_SECONDS);
    return rc == DUR_OK ? dur_await(ctx, activity, result) : rc;
}

static int loop(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    int rc = DUR_OK;
    int rounds = str_eq(input, "null") ? 8334 : (int)strtol(input, NULL, 10);
    for (int i = 0; rc == DUR_OK && i < rounds; i++) {
        rc = dur_run(ctx, "step", "1", NULL, NULL);
    }
    return rc;
}

static int family(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)input;
    return dur_run_child(ctx, "greet", "1", result, &(dur_child_options){.workflow_id = "kid"});
}

static int change(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)ctx;
    *(int *)arg = 1;
    *result = input;
    return DUR_OK;
}

static int has_changed(void *arg)
{
    return *(int *)arg;
}

static int changeable(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int changed = 0;
    (void)user;
    (void)input;
    (void)result;
    dur_on_update(ctx, "change", NULL, change, &changed);
    int rc = dur_wait(ctx, has_changed, &changed, -1);
    return rc == DUR_OK ? dur_sleep(ctx, 1000 * DUR_DAYS) : rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "family", family, NULL);
    dur_register_workflow(engine, "changeable", changeable, NULL);
    dur_register_activity(engine, "hello", echo, NULL);
    dur_register_activity(engine, "step", echo, NULL);
    dur_register_workflow(engine, "greet", greet, NULL);
    dur_register_workflow(engine, "rest", rest, NULL);
    dur_register_workflow(engine, "loop", loop, NULL);
}

static void make_greet(struct builder *b, struct arena *arena)
{
    builder_init(b, arena, "greet");
    build_task(b);
    build_activity_done(b, build_activity(b, "1", "hello", "\"ada\""), "\"hi ada\"");
    build_task(b);
    build_memo(b, "mood", "\"good\"");
    build_completed(b, "\"hi ada\"");
}

/* Open, with an activity and a timer. */
static void make_rest(struct builder *b, struct arena *arena)
{
    builder_init(b, arena, "rest");
    build_task(b);
    build_activity(b, "1", "hello", "1");
    struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(&b->history.items[4]);
    a->schedule_to_close_timeout = a->schedule_to_start_timeout = 0; /* long past */
    build_timer(b, "1", 3600 * NS_PER_S);
}

static int import_built(dur_engine *engine, const struct builder *b, char **run, const char *id)
{
    autostr struct str text = {0};
    history_to_json(&text, &b->history);
    return dur_import(engine, text.ptr, text.len, run, &(dur_import_options){.id = id});
}

static void exported_equals(dur_engine *engine, const char *id, const struct history *expected,
                            unsigned ignore)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str difference = {0};
    struct history history = read_history(engine, arena, id);
    cr_assert(history_equal(expected, &history, ignore, &difference), "%s", str_c(&difference));
}

Test(import, a_closed_run_is_a_closed_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char *run = NULL;
    char *result = NULL;
    dur_description *d;
    dur_engine *engine = open_engine(path);
    make_greet(&b, arena);
    cr_assert_eq(import_built(engine, &b, &run, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(run, "greet-1@00000000-0000-4000-8000-000000000001");
    exported_equals(engine, "greet-1", &b.history, DIFF_EXACT);
    exported_equals(engine, run, &b.history, DIFF_EXACT);
    cr_assert_eq(dur_result(engine, "greet-1", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "\"hi ada\"");
    cr_assert_eq(dur_describe(engine, "greet-1", &d), DUR_OK);
    cr_assert_eq(d->status, DUR_COMPLETED);
    cr_assert_eq(d->started_ns, b.history.items[0].time_ns);
    cr_assert_eq(d->closed_ns, b.history.items[b.history.count - 1].time_ns);
    cr_assert_eq(d->history_events, (int64_t)b.history.count);
    cr_assert_str_eq(d->memo, "{\"mood\":\"good\"}");
    dur_description_free(d);
    check_history(engine, "greet-1");
    serve_until_idle(engine); /* nothing to do */
    exported_equals(engine, "greet-1", &b.history, DIFF_EXACT);
    dur_free(run);
    dur_free(result);
    dur_close(engine);
}

Test(import, both_forms_are_read, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0};
    struct builder b;
    dur_engine *engine = open_engine(path);
    make_greet(&b, arena);
    history_to_proto(&bytes, &b.history);
    cr_assert_eq(dur_import(engine, bytes.ptr, bytes.len, NULL, NULL), DUR_OK, "%s",
                 dur_error(engine));
    exported_equals(engine, "greet-1", &b.history, DIFF_EXACT);
    dur_close(engine);
}

Test(import, every_way_to_end_has_its_status, .timeout = 60)
{
    static const dur_status statuses[] = {DUR_RUN_FAILED, DUR_CANCELED, DUR_TERMINATED,
                                          DUR_RUN_TIMED_OUT, DUR_CONTINUED_AS_NEW};
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        autoarena struct arena *arena = arena_new();
        struct builder b;
        dur_description *d;
        builder_init(&b, arena, "greet");
        build_task(&b);
        switch (statuses[i]) {
        case DUR_RUN_FAILED:
            build_failed(&b, NULL);
            break;
        case DUR_CANCELED:
            build_canceled(&b);
            break;
        case DUR_TERMINATED:
            build_terminated(&b, "enough");
            break;
        case DUR_RUN_TIMED_OUT:
            build_timed_out(&b);
            break;
        default:
            build_continued(&b, "1");
            break;
        }
        autofree char *id = mem_printf("w-%zu", i);
        cr_assert_eq(import_built(engine, &b, NULL, id), DUR_OK, "%s", dur_error(engine));
        cr_assert_eq(dur_describe(engine, id, &d), DUR_OK);
        cr_assert_eq(d->status, statuses[i]);
        dur_description_free(d);
    }
    dur_close(engine);
}

Test(import, another_id_makes_another_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char *first = NULL;
    char *second = NULL;
    dur_engine *engine = open_engine(path);
    make_greet(&b, arena);
    cr_assert_eq(import_built(engine, &b, &first, NULL), DUR_OK);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_EXISTS);
    cr_assert(strstr(dur_error(engine), "already"), "%s", dur_error(engine));
    cr_assert_eq(import_built(engine, &b, &second, "copy"), DUR_OK, "%s", dur_error(engine));
    cr_assert(str_starts(second, "copy@"));
    cr_assert_str_neq(strchr(first, '@'), strchr(second, '@'));
    ev_workflow_execution_started(&b.history.items[0])->workflow_id = "copy";
    exported_equals(engine, "copy", &b.history, DIFF_EXACT);
    dur_free(first);
    dur_free(second);
    dur_close(engine);
}

/* A later run of the same id would no longer be the newest. */
Test(import, a_newer_run_of_that_id_is_in_the_way, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    dur_engine *engine = open_engine(path);
    make_greet(&b, arena);
    cr_assert_eq(dur_start(engine, "greet", "greet-1", NULL, NULL), DUR_OK);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_EXISTS);
    cr_assert(strstr(dur_error(engine), "an open run"), "%s", dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_EXISTS);
    cr_assert(strstr(dur_error(engine), "a later run"), "%s", dur_error(engine));
    dur_close(engine);
}

Test(import, a_full_store_takes_none, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    dur_engine *engine = open_with(path, (dur_options){.max_db_bytes = 4096});
    make_greet(&b, arena);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_FULL, "%s", dur_error(engine));
    cr_assert_eq(dur_describe(engine, "greet-1", &(dur_description *){NULL}), DUR_NOT_FOUND);
    dur_close(engine);
}

static void refused(dur_engine *engine, const struct builder *b, const char *needle)
{
    cr_assert_eq(import_built(engine, b, NULL, NULL), DUR_INVALID, "%s", needle);
    cr_assert(strstr(dur_error(engine), needle), "%s", dur_error(engine));
    cr_assert_eq(dur_describe(engine, "rest-1", &(dur_description *){NULL}), DUR_NOT_FOUND);
}

Test(import, what_is_no_valid_history_is_refused, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    dur_engine *engine = open_engine(path);
    make_rest(&b, arena);
    b.history.items[4].id = 9;
    refused(engine, &b, "event 9 ActivityTaskScheduled breaks H2");
    b.history.items[4].id = 5;
    ev_workflow_execution_started(&b.history.items[0])->workflow_id = NULL;
    refused(engine, &b, "workflow id: give it one");
    ev_workflow_execution_started(&b.history.items[0])->workflow_id = "rest-1";
    ev_workflow_execution_started(&b.history.items[0])->workflow_type = NULL;
    refused(engine, &b, "workflow type");
    b.history.count = 0;
    refused(engine, &b, "no events");
    cr_assert_eq(dur_import(engine, "nonsense", 8, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_import(engine, "\n\x05\x08", 3, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_import(engine, NULL, 0, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_import(NULL, "{}", 2, NULL, NULL), DUR_INVALID);
    dur_close(engine);
}

Test(import, what_others_must_end_keeps_an_open_run_out, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    dur_engine *engine = open_engine(path);
    make_rest(&b, arena);
    build_activity_started(&b, 5, 1);
    refused(engine, &b, "waits for event 5 (ActivityTaskScheduled)");
    builder_init(&b, arena, "rest");
    build_task(&b);
    build_child(&b, "kid", "k", "1");
    refused(engine, &b, "waits for event 5 (StartChildWorkflowExecutionInitiated)");
    build_child_started(&b, 5);
    refused(engine, &b, "waits for its child kid (event 5): import that run first");
    dur_close(engine);
}

Test(import, an_open_run_is_paused_and_complete, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct admin_activities activities;
    struct builder b;
    dur_description *d;
    dur_engine *engine = open_engine(path);
    make_rest(&b, arena);
    build_signal(&b, "go", "1");
    build_task_scheduled(&b);
    build_task_started(&b); /* in flight elsewhere: not taken over */
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    b.history.count--;
    exported_equals(engine, "rest-1", &b.history, DIFF_EXACT);
    cr_assert_eq(dur_describe(engine, "rest-1", &d), DUR_OK);
    cr_assert_eq(d->status, DUR_PAUSED);
    cr_assert_eq(d->closed_ns, 0);
    cr_assert_str_eq(d->paused, "imported");
    dur_description_free(d);
    cr_assert_eq(admin_activities(engine, arena, "rest-1", &activities), DUR_OK);
    cr_assert_eq(activities.count, 1);
    cr_assert_eq(activities.rows[0].scheduled_event_id, 5);
    cr_assert_eq(activities.rows[0].state, ADMIN_WAITING);
    cr_assert_eq(activities.rows[0].attempt, 1);
    cr_assert_eq(activities.rows[0].scheduled_ns, b.history.items[4].time_ns);
    dur_close(engine);
}

/* The run that event 5 of a family started: the greeting above, closed or just begun. */
static void import_kid(dur_engine *engine, bool closed)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;
    make_greet(&b, arena);
    ev_workflow_execution_started(&b.history.items[0])->original_execution_run_id =
        "00000000-0000-4000-9000-000000000005";
    ev_workflow_execution_started(&b.history.items[0])->parent_initiated_event_id = 5;
    b.history.count = closed ? b.history.count : 2;
    cr_assert_eq(import_built(engine, &b, NULL, "kid"), DUR_OK, "%s", dur_error(engine));
}

static void family_goes_on(bool closed)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    builder_init(&b, arena, "family");
    build_task(&b);
    build_child(&b, "kid", "greet", "1");
    build_child_started(&b, 5);
    import_kid(engine, closed);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_resume(engine, "family-1", NULL), DUR_OK, "%s", dur_error(engine));
    if (!closed) {
        cr_assert_eq(dur_resume(engine, "kid", NULL), DUR_OK, "%s", dur_error(engine));
    }
    pthread_t thread = serve_begin(engine);
    int rc = dur_result(engine, "family-1", WAIT_MS, &result);
    serve_end(engine, thread);
    cr_assert_eq(rc, DUR_OK, "%s\n%s", dur_error(engine), fixture_log);
    cr_assert_str_eq(result, closed ? "\"hi ada\"" : "\"ada\"");
    check_history(engine, "family-1");
    dur_free(result);
    dur_close(engine);
}

Test(import, a_child_that_was_imported_first_reports_its_end, .timeout = 60)
{
    family_goes_on(false);
}

Test(import, a_child_that_had_ended_is_heard_of, .timeout = 60)
{
    family_goes_on(true);
}

/* --- updates -----------------------------------------------------------------------------------
 */

static void build_update(struct builder *b, bool completed)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    struct ev_workflow_execution_update_accepted *a = ev_workflow_execution_update_accepted(event);
    struct update_request *request = arena_new_of(b->arena, struct update_request);
    int64_t accepted = event->id;
    request->meta = arena_new_of(b->arena, struct update_meta);
    request->meta->update_id = "u1";
    request->input = arena_new_of(b->arena, struct update_input);
    request->input->name = "change";
    request->input->args = payloads_json(b->arena, "7");
    a->protocol_instance_id = "u1";
    a->accepted_request_message_id = "u1/request";
    a->accepted_request_sequencing_event_id = b->scheduled;
    a->accepted_request = request;
    if (completed) {
        event = build_event(b, EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
        struct ev_workflow_execution_update_completed *c =
            ev_workflow_execution_update_completed(event);
        c->meta = request->meta;
        c->outcome = arena_new_of(b->arena, struct update_outcome);
        c->outcome->success = payloads_json(b->arena, "7");
        c->accepted_event_id = accepted;
    }
}

Test(import, answers_to_updates_come_along, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    builder_init(&b, arena, "changeable");
    build_task(&b);
    build_update(&b, true);
    build_completed(&b, NULL);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_update_result(engine, "changeable-1", "u1", 0, &result), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_str_eq(result, "7");
    dur_free(result);
    dur_close(engine);
}

/* The run ended first: whoever asks for the outcome is told so, not left waiting. */
Test(import, updates_that_a_closed_run_left_open_are_cut_off, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    dur_engine *engine = open_engine(path);
    builder_init(&b, arena, "changeable");
    build_task(&b);
    build_update(&b, false);
    build_completed(&b, NULL);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_update_result(engine, "changeable-1", "u1", 0, NULL), DUR_FAILED, "%s",
                 dur_error(engine));
    dur_close(engine);
}

/* --- export ------------------------------------------------------------------------------------
 */

struct sink {
    struct str text;
    size_t pieces;
    size_t stop_after;
    size_t longest;
};

static int take(void *user, const void *bytes, size_t len)
{
    struct sink *sink = user;
    str_addn(&sink->text, bytes, len);
    sink->longest = len > sink->longest ? len : sink->longest;
    return ++sink->pieces == sink->stop_after;
}

Test(export, both_forms_say_the_same, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct sink json = {0}, proto = {0};
    struct history from_json = {0}, from_proto = {0};
    struct builder b;
    struct err err = {0};
    char *text = NULL;
    dur_engine *engine = open_engine(path);
    make_greet(&b, arena);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK);
    cr_assert_eq(dur_export(engine, "greet-1", DUR_FORM_JSON, take, &json), DUR_OK);
    cr_assert_eq(dur_export(engine, "greet-1", DUR_FORM_PROTOBUF, take, &proto), DUR_OK);
    cr_assert_eq(dur_history(engine, "greet-1", &text), DUR_OK);
    cr_assert_str_eq(text, str_c(&json.text));
    cr_assert_eq(history_from_json(arena, json.text.ptr, json.text.len, &from_json, &err), 0);
    cr_assert_eq(history_from_proto(arena, proto.text.ptr, proto.text.len, &from_proto, &err), 0);
    cr_assert(history_equal(&b.history, &from_json, DIFF_EXACT, NULL));
    cr_assert(history_equal(&b.history, &from_proto, DIFF_EXACT, NULL));
    cr_assert_eq(dur_export(engine, "none", DUR_FORM_JSON, take, &json), DUR_NOT_FOUND);
    cr_assert_eq(dur_export(engine, "greet-1", DUR_FORM_JSON, NULL, NULL), DUR_INVALID);
    cr_assert_eq(dur_export(engine, "greet-1", (dur_form)7, take, &json), DUR_INVALID);
    dur_free(text);
    str_free(&json.text);
    str_free(&proto.text);
    dur_close(engine);
}

/* --- long histories ----------------------------------------------------------------------------
 */

static long resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void make_rounds(struct builder *b, struct arena *arena, size_t events)
{
    builder_init(b, arena, "loop");
    for (int i = 1; b->history.count < events; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        build_task(b);
        if (b->history.count == 4) { /* as its writer said: ids and types are compared */
            struct sdk_metadata *sdk = arena_new_of(arena, struct sdk_metadata);
            sdk->sdk_name = "libdurable";
            ev_workflow_task_completed(&b->history.items[3])->sdk_metadata = sdk;
        }
        build_activity_done(b, build_activity(b, id, "step", "1"), "2");
    }
}

static void make_loop(struct builder *b, struct arena *arena)
{
    make_rounds(b, arena, 50000);
    build_task(b);
    build_completed(b, NULL);
}

/* The bytes are made in another process, so that only the replay counts here. */
static char *recorded_loop(bool proto, bool closed)
{
    char *path = temp_path("loop.history");
    pid_t pid = fork();
    if (pid == 0) {
        struct arena *arena = arena_new();
        struct str text = {0};
        struct builder b;
        if (closed) {
            make_loop(&b, arena);
        } else {
            make_rounds(&b, arena, 50000);
        }
        if (proto) {
            history_to_proto(&text, &b.history);
        } else {
            history_to_json(&text, &b.history);
        }
        _exit(fs_write_file(path, text.ptr, text.len, 0600, NULL) < 0);
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    return path;
}

static void replay_loop(bool proto)
{
    autofree char *store = temp_path("e.db");
    autofree char *path = recorded_loop(proto, true);
    autostr struct str text = {0};
    struct err err = {0};
    char *report = NULL;
    dur_engine *engine = open_engine(store);
    cr_assert_eq(fs_read_file(path, 1U << 30, &text, &err), 0, "%s", err.text);
    long before = resident_kib();
    cr_assert_eq(dur_replay_bytes(engine, text.ptr, text.len, &report), DUR_OK, "%s\n%s",
                 dur_error(engine), report ? report : "");
    long grown = resident_kib() - before;
    printf("# replay of a history of %zu bytes needed %ld KiB\n", text.len, grown);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cr_assert_lt(grown, 8 * 1024, "%ld KiB", grown);
#endif
    dur_close(engine);
}

Test(long_history, replays_in_little_memory, .timeout = 300)
{
    replay_loop(false);
}

Test(long_history, in_the_binary_form_too, .timeout = 300)
{
    replay_loop(true);
}

Test(long_history, is_exported_in_pieces, .timeout = 300)
{
    autofree char *path = temp_path("e.db");
    struct sink sink = {0}, stopped = {.stop_after = 2};
    dur_engine *engine = open_engine(path);
    {
        autofree char *file = recorded_loop(true, true);
        autostr struct str text = {0};
        cr_assert_eq(fs_read_file(file, 1U << 30, &text, NULL), 0);
        cr_assert_eq(dur_import(engine, text.ptr, text.len, NULL, NULL), DUR_OK, "%s",
                     dur_error(engine));
    }
    cr_assert_eq(dur_export(engine, "loop-1", DUR_FORM_JSON, take, &sink), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_gt(sink.pieces, 100);
    cr_assert_lt(sink.longest, 128 * 1024);
    cr_assert_eq(dur_replay_bytes(engine, sink.text.ptr, sink.text.len, NULL), DUR_OK);
    cr_assert_eq(dur_export(engine, "loop-1", DUR_FORM_JSON, take, &stopped), DUR_IO);
    cr_assert_eq(stopped.pieces, 2);
    str_free(&sink.text);
    str_free(&stopped.text);
    dur_close(engine);
}

/* The window never ends between a task and its commands, wherever the history is cut. */
Test(long_history, a_mismatch_is_found_far_inside, .timeout = 300)
{
    autofree char *store = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct builder b;
    char *report = NULL;
    dur_engine *engine = open_engine(store);
    make_loop(&b, arena);
    cr_assert_eq(b.history.items[40000 - 40000 % 6 + 4].type, EVENT_ACTIVITY_TASK_SCHEDULED);
    ev_activity_task_scheduled(&b.history.items[40000 - 40000 % 6 + 4])->activity_type = "other";
    history_to_json(&text, &b.history);
    cr_assert_eq(dur_replay_bytes(engine, text.ptr, text.len, &report), DUR_MISMATCH);
    cr_assert(strstr(report, "40001"), "%s", report);
    dur_free(report);
    dur_close(engine);
}

/* Its timer has been due for long: that is recorded while it is paused. Resumed, its code goes on,
 * and the activity that waited is run here. */
Test(import, an_open_run_goes_on_when_resumed, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    make_rest(&b, arena);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "rest-1") == (int64_t)b.history.count + 1);
    check_types(engine, "rest-1", 6, "TimerStarted TimerFired");
    cr_assert_eq(dur_resume(engine, "rest-1", "looked at"), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_result(engine, "rest-1", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    serve_end(engine, thread);
    cr_assert_str_eq(result, "1");
    check_history(engine, "rest-1");
    dur_free(result);
    dur_close(engine);
}

/* While another process serves the store. */
Test(import, a_serving_engine_takes_it_up, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char *result = NULL;
    dur_close(open_engine(path));
    pid_t pid = serve_in_child(path);
    dur_engine *engine = open_engine(path);
    make_rest(&b, arena);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    int64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while (events_of(engine, "rest-1") == (int64_t)b.history.count && clock_mono_ns() < until) {
        clock_sleep_ms(1);
    }
    cr_expect_eq(events_of(engine, "rest-1"), (int64_t)b.history.count + 1);
    cr_expect_eq(dur_resume(engine, "rest-1", NULL), DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(dur_result(engine, "rest-1", WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    kill_child(pid);
    check_history(engine, "rest-1");
    dur_free(result);
    dur_close(engine);
}

/* The limit is soft: the engine says so once, tells the code, and goes on. */
Test(long_history, is_warned_of_and_not_stopped, .timeout = 120)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    struct builder b;
    dur_engine *engine = open_engine(path);
    make_rounds(&b, arena, 10220);
    autofree char *rounds = mem_printf("%zu", b.history.count / 6 + 10);
    ev_workflow_execution_started(&b.history.items[0])->input = payloads_json(arena, rounds);
    build_task_scheduled(&b);
    cr_assert_eq(import_built(engine, &b, NULL, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_resume(engine, "loop-1", NULL), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "loop-1", 0, NULL), DUR_OK, "%s", dur_error(engine));
    cr_assert(log_has("the code should continue as new"), "%s", fixture_log);
    check_history(engine, "loop-1");
    struct history history = read_history(engine, arena, "loop-1");
    cr_assert_gt(history.count, 10240);
    size_t last = history.count - 1;
    while (history.items[last].type != EVENT_WORKFLOW_TASK_STARTED) {
        last--;
    }
    cr_assert(ev_workflow_task_started(&history.items[last])->suggest_continue_as_new);
    dur_close(engine);
}

/* An engine that takes up such a run reads it at once, and lets go of it again. */
Test(long_history, is_taken_up_by_an_engine, .timeout = 300)
{
    autofree char *store = temp_path("e.db");
    dur_engine *engine = open_engine(store);
    {
        autofree char *file = recorded_loop(true, false);
        autostr struct str text = {0};
        pid_t pid = fork(); /* what the import needs does not count here */
        if (pid == 0) {
            dur_engine *other = open_engine(store);
            int rc = fs_read_file(file, 1U << 30, &text, NULL);
            _exit(rc == 0 && dur_import(other, text.ptr, text.len, NULL, NULL) == DUR_OK ? 0 : 1);
        }
        int status = 1;
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert_eq(status, 0);
    }
    cr_assert_eq(dur_resume(engine, "loop-1", NULL), DUR_OK, "%s", dur_error(engine));
    long before = resident_kib();
    serve_until_idle(engine);
    long grown = resident_kib() - before;
    printf("# to take up a run of 50000 events needed %ld KiB\n", grown);
    cr_assert_eq(dur_result(engine, "loop-1", 0, NULL), DUR_OK, "%s", dur_error(engine));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cr_assert_lt(grown, 64 * 1024, "%ld KiB", grown);
#endif
    dur_close(engine);
}
