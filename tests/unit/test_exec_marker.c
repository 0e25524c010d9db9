/*
 * test_exec_marker.c - side effects, code versions, memo: what is recorded and what replay makes
 * of it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_marker, name, .timeout = 30)

static const char *detail(const struct event *event, const char *key)
{
    return payloads_first_json(payloads_map_get(ev_marker_recorded(event)->details, key), NULL);
}

static int roll(void *arg, const char **result)
{
    static char text[16];
    int *count = arg;

    snprintf(text, sizeof(text), "%d", ++*count * 11);
    *result = text;
    return DUR_OK;
}

static int two_rolls(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL;
    const char *b = NULL;

    (void)input;
    dur_side_effect(ctx, roll, user, &a);
    int rc = dur_run(ctx, "Between", "null", NULL, NULL);
    if (rc == DUR_OK) {
        rc = dur_side_effect(ctx, roll, user, &b);
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return rc;
}

TEST(a_side_effect_runs_once)
{
    struct host h;
    int count = 0;

    host_init(&h, two_rolls, &count, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "!SideEffect +A1:Between");
    cr_expect_str_eq(detail(h.events[h.last + 1], "side-effect-id"), "1");
    cr_expect_str_eq(detail(h.events[h.last + 1], "data"), "11");
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    cr_expect_eq(count, 1, "not run in replay");
    host_done(&h, "1", "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "!SideEffect =done:[11,22]");
    cr_expect_str_eq(detail(h.events[h.last + 1], "side-effect-id"), "2");
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_eq(count, 2);
    host_free(&h);
}

struct misuse {
    dur_ctx *ctx;
    int code;
    uint64_t drawn;
};

static int calls_engine(void *arg, const char **result)
{
    struct misuse *m = arg;

    m->code = dur_sleep(m->ctx, 10);
    m->drawn = dur_random(m->ctx);
    *result = "{bad";
    return DUR_OK;
}

static int fails(void *arg, const char **result)
{
    (void)arg;
    (void)result;
    return 7;
}

static int misused(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct misuse m = {.ctx = ctx};

    (void)input;
    (void)user;
    int bad = dur_side_effect(ctx, calls_engine, &m, NULL);
    cr_expect_eq(m.drawn, dur_random(ctx), "numbers drawn in a side effect move no stream");
    int failed = dur_side_effect(ctx, fails, NULL, NULL);
    int none = dur_side_effect(ctx, NULL, NULL, NULL);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d]", m.code, bad, failed, none);
    return DUR_OK;
}

TEST(a_failing_side_effect_is_not_recorded)
{
    struct host h;

    host_init(&h, misused, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-5,-5,7,-5]");
    host_free(&h);
}

/* --- versions: the workflow's shape depends on user ----------------------------------------------
 */

struct shape {
    bool asks;
    bool asks_first; /* before the first activity, or after it */
    int min, max;
};

static int versioned(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const struct shape *s = user;
    int version = -2;

    (void)input;
    if (s->asks && s->asks_first) {
        version = dur_code_version(ctx, "new-bank", s->min, s->max);
        if (version == DUR_UNWIND) {
            return version;
        }
    }
    int rc = dur_run(ctx, "Charge", "null", NULL, NULL);
    if (rc) {
        return rc;
    }
    if (s->asks) {
        version = dur_code_version(ctx, "new-bank", s->min, s->max);
        if (version == DUR_UNWIND) {
            return version;
        }
    }
    *result = dur_ctx_jsonf(ctx, "%d", version);
    return dur_run(ctx, "Pack", "null", NULL, NULL);
}

/* Run the first task with one shape, replay and finish with another. Returns the result. */
static const char *change_code(struct host *h, struct shape *now, struct shape before,
                               struct shape after, int *ret_outcome)
{
    *now = before;
    host_init(h, versioned, now, "null");
    cr_assert_eq(host_task(h), 0);
    host_done(h, "1", "null");
    cr_assert_eq(host_task(h), 0);
    *now = after;
    *ret_outcome = host_evict(h);
    if (*ret_outcome != 0) {
        return "";
    }
    host_done(h, "2", "null");
    cr_assert_eq(host_task(h), 0);
    return host_commands(h);
}

TEST(version_truth_table)
{
    static const struct shape never = {0};
    static const struct shape one = {true, true, -1, 1};
    static const struct shape three = {true, true, -1, 3};
    static const struct shape late = {true, false, -1, 1};
    static const struct shape only_new = {true, true, 2, 3};
    static const struct {
        const char *name;
        const struct shape *before, *after;
        int outcome;
        const char *commands;
    } rows[] = {
        {"never asked, asked now", &never, &one, 0, "=done:-1"},
        {"asked, asked", &one, &one, 0, "=done:1"},
        {"asked 1, now up to 3", &one, &three, 0, "=done:1"},
        {"asked, call removed", &one, &never, 0, "=done:-2"},
        {"asked 1, now 2..3", &one, &only_new, RUN_MISMATCH, ""},
        {"never asked, now 2..3", &never, &only_new, RUN_MISMATCH, ""},
        {"asked late, asked late", &late, &late, 0, "=done:1"},
        {"asked late, now early: no marker in that task", &late, &one, 0, "=done:-1"},
        {"asked 3, now only up to 1", &three, &one, RUN_MISMATCH, ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host h;
        struct shape now;
        int outcome;
        const char *got = change_code(&h, &now, *rows[i].before, *rows[i].after, &outcome);
        cr_expect_eq(outcome, rows[i].outcome, "%s: outcome %d", rows[i].name, outcome);
        cr_expect_str_eq(got, rows[i].commands, "%s: %s", rows[i].name, got);
        host_free(&h);
    }
}

TEST(a_version_is_recorded_with_its_attribute)
{
    struct host h;
    struct shape shape = {true, true, -1, 3};

    host_init(&h, versioned, &shape, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "!Version attr +A1:Charge");
    const struct event *marker = h.events[h.last + 1];
    cr_expect_str_eq(detail(marker, "change-id"), "\"new-bank\"");
    cr_expect_str_eq(detail(marker, "version"), "3");
    const struct payload *list = payload_map_get(
        ev_upsert_workflow_search_attributes(h.events[h.last + 2])->search_attributes,
        "TemporalChangeVersion");
    cr_assert(list);
    cr_expect_str_eq(list->data, "[\"new-bank-3\"]");
    cr_expect_str_eq(list->meta->value, "KeywordList");
    host_free(&h);
}

TEST(an_unsupported_version_is_reported)
{
    struct host h;
    struct shape now;
    int outcome;

    change_code(&h, &now, (struct shape){true, true, -1, 1}, (struct shape){true, true, 2, 3},
                &outcome);
    cr_assert_eq(outcome, RUN_MISMATCH);
    cr_expect_eq(h.out.mismatch.kind, MISMATCH_VERSION);
    cr_expect_eq(h.out.mismatch.event_id, 5);
    cr_expect_str_eq(h.out.mismatch.expected, "version 1 of change \"new-bank\"");
    cr_expect_str_eq(h.out.mismatch.actual, "versions 2 to 3 of it");
    cr_expect_eq(h.out.cause, WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR);
    host_free(&h);
}

static int many_versions(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    for (int i = 0; i < 300; i++) {
        int v = dur_code_version(ctx, dur_ctx_jsonf(ctx, "change-%d", i), -1, 2);
        if (v != 2) {
            return v;
        }
    }
    *result = "true";
    return dur_run(ctx, "Last", "null", NULL, NULL);
}

TEST(the_attribute_list_has_a_limit)
{
    struct host h;

    host_init(&h, many_versions, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    size_t upserts = 0;
    size_t unlisted = 0;
    for (size_t i = h.last + 1; i < h.count; i++) {
        upserts += h.events[i]->type == EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES;
        unlisted += h.events[i]->type == EVENT_MARKER_RECORDED &&
                    detail(h.events[i], "version-search-attribute-updated") != NULL;
    }
    cr_expect_gt(upserts, 100);
    cr_expect_eq(upserts + unlisted, 300);
    cr_assert_eq(host_evict(&h), 0, "%s", h.err.text);
    host_done(&h, "1", "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:true");
    host_free(&h);
}

static int bad_version(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_code_version(ctx, "x", 3, 2);
}

TEST(a_senseless_range_fails_the_task)
{
    struct host h;

    host_init(&h, bad_version, NULL, "null");
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    host_free(&h);
}

/* --- memo ----------------------------------------------------------------------------------------
 */

static int memo(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int good = dur_upsert_memo(ctx, "{\"step\":\"agent\",\"old\":null,\"n\":[1, 2]}");
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%d,%d]", good, dur_upsert_memo(ctx, "[1]"),
                            dur_upsert_memo(ctx, "{\"a\":"), dur_upsert_memo(ctx, NULL));
    return dur_run(ctx, "Work", "null", NULL, NULL);
}

TEST(a_memo_changes_key_by_key)
{
    struct host h;

    host_init(&h, memo, NULL, "null");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "memo +A1:Work");
    const struct payload_map *map =
        ev_workflow_properties_modified(h.events[h.last + 1])->upserted_memo;
    cr_assert_eq(map->count, 3);
    cr_expect_str_eq(payload_map_get(map, "step")->data, "\"agent\"");
    cr_expect_str_eq(payload_map_get(map, "n")->data, "[1, 2]");
    cr_expect_str_eq(payload_map_get(map, "old")->encoding, "binary/null");
    cr_assert_eq(host_evict(&h), 0);
    host_done(&h, "1", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[0,-5,-5,-5]");
    host_free(&h);
}
