/*
 * test_engine_child.c - child workflows on the real store: birth, ends, policies, trees, restarts.
 */

#include "tests/lib/engine_fixture.h"
#include "tests/lib/sql.h"

#define TEST(name) Test(engine_child, name, .timeout = 120)

/* --- workflows ---------------------------------------------------------------------------------
 */

static int kid(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_ctx_jsonf(ctx, "{\"got\":%j}", input);
    return DUR_OK;
}

static int broken(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail_run(ctx, "Broken", "it broke");
}

/* Until signalled; cleans up when it is cancelled. */
static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_receive(ctx, "go", -1, result);
    (void)input;
    (void)user;
    if (rc == DUR_CANCELLED) {
        dur_run(dur_disconnected(ctx), "Note", dur_ctx_jsonf(ctx, "%q", dur_cancel_reason(ctx)),
                NULL, NULL);
    }
    return rc;
}

/* {"type":..., "id":..., "how": cancellation, "close": policy, "timeout": ms} */
static int parent(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_child_options o = {
        .workflow_id = dur_ctx_json_string(ctx, input, "/id"),
        .cancellation = (dur_cancellation)dur_json_int(input, "/how", 0),
        .parent_close = (dur_parent_close)dur_json_int(input, "/close", 0),
        .run_timeout_ms = dur_json_int(input, "/timeout", 0),
        .reuse = (dur_reuse)dur_json_int(input, "/reuse", 0),
    };
    (void)user;
    return dur_run_child(ctx, dur_ctx_json_string(ctx, input, "/type"), "7", result, &o);
}

/* The same, but it ends as soon as the child has started ("end":"fail": badly). */
static int leaver(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_child_options o = {
        .workflow_id = dur_ctx_json_string(ctx, input, "/id"),
        .parent_close = (dur_parent_close)dur_json_int(input, "/close", 0),
    };
    const char *type = dur_ctx_json_string(ctx, input, "/type");
    if (dur_json_bool(input, "/last", 0)) {
        return DUR_OK; /* it continued as new */
    }
    dur_future *child = dur_start_child(ctx, type ? type : "Waits", "7", &o);
    int rc = dur_json_bool(input, "/at-once", 0) ? DUR_OK : dur_child_started(ctx, child, NULL);
    (void)user;
    (void)result;
    if (rc == DUR_OK && dur_json_bool(input, "/stay", 0)) {
        rc = dur_receive(ctx, "never", -1, NULL);
    }
    if (rc == DUR_OK && dur_json_bool(input, "/again", 0)) {
        return dur_continue_as_new(ctx, "{\"last\":true}", NULL);
    }
    return rc ? rc : dur_json_bool(input, "/fail", 0) ? dur_fail_run(ctx, "X", "x") : DUR_OK;
}

/* Three runs. */
static int again(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t left = dur_json_int(input, "", 0);
    (void)user;
    if (left > 5) {
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", left - 1), NULL);
    }
    *result = "0";
    return DUR_OK;
}

/* Two runs; the second waits. */
static int again_waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    if (dur_json_int(input, "", 0) > 0) {
        return dur_continue_as_new(ctx, "0", NULL);
    }
    return waits(ctx, input, result, user);
}

static int tree(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t depth = dur_json_int(input, "", 0);
    (void)user;
    if (depth == 0) {
        *result = "1";
        return DUR_OK;
    }
    int rc = dur_run_child(ctx, "Tree", dur_ctx_jsonf(ctx, "%i64", depth - 1), result, NULL);
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "%i64", 1 + dur_json_int(*result, "", 0));
    }
    return rc;
}

static int deep_wait(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t depth = dur_json_int(input, "", 0);
    (void)user;
    if (depth == 0) {
        return dur_receive(ctx, "never", -1, result);
    }
    return dur_run_child(
        ctx, "DeepWait", dur_ctx_jsonf(ctx, "%i64", depth - 1), result,
        &(dur_child_options){.workflow_id = dur_ctx_jsonf(ctx, "deep-%i64", depth - 1)});
}

static int many(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t count = dur_json_int(input, "", 0);
    dur_future *futures[500];
    int64_t sum = 0;
    (void)user;
    for (int64_t i = 0; i < count; i++) {
        futures[i] = dur_start_child(ctx, "Kid", dur_ctx_jsonf(ctx, "%i64", i), NULL);
    }
    for (int64_t i = 0; i < count; i++) {
        const char *got = NULL;
        int rc = dur_await(ctx, futures[i], &got);
        if (rc) {
            return rc;
        }
        sum += dur_json_int(got, "/got", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", sum);
    return DUR_OK;
}

static int note(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "Kid", kid, NULL);
    dur_register_workflow(engine, "Broken", broken, NULL);
    dur_register_workflow(engine, "Waits", waits, NULL);
    dur_register_workflow(engine, "Parent", parent, NULL);
    dur_register_workflow(engine, "Leaver", leaver, NULL);
    dur_register_workflow(engine, "Again", again, NULL);
    dur_register_workflow(engine, "AgainWaits", again_waits, NULL);
    dur_register_workflow(engine, "Tree", tree, NULL);
    dur_register_workflow(engine, "DeepWait", deep_wait, NULL);
    dur_register_workflow(engine, "Many", many, NULL);
    dur_register_activity(engine, "Note", note, NULL);
}

static dur_status status_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    int rc = dur_describe(engine, id, &d);
    cr_assert_eq(rc, DUR_OK, "%s: %s", id, dur_error(engine));
    dur_status status = d->status;
    dur_description_free(d);
    return status;
}

static bool is_successor(dur_engine *engine, const char *id)
{
    dur_description *d;
    if (dur_describe(engine, id, &d) != DUR_OK) {
        return false;
    }
    bool is_one = strcmp(d->run_id, d->first_run_id) != 0;
    dur_description_free(d);
    return is_one;
}

static dur_engine *start_with(dur_options options, const char *type, const char *input)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, options);
    cr_assert_eq(dur_start(engine, type, "w", input, NULL), DUR_OK, "%s", dur_error(engine));
    return engine;
}

static dur_engine *start(const char *type, const char *input)
{
    return start_with((dur_options){0}, type, input);
}

/* --- birth and ends ----------------------------------------------------------------------------
 */

TEST(a_child_completes)
{
    dur_engine *engine = start("Parent", "{\"type\":\"Kid\",\"id\":\"kid\"}");
    autoarena struct arena *arena = arena_new();
    char *result = NULL;
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_expect_str_eq(result, "{\"got\":7}");
    dur_free(result);
    check_history(engine, "w");
    check_history(engine, "kid");
    check_types(engine, "w", 4,
                "WorkflowTaskCompleted StartChildWorkflowExecutionInitiated "
                "ChildWorkflowExecutionStarted WorkflowTaskScheduled WorkflowTaskStarted "
                "WorkflowTaskCompleted ChildWorkflowExecutionCompleted WorkflowTaskScheduled "
                "WorkflowTaskStarted WorkflowTaskCompleted WorkflowExecutionCompleted");
    struct history mine = read_history(engine, arena, "w");
    struct history its = read_history(engine, arena, "kid");
    const struct ev_workflow_execution_started *born = ev_workflow_execution_started(&its.items[0]);
    const struct ev_child_workflow_execution_started *started = ev_child_workflow_execution_started(
        find_event(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_STARTED));
    const struct ev_child_workflow_execution_completed *ended =
        ev_child_workflow_execution_completed(
            find_event(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED));
    dur_description *d;
    cr_assert_eq(dur_describe(engine, "w", &d), DUR_OK);
    cr_expect_str_eq(born->parent_workflow_execution->workflow_id, "w");
    cr_expect_str_eq(born->parent_workflow_execution->run_id, d->run_id);
    cr_expect_str_eq(born->root_workflow_execution->run_id, d->run_id);
    cr_expect_str_eq(born->parent_workflow_namespace, "default");
    cr_expect_eq(born->parent_initiated_event_id, 5);
    cr_expect_null(d->parent);
    autofree char *parent_name = mem_printf("w@%s", d->run_id);
    dur_description_free(d);
    cr_assert_eq(dur_describe(engine, "kid", &d), DUR_OK);
    cr_expect_str_eq(d->parent, parent_name);
    cr_expect_str_eq(started->workflow_execution->run_id, d->run_id);
    cr_expect_str_eq(started->workflow_execution->workflow_id, "kid");
    cr_expect_eq(started->initiated_event_id, 5);
    cr_expect_str_eq(ended->workflow_execution->run_id, d->run_id);
    cr_expect_str_eq(ended->workflow_type, "Kid");
    cr_expect_eq(ended->initiated_event_id, 5);
    cr_expect_eq(ended->started_event_id, 6);
    cr_expect_str_eq(payloads_first_json(ended->result, NULL), "{\"got\":7}");
    dur_description_free(d);
    dur_close(engine);
}

TEST(a_child_fails)
{
    dur_engine *engine = start("Parent", "{\"type\":\"Broken\",\"id\":\"kid\"}");
    autoarena struct arena *arena = arena_new();
    serve_until_idle(engine);
    cr_expect_eq(dur_result(engine, "w", 0, NULL), DUR_FAILED);
    check_history(engine, "w");
    struct history mine = read_history(engine, arena, "w");
    const struct ev_child_workflow_execution_failed *f = ev_child_workflow_execution_failed(
        find_event(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_FAILED));
    cr_expect_str_eq(f->failure->application_failure_info->type, "Broken");
    cr_expect_eq(f->retry_state, RETRY_STATE_RETRY_POLICY_NOT_SET);
    const struct ev_workflow_execution_failed *end =
        ev_workflow_execution_failed(find_event(&mine, EVENT_WORKFLOW_EXECUTION_FAILED));
    cr_expect_str_eq(
        end->failure->child_workflow_execution_failure_info->workflow_execution->workflow_id,
        "kid");
    cr_expect_str_eq(end->failure->cause->message, "it broke");
    dur_close(engine);
}

TEST(a_child_times_out)
{
    dur_engine *engine = start("Parent", "{\"type\":\"Waits\",\"id\":\"kid\",\"timeout\":50}");
    autoarena struct arena *arena = arena_new();
    serve_until_idle(engine);
    cr_expect_eq(dur_result(engine, "w", 0, NULL), DUR_FAILED);
    check_history(engine, "w");
    cr_expect_eq(status_of(engine, "kid"), DUR_RUN_TIMED_OUT);
    struct history mine = read_history(engine, arena, "w");
    cr_expect(find_event(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT));
    dur_close(engine);
}

TEST(a_client_terminates_or_cancels_a_child)
{
    for (int cancel = 0; cancel < 2; cancel++) {
        dur_engine *engine = start("Parent", "{\"type\":\"Waits\",\"id\":\"kid\"}");
        autoarena struct arena *arena = arena_new();
        pthread_t thread = serve_begin(engine);
        wait_until(dur_signal(engine, "kid", "other", NULL) == DUR_OK);
        cr_assert_eq(cancel ? dur_cancel(engine, "kid", "no") : dur_terminate(engine, "kid", "no"),
                     DUR_OK);
        cr_expect_eq(dur_result(engine, "w", WAIT_MS, NULL), cancel ? DUR_CANCELLED : DUR_FAILED);
        serve_end(engine, thread);
        check_history(engine, "w");
        struct history mine = read_history(engine, arena, "w");
        cr_expect(find_event(&mine, cancel ? EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED
                                           : EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED));
        dur_close(engine);
    }
}

TEST(a_child_terminated_while_no_engine_runs_is_told_by_the_next)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Parent", "w", "{\"type\":\"Waits\",\"id\":\"kid\"}", NULL),
                 DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "kid", "other", NULL) == DUR_OK);
    serve_end(engine, thread);
    cr_assert_eq(dur_terminate(engine, "kid", "gone"), DUR_OK);
    cr_expect_eq(status_of(engine, "w"), DUR_RUNNING);
    dur_close(engine);
    engine = open_engine(path);
    serve_until_idle(engine);
    cr_expect_eq(status_of(engine, "w"), DUR_RUN_FAILED);
    check_history(engine, "w");
    dur_close(engine);
}

TEST(an_id_that_is_taken)
{
    static const char *const inputs[] = {
        "{\"type\":\"Kid\",\"id\":\"taken\"}",            /* open */
        "{\"type\":\"Kid\",\"id\":\"used\",\"reuse\":1}", /* completed: failed ones only */
        "{\"type\":\"Kid\",\"id\":\"used\",\"reuse\":2}", /* never again */
        "{\"type\":\"Kid\",\"id\":\"w\"}",                /* the parent's own */
    };
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        autofree char *path = temp_path("e.db");
        autoarena struct arena *arena = arena_new();
        dur_engine *engine = open_engine(path);
        cr_assert_eq(dur_start(engine, "Kid", "used", "1", NULL), DUR_OK);
        serve_until_idle(engine);
        cr_assert_eq(dur_start(engine, "Waits", "taken", "1", NULL), DUR_OK);
        cr_assert_eq(dur_start(engine, "Parent", "w", inputs[i], NULL), DUR_OK);
        pthread_t thread = serve_begin(engine);
        cr_expect_eq(dur_result(engine, "w", WAIT_MS, NULL), DUR_FAILED, "%s", inputs[i]);
        serve_end(engine, thread);
        check_history(engine, "w");
        struct history mine = read_history(engine, arena, "w");
        const struct ev_start_child_workflow_execution_failed *f =
            ev_start_child_workflow_execution_failed(
                find_event(&mine, EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED));
        cr_expect_eq(f->cause, START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS);
        cr_expect_eq(f->initiated_event_id, 5);
        cr_expect_eq(f->workflow_task_completed_event_id, 0); /* as a server has it */
        dur_close(engine);
    }
}

TEST(a_used_id_may_be_used_again)
{
    dur_engine *engine = start("Parent", "{\"type\":\"Kid\",\"id\":\"used\"}");
    cr_assert_eq(dur_start(engine, "Kid", "used", "1", NULL), DUR_OK);
    dur_engine *first = engine;
    serve_until_idle(first);
    /* whichever came first: one of the two orders leaves a taken id */
    dur_status status = status_of(engine, "w");
    cr_expect(status == DUR_COMPLETED || status == DUR_RUN_FAILED);
    cr_assert_eq(dur_start(engine, "Parent", "again", "{\"type\":\"Kid\",\"id\":\"used\"}", NULL),
                 DUR_OK);
    serve_until_idle(engine);
    cr_expect_eq(status_of(engine, "again"), DUR_COMPLETED);
    dur_close(engine);
}

/* --- cancelling the parent ---------------------------------------------------------------------
 */

static void cancel_parent(int how, dur_status parent_status, dur_status child_status)
{
    char input[128];
    snprintf(input, sizeof(input), "{\"type\":\"Waits\",\"id\":\"kid\",\"how\":%d,\"close\":1}",
             how);
    dur_engine *engine = start("Parent", input);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "kid", "other", NULL) == DUR_OK);
    cr_assert_eq(dur_cancel(engine, "w", "enough"), DUR_OK);
    dur_result(engine, "w", WAIT_MS, NULL);
    if (child_status != DUR_RUNNING) {
        dur_result(engine, "kid", WAIT_MS, NULL);
    }
    serve_end(engine, thread);
    cr_expect_eq(status_of(engine, "w"), parent_status, "%d", how);
    cr_expect_eq(status_of(engine, "kid"), child_status, "%d", how);
    check_history(engine, "w");
    check_history(engine, "kid");
    dur_close(engine);
}

TEST(cancelling_a_parent_goes_down_as_its_code_says)
{
    cancel_parent(DUR_TRY_CANCEL, DUR_CANCELED, DUR_CANCELED);
    cancel_parent(DUR_WAIT_CANCEL, DUR_CANCELED, DUR_CANCELED);
    cancel_parent(DUR_ABANDON, DUR_CANCELED, DUR_RUNNING);
}

TEST(a_cancelled_child_knows_who_asked)
{
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = start("Parent", "{\"type\":\"Waits\",\"id\":\"kid\",\"how\":1}");
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "kid", "other", NULL) == DUR_OK);
    dur_cancel(engine, "w", "enough");
    dur_result(engine, "w", WAIT_MS, NULL);
    serve_end(engine, thread);
    struct history its = read_history(engine, arena, "kid");
    const struct ev_workflow_execution_cancel_requested *c = ev_workflow_execution_cancel_requested(
        find_event(&its, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED));
    cr_expect_str_eq(c->cause, "enough");
    cr_expect_str_eq(c->external_workflow_execution->workflow_id, "w");
    cr_expect_gt(c->external_initiated_event_id, 6);
    cr_expect_str_eq(c->identity, "history-service");
    dur_close(engine);
}

/* --- parent-close policy -----------------------------------------------------------------------
 */

static void leave(const char *input, dur_status child_status)
{
    dur_engine *engine = start("Leaver", input);
    autoarena struct arena *arena = arena_new();
    pthread_t thread = serve_begin(engine);
    dur_result(engine, "w", WAIT_MS, NULL);
    if (child_status != DUR_RUNNING) {
        dur_result(engine, "kid", WAIT_MS, NULL);
    }
    serve_end(engine, thread);
    cr_expect_eq(status_of(engine, "kid"), child_status, "%s", input);
    check_history(engine, "w");
    check_history(engine, "kid");
    struct history its = read_history(engine, arena, "kid");
    if (child_status == DUR_TERMINATED) {
        const struct ev_workflow_execution_terminated *t =
            ev_workflow_execution_terminated(find_event(&its, EVENT_WORKFLOW_EXECUTION_TERMINATED));
        cr_expect_str_eq(t->reason, "by parent close policy");
        cr_expect_str_eq(t->identity, "history-service");
    } else if (child_status == DUR_CANCELED) {
        const struct ev_workflow_execution_cancel_requested *c =
            ev_workflow_execution_cancel_requested(
                find_event(&its, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED));
        cr_expect_null(c->cause);
        cr_expect_str_eq(c->external_workflow_execution->workflow_id, "w");
    }
    dur_close(engine);
}

TEST(the_policy_acts_when_the_parent_completes_or_fails)
{
    leave("{\"id\":\"kid\",\"close\":0}", DUR_TERMINATED);
    leave("{\"id\":\"kid\",\"close\":1}", DUR_RUNNING);
    leave("{\"id\":\"kid\",\"close\":2}", DUR_CANCELED);
    leave("{\"id\":\"kid\",\"close\":0,\"fail\":true}", DUR_TERMINATED);
    leave("{\"id\":\"kid\",\"close\":2,\"fail\":true}", DUR_CANCELED);
}

TEST(an_abandoned_child_of_the_last_step_lives)
{
    leave("{\"id\":\"kid\",\"close\":1,\"at-once\":true}", DUR_RUNNING);
}

TEST(any_other_child_of_the_last_step_is_never_born)
{
    for (int close = 0; close <= 2; close += 2) {
        dur_description *d;
        dur_engine *engine = start("Leaver", close ? "{\"id\":\"kid\",\"close\":2,\"at-once\":true}"
                                                   : "{\"id\":\"kid\",\"at-once\":true}");
        serve_until_idle(engine);
        cr_expect_eq(status_of(engine, "w"), DUR_COMPLETED);
        cr_expect_eq(dur_describe(engine, "kid", &d), DUR_NOT_FOUND);
        check_history(engine, "w");
        dur_close(engine);
    }
}

TEST(the_policy_acts_when_a_client_terminates_the_parent)
{
    for (int serving = 0; serving < 2; serving++) {
        for (int close = 0; close <= 2; close++) {
            char input[64];
            snprintf(input, sizeof(input), "{\"id\":\"kid\",\"stay\":true,\"close\":%d}", close);
            dur_engine *engine = start("Leaver", input);
            pthread_t thread = serve_begin(engine);
            wait_until(dur_signal(engine, "kid", "other", NULL) == DUR_OK);
            if (!serving) {
                serve_end(engine, thread);
            }
            cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
            if (!serving) {
                thread = serve_begin(engine);
            }
            dur_signal(engine, "kid", "another", NULL); /* one turn that looks at it, at least */
            if (close == 1) {
                cr_assert_eq(dur_start(engine, "Kid", "later", "1", NULL), DUR_OK);
                dur_result(engine, "later", WAIT_MS, NULL);
                cr_expect_eq(status_of(engine, "kid"), DUR_RUNNING);
            } else {
                dur_result(engine, "kid", WAIT_MS, NULL);
                cr_expect_eq(status_of(engine, "kid"), close ? DUR_CANCELED : DUR_TERMINATED);
            }
            serve_end(engine, thread);
            check_history(engine, "kid");
            check_validity(engine, "w");
            dur_close(engine);
        }
    }
}

TEST(a_run_timeout_takes_the_children_down)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Leaver", "w", "{\"id\":\"kid\",\"stay\":true}",
                           &(dur_start_options){.run_timeout_ms = 100}),
                 DUR_OK);
    serve_until_idle(engine);
    cr_expect_eq(status_of(engine, "w"), DUR_RUN_TIMED_OUT);
    cr_expect_eq(status_of(engine, "kid"), DUR_TERMINATED);
    dur_close(engine);
}

TEST(a_later_run_with_the_childs_id_is_left_alone)
{
    dur_engine *engine = start("Leaver", "{\"id\":\"kid\",\"stay\":true,\"close\":0}");
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "kid", "go", "1") == DUR_OK);
    cr_assert_eq(dur_result(engine, "kid", WAIT_MS, NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "Waits", "kid", "1", NULL), DUR_OK);
    cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
    cr_assert_eq(dur_start(engine, "Kid", "later", "1", NULL), DUR_OK);
    dur_result(engine, "later", WAIT_MS, NULL);
    cr_expect_eq(status_of(engine, "kid"), DUR_RUNNING);
    serve_end(engine, thread);
    dur_close(engine);
}

/* --- chains ------------------------------------------------------------------------------------
 */

TEST(a_child_that_continues_as_new_is_one_child)
{
    dur_engine *engine = start_with((dur_options){.chain_spacing_ms = -1}, "Parent",
                                    "{\"type\":\"Again\",\"id\":\"kid\"}");
    autoarena struct arena *arena = arena_new();
    char *result = NULL;
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_expect_str_eq(result, "0");
    dur_free(result);
    check_history(engine, "w");
    check_history(engine, "kid");
    struct history mine = read_history(engine, arena, "w");
    cr_expect_eq(count_events(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_STARTED), 1);
    cr_expect_eq(count_events(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED), 1);
    dur_description *d;
    cr_assert_eq(dur_describe(engine, "kid", &d), DUR_OK);
    cr_expect_str_eq(ev_child_workflow_execution_completed(
                         find_event(&mine, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED))
                         ->workflow_execution->run_id,
                     d->run_id);
    cr_expect_str_neq(d->run_id, d->first_run_id);
    dur_description_free(d);
    dur_close(engine);
}

TEST(a_later_run_of_the_childs_chain_is_found_by_the_policy)
{
    for (int close = 0; close <= 2; close += 2) {
        autofree char *input = mem_printf(
            "{\"id\":\"kid\",\"type\":\"AgainWaits\",\"close\":%d,\"stay\":true}", close);
        dur_engine *engine = start_with((dur_options){.chain_spacing_ms = -1}, "Leaver", input);
        pthread_t thread = serve_begin(engine);
        wait_until(is_successor(engine, "kid"));
        cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
        dur_result(engine, "kid", WAIT_MS, NULL);
        serve_end(engine, thread);
        cr_expect_eq(status_of(engine, "kid"), close ? DUR_CANCELED : DUR_TERMINATED);
        dur_close(engine);
    }
}

TEST(a_parent_that_continues_as_new_leaves_its_children)
{
    for (int close = 0; close <= 2; close++) {
        autofree char *input = mem_printf("{\"id\":\"kid\",\"close\":%d,\"again\":true}", close);
        dur_engine *engine = start_with((dur_options){.chain_spacing_ms = -1}, "Leaver", input);
        pthread_t thread = serve_begin(engine);
        dur_result(engine, "w", WAIT_MS, NULL); /* of the last run */
        if (close != DUR_PARENT_CLOSE_ABANDON) {
            dur_result(engine, "kid", WAIT_MS, NULL);
        }
        serve_end(engine, thread);
        cr_expect_eq(status_of(engine, "kid"), close == 0   ? DUR_TERMINATED
                                               : close == 1 ? DUR_RUNNING
                                                            : DUR_CANCELED);
        dur_close(engine);
    }
}

static int nightly(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_child_options o = {.workflow_id = "night", .cron = "CRON_TZ=UTC 0 3 * * *"};
    dur_future *child = dur_start_child(ctx, "Kid", input, &o);
    int rc = dur_child_started(ctx, child, NULL);
    (void)user;
    (void)result;
    return rc ? rc : dur_sleep(ctx, 3 * DUR_DAYS);
}

static int count_runs(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    cr_expect_str_eq(d->workflow_id, "night");
    cr_expect(d->parent);
    (*(int *)user)++;
    return 0;
}

TEST(a_child_runs_by_cron_until_its_parent_ends)
{
    dur_engine *engine;
    int runs = 0;
    cr_assert_eq(dur_test_open(&engine, NULL), DUR_OK, "%s", dur_error(engine));
    fixture_register(engine);
    dur_register_workflow(engine, "Nightly", nightly, NULL);
    cr_assert_eq(dur_start(engine, "Nightly", "w", "1", NULL), DUR_OK);
    cr_assert_eq(dur_test_run(engine), DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(status_of(engine, "w"), DUR_COMPLETED);
    cr_expect_eq(status_of(engine, "night"), DUR_TERMINATED);
    cr_assert_eq(dur_list_where(engine, "ParentWorkflowId = 'w' AND ExecutionStatus = 'Completed'",
                                0, 100, count_runs, &runs),
                 DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(runs, 3, "one a night, not one when it was started: %d", runs);
    check_history(engine, "w");
    dur_close(engine);
}

/* --- odd cases ---------------------------------------------------------------------------------
 */

TEST(a_child_that_nobody_here_can_run_is_terminated_all_the_same)
{
    dur_engine *engine = start("Leaver", "{\"id\":\"kid\",\"type\":\"Elsewhere\"}");
    serve_until_idle(engine);
    cr_expect_eq(status_of(engine, "w"), DUR_COMPLETED);
    cr_expect_eq(status_of(engine, "kid"), DUR_TERMINATED);
    check_validity(engine, "kid");
    dur_close(engine);
}

TEST(a_parent_whose_history_cannot_be_read_is_told_when_it_can)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_start(engine, "Parent", "w", "{\"type\":\"Waits\",\"id\":\"kid\"}", NULL),
                 DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "kid", "other", NULL) == DUR_OK);
    serve_end(engine, thread);
    dur_close(engine);
    sql_run(path, "DROP TRIGGER event_batch_frozen;"
                  "UPDATE event_batch SET events = replace(events, ']', ')') "
                  "WHERE execution = (SELECT id FROM execution WHERE workflow_id = 'w')");
    engine = open_engine(path);
    thread = serve_begin(engine);
    cr_assert_eq(dur_signal(engine, "kid", "go", "5"), DUR_OK);
    cr_expect_eq(dur_result(engine, "kid", WAIT_MS, NULL), DUR_OK);
    cr_expect_eq(status_of(engine, "w"), DUR_RUNNING);
    serve_end(engine, thread);
    dur_close(engine);
    sql_run(path, "UPDATE event_batch SET events = replace(events, ')', ']') "
                  "WHERE execution = (SELECT id FROM execution WHERE workflow_id = 'w')");
    engine = open_engine(path);
    serve_until_idle(engine);
    cr_expect_eq(dur_result(engine, "w", 0, NULL), DUR_OK, "%s", fixture_log);
    check_history(engine, "w");
    dur_close(engine);
}

/* --- many --------------------------------------------------------------------------------------
 */

TEST(a_tree_of_ten_levels)
{
    char *result = NULL;
    cr_assert_eq(run_one("Tree", "10", &result), DUR_OK);
    cr_expect_str_eq(result, "11");
    dur_free(result);
}

TEST(a_tree_comes_down_in_one_commit)
{
    dur_engine *engine = start("DeepWait", "50");
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "deep-0", "other", NULL) == DUR_OK);
    cr_assert_eq(dur_terminate(engine, "w", "enough"), DUR_OK);
    dur_result(engine, "deep-0", WAIT_MS, NULL);
    serve_end(engine, thread);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "deep-%d", i);
        cr_expect_eq(status_of(engine, id), DUR_TERMINATED);
    }
    check_validity(engine, "deep-0");
    dur_close(engine);
}

TEST(five_hundred_children)
{
    char *result = NULL;
    cr_assert_eq(run_one("Many", "500", &result), DUR_OK);
    cr_expect_str_eq(result, "124750");
    dur_free(result);
}

TEST(children_outlive_eviction_and_engines)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_with(path, (dur_options){.max_cached_runs = 1});
    for (int i = 0; i < 8; i++) {
        char id[16], input[64];
        snprintf(id, sizeof(id), "w%d", i);
        snprintf(input, sizeof(input), "{\"type\":\"Waits\",\"id\":\"kid%d\"}", i);
        cr_assert_eq(dur_start(engine, "Parent", id, input, NULL), DUR_OK);
    }
    pthread_t thread = serve_begin(engine);
    wait_until(dur_signal(engine, "kid7", "other", NULL) == DUR_OK);
    for (int i = 0; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof(id), "kid%d", i);
        wait_until(dur_signal(engine, id, "go", "5") == DUR_OK);
    }
    serve_end(engine, thread);
    dur_close(engine);
    engine = open_with(path, (dur_options){.max_cached_runs = 1});
    for (int i = 4; i < 8; i++) {
        char id[16];
        snprintf(id, sizeof(id), "kid%d", i);
        cr_assert_eq(dur_signal(engine, id, "go", "5"), DUR_OK);
    }
    serve_until_idle(engine);
    for (int i = 0; i < 8; i++) {
        char id[16];
        snprintf(id, sizeof(id), "w%d", i);
        cr_expect_eq(status_of(engine, id), DUR_COMPLETED);
        check_history(engine, id);
    }
    dur_close(engine);
}
