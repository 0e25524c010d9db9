/*
 * fuzz_proto.c - any bytes as what protobuf carries: a history, one event, or a value of one.
 *
 * Owns: the entry point and the property of single values: what is read is printed, and read and
 * printed again it is the same. The properties of histories are in tests/unit/history_check.h. The
 * first byte chooses: 0 a history, 1 an event, others a kind of value; the rest are the bytes.
 * Run by tests/lib/fuzz_main.c in make check, or by libFuzzer.
 */
#include "../unit/history_check.h"
#include "history/value_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK_VALUE(name, type)                                                                    \
    static void check_##name(struct arena *arena, const void *bytes, size_t len)                   \
    {                                                                                              \
        autostr struct str once = {0};                                                             \
        autostr struct str twice = {0};                                                            \
        type *value = NULL;                                                                        \
        struct err err = {0};                                                                      \
        if (name##_from_proto(arena, bytes, len, &value, &err) < 0) {                              \
            must(err.kind == ERR_PERMANENT && err.text[0], "an error without kind or text", NULL); \
            return;                                                                                \
        }                                                                                          \
        name##_to_proto(&once, value);                                                             \
        must(name##_from_proto(arena, once.ptr, once.len, &value, &err) == 0, err.text, NULL);     \
        name##_to_proto(&twice, value);                                                            \
        must(str_same(&once, &twice), "the binary form of a " #name " wanders", NULL);             \
    }

static bool str_same(const struct str *a, const struct str *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->ptr, b->ptr, a->len) == 0);
}

CHECK_VALUE(failure, struct failure)
CHECK_VALUE(payload, struct payload)
CHECK_VALUE(payloads, struct payloads)
CHECK_VALUE(retry_policy, struct retry_policy)
CHECK_VALUE(task_queue, struct task_queue)
CHECK_VALUE(name, const char)

static void check_map(struct arena *arena, enum map_kind kind, const void *bytes, size_t len)
{
    autostr struct str once = {0};
    autostr struct str twice = {0};
    struct payload_map *map = NULL;
    struct err err = {0};
    if (payload_map_from_proto(arena, kind, bytes, len, &map, &err) < 0) {
        must(err.kind == ERR_PERMANENT && err.text[0], "an error without kind or text", NULL);
        return;
    }
    payload_map_to_proto(&once, kind, map);
    must(payload_map_from_proto(arena, kind, once.ptr, once.len, &map, &err) == 0, err.text, NULL);
    payload_map_to_proto(&twice, kind, map);
    must(str_same(&once, &twice), "the binary form of a map wanders", NULL);
}

static void check_event(struct arena *arena, const void *bytes, size_t len)
{
    autostr struct str once = {0};
    autostr struct str twice = {0};
    struct event event;
    struct err err = {0};
    if (event_from_proto(arena, bytes, len, &event, &err) < 0) {
        must(err.kind == ERR_PERMANENT && err.text[0], "an error without kind or text", NULL);
        return;
    }
    struct history history = {.items = &event, .count = 1};
    event_to_proto(&once, &event);
    must(history_from_proto(arena, once.ptr, once.len, &history, &err) == 0, err.text, NULL);
    must(history.count == 1, "an event is not one event", NULL);
    event_to_proto(&twice, &history.items[0]);
    must(str_same(&once, &twice), "the binary form of an event wanders", NULL);
}

static void check_history(struct arena *arena, const void *bytes, size_t len)
{
    (void)arena;
    history_check_proto(bytes, len);
}

static void check_memo(struct arena *arena, const void *bytes, size_t len)
{
    check_map(arena, MAP_MEMO, bytes, len);
}

static void check_header(struct arena *arena, const void *bytes, size_t len)
{
    check_map(arena, MAP_HEADER, bytes, len);
}

static void check_search_attributes(struct arena *arena, const void *bytes, size_t len)
{
    check_map(arena, MAP_SEARCH_ATTRIBUTES, bytes, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(struct arena * arena, const void *bytes, size_t len) = {
        check_history,  check_event,        check_failure,          check_payload,
        check_payloads, check_retry_policy, check_task_queue,       check_name,
        check_memo,     check_header,       check_search_attributes};
    autoarena struct arena *arena = arena_new();
    if (size > 0) {
        checks[data[0] % (sizeof(checks) / sizeof(checks[0]))](arena, data + 1, size - 1);
    }
    return 0;
}
