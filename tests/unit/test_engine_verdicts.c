/*
 * test_engine_verdicts.c - the verdicts of Temporal's Core replayer, and ours, on the same
 * histories.
 *
 * Owns: the C equivalents of the workflows behind the composed histories, and the list of verdicts
 * that differ, each with its reason (docs/histories.md says the same in sentences). The histories
 * are no part of the tree: $FACTORY_HISTORIES/composed, else ../shared/histories/composed; without
 * them the test skips. verdicts.tsv holds what Core said.
 *
 * A history passes here when history_validate and dur_replay both take it.
 */
#include "tests/lib/engine_fixture.h"

#include "tests/unit/history_files.h"

/* --- the workflows -----------------------------------------------------------------------------
 */

static int demo(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *greeting = NULL;
    (void)user;
    int rc = dur_run(ctx, "greet", input, &greeting,
                     &(dur_activity_options){.start_to_close_ms = 10 * DUR_SECONDS});
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 2 * DUR_SECONDS);
    }
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "go", -1, NULL);
    }
    *result = greeting;
    return rc;
}

/* A timer in a scope of its own, cancelled by another. */
static int canc(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_ctx *scope = dur_scope(ctx);
    dur_future *timer = dur_timer(scope, 100 * DUR_SECONDS);
    (void)input;
    (void)user;
    int rc = dur_sleep(ctx, DUR_SECONDS);
    if (rc != DUR_OK) {
        return rc;
    }
    dur_cancel_scope(scope);
    rc = dur_await(scope, timer, NULL);
    *result = "\"c\"";
    return rc == DUR_CANCELLED ? DUR_OK : rc;
}

static int par(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *greeting = dur_start_activity(ctx, "greet", "\"a\"", NULL);
    dur_future *timer = dur_timer(ctx, DUR_SECONDS);
    (void)input;
    (void)user;
    int rc = dur_await(ctx, greeting, NULL);
    *result = "\"p\"";
    return rc == DUR_OK ? dur_await(ctx, timer, NULL) : rc;
}

static int pat(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc;
    if (dur_patched(ctx, "p1")) {
        rc = dur_sleep(ctx, DUR_SECONDS);
    } else {
        rc = dur_sleep(ctx, 5 * DUR_SECONDS);
        rc = rc == DUR_OK ? dur_sleep(ctx, 6 * DUR_SECONDS) : rc;
    }
    *result = "\"ok\"";
    return rc;
}

static int kid(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run_child(ctx, "child", NULL, result, &(dur_child_options){.workflow_id = "kid-1"});
}

static int la(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *greeting = NULL;
    (void)user;
    int rc = dur_run_local(ctx, "lgreet", input, &greeting, NULL);
    *result = greeting;
    return rc == DUR_OK ? dur_sleep(ctx, 2 * DUR_SECONDS) : rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "demo", demo, NULL);
    dur_register_workflow(engine, "canc", canc, NULL);
    dur_register_workflow(engine, "kid", kid, NULL);
    dur_register_workflow(engine, "la", la, NULL);
    dur_register_workflow(engine, "par", par, NULL);
    dur_register_workflow(engine, "pat", pat, NULL);
}

/* --- verdicts ----------------------------------------------------------------------------------
 */

/* Where we differ, and why. */
static const struct difference {
    const char *name;
    const char *reason;
} differences[] = {
    {"v_intid.json", "numeric event ids are protobuf's JSON too; only the SDK's helper minds"},
    {"w_after_close.json", "behind the closing event: Core stops reading there; rule H12"},
    {"w_go_version_marker.json", "Go's markers are skipped as Go does; Core knows none"},
    {"w_minimal.json", "no task queue, and no time-out of workflow tasks: needed by the SDK alone"},
    {"b_taskQueue.json", "no task queue: needed by the SDK alone, which waits for ever"},
    {"b_workflowTaskTimeout.json", "no time-out of workflow tasks: needed by the SDK alone"},
};

struct tally {
    dur_engine *engine;
    int same, different;
};

static bool differs(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(differences); i++) {
        if (strcmp(differences[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* What we say of one history; true: it passes. */
static bool verdict(dur_engine *engine, const char *text, struct str *why)
{
    autoarena struct arena *arena = arena_new();
    struct history history;
    struct err err = {0};
    if (history_from_json(arena, text, strlen(text), &history, &err) < 0 ||
        history_validate(&history, NULL, &err) < 0) {
        str_add(why, err.text);
        return false;
    }
    if (dur_replay(engine, text, NULL) != DUR_OK) {
        str_add(why, dur_error(engine));
        return false;
    }
    return true;
}

static void compare(const char *dir, char *line, void *user)
{
    struct tally *tally = user;
    autostr struct str text = {0};
    autostr struct str why = {0};
    char *core = strchr(line, '\t');
    cr_assert_not_null(core, "%s", line);
    *core++ = '\0';
    bool core_passes = strncmp(core, "OK", 2) == 0;
    autofree char *fixtures = fs_join(dir, "fixtures");
    read_text(fixtures, line, &text);
    bool passes = verdict(tally->engine, str_c(&text), &why);
    bool same = passes == core_passes;
    tally->same += same;
    tally->different += !same;
    cr_expect_eq(same, !differs(line), "%s: Core %s; here %s %s", line, core,
                 passes ? "it passes" : "it is refused:", str_c(&why));
}

Test(verdicts, of_composed_histories, .timeout = 60)
{
    autofree char *collection = collection_dir();
    autofree char *dir = fs_join(collection, "composed");
    autofree char *list = fs_join(dir, "verdicts.tsv");
    if (access(list, R_OK) != 0) {
        cr_skip_test("skip: no collection of composed histories (FACTORY_HISTORIES)");
    }
    autofree char *path = temp_path("e.db");
    struct tally tally = {.engine = open_engine(path)};
    each_listed(dir, "verdicts.tsv", compare, &tally);
    fprintf(stderr, "%d verdicts as Core's, %d differ\n", tally.same, tally.different);
    cr_expect_eq(tally.different, ARRAY_LEN(differences));
    dur_close(tally.engine);
}
