/*
 * glob.c - wildcard patterns over paths, in bounded time.
 *
 * Owns and must not: see glob.h. A broken set or a trailing "\" matches nothing, as in git.
 * Tests: tests/unit/test_repo_ignore.c
 */
#include "repo/glob.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"

static const struct {
    const char *name;
    int (*test)(int c);
} classes[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
               {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
               {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};

/* [:name:] at p (behind "[:"). Returns its length including ":]", 0 when it is no class at all, and
 * sets *hit; an unknown class sets *broken. */
static size_t match_class(const char *p, size_t len, unsigned char c, bool *hit, bool *broken)
{
    size_t n = 0;
    while (n + 1 < len && p[n] != ']') {
        n++;
    }
    if (n + 1 > len || n == 0 || p[n] != ']' || p[n - 1] != ':') {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (strlen(classes[i].name) == n - 1 && memcmp(classes[i].name, p, n - 1) == 0) {
            *hit = *hit || (c < 0x80 && classes[i].test(c));
            return n + 1;
        }
    }
    *broken = true;
    return n + 1;
}

/* Match c against the set at p (behind "["). Returns the set's length with "]", 0 when broken. */
static size_t match_set(const char *p, size_t len, unsigned char c, bool *ret_hit)
{
    size_t i = 0;
    bool negate = len > 0 && (p[0] == '!' || p[0] == '^');
    bool hit = false;
    bool broken = false;
    i += negate;
    for (bool first = true; i < len && (first || p[i] != ']'); first = false) {
        if (p[i] == '[' && i + 1 < len && p[i + 1] == ':') {
            size_t used = match_class(p + i + 2, len - i - 2, c, &hit, &broken);
            if (used) {
                i += 2 + used;
                continue;
            }
        }
        i += p[i] == '\\';
        if (i >= len) {
            return 0;
        }
        unsigned char low = (unsigned char)p[i++];
        unsigned char high = low;
        if (i + 1 < len && p[i] == '-' && p[i + 1] != ']') {
            i++;
            i += p[i] == '\\';
            if (i >= len) {
                return 0;
            }
            high = (unsigned char)p[i++];
        }
        hit = hit || (c >= low && c <= high);
    }
    if (i >= len || broken) {
        return 0;
    }
    *ret_hit = hit != negate;
    return i + 1;
}

/* Match one element of the pattern (not "*") against c. Returns its length, 0 when it does not. */
static size_t match_one(const char *pattern, size_t len, unsigned char c)
{
    if (len == 0) {
        return 0;
    }
    if (pattern[0] == '?') {
        return 1;
    }
    if (pattern[0] == '[') {
        bool hit = false;
        size_t used = match_set(pattern + 1, len - 1, c, &hit);
        return used && hit ? used + 1 : 0;
    }
    if (pattern[0] == '\\') {
        return len > 1 && (unsigned char)pattern[1] == c ? 2 : 0;
    }
    return (unsigned char)pattern[0] == c ? 1 : 0;
}

bool glob_part(const char *pattern, size_t pattern_len, const char *text, size_t text_len)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = 0; /* position behind the last "*", 0: none yet */
    size_t star_t = 0;
    while (t < text_len) {
        size_t used = 0;
        if (p < pattern_len && pattern[p] == '*') {
            star = ++p;
            star_t = t;
            continue;
        }
        used = match_one(pattern + p, pattern_len - p, (unsigned char)text[t]);
        if (used) {
            p += used;
            t++;
        } else if (star) {
            p = star;
            t = ++star_t;
        } else {
            return false;
        }
    }
    while (p < pattern_len && pattern[p] == '*') {
        p++;
    }
    return p == pattern_len;
}

/* End of the component that starts at `from`. */
static size_t part_end(const char *s, size_t from, size_t len)
{
    const char *slash = from < len ? memchr(s + from, '/', len - from) : NULL;
    return slash ? (size_t)(slash - s) : len;
}

bool glob_path(const char *pattern, size_t pattern_len, const char *path, size_t path_len)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = 0; /* position behind the last "**" component plus one, 0: none yet */
    size_t star_t = 0;
    while (t <= path_len) {
        size_t p_end = p <= pattern_len ? part_end(pattern, p, pattern_len) : p;
        size_t t_end = part_end(path, t, path_len);
        if (p <= pattern_len && p_end - p == 2 && memcmp(pattern + p, "**", 2) == 0) {
            if (p_end == pattern_len) {
                return t < path_len;
            }
            star = p_end + 1;
            p = star;
            star_t = t;
            continue;
        }
        if (p <= pattern_len && glob_part(pattern + p, p_end - p, path + t, t_end - t)) {
            p = p_end + 1;
            t = t_end + 1;
        } else if (star) {
            p = star;
            star_t = part_end(path, star_t, path_len) + 1;
            t = star_t;
        } else {
            return false;
        }
    }
    return p == pattern_len + 1;
}

const char *glob_fault(const char *pattern)
{
    size_t len = strlen(pattern);
    for (size_t i = 0; i < len; i++) {
        if (pattern[i] == '\\') {
            if (++i == len) {
                return "ends with \"\\\"";
            }
        } else if (pattern[i] == '[') {
            bool hit = false;
            size_t used = match_set(pattern + i + 1, part_end(pattern, i, len) - i - 1, 'a', &hit);
            if (!used) {
                return "has a broken [set]";
            }
            i += used;
        }
    }
    return NULL;
}
