/*
 * json.h - strict JSON (RFC 8259): reader into an arena, writer onto a str, pointer access.
 *
 * Owns: every byte of JSON in the program. Why our own and not cJSON: docs/decisions/0001 (numbers
 * of more than 15 digits, NUL escapes, invalid UTF-8 and nesting are handled wrongly there;
 * payloads must survive byte for byte). Invariants: numbers keep their source text; duplicate keys,
 * lone surrogates, control characters, invalid UTF-8, trailing bytes and nesting beyond
 * JSON_DEPTH_MAX are errors with line and column. Numbers and raw slices of a parsed tree point
 * into the text given, which must outlive it; keys and strings are NUL-terminated copies in the
 * arena. A value costs 80 bytes there plus its string. No recursion, small stack frames: fit for
 * fibers. A tree is read only and may be shared by threads; a writer belongs to one.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 128

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    bool boolean;
    const char *text; /* STRING: decoded bytes, NUL-terminated; NUMBER: source digits (no NUL) */
    size_t text_len;
    const char *raw; /* this value's exact source slice */
    size_t raw_len;
    const char *key; /* when this value is an object's member (NUL-terminated), else NULL */
    size_t key_len;
    size_t count;             /* members or items */
    const struct json *first; /* first child */
    const struct json *next;  /* next sibling */
};

/* --- reading --- */
/* Parse exactly one document. On failure err says "line L column C: ...", name "BadJson". */
int json_parse(struct arena *arena, const char *text, size_t len, const struct json **ret_root,
               struct err *err);
/* Same checks, no tree: for payload validation at the boundary. */
int json_check(const char *text, size_t len, struct err *err);

const struct json *json_get(const struct json *object, const char *key); /* NULL when absent */
const struct json *json_getn(const struct json *object, const char *key, size_t key_len);
const struct json *json_at(const struct json *array, size_t index);
/* RFC 6901 pointer: "" is the value itself, "/a/b/0", ~0 and ~1 escapes. NULL when absent. */
const struct json *json_pointer(const struct json *root, const char *pointer);

/* Typed access: false (and *ret untouched) when absent, of another type or out of range. */
/* i64: a number without point and exponent, or the same digits in a string (Temporal's form). */
bool json_get_i64(const struct json *object, const char *key, int64_t *ret);
bool json_get_bool(const struct json *object, const char *key, bool *ret);
bool json_get_double(const struct json *object, const char *key, double *ret);
/* NUL-terminated string, or NULL when absent, not a string, or holding a NUL byte. */
const char *json_get_str(const struct json *object, const char *key);
const char *json_str(const struct json *value);
bool json_i64(const struct json *value, int64_t *ret);
bool json_double(const struct json *value, double *ret);

#define json_each(child, parent)                                                                   \
    for (const struct json *child = (parent) ? (parent)->first : NULL; child; child = child->next)

/* Append value as compact (indent 0) or indented JSON (numbers and strings keep their meaning). */
void json_print(struct str *out, const struct json *value, int indent);

/* --- writing --- */
/* Streaming writer; commas and indentation are its business. Start with json_writer(). Unbalanced
 * begin/end, a member without its key or a second document are bugs of the caller: assert(). */
struct json_out {
    struct str *out;
    int indent; /* spaces per level; 0 = compact */
    int depth;
    bool need_comma;
    bool after_key;
};
struct json_out json_writer(struct str *out, int indent);
void json_begin_object(struct json_out *w);
void json_end_object(struct json_out *w);
void json_begin_array(struct json_out *w);
void json_end_array(struct json_out *w);
void json_key(struct json_out *w, const char *key);
void json_keyn(struct json_out *w, const char *key, size_t len);
void json_put_str(struct json_out *w, const char *value); /* NULL prints null */
/* Invalid UTF-8 bytes become U+FFFD: output is always valid JSON. */
void json_put_strn(struct json_out *w, const char *value, size_t len);
void json_put_i64(struct json_out *w, int64_t value);
void json_put_i64_text(struct json_out *w, int64_t value); /* "123": Temporal's form of int64 */
void json_put_double(struct json_out *w, double value);    /* shortest that reads back; NaN: null */
void json_put_bool(struct json_out *w, bool value);
void json_put_null(struct json_out *w);
void json_put(struct json_out *w, const struct json *value); /* a parsed value */
/* The same with every string value (not the keys) shown to edit() first. */
void json_put_edited(struct json_out *w, const struct json *value, void (*edit)(struct str *text));
void json_put_raw(struct json_out *w, const char *json, size_t len); /* already valid JSON */
/* key + value in one call; the _opt forms write nothing for NULL / 0 / false. */
void json_kv(struct json_out *w, const char *key, const struct json *value);
void json_kv_str(struct json_out *w, const char *key, const char *value);
void json_kv_strn(struct json_out *w, const char *key, const char *value, size_t len);
void json_kv_i64(struct json_out *w, const char *key, int64_t value);
void json_kv_i64_text(struct json_out *w, const char *key, int64_t value);
void json_kv_double(struct json_out *w, const char *key, double value);
void json_kv_bool(struct json_out *w, const char *key, bool value);
void json_kv_raw(struct json_out *w, const char *key, const char *json, size_t len);
void json_kv_str_opt(struct json_out *w, const char *key, const char *value);
void json_kv_i64_opt(struct json_out *w, const char *key, int64_t value);
void json_kv_bool_opt(struct json_out *w, const char *key, bool value);

/* Append a JSON string literal with quotes. */
void json_quote(struct str *out, const char *text, size_t len);

#endif
