/*
 * test_history_map.c - maps of payloads as JSON objects: both ways, merging, and nonsense.
 */
#include "history/map.h"

#include <criterion/criterion.h>

#include "base/mem.h"

TestSuite(history_map, .timeout = 10);

Test(history_map, text_of_a_map)
{
    autoarena struct arena *arena = arena_new();
    struct payload_map map = {0};
    struct payload payload = {0};
    cr_assert_null(map_text(arena, NULL));
    cr_assert_null(map_text(arena, &map));
    payload_set(&payload, arena, "json/plain", "[1, 2]", 6);
    payload_map_add(&map, arena, "a", &payload);
    payload_set(&payload, arena, "binary/plain", "\xff", 1);
    payload_map_add(&map, arena, "b\"", &payload);
    payload_set(&payload, arena, "binary/null", NULL, 0);
    payload_map_add(&map, arena, "c", &payload);
    cr_assert_str_eq(map_text(arena, &map), "{\"a\":[1, 2],\"b\\\"\":null,\"c\":null}");
}

Test(history_map, a_map_of_text)
{
    autoarena struct arena *arena = arena_new();
    cr_assert_null(map_parse(arena, NULL));
    cr_assert_null(map_parse(arena, "[1]"));
    cr_assert_null(map_parse(arena, "{\"a\":"));
    const struct payload_map *map = map_parse(arena, " {\"a\": {\"x\":1}, \"n\":null} ");
    cr_assert_eq(map->count, 2);
    cr_assert_str_eq(map->items[0].key, "a");
    cr_assert_str_eq(map->items[0].payload.encoding, "json/plain");
    cr_assert_str_eq(map->items[1].payload.encoding, "binary/null");
    cr_assert_str_eq(map_text(arena, map), "{\"a\":{\"x\":1},\"n\":null}");
}

Test(history_map, merging_replaces_adds_and_takes_away)
{
    autoarena struct arena *arena = arena_new();
    const struct payload_map *fresh = map_parse(arena, "{\"b\":3,\"a\":null,\"d\":\"x\"}");
    cr_assert_str_eq(map_merge(arena, "{\"a\":1,\"b\":2,\"c\":[]}", fresh),
                     "{\"c\":[],\"b\":3,\"d\":\"x\"}");
    cr_assert_str_eq(map_merge(arena, NULL, fresh), "{\"b\":3,\"d\":\"x\"}");
    cr_assert_str_eq(map_merge(arena, "{\"a\":1}", NULL), "{\"a\":1}");
    cr_assert_str_eq(map_merge(arena, "nonsense", NULL), "{}");
}
