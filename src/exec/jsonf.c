/*
 * jsonf.c - JSON text from a format, and values from JSON text; see jsonf.h.
 *
 * Owns: the formatter's directives. va_list travels through one function only.
 * Tests: tests/unit/test_exec_context.c
 */
#include "exec/jsonf.h"

#include <inttypes.h>
#include <string.h>

void jsonf_add(struct str *out, const char *fmt, va_list ap)
{
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') {
            str_addc(out, *p);
            continue;
        }
        p++;
        if (*p == 'q' || *p == 'j') {
            const char *text = va_arg(ap, const char *);
            if (!text) {
                str_add(out, "null");
            } else if (*p == 'j') {
                str_add(out, text);
            } else {
                json_quote(out, text, strlen(text));
            }
        } else if (*p == 'd') {
            str_add_i64(out, va_arg(ap, int));
        } else if (*p == 'b') {
            str_add(out, va_arg(ap, int) ? "true" : "false");
        } else if (strncmp(p, "i64", 3) == 0) {
            str_add_i64(out, va_arg(ap, int64_t));
            p += 2;
        } else if (*p == '%') {
            str_addc(out, '%');
        } else {
            str_addc(out, '%');
            p--; /* printed as it stands; also ends a lone % at the end */
        }
    }
}

const struct json *jsonf_look(struct arena *arena, const char *json, const char *pointer)
{
    const struct json *root;

    if (!json || !pointer || json_parse(arena, json, strlen(json), &root, NULL) != 0) {
        return NULL;
    }
    return json_pointer(root, pointer);
}

const char *jsonf_string(struct arena *arena, const char *json, const char *pointer)
{
    autoarena struct arena *scratch = arena_new();
    const struct json *value = jsonf_look(scratch, json, pointer);
    const char *text = value ? json_str(value) : NULL;

    return text ? arena_strdup(arena, text) : NULL;
}
