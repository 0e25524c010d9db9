/*
 * str.c - see str.h. Owns growth of struct str and the small helpers over plain C strings.
 * Growth is by half again, so adding n bytes one by one costs O(n).
 * Tests: tests/unit/test_base_str.c
 */
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void str_free(struct str *s)
{
    free(s->ptr);
    *s = (struct str){0};
}

void str_reset(struct str *s)
{
    str_cut(s, 0);
}

void str_reserve(struct str *s, size_t more)
{
    size_t need = 0;
    if (__builtin_add_overflow(s->len, more, &need) || need == SIZE_MAX) {
        mem_exhausted(SIZE_MAX);
    }
    if (need + 1 > s->cap) {
        size_t cap = s->cap + s->cap / 2;
        cap = cap > need + 1 ? cap : need + 1;
        cap = cap > 32 ? cap : 32;
        s->ptr = mem_grow(s->ptr, cap);
        s->cap = cap;
        s->ptr[s->len] = '\0';
    }
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addn(struct str *s, const void *bytes, size_t len)
{
    str_reserve(s, len);
    if (len > 0) {
        memcpy(s->ptr + s->len, bytes, len);
        s->len += len;
    }
    s->ptr[s->len] = '\0';
}

void str_addc(struct str *s, char c)
{
    if (s->len + 1 >= s->cap) {
        str_reserve(s, 1);
    }
    s->ptr[s->len++] = c;
    s->ptr[s->len] = '\0';
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_addv(s, fmt, ap);
    va_end(ap);
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
    str_reserve(s, 32);
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(s->ptr + s->len, s->cap - s->len, fmt, ap);
    if (len >= 0 && (size_t)len >= s->cap - s->len) {
        str_reserve(s, (size_t)len);
        len = vsnprintf(s->ptr + s->len, s->cap - s->len, fmt, again);
    }
    va_end(again);
    if (len < 0) { /* a broken multibyte conversion: add nothing */
        s->ptr[s->len] = '\0';
        return;
    }
    s->len += (size_t)len;
}

void str_add_i64(struct str *s, int64_t value)
{
    char digits[20]; /* 19 digits and a sign */
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    str_addn(s, digits + at, sizeof(digits) - at);
}

void str_cut(struct str *s, size_t len)
{
    if (s->ptr && len <= s->len) {
        s->len = len;
        s->ptr[len] = '\0';
    }
}

const char *str_c(const struct str *s)
{
    return s->ptr ? s->ptr : "";
}

char *str_take(struct str *s)
{
    char *text = s->ptr ? s->ptr : mem_strndup("", 0);
    *s = (struct str){0};
    return text;
}

bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t len = strlen(s);
    size_t want = strlen(suffix);
    return len >= want && memcmp(s + len - want, suffix, want) == 0;
}

void str_copy(char *dst, size_t size, const char *src)
{
    if (size == 0) {
        return;
    }
    size_t len = utf8_prefix(src, strnlen(src, size), size - 1);
    memcpy(dst, src, len);
    dst[len] = '\0';
}

size_t utf8_char(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    if (len == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    uint8_t low = 0x80;  /* bounds of the second byte: they rule out overlong forms, */
    uint8_t high = 0xbf; /* surrogates and code points above U+10FFFF */
    size_t want = 0;
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        want = 2;
    } else if ((p[0] & 0xf0) == 0xe0) {
        want = 3;
        low = p[0] == 0xe0 ? 0xa0 : 0x80;
        high = p[0] == 0xed ? 0x9f : 0xbf;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        want = 4;
        low = p[0] == 0xf0 ? 0x90 : 0x80;
        high = p[0] == 0xf4 ? 0x8f : 0xbf;
    }
    if (want == 0 || len < want || p[1] < low || p[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < want; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return want;
}

bool utf8_valid(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    size_t at = 0;
    while (at < len) {
        uint64_t eight;
        if (len - at >= sizeof(eight)) {
            memcpy(&eight, p + at, sizeof(eight));
            if ((eight & 0x8080808080808080ULL) == 0) {
                at += sizeof(eight);
                continue;
            }
        }
        size_t step = utf8_char(p + at, len - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

size_t utf8_prefix(const char *s, size_t len, size_t max)
{
    if (len <= max) {
        return len;
    }
    size_t cut = max;
    while (cut > 0 && max - cut < 3 && ((unsigned char)s[cut] & 0xc0) == 0x80) {
        cut--;
    }
    /* more continuation bytes than any character has: not UTF-8, so any cut is as good */
    return ((unsigned char)s[cut] & 0xc0) == 0x80 ? max : cut;
}

#define NEAREST_WORD_MAX 64 /* longer words are pasted text, not names that somebody mistyped */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with neighbours swapped counted once; letters' case does not count. Three rows. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    uint8_t rows[3][NEAREST_WORD_MAX + 1];
    for (size_t j = 0; j <= b_len; j++) {
        rows[0][j] = (uint8_t)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        uint8_t *now = rows[i % 3];
        const uint8_t *last = rows[(i - 1) % 3];
        const uint8_t *before = rows[(i + 1) % 3];
        int ca = tolower((unsigned char)a[i - 1]);
        now[0] = (uint8_t)i;
        for (size_t j = 1; j <= b_len; j++) {
            int cb = tolower((unsigned char)b[j - 1]);
            size_t best = smaller(last[j] + 1U, now[j - 1] + 1U);
            best = smaller(best, last[j - 1] + (ca == cb ? 0U : 1U));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2])) {
                best = smaller(best, before[j - 2] + 1U);
            }
            now[j] = (uint8_t)best;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *str_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t len = strlen(word);
    if (len == 0 || len > NEAREST_WORD_MAX) {
        return NULL;
    }
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t other = candidates[i] ? strlen(candidates[i]) : 0;
        if (other == 0 || other > NEAREST_WORD_MAX) {
            continue;
        }
        size_t cost = distance(word, len, candidates[i], other);
        size_t longer = len > other ? len : other;
        size_t bound = longer < 3 ? 0 : longer < 5 ? 1 : longer < 9 ? 2 : 3;
        if (cost <= bound && cost < best) {
            best = cost;
            nearest = candidates[i];
        }
    }
    return nearest;
}
