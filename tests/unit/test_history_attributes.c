/*
 * test_history_attributes.c - search attributes: types shown and said, refusals, merging.
 */
#include "history/attributes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

TestSuite(history_attributes, .timeout = 10);

static struct payload_map *parse(struct arena *arena, const char *json)
{
    struct payload_map *map;
    struct err err = {0};
    cr_assert_eq(attributes_parse(arena, json, &map, &err), 0, "%s", err.text);
    return map;
}

static void refuses(const char *json, const char *word)
{
    autoarena struct arena *arena = arena_new();
    struct payload_map *map;
    struct err err = {0};
    cr_assert_lt(attributes_parse(arena, json, &map, &err), 0, "%s", json);
    cr_assert(strstr(err.text, word), "%s", err.text);
    cr_assert_null(map);
}

Test(history_attributes, values_show_their_types)
{
    autoarena struct arena *arena = arena_new();
    static const char *const expected[] = {"Keyword",     "Int",      "Double", "Bool",
                                           "KeywordList", "Datetime", "Double", "Text"};
    static const char json[] =
        "{\"k\":\"c1\",\"i\":12,\"d\":1.5,\"b\":false,\"l\":[\"a\",\"b\"],"
        "\"t\":{\"type\":\"Datetime\",\"value\":\"2026-01-02T03:04:05.000000000Z\"},"
        "\"w\":{\"type\":\"Double\",\"value\":3},\"x\":{\"type\":\"Text\",\"value\":\"free\"}}";
    struct payload_map *map = parse(arena, json);
    cr_assert_eq(map->count, ARRAY_LEN(expected));
    for (size_t i = 0; i < map->count; i++) {
        cr_assert_str_eq(attribute_type(arena, &map->items[i].payload), expected[i], "%zu", i);
        cr_assert_str_eq(map->items[i].payload.meta->value, expected[i]);
    }
    cr_assert_str_eq(attributes_text(arena, map), json);
    cr_assert_null(parse(arena, NULL));
    cr_assert_null(attributes_text(arena, NULL));
    cr_assert_null(attributes_text(arena, parse(arena, "{}")));
}

Test(history_attributes, a_payload_without_a_type_shows_it)
{
    autoarena struct arena *arena = arena_new();
    struct payload payload = {0};
    payload_set(&payload, arena, "json/plain", "[\"a\"]", 5);
    cr_assert_str_eq(attribute_type(arena, &payload), "KeywordList");
    payload_set(&payload, arena, "json/plain", "{}", 2);
    cr_assert_null(attribute_type(arena, &payload));
    payload_set(&payload, arena, "binary/null", NULL, 0);
    cr_assert_null(attribute_type(arena, &payload));
}

Test(history_attributes, what_is_none_is_refused_by_name)
{
    refuses("[1]", "object");
    refuses("{\"a\":", "line 1");
    refuses("{\"bad\":[1]}", "\"bad\"");
    refuses("{\"bad\":{\"type\":\"Int\",\"value\":\"x\"}}", "\"bad\"");
    refuses("{\"bad\":{\"type\":\"Huge\",\"value\":1}}", "\"bad\"");
    refuses("{\"bad\":{\"value\":1}}", "\"bad\"");
    refuses("{\"bad\":{\"type\":\"Int\",\"value\":1,\"more\":2}}", "\"bad\"");
    refuses("{\"\":1}", "search attribute");
}

Test(history_attributes, merging_replaces_adds_and_takes_away)
{
    autoarena struct arena *arena = arena_new();
    const struct payload_map *fresh = parse(arena, "{\"b\":3,\"a\":null,\"l\":[]}");
    cr_assert_str_eq(attributes_merge(arena, "{\"a\":1,\"b\":2,\"c\":\"x\",\"l\":[\"y\"]}", fresh),
                     "{\"c\":\"x\",\"b\":3}");
    cr_assert_null(attributes_merge(arena, "{\"a\":1}", parse(arena, "{\"a\":null}")));
}
