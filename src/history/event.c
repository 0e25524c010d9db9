/*
 * event.c - constructors, classes and common questions over events and payloads.
 *
 * Owns: the meaning of the classes of events (command, close, buffered).
 * Must not: read or write text forms. Memory comes from the arena given.
 * Tests: tests/unit/test_history_event.c
 */
#include "history/event.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "history/field.h"

void event_init(struct event *event, struct arena *arena, enum event_type type)
{
    const struct event_desc *desc = event_desc(type);

    assert(desc || type == EVENT_UNKNOWN);
    *event = (struct event){.type = type};
    if (desc) {
        event->attributes = arena_alloc(arena, desc->message.size);
    }
}

struct event *event_new(struct arena *arena, enum event_type type)
{
    struct event *event = arena_new_of(arena, struct event);

    event_init(event, arena, type);
    return event;
}

void history_grow(struct history *history, struct arena *arena)
{
    size_t cap = history->cap ? history->cap * 2 : 16;
    struct event *items = arena_array_of(arena, struct event, cap);

    if (history->count > 0) {
        memcpy(items, history->items, history->count * sizeof(*items));
    }
    history->items = items;
    history->cap = cap;
}

struct event *history_append(struct history *history, struct arena *arena, enum event_type type)
{
    if (history->count == history->cap) {
        history_grow(history, arena);
    }
    struct event *event = &history->items[history->count++];
    event_init(event, arena, type);
    event->id = (int64_t)history->count;
    return event;
}

void *event_attributes_(const struct event *event, enum event_type type)
{
    assert(event->type == type);
    return event->attributes;
}

bool event_is_close(enum event_type type)
{
    return type == EVENT_WORKFLOW_EXECUTION_COMPLETED || type == EVENT_WORKFLOW_EXECUTION_FAILED ||
           type == EVENT_WORKFLOW_EXECUTION_TIMED_OUT ||
           type == EVENT_WORKFLOW_EXECUTION_CANCELED ||
           type == EVENT_WORKFLOW_EXECUTION_TERMINATED ||
           type == EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW;
}

bool event_is_workflow_task(enum event_type type)
{
    return type >= EVENT_WORKFLOW_TASK_SCHEDULED && type <= EVENT_WORKFLOW_TASK_FAILED;
}

bool event_is_command(enum event_type type)
{
    static const uint8_t commands[EVENT_TYPE_MAX + 1] = {
        [EVENT_WORKFLOW_EXECUTION_COMPLETED] = 1,
        [EVENT_WORKFLOW_EXECUTION_FAILED] = 1,
        [EVENT_ACTIVITY_TASK_SCHEDULED] = 1,
        [EVENT_ACTIVITY_TASK_CANCEL_REQUESTED] = 1,
        [EVENT_TIMER_STARTED] = 1,
        [EVENT_TIMER_CANCELED] = 1,
        [EVENT_WORKFLOW_EXECUTION_CANCELED] = 1,
        [EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED] = 1,
        [EVENT_MARKER_RECORDED] = 1,
        [EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW] = 1,
        [EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED] = 1,
        [EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED] = 1,
        [EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES] = 1,
        [EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED] = 1,
        [EVENT_WORKFLOW_EXECUTION_UPDATE_REJECTED] = 1,
        [EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED] = 1,
        [EVENT_WORKFLOW_PROPERTIES_MODIFIED] = 1,
        [EVENT_NEXUS_OPERATION_SCHEDULED] = 1,
        [EVENT_NEXUS_OPERATION_CANCEL_REQUESTED] = 1,
    };

    return (int)type > 0 && (int)type <= EVENT_TYPE_MAX && commands[type];
}

bool event_is_buffered(enum event_type type)
{
    return type != EVENT_UNKNOWN && type != EVENT_WORKFLOW_EXECUTION_STARTED &&
           !event_is_command(type) && !event_is_close(type) && !event_is_workflow_task(type);
}

void event_set_completed_id(struct event *event, int64_t id)
{
#define AT_(upper, c_name)                                                                         \
    [EVENT_##upper] = offsetof(struct ev_##c_name, workflow_task_completed_event_id)
    static const size_t offsets[EVENT_TYPE_MAX + 1] = {
        AT_(WORKFLOW_EXECUTION_COMPLETED, workflow_execution_completed),
        AT_(WORKFLOW_EXECUTION_FAILED, workflow_execution_failed),
        AT_(WORKFLOW_EXECUTION_CANCELED, workflow_execution_canceled),
        AT_(WORKFLOW_EXECUTION_CONTINUED_AS_NEW, workflow_execution_continued_as_new),
        AT_(ACTIVITY_TASK_SCHEDULED, activity_task_scheduled),
        AT_(ACTIVITY_TASK_CANCEL_REQUESTED, activity_task_cancel_requested),
        AT_(TIMER_STARTED, timer_started),
        AT_(TIMER_CANCELED, timer_canceled),
        AT_(MARKER_RECORDED, marker_recorded),
        AT_(START_CHILD_WORKFLOW_EXECUTION_INITIATED, start_child_workflow_execution_initiated),
        AT_(SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
            signal_external_workflow_execution_initiated),
        AT_(REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
            request_cancel_external_workflow_execution_initiated),
        AT_(UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, upsert_workflow_search_attributes),
        AT_(WORKFLOW_PROPERTIES_MODIFIED, workflow_properties_modified),
        AT_(NEXUS_OPERATION_SCHEDULED, nexus_operation_scheduled),
        AT_(NEXUS_OPERATION_CANCEL_REQUESTED, nexus_operation_cancel_requested),
    };
#undef AT_

    if (event->attributes && (int)event->type <= EVENT_TYPE_MAX && offsets[event->type]) {
        memcpy((char *)event->attributes + offsets[event->type], &id, sizeof(id));
    }
}

/* The int64 member of that protobuf name, or 0. */
static int64_t member(const struct event *event, const char *snake, size_t len)
{
    const struct event_desc *desc = event_desc(event->type);

    for (size_t i = 0; desc && i < desc->message.count; i++) {
        const struct field_desc *field = &desc->message.fields[i];
        if (field->kind == FIELD_I64 && field->snake_len == len &&
            memcmp(field->snake, snake, len) == 0) {
            return *(const int64_t *)field_in(event->attributes, field);
        }
    }
    return 0;
}

#define MEMBER_OF(event, name) member((event), (name), sizeof(name) - 1)

int64_t event_scheduled_id(const struct event *event)
{
    return MEMBER_OF(event, "scheduled_event_id");
}

int64_t event_started_id(const struct event *event)
{
    return MEMBER_OF(event, "started_event_id");
}

int64_t event_initiated_id(const struct event *event)
{
    return MEMBER_OF(event, "initiated_event_id");
}

int64_t event_ends_id(const struct event *event)
{
    enum { NOTHING, SCHEDULED, STARTED, INITIATED };
    static const uint8_t ends[EVENT_TYPE_MAX + 1] = {
        [EVENT_ACTIVITY_TASK_COMPLETED] = SCHEDULED,
        [EVENT_ACTIVITY_TASK_FAILED] = SCHEDULED,
        [EVENT_ACTIVITY_TASK_TIMED_OUT] = SCHEDULED,
        [EVENT_ACTIVITY_TASK_CANCELED] = SCHEDULED,
        [EVENT_NEXUS_OPERATION_COMPLETED] = SCHEDULED,
        [EVENT_NEXUS_OPERATION_FAILED] = SCHEDULED,
        [EVENT_NEXUS_OPERATION_CANCELED] = SCHEDULED,
        [EVENT_NEXUS_OPERATION_TIMED_OUT] = SCHEDULED,
        [EVENT_TIMER_FIRED] = STARTED,
        [EVENT_TIMER_CANCELED] = STARTED,
        [EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED] = INITIATED,
        [EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED] = INITIATED,
        [EVENT_CHILD_WORKFLOW_EXECUTION_FAILED] = INITIATED,
        [EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED] = INITIATED,
        [EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT] = INITIATED,
        [EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED] = INITIATED,
        [EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED] = INITIATED,
        [EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED] = INITIATED,
        [EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED] = INITIATED,
        [EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED] = INITIATED,
    };
    int kind = (int)event->type > 0 && (int)event->type <= EVENT_TYPE_MAX ? ends[event->type] : 0;

    return kind == SCHEDULED   ? event_scheduled_id(event)
           : kind == STARTED   ? event_started_id(event)
           : kind == INITIATED ? event_initiated_id(event)
                               : 0;
}

int64_t event_completed_id(const struct event *event)
{
    return MEMBER_OF(event, "workflow_task_completed_event_id");
}

/* --- payloads --- */

void payload_set(struct payload *payload, struct arena *arena, const char *encoding,
                 const void *data, size_t len)
{
    *payload = (struct payload){
        .encoding = arena_strdup(arena, encoding),
        .data = len > 0 ? arena_dup(arena, data, len) : NULL,
        .len = len,
    };
}

struct payloads *payloads_jsonn(struct arena *arena, const char *json, size_t len)
{
    struct payloads *list = arena_new_of(arena, struct payloads);

    list->items = arena_new_of(arena, struct payload);
    list->count = 1;
    if (json) {
        payload_set(&list->items[0], arena, "json/plain", json, len);
    } else {
        payload_set(&list->items[0], arena, "binary/null", NULL, 0);
    }
    return list;
}

struct payloads *payloads_json(struct arena *arena, const char *json)
{
    return payloads_jsonn(arena, json, json ? strlen(json) : 0);
}

const char *payloads_first_json(const struct payloads *payloads, size_t *ret_len)
{
    static const char null_text[] = "null";

    if (!payloads || payloads->count == 0 || !payloads->items[0].encoding) {
        return NULL;
    }
    const struct payload *first = &payloads->items[0];
    if (strcmp(first->encoding, "binary/null") == 0) {
        if (ret_len) {
            *ret_len = sizeof(null_text) - 1;
        }
        return null_text;
    }
    if (strcmp(first->encoding, "json/plain") != 0 || !first->data) {
        return NULL;
    }
    if (ret_len) {
        *ret_len = first->len;
    }
    return first->data;
}

const struct payload *payload_map_get(const struct payload_map *map, const char *key)
{
    for (size_t i = 0; map && i < map->count; i++) {
        if (strcmp(map->items[i].key, key) == 0) {
            return &map->items[i].payload;
        }
    }
    return NULL;
}

const struct payloads *payloads_map_get(const struct payloads_map *map, const char *key)
{
    for (size_t i = 0; map && i < map->count; i++) {
        if (strcmp(map->items[i].key, key) == 0) {
            return &map->items[i].payloads;
        }
    }
    return NULL;
}

void payload_map_add(struct payload_map *map, struct arena *arena, const char *key,
                     const struct payload *payload)
{
    struct payload_entry *items = arena_array_of(arena, struct payload_entry, map->count + 1);

    assert(!payload_map_get(map, key));
    if (map->count > 0) {
        memcpy(items, map->items, map->count * sizeof(*items));
    }
    items[map->count] = (struct payload_entry){arena_strdup(arena, key), *payload};
    map->items = items;
    map->count++;
}

void payloads_map_add(struct payloads_map *map, struct arena *arena, const char *key,
                      const struct payloads *payloads)
{
    struct payloads_entry *items = arena_array_of(arena, struct payloads_entry, map->count + 1);

    assert(!payloads_map_get(map, key));
    if (map->count > 0) {
        memcpy(items, map->items, map->count * sizeof(*items));
    }
    items[map->count] = (struct payloads_entry){arena_strdup(arena, key), *payloads};
    map->items = items;
    map->count++;
}

struct task_queue *task_queue_new(struct arena *arena, const char *name)
{
    struct task_queue *queue = arena_new_of(arena, struct task_queue);

    queue->name = arena_strdup(arena, name);
    queue->kind = TASK_QUEUE_KIND_NORMAL;
    return queue;
}
