/*
 * map.c - see map.h. Owns: nothing but the conversion.
 * Tests: tests/unit/test_history_map.c
 */
#include "history/map.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"

static bool is_null(const struct payload *payload)
{
    return payload->len == 0 || (payload->len == 4 && memcmp(payload->data, "null", 4) == 0);
}

static void put(struct json_out *w, const struct payload_entry *entry)
{
    const struct payload *payload = &entry->payload;
    json_key(w, entry->key);
    if (!is_null(payload) && json_check(payload->data, payload->len, NULL) == 0) {
        json_put_raw(w, payload->data, payload->len);
    } else {
        json_put_null(w);
    }
}

const char *map_text(struct arena *arena, const struct payload_map *map)
{
    autostr struct str text = {0};
    if (!map || map->count == 0) {
        return NULL;
    }
    struct json_out w = json_writer(&text, 0);
    json_begin_object(&w);
    for (size_t i = 0; i < map->count; i++) {
        put(&w, &map->items[i]);
    }
    json_end_object(&w);
    return arena_strdup(arena, str_c(&text));
}

struct payload_map *map_parse(struct arena *arena, const char *json)
{
    const struct json *root;
    if (!json || json_parse(arena, json, strlen(json), &root, NULL) < 0 ||
        root->type != JSON_OBJECT) {
        return NULL;
    }
    struct payload_map *map = arena_new_of(arena, struct payload_map);
    json_each (member, root) {
        struct payload payload = {0};
        if (member->type == JSON_NULL) {
            payload_set(&payload, arena, "binary/null", NULL, 0);
        } else {
            payload_set(&payload, arena, "json/plain", member->raw, member->raw_len);
        }
        payload_map_add(map, arena, arena_strndup(arena, member->key, member->key_len), &payload);
    }
    return map;
}

size_t map_keep(struct json_out *w, struct arena *arena, const char *old,
                const struct payload_map *fresh)
{
    const struct json *root = NULL;
    size_t count = 0;
    if (old && json_parse(arena, old, strlen(old), &root, NULL) < 0) {
        root = NULL;
    }
    json_each (member, root) {
        if (!fresh || !payload_map_get(fresh, member->key)) {
            json_keyn(w, member->key, member->key_len);
            json_put_raw(w, member->raw, member->raw_len);
            count++;
        }
    }
    return count;
}

const char *map_merge(struct arena *arena, const char *old, const struct payload_map *fresh)
{
    autostr struct str text = {0};
    struct json_out w = json_writer(&text, 0);
    json_begin_object(&w);
    (void)map_keep(&w, arena, old, fresh);
    for (size_t i = 0; fresh && i < fresh->count; i++) {
        if (!is_null(&fresh->items[i].payload)) {
            put(&w, &fresh->items[i]);
        }
    }
    json_end_object(&w);
    return arena_strdup(arena, str_c(&text));
}
