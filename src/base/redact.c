/*
 * redact.c - see redact.h. Owns the registry and the one loop that walks over text.
 *
 * The loop (struct walk) decides each byte once, from left to right: shown, or covered. Covered are
 * the bytes of a registered value, and the bytes of a pattern's secret while its kind goes on
 * ("swallowed"); registered values are looked for inside covered text too, so that one which
 * reaches beyond a pattern's end is covered whole. When the text may go on and its end could be the
 * beginning of something, the loop stops there; a stream keeps that tail, and CONTEXT_BYTES before
 * it for looking back, until the next piece.
 *
 * The registry is a hash table on the first four bytes, each chain from long to short, under a
 * read-write lock. Tests: tests/unit/test_base_redact.c, tests/fuzz/fuzz_redact.c
 */
#include "base/redact.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact_private.h"

#define BUCKETS 1024U
#define HASHED_BYTES 4U

struct secret {
    struct secret *next; /* in its bucket: shorter or equal */
    size_t len;
    unsigned char bytes[];
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct secret *buckets[BUCKETS];
static unsigned first_bytes[256]; /* secrets that begin with this byte */

/* --- the registry ---------------------------------------------------------------------------- */

static size_t bucket_of(const unsigned char *bytes)
{
    uint32_t four;
    memcpy(&four, bytes, sizeof(four));
    return (four * 2654435761U) >> 22;
}

static void add_locked(const char *bytes, size_t len)
{
    struct secret **at = &buckets[bucket_of((const unsigned char *)bytes)];
    while (*at && (*at)->len >= len) {
        if ((*at)->len == len && memcmp((*at)->bytes, bytes, len) == 0) {
            return;
        }
        at = &(*at)->next;
    }
    struct secret *secret = mem_alloc(sizeof(*secret) + len);
    memcpy(secret->bytes, bytes, len);
    secret->len = len;
    secret->next = *at;
    *at = secret;
    first_bytes[secret->bytes[0]]++;
}

static void add_pieces_locked(const char *bytes, size_t len)
{
    while (len >= REDACT_SECRET_MIN) {
        size_t piece = len < REDACT_SECRET_MAX ? len : REDACT_SECRET_MAX;
        add_locked(bytes, piece);
        bytes += piece;
        len -= piece;
    }
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool redact_register(const char *secret, size_t len)
{
    while (len > 0 && is_space(secret[len - 1])) {
        len--;
    }
    while (len > 0 && is_space(secret[0])) {
        secret++;
        len--;
    }
    if (len < REDACT_SECRET_MIN) {
        return false;
    }
    autostr struct str quoted = {0};
    json_quote(&quoted, secret, len);
    pthread_rwlock_wrlock(&lock);
    add_pieces_locked(secret, len);
    if (quoted.len - 2 != len || memcmp(quoted.ptr + 1, secret, len) != 0) {
        add_pieces_locked(quoted.ptr + 1, quoted.len - 2);
    }
    pthread_rwlock_unlock(&lock);
    explicit_bzero(quoted.ptr, quoted.len);
    return true;
}

bool redact_register_env(const char *name)
{
    const char *value = getenv(name);
    return value && redact_register(value, strlen(value));
}

void redact_forget_all(void)
{
    pthread_rwlock_wrlock(&lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (buckets[i]) {
            struct secret *next = buckets[i]->next;
            explicit_bzero(buckets[i]->bytes, buckets[i]->len);
            free(buckets[i]);
            buckets[i] = next;
        }
    }
    memset(first_bytes, 0, sizeof(first_bytes));
    pthread_rwlock_unlock(&lock);
}

/* The longest registered value that begins here. */
static enum verdict known_at(const struct text *t, size_t at, size_t *ret_len)
{
    const unsigned char *here = t->bytes + at;
    size_t left = t->len - at;
    if (first_bytes[*here] == 0) {
        return NO_MATCH;
    }
    if (left < HASHED_BYTES) {
        return t->at_end ? NO_MATCH : NEED_MORE;
    }
    for (const struct secret *s = buckets[bucket_of(here)]; s; s = s->next) {
        size_t seen = left < s->len ? left : s->len;
        if (memcmp(here, s->bytes, seen) != 0) {
            continue;
        }
        if (seen == s->len) {
            *ret_len = s->len;
            return MATCH;
        }
        if (!t->at_end) {
            return NEED_MORE;
        }
    }
    return NO_MATCH;
}

/* --- the loop -------------------------------------------------------------------------------- */

static void mask(struct redact_stream *s, struct str *out)
{
    if (!s->masked) {
        s->hits++;
        if (out) {
            str_add(out, REDACT_MASK);
        }
    }
    s->masked = true;
}

/* Has a secret of a pattern begun, or does it go on? MATCH: the byte at `at` is part of it. */
static enum verdict swallow(struct redact_stream *s, const struct text *t, size_t at)
{
    if (s->arm_at == at && s->arm_kind != KIND_NONE) {
        s->swallow_kind = s->arm_kind;
        s->swallowed = 0;
        s->arm_kind = KIND_NONE;
    }
    if (s->swallow_kind == KIND_NONE) {
        return NO_MATCH;
    }
    enum kind kind = (enum kind)s->swallow_kind;
    enum verdict v = pattern_continues(t, at, &kind, s->swallowed);
    s->swallow_kind = v == NO_MATCH ? KIND_NONE : (int)kind;
    s->swallowed += v == MATCH;
    return v;
}

static enum verdict look_for_pattern(struct redact_stream *s, const struct text *t, size_t at)
{
    struct match match = {0};
    if (s->arm_kind != KIND_NONE || !pattern_begins_with[t->bytes[at]]) {
        return NO_MATCH;
    }
    enum verdict v = pattern_at(t, at, &match);
    if (v != MATCH) {
        return v;
    }
    s->arm_at = at + match.visible;
    s->arm_kind = (int)match.kind;
    s->arm_length = match.length;
    return match.visible == 0 ? swallow(s, t, at) : NO_MATCH;
}

static void cover_to(struct redact_stream *s, size_t end)
{
    s->cover = end > s->cover ? end : s->cover;
}

/* One byte. MATCH: covered, NO_MATCH: shown, NEED_MORE: undecided. */
static enum verdict judge(struct redact_stream *s, const struct text *t, size_t at,
                          enum redact_layers layers)
{
    size_t known = 0;
    enum verdict v = layers & REDACT_KNOWN ? known_at(t, at, &known) : NO_MATCH;
    if (v == NEED_MORE) {
        return v;
    }
    if (v == MATCH) {
        cover_to(s, at + known);
    }
    if (layers & REDACT_PATTERNS) {
        if (s->arm_kind == KIND_FIXED && s->arm_at == at) {
            s->arm_kind = KIND_NONE;
            cover_to(s, at + s->arm_length);
        }
        v = swallow(s, t, at);
        if (v == NO_MATCH) {
            v = look_for_pattern(s, t, at);
        }
    } else {
        v = NO_MATCH;
    }
    return v == NO_MATCH && at < s->cover ? MATCH : v;
}

/* Nothing is going on and nothing begins before the place returned. */
static size_t skip_dull(const struct redact_stream *s, const struct text *t, size_t at)
{
    if (s->arm_kind != KIND_NONE || s->swallow_kind != KIND_NONE) {
        return at;
    }
    while (at < t->len && !pattern_begins_with[t->bytes[at]] && !first_bytes[t->bytes[at]]) {
        at++;
    }
    return at;
}

/* Walks from `at` as far as it can; returns where it stopped. */
static size_t walk(struct redact_stream *s, const struct text *t, size_t at, struct str *out,
                   enum redact_layers layers)
{
    size_t shown = at; /* start of text to be shown that has not been copied */
    while (at < t->len) {
        enum verdict v = judge(s, t, at, layers);
        if (v != NO_MATCH) {
            if (out) {
                str_addn(out, t->bytes + shown, at - shown);
            }
            shown = at + 1;
        }
        if (v == NEED_MORE) {
            return at;
        }
        if (v == MATCH) {
            mask(s, out);
        } else {
            s->masked = false;
        }
        at++;
        if (v == NO_MATCH && at >= s->cover) {
            at = skip_dull(s, t, at);
        }
    }
    if (out && shown < at) {
        str_addn(out, t->bytes + shown, at - shown);
    }
    return at;
}

static size_t walk_whole(struct str *out, const void *bytes, size_t len, enum redact_layers layers)
{
    struct redact_stream s = {0};
    struct text t = {.bytes = bytes, .len = len, .at_end = true};
    pthread_rwlock_rdlock(&lock);
    walk(&s, &t, 0, out, layers);
    pthread_rwlock_unlock(&lock);
    return s.hits;
}

size_t redact_append(struct str *out, const void *bytes, size_t len)
{
    return walk_whole(out, bytes, len, REDACT_ALL);
}

size_t redact_finds(const void *bytes, size_t len, enum redact_layers layers)
{
    return walk_whole(NULL, bytes, len, layers);
}

void redact_str(struct str *s)
{
    if (s->len == 0 || walk_whole(NULL, s->ptr, s->len, REDACT_ALL) == 0) {
        return;
    }
    struct str clean = {0};
    walk_whole(&clean, s->ptr, s->len, REDACT_ALL);
    explicit_bzero(s->ptr, s->len);
    str_free(s);
    *s = clean;
}

void redact_json(struct str *out, const struct json *value, int indent)
{
    struct json_out w = json_writer(out, indent);
    json_put_edited(&w, value, redact_str);
}

/* --- streams --------------------------------------------------------------------------------- */

static size_t lowered(size_t position, size_t by)
{
    return position > by ? position - by : 0;
}

/* Forget what lies further back than any pattern looks. */
static void drop_old(struct redact_stream *s)
{
    if (s->context <= CONTEXT_BYTES) {
        return;
    }
    size_t by = s->context - CONTEXT_BYTES;
    memmove(s->held.ptr, s->held.ptr + by, s->held.len - by);
    str_cut(&s->held, s->held.len - by);
    s->context -= by;
    s->cover = lowered(s->cover, by);
    s->arm_at = lowered(s->arm_at, by);
}

static void go_on(struct redact_stream *s, bool at_end, struct str *out)
{
    struct text t = {(const unsigned char *)str_c(&s->held), s->held.len, at_end};
    pthread_rwlock_rdlock(&lock);
    s->context = walk(s, &t, s->context, out, REDACT_ALL);
    pthread_rwlock_unlock(&lock);
    drop_old(s);
}

void redact_stream_feed(struct redact_stream *stream, const void *bytes, size_t len,
                        struct str *out)
{
    if (len > 0) {
        str_addn(&stream->held, bytes, len);
        go_on(stream, false, out);
    }
}

size_t redact_stream_end(struct redact_stream *stream, struct str *out)
{
    go_on(stream, true, out);
    size_t hits = stream->hits;
    redact_stream_free(stream);
    return hits;
}

void redact_stream_free(struct redact_stream *stream)
{
    if (stream->held.ptr) {
        explicit_bzero(stream->held.ptr, stream->held.cap);
    }
    str_free(&stream->held);
    *stream = (struct redact_stream){0};
}
