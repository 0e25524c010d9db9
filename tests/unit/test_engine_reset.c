/*
 * test_engine_reset.c - taking runs back: which points there are, what is copied, what comes again,
 * what is rebuilt (activities, timers, children, updates, dedupe), and chance that is drawn anew.
 */
#include "history/builder.h"
#include "tests/lib/engine_fixture.h"

#define TEST(name) Test(engine_reset, name, .timeout = 60)

static atomic_int calls;

static int charge(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    (void)input;
    *result = dur_jsonf(act, "%d", atomic_fetch_add(&calls, 1) + 1);
    return DUR_OK;
}

static int never(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    atomic_fetch_add(&calls, 1);
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(1);
    }
    return DUR_CANCELLED;
}

static int two_charges(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL, *b = NULL;
    (void)input;
    (void)user;
    int rc = dur_run(ctx, "charge", NULL, &a, NULL);
    rc = rc ? rc : dur_run(ctx, "charge", NULL, &b, NULL);
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return rc;
}

/* Two words, with a charge between. */
static int words(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL, *b = NULL;
    (void)input;
    (void)user;
    int rc = dur_receive(ctx, "word", -1, &a);
    rc = rc ? rc : dur_run(ctx, "charge", NULL, NULL, NULL);
    rc = rc ? rc : dur_receive(ctx, "word", -1, &b);
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return rc;
}

static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    dur_future *futures[] = {dur_start_activity(ctx, "never", NULL, NULL), dur_timer(ctx, 40)};
    int rc = dur_select(ctx, futures, 2);
    *result = dur_ctx_jsonf(ctx, "%d", rc);
    return rc < 0 ? rc : DUR_OK;
}

static int child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static int parent(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    dur_future *f = dur_start_child(ctx, "child", NULL, &(dur_child_options){.workflow_id = "c"});
    int rc = dur_child_started(ctx, f, NULL);
    rc = rc ? rc : dur_sleep(ctx, 1); /* a task in which nothing but the child is open */
    return rc ? rc : dur_await(ctx, f, result);
}

static int add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    int64_t *sum = arg;
    *sum += dur_json_int(input, "", 0);
    *result = dur_ctx_jsonf(ctx, "%i64", *sum);
    return DUR_OK;
}

static int adds(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t sum = 0;
    (void)input;
    (void)user;
    dur_on_update(ctx, "add", NULL, add, &sum);
    int rc = dur_receive(ctx, "end", -1, NULL);
    *result = dur_ctx_jsonf(ctx, "%i64", sum);
    return rc;
}

static int draws(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    autostr struct str all = {0};
    str_addf(&all, "[%llu", (unsigned long long)(dur_random(ctx) >> 40));
    int rc = dur_sleep(ctx, 1);
    str_addf(&all, ",%llu]", (unsigned long long)(dur_random(ctx) >> 40));
    *result = dur_ctx_jsonf(ctx, "%j", str_c(&all));
    return rc;
}

static int once_more(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_json_int(input, "", 0) == 0) {
        int rc = dur_receive(ctx, "word", -1, NULL);
        return rc ? rc : dur_continue_as_new(ctx, "1", NULL);
    }
    return dur_receive(ctx, "word", -1, result);
}

static void fixture_register(dur_engine *engine)
{
    static const struct {
        const char *name;
        dur_workflow_fn fn;
    } workflows[] = {
        {"two_charges", two_charges}, {"words", words}, {"waits", waits}, {"child", child},
        {"parent", parent},           {"adds", adds},   {"draws", draws}, {"once_more", once_more}};
    for (size_t i = 0; i < ARRAY_LEN(workflows); i++) {
        dur_register_workflow(engine, workflows[i].name, workflows[i].fn, NULL);
    }
    dur_register_activity(engine, "charge", charge, NULL);
    dur_register_activity(engine, "never", never, NULL);
}

static void start(dur_engine *engine, const char *type)
{
    cr_assert_eq(dur_start(engine, type, "w", "0", NULL), DUR_OK, "%s", dur_error(engine));
}

static char *take_back(dur_engine *engine, const char *id, dur_reset_options options)
{
    char *run_id = NULL;
    cr_assert_eq(dur_reset(engine, id, &run_id, &options), DUR_OK, "%s", dur_error(engine));
    return run_id;
}

static char *result_of(dur_engine *engine, const char *id)
{
    char *result = NULL;
    cr_assert_eq(dur_result(engine, id, WAIT_MS, &result), DUR_OK, "%s", dur_error(engine));
    return result;
}

static char *run_id_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s", dur_error(engine));
    char *run_id = mem_strdup(d->run_id);
    dur_description_free(d);
    return run_id;
}

TEST(a_closed_run_does_its_last_step_again)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    start(engine, "two_charges");
    serve_until_idle(engine);
    autofree char *old_run = run_id_of(engine, "w");
    autofree char *first = result_of(engine, "w");
    cr_assert_str_eq(first, "[1,2]");
    struct history before = read_history(engine, arena, "w"); /* 1-4 5-7 8-10 11-13 14-16 17 */
    cr_assert_eq(before.count, 17);
    autofree char *run_id =
        take_back(engine, "w", (dur_reset_options){.event_id = 10, .reason = "mended"});
    autofree char *now = run_id_of(engine, "w");
    cr_assert_str_eq(run_id, now);
    struct history h = read_history(engine, arena, "w");
    cr_assert_eq(h.count, 11);
    const struct ev_workflow_task_failed *f = ev_workflow_task_failed(&h.items[9]);
    cr_assert_eq(f->cause, WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW);
    cr_assert_str_eq(f->base_run_id, old_run);
    cr_assert_str_eq(f->new_run_id, run_id);
    cr_assert_str_eq(f->failure->message, "mended");
    cr_assert_not_null(f->failure->reset_workflow_failure_info);
    cr_assert_str_eq(ev_workflow_execution_started(&h.items[0])->original_execution_run_id,
                     old_run);
    cr_assert_eq(h.items[3].time_ns, before.items[3].time_ns);
    serve_until_idle(engine);
    autofree char *second = result_of(engine, "w");
    cr_assert_str_eq(second, "[1,3]");
    check_history(engine, "w");
    autofree char *old = mem_printf("w@%s", old_run);
    check_history(engine, old);
    autofree char *again = result_of(engine, old);
    cr_assert_str_eq(again, "[1,2]", "what was completed stays so");
    dur_close(engine);
}

TEST(event_0_is_the_last_completed_task)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "two_charges");
    serve_until_idle(engine);
    free(take_back(engine, "w", (dur_reset_options){0}));
    check_types(engine, "w", 16, "WorkflowTaskFailed WorkflowTaskScheduled");
    serve_until_idle(engine);
    autofree char *result = result_of(engine, "w");
    cr_assert_str_eq(result, "[1,2]", "no activity is run again");
    dur_close(engine);
}

TEST(only_the_end_of_a_task_is_a_point)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *run_id = NULL;
    start(engine, "two_charges");
    cr_assert_eq(dur_reset(engine, "w", &run_id, NULL), DUR_INVALID, "its code has not run");
    cr_assert_null(run_id);
    cr_assert_eq(dur_reset(engine, "x", NULL, NULL), DUR_NOT_FOUND);
    serve_until_idle(engine);
    static const int64_t bad[] = {1, 2, 3, 5, 9, 11, 17, 18, 99, -1};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_assert_eq(dur_reset(engine, "w", NULL, &(dur_reset_options){.event_id = bad[i]}),
                     DUR_INVALID, "%lld", (long long)bad[i]);
    }
    cr_assert_eq(dur_reset(engine, "w", NULL, &(dur_reset_options){.event_id = 9}), DUR_INVALID);
    cr_assert(strstr(dur_error(engine), "4 and 10"), "%s", dur_error(engine));
    cr_assert_eq(events_of(engine, "w"), 17);
    dur_close(engine);
}

TEST(an_open_run_is_terminated_and_its_signals_come_again)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "words");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    cr_assert_eq(dur_signal_once(engine, "w", "word", "1", "r1"), DUR_OK);
    wait_until(events_of(engine, "w") == 14); /* charged, waits for the second */
    autofree char *old_run = run_id_of(engine, "w");
    autofree char *old = mem_printf("w@%s", old_run);
    free(take_back(engine, "w", (dur_reset_options){.event_id = 4}));
    cr_assert_eq(dur_signal_once(engine, "w", "word", "1", "r1"), DUR_OK, "known by its id");
    cr_assert_eq(dur_signal(engine, "w", "word", "2"), DUR_OK);
    autofree char *result = result_of(engine, old);
    cr_assert_str_eq(result, "[1,2]", "the old run's watcher follows");
    dur_description *d;
    cr_assert_eq(dur_describe(engine, old, &d), DUR_OK);
    cr_assert_eq(d->status, DUR_TERMINATED);
    dur_description_free(d);
    cr_assert_eq(atomic_load(&calls), 2);
    check_history(engine, "w");
    check_history(engine, old);
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(signals_can_be_dropped)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "words");
    cr_assert_eq(dur_signal(engine, "w", "word", "1"), DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 11);
    cr_assert_eq(dur_signal(engine, "w", "word", "2"), DUR_OK);
    autofree char *first = result_of(engine, "w");
    free(take_back(engine, "w", (dur_reset_options){.event_id = 11, .drop_signals = 1}));
    check_types(engine, "w", 11, "WorkflowTaskFailed WorkflowTaskScheduled");
    cr_assert_eq(dur_signal(engine, "w", "word", "3"), DUR_OK);
    autofree char *result = result_of(engine, "w");
    cr_assert_str_eq(result, "[1,3]");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(a_cancel_request_comes_again)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "words");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    cr_assert_eq(dur_cancel(engine, "w", "enough"), DUR_OK);
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_CANCELLED);
    free(take_back(engine, "w", (dur_reset_options){.event_id = 4}));
    cr_assert_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_CANCELLED);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(open_activities_start_over_and_timers_keep_their_times)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "waits");
    pthread_t thread = serve_begin(engine);
    autofree char *first = result_of(engine, "w");
    cr_assert_str_eq(first, "1");
    cr_assert_eq(atomic_load(&calls), 1);
    /* 1 2 3 4 5:scheduled 6:timer 7:fired 8 9 10:completed 11 */
    free(take_back(engine, "w", (dur_reset_options){.event_id = 10}));
    autofree char *second = result_of(engine, "w");
    cr_assert_str_eq(second, "1", "the timer had fired");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(a_child_reports_to_the_new_run)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "parent");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") >= 13); /* past the sleep */
    autofree char *old_run = run_id_of(engine, "w");
    int64_t last = 0;
    autoarena struct arena *arena = arena_new();
    struct history h = read_history(engine, arena, "w");
    for (size_t i = 0; i < h.count; i++) {
        last = h.items[i].type == EVENT_WORKFLOW_TASK_COMPLETED ? h.items[i].id : last;
    }
    free(take_back(engine, "w", (dur_reset_options){.event_id = last}));
    cr_assert_eq(dur_signal(engine, "c", "go", "\"grown\""), DUR_OK, "%s", dur_error(engine));
    autofree char *result = result_of(engine, "w");
    cr_assert_str_eq(result, "\"grown\"");
    check_history(engine, "w");
    /* The child has ended: another reset learns its result from its row. */
    free(take_back(engine, "w", (dur_reset_options){.event_id = last}));
    autofree char *again = result_of(engine, "w");
    cr_assert_str_eq(again, "\"grown\"");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(updates_are_admitted_again)
{
    autofree char *path = temp_path("e.db");
    autofree char *answer = NULL, *known = NULL;
    dur_engine *engine = open_engine(path);
    start(engine, "adds");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    cr_assert_eq(
        dur_update(engine, "w", "add", "2", &answer, &(dur_update_options){.update_id = "u1"}),
        DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(answer, "2");
    free(take_back(engine, "w", (dur_reset_options){.event_id = 4}));
    cr_assert_eq(dur_update_result(engine, "w", "u1", WAIT_MS, &known), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_str_eq(known, "2");
    cr_assert_eq(dur_signal(engine, "w", "end", NULL), DUR_OK);
    autofree char *result = result_of(engine, "w");
    cr_assert_str_eq(result, "2");
    autoarena struct arena *arena = arena_new();
    struct history h = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&h, EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED), 1);
    check_history(engine, "w");
    /* With the update in the copied part, its answer is known at once. */
    int64_t end = h.items[h.count - 2].id;
    free(take_back(engine, "w", (dur_reset_options){.event_id = end}));
    free(known);
    known = NULL;
    cr_assert_eq(dur_update_result(engine, "w", "u1", WAIT_MS, &known), DUR_OK, "%s",
                 dur_error(engine));
    cr_assert_str_eq(known, "2");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(chance_is_drawn_anew_behind_the_point_alone)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    start(engine, "draws");
    serve_until_idle(engine);
    autofree char *first = result_of(engine, "w");
    free(take_back(engine, "w", (dur_reset_options){0}));
    serve_until_idle(engine);
    autofree char *second = result_of(engine, "w");
    cr_assert_eq(dur_json_int(first, "/0", -1), dur_json_int(second, "/0", -2));
    cr_assert_neq(dur_json_int(first, "/1", -1), dur_json_int(second, "/1", -1));
    check_history(engine, "w");
    dur_close(engine);
}

TEST(signals_of_the_runs_that_followed_come_again)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.chain_spacing_ms = -1});
    start(engine, "once_more");
    autofree char *first_run = run_id_of(engine, "w");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    cr_assert_eq(dur_signal(engine, "w", "word", "1"), DUR_OK);
    wait_until(events_of(engine, "w") == 4);
    autofree char *before = run_id_of(engine, "w");
    wait_until(!str_eq(before, first_run));
    cr_assert_eq(dur_signal(engine, "w", "word", "2"), DUR_OK);
    autofree char *result = result_of(engine, "w");
    cr_assert_str_eq(result, "2");
    autofree char *first = mem_printf("w@%s", first_run);
    free(take_back(engine, first, (dur_reset_options){.event_id = 4}));
    autofree char *again = result_of(engine, "w");
    cr_assert_str_eq(again, "2", "the first word went to the first run, the second to the next");
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(the_parent_of_a_run_that_is_taken_back_hears_of_the_new_run)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    dur_description *d;
    dur_engine *engine = open_engine(path);
    start(engine, "parent");
    pthread_t thread = serve_begin(engine);
    wait_until(dur_describe(engine, "c", &d) == DUR_OK && (dur_description_free(d), true));
    wait_until(events_of(engine, "c") == 4);
    free(take_back(engine, "c", (dur_reset_options){.event_id = 4}));
    cr_assert_eq(dur_signal(engine, "c", "go", "\"again\""), DUR_OK);
    autofree char *result = result_of(engine, "w");
    cr_assert_str_eq(result, "\"again\"");
    struct history h = read_history(engine, arena, "w");
    cr_assert_eq(count_events(&h, EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED), 0);
    cr_assert_eq(count_events(&h, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED), 1);
    check_history(engine, "w");
    check_history(engine, "c");
    serve_end(engine, thread);
    dur_close(engine);
}

TEST(an_earlier_run_of_a_chain_replaces_the_open_one)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.chain_spacing_ms = -1});
    start(engine, "once_more");
    pthread_t thread = serve_begin(engine);
    wait_until(events_of(engine, "w") == 4);
    autofree char *first_run = run_id_of(engine, "w");
    autofree char *first = mem_printf("w@%s", first_run);
    cr_assert_eq(dur_signal(engine, "w", "word", "1"), DUR_OK);
    dur_description *d = NULL;
    wait_until(dur_describe(engine, first, &d) == DUR_OK &&
               (d->next_run_id ? true : (dur_description_free(d), false)));
    autofree char *second = mem_printf("w@%s", d->next_run_id);
    dur_description_free(d);
    autofree char *run_id =
        take_back(engine, first, (dur_reset_options){.event_id = 4, .drop_signals = 1});
    cr_assert_eq(dur_describe(engine, second, &d), DUR_OK);
    cr_assert_eq(d->status, DUR_TERMINATED);
    cr_assert_str_eq(d->next_run_id, run_id);
    dur_description_free(d);
    cr_assert_eq(dur_signal(engine, "w", "word", "5"), DUR_OK);
    wait_until(dur_signal(engine, "w", "word", "6") == DUR_OK);
    autofree char *result = result_of(engine, first);
    cr_assert(str_eq(result, "5") || str_eq(result, "6"), "%s", result);
    check_history(engine, "w");
    serve_end(engine, thread);
    dur_close(engine);
}

/* What other servers left out is no reason to fall over. */
TEST(a_foreign_history_that_does_not_name_its_child)
{
    static const char child[] = "childWorkflowExecutionStartedEventAttributes";
    const char *top = getenv("abs_top_srcdir");
    autofree char *golden =
        mem_printf("%s/tests/golden/scenario/child-complete-1.json", top ? top : ".");
    autofree char *path = temp_path("e.db");
    autostr struct str json = {0};
    struct err err = {0};
    char *run = NULL;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(fs_read_file(golden, 1 << 20, &json, &err), 0, "%s", err.text);
    char *name = strstr(strstr(json.ptr, child), "\"workflowExecution\"");
    memcpy(name, "\"xorkflowExecution\"", strlen("\"xorkflowExecution\""));
    cr_assert_eq(dur_import(engine, json.ptr, json.len, &run, NULL), DUR_OK, "%s",
                 dur_error(engine));
    cr_expect_eq(dur_reset(engine, run, NULL, &(dur_reset_options){.reason = "again"}), DUR_OK,
                 "%s", dur_error(engine));
    dur_free(run);
    dur_close(engine);
}

static void import_and_take_back(dur_engine *engine, const struct builder *b, const char *id)
{
    autostr struct str text = {0};
    char *run = NULL;
    history_to_json(&text, &b->history);
    cr_assert_eq(dur_import(engine, text.ptr, text.len, &run, &(dur_import_options){.id = id}),
                 DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_reset(engine, run, NULL, &(dur_reset_options){0}), DUR_OK, "%s",
                 dur_error(engine));
    dur_free(run);
}

/* Its policy is not said, so it is the usual one. */
TEST(a_foreign_history_whose_child_has_no_close_policy)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct builder kid, b;
    dur_engine *engine = open_engine(path);
    builder_init(&kid, arena, "child");
    ev_workflow_execution_started(&kid.history.items[0])->original_execution_run_id =
        "00000000-0000-4000-9000-000000000005";
    ev_workflow_execution_started(&kid.history.items[0])->parent_initiated_event_id = 5;
    build_task_scheduled(&kid);
    history_to_json(&text, &kid.history);
    cr_assert_eq(dur_import(engine, text.ptr, text.len, NULL, &(dur_import_options){.id = "c"}),
                 DUR_OK, "%s", dur_error(engine));
    builder_init(&b, arena, "parent");
    build_task(&b);
    build_child(&b, "c", "child", NULL);
    ev_start_child_workflow_execution_initiated(&b.history.items[4])->parent_close_policy =
        PARENT_CLOSE_POLICY_UNSPECIFIED;
    build_child_started(&b, 5);
    build_task(&b);
    build_timer(&b, "1", NS_PER_S);
    import_and_take_back(engine, &b, "w");
    cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    dur_description *d;
    cr_assert_eq(dur_describe(engine, "c", &d), DUR_OK);
    cr_expect_eq(d->status, DUR_TERMINATED);
    dur_description_free(d);
    dur_close(engine);
}

/* No id, no name, an empty id: nobody can ask for them, and the run goes on. */
TEST(a_foreign_history_whose_updates_say_little)
{
    autofree char *path = temp_path("e.db");
    autoarena struct arena *arena = arena_new();
    static const char *const ids[] = {NULL, "", "u"};
    struct builder b;
    dur_engine *engine = open_engine(path);
    builder_init(&b, arena, "adds");
    build_task(&b);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct event *event = build_event(&b, EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
        struct ev_workflow_execution_update_accepted *a =
            ev_workflow_execution_update_accepted(event);
        int64_t accepted = event->id;
        a->protocol_instance_id = i == 0 ? "p0" : i == 1 ? "p1" : "p2";
        a->accepted_request_message_id = "m";
        a->accepted_request_sequencing_event_id = 2;
        a->accepted_request = arena_new_of(arena, struct update_request);
        a->accepted_request->meta = arena_new_of(arena, struct update_meta);
        a->accepted_request->meta->update_id = ids[i];
        a->accepted_request->input = arena_new_of(arena, struct update_input);
        event = build_event(&b, EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
        struct ev_workflow_execution_update_completed *c =
            ev_workflow_execution_update_completed(event);
        c->meta = a->accepted_request->meta;
        c->accepted_event_id = accepted;
        c->outcome = arena_new_of(arena, struct update_outcome);
        c->outcome->success = payloads_json(arena, "7");
    }
    build_task(&b);
    import_and_take_back(engine, &b, "w");
    char *result = NULL;
    cr_assert_eq(dur_update_result(engine, "w", "u", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "7");
    dur_free(result);
    dur_close(engine);
}
