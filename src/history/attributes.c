/*
 * attributes.c - see attributes.h. Owns: which JSON value is of which type.
 * Tests: tests/unit/test_history_attributes.c
 */
#include "history/map.h"
#include "history/attributes.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"

static const char *const types[] = {"Text", "Keyword",  "Int",        "Double",
                                    "Bool", "Datetime", "KeywordList"};

static bool is_whole(const struct json *value)
{
    int64_t number;
    return value->type == JSON_NUMBER && json_i64(value, &number);
}

static bool is_text_list(const struct json *value)
{
    if (value->type != JSON_ARRAY) {
        return false;
    }
    json_each (item, value) {
        if (item->type != JSON_STRING) {
            return false;
        }
    }
    return true;
}

/* The type that a value shows by itself; NULL: none. */
static const char *shown(const struct json *value)
{
    switch (value->type) {
    case JSON_STRING:
        return "Keyword";
    case JSON_BOOL:
        return "Bool";
    case JSON_NUMBER:
        return is_whole(value) ? "Int" : "Double";
    case JSON_ARRAY:
        return is_text_list(value) ? "KeywordList" : NULL;
    case JSON_NULL:
    case JSON_OBJECT:
        break;
    }
    return NULL;
}

static bool may_be(const struct json *value, const char *type)
{
    int64_t ns;
    if (str_eq(type, "Text") || str_eq(type, "Keyword")) {
        return value->type == JSON_STRING;
    }
    if (str_eq(type, "Datetime")) {
        return value->type == JSON_STRING && time_parse_rfc3339(value->text, value->text_len, &ns);
    }
    if (str_eq(type, "Double")) {
        return value->type == JSON_NUMBER;
    }
    return str_eq(type, shown(value));
}

static const char *known(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(types); i++) {
        if (str_eq(name, types[i])) {
            return types[i];
        }
    }
    return NULL;
}

static void set_typed(struct arena *arena, struct payload *payload, const char *type,
                      const struct json *value)
{
    int64_t ns;
    autostr struct str text = {0};
    if (str_eq(type, "Datetime") && time_parse_rfc3339(value->text, value->text_len, &ns)) {
        str_addc(&text, '"'); /* one spelling, whose texts sort as the times do */
        time_format_sortable(&text, ns);
        str_addc(&text, '"');
    } else {
        str_addn(&text, value->raw, value->raw_len);
    }
    payload_set(payload, arena, "json/plain", str_c(&text), text.len);
    payload->meta = arena_new_of(arena, struct payload_meta);
    payload->meta->key = "type";
    payload->meta->value = type;
    payload->meta->len = strlen(type);
}

/* 0, or -1: it is no attribute. */
static int read_one(struct arena *arena, const struct json *member, struct payload *ret)
{
    const struct json *value = member;
    const char *type = shown(member);
    if (member->type == JSON_NULL) {
        payload_set(ret, arena, "binary/null", NULL, 0);
        return 0;
    }
    if (member->type == JSON_OBJECT) {
        type = known(json_get_str(member, "type"));
        value = json_get(member, "value");
        if (!value || !type || member->count != 2 || !may_be(value, type)) {
            return -1;
        }
    }
    if (!type) {
        return -1;
    }
    set_typed(arena, ret, type, value);
    return 0;
}

int attributes_parse(struct arena *arena, const char *json, struct payload_map **ret,
                     struct err *err)
{
    const struct json *root;
    *ret = NULL;
    if (!json) {
        return 0;
    }
    if (json_parse(arena, json, strlen(json), &root, err) < 0) {
        return err_wrap(err, "search attributes");
    }
    if (root->type != JSON_OBJECT) {
        return err_set(err, ERR_PERMANENT, "BadAttributes",
                       "search attributes must be a JSON object");
    }
    struct payload_map *map = arena_new_of(arena, struct payload_map);
    json_each (member, root) {
        struct payload payload = {0};
        if (member->key_len == 0 || read_one(arena, member, &payload) < 0) {
            return err_set(err, ERR_PERMANENT, "BadAttributes",
                           "search attribute \"%.100s\" must be a text, a number, true, false, an "
                           "array of texts, or {\"type\":...,\"value\":...}",
                           member->key);
        }
        payload_map_add(map, arena, arena_strndup(arena, member->key, member->key_len), &payload);
    }
    *ret = map;
    return 0;
}

static const struct json *value_of(struct arena *arena, const struct payload *payload)
{
    const struct json *root;
    if (payload->len == 0 || json_parse(arena, payload->data, payload->len, &root, NULL) < 0) {
        return NULL;
    }
    return root;
}

const char *attribute_type(struct arena *arena, const struct payload *payload)
{
    for (const struct payload_meta *meta = payload->meta; meta; meta = meta->next) {
        if (str_eq(meta->key, "type")) {
            return known(meta->value);
        }
    }
    const struct json *value = value_of(arena, payload);
    return value ? shown(value) : NULL;
}

static void put(struct json_out *w, struct arena *arena, const struct payload_entry *entry)
{
    const struct json *value = value_of(arena, &entry->payload);
    const char *type = attribute_type(arena, &entry->payload);
    json_key(w, entry->key);
    if (!value) {
        json_put_null(w);
    } else if (!type || str_eq(type, shown(value))) {
        json_put_raw(w, value->raw, value->raw_len);
    } else {
        json_begin_object(w);
        json_kv_str(w, "type", type);
        json_kv_raw(w, "value", value->raw, value->raw_len);
        json_end_object(w);
    }
}

const char *attributes_text(struct arena *arena, const struct payload_map *map)
{
    return map && map->count > 0 ? attributes_merge(arena, NULL, map) : NULL;
}

const char *attributes_merge(struct arena *arena, const char *old, const struct payload_map *fresh)
{
    autostr struct str text = {0};
    struct json_out w = json_writer(&text, 0);
    json_begin_object(&w);
    size_t count = map_keep(&w, arena, old, fresh);
    for (size_t i = 0; fresh && i < fresh->count; i++) {
        const struct json *value = value_of(arena, &fresh->items[i].payload);
        if (value && value->type != JSON_NULL && !(value->type == JSON_ARRAY && !value->count)) {
            put(&w, arena, &fresh->items[i]);
            count++;
        }
    }
    json_end_object(&w);
    return count > 0 ? arena_strdup(arena, str_c(&text)) : NULL;
}
