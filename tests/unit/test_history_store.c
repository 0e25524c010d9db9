/*
 * test_history_store.c - history/store: what a row holds, and that nothing is lost by what it does
 * not hold.
 */
#include "history/store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/builder.h"
#include "history/diff.h"
#include "history/failure.h"
#include "history/json.h"
#include "history_files.h"
#include "history_random.h"

static void init(struct store_context *ctx)
{
    store_context_init(ctx, NULL, "default", "builder@test", "demo-1",
                       "00000000-0000-4000-8000-000000000001");
}

/* Encode, decode, compare; row (may be NULL) gets the text. */
static void round_trip(struct store_context *enc, struct store_context *dec, struct arena *arena,
                       const struct event *event, struct str *row)
{
    autostr struct str own = {0};
    autostr struct str difference = {0};
    struct str *text = row ? row : &own;
    struct event copy;
    struct err err = {0};

    store_encode(enc, event, text);
    cr_assert_eq(store_decode(dec, arena, event->id, event->type, event->time_ns,
                              text->len > 0 ? text->ptr : NULL, text->len, &copy, &err),
                 0, "%s\n%s", err.text, str_c(text));
    cr_assert(event_equal(event, &copy, DIFF_EXACT, &difference), "%s\n%s", str_c(&difference),
              str_c(text));
    cr_assert_eq(memcmp(enc, dec, sizeof(*enc)), 0, "the contexts differ after event %lld",
                 (long long)event->id);
}

/* All rows of a history, one a line; NULL rows are empty lines. */
static void rows(const struct history *history, struct str *out)
{
    autoarena struct arena *arena = arena_new();
    struct store_context enc;
    struct store_context dec;

    init(&enc);
    init(&dec);
    for (size_t i = 0; i < history->count; i++) {
        autostr struct str row = {0};
        round_trip(&enc, &dec, arena, &history->items[i], &row);
        str_addf(out, "%s\n", str_c(&row));
    }
}

Test(store, a_sequential_run_needs_few_words)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct builder b;

    builder_init(&b, arena, "demo");
    build_task(&b);
    int64_t first = build_activity(&b, "1", "greet", "{\"name\":\"ada\"}");
    build_activity_done(&b, first, "\"hi ada\"");
    build_task(&b);
    int64_t timer = build_timer(&b, "1", 2 * NS_PER_S);
    build_timer_fired(&b, timer);
    build_task(&b);
    int64_t second = build_activity(&b, "2", "greet", "null");
    build_activity_failed(&b, second, failure_application(arena, "Boom", "it broke", true, NULL),
                          RETRY_STATE_NON_RETRYABLE_FAILURE);
    build_task(&b);
    build_completed(&b, "[1]");
    rows(&b.history, &out);
    cr_assert_str_eq(
        str_c(&out),
        "{\"workflowType\":\"demo\",\"identity\":\"builder@test\"}\n"
        "\n\n\n"
        "{\"activityType\":\"greet\",\"input\":[{\"name\":\"ada\"}],\"scheduleToCloseTimeout\":"
        "\"10s\"}\n"
        "\n"
        "{\"result\":[\"hi ada\"]}\n"
        "\n\n\n"
        "{\"startToFireTimeout\":\"2s\"}\n"
        "\n"
        "\n\n\n"
        "{\"activityType\":\"greet\",\"input\":[null],\"scheduleToCloseTimeout\":\"10s\"}\n"
        "\n"
        "{\"failure\":{\"message\":\"it broke\",\"source\":\"CSDK\",\"applicationFailureInfo\":"
        "{\"type\":\"Boom\",\"nonRetryable\":true}},\"retryState\":\"NON_RETRYABLE_FAILURE\"}\n"
        "\n\n\n"
        "{\"result\":[[1]]}\n");
}

struct golden {
    struct store_context ctx;
    struct history history;
    struct arena *arena;
    size_t next;
};

static void check_golden_row(const char *dir, char *line, void *user)
{
    struct golden *g = user;
    char *row = strchr(line, '\t') + 1;
    const struct event *expected = &g->history.items[g->next++];
    autostr struct str difference = {0};
    struct event event;
    struct err err = {0};

    (void)dir;
    cr_assert_eq(store_decode(&g->ctx, g->arena, expected->id, strtol(line, NULL, 10),
                              expected->time_ns, *row ? row : NULL, strlen(row), &event, &err),
                 0, "%s", err.text);
    cr_assert(event_equal(expected, &event, DIFF_EXACT, &difference), "%s\n%s", str_c(&difference),
              row);
}

/* Rows that a release wrote are read by all later ones: the file is never written anew. */
Test(store, rows_of_every_event_are_read_for_ever)
{
    autoarena struct arena *arena = arena_new();
    autofree char *dir = fs_join(source_dir(), "tests/golden");
    autostr struct str text = {0};
    struct golden golden = {.arena = arena};
    struct err err = {0};

    read_golden("history_events.json", &text);
    cr_assert_eq(history_from_json(arena, text.ptr, text.len, &golden.history, &err), 0);
    store_context_init(&golden.ctx, NULL, "default", "worker@host", "demo-1", NULL);
    each_listed(dir, "history_events.rows", check_golden_row, &golden);
    cr_assert_eq(golden.next, EVENT_TYPE_MAX);
}

Test(store, six_events_of_an_activity_fit_the_budget)
{
    autoarena struct arena *arena = arena_new();
    char payload[101];
    struct builder b;
    struct store_context ctx;
    autostr struct str out = {0};

    memset(payload, 'x', sizeof(payload));
    payload[0] = payload[99] = '"';
    payload[100] = '\0';
    builder_init(&b, arena, "demo");
    build_task(&b);
    int64_t scheduled = build_activity(&b, "1", "step", payload);
    build_activity_done(&b, scheduled, payload);
    build_task(&b);
    init(&ctx);
    for (size_t i = 0; i < 4; i++) {
        store_encode(&ctx, &b.history.items[i], &out);
    }
    str_reset(&out);
    for (size_t i = 4; i < 10; i++) {
        store_encode(&ctx, &b.history.items[i], &out);
    }
    cr_assert_leq(out.len, 450);
}

Test(store, what_is_absent_against_the_usual_is_null)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str row = {0};
    struct store_context enc;
    struct store_context dec;
    struct event *event = event_new(arena, EVENT_WORKFLOW_TASK_SCHEDULED);

    init(&enc);
    init(&dec);
    event->id = 2;
    round_trip(&enc, &dec, arena, event, &row);
    cr_assert_str_eq(str_c(&row),
                     "{\"taskQueue\":null,\"startToCloseTimeout\":null,\"attempt\":null}");
    str_reset(&row);
    ev_workflow_task_scheduled(event)->task_queue = task_queue_new(arena, "other");
    ev_workflow_task_scheduled(event)->start_to_close_timeout = 20 * NS_PER_S;
    ev_workflow_task_scheduled(event)->attempt = 3;
    round_trip(&enc, &dec, arena, event, &row);
    cr_assert_str_eq(str_c(&row),
                     "{\"taskQueue\":\"other\",\"startToCloseTimeout\":\"20s\",\"attempt\":3}");
}

/* How one payload is written. */
static void payload_is(const char *encoding, const char *data, size_t len, const char *expected)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct payloads *list = payloads_json(arena, "1");
    struct payloads *copy = NULL;
    struct err err = {0};

    payload_set(&list->items[0], arena, encoding, data, len);
    store_payloads_encode(list, &out);
    cr_assert_str_eq(str_c(&out), expected);
    cr_assert_eq(store_payloads_decode(arena, out.ptr, out.len, &copy, &err), 0, "%s", err.text);
    cr_assert_eq(copy->count, 1);
    cr_assert(str_eq(copy->items[0].encoding, encoding));
    cr_assert_eq(copy->items[0].len, len);
    cr_assert(len == 0 || memcmp(copy->items[0].data, data, len) == 0);
}

Test(store, payloads_stand_for_themselves)
{
    payload_is("json/plain", "{\"a\": 1.50}", 11, "[{\"a\": 1.50}]");
    payload_is("json/plain", "null", 4, "[null]");
    payload_is("json/plain", "12345678901234567890", 20, "[12345678901234567890]");
    payload_is("json/plain", " 1", 2,
               "[{\"$payload\":{\"encoding\":\"json/plain\",\"text\":\" 1\"}}]");
    payload_is("json/plain", "no", 2,
               "[{\"$payload\":{\"encoding\":\"json/plain\",\"text\":\"no\"}}]");
    payload_is("json/plain", "{\"$payload\":1}", 14,
               "[{\"$payload\":{\"encoding\":\"json/plain\",\"text\":\"{\\\"$payload\\\":1}\"}}]");
    payload_is("binary/null", NULL, 0, "[{\"$payload\":{\"encoding\":\"binary/null\"}}]");
    payload_is("binary/plain", "a\0b", 3,
               "[{\"$payload\":{\"encoding\":\"binary/plain\",\"text\":\"a\\u0000b\"}}]");
    payload_is("binary/plain", "\xff\xfe", 2,
               "[{\"$payload\":{\"encoding\":\"binary/plain\",\"data\":\"//4=\"}}]");
    payload_is(NULL, "x", 1, "[{\"$payload\":{\"text\":\"x\"}}]");
}

Test(store, deep_payloads_are_kept_too)
{
    char deep[300];

    for (size_t depth = 90; depth <= JSON_DEPTH_MAX; depth++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str out = {0};
        struct payloads *copy = NULL;
        struct err err = {0};
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        store_payloads_encode(payloads_jsonn(arena, deep, 2 * depth), &out);
        cr_assert_eq(store_payloads_decode(arena, out.ptr, out.len, &copy, &err), 0, "%zu: %s",
                     depth, err.text);
        cr_assert_eq(copy->items[0].len, 2 * depth);
        cr_assert_eq(memcmp(copy->items[0].data, deep, 2 * depth), 0);
    }
}

Test(store, failures_come_back_equal)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    autostr struct str difference = {0};
    struct failure *copy = NULL;
    struct err err = {0};
    struct failure *inner = failure_application(arena, "T", "m", false, payloads_json(arena, "1"));
    struct failure *outer = failure_timeout(arena, TIMEOUT_TYPE_HEARTBEAT, NULL,
                                            payloads_json(arena, "{\"step\":2}"), inner);

    store_failure_encode(outer, &out);
    cr_assert_str_eq(
        str_c(&out),
        "{\"message\":\"activity Heartbeat timeout\",\"source\":\"CSDK\",\"cause\":"
        "{\"message\":\"m\",\"source\":\"CSDK\",\"applicationFailureInfo\":{\"type\":\"T\","
        "\"details\":[1]}},\"timeoutFailureInfo\":{\"timeoutType\":\"HEARTBEAT\","
        "\"lastHeartbeatDetails\":[{\"step\":2}]}}");
    cr_assert_eq(store_failure_decode(arena, out.ptr, out.len, &copy, &err), 0, "%s", err.text);
    cr_assert(failure_equal(outer, copy, DIFF_EXACT, &difference), "%s", str_c(&difference));
}

Test(store, endless_causes_are_cut_and_stay_readable)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct failure *failure = NULL;
    struct failure *copy = NULL;
    struct err err = {0};
    size_t causes = 0;

    for (int i = 0; i < 1000; i++) {
        failure = failure_timeout(arena, TIMEOUT_TYPE_HEARTBEAT, "late",
                                  payloads_json(arena, "[[[1]]]"), failure);
    }
    struct event *event = event_new(arena, EVENT_ACTIVITY_TASK_FAILED);
    ev_activity_task_failed(event)->failure = failure;
    struct store_context ctx;
    init(&ctx);
    store_encode(&ctx, event, &out);
    init(&ctx);
    cr_assert_eq(store_decode(&ctx, arena, 1, event->type, 0, out.ptr, out.len, event, &err), 0,
                 "%s", err.text);
    for (copy = ev_activity_task_failed(event)->failure; copy; copy = copy->cause) {
        causes++;
    }
    cr_assert_eq(causes, 63);
    str_reset(&out);
    event_to_json(&out, event);
    cr_assert_eq(event_from_json(arena, out.ptr, out.len, event, &err), 0, "%s", err.text);
}

Test(store, what_clients_write_needs_no_context)
{
    static const enum event_type types[] = {
        EVENT_WORKFLOW_EXECUTION_SIGNALED, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
        EVENT_WORKFLOW_EXECUTION_TERMINATED, EVENT_WORKFLOW_EXECUTION_TIMED_OUT};
    struct dice dice = {.state = 5};

    for (size_t i = 0; i < ARRAY_LEN(types) * 50; i++) {
        autoarena struct arena *arena = arena_new();
        autostr struct str row = {0};
        struct store_context fresh;
        struct store_context far;
        struct event event;
        struct event other;
        struct err err = {0};
        init(&far);
        for (int k = 0; k < 20; k++) {
            autostr struct str ignored = {0};
            random_event(&dice, arena, -1, &event);
            event.task_id = 0;
            event.time_digits = 0;
            store_encode(&far, &event, &ignored);
        }
        struct store_context before = far;
        random_event(&dice, arena, types[i % ARRAY_LEN(types)], &event);
        event.task_id = 0;
        event.time_digits = 0;
        store_context_init(&fresh, NULL, NULL, NULL, NULL, NULL);
        store_encode(&fresh, &event, &row);
        cr_assert_eq(store_decode(&far, arena, event.id, event.type, event.time_ns,
                                  row.len > 0 ? row.ptr : NULL, row.len, &other, &err),
                     0);
        cr_assert(event_equal(&event, &other, DIFF_EXACT, NULL));
        cr_assert_eq(memcmp(&far, &before, sizeof(far)), 0);
    }
}

Test(store, no_payloads_are_no_text)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct payloads *copy = payloads_json(arena, "1");

    store_payloads_encode(NULL, &out);
    cr_assert_eq(out.len, 0);
    cr_assert_eq(store_payloads_decode(arena, NULL, 0, &copy, NULL), 0);
    cr_assert_null(copy);
}

Test(store, damaged_rows_are_refused_by_id_and_field)
{
    static const struct {
        int64_t type;
        const char *text;
        const char *needle;
    } bad[] = {
        {61, "{}", "stored event 7: has a type that only a newer release knows"},
        {-1, "{}", "newer release"},
        {18, "", "stored event 7: is no JSON object"},
        {18, "[]", "stored event 7: is no JSON object"},
        {18, "{\"timerId\":", "stored event 7: is no JSON object"},
        {18, "{\"timerId\":1}", "stored event 7: timerId: must be a string"},
        {18, "{\"$event\":{\"huh\":1}}", "stored event 7: $event has a member that is not known"},
        {12, "{\"result\":[{\"$payload\":{\"data\":\"?\"}}]}",
         "result: $payload data: must be base64"},
        {12, "{\"result\":[{\"$payload\":{\"what\":1}}]}",
         "$payload has a member that is not known"},
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        autoarena struct arena *arena = arena_new();
        struct store_context ctx;
        struct store_context before;
        struct event event;
        struct err err = {0};
        init(&ctx);
        before = ctx;
        cr_assert_eq(store_decode(&ctx, arena, 7, bad[i].type, 0, bad[i].text, strlen(bad[i].text),
                                  &event, &err),
                     -1, "%s", bad[i].text);
        cr_assert(strstr(err.text, bad[i].needle), "%s", err.text);
        cr_assert_eq(memcmp(&ctx, &before, sizeof(ctx)), 0);
    }
}

Test(store, random_events_come_back_equal, .timeout = 120)
{
    struct dice dice = {.state = 987654321};

    for (int round = 0; round < 150; round++) {
        autoarena struct arena *arena = arena_new();
        struct store_context enc;
        struct store_context dec;
        init(&enc);
        init(&dec);
        for (int i = 0; i < 40; i++) {
            struct event event;
            random_event(&dice, arena, -1, &event);
            round_trip(&enc, &dec, arena, &event, NULL);
        }
    }
}

Test(store, random_runs_of_one_type_come_back_equal, .timeout = 120)
{
    struct dice dice = {.state = 4242};

    for (int type = 0; type <= EVENT_TYPE_MAX; type++) {
        autoarena struct arena *arena = arena_new();
        struct store_context enc;
        struct store_context dec;
        init(&enc);
        init(&dec);
        for (int i = 0; i < 30; i++) {
            struct event event;
            random_event(&dice, arena, type, &event);
            round_trip(&enc, &dec, arena, &event, NULL);
        }
    }
}

/* --- the collection --- */

static void through_store(const char *dir, char *line, void *user)
{
    size_t *count = user;
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    autostr struct str out = {0};
    struct history history = {0};
    struct err err = {0};
    char *tab = strchr(line, '\t');

    if (tab) {
        *tab = '\0';
    }
    if (!str_ends(line, ".json")) {
        return;
    }
    read_text(dir, line, &text);
    if (history_from_json(arena, text.ptr, text.len, &history, &err) == 0) {
        rows(&history, &out);
        (*count)++;
    }
}

Test(store, recorded_histories_come_back_equal, .timeout = 120)
{
    autofree char *dir = collection_dir();
    size_t count = 0;

    if (!fs_is_dir(dir)) {
        cr_skip_test("skip: set FACTORY_HISTORIES to a collection of recorded histories");
    }
    each_listed(dir, "INDEX.tsv", through_store, &count);
    cr_assert_eq(count, 136);
}
