/*
 * test_exec_patch.c - dur_patched and dur_deprecate_patch: the truth table of histories and codes.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec/state.h"
#include "exec_host.h"
#include "history/builder.h"

#define TEST(name) Test(exec_patch, name, .timeout = 30)

/* How the workflow treats the patch "p1", before its first activity. */
enum code { OLD, PATCHED, DEPRECATED, GONE, OTHER };

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    enum code code = *(enum code *)user;
    int answer = code == OLD ? 0 : 1;

    (void)input;
    if (code == PATCHED) {
        answer = dur_patched(ctx, "p1");
    } else if (code == DEPRECATED) {
        dur_deprecate_patch(ctx, "p1");
    } else if (code == OTHER) {
        answer = dur_patched(ctx, "p2");
    }
    if (answer < 0) {
        return answer;
    }
    int rc = dur_run(ctx, answer ? "New" : "Old", "null", NULL, NULL);
    *result = dur_ctx_jsonf(ctx, "%d", code == PATCHED ? dur_patched(ctx, "p1") : answer);
    return rc;
}

/* Run the first task with one code, replay it with another. The outcome. */
static int change(struct host *h, enum code *now, enum code before, enum code after)
{
    *now = before;
    host_init(h, changed, now, "null");
    cr_assert_eq(host_task(h), 0);
    *now = after;
    return host_evict(h);
}

TEST(truth_table)
{
    static const struct {
        const char *name;
        enum code before, after;
        int outcome;
        const char *result; /* of the replayed run, finished */
    } rows[] = {
        {"no marker, old code", OLD, OLD, 0, "=done:0"},
        {"no marker, patched: the old way", OLD, PATCHED, 0, "=done:0"},
        {"no marker, deprecated: the old way is gone", OLD, DEPRECATED, RUN_MISMATCH, ""},
        {"marker, patched", PATCHED, PATCHED, 0, "=done:1"},
        {"marker, deprecated", PATCHED, DEPRECATED, 0, "=done:1"},
        {"marker, no call", PATCHED, GONE, RUN_MISMATCH, ""},
        {"deprecated marker, patched", DEPRECATED, PATCHED, 0, "=done:1"},
        {"deprecated marker, deprecated", DEPRECATED, DEPRECATED, 0, "=done:1"},
        {"deprecated marker, no call", DEPRECATED, GONE, 0, "=done:1"},
        {"deprecated marker, another's call: the old way of that", DEPRECATED, OTHER, RUN_MISMATCH,
         ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host h;
        enum code now;
        int outcome = change(&h, &now, rows[i].before, rows[i].after);
        cr_expect_eq(outcome, rows[i].outcome, "%s: outcome %d %s", rows[i].name, outcome,
                     h.out.message ? h.out.message : h.err.text);
        if (outcome == 0) {
            host_done(&h, "1", "null");
            cr_assert_eq(host_task(&h), 0);
            cr_expect_str_eq(host_commands(&h), rows[i].result, "%s", rows[i].name);
        }
        host_free(&h);
    }
}

TEST(the_marker_is_cores_and_its_upsert_follows)
{
    struct host h;
    enum code now = PATCHED;

    host_init(&h, changed, &now, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "!core_patch attr +A1:New");
    const struct event *marker = h.events[h.last + 1];
    cr_expect_str_eq(payloads_first_json(
                         payloads_map_get(ev_marker_recorded(marker)->details, "patch-data"), NULL),
                     "{\"id\":\"p1\",\"deprecated\":false}");
    const struct payload *list = payload_map_get(
        ev_upsert_workflow_search_attributes(h.events[h.last + 2])->search_attributes,
        "TemporalChangeVersion");
    cr_assert(list);
    cr_expect_str_eq(list->data, "[\"p1\"]");
    cr_expect_str_eq(list->meta->value, "KeywordList");
    host_free(&h);
}

/* --- histories of Core --------------------------------------------------------------------------
 */

struct recorded {
    const char *key, *data; /* of the marker */
    bool flag_2, upsert;
};

/* A history with such a marker, replayed against code. */
static int replay(const struct recorded *r, enum code code)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;
    struct run_spec spec = {.fn = changed, .user = &code, .workflow_id = "w", .run_id = "r"};
    struct run_output out;
    struct err err = {0};
    uint32_t flags[] = {1, 2};
    struct sdk_metadata sdk = {.core_used_flags = {.items = flags, .count = r->flag_2 ? 2 : 1}};
    const struct event *events[32];

    builder_init(&b, arena, "changed");
    build_task(&b);
    ev_workflow_task_completed(&b.history.items[b.history.count - 1])->sdk_metadata = &sdk;
    build_marker(&b, "core_patch", r->key, r->data);
    if (r->upsert) {
        build_search_attribute(&b, "TemporalChangeVersion", "[\"p1\"]");
    }
    build_activity(&b, "1", "New", "null");
    for (size_t i = 0; i < b.history.count; i++) {
        events[i] = &b.history.items[i];
    }
    struct run *run = run_new(&spec);
    int rc = run_replay(run, events, b.history.count, &out, &err);
    run_free(run);
    return rc;
}

TEST(cores_histories)
{
    static const char mark[] = "{\"id\":\"p1\",\"deprecated\":false}";
    static const char deprecated[] = "{\"id\":\"p1\",\"deprecated\":true}";
    static const struct {
        struct recorded recorded;
        enum code code;
        int outcome;
    } rows[] = {
        {{"patch-data", mark, true, true}, PATCHED, 0},
        {{"patch-data", mark, true, false}, PATCHED, RUN_MISMATCH}, /* flag 2 promises the upsert */
        {{"patch-data", mark, false, false}, PATCHED, 0},           /* older Core wrote none */
        {{"patch-data", mark, true, true}, DEPRECATED, 0},
        {{"patch-data", mark, true, true}, GONE, RUN_MISMATCH},
        {{"patch-data", deprecated, true, true}, GONE, 0},
        {{"patch-data", deprecated, false, false}, GONE, 0},
        {{"patch-data", "7", true, true}, PATCHED, RUN_MISMATCH}, /* no such form */
        {{"other", mark, true, true}, PATCHED, RUN_MISMATCH},
        {{"patch_id", "p1", false, false}, PATCHED, 0}, /* the old form: bytes */
        {{"patch_id", "p1", false, false}, GONE, RUN_MISMATCH},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(replay(&rows[i].recorded, rows[i].code), rows[i].outcome, "row %zu", i);
    }
}

static int misnamed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    return dur_patched(ctx, user) < 0 ? DUR_UNWIND : DUR_OK;
}

TEST(a_patch_needs_a_name)
{
    struct host h;
    char nothing[] = "";

    host_init(&h, misnamed, nothing, "null");
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect(strstr(h.out.message, "a patch needs a name"), "%s", h.out.message);
    host_free(&h);
}

static int many(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    for (int i = 0; i < 300; i++) {
        int rc = dur_patched(ctx, dur_ctx_jsonf(ctx, "change-%d", i));
        if (rc != 1) {
            return rc;
        }
    }
    return dur_run(ctx, "Last", "null", result, NULL);
}

TEST(the_attribute_list_has_a_limit)
{
    struct host h;
    size_t upserts = 0;

    host_init(&h, many, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    for (size_t i = h.last + 1; i < h.count; i++) {
        upserts += h.events[i]->type == EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES;
    }
    cr_expect_gt(upserts, 100);
    cr_expect_lt(upserts, 300);
    cr_expect_eq(host_evict(&h), 0, "%s", h.out.message ? h.out.message : h.err.text);
    host_free(&h);
}
