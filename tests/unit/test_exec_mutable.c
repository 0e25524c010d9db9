/*
 * test_exec_mutable.c - mutable side effects: what is recorded, and that replay gives every call
 * the value it had, whatever stands around it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "durable.h"
#include "exec/state.h"
#include "exec_host.h"
#include "history/builder.h"

#define TEST(name) Test(exec_mutable, name, .timeout = 30)

/* A setting of the world outside, and how often it was looked at. */
struct world {
    int setting;
    int looks;
    int fails;
};

static int look(void *arg, const char **result)
{
    static char text[16];
    struct world *w = arg;

    w->looks++;
    if (w->fails) {
        return 9;
    }
    snprintf(text, sizeof(text), "%d", w->setting);
    *result = text;
    return DUR_OK;
}

static int same_tens(const char *last, const char *fresh, void *arg)
{
    (void)arg;
    return dur_json_int(last, "", 0) / 10 == dur_json_int(fresh, "", 0) / 10;
}

/* Asks in rounds, an activity between each; all answers are the result. Each round asks twice. */
static int rounds(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct world *w = user;
    const char *all = "0";

    (void)input;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2; k++) {
            const char *now = NULL;
            int rc = dur_mutable_side_effect(ctx, "setting", look, w, same_tens, &now);
            if (rc) {
                return rc;
            }
            all = dur_ctx_jsonf(ctx, "%j,%j", all, now);
            w->setting += k == 0 && i == 2 ? 10 : 0;
        }
        int rc = dur_run(ctx, "Between", "null", NULL, NULL);
        if (rc) {
            return rc;
        }
    }
    *result = dur_ctx_jsonf(ctx, "[%j]", all);
    return DUR_OK;
}

TEST(only_changes_are_recorded_and_every_call_replays)
{
    static const int settings[] = {10, 15, 27, 31};
    static const char *const commands[] = {
        "!MutableSideEffect +A1:Between", "+A2:Between",
        "!MutableSideEffect !MutableSideEffect +A3:Between", /* two of one id in one task */
        "+A4:Between"};
    struct host h;
    struct world w = {.setting = 10};

    host_init(&h, rounds, &w, "null");
    for (int i = 0; i < 4; i++) {
        char id[8];
        w.setting = settings[i];
        cr_assert_eq(host_task(&h), 0);
        cr_expect_str_eq(host_commands(&h), commands[i], "round %d: %s", i, host_commands(&h));
        int looks = w.looks;
        cr_assert_eq(host_evict(&h), 0, "%s", h.out.message ? h.out.message : h.err.text);
        cr_expect_eq(w.looks, looks, "not run in replay");
        snprintf(id, sizeof(id), "%d", i + 1);
        host_done(&h, id, "null");
    }
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[0,10,10,10,10,27,37,37,37]");
    host_free(&h);
}

TEST(the_marker_is_gos)
{
    struct host h;
    struct world w = {.setting = 10};

    host_init(&h, rounds, &w, "null");
    cr_assert_eq(host_task(&h), 0);
    const struct payloads_map *details = ev_marker_recorded(h.events[h.last + 1])->details;
    cr_expect_str_eq(payloads_first_json(payloads_map_get(details, "side-effect-id"), NULL),
                     "\"setting_1\"");
    cr_expect_str_eq(
        payloads_first_json(payloads_map_get(details, "mutable-side-effect-call-counter"), NULL),
        "1");
    const struct payloads *data = payloads_map_get(details, "data");
    cr_assert_eq(data->count, 2);
    cr_expect_str_eq(data->items[0].data, "\"setting\"");
    cr_expect_str_eq(data->items[1].encoding, "json/protobuf");
    cr_expect_str_eq(data->items[1].meta->value, "temporal.api.common.v1.Payloads");
    cr_expect_str_eq(
        data->items[1].data,
        "{\"payloads\":[{\"metadata\":{\"encoding\":\"anNvbi9wbGFpbg==\"},\"data\":\"MTA=\"}]}");
    host_free(&h);
}

TEST(a_failing_one_keeps_the_last_value)
{
    struct host h;
    struct world w = {.setting = 10};

    host_init(&h, rounds, &w, "null");
    cr_assert_eq(host_task(&h), 0);
    w.fails = 1;
    host_done(&h, "1", "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "+A2:Between");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
    w = (struct world){.fails = 1};
    host_init(&h, rounds, &w, "null");
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect(strstr(h.out.message, "mutable side effect \"setting\" failed with 9"), "%s",
              h.out.message);
    host_free(&h);
}

/* A call that is new in the code, and one that is gone. */
static int only_work(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_run(ctx, "Between", "null", result, NULL);
}

TEST(a_new_call_does_not_fit_a_removed_one_does)
{
    struct host h;
    struct world w = {.setting = 1};

    host_init(&h, only_work, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    h.spec.fn = rounds;
    h.spec.user = &w;
    cr_expect_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_str_eq(h.out.mismatch.actual, "record mutable side effect \"setting\"");
    cr_expect_eq(w.looks, 0);
    host_free(&h);
    host_init(&h, rounds, &w, "null");
    cr_assert_eq(host_task(&h), 0);
    h.spec.fn = only_work;
    cr_expect_eq(host_evict(&h), 0, "as in Go");
    host_free(&h);
}

static int misused(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    *result =
        dur_ctx_jsonf(ctx, "[%d,%d]", dur_mutable_side_effect(ctx, "", look, user, NULL, NULL),
                      dur_mutable_side_effect(ctx, "x", NULL, user, NULL, NULL));
    return DUR_OK;
}

TEST(misuse_is_refused)
{
    struct host h;
    struct world w = {0};

    host_init(&h, misused, &w, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[-5,-5]");
    host_free(&h);
}

/* Old Go workers wrote no ordinals. */
static int asks_once(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    int rc = dur_mutable_side_effect(ctx, "setting", look, user, NULL, result);
    return rc ? rc : dur_run(ctx, "Between", *result, result, NULL);
}

TEST(markers_without_ordinals_replay)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;
    struct world w = {0};
    struct run_spec spec = {.fn = asks_once, .user = &w, .workflow_id = "w", .run_id = "r"};
    struct run_output out;
    struct err err = {0};
    const struct event *events[32];
    struct payload data[2] = {{0}};
    struct payloads both = {.items = data, .count = 2};

    payload_set(&data[0], arena, "json/plain", "\"setting\"", 9);
    static const char nested[] = "{\"payloads\":[{\"data\":\"MA==\"}]}";
    payload_set(&data[1], arena, "json/protobuf", nested, strlen(nested));
    builder_init(&b, arena, "asks");
    build_task(&b);
    struct event *marker = build_event(&b, EVENT_MARKER_RECORDED);
    ev_marker_recorded(marker)->marker_name = "MutableSideEffect";
    ev_marker_recorded(marker)->details = arena_new_of(arena, struct payloads_map);
    payloads_map_add(ev_marker_recorded(marker)->details, arena, "data", &both);
    build_activity(&b, "1", "Between", "0");
    for (size_t i = 0; i < b.history.count; i++) {
        events[i] = &b.history.items[i];
    }
    struct run *run = run_new(&spec);
    cr_expect_eq(run_replay(run, events, b.history.count, &out, &err), 0, "%s",
                 out.message ? out.message : err.text);
    cr_expect_eq(w.looks, 0);
    run_free(run);
}
