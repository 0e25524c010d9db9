/*
 * test_history_proto.c - histories in protobuf's binary form: exact bytes of small messages, what
 * other writers may write, what is refused, round trips of everything, recorded files.
 */
#include "history/proto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "history/diff.h"
#include "history/json.h"
#include "history_files.h"
#include "history_random.h"

/* "0a 02 08 01" */
static void add_hex(struct str *out, const char *hex)
{
    unsigned byte;

    for (; *hex; hex += *hex == ' ' ? 1 : 2) {
        if (*hex != ' ') {
            cr_assert_eq(sscanf(hex, "%2x", &byte), 1);
            str_addc(out, (char)byte);
        }
    }
}

static void hex_of(struct str *out, const struct str *bytes)
{
    for (size_t i = 0; i < bytes->len; i++) {
        str_addf(out, "%s%02x", i ? " " : "", (unsigned)(unsigned char)bytes->ptr[i]);
    }
}

static void read_json(struct arena *arena, const char *json, struct event *ret)
{
    struct err err = {0};

    cr_assert_eq(event_from_json(arena, json, strlen(json), ret, &err), 0, "%s", err.text);
}

/* The event of that JSON has exactly these bytes, and they give that JSON back. */
static void both_ways(const char *json, const char *hex)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0}, shown = {0}, wanted = {0}, text = {0};
    struct history history = {0};
    struct event event;
    struct err err = {0};

    read_json(arena, json, &event);
    event_to_proto(&bytes, &event);
    hex_of(&shown, &bytes);
    cr_assert_str_eq(str_c(&shown), hex, "%s\n%s", json, str_c(&shown));
    add_hex(&wanted, hex);
    cr_assert_eq(history_from_proto(arena, wanted.ptr, wanted.len, &history, &err), 0, "%s",
                 err.text);
    cr_assert_eq(history.count, 1);
    event_to_json(&text, &history.items[0]);
    cr_assert_str_eq(str_c(&text), json);
}

/* These bytes of one event read as that JSON. */
static void reads_as(const char *hex, const char *json)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0}, text = {0};
    struct event event;
    struct err err = {0};

    add_hex(&bytes, hex);
    cr_assert_eq(event_from_proto(arena, bytes.ptr, bytes.len, &event, &err), 0, "%s: %s", hex,
                 err.text);
    event_to_json(&text, &event);
    cr_assert_str_eq(str_c(&text), json);
}

static void refused(const char *hex, const char *needle)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0};
    struct history history = {0};
    struct err err = {0};

    add_hex(&bytes, hex);
    cr_assert_eq(history_from_proto(arena, bytes.ptr, bytes.len, &history, &err), -1, "%s", hex);
    cr_assert(strstr(err.text, needle), "%s: %s", hex, err.text);
    cr_assert_eq(err.kind, ERR_PERMANENT);
    cr_assert_str_eq(err.name, "BadHistory");
}

#define TIMER "\"eventType\":\"EVENT_TYPE_TIMER_STARTED\",\"timerStartedEventAttributes\":"

Test(proto, bytes_are_the_protocols)
{
    both_ways("{\"eventId\":\"5\",\"eventTime\":\"1970-01-01T00:00:01.000000002Z\"," TIMER
              "{\"timerId\":\"1\",\"startToFireTimeout\":\"2s\"}}",
              "0a 14 08 05 12 04 08 01 10 02 18 11 a2 01 07 0a 01 31 12 02 08 02");
    both_ways("{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED\","
              "\"activityTaskCancelRequestedEventAttributes\":{\"scheduledEventId\":\"-1\"}}",
              "0a 12 08 01 18 0f b2 01 0b 08 ff ff ff ff ff ff ff ff ff 01");
    both_ways("{\"eventId\":\"300\",\"eventType\":\"EVENT_TYPE_WORKFLOW_TASK_FAILED\","
              "\"taskId\":\"9223372036854775807\",\"workflowTaskFailedEventAttributes\":"
              "{\"cause\":\"WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR\"},"
              "\"workerMayIgnore\":true}",
              "0a 16 08 ac 02 18 09 28 ff ff ff ff ff ff ff ff 7f 72 02 18 18 e0 12 01");
}

Test(proto, lists_are_packed)
{
    both_ways("{\"eventId\":\"4\",\"eventType\":\"EVENT_TYPE_WORKFLOW_TASK_COMPLETED\","
              "\"workflowTaskCompletedEventAttributes\":{\"sdkMetadata\":"
              "{\"coreUsedFlags\":[1,300],\"langUsedFlags\":[2]}}}",
              "0a 10 08 04 18 07 62 0a 32 08 0a 03 01 ac 02 12 01 02");
    reads_as("08 04 18 07 62 0b 32 09 08 01 08 ac 02 0a 02 05 06",
             "{\"eventId\":\"4\",\"eventType\":\"EVENT_TYPE_WORKFLOW_TASK_COMPLETED\","
             "\"workflowTaskCompletedEventAttributes\":{\"sdkMetadata\":"
             "{\"coreUsedFlags\":[1,300,5,6]}}}");
}

Test(proto, floats_and_doubles_keep_their_value)
{
    both_ways("{\"eventId\":\"5\",\"eventType\":\"EVENT_TYPE_ACTIVITY_TASK_SCHEDULED\","
              "\"activityTaskScheduledEventAttributes\":{\"retryPolicy\":"
              "{\"backoffCoefficient\":1.5},\"priority\":{\"fairnessWeight\":0.1}}}",
              "0a 18 08 05 18 0a 7a 12 62 09 11 00 00 00 00 00 00 f8 3f 72 05 1d cd cc cc 3d");
}

Test(proto, times_reach_from_year_1_to_9999)
{
    both_ways("{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_WORKFLOW_EXECUTION_STARTED\","
              "\"workflowExecutionStartedEventAttributes\":"
              "{\"workflowExecutionExpirationTime\":\"0001-01-01T00:00:00Z\"}}",
              "0a 14 08 01 18 01 32 0e 9a 01 0b 08 80 92 b8 c3 98 fe ff ff ff 01");
    both_ways("{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_TIMER_STARTED\","
              "\"timerStartedEventAttributes\":"
              "{\"startToFireTimeout\":\"-315576000000.000000001s\"}}",
              "0a 1f 08 01 18 11 a2 01 18 12 16 08 80 c4 d1 b1 e8 f6 ff ff ff 01 10 ff ff ff ff ff "
              "ff ff ff ff 01");
    reads_as("08 01 12 08 08 80 b6 d7 e5 26 10 01",
             "{\"eventId\":\"1\",\"eventTime\":\"2300-01-01T00:00:00.000000001Z\"}");
}

Test(proto, pieces_of_a_message_are_one)
{
    /* the attributes in two pieces, the id twice, out of order */
    reads_as("a2 01 03 0a 01 31 08 07 18 11 08 05 a2 01 04 12 02 08 02",
             "{\"eventId\":\"5\"," TIMER "{\"timerId\":\"1\",\"startToFireTimeout\":\"2s\"}}");
}

Test(proto, unknown_fields_come_back)
{
    /* field 1000 of the event: varint; field 77 of the attributes: a group with a string */
    const char *hex = "0a 17 08 05 18 11 a2 01 0d 0a 01 31 eb 04 0a 02 68 69 ec 04 12 00 c0 3e 01";
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0}, back = {0}, json = {0}, again = {0};
    struct history history = {0};
    struct event event;
    struct err err = {0};

    add_hex(&bytes, hex);
    cr_assert_eq(history_from_proto(arena, bytes.ptr, bytes.len, &history, &err), 0, "%s",
                 err.text);
    event_to_json(&json, &history.items[0]);
    cr_assert(strstr(json.ptr, "\"$protobuf\":\"wD4B\""), "%s", json.ptr);
    read_json(arena, json.ptr, &event);
    event_to_proto(&back, &event);
    cr_assert_eq(event_from_proto(arena, back.ptr + 2, back.len - 2, &event, &err), 0);
    event_to_json(&again, &event);
    cr_assert_str_eq(again.ptr, json.ptr);
    cr_assert_eq(back.len, bytes.len);
}

Test(proto, members_without_a_field_come_back)
{
    const char *json =
        "{\"eventId\":\"5\"," TIMER "{\"timerId\":\"1\",\"later\":{\"a\":[1,2]}},\"madeUp\":\"x\"}";
    autoarena struct arena *arena = arena_new();
    autostr struct str bytes = {0}, text = {0};
    struct history history = {0};
    struct event event;
    struct err err = {0};

    read_json(arena, json, &event);
    event_to_proto(&bytes, &event);
    cr_assert_eq(history_from_proto(arena, bytes.ptr, bytes.len, &history, &err), 0, "%s",
                 err.text);
    event_to_json(&text, &history.items[0]);
    cr_assert_str_eq(str_c(&text), json);
}

Test(proto, hostile_bytes_are_refused)
{
    refused("", "no event");
    refused("08 01", "no event");
    refused("0a", "end early");
    refused("0a 05 08 01", "end early");
    refused("0a ff ff ff ff ff ff ff ff ff 01 08", "end early");
    refused("0a ff ff ff ff ff ff ff ff ff 7f 08", "end early");
    refused("0a 02 08 ff", "event at index 0");
    refused("0a 02 00 01", "event at index 0");
    refused("0a 02 0f 01", "event at index 0");
    refused("0a 02 0c 01", "event at index 0");
    refused("0a 02 08 01 0a 08 08 02 a2 01 03 0a 01 ff",
            "event at index 1: timerStartedEventAttributes: timerId: is not UTF-8");
    refused("0a 08 08 02 a2 01 03 0a 01 00", "NUL");
    refused("0a 09 08 01 12 05 08 01 10 80 80", "eventTime");
    refused("0a 0a 08 01 12 06 10 80 94 eb dc 03", "nanoseconds of more than a second");
    refused("0a 08 08 01 12 04 08 01 18 01", "more than seconds");
    refused("0a 0b 08 01 12 07 08 80 80 80 80 80 40", "years 1 and 9999");
}

Test(proto, failures_nest_only_so_deep)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str inner = {0};
    struct event event;
    struct err err = {0};

    for (int i = 0; i < 5000; i++) { /* cause in cause */
        autostr struct str outer = {0};
        size_t len = inner.len;
        str_addc(&outer, 0x22);
        for (; len >= 0x80; len >>= 7) {
            str_addc(&outer, (char)(unsigned char)(len | 0x80));
        }
        str_addc(&outer, (char)len);
        str_addn(&outer, str_c(&inner), inner.len);
        str_free(&inner);
        inner = outer;
        outer = (struct str){0};
    }
    autostr struct str attributes = {0}, bytes = {0};
    str_addc(&attributes, 0x0a);
    for (size_t len = inner.len;; len >>= 7) {
        str_addc(&attributes, (char)(unsigned char)(len >= 0x80 ? len | 0x80 : len));
        if (len < 0x80) {
            break;
        }
    }
    str_addn(&attributes, inner.ptr, inner.len);
    str_addc(&bytes, 0x42);
    for (size_t len = attributes.len;; len >>= 7) {
        str_addc(&bytes, (char)(unsigned char)(len >= 0x80 ? len | 0x80 : len));
        if (len < 0x80) {
            break;
        }
    }
    str_addn(&bytes, attributes.ptr, attributes.len);
    cr_assert_eq(event_from_proto(arena, bytes.ptr, bytes.len, &event, &err), -1);
    cr_assert(strstr(err.text, "nested too deeply"), "%s", err.text);
}

Test(proto, the_forms_are_told_apart)
{
    cr_assert(!bytes_are_proto("{\"events\":[]}", 13));
    cr_assert(!bytes_are_proto(" \r\n\t[{}]", 8));
    cr_assert(!bytes_are_proto("", 0));
    cr_assert(bytes_are_proto("\n{\x08\x01", 4));
    cr_assert(bytes_are_proto("\n\x02\x18\x01", 4));
}

/* Fields of structs, whatever their value, survive. */
Test(proto, random_events_come_back_equal, .timeout = 120)
{
    struct dice dice = {.state = 20260103};

    for (int round = 0; round < 30; round++) {
        for (int type = 0; type <= EVENT_TYPE_MAX; type++) {
            autoarena struct arena *arena = arena_new();
            autostr struct str bytes = {0}, difference = {0};
            struct history copy = {0};
            struct event event;
            struct err err = {0};
            random_event(&dice, arena, type, &event);
            event_to_proto(&bytes, &event);
            cr_assert_eq(history_from_proto(arena, bytes.ptr, bytes.len, &copy, &err), 0, "%s",
                         err.text);
            cr_assert(event_equal(&event, &copy.items[0], DIFF_DIGITS, &difference), "%s",
                      str_c(&difference));
        }
    }
}

/* Every field of every message of the protocol, as protobuf's own library wrote it. */
Test(proto, another_writers_bytes_are_ours)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str json = {0}, bytes = {0}, text = {0}, back = {0};
    struct history history = {0}, again = {0};
    struct err err = {0};

    read_golden("history_wire.bin", &bytes);
    read_golden("history_wire.json", &json);
    cr_assert(bytes_are_proto(bytes.ptr, bytes.len));
    cr_assert(!bytes_are_proto(json.ptr, json.len));
    cr_assert_eq(history_from_proto(arena, bytes.ptr, bytes.len, &history, &err), 0, "%s",
                 err.text);
    cr_assert_eq(history.count, EVENT_TYPE_MAX);
    history_to_json(&text, &history);
    cr_assert_str_eq(text.ptr, json.ptr);
    cr_assert_eq(history_from_json(arena, json.ptr, json.len, &again, &err), 0, "%s", err.text);
    history_to_proto(&back, &again);
    cr_assert_eq(back.len, bytes.len);
    cr_assert_arr_eq(back.ptr, bytes.ptr, bytes.len);
}

/* Shapes that no field has are kept, and those of the stored golden are such. */
Test(proto, what_fits_no_field_comes_back)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0}, bytes = {0}, back = {0};
    struct history history = {0}, again = {0};
    struct err err = {0};

    read_golden("history_events.json", &text);
    cr_assert_eq(history_from_json(arena, text.ptr, text.len, &history, &err), 0, "%s", err.text);
    history_to_proto(&bytes, &history);
    cr_assert_eq(history_from_proto(arena, bytes.ptr, bytes.len, &again, &err), 0, "%s", err.text);
    history_to_json(&back, &again);
    cr_assert_str_eq(back.ptr, text.ptr);
}
