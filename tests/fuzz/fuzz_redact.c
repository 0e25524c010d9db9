/*
 * fuzz_redact.c - any text, any cuts, any registered value: the stream says what the whole says,
 * and a registered value is never seen again.
 *
 * A target in libFuzzer's form; tests/lib/fuzz_main.c runs it as a test over
 * tests/fuzz/corpus/redact. The first byte chooses the length of the value that is registered (the
 * bytes behind it), the second one the cuts.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stream(const uint8_t *data, size_t size, uint32_t seed, struct str *out)
{
    struct redact_stream s = {0};
    size_t at = 0;
    while (at < size) {
        seed = seed * 1664525U + 1013904223U;
        size_t len = 1 + (seed >> 24) % (1 + seed % 64);
        len = len < size - at ? len : size - at;
        redact_stream_feed(&s, data + at, len, out);
        at += len;
    }
    redact_stream_end(&s, out);
}

/* The mask itself must not spell (a part of) the value. */
static bool is_unlike_mask(const uint8_t *secret, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (memchr(REDACT_MASK, secret[i], strlen(REDACT_MASK))) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t secret_len = REDACT_SECRET_MIN + data[0] % 16;
    uint32_t seed = data[1];
    data += 2;
    size -= 2;
    autostr struct str whole = {0};
    autostr struct str pieces = {0};
    bool registered = size >= secret_len && redact_register((const char *)data, secret_len);
    size_t hits = redact_append(&whole, data, size);
    stream(data, size, seed, &pieces);
    assert(whole.len == pieces.len);
    assert(whole.len == 0 || memcmp(whole.ptr, pieces.ptr, whole.len) == 0);
    assert(hits == redact_finds(data, size, REDACT_ALL));
    if (registered) {
        assert(hits > 0);
        while (secret_len > 0 && strchr(" \t\n\v\f\r", data[secret_len - 1]) &&
               data[secret_len - 1]) {
            secret_len--;
        }
        while (secret_len > 0 && data[0] && strchr(" \t\n\v\f\r", data[0])) {
            data++;
            secret_len--;
        }
        assert(!is_unlike_mask(data, secret_len) || !whole.len ||
               !memmem(whole.ptr, whole.len, data, secret_len));
    }
    redact_forget_all();
    return 0;
}
