/*
 * test_temporal_value.c - durable.h's texts as values of a server's messages, and back.
 */
#include "temporal/value.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "history/attributes.h"
#include "history/failure.h"
#include "history/map.h"
#include "history/proto.h"
#include "history/sealing.h"
#include "temporal/remote.h"

#define RUN "0198c504-e431-787f-a871-2bf426943d58"

static char no_prefix[] = "";
static struct remote plain = {.queue_prefix = no_prefix};

Test(value, json_comes_back_to_the_letter)
{
    static const char *const texts[] = {"null", "1e999", "\"\\u0000\"", "{\"a\" : [ ]}",
                                        "\"\xc3\xa9\xe2\x82\xac\""};
    autoarena struct arena *arena = arena_new();
    const char *back;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        ProtobufCBinaryData bytes = value_json(&plain, arena, texts[i]);
        cr_assert_eq(value_read_json(&plain, arena, bytes, &back, NULL), 0);
        cr_assert_str_eq(back, texts[i]);
    }
    cr_assert_eq(value_json(&plain, arena, NULL).len, 0);
    cr_assert_eq(value_read_json(&plain, arena, (ProtobufCBinaryData){0}, &back, NULL), 0);
    cr_assert_null(back);
}

static const char *shown(struct arena *arena, const char *encoding, const char *data)
{
    struct payload payload = {0};
    struct payloads payloads = {.items = &payload, .count = 1};

    payload_set(&payload, arena, encoding, data, data ? strlen(data) : 0);
    return value_text(arena, &payloads);
}

Test(value, what_is_no_json_is_told_as_a_payload)
{
    autoarena struct arena *arena = arena_new();

    cr_assert_str_eq(shown(arena, "binary/null", NULL), "null");
    cr_assert_str_eq(shown(arena, "json/plain", "[1]"), "[1]");
    cr_assert_str_eq(shown(arena, "binary/plain", "hi"),
                     "{\"metadata\":{\"encoding\":\"YmluYXJ5L3BsYWlu\"},\"data\":\"aGk=\"}");
    cr_assert_str_eq(
        shown(arena, "json/plain", "{broken"),
        "{\"metadata\":{\"encoding\":\"anNvbi9wbGFpbg==\"},\"data\":\"e2Jyb2tlbg==\"}");
}

Test(value, maps_and_failures)
{
    autoarena struct arena *arena = arena_new();
    const char *text;
    struct payload_map *map = map_parse(arena, "{\"k\":{\"a\":1},\"l\":null}");
    struct failure *failure = failure_application(arena, "T", "m", true, NULL);

    cr_assert_eq(value_show_memo(&plain, arena, value_memo(&plain, arena, map), &text, NULL), 0);
    cr_assert_str_eq(text, "{\"k\":{\"a\":1},\"l\":null}");
    cr_assert_eq(value_show_memo(&plain, arena, (ProtobufCBinaryData){0}, &text, NULL), 0);
    cr_assert_str_eq(text, "{}");
    const char *given = "{\"Due\":{\"type\":\"Datetime\",\"value\":"
                        "\"2026-01-02T03:04:05.000000000Z\"},\"Name\":\"x\",\"Tags\":[\"a\"]}";
    cr_assert_eq(attributes_parse(arena, given, &map, NULL), 0);
    cr_assert_eq(value_read_attributes(arena, value_attributes(arena, map), &text, NULL), 0);
    cr_assert_str_eq(text, given);
    failure = failure_activity(arena, 5, 6, "1", "act", "me", RETRY_STATE_TIMEOUT, failure);
    struct failure *back;
    cr_assert_eq(
        value_show_failure(&plain, arena, value_failure(&plain, arena, failure), &back, NULL), 0);
    cr_assert_str_eq(value_failure_json(arena, back), value_failure_json(arena, failure));
    cr_assert(strstr(value_failure_line(arena, back), "application T: m"), "%s",
              value_failure_line(arena, back));
    cr_assert_null(value_failure_json(arena, NULL));
    cr_assert_str_eq(value_failure_line(arena, NULL), "");
}

Test(value, bytes_that_are_none_are_refused)
{
    autoarena struct arena *arena = arena_new();
    uint8_t bytes[] = {0x0a, 0x05};
    ProtobufCBinaryData broken = {sizeof(bytes), bytes};
    struct err err = {0};
    struct payloads *payloads;
    struct history history;
    const char *text;

    cr_assert_lt(value_read_payloads(&plain, arena, broken, &payloads, &err), 0);
    cr_assert_eq(value_code(&err), DUR_IO);
    cr_assert_lt(value_show_memo(&plain, arena, broken, &text, NULL), 0);
    cr_assert_lt(value_read_attributes(arena, broken, &text, NULL), 0);
    cr_assert_lt(value_read_history(&plain, arena, broken, &history, NULL), 0);
    cr_assert_eq(value_read_history(&plain, arena, (ProtobufCBinaryData){0}, &history, NULL), 0);
    cr_assert_eq(history.count, 0);
}

Test(value, ids_name_a_run_when_they_end_like_one)
{
    static const struct {
        const char *id, *workflow, *run;
    } cases[] = {
        {"a", "a", ""},
        {"a@" RUN, "a", RUN},
        {"a@b@" RUN, "a@b", RUN},
        {"a@b", "a@b", ""},
        {"a@" RUN "0", "a@" RUN "0", ""},
        {"a@0198c504-e431-787f-a871-2bf426943d5", "a@0198c504-e431-787f-a871-2bf426943d5", ""},
        {"a@0198c504e431-787f-a871-2bf426943d588", "a@0198c504e431-787f-a871-2bf426943d588", ""},
        {"a@0198c504-e431-787f-a871-2bf426943dzz", "a@0198c504-e431-787f-a871-2bf426943dzz", ""},
        {"a@", "a@", ""},
    };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const Pb__WorkflowExecution *run = value_execution(arena, cases[i].id);
        cr_assert_str_eq(run->workflow_id, cases[i].workflow);
        cr_assert_str_eq(run->run_id, cases[i].run);
    }
}

Test(value, times)
{
    autoarena struct arena *arena = arena_new();
    Pb__Timestamp time;
    Pb__Duration span;

    pb__timestamp__init(&time);
    pb__duration__init(&span);
    time.seconds = 1767323045;
    time.nanos = 7;
    cr_assert_eq(value_ns(&time), 1767323045000000007);
    time.seconds = -62135596800; /* Go's zero time */
    cr_assert_eq(value_ns(&time), 0);
    time.seconds = INT64_MAX;
    cr_assert_eq(value_ns(&time), INT64_MAX);
    cr_assert_eq(value_ns(NULL), 0);
    span.seconds = 100LL * 365 * 86400 * 10; /* more than nanoseconds can say */
    cr_assert_eq(value_span_ns(&span), INT64_MAX);
    cr_assert_eq(value_span_ns(NULL), 0);
    cr_assert_null(value_duration(arena, 0));
    cr_assert_eq(value_span_ns(value_duration(arena, 1500000001)), 1500000001);
}

Test(value, queues_have_the_prefix)
{
    autoarena struct arena *arena = arena_new();
    char prefix[] = "site-";
    struct remote remote = {.queue_prefix = prefix};

    cr_assert_str_eq(value_task_queue(&remote, arena, "agents")->name, "site-agents");
    cr_assert_str_eq(value_task_queue(&remote, arena, NULL)->name, "site-default");
    cr_assert_str_eq(value_queue(&plain, arena, "agents"), "agents");
}

/* --- sealed values ---------------------------------------------------------------------------- */

/* A cipher that is none: the letters stand backwards. */
static const char *turn(void *user, const void *bytes, size_t len, struct str *out)
{
    for (size_t i = len; i > 0; i--) {
        str_addc(out, ((const char *)bytes)[i - 1]);
    }
    return user;
}

static int turn_back(void *user, const char *key_id, const void *bytes, size_t len, struct str *out,
                     struct err *err)
{
    if (!str_eq(user, key_id)) {
        return err_set(err, ERR_PERMANENT, "UnknownSealingKey", "no key \"%s\"", key_id);
    }
    turn(user, bytes, len, out);
    return 0;
}

static char first_key[] = "k1", other_key[] = "k2";
static const struct sealer first_sealer = {turn, turn_back, first_key};
static const struct sealer other_sealer = {turn, turn_back, other_key};
static struct remote sealing = {.queue_prefix = no_prefix, .sealer = &first_sealer};
static struct remote stranger = {.queue_prefix = no_prefix, .sealer = &other_sealer};

#define SEALED "{\"$sealed\":\"(sealed with the key k1)\"}"

static void unreadable(struct remote *remote, ProtobufCBinaryData bytes)
{
    autoarena struct arena *arena = arena_new();
    struct err err = {0};
    const char *text;

    cr_assert_lt(value_read_json(remote, arena, bytes, &text, &err), 0);
    cr_assert_str_eq(err.name, "UnknownSealingKey");
    cr_assert_eq(value_code(&err), DUR_INVALID);
    cr_assert(strstr(err.text, "\"k1\""), "%s", err.text);
}

Test(value, sealed_json_is_read_with_its_key_alone)
{
    autoarena struct arena *arena = arena_new();
    const char *text;
    ProtobufCBinaryData bytes = value_json(&sealing, arena, "\"secret\"");

    cr_assert_null(memmem(bytes.data, bytes.len, "secret", 6));
    cr_assert_eq(value_read_json(&sealing, arena, bytes, &text, NULL), 0);
    cr_assert_str_eq(text, "\"secret\"");
    unreadable(&stranger, bytes);
    unreadable(&plain, bytes);
}

Test(value, people_see_what_is_sealed)
{
    autoarena struct arena *arena = arena_new();
    struct payload_map *memo = map_parse(arena, "{\"a\":1}");
    struct failure *failure = failure_application(arena, "T", "secret", true, NULL);
    struct failure *back;
    const char *text;
    ProtobufCBinaryData bytes = value_memo(&sealing, arena, memo);

    cr_assert_eq(value_show_memo(&sealing, arena, bytes, &text, NULL), 0);
    cr_assert_str_eq(text, "{\"a\":1}");
    cr_assert_eq(value_show_memo(&stranger, arena, bytes, &text, NULL), 0);
    cr_assert_str_eq(text, "{\"a\":" SEALED "}");
    bytes = value_failure(&sealing, arena, failure);
    cr_assert_eq(value_show_failure(&plain, arena, bytes, &back, NULL), 0);
    cr_assert_str_eq(value_failure_line(arena, back), "application T: Encoded failure");
    cr_assert_eq(value_show_failure(&sealing, arena, bytes, &back, NULL), 0);
    cr_assert_str_eq(value_failure_line(arena, back), "application T: secret");
}

Test(value, histories_are_opened)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0};
    struct history history;
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    struct err err = {0};

    event->id = 7;
    ev_workflow_execution_signaled(event)->input = payloads_json(arena, "\"secret\"");
    struct event sealed = event_seal(&first_sealer, arena, event);
    event_to_proto(&bytes, &sealed);
    ProtobufCBinaryData data = {bytes.len, (uint8_t *)bytes.ptr};
    cr_assert_eq(value_read_history(&sealing, arena, data, &history, NULL), 0);
    const struct ev_workflow_execution_signaled *s =
        ev_workflow_execution_signaled(&history.items[0]);
    cr_assert_str_eq(value_text(arena, s->input), "\"secret\"");
    cr_assert_lt(value_read_history(&plain, arena, data, &history, &err), 0);
    cr_assert(strstr(err.text, "event 7: "), "%s", err.text);
    cr_assert_eq(value_show_history(&plain, arena, data, &history, NULL), 0);
    s = ev_workflow_execution_signaled(&history.items[0]);
    cr_assert_str_eq(value_text(arena, s->input), SEALED);
    cr_assert_str_eq(value_sealed(s->input), "k1");
}
