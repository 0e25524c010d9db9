/*
 * codec_print.c - messages as JSON, in either form.
 *
 * Owns: the spelling of every field kind on output. Must not: decide what surrounds a message.
 * Invariant: what is printed here, codec_read.c reads back to an equal message.
 * Tests: tests/unit/test_history_json.c, tests/unit/test_history_store.c
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "history/codec.h"

/* A payload is put inline only where the whole stays readable by base/json.h. */
#define INLINE_DEPTH_MAX 96

static const char inline_escape[] = "{\"$payload\":";

struct printer printer_new(struct str *out, enum codec_form form)
{
    return (struct printer){json_writer(out, 0), form, 0};
}

void unknown_print(struct printer *p, const char *unknown)
{
    if (unknown) {
        json_put_raw(&p->w, unknown, strlen(unknown));
    }
}

void wire_duration_format(struct str *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t fraction = size % (uint64_t)NS_PER_S;

    str_addf(out, "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(size / (uint64_t)NS_PER_S));
    if (fraction == 0) {
    } else if (fraction % (uint64_t)NS_PER_MS == 0) {
        str_addf(out, ".%03llu", (unsigned long long)(fraction / (uint64_t)NS_PER_MS));
    } else if (fraction % (uint64_t)NS_PER_US == 0) {
        str_addf(out, ".%06llu", (unsigned long long)(fraction / (uint64_t)NS_PER_US));
    } else {
        str_addf(out, ".%09llu", (unsigned long long)fraction);
    }
    str_addc(out, 's');
}

uint8_t wire_time_digits(int64_t ns, uint8_t digits)
{
    uint8_t need = ns % NS_PER_US != 0 ? 9 : ns % NS_PER_MS != 0 ? 6 : ns % NS_PER_S != 0 ? 3 : 0;

    return digits > need ? digits : 0;
}

void wire_time_format(struct str *out, int64_t ns, uint8_t min_digits)
{
    size_t start = out->len;

    time_format_rfc3339(out, ns);
    if (min_digits == 0 || out->len == start || out->ptr[out->len - 1] != 'Z') {
        return;
    }
    str_cut(out, out->len - 1);
    const char *dot = memchr(out->ptr + start, '.', out->len - start);
    size_t digits = dot ? (size_t)(out->ptr + out->len - dot) - 1 : 0;
    if (!dot) {
        str_addc(out, '.');
    }
    for (; digits < min_digits; digits++) {
        str_addc(out, '0');
    }
    str_addc(out, 'Z');
}

/* --- payloads --- */

static void put_base64(struct printer *p, const void *data, size_t len)
{
    autostr struct str text = {0};

    base64_encode(&text, data, len);
    json_put_strn(&p->w, str_c(&text), text.len);
}

static void payload_print_wire(struct printer *p, const struct payload *payload)
{
    json_begin_object(&p->w);
    if (payload->encoding || payload->meta) {
        json_key(&p->w, "metadata");
        json_begin_object(&p->w);
        if (payload->encoding) {
            json_key(&p->w, "encoding");
            put_base64(p, payload->encoding, strlen(payload->encoding));
        }
        for (const struct payload_meta *m = payload->meta; m; m = m->next) {
            json_key(&p->w, m->key);
            put_base64(p, m->value, m->len);
        }
        json_end_object(&p->w);
    }
    if (payload->len > 0) {
        json_key(&p->w, "data");
        put_base64(p, payload->data, payload->len);
    }
    unknown_print(p, payload->unknown);
    json_end_object(&p->w);
}

int text_depth(const char *text, size_t len)
{
    int depth = 0;
    int deepest = 0;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return deepest;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* May the payload stand for itself, so that exactly its bytes come back? */
static bool payload_is_inline(const struct printer *p, const struct payload *payload)
{
    if (!payload->encoding || strcmp(payload->encoding, "json/plain") != 0 || payload->meta ||
        payload->unknown || payload->len == 0) {
        return false;
    }
    if (is_space(payload->data[0]) || is_space(payload->data[payload->len - 1])) {
        return false;
    }
    if (payload->len >= sizeof(inline_escape) - 1 &&
        memcmp(payload->data, inline_escape, sizeof(inline_escape) - 1) == 0) {
        return false;
    }
    return json_check(payload->data, payload->len, NULL) == 0 &&
           text_depth(payload->data, payload->len) + p->w.depth <= INLINE_DEPTH_MAX;
}

static void meta_print_store(struct printer *p, const struct payload *payload, bool text)
{
    bool open = false;

    for (const struct payload_meta *m = payload->meta; m; m = m->next) {
        if (utf8_valid(m->value, m->len) != text) {
            continue;
        }
        if (!open) {
            json_key(&p->w, text ? "metadata" : "metadata64");
            json_begin_object(&p->w);
            open = true;
        }
        json_key(&p->w, m->key);
        if (text) {
            json_put_strn(&p->w, m->value, m->len);
        } else {
            put_base64(p, m->value, m->len);
        }
    }
    if (open) {
        json_end_object(&p->w);
    }
}

static void payload_print_store(struct printer *p, const struct payload *payload)
{
    if (payload_is_inline(p, payload)) {
        json_put_raw(&p->w, payload->data, payload->len);
        return;
    }
    json_begin_object(&p->w);
    json_key(&p->w, "$payload");
    json_begin_object(&p->w);
    if (payload->encoding) {
        json_kv_str(&p->w, "encoding", payload->encoding);
    }
    meta_print_store(p, payload, true);
    meta_print_store(p, payload, false);
    if (payload->len > 0 && utf8_valid(payload->data, payload->len)) {
        json_key(&p->w, "text");
        json_put_strn(&p->w, payload->data, payload->len);
    } else if (payload->len > 0) {
        json_key(&p->w, "data");
        put_base64(p, payload->data, payload->len);
    }
    if (payload->unknown) {
        json_key(&p->w, "unknown");
        json_begin_object(&p->w);
        unknown_print(p, payload->unknown);
        json_end_object(&p->w);
    }
    json_end_object(&p->w);
    json_end_object(&p->w);
}

static void payload_print(struct printer *p, const struct payload *payload)
{
    if (p->form == CODEC_WIRE) {
        payload_print_wire(p, payload);
    } else {
        payload_print_store(p, payload);
    }
}

void payloads_print(struct printer *p, const struct payloads *payloads)
{
    /* Unknown members force the full form; its object tells it from the array. */
    bool wire = p->form == CODEC_WIRE || payloads->unknown;

    if (wire) {
        json_begin_object(&p->w);
        json_key(&p->w, "payloads");
    }
    json_begin_array(&p->w);
    for (size_t i = 0; i < payloads->count; i++) {
        payload_print(p, &payloads->items[i]);
    }
    json_end_array(&p->w);
    if (wire) {
        unknown_print(p, payloads->unknown);
        json_end_object(&p->w);
    }
}

static void payload_map_print(struct printer *p, const struct payload_map *map, const char *wrapper)
{
    bool wire = p->form == CODEC_WIRE || map->unknown || payload_map_get(map, "$map");

    json_begin_object(&p->w);
    if (wire && p->form == CODEC_STORE) {
        json_key(&p->w, "$map");
        json_begin_object(&p->w);
    }
    if (wire && map->count > 0) {
        json_key(&p->w, wrapper);
        json_begin_object(&p->w);
    }
    for (size_t i = 0; i < map->count; i++) {
        json_key(&p->w, map->items[i].key);
        payload_print(p, &map->items[i].payload);
    }
    if (wire && map->count > 0) {
        json_end_object(&p->w);
    }
    unknown_print(p, map->unknown);
    if (wire && p->form == CODEC_STORE) {
        json_end_object(&p->w);
    }
    json_end_object(&p->w);
}

static void payloads_map_print(struct printer *p, const struct payloads_map *map)
{
    json_begin_object(&p->w);
    for (size_t i = 0; i < map->count; i++) {
        json_key(&p->w, map->items[i].key);
        payloads_print(p, &map->items[i].payloads);
    }
    json_end_object(&p->w);
}

/* --- fields --- */

static void put_text(struct printer *p, const struct str *text)
{
    json_put_strn(&p->w, str_c(text), text->len);
}

static void enum_print(struct printer *p, const struct enum_desc *values, int32_t number)
{
    const char *name = enum_name(values, number);

    if (!name) {
        json_put_i64(&p->w, number);
    } else if (p->form == CODEC_STORE) {
        json_put_str(&p->w, name);
    } else {
        autostr struct str text = {0};
        str_add(&text, values->prefix);
        str_addc(&text, '_');
        str_add(&text, name);
        put_text(p, &text);
    }
}

static void name_print(struct printer *p, const char *name)
{
    if (p->form == CODEC_STORE) {
        json_put_str(&p->w, name);
        return;
    }
    json_begin_object(&p->w);
    json_kv_str_opt(&p->w, "name", *name ? name : NULL);
    json_end_object(&p->w);
}

static void list_print(struct printer *p, const struct field_desc *field, const void *at)
{
    json_begin_array(&p->w);
    if (field->kind == FIELD_STRS) {
        const struct string_list *list = at;
        for (size_t i = 0; i < list->count; i++) {
            json_put_str(&p->w, list->items[i]);
        }
    } else if (field->kind == FIELD_U32S) {
        const struct u32_list *list = at;
        for (size_t i = 0; i < list->count; i++) {
            json_put_i64(&p->w, list->items[i]);
        }
    } else {
        const struct enum_list *list = at;
        for (size_t i = 0; i < list->count; i++) {
            enum_print(p, field->values, list->items[i]);
        }
    }
    json_end_array(&p->w);
}

static void time_print(struct printer *p, const struct field_desc *field, int64_t ns)
{
    autostr struct str text = {0};

    if (field->kind == FIELD_DUR) {
        wire_duration_format(&text, ns);
    } else {
        wire_time_format(&text, ns, 0);
    }
    put_text(p, &text);
}

static bool is_plain_queue(const struct field_desc *field, const void *message)
{
    if (field->message != &message_desc_task_queue) {
        return false;
    }
    const struct task_queue *queue = message;
    return queue->name && queue->kind == TASK_QUEUE_KIND_NORMAL && !queue->normal_name &&
           !queue->head.unknown;
}

static void child_print(struct printer *p, const struct field_desc *field, const void *message)
{
    if (p->form == CODEC_STORE && is_plain_queue(field, message)) {
        json_put_str(&p->w, ((const struct task_queue *)message)->name);
    } else {
        message_print(p, field->message, message);
    }
}

void field_print(struct printer *p, const struct field_desc *field, const void *at)
{
    switch (field->kind) {
    case FIELD_STR:
        json_put_str(&p->w, *(const char *const *)at);
        break;
    case FIELD_NAME:
        name_print(p, *(const char *const *)at);
        break;
    case FIELD_RAW: {
        const char *raw = *(const char *const *)at;
        json_put_raw(&p->w, raw, strlen(raw));
        break;
    }
    case FIELD_I64:
        if (p->form == CODEC_WIRE) {
            json_put_i64_text(&p->w, *(const int64_t *)at);
        } else {
            json_put_i64(&p->w, *(const int64_t *)at);
        }
        break;
    case FIELD_I32:
        json_put_i64(&p->w, *(const int32_t *)at);
        break;
    case FIELD_BOOL:
        json_put_bool(&p->w, *(const bool *)at);
        break;
    case FIELD_DOUBLE:
        json_put_double(&p->w, *(const double *)at);
        break;
    case FIELD_DUR:
    case FIELD_TIME:
        time_print(p, field, *(const int64_t *)at);
        break;
    case FIELD_ENUM:
        enum_print(p, field->values, *(const int32_t *)at);
        break;
    case FIELD_ENUMS:
    case FIELD_U32S:
    case FIELD_STRS:
        list_print(p, field, at);
        break;
    case FIELD_MSG:
        child_print(p, field, *(const void *const *)at);
        break;
    case FIELD_PAYLOAD:
        payload_print(p, *(struct payload *const *)at);
        break;
    case FIELD_PAYLOADS:
        payloads_print(p, *(struct payloads *const *)at);
        break;
    case FIELD_PAYLOAD_MAP:
        payload_map_print(p, *(struct payload_map *const *)at, field->detail);
        break;
    case FIELD_PAYLOADS_MAP:
        payloads_map_print(p, *(struct payloads_map *const *)at);
        break;
    }
}

static bool simple_equal(const struct message_desc *desc, const void *a, const void *b);

/* Same as the default? Only the kinds that have defaults (store.c) can be. */
static bool is_default(const struct field_desc *field, const void *message, const void *defaults)
{
    const void *a = field_in(message, field);
    const void *b = field_in(defaults, field);

    switch (field->kind) {
    case FIELD_STR:
    case FIELD_NAME:
        return str_eq(*(const char *const *)a, *(const char *const *)b);
    case FIELD_I64:
    case FIELD_DUR:
    case FIELD_TIME:
        return *(const int64_t *)a == *(const int64_t *)b;
    case FIELD_I32:
    case FIELD_ENUM:
        return *(const int32_t *)a == *(const int32_t *)b;
    case FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case FIELD_DOUBLE:
        return memcmp(a, b, sizeof(double)) == 0;
    case FIELD_MSG:
        return simple_equal(field->message, *(const void *const *)a, *(const void *const *)b);
    case FIELD_RAW:
    case FIELD_ENUMS:
    case FIELD_U32S:
    case FIELD_STRS:
    case FIELD_PAYLOAD:
    case FIELD_PAYLOADS:
    case FIELD_PAYLOAD_MAP:
    case FIELD_PAYLOADS_MAP:
        break;
    }
    return field_is_zero(message, field) && field_is_zero(defaults, field);
}

static bool simple_equal(const struct message_desc *desc, const void *a, const void *b)
{
    const struct message_head *head_a = a;
    const struct message_head *head_b = b;

    if (!a || !b) {
        return a == b;
    }
    if (head_a->set_zero != head_b->set_zero || head_a->unknown || head_b->unknown) {
        return false;
    }
    for (size_t i = 0; i < desc->count; i++) {
        if (!is_default(&desc->fields[i], a, b)) {
            return false;
        }
    }
    return true;
}

/* The wire does not tell an empty string from none. */
static bool is_absent(const struct printer *p, const struct field_desc *field, const void *message,
                      size_t index)
{
    const struct message_head *head = message;

    if (p->form == CODEC_WIRE && field->kind == FIELD_STR) {
        const char *text = *(const char *const *)field_in(message, field);
        return !text || !*text;
    }
    return field_is_zero(message, field) && !(head->set_zero >> index & 1);
}

/* A name whose wrapper had further members is among the unknown ones, whole. */
static bool unknown_holds(const char *unknown, const struct field_desc *field)
{
    autostr struct str text = {0};
    autoarena struct arena *arena = arena_new();
    const struct json *root = NULL;

    str_addf(&text, "{%s}", unknown);
    return json_parse(arena, str_c(&text), text.len, &root, NULL) == 0 &&
           json_get(root, field->json);
}

void message_print_members(struct printer *p, const struct message_desc *desc, const void *message,
                           const void *defaults)
{
    const struct message_head *head = message;

    p->depth++;
    for (size_t i = 0; i < desc->count; i++) {
        const struct field_desc *field = &desc->fields[i];
        bool zero = is_absent(p, field, message, i) ||
                    (field->kind == FIELD_MSG && p->depth >= MESSAGE_DEPTH_MAX);
        if (defaults && !field_is_zero(defaults, field)) {
            if (zero) {
                json_key(&p->w, field->json);
                json_put_null(&p->w);
                continue;
            }
            zero = is_default(field, message, defaults);
        }
        if (zero || (field->kind == FIELD_NAME && head->unknown && p->form == CODEC_WIRE &&
                     unknown_holds(head->unknown, field))) {
            continue;
        }
        json_key(&p->w, field->json);
        field_print(p, field, field_in(message, field));
    }
    p->depth--;
    if (head->unknown && p->form == CODEC_STORE) {
        json_key(&p->w, "$unknown");
        json_begin_object(&p->w);
        unknown_print(p, head->unknown);
        json_end_object(&p->w);
    } else {
        unknown_print(p, head->unknown);
    }
}

void message_print(struct printer *p, const struct message_desc *desc, const void *message)
{
    json_begin_object(&p->w);
    message_print_members(p, desc, message, NULL);
    json_end_object(&p->w);
}
