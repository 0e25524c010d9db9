/*
 * redact_pattern.c - text that looks like a secret. Hand-written scanners without backtracking:
 * each looks at a bounded number of bytes from one position, so the whole is linear.
 *
 * NEED_MORE is said only while everything seen so far fits and the text may go on.
 * Tests: tests/unit/test_base_redact.c, tests/fuzz/fuzz_redact.c
 */
#include "base/redact_private.h"

#include <string.h>
#include <strings.h>

#include "base/attr.h"

#define JWT_HEADER_MAX 2048  /* longer first parts are other base64 */
#define USERINFO_MAX 1024    /* user:password in a URL */
#define PEM_MAX (32U * 1024) /* an RSA key of 16384 bits has 13 KiB */
#define PEM_LINE_MAX 80      /* "-----BEGIN ENCRYPTED PRIVATE KEY-----" and the like */
#define BEARER_LOOK 64       /* bytes of a token that are judged */

static bool is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

static bool in_kind(enum kind kind, unsigned char c)
{
    if (is_alnum(c)) {
        return true;
    }
    switch (kind) {
    case KIND_WORD:
        return c == '_' || c == '-';
    case KIND_JWT:
        return c == '_' || c == '-' || c == '.';
    case KIND_BEARER:
        return c != '\0' && strchr("_-.~+/=", c);
    case KIND_VALUE: /* what a shell, a query string or a log line would end it with */
        return c > ' ' && c != 0x7f && !strchr("\"'`&;", c);
    case KIND_SINGLE:
        return c != '\'' && c != '\n';
    case KIND_DOUBLE:
    case KIND_ESCAPED:
        return c != '\n';
    case KIND_PEM: /* base64, line ends (also escaped ones), and what quotes lines */
        return c != '\0' && strchr("+/=-:, \t\r\n\\>|\"'", c);
    case KIND_PEM_END:
        return c == ' ' || c == '-';
    case KIND_NONE:
    case KIND_FIXED:
        break;
    }
    return false;
}

/* Bytes from `at` that are of this kind, at most `most`. */
static size_t run_of(const struct text *t, size_t at, enum kind kind, size_t most)
{
    size_t n = 0;
    while (n < most && at + n < t->len && in_kind(kind, t->bytes[at + n])) {
        n++;
    }
    return n;
}

/* Is this literal here? Letters' case may be ignored. */
static enum verdict literal(const struct text *t, size_t at, const char *word, bool any_case)
{
    for (size_t i = 0; word[i]; i++) {
        if (at + i >= t->len) {
            return t->at_end ? NO_MATCH : NEED_MORE;
        }
        unsigned char c = t->bytes[at + i];
        if ((any_case ? lower(c) : c) != (unsigned char)word[i]) {
            return NO_MATCH;
        }
    }
    return MATCH;
}

/* The text ends in the middle of what could still become a match. */
static enum verdict short_of(const struct text *t, size_t end)
{
    return end >= t->len && !t->at_end ? NEED_MORE : NO_MATCH;
}

/* --- keys with a prefix ---------------------------------------------------------------------- */

static const struct prefix {
    const char *word; /* '?' stands for one lower-case letter */
    size_t least;     /* bytes behind it */
} prefixes[] = {
    {"sk-", 16},      {"gh?_", 20},     {"github_pat_", 20}, {"glpat-", 16},   {"npm_", 20},
    {"xox?-", 10},    {"xapp-", 10},    {"AKIA", 16},        {"ASIA", 16},     {"AIza", 30},
    {"sk_live_", 12}, {"sk_test_", 12}, {"rk_live_", 12},    {"rk_test_", 12}, {"whsec_", 16},
};

static enum verdict prefix_here(const struct text *t, size_t at, const char *word)
{
    for (size_t i = 0; word[i]; i++) {
        if (at + i >= t->len) {
            return t->at_end ? NO_MATCH : NEED_MORE;
        }
        unsigned char c = t->bytes[at + i];
        if (word[i] == '?' ? c < 'a' || c > 'z' : c != (unsigned char)word[i]) {
            return NO_MATCH;
        }
    }
    return MATCH;
}

static enum verdict prefixed_key(const struct text *t, size_t at, struct match *ret)
{
    enum verdict all = NO_MATCH;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        enum verdict v = prefix_here(t, at, prefixes[i].word);
        if (v == MATCH) {
            size_t behind = at + strlen(prefixes[i].word);
            size_t run = run_of(t, behind, KIND_WORD, prefixes[i].least);
            v = run == prefixes[i].least ? MATCH : short_of(t, behind + run);
        }
        if (v == MATCH) {
            *ret = (struct match){.kind = KIND_WORD};
            return MATCH;
        }
        all = v == NEED_MORE ? v : all;
    }
    return all;
}

/* header.payload.signature: "eyJ" is how {" looks in base64. */
static enum verdict web_token(const struct text *t, size_t at, struct match *ret)
{
    enum verdict v = literal(t, at, "eyJ", false);
    if (v != MATCH || (at > 0 && in_kind(KIND_WORD, t->bytes[at - 1]))) {
        return v == NEED_MORE ? v : NO_MATCH; /* every run of such bytes is judged once only */
    }
    size_t header = run_of(t, at, KIND_WORD, JWT_HEADER_MAX);
    size_t dot = at + header;
    if (dot >= t->len) {
        return header < JWT_HEADER_MAX ? short_of(t, dot) : NO_MATCH;
    }
    if (header < 10 || t->bytes[dot] != '.') {
        return NO_MATCH;
    }
    size_t payload = run_of(t, dot + 1, KIND_WORD, 8);
    if (payload < 8) {
        return short_of(t, dot + 1 + payload);
    }
    *ret = (struct match){.kind = KIND_JWT};
    return MATCH;
}

/* --- credentials in headers, URLs and assignments -------------------------------------------- */

/* "authorization" stands in what lies before, on the same line. */
static bool after_authorization(const struct text *t, size_t at)
{
    static const char word[] = "authorization";
    const size_t len = sizeof(word) - 1;
    size_t most = at < 40 ? at : 40;
    for (size_t back = 1; back <= most && t->bytes[at - back] != '\n'; back++) {
        if (back > len && literal(t, at - back, word, true) == MATCH) {
            unsigned char next = t->bytes[at - back + len];
            return next == ':' || next == '"' || next == '\'' || next == '\\';
        }
    }
    return false;
}

static enum verdict bearer(const struct text *t, size_t at, struct match *ret)
{
    static const char *const schemes[] = {"bearer", "basic", "token"};
    size_t behind = 0;
    enum verdict v = NO_MATCH;
    bool authorized = after_authorization(t, at);
    for (size_t i = 0; i < ARRAY_LEN(schemes) && v == NO_MATCH; i++) {
        if (i == 0 || authorized) {
            v = literal(t, at, schemes[i], true);
            behind = at + strlen(schemes[i]);
        }
    }
    if (v != MATCH) {
        return v;
    }
    size_t token = behind;
    while (token < t->len && token - behind < 8 &&
           (t->bytes[token] == ' ' || t->bytes[token] == '\t')) {
        token++;
    }
    if (token == behind) {
        return short_of(t, token);
    }
    size_t run = run_of(t, token, KIND_BEARER, BEARER_LOOK);
    if (run < BEARER_LOOK && token + run >= t->len && !t->at_end) {
        return NEED_MORE;
    }
    bool digit = false;
    for (size_t i = 0; i < run; i++) {
        digit |= t->bytes[token + i] >= '0' && t->bytes[token + i] <= '9';
    }
    /* prose says "bearer authentication" too */
    if (authorized ? run == 0 : run < 8 || (!digit && run < 24)) {
        return NO_MATCH;
    }
    *ret = (struct match){.visible = token - at, .kind = KIND_BEARER};
    return MATCH;
}

static bool ends_authority(unsigned char c)
{
    return c <= ' ' || c == 0x7f || strchr("/?#\"'<>`\\", c);
}

/* at: on the colon of "://". */
static enum verdict url_userinfo(const struct text *t, size_t at, struct match *ret)
{
    enum verdict v = literal(t, at, "://", false);
    if (v != MATCH) {
        return v;
    }
    size_t begin = at + 3;
    size_t last_at = 0;
    bool colon = false;
    size_t i = begin;
    while (i < t->len && i - begin < USERINFO_MAX && !ends_authority(t->bytes[i])) {
        colon |= t->bytes[i] == ':' && last_at == 0;
        if (t->bytes[i] == '@') {
            last_at = i;
        }
        i++;
    }
    if (i == t->len && i - begin < USERINFO_MAX && !t->at_end) {
        return NEED_MORE;
    }
    bool web = (at >= 4 && strncasecmp((const char *)t->bytes + at - 4, "http", 4) == 0) ||
               (at >= 5 && strncasecmp((const char *)t->bytes + at - 5, "https", 5) == 0);
    if (last_at == 0 || last_at == begin || (!colon && !web)) {
        return NO_MATCH; /* ssh://git@host names no secret */
    }
    *ret = (struct match){.visible = 3, .kind = KIND_FIXED, .length = last_at - begin};
    return MATCH;
}

static bool in_name(unsigned char c)
{
    return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static bool name_ends_with(const unsigned char *name, size_t len, const char *word)
{
    size_t want = strlen(word);
    return len >= want && strncasecmp((const char *)name + len - want, word, want) == 0;
}

static bool suggests_secret(const unsigned char *name, size_t len)
{
    static const char *const words[] = {"password", "passwd",     "passphrase", "token",
                                        "secret",   "_key",       "-key",       ".key",
                                        "apikey",   "credentials"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (name_ends_with(name, len, words[i])) {
            return true;
        }
    }
    return len >= 3 && memcmp(name + len - 3, "KEY", 3) == 0; /* "monkey=" is no secret */
}

/* at: on the "=" behind a name. */
static enum verdict assignment(const struct text *t, size_t at, struct match *ret)
{
    size_t begin = at;
    while (begin > 0 && at - begin < CONTEXT_BYTES && in_name(t->bytes[begin - 1])) {
        begin--;
    }
    if (!suggests_secret(t->bytes + begin, at - begin)) {
        return NO_MATCH;
    }
    if (at + 1 >= t->len) {
        return short_of(t, at + 1);
    }
    unsigned char first = t->bytes[at + 1];
    if (first == '"' || first == '\'') {
        *ret = (struct match){.visible = 2, .kind = first == '"' ? KIND_DOUBLE : KIND_SINGLE};
        return MATCH;
    }
    if (first == '\\') {
        if (at + 2 >= t->len && !t->at_end) {
            return NEED_MORE;
        }
        if (at + 2 < t->len && t->bytes[at + 2] == '"') {
            *ret = (struct match){.visible = 3, .kind = KIND_ESCAPED};
            return MATCH;
        }
    }
    if (first == '=' || !in_kind(KIND_VALUE, first)) {
        return NO_MATCH;
    }
    *ret = (struct match){.visible = 1, .kind = KIND_VALUE};
    return MATCH;
}

/* --- PEM ------------------------------------------------------------------------------------- */

static enum verdict private_key(const struct text *t, size_t at, struct match *ret)
{
    static const char tail[] = "PRIVATE KEY-----";
    enum verdict v = literal(t, at, "-----BEGIN ", false);
    if (v != MATCH) {
        return v;
    }
    size_t i = at + strlen("-----BEGIN ");
    while (i - at < PEM_LINE_MAX) {
        v = literal(t, i, tail, false);
        if (v != NO_MATCH) {
            break;
        }
        if (i >= t->len || !in_kind(KIND_PEM_END, t->bytes[i])) {
            return NO_MATCH;
        }
        i++;
    }
    if (v == MATCH) {
        *ret = (struct match){.kind = KIND_PEM};
    }
    return v;
}

/* --- the two doors --------------------------------------------------------------------------- */

const bool pattern_begins_with[256] = {
    ['s'] = true, ['g'] = true, ['n'] = true, ['x'] = true, ['A'] = true,
    ['r'] = true, ['w'] = true, ['e'] = true, ['b'] = true, ['B'] = true,
    ['t'] = true, ['T'] = true, ['-'] = true, [':'] = true, ['='] = true,
};

enum verdict pattern_at(const struct text *t, size_t at, struct match *ret)
{
    unsigned char c = t->bytes[at];
    if (c == '=') {
        return assignment(t, at, ret);
    }
    if (c == ':') {
        return url_userinfo(t, at, ret);
    }
    if (c == '-') {
        return private_key(t, at, ret);
    }
    if (at > 0 && is_alnum(t->bytes[at - 1])) {
        return NO_MATCH; /* in the middle of a word */
    }
    if (c == 'e') {
        return web_token(t, at, ret);
    }
    if (lower(c) == 'b' || lower(c) == 't') {
        return bearer(t, at, ret);
    }
    return prefixed_key(t, at, ret);
}

/* In JSON text the value ends before an escaped quote or line end. */
static enum verdict before_escape(const struct text *t, size_t at)
{
    if (t->bytes[at] != '\\') {
        return MATCH;
    }
    if (at + 1 >= t->len) {
        return t->at_end ? MATCH : NEED_MORE;
    }
    unsigned char next = t->bytes[at + 1];
    return next != '\0' && strchr("\"nrt", next) ? NO_MATCH : MATCH;
}

enum verdict pattern_continues(const struct text *t, size_t at, enum kind *kind, size_t swallowed)
{
    if (*kind == KIND_PEM) {
        enum verdict v =
            t->bytes[at] == '-' && swallowed > 0 ? literal(t, at, "-----END ", false) : NO_MATCH;
        if (v == NEED_MORE) {
            return v;
        }
        *kind = v == MATCH ? KIND_PEM_END : KIND_PEM;
        return swallowed < PEM_MAX && in_kind(*kind, t->bytes[at]) ? MATCH : NO_MATCH;
    }
    unsigned char c = t->bytes[at];
    if (!in_kind(*kind, c)) {
        return NO_MATCH;
    }
    if (*kind == KIND_DOUBLE) {
        return c == '"' && (swallowed == 0 || t->bytes[at - 1] != '\\') ? NO_MATCH : MATCH;
    }
    return *kind == KIND_VALUE || *kind == KIND_ESCAPED ? before_escape(t, at) : MATCH;
}
