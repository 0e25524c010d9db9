/*
 * test_history_json.c - history/json: Temporal's JSON form, read and printed without loss.
 */
#include "history/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "history/codec.h"
#include "history/diff.h"
#include "history/validate.h"
#include "history_files.h"
#include "history_random.h"

static void parse(struct arena *arena, const char *text, struct history *history)
{
    struct err err = {0};

    cr_assert_eq(history_from_json(arena, text, strlen(text), history, &err), 0, "%s\n%s", err.text,
                 text);
}

/* The error of a history that must not parse. */
static void refused(const char *text, const char *needle)
{
    autoarena struct arena *arena = arena_new();
    struct history history = {0};
    struct err err = {0};

    cr_assert_eq(history_from_json(arena, text, strlen(text), &history, &err), -1, "%s", text);
    cr_assert(strstr(err.text, needle), "\"%s\" is not in \"%s\"", needle, err.text);
    cr_assert_eq(err.kind, ERR_PERMANENT);
    cr_assert_eq(history.count, 0);
}

/* One event printed again. */
static void prints(const char *text, const char *expected)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct event event = {0};
    struct err err = {0};

    cr_assert_eq(event_from_json(arena, text, strlen(text), &event, &err), 0, "%s", err.text);
    event_to_json(&out, &event);
    cr_assert_str_eq(str_c(&out), expected);
}

Test(json, the_example_comes_back_byte_for_byte)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    autostr struct str out = {0};
    struct history history = {0};

    read_golden("history_example.json", &text);
    parse(arena, text.ptr, &history);
    cr_assert_eq(history.count, 20);
    history_to_json(&out, &history);
    cr_assert_str_eq(str_c(&out), str_c(&text));
}

Test(json, every_event_and_field_has_its_name_for_ever)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    autostr struct str out = {0};
    struct history history = {0};

    read_golden("history_events.json", &text);
    parse(arena, text.ptr, &history);
    cr_assert_eq(history.count, EVENT_TYPE_MAX);
    for (size_t i = 0; i < history.count; i++) {
        cr_assert_eq((size_t)history.items[i].type, i + 1);
        cr_assert_null(history.items[i].unknown);
        if (event_desc(history.items[i].type)->message.count > 0) {
            cr_assert_null(((struct message_head *)history.items[i].attributes)->unknown);
        }
    }
    history_to_json(&out, &history);
    cr_assert_str_eq(str_c(&out), str_c(&text));
}

Test(json, fields_arrive_in_their_members)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct history history = {0};

    read_golden("history_example.json", &text);
    parse(arena, text.ptr, &history);
    memset(text.ptr, '#', text.len); /* nothing may point into the source */
    const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(&history.items[4]);
    cr_assert_str_eq(a->activity_id, "1");
    cr_assert_str_eq(a->activity_type, "greet");
    cr_assert_str_eq(a->task_queue->name, "q");
    cr_assert_eq(a->task_queue->kind, TASK_QUEUE_KIND_NORMAL);
    cr_assert_str_eq(payloads_first_json(a->input, NULL), "\"ada\"");
    cr_assert_eq(a->start_to_close_timeout, 10000000000);
    cr_assert_eq(a->workflow_task_completed_event_id, 4);
    cr_assert_float_eq(a->retry_policy->backoff_coefficient, 2.0, 1e-9);
    cr_assert_eq(a->retry_policy->maximum_interval, 100000000000);
    const struct sdk_metadata *sdk = ev_workflow_task_completed(&history.items[3])->sdk_metadata;
    cr_assert_eq(sdk->core_used_flags.count, 3);
    cr_assert_eq(sdk->lang_used_flags.items[1], 2);
    cr_assert_eq(history.items[0].time_ns, 1767323045010000000);
    cr_assert_eq(history.items[0].task_id, 1000);
}

Test(json, five_containers_are_accepted)
{
    static const char *const texts[] = {
        "{\"events\":[{\"eventId\":\"1\",\"eventType\":\"TimerFired\"}]}",
        "[{\"eventId\":1,\"eventType\":\"EVENT_TYPE_TIMER_FIRED\"}]",
        "{\"nextPageToken\":\"\",\"history\":{\"events\":[{\"event_id\":\"1\",\"eventType\":18}]}}",
        "[{\"events\":[{\"eventId\":\"1\",\"event_type\":\"TimerFired\"}]}]",
        "{\"events\":[{\"eventId\":\"1\",\"timer_fired_event_attributes\":{}}]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        autoarena struct arena *arena = arena_new();
        struct history history = {0};
        parse(arena, texts[i], &history);
        cr_assert_eq(history.count, 1, "%s", texts[i]);
        cr_assert_eq(history.items[0].id, 1);
        cr_assert_eq(history.items[0].type, EVENT_TIMER_FIRED, "%s", texts[i]);
    }
    autoarena struct arena *arena = arena_new();
    struct history none = {0};
    parse(arena, "{\"events\":[]}", &none);
    cr_assert_eq(none.count, 0);
}

Test(json, what_is_no_history_is_refused)
{
    refused("", "history");
    refused("{}", "no history");
    refused("{\"events\":{}}", "no history");
    refused("{\"history\":[]}", "no history");
    refused("\"x\"", "no history");
    refused("{\"events\":[]} x", "line 1");
    refused("{\"events\":[1]}", "event at index 0 (id 0): must be an object");
}

static void data_is(const char *base64, const char *bytes, size_t len)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct event event;
    struct err err = {0};

    str_addf(&text,
             "{\"eventId\":\"2\",\"eventType\":\"EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED\","
             "\"workflowExecutionCompletedEventAttributes\":{\"result\":{\"payloads\":[%s]}}}",
             base64);
    cr_assert_eq(event_from_json(arena, text.ptr, text.len, &event, &err), 0, "%s: %s", base64,
                 err.text);
    const struct payloads *result = ev_workflow_execution_completed(&event)->result;
    cr_assert_eq(result->count, 1);
    cr_assert_eq(result->items[0].len, len, "%s: %zu bytes", base64, result->items[0].len);
    cr_assert_arr_eq(result->items[0].data ? result->items[0].data : "", bytes, len);
}

/* What other readers take: both alphabets, no padding, bits that belong to no byte. */
Test(json, payloads_are_read_leniently)
{
    data_is("{\"data\":\"+/+/\"}", "\xfb\xff\xbf", 3);
    data_is("{\"data\":\"-_-_\"}", "\xfb\xff\xbf", 3);
    data_is("{\"data\":\"YQ\"}", "a", 1);
    data_is("{\"data\":\"YWI\"}", "ab", 2);
    data_is("{\"data\":\"YR==\"}", "a", 1);
    data_is("{\"data\":null}", "", 0);
    data_is("\"ada\"", "\"ada\"", 5);
    data_is("[1, 2]", "[1,2]", 5);
    data_is("12", "12", 2);
}

Test(json, errors_name_event_and_field)
{
    refused(
        "{\"events\":[{\"eventId\":\"1\"},{\"eventId\":\"7\",\"eventType\":\"TimerFired\","
        "\"timerFiredEventAttributes\":{\"startedEventId\":\"x\"}}]}",
        "event at index 1 (id 7): timerFiredEventAttributes: startedEventId: must be an integer");
    refused("[{\"eventId\":\"9223372036854775808\"}]", "eventId: must be an integer of 64 bits");
    refused("[{\"eventId\":1.5}]", "eventId: must be an integer of 64 bits");
    refused("[{\"eventTime\":\"yesterday\"}]", "eventTime: is no RFC 3339 time");
    refused("[{\"eventType\":\"TimerFired\",\"timerFiredEventAttributes\":{\"timerId\":5}}]",
            "timerId: must be a string");
    refused("[{\"eventType\":\"TimerFired\",\"timerFiredEventAttributes\":{\"timerId\":"
            "\"a\\u0000b\"}}]",
            "timerId: holds a NUL character");
    refused("[{\"eventType\":\"TimerFired\",\"timerFiredEventAttributes\":{\"timerId\":\"1\","
            "\"timer_id\":\"1\"}}]",
            "timerId: given twice");
    refused("[{\"eventType\":\"TimerFired\",\"timerStartedEventAttributes\":{}}]",
            "timerStartedEventAttributes on an event of type EVENT_TYPE_TIMER_FIRED");
    refused("[{\"eventType\":\"TimerStarted\",\"timerStartedEventAttributes\":"
            "{\"startToFireTimeout\":\"5\"}}]",
            "startToFireTimeout: is no duration");
    refused("[{\"eventType\":\"WorkflowExecutionCompleted\","
            "\"workflowExecutionCompletedEventAttributes\":{\"result\":{\"payloads\":[{\"data\":"
            "\"%\"}]}}}]",
            "result: payload data: must be base64");
    refused("[{\"eventType\":\"ActivityTaskScheduled\",\"activityTaskScheduledEventAttributes\":"
            "{\"retryPolicy\":{\"maximumAttempts\":2147483648}}}]",
            "retryPolicy: maximumAttempts: must be an integer of 32 bits");
}

Test(json, unknown_members_and_values_are_kept)
{
    prints(
        "{\"eventId\":\"1\",\"eventType\":\"WorkflowTaskFailed\",\"links\":[ 1 , {} ],"
        "\"workflowTaskFailedEventAttributes\":{\"cause\":\"QuantumFlux\",\"later\":{\"x\":null}}}",
        "{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_WORKFLOW_TASK_FAILED\","
        "\"workflowTaskFailedEventAttributes\":{\"cause\":\"QuantumFlux\",\"later\":{\"x\":null}},"
        "\"links\":[1,{}]}");
    prints("{\"eventId\":\"9\",\"eventType\":\"EVENT_TYPE_NEXT\",\"workerMayIgnore\":true,"
           "\"nextEventAttributes\":{\"n\":12345678901234567890}}",
           "{\"eventId\":\"9\",\"workerMayIgnore\":true,\"eventType\":\"EVENT_TYPE_NEXT\","
           "\"nextEventAttributes\":{\"n\":12345678901234567890}}");
    prints("{\"eventId\":\"1\",\"eventType\":\"WorkflowExecutionStarted\","
           "\"workflowExecutionStartedEventAttributes\":{\"workflowType\":{\"name\":\"a\",\"v\":2},"
           "\"workflowExecutionExpirationTime\":\"0001-01-01T00:00:00Z\"}}",
           "{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_WORKFLOW_EXECUTION_STARTED\","
           "\"workflowExecutionStartedEventAttributes\":{\"workflowType\":{\"name\":\"a\",\"v\":2},"
           "\"workflowExecutionExpirationTime\":\"0001-01-01T00:00:00Z\"}}");
}

Test(json, old_spellings_become_new_ones)
{
    prints("{\"eventId\":3,\"eventType\":\"ActivityTaskScheduled\",\"version\":null,"
           "\"activityTaskScheduledEventAttributes\":{\"activityId\":\"\",\"useCompatibleVersion\":"
           "true,"
           "\"task_queue\":{\"kind\":\"Sticky\",\"normal_name\":\"n\"},\"header\":null}}",
           "{\"eventId\":\"3\",\"eventType\":\"EVENT_TYPE_ACTIVITY_TASK_SCHEDULED\","
           "\"activityTaskScheduledEventAttributes\":{\"taskQueue\":{\"kind\":"
           "\"TASK_QUEUE_KIND_STICKY\",\"normalName\":\"n\"},\"useWorkflowBuildId\":true}}");
    prints("{\"eventId\":\"4\",\"eventType\":\"WorkflowExecutionUpdateAdmitted\","
           "\"workflowExecutionUpdateAdmittedEventAttributes\":{\"origin\":"
           "\"UPDATE_REQUESTED_EVENT_ORIGIN_REAPPLY\"}}",
           "{\"eventId\":\"4\",\"eventType\":\"EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED\","
           "\"workflowExecutionUpdateAdmittedEventAttributes\":{\"origin\":"
           "\"UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY\"}}");
}

/* "START_TO_CLOSE" -> "StartToClose" */
static void camel(const char *upper, char *out)
{
    bool start = true;

    for (; *upper; upper++) {
        if (*upper == '_') {
            start = true;
            continue;
        }
        *out++ = !start && *upper >= 'A' && *upper <= 'Z' ? (char)(*upper - 'A' + 'a') : *upper;
        start = false;
    }
    *out = '\0';
}

Test(json, every_enumeration_has_both_spellings)
{
    size_t values = 0;

    for (size_t e = 0; enum_desc_at(e); e++) {
        const struct enum_desc *desc = enum_desc_at(e);
        for (size_t i = 0; i < desc->count; i++) {
            char text[200];
            int32_t number = -1;
            camel(desc->values[i].name, text);
            cr_assert(enum_parse(desc, text, strlen(text), &number), "%s %s", desc->prefix, text);
            cr_assert_eq(number, desc->values[i].number);
            snprintf(text, sizeof(text), "%s_%s", desc->prefix, desc->values[i].name);
            number = -1;
            cr_assert(enum_parse(desc, text, strlen(text), &number), "%s", text);
            cr_assert_eq(number, desc->values[i].number);
            cr_assert_str_eq(enum_name(desc, number), desc->values[i].name);
            cr_assert_not(enum_parse(desc, text, strlen(text) - 1, &number) &&
                              number == desc->values[i].number,
                          "%s without its last letter", text);
            values++;
        }
    }
    cr_assert_eq(values, 121);
}

Test(json, snake_case_is_every_fields_second_name)
{
    for (size_t e = 0; e < EVENT_TYPE_MAX; e++) {
        const struct message_desc *desc = &event_desc_at(e)->message;
        for (size_t i = 0; i < desc->count; i++) {
            size_t index = 99;
            const struct field_desc *field = &desc->fields[i];
            cr_assert_eq(field_find(desc, field->snake, strlen(field->snake), 0, &index), field);
            cr_assert_eq(field_find(desc, field->json, strlen(field->json), 40, &index), field);
            cr_assert_eq(index, i);
        }
    }
}

Test(json, durations_keep_nanoseconds)
{
    static const struct {
        const char *text;
        int64_t ns;
        const char *printed;
    } rows[] = {
        {"0s", 0, "0s"},
        {"10s", 10000000000, "10s"},
        {"1.5s", 1500000000, "1.500s"},
        {"1.500s", 1500000000, "1.500s"},
        {"0.000001s", 1000, "0.000001s"},
        {"-0.000000001s", -1, "-0.000000001s"},
        {"315576000s", 315576000000000000, "315576000s"},
        {"9223372036.854775807s", INT64_MAX, "9223372036.854775807s"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autostr struct str out = {0};
        int64_t ns = 42;
        cr_assert(wire_duration_parse(rows[i].text, strlen(rows[i].text), &ns), "%s", rows[i].text);
        cr_assert_eq(ns, rows[i].ns);
        wire_duration_format(&out, ns);
        cr_assert_str_eq(str_c(&out), rows[i].printed);
    }
    static const char *const bad[] = {"",
                                      "s",
                                      "1",
                                      "1.s.",
                                      "1 s",
                                      "--1s",
                                      "1.0000000001s",
                                      "+1s",
                                      "9223372036.854775808s",
                                      "99999999999999999999s",
                                      ".s",
                                      "1m"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t ns = 42;
        cr_assert_not(wire_duration_parse(bad[i], strlen(bad[i]), &ns), "%s", bad[i]);
    }
}

Test(json, durations_beyond_64_bits_are_kept_as_text)
{
    prints("{\"eventId\":\"1\",\"eventType\":\"TimerStarted\",\"timerStartedEventAttributes\":"
           "{\"startToFireTimeout\":\"315576000000s\"}}",
           "{\"eventId\":\"1\",\"eventType\":\"EVENT_TYPE_TIMER_STARTED\","
           "\"timerStartedEventAttributes\":{\"startToFireTimeout\":\"315576000000s\"}}");
}

Test(json, a_failure_stands_alone)
{
    static const char text[] =
        "{\"message\":\"Activity task "
        "failed\",\"cause\":{\"message\":\"m\",\"applicationFailureInfo\":"
        "{\"type\":\"T\",\"nonRetryable\":true,\"nextRetryDelay\":\"1.250s\"}},"
        "\"activityFailureInfo\":{\"scheduledEventId\":\"5\",\"activityType\":{\"name\":\"greet\"},"
        "\"retryState\":\"RETRY_STATE_TIMEOUT\"}}";
    autoarena struct arena *arena = arena_new();
    autostr struct str out = {0};
    struct failure *failure = NULL;
    struct err err = {0};

    cr_assert_eq(failure_from_json(arena, text, strlen(text), &failure, &err), 0, "%s", err.text);
    cr_assert_eq(failure->activity_failure_info->retry_state, RETRY_STATE_TIMEOUT);
    cr_assert_eq(failure->cause->application_failure_info->next_retry_delay, 1250000000);
    failure_to_json(&out, failure);
    cr_assert_str_eq(str_c(&out), text);
}

Test(json, failures_nest_only_so_deep)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct failure *failure = NULL;
    struct err err = {0};

    for (int i = 0; i < 64; i++) {
        str_add(&text, "{\"cause\":");
    }
    str_add(&text, "null");
    for (int i = 0; i < 64; i++) {
        str_addc(&text, '}');
    }
    cr_assert_eq(failure_from_json(arena, text.ptr, text.len, &failure, &err), 0, "%s", err.text);
    autostr struct str deeper = {0};
    str_addf(&deeper, "{\"cause\":%s}", text.ptr);
    cr_assert_eq(failure_from_json(arena, deeper.ptr, deeper.len, &failure, &err), -1);
    cr_assert(strstr(err.text, "cause: is nested too deeply"), "%s", err.text);
}

/* A history with one member of that many arrays in arrays. */
static int deep_history(int depth, const char *before, const char *after, struct str *out)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct history history = {0};
    struct err err = {0};

    str_add(&text, before);
    for (int i = 0; i < depth; i++) {
        str_addc(&text, '[');
    }
    for (int i = 0; i < depth; i++) {
        str_addc(&text, ']');
    }
    str_add(&text, after);
    if (history_from_json(arena, text.ptr, text.len, &history, &err) < 0) {
        cr_assert(strstr(err.text, "nest too deeply"), "%s", err.text);
        return -1;
    }
    history_to_json(out, &history);
    cr_assert_eq(history_from_json(arena, out->ptr, out->len, &history, &err), 0, "%s", err.text);
    return 0;
}

Test(json, what_is_kept_as_text_nests_only_so_deep)
{
    static const char *const places[][2] = {
        {"[{\"eventType\":\"TimerFired\",\"links\":", "}]"},
        {"[{\"eventType\":\"TimerFired\",\"userMetadata\":", "}]"},
        {"[{\"eventType\":\"TimerFired\",\"timerFiredEventAttributes\":{\"x\":", "}}]"},
        {"[{\"eventType\":\"WorkflowExecutionStarted\",\"workflowExecutionStartedEventAttributes\":"
         "{\"prevAutoResetPoints\":",
         "}}]"},
        {"[{\"eventType\":\"WorkflowExecutionCompleted\","
         "\"workflowExecutionCompletedEventAttributes\":{\"result\":{\"payloads\":[{\"more\":",
         "}]}}}]"},
        {"{\"events\":[],\"more\":", "}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        for (int depth = 40; depth < 60; depth++) {
            autostr struct str out = {0};
            cr_assert_eq(deep_history(depth, places[i][0], places[i][1], &out),
                         depth <= 48 ? 0 : -1, "%s %d", places[i][0], depth);
        }
    }
}

Test(json, random_events_come_back_equal, .timeout = 60)
{
    struct dice dice = {.state = 20260102};

    for (int round = 0; round < 30; round++) {
        for (int type = 0; type <= EVENT_TYPE_MAX; type++) {
            autoarena struct arena *arena = arena_new();
            autostr struct str text = {0};
            autostr struct str difference = {0};
            struct event event;
            struct event copy = {0};
            struct err err = {0};
            random_event(&dice, arena, type, &event);
            event_to_json(&text, &event);
            cr_assert_eq(event_from_json(arena, text.ptr, text.len, &copy, &err), 0, "%s\n%s",
                         err.text, text.ptr);
            cr_assert(event_equal(&event, &copy, DIFF_EXACT, &difference), "%s\n%s",
                      str_c(&difference), text.ptr);
        }
    }
}

/* --- the collection --- */

struct tally {
    size_t parsed;
    size_t events;
    size_t refused;
};

static void round_trip(const char *dir, char *line, void *user)
{
    struct tally *tally = user;
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    autostr struct str out = {0};
    autostr struct str difference = {0};
    struct history history = {0};
    struct history again = {0};
    struct err err = {0};
    char *tab = strchr(line, '\t');

    if (tab) {
        *tab = '\0';
    }
    if (!str_ends(line, ".json")) {
        return; /* protobuf's binary form; the collection holds them as JSON too */
    }
    read_text(dir, line, &text);
    if (history_from_json(arena, text.ptr, text.len, &history, &err) < 0) {
        /* Several runs in one file of a shape of its own. */
        cr_assert_str_eq(fs_basename(line), "migration_back_forth.json", "%s: %s", line, err.text);
        tally->refused++;
        return;
    }
    history_to_json(&out, &history);
    cr_assert_eq(history_from_json(arena, out.ptr, out.len, &again, &err), 0, "%s: %s", line,
                 err.text);
    cr_assert(history_equal(&history, &again, DIFF_EXACT, &difference), "%s: %s", line,
              str_c(&difference));
    tally->parsed++;
    tally->events += history.count;
}

Test(json, recorded_histories_come_back_equal, .timeout = 120)
{
    autofree char *dir = collection_dir();
    autofree char *composed = fs_join(dir, "composed");
    autofree char *fixtures = fs_join(composed, "fixtures");
    autostr struct str verdicts = {0};
    struct tally tally = {0};

    if (!fs_is_dir(dir)) {
        cr_skip_test("skip: set FACTORY_HISTORIES to a collection of recorded histories");
    }
    each_listed(dir, "INDEX.tsv", round_trip, &tally);
    cr_assert_eq(tally.parsed, 136);
    cr_assert_eq(tally.refused, 1);
    autofree char *list = fs_join("..", "verdicts.tsv");
    each_listed(fixtures, list, round_trip, &tally);
    cr_assert_eq(tally.parsed, 136 + 55);
    cr_assert_eq(tally.events, 4948);
}
