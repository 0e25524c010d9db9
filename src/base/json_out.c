/*
 * json_out.c - the writer of json.h.
 *
 * Owns: commas, indentation, escaping, the text of numbers. Output is valid JSON whatever the
 * strings hold; unbalanced begin/end or a value without its key is the caller's bug and asserted.
 * Tests: tests/unit/test_base_json_out.c, tests/fuzz/fuzz_json.c
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/json_locale.h"
#include "base/mem.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) {
        mem_exhausted(0);
    }
}

locale_t json_locale(void)
{
    pthread_once(&once, make_locale);
    return c_locale;
}

/* Bytes that can stand in a literal as they are: printable ASCII but for quote and backslash. */
static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

static void add_escape(struct str *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[32] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
    };
    str_addc(out, '\\');
    if (byte >= 0x20) {
        str_addc(out, (char)byte);
    } else if (letters[byte]) {
        str_addc(out, letters[byte]);
    } else {
        str_add(out, "u00");
        str_addc(out, digits[byte >> 4]);
        str_addc(out, digits[byte & 15]);
    }
}

void json_quote(struct str *out, const char *text, size_t len)
{
    str_reserve(out, len + 2);
    str_addc(out, '"');
    size_t at = 0;
    while (at < len) {
        size_t run = at;
        while (run < len && is_plain((unsigned char)text[run])) {
            run++;
        }
        str_addn(out, text + at, run - at);
        at = run;
        if (at == len) {
            break;
        }
        unsigned char byte = (unsigned char)text[at];
        if (byte < 0x80) {
            add_escape(out, byte);
            at++;
            continue;
        }
        size_t step = utf8_char(text + at, len - at);
        if (step == 0) {
            str_add(out, "\xef\xbf\xbd");
            at++;
        } else {
            str_addn(out, text + at, step);
            at += step;
        }
    }
    str_addc(out, '"');
}

struct json_out json_writer(struct str *out, int indent)
{
    return (struct json_out){.out = out, .indent = indent};
}

static void new_line(struct json_out *w)
{
    if (w->indent > 0) {
        str_addc(w->out, '\n');
        for (int i = 0; i < w->indent * w->depth; i++) {
            str_addc(w->out, ' ');
        }
    }
}

/* What stands between the last value and this key or value. */
static void separate(struct json_out *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    assert(w->depth > 0 || !w->need_comma); /* one document per writer */
    if (w->need_comma) {
        str_addc(w->out, ',');
    }
    if (w->depth > 0) {
        new_line(w);
    }
}

static void begin(struct json_out *w, char bracket)
{
    separate(w);
    str_addc(w->out, bracket);
    w->depth++;
    w->need_comma = false;
}

static void end(struct json_out *w, char bracket)
{
    assert(w->depth > 0 && !w->after_key);
    w->depth--;
    if (w->need_comma) {
        new_line(w);
    }
    str_addc(w->out, bracket);
    w->need_comma = true;
}

void json_begin_object(struct json_out *w)
{
    begin(w, '{');
}

void json_end_object(struct json_out *w)
{
    end(w, '}');
}

void json_begin_array(struct json_out *w)
{
    begin(w, '[');
}

void json_end_array(struct json_out *w)
{
    end(w, ']');
}

void json_keyn(struct json_out *w, const char *key, size_t len)
{
    assert(w->depth > 0 && !w->after_key);
    separate(w);
    json_quote(w->out, key, len);
    str_add(w->out, w->indent > 0 ? ": " : ":");
    w->after_key = true;
}

void json_key(struct json_out *w, const char *key)
{
    json_keyn(w, key, strlen(key));
}

void json_put_raw(struct json_out *w, const char *json, size_t len)
{
    separate(w);
    str_addn(w->out, json, len);
    w->need_comma = true;
}

void json_put_strn(struct json_out *w, const char *value, size_t len)
{
    separate(w);
    json_quote(w->out, value, len);
    w->need_comma = true;
}

void json_put_str(struct json_out *w, const char *value)
{
    if (value) {
        json_put_strn(w, value, strlen(value));
    } else {
        json_put_null(w);
    }
}

void json_put_i64(struct json_out *w, int64_t value)
{
    separate(w);
    str_add_i64(w->out, value);
    w->need_comma = true;
}

void json_put_i64_text(struct json_out *w, int64_t value)
{
    separate(w);
    str_addc(w->out, '"');
    str_add_i64(w->out, value);
    str_addc(w->out, '"');
    w->need_comma = true;
}

void json_put_double(struct json_out *w, double value)
{
    if (!isfinite(value)) {
        json_put_null(w); /* JSON has no word for it */
        return;
    }
    char text[32]; /* "-1.2345678901234567e-308" */
    locale_t saved = uselocale(json_locale());
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod_l(text, NULL, json_locale()) == value) {
            break;
        }
    }
    uselocale(saved);
    json_put_raw(w, text, strlen(text));
}

void json_put_bool(struct json_out *w, bool value)
{
    json_put_raw(w, value ? "true" : "false", value ? 4 : 5);
}

void json_put_null(struct json_out *w)
{
    json_put_raw(w, "null", 4);
}

static void put_scalar(struct json_out *w, const struct json *value, void (*edit)(struct str *text))
{
    if (value->type == JSON_STRING && edit) {
        autostr struct str text = {0};
        str_addn(&text, value->text, value->text_len);
        edit(&text);
        json_put_strn(w, str_c(&text), text.len);
    } else if (value->type == JSON_STRING) {
        json_put_strn(w, value->text, value->text_len);
    } else {
        json_put_raw(w, value->raw, value->raw_len);
    }
}

/* Walks without recursion: open[d] is the container whose children are being written at depth d. */
void json_put_edited(struct json_out *w, const struct json *value, void (*edit)(struct str *text))
{
    const struct json *open[JSON_DEPTH_MAX];
    unsigned depth = 0;
    const struct json *at = value;
    for (;;) {
        if (at->type == JSON_OBJECT || at->type == JSON_ARRAY) {
            assert(depth < JSON_DEPTH_MAX);
            begin(w, at->type == JSON_OBJECT ? '{' : '[');
            open[depth++] = at;
            at = at->first;
        } else {
            put_scalar(w, at, edit);
            at = depth > 0 ? at->next : NULL;
        }
        while (!at && depth > 0) { /* the innermost container has no more children */
            const struct json *done = open[--depth];
            end(w, done->type == JSON_OBJECT ? '}' : ']');
            at = depth > 0 ? done->next : NULL;
        }
        if (!at) {
            return;
        }
        if (open[depth - 1]->type == JSON_OBJECT) {
            json_keyn(w, at->key, at->key_len);
        }
    }
}

void json_put(struct json_out *w, const struct json *value)
{
    json_put_edited(w, value, NULL);
}

void json_print(struct str *out, const struct json *value, int indent)
{
    struct json_out w = json_writer(out, indent);
    json_put(&w, value);
}

void json_kv_str(struct json_out *w, const char *key, const char *value)
{
    json_key(w, key);
    json_put_str(w, value);
}

void json_kv_strn(struct json_out *w, const char *key, const char *value, size_t len)
{
    json_key(w, key);
    json_put_strn(w, value, len);
}

void json_kv_i64(struct json_out *w, const char *key, int64_t value)
{
    json_key(w, key);
    json_put_i64(w, value);
}

void json_kv_i64_text(struct json_out *w, const char *key, int64_t value)
{
    json_key(w, key);
    json_put_i64_text(w, value);
}

void json_kv_double(struct json_out *w, const char *key, double value)
{
    json_key(w, key);
    json_put_double(w, value);
}

void json_kv_bool(struct json_out *w, const char *key, bool value)
{
    json_key(w, key);
    json_put_bool(w, value);
}

void json_kv_raw(struct json_out *w, const char *key, const char *json, size_t len)
{
    json_key(w, key);
    json_put_raw(w, json, len);
}

void json_kv(struct json_out *w, const char *key, const struct json *value)
{
    json_key(w, key);
    json_put(w, value);
}

void json_kv_str_opt(struct json_out *w, const char *key, const char *value)
{
    if (value) {
        json_kv_str(w, key, value);
    }
}

void json_kv_i64_opt(struct json_out *w, const char *key, int64_t value)
{
    if (value != 0) {
        json_kv_i64(w, key, value);
    }
}

void json_kv_bool_opt(struct json_out *w, const char *key, bool value)
{
    if (value) {
        json_kv_bool(w, key, value);
    }
}
