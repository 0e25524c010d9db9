/*
 * str.h - growable byte string.
 *
 * Owns: struct str, which is always NUL-terminated once anything was added (ptr may be NULL when
 * empty: use str_c()). A zeroed struct is a valid empty string. Content may hold NUL bytes.
 * Text given to str_add* must not lie inside the same str. A struct str belongs to one thread.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct str {
    char *ptr;
    size_t len;
    size_t cap;
};

void str_free(struct str *s); /* back to empty; fine on an empty one */
#define autostr cleanup_with(str_free)

void str_reset(struct str *s); /* length 0, memory kept */
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const void *bytes, size_t len);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) printf_like(2, 3);
void str_addv(struct str *s, const char *fmt, va_list ap);
void str_add_i64(struct str *s, int64_t value);
void str_cut(struct str *s, size_t len);      /* shorten to len (<= s->len) */
void str_reserve(struct str *s, size_t more); /* room for `more` bytes beyond len */
const char *str_c(const struct str *s);       /* NUL-terminated view, "" when empty */
char *str_take(struct str *s);                /* caller frees; s becomes empty; never NULL */

/* Helpers over plain C strings. */
bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Copy into a fixed buffer, cutting at size-1 on a UTF-8 boundary; always terminates. */
void str_copy(char *dst, size_t size, const char *src);
bool utf8_valid(const void *bytes, size_t len);
/* Bytes of the valid UTF-8 character that starts here (1..4), or 0 when there is none. */
size_t utf8_char(const void *bytes, size_t len);
/* Length of the longest prefix of at most max bytes that ends on a character boundary. */
size_t utf8_prefix(const char *s, size_t len, size_t max);
/* The candidate with the smallest Damerau-Levenshtein distance (letters' case aside; the first one
 * among equals), or NULL when none is near enough to be a typo: names of 3 or 4 bytes may differ
 * by 1, of 5 to 8 by 2, of 9 to 64 by 3. */
const char *str_nearest(const char *word, const char *const *candidates, size_t count);

#endif
