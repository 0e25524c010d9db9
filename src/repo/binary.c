/*
 * binary.c - the blocks of a "GIT binary patch".
 *
 * Owns and must not: see binary.h. A size that the compressed bytes cannot possibly hold is
 * malformed, so that a hostile patch cannot ask for memory. Tests: tests/unit/test_repo_patch.c
 */
#include "repo/binary.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

#define LINE_BYTES 52
#define DEFLATE_RATIO_MAX 1032 /* zlib cannot do better */

static const char alphabet[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

static void put_group(struct str *out, const uint8_t *bytes, size_t len)
{
    uint32_t value = 0;
    char digits[5];
    for (size_t i = 0; i < 4; i++) {
        value = value << 8 | (i < len ? bytes[i] : 0u);
    }
    for (size_t i = 5; i-- > 0;) {
        digits[i] = alphabet[value % 85];
        value /= 85;
    }
    str_addn(out, digits, sizeof(digits));
}

static void put_line(struct str *out, const uint8_t *bytes, size_t len)
{
    str_addc(out, (char)(len <= 26 ? 'A' + len - 1 : 'a' + len - 27));
    for (size_t i = 0; i < len; i += 4) {
        put_group(out, bytes + i, len - i);
    }
    str_addc(out, '\n');
}

void binary_put(struct str *out, const void *bytes, size_t len)
{
    uLongf packed_len = compressBound(len);
    autofree uint8_t *packed = mem_alloc(packed_len);
    static const uint8_t nothing = 0;
    int rc = compress2(packed, &packed_len, len ? bytes : &nothing, len, Z_DEFAULT_COMPRESSION);
    str_addf(out, "literal %zu\n", len);
    for (size_t at = 0; rc == Z_OK && at < packed_len; at += LINE_BYTES) {
        put_line(out, packed + at, packed_len - at < LINE_BYTES ? packed_len - at : LINE_BYTES);
    }
    str_addc(out, '\n');
}

static bool get_group(const char *text, uint8_t out[4])
{
    uint64_t value = 0;
    for (size_t i = 0; i < 5; i++) {
        const char *digit = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (!digit) {
            return false;
        }
        value = value * 85 + (uint64_t)(digit - alphabet);
    }
    for (size_t i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> (24 - 8 * i));
    }
    return value <= UINT32_MAX;
}

static bool get_line(const char **p, const char *end, struct str *out)
{
    const char *at = *p;
    size_t len = *at >= 'A' && *at <= 'Z'   ? (size_t)(*at - 'A') + 1
                 : *at >= 'a' && *at <= 'z' ? (size_t)(*at - 'a') + 27
                                            : 0;
    size_t digits = (len + 3) / 4 * 5;
    if (len == 0 || (size_t)(end - at) < digits + 2 || at[1 + digits] != '\n') {
        return false;
    }
    at++;
    for (size_t done = 0; done < len; done += 4, at += 5) {
        uint8_t bytes[4];
        if (!get_group(at, bytes)) {
            return false;
        }
        str_addn(out, bytes, len - done < 4 ? len - done : 4);
    }
    *p = at + 1;
    return true;
}

static bool inflate_to(struct str *out, const struct str *packed, size_t size)
{
    if (size > packed->len * DEFLATE_RATIO_MAX) {
        return false;
    }
    str_reset(out);
    str_reserve(out, size + 1);
    uLongf got = size + 1; /* one more: content that is longer than said must be seen */
    if (uncompress((Bytef *)out->ptr, &got, (const Bytef *)packed->ptr, packed->len) != Z_OK ||
        got != size) {
        return false;
    }
    out->len = size;
    out->ptr[size] = '\0';
    return true;
}

bool binary_get(const char **p, const char *end, struct str *ret)
{
    static const char word[] = "literal ";
    const char *at = *p;
    size_t size = 0;
    size_t digits = 0;
    if ((size_t)(end - at) < sizeof(word) || memcmp(at, word, sizeof(word) - 1) != 0) {
        return false;
    }
    for (at += sizeof(word) - 1; at < end && *at >= '0' && *at <= '9' && digits < 12; at++) {
        size = size * 10 + (size_t)(*at - '0');
        digits++;
    }
    if (digits == 0 || at >= end || *at != '\n') {
        return false;
    }
    at++;
    autostr struct str packed = {0};
    while (at < end && *at != '\n') {
        if (!get_line(&at, end, &packed)) {
            return false;
        }
    }
    if (at >= end || (ret && !inflate_to(ret, &packed, size))) {
        return false;
    }
    *p = at + 1;
    return true;
}
