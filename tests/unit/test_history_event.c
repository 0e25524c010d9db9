/*
 * test_history_event.c - history/event: numbers, classes, constructors, copies, payload helpers.
 */
#include "history/event.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "history/diff.h"
#include "history_random.h"

Test(event, numbers_are_temporals)
{
    cr_assert_eq(EVENT_WORKFLOW_EXECUTION_STARTED, 1);
    cr_assert_eq(EVENT_ACTIVITY_TASK_SCHEDULED, 10);
    cr_assert_eq(EVENT_TIMER_CANCELED, 19);
    cr_assert_eq(EVENT_MARKER_RECORDED, 25);
    cr_assert_eq(EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED, 43);
    cr_assert_eq(EVENT_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED, 60);
}

Test(event, oneof_numbers_do_not_follow_the_types)
{
    cr_assert_eq(event_desc(EVENT_ACTIVITY_TASK_CANCEL_REQUESTED)->oneof, 22);
    cr_assert_eq(event_desc(EVENT_TIMER_STARTED)->oneof, 20);
    cr_assert_eq(event_desc(EVENT_TIMER_CANCELED)->oneof, 24);
    cr_assert_eq(event_desc(EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED)->oneof, 28);
    cr_assert_eq(event_desc(EVENT_MARKER_RECORDED)->oneof, 25);
    cr_assert_eq(event_desc(EVENT_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED)->oneof, 65);
}

Test(event, oneof_and_field_numbers_are_unique)
{
    bool oneofs[100] = {false};

    for (size_t i = 0; i < EVENT_TYPE_MAX; i++) {
        const struct event_desc *desc = event_desc_at(i);
        cr_assert_not(oneofs[desc->oneof], "%s", desc->name);
        oneofs[desc->oneof] = true;
        bool fields[100] = {false};
        for (size_t f = 0; f < desc->message.count; f++) {
            cr_assert_not(fields[desc->message.fields[f].number], "%s", desc->name);
            fields[desc->message.fields[f].number] = true;
        }
    }
}

Test(event, the_command_events_are_exactly_these)
{
    static const int commands[] = {2,  3,  10, 15, 17, 19, 21, 22, 25, 28,
                                   29, 37, 40, 41, 42, 43, 46, 48, 54};
    size_t next = 0;

    for (int type = 1; type <= EVENT_TYPE_MAX; type++) {
        bool want = next < ARRAY_LEN(commands) && commands[next] == type;
        next += want;
        cr_assert_eq(event_is_command((enum event_type)type), want, "%d", type);
    }
}

Test(event, classes_do_not_overlap)
{
    for (int type = 1; type <= EVENT_TYPE_MAX; type++) {
        enum event_type t = (enum event_type)type;
        int classes = event_is_buffered(t) + event_is_workflow_task(t) +
                      (event_is_command(t) || event_is_close(t)) +
                      (t == EVENT_WORKFLOW_EXECUTION_STARTED);
        cr_assert_eq(classes, 1, "%s is in %d classes", event_type_name(t), classes);
    }
    cr_assert(event_is_close(EVENT_WORKFLOW_EXECUTION_TERMINATED));
    cr_assert(event_is_buffered(EVENT_ACTIVITY_TASK_STARTED));
    cr_assert_not(event_is_buffered(EVENT_UNKNOWN));
}

Test(event, names_have_two_spellings)
{
    for (size_t i = 0; i < EVENT_TYPE_MAX; i++) {
        const struct event_desc *desc = event_desc_at(i);
        cr_assert_eq(event_type_parse(desc->name, strlen(desc->name)), desc->type);
        cr_assert_eq(event_type_parse(desc->title, strlen(desc->title)), desc->type);
    }
    cr_assert_eq(event_type_parse("EVENT_TYPE_TimerFired", 21), EVENT_UNKNOWN);
    cr_assert_eq(event_type_parse("TimerFire", 9), EVENT_UNKNOWN);
    cr_assert_eq(event_type_parse("", 0), EVENT_UNKNOWN);
    cr_assert_str_eq(event_type_name(EVENT_UNKNOWN), "EVENT_TYPE_UNSPECIFIED");
    cr_assert_str_eq(event_type_title(EVENT_TIMER_FIRED), "TimerFired");
}

Test(event, ids_are_found_whatever_the_type)
{
    autoarena struct arena *arena = arena_new();
    struct event *event = event_new(arena, EVENT_ACTIVITY_TASK_COMPLETED);

    ev_activity_task_completed(event)->scheduled_event_id = 5;
    ev_activity_task_completed(event)->started_event_id = 6;
    cr_assert_eq(event_scheduled_id(event), 5);
    cr_assert_eq(event_started_id(event), 6);
    cr_assert_eq(event_initiated_id(event), 0);
    cr_assert_eq(event_completed_id(event), 0);
}

Test(event, appending_numbers_events_and_keeps_them)
{
    autoarena struct arena *arena = arena_new();
    struct history history = {0};

    for (int64_t i = 1; i <= 100; i++) {
        struct event *event = history_append(&history, arena, EVENT_TIMER_FIRED);
        cr_assert_eq(event->id, i);
        ev_timer_fired(event)->started_event_id = i * 2;
    }
    cr_assert_eq(history.count, 100);
    cr_assert_eq(event_started_id(&history.items[0]), 2);
    cr_assert_eq(event_started_id(&history.items[99]), 200);
}

Test(event, a_copy_shares_nothing_with_its_source)
{
    struct dice dice = {.state = 11};
    autoarena struct arena *keep = arena_new();

    for (int round = 0; round < 10; round++) {
        for (int type = 0; type <= EVENT_TYPE_MAX; type++) {
            struct dice again = dice;
            struct event copy;
            struct event expected;
            struct arena *gone = arena_new();
            struct event source;
            random_event(&dice, gone, type, &source);
            event_copy(&copy, &source, keep);
            arena_free(gone); /* under ASan every later look at it is a report */
            random_event(&again, keep, type, &expected);
            autostr struct str out = {0};
            cr_assert(event_equal(&expected, &copy, DIFF_EXACT, &out), "%s", str_c(&out));
        }
    }
}

Test(payload, json_is_given_as_text)
{
    autoarena struct arena *arena = arena_new();
    size_t len = 0;

    cr_assert_str_eq(payloads_first_json(payloads_json(arena, "{\"a\":1}"), &len), "{\"a\":1}");
    cr_assert_eq(len, 7);
    cr_assert_str_eq(payloads_first_json(payloads_json(arena, NULL), &len), "null");
    cr_assert_eq(len, 4);
    cr_assert_null(payloads_first_json(NULL, NULL));
    struct payloads *list = payloads_json(arena, "1");
    payload_set(&list->items[0], arena, "binary/plain", "\0x", 2);
    cr_assert_null(payloads_first_json(list, NULL));
    cr_assert_eq(list->items[0].len, 2);
    list->count = 0;
    cr_assert_null(payloads_first_json(list, NULL));
}

Test(payload, maps_are_read_by_key)
{
    autoarena struct arena *arena = arena_new();
    struct payload_map map = {0};
    struct payloads_map lists = {0};

    payload_map_add(&map, arena, "a", &payloads_json(arena, "1")->items[0]);
    payload_map_add(&map, arena, "b", &payloads_json(arena, "2")->items[0]);
    payloads_map_add(&lists, arena, "data", payloads_json(arena, "3"));
    cr_assert_str_eq(payload_map_get(&map, "b")->data, "2");
    cr_assert_null(payload_map_get(&map, "c"));
    cr_assert_null(payload_map_get(NULL, "c"));
    cr_assert_str_eq(payloads_map_get(&lists, "data")->items[0].data, "3");
    cr_assert_null(payloads_map_get(&lists, "datA"));
}
