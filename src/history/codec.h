/*
 * codec.h - messages to and from JSON, in the two forms that this room knows.
 *
 * Owns: the walk over field.h's tables. CODEC_WIRE is Temporal's JSON (json.h), CODEC_STORE the
 * journal's form (store.h). json.c and store.c add what surrounds a message.
 * Must not: be included outside history/.
 */
#ifndef HISTORY_CODEC_H
#define HISTORY_CODEC_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "history/field.h"

#include <string.h>

/* Messages in messages (causes of failures). Deeper ones are refused when read, and left out when
 * printed, so that whatever is printed stays far from JSON_DEPTH_MAX and can be read back. */
#define MESSAGE_DEPTH_MAX 64

/* Depth of JSON that is kept as text; with all that may stand around it, below JSON_DEPTH_MAX. */
#define KEPT_DEPTH_MAX 48

enum codec_form { CODEC_WIRE, CODEC_STORE };

static inline bool member_is(const struct json *member, const char *key)
{
    size_t len = strlen(key);

    return member->key_len == len && memcmp(member->key, key, len) == 0;
}

/* Deep copy, nothing shared; NULL gives NULL (copy.c). */
void *message_copy(const struct message_desc *desc, const void *message, struct arena *arena);

/* --- reading (codec_read.c) --- */
struct reader {
    struct arena *arena; /* results; nothing in them points into the source */
    struct err *err;
    enum codec_form form;
    int depth;          /* messages around this place */
    bool too_deep;      /* something kept as text exceeds KEPT_DEPTH_MAX */
    struct str scratch; /* base64 */
};

void reader_close(struct reader *r);
int reader_bad(struct reader *r, const char *what); /* sets err; always -1 */
/* A string without NUL, copied into the arena. */
int reader_text(struct reader *r, const struct json *value, const char **ret);
/* Any value, as compact text. */
int reader_raw(struct reader *r, const struct json *value, const char **ret);
/* At the end: -1 when something that was kept nests too deeply. */
int reader_depth(struct reader *r);
/* Fill a zeroed message from an object. Bit i of *ret_seen (may be NULL): field i was mentioned,
 * be it as null. Errors name the path inside the message. */
int message_read(struct reader *r, const struct message_desc *desc, const struct json *object,
                 void *message, uint64_t *ret_seen);
/* Payloads (codec_payload.c); the results are zeroed before. */
int payload_read(struct reader *r, const struct json *value, struct payload *ret);
int payloads_read(struct reader *r, const struct json *value, struct payloads *ret);
int payload_map_read(struct reader *r, const struct field_desc *field, const struct json *value,
                     struct payload_map *ret);
int payloads_map_read(struct reader *r, const struct json *value, struct payloads_map *ret);
/* Add "key":value to a text of unknown members. */
void unknown_add(struct reader *r, struct str *unknown, const struct json *member);
/* That text for a struct's `unknown`; NULL when there is none. */
const char *unknown_take(struct reader *r, const struct str *unknown);
/* "1.5s", "-3s"; false when malformed or beyond 292 years. */
bool wire_duration_parse(const char *text, size_t len, int64_t *ret_ns);
/* An RFC 3339 time; *ret_digits are the fraction digits written, rounded up to 0, 3, 6 or 9. */
bool wire_time_parse(const char *text, size_t len, int64_t *ret_ns, uint8_t *ret_digits);
/* The name that a message member with this key has, whichever spelling; NULL when unknown. */
const struct field_desc *field_find(const struct message_desc *desc, const char *key, size_t len,
                                    size_t hint, size_t *ret_index);

/* One event from a parsed object (json.c). */
int event_from_tree(struct arena *arena, const struct json *object, struct event *ret_event,
                    struct err *err);

/* --- printing (codec_print.c) --- */
struct printer {
    struct json_out w;
    enum codec_form form;
    int depth; /* messages around this place */
};

struct printer printer_new(struct str *out, enum codec_form form);
/* Members only; the caller writes the braces. defaults (or NULL) is a message of the same type:
 * fields equal to it are left out, and those that are absent against it are written as null. */
void message_print_members(struct printer *p, const struct message_desc *desc, const void *message,
                           const void *defaults);
void message_print(struct printer *p, const struct message_desc *desc, const void *message);
/* One field's value; at is its place in the message; the field must not be zero. */
void field_print(struct printer *p, const struct field_desc *field, const void *at);
void payloads_print(struct printer *p, const struct payloads *payloads);
void unknown_print(struct printer *p, const char *unknown);
void wire_duration_format(struct str *out, int64_t ns);
/* How deep arrays and objects of valid JSON text nest. */
int text_depth(const char *text, size_t len);
/* digits when the time needs fewer, else 0: what event.time_digits holds. */
uint8_t wire_time_digits(int64_t ns, uint8_t digits);
/* At least min_digits (0, 3, 6, 9) fraction digits. */
void wire_time_format(struct str *out, int64_t ns, uint8_t min_digits);

#endif
