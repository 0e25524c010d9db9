/*
 * copy.c - deep copies of messages and events into another arena.
 *
 * Owns: the walk that copies every field kind. Invariant: the copy shares nothing with its source.
 * Tests: tests/unit/test_history_event.c
 */
#include <string.h>

#include "history/codec.h"

static struct payload_meta *meta_copy(const struct payload_meta *meta, struct arena *arena)
{
    struct payload_meta *first = NULL;
    struct payload_meta **tail = &first;

    for (; meta; meta = meta->next) {
        struct payload_meta *copy = arena_new_of(arena, struct payload_meta);
        *copy = (struct payload_meta){arena_strdup(arena, meta->key),
                                      arena_dup(arena, meta->value, meta->len), meta->len, NULL};
        *tail = copy;
        tail = &copy->next;
    }
    return first;
}

static struct payload payload_copy(const struct payload *p, struct arena *arena)
{
    return (struct payload){
        .encoding = arena_strdup(arena, p->encoding),
        .data = p->data ? arena_dup(arena, p->data, p->len) : NULL,
        .len = p->len,
        .meta = meta_copy(p->meta, arena),
        .unknown = arena_strdup(arena, p->unknown),
    };
}

static struct payloads list_copy(const struct payloads *list, struct arena *arena)
{
    struct payloads copy = {NULL, list->count, arena_strdup(arena, list->unknown)};

    copy.items = arena_array_of(arena, struct payload, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        copy.items[i] = payload_copy(&list->items[i], arena);
    }
    return copy;
}

static struct payload_map *map_copy(const struct payload_map *map, struct arena *arena)
{
    struct payload_map *copy = arena_new_of(arena, struct payload_map);

    *copy = (struct payload_map){NULL, map->count, arena_strdup(arena, map->unknown)};
    copy->items = arena_array_of(arena, struct payload_entry, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        copy->items[i].key = arena_strdup(arena, map->items[i].key);
        copy->items[i].payload = payload_copy(&map->items[i].payload, arena);
    }
    return copy;
}

static struct payloads_map *lists_copy(const struct payloads_map *map, struct arena *arena)
{
    struct payloads_map *copy = arena_new_of(arena, struct payloads_map);

    copy->count = map->count;
    copy->items = arena_array_of(arena, struct payloads_entry, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        copy->items[i].key = arena_strdup(arena, map->items[i].key);
        copy->items[i].payloads = list_copy(&map->items[i].payloads, arena);
    }
    return copy;
}

static void strings_copy(struct string_list *list, struct arena *arena)
{
    const char **items = arena_array_of(arena, const char *, list->count + 1);

    for (size_t i = 0; i < list->count; i++) {
        items[i] = arena_strdup(arena, list->items[i]);
    }
    list->items = items;
}

/* at holds a shallow copy, not zero; replace what it points to by a copy. */
static void field_copy(const struct field_desc *field, void *at, struct arena *arena)
{
    switch (field->kind) {
    case FIELD_STR:
    case FIELD_NAME:
    case FIELD_RAW:
        *(char **)at = arena_strdup(arena, *(const char *const *)at);
        break;
    case FIELD_ENUMS:
    case FIELD_U32S: {
        struct u32_list *list = at; /* enum_list has the same shape */
        list->items = arena_dup(arena, list->items, list->count * sizeof(*list->items));
        break;
    }
    case FIELD_STRS:
        strings_copy(at, arena);
        break;
    case FIELD_MSG:
        *(void **)at = message_copy(field->message, *(const void *const *)at, arena);
        break;
    case FIELD_PAYLOAD: {
        struct payload *copy = arena_new_of(arena, struct payload);
        *copy = payload_copy(*(struct payload *const *)at, arena);
        *(struct payload **)at = copy;
        break;
    }
    case FIELD_PAYLOADS: {
        struct payloads *copy = arena_new_of(arena, struct payloads);
        *copy = list_copy(*(struct payloads *const *)at, arena);
        *(struct payloads **)at = copy;
        break;
    }
    case FIELD_PAYLOAD_MAP:
        *(struct payload_map **)at = map_copy(*(struct payload_map *const *)at, arena);
        break;
    case FIELD_PAYLOADS_MAP:
        *(struct payloads_map **)at = lists_copy(*(struct payloads_map *const *)at, arena);
        break;
    case FIELD_I64:
    case FIELD_I32:
    case FIELD_BOOL:
    case FIELD_DOUBLE:
    case FIELD_DUR:
    case FIELD_TIME:
    case FIELD_ENUM:
        break;
    }
}

void *message_copy(const struct message_desc *desc, const void *message, struct arena *arena)
{
    if (!message) {
        return NULL;
    }
    void *copy = arena_dup(arena, message, desc->size);
    struct message_head *head = copy;
    head->unknown = arena_strdup(arena, head->unknown);
    for (size_t i = 0; i < desc->count; i++) {
        if (!field_is_zero(copy, &desc->fields[i])) {
            field_copy(&desc->fields[i], field_at(copy, &desc->fields[i]), arena);
        }
    }
    return copy;
}

void event_copy(struct event *dst, const struct event *src, struct arena *arena)
{
    const struct event_desc *desc = event_desc(src->type);

    *dst = *src;
    dst->attributes = desc ? message_copy(&desc->message, src->attributes, arena) : NULL;
    dst->user_metadata = arena_strdup(arena, src->user_metadata);
    dst->unknown = arena_strdup(arena, src->unknown);
}
