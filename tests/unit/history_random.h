/*
 * history_random.h - random events for property tests: every type, every field, from a seed.
 *
 * Owns: a generator driven by the field tables, so that a new field is covered the day it is added.
 * Values come from small pools on purpose: they often equal what store.c thinks usual.
 */
#ifndef TESTS_UNIT_HISTORY_RANDOM_H
#define TESTS_UNIT_HISTORY_RANDOM_H

#include <stdint.h>
#include <string.h>

#include "base/attr.h"
#include "history/field.h"

struct dice {
    uint64_t state; /* not 0 */
};

static inline uint64_t dice_roll(struct dice *d, uint64_t sides)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (d->state >> 11) % sides;
}

static inline const char *random_text(struct dice *d)
{
    static const char *const texts[] = {
        "1",      "2",        "3",     "default",   "worker@host",
        "run-1",  "greet-1",  "greet", "a\"b\\c\n", "\xc3\xa9\xe2\x82\xac",
        "$event", "$payload", "0",     "01",        "999999999999999",
        "x y",    "{}",       "null",
    };
    return texts[dice_roll(d, ARRAY_LEN(texts))];
}

static inline int64_t random_i64(struct dice *d)
{
    static const int64_t numbers[] = {1, 2, 3, 4, 5, 6, 7, 10, 100, -1, INT64_MAX, INT64_MIN};

    return dice_roll(d, 2) ? (int64_t)(1 + dice_roll(d, 30))
                           : numbers[dice_roll(d, ARRAY_LEN(numbers))];
}

static inline int64_t random_time(struct dice *d)
{
    static const int64_t times[] = {
        10000000000,         1000000000,
        1500000000,          1,
        999999999,           -1,
        -1500000000,         30000000000,
        1767323045123456789, 1767323045120000000,
        100000000000,
    };
    return times[dice_roll(d, ARRAY_LEN(times))];
}

static inline const char *random_unknown(struct dice *d)
{
    static const char *const texts[] = {
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        "\"future\":1",
        "\"$event\":{\"taskId\":5},\"b\":[true,null]",
        "\"$unknown\":{\"$unknown\":\"\\u0000\"}",
    };
    return texts[dice_roll(d, ARRAY_LEN(texts))];
}

static inline void random_payload(struct dice *d, struct arena *arena, struct payload *p)
{
    static const char *const json[] = {
        "null",
        "\"ada\"",
        "{\"a\":1.50}",
        "[1, 2]",
        " 1",
        "1 ",
        "{\"$payload\":1}",
        "{\"$payload\": 1}",
        "{\"$event\":1}",
        "12345678901234567890",
        "not json",
        "{\"a\":1,\"a\":2}",
        "\"\\u0000\"",
        "true",
    };
    static const char bytes[] = "\xff\x00\x80z";
    const char *text = json[dice_roll(d, ARRAY_LEN(json))];

    memset(p, 0, sizeof(*p));
    switch (dice_roll(d, 6)) {
    case 0:
        payload_set(p, arena, "binary/null", NULL, 0);
        break;
    case 1:
        payload_set(p, arena, "binary/plain", bytes, sizeof(bytes) - 1);
        break;
    case 2:
        payload_set(p, arena, "json/protobuf", text, strlen(text));
        p->meta = arena_new_of(arena, struct payload_meta);
        *p->meta = (struct payload_meta){"messageType", "a.b.C", 5, NULL};
        if (dice_roll(d, 2)) {
            p->meta->next = arena_new_of(arena, struct payload_meta);
            *p->meta->next = (struct payload_meta){"raw", bytes, sizeof(bytes) - 1, NULL};
        }
        break;
    case 3:
        p->unknown = random_unknown(d);
        break;
    default:
        payload_set(p, arena, "json/plain", text, strlen(text));
    }
}

static inline void random_payloads(struct dice *d, struct arena *arena, struct payloads *list)
{
    list->count = dice_roll(d, 4);
    list->items = arena_array_of(arena, struct payload, list->count + 1);
    list->unknown = random_unknown(d);
    for (size_t i = 0; i < list->count; i++) {
        random_payload(d, arena, &list->items[i]);
    }
}

static inline void random_message(struct dice *d, struct arena *arena,
                                  const struct message_desc *desc, void *message, int depth);

static inline void random_map(struct dice *d, struct arena *arena, struct payload_map *map)
{
    static const char *const keys[] = {"a", "$map", "fields", "b", ""};

    map->unknown = random_unknown(d);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (dice_roll(d, 3) == 0) {
            struct payload payload;
            random_payload(d, arena, &payload);
            payload_map_add(map, arena, keys[i], &payload);
        }
    }
}

static inline void random_list(struct dice *d, struct arena *arena, const struct field_desc *field,
                               void *at)
{
    size_t count = dice_roll(d, 4);

    if (field->kind == FIELD_STRS) {
        struct string_list *list = at;
        list->count = count;
        list->items = arena_array_of(arena, const char *, count + 1);
        for (size_t i = 0; i < count; i++) {
            list->items[i] = random_text(d);
        }
        return;
    }
    struct u32_list *list = at; /* enum_list has the same shape */
    list->count = count;
    list->items = arena_array_of(arena, uint32_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        list->items[i] = (uint32_t)dice_roll(d, 4);
    }
}

static inline void random_field(struct dice *d, struct arena *arena, const struct field_desc *field,
                                void *at, int depth)
{
    static const double doubles[] = {2.0, 1.5, -0.0, 1e300, 0.1, 100};
    static const char *const raws[] = {"[1,2]", "{\"a\":{}}", "\"x\"", "7", "true"};

    switch (field->kind) {
    case FIELD_STR:
    case FIELD_NAME:
        *(const char **)at = random_text(d);
        break;
    case FIELD_RAW:
        *(const char **)at = raws[dice_roll(d, ARRAY_LEN(raws))];
        break;
    case FIELD_I64:
        *(int64_t *)at = random_i64(d);
        break;
    case FIELD_I32:
        *(int32_t *)at = (int32_t)random_i64(d);
        break;
    case FIELD_BOOL:
        *(bool *)at = true;
        break;
    case FIELD_DOUBLE:
        *(double *)at = doubles[dice_roll(d, ARRAY_LEN(doubles))];
        break;
    case FIELD_DUR:
    case FIELD_TIME:
        *(int64_t *)at = random_time(d);
        break;
    case FIELD_ENUM:
        *(int32_t *)at = (int32_t)dice_roll(d, 60);
        break;
    case FIELD_ENUMS:
    case FIELD_U32S:
    case FIELD_STRS:
        random_list(d, arena, field, at);
        break;
    case FIELD_MSG:
        if (depth < 4) {
            void *child = arena_alloc(arena, field->message->size);
            random_message(d, arena, field->message, child, depth + 1);
            *(void **)at = child;
        }
        break;
    case FIELD_PAYLOAD:
        *(struct payload **)at = arena_new_of(arena, struct payload);
        random_payload(d, arena, *(struct payload **)at);
        break;
    case FIELD_PAYLOADS:
        *(struct payloads **)at = arena_new_of(arena, struct payloads);
        random_payloads(d, arena, *(struct payloads **)at);
        break;
    case FIELD_PAYLOAD_MAP:
        *(struct payload_map **)at = arena_new_of(arena, struct payload_map);
        random_map(d, arena, *(struct payload_map **)at);
        break;
    case FIELD_PAYLOADS_MAP: {
        struct payloads_map *map = arena_new_of(arena, struct payloads_map);
        struct payloads list = {0};
        random_payloads(d, arena, &list);
        payloads_map_add(map, arena, random_text(d), &list);
        *(struct payloads_map **)at = map;
        break;
    }
    }
}

static inline void random_message(struct dice *d, struct arena *arena,
                                  const struct message_desc *desc, void *message, int depth)
{
    struct message_head *head = message;

    for (size_t i = 0; i < desc->count; i++) {
        const struct field_desc *field = &desc->fields[i];
        uint64_t roll = dice_roll(d, 4);
        if (roll < 2) {
            random_field(d, arena, field, field_at(message, field), depth);
        } else if (roll == 2 && (field->kind == FIELD_DUR || field->kind == FIELD_TIME)) {
            head->set_zero |= 1ULL << i;
        }
    }
    head->unknown = random_unknown(d);
}

/* An event of that type, or of a random one (EVENT_UNKNOWN too) when type is negative. */
static inline void random_event(struct dice *d, struct arena *arena, int type, struct event *event)
{
    static const uint8_t digits[] = {0, 0, 3, 6, 9};

    if (type < 0) {
        type = (int)dice_roll(d, EVENT_TYPE_MAX + 1);
    }
    event_init(event, arena, (enum event_type)type);
    event->id = (int64_t)(1 + dice_roll(d, 30));
    event->time_ns = random_time(d);
    event->time_digits = digits[dice_roll(d, ARRAY_LEN(digits))];
    event->task_id = dice_roll(d, 2) ? (int64_t)dice_roll(d, 4) : INT64_MAX;
    event->version = dice_roll(d, 4) == 0;
    event->worker_may_ignore = dice_roll(d, 4) == 0;
    event->user_metadata = dice_roll(d, 4) ? NULL : "{\"summary\":{}}";
    event->unknown = type == EVENT_UNKNOWN ? "\"eventType\":\"EVENT_TYPE_NEXT\",\"links\":[]"
                                           : random_unknown(d);
    const struct event_desc *desc = event_desc((enum event_type)type);
    if (desc) {
        random_message(d, arena, &desc->message, event->attributes, 0);
    }
}

#endif
