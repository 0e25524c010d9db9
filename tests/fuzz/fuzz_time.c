/*
 * fuzz_time.c - any bytes as a time, a duration, base64, hex or UTF-8: what is accepted comes back.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over
 * tests/fuzz/corpus/time.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/term.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void times(const char *text, size_t len)
{
    int64_t wall = 0;
    int64_t again = 0;
    int64_t duration = 0;
    autofree char *terminated = mem_strndup(text, len);
    autostr struct str shown = {0};
    if (time_parse_rfc3339(text, len, &wall)) {
        time_format_rfc3339(&shown, wall);
        bool good = time_parse_rfc3339(shown.ptr, shown.len, &again);
        assert(good && again == wall);
    }
    if (duration_parse(terminated, &duration)) {
        assert(duration >= 0);
    }
    if (len >= sizeof(wall)) {
        memcpy(&wall, text, sizeof(wall));
        str_reset(&shown);
        time_format_rfc3339(&shown, wall);
        bool good = time_parse_rfc3339(shown.ptr, shown.len, &again);
        assert(good && again == wall);
        duration_format(&shown, wall);
    }
}

static void codecs(const char *text, size_t len)
{
    autostr struct str decoded = {0};
    autostr struct str encoded = {0};
    autofree char *hex = mem_alloc(2 * len + 1);
    autofree char *back = mem_alloc(len + 1);
    if (base64_decode(&decoded, text, len)) {
        base64_encode(&encoded, str_c(&decoded), decoded.len);
        assert(encoded.len == len && (len == 0 || memcmp(encoded.ptr, text, len) == 0));
    }
    hex_encode(text, len, hex);
    bool good = hex_decode(hex, 2 * len, back);
    assert(good && memcmp(back, text, len) == 0);
    hex_decode(text, len, back);
}

static void texts(const char *text, size_t len)
{
    static const char *const names[] = {"codex", "greeter", "verification"};
    autofree char *terminated = mem_strndup(text, len);
    char cut[16];
    bool valid = utf8_valid(text, len);
    for (size_t max = 0; max <= len && max < 64; max++) {
        size_t prefix = utf8_prefix(text, len, max);
        assert(prefix <= max && (!valid || utf8_valid(text, prefix)));
    }
    str_copy(cut, sizeof(cut), terminated);
    str_nearest(terminated, names, ARRAY_LEN(names));
    assert(!fs_name_is_plain(terminated) || fs_path_is_inside(terminated));
    assert(term_prefix(text, len, term_columns(text, len)) == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    times((const char *)data, size);
    codecs((const char *)data, size);
    texts((const char *)data, size);
    return 0;
}
