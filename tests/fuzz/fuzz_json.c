/*
 * fuzz_json.c - any bytes as JSON: reading and checking agree, printing reads back, quoting is
 * valid.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over
 * tests/fuzz/corpus/json.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every accessor over every value, and the invariants of the tree. */
static void walk(const struct json *value, int depth)
{
    int64_t number = 0;
    double real = 0;
    size_t count = 0;
    assert(depth <= JSON_DEPTH_MAX);
    assert(value->raw_len > 0);
    json_i64(value, &number);
    json_double(value, &real);
    const char *text = json_str(value);
    assert(!text || strlen(text) == value->text_len);
    assert(value->type != JSON_STRING || utf8_valid(value->text, value->text_len));
    json_each (child, value) {
        assert(value->type != JSON_OBJECT || json_getn(value, child->key, child->key_len) == child);
        assert(value->type != JSON_ARRAY || depth > 4 || json_at(value, count) == child);
        walk(child, depth + 1);
        count++;
    }
    assert(count == value->count);
    json_pointer(value, "/a/0/~01");
}

static void print_and_read_back(const struct json *root, int indent)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str once = {0};
    autostr struct str twice = {0};
    const struct json *again = NULL;
    json_print(&once, root, indent);
    int rc = json_parse(arena, once.ptr, once.len, &again, NULL);
    assert(rc == 0);
    json_print(&twice, again, indent);
    assert(twice.len == once.len && memcmp(twice.ptr, once.ptr, once.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str quoted = {0};
    const struct json *root = NULL;
    struct err parse_err = {0};
    struct err check_err = {0};
    int parsed = json_parse(arena, (const char *)data, size, &root, &parse_err);
    int checked = json_check((const char *)data, size, &check_err);
    assert(parsed == checked);
    assert(strcmp(parse_err.text, check_err.text) == 0);
    if (parsed == 0) {
        walk(root, 0);
        print_and_read_back(root, 0);
        print_and_read_back(root, 3);
    }
    json_quote(&quoted, (const char *)data, size);
    checked = json_check(quoted.ptr, quoted.len, NULL);
    assert(checked == 0);
    return 0;
}
