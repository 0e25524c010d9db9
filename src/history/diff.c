/*
 * diff.c - see diff.h. Walks two messages field by field and names the first path that differs.
 *
 * Owns: what each DIFF_ flag leaves out. Absent strings and empty ones are equal, as on the wire.
 * Must not: change anything.
 * Tests: tests/unit/test_history_diff.c
 */
#include "history/diff.h"

#include <string.h>

#include "history/codec.h"

#define SHOWN_BYTES 120 /* of each value in a difference */
#define PATH_DEPTH 64

struct walk {
    unsigned ignore;
    struct str *out;
    const struct event *event; /* for the message; may be NULL */
    const char *path[PATH_DEPTH];
    size_t depth;
};

static void add_value(struct str *out, const struct field_desc *field, const void *message)
{
    autostr struct str text = {0};
    struct printer p = printer_new(&text, CODEC_STORE);

    if (field_is_zero(message, field)) {
        str_add(out, "absent");
        return;
    }
    field_print(&p, field, field_in(message, field));
    size_t shown = utf8_prefix(str_c(&text), text.len, SHOWN_BYTES);
    str_addn(out, str_c(&text), shown);
    if (shown < text.len) {
        str_addf(out, "... (%zu bytes)", text.len);
    }
}

static void add_place(const struct walk *w)
{
    if (w->event) {
        str_addf(w->out, "event %lld %s: ", (long long)w->event->id,
                 event_type_title(w->event->type));
    }
    for (size_t i = 0; i < w->depth && i < PATH_DEPTH; i++) {
        str_addf(w->out, "%s.", w->path[i]);
    }
}

/* Says that the field differs; always false. */
static bool field_differs(const struct walk *w, const struct field_desc *field,
                          const void *expected, const void *actual)
{
    if (w->out) {
        add_place(w);
        str_addf(w->out, "%s is ", field->json);
        add_value(w->out, field, actual);
        str_add(w->out, ", expected ");
        add_value(w->out, field, expected);
    }
    return false;
}

static bool says(const struct walk *w, const char *fmt, ...) printf_like(2, 3);

static bool says(const struct walk *w, const char *fmt, ...)
{
    va_list ap;

    if (w->out) {
        add_place(w);
        va_start(ap, fmt);
        str_addv(w->out, fmt, ap);
        va_end(ap);
    }
    return false;
}

/* --- what is left out --- */

static bool is_ignored(unsigned ignore, const struct field_desc *field)
{
    static const struct {
        const char *name;
        unsigned flag;
    } names[] = {
        {"history_size_bytes", DIFF_TIMES},
        {"identity", DIFF_IDENTITIES},
        {"request_id", DIFF_IDENTITIES},
        {"binary_checksum", DIFF_IDENTITIES},
        {"sdk_name", DIFF_IDENTITIES},
        {"sdk_version", DIFF_IDENTITIES},
        {"worker_version", DIFF_IDENTITIES},
        {"retry_policy", DIFF_TIMEOUTS},
        {"workflow_task_completed_event_id", DIFF_BACKREFS},
        {"source", DIFF_STACKS},
        {"stack_trace", DIFF_STACKS},
    };

    if ((ignore & DIFF_TIMES && field->kind == FIELD_TIME) ||
        (ignore & DIFF_TIMEOUTS && field->kind == FIELD_DUR) ||
        (ignore & DIFF_UNKNOWN && field->kind == FIELD_RAW) ||
        (ignore & DIFF_RUN_IDS && str_ends(field->snake, "run_id")) ||
        (ignore & DIFF_IDS && field->kind == FIELD_I64 && str_ends(field->snake, "event_id"))) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (ignore & names[i].flag && str_eq(field->snake, names[i].name)) {
            return true;
        }
    }
    return false;
}

/* --- payloads --- */

static bool text_equal(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool json_equal(const struct json *a, const struct json *b)
{
    if (a->type != b->type || a->count != b->count) {
        return false;
    }
    switch (a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_NUMBER:
    case JSON_STRING:
        return a->text_len == b->text_len && memcmp(a->text, b->text, a->text_len) == 0;
    case JSON_ARRAY:
        for (a = a->first, b = b->first; a; a = a->next, b = b->next) {
            if (!json_equal(a, b)) {
                return false;
            }
        }
        return true;
    case JSON_OBJECT:
        break;
    }
    json_each (member, a) {
        const struct json *other = json_getn(b, member->key, member->key_len);
        if (!other || !json_equal(member, other)) {
            return false;
        }
    }
    return true;
}

/* JSON text, or members of an object without the braces: members have no order. */
static bool kept_equal(const char *a, const char *b, bool members)
{
    autoarena struct arena *arena = arena_new();
    const struct json *x = NULL;
    const struct json *y = NULL;

    if (text_equal(a, b)) {
        return true;
    }
    if (!a || !b) {
        return false;
    }
    const char *first = members ? arena_printf(arena, "{%s}", a) : a;
    const char *second = members ? arena_printf(arena, "{%s}", b) : b;
    return json_parse(arena, first, strlen(first), &x, NULL) == 0 &&
           json_parse(arena, second, strlen(second), &y, NULL) == 0 && json_equal(x, y);
}

static bool unknown_equal(const struct walk *w, const char *a, const char *b)
{
    return w->ignore & DIFF_UNKNOWN || kept_equal(a, b, true);
}

static bool bytes_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

/* Metadata has no order. */
static bool meta_equal(const struct payload_meta *a, const struct payload_meta *b)
{
    size_t count = 0;

    for (const struct payload_meta *n = b; n; n = n->next) {
        count++;
    }
    for (; a; a = a->next) {
        const struct payload_meta *n = b;
        while (n && !(str_eq(n->key, a->key) && bytes_equal(n->value, n->len, a->value, a->len))) {
            n = n->next;
        }
        if (!n || count-- == 0) {
            return false;
        }
    }
    return count == 0;
}

static bool payload_equal(const struct walk *w, const struct payload *a, const struct payload *b)
{
    return w->ignore & DIFF_PAYLOADS ||
           (meta_equal(a->meta, b->meta) && str_eq(a->encoding, b->encoding) &&
            bytes_equal(a->data, a->len, b->data, b->len) &&
            unknown_equal(w, a->unknown, b->unknown));
}

static bool list_equal(const struct walk *w, const struct payloads *a, const struct payloads *b)
{
    if (a->count != b->count || !unknown_equal(w, a->unknown, b->unknown)) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!payload_equal(w, &a->items[i], &b->items[i])) {
            return false;
        }
    }
    return true;
}

/* Maps have no order. */
static bool map_equal(const struct walk *w, const struct payload_map *a,
                      const struct payload_map *b)
{
    if (a->count != b->count || !unknown_equal(w, a->unknown, b->unknown)) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct payload *other = payload_map_get(b, a->items[i].key);
        if (!other || !payload_equal(w, &a->items[i].payload, other)) {
            return false;
        }
    }
    return true;
}

static bool lists_equal(const struct walk *w, const struct payloads_map *a,
                        const struct payloads_map *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct payloads *other = payloads_map_get(b, a->items[i].key);
        if (!other || !list_equal(w, &a->items[i].payloads, other)) {
            return false;
        }
    }
    return true;
}

/* --- messages --- */

static bool message_equal(struct walk *w, const struct message_desc *desc, const void *expected,
                          const void *actual);

static bool strings_equal(const struct string_list *a, const struct string_list *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++) {
        if (!text_equal(a->items[i], b->items[i])) {
            return false;
        }
    }
    return a->count == b->count;
}

/* Both present, of a kind that is no message. */
static bool value_equal(const struct walk *w, const struct field_desc *field, const void *a,
                        const void *b)
{
    switch (field->kind) {
    case FIELD_STR:
    case FIELD_NAME:
        return text_equal(*(const char *const *)a, *(const char *const *)b);
    case FIELD_RAW:
        return kept_equal(*(const char *const *)a, *(const char *const *)b, false);
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
    case FIELD_ENUMS:
    case FIELD_U32S: {
        const struct u32_list *x = a; /* enum_list has the same shape */
        const struct u32_list *y = b;
        return x->count == y->count &&
               memcmp(x->items, y->items, x->count * sizeof(*x->items)) == 0;
    }
    case FIELD_STRS:
        return strings_equal(a, b);
    case FIELD_PAYLOAD:
        return payload_equal(w, *(struct payload *const *)a, *(struct payload *const *)b);
    case FIELD_PAYLOADS:
        return list_equal(w, *(struct payloads *const *)a, *(struct payloads *const *)b);
    case FIELD_PAYLOAD_MAP:
        return map_equal(w, *(struct payload_map *const *)a, *(struct payload_map *const *)b);
    case FIELD_PAYLOADS_MAP:
        return lists_equal(w, *(struct payloads_map *const *)a, *(struct payloads_map *const *)b);
    case FIELD_MSG:
        break;
    }
    return false;
}

static bool is_empty(const struct field_desc *field, const void *message)
{
    if (field->kind == FIELD_STR) {
        const char *text = *(const char *const *)field_in(message, field);
        return !text || !*text;
    }
    return field_is_zero(message, field);
}

static bool field_equal(struct walk *w, const struct field_desc *field, const void *expected,
                        const void *actual)
{
    bool none_a = is_empty(field, expected);
    bool none_b = is_empty(field, actual);

    if (none_a && none_b) {
        return true;
    }
    if (none_a != none_b) {
        return field_differs(w, field, expected, actual);
    }
    if (field->kind != FIELD_MSG) {
        return value_equal(w, field, field_in(expected, field), field_in(actual, field)) ||
               field_differs(w, field, expected, actual);
    }
    if (w->depth < PATH_DEPTH) {
        w->path[w->depth] = field->json;
    }
    w->depth++;
    bool same = message_equal(w, field->message, *(const void *const *)field_in(expected, field),
                              *(const void *const *)field_in(actual, field));
    w->depth--;
    return same;
}

static bool message_equal(struct walk *w, const struct message_desc *desc, const void *expected,
                          const void *actual)
{
    const struct message_head *a = expected;
    const struct message_head *b = actual;

    for (size_t i = 0; i < desc->count; i++) {
        if (!is_ignored(w->ignore, &desc->fields[i]) &&
            !field_equal(w, &desc->fields[i], expected, actual)) {
            return false;
        }
    }
    if ((w->ignore & ~(unsigned)DIFF_DIGITS) == 0 && a->set_zero != b->set_zero) {
        return says(w, "a zero time or duration is given in only one of them");
    }
    if (!unknown_equal(w, a->unknown, b->unknown)) {
        return says(w, "unknown members are {%s}, expected {%s}", b->unknown ? b->unknown : "",
                    a->unknown ? a->unknown : "");
    }
    return true;
}

/* --- events --- */

static bool envelope_equal(const struct walk *w, const struct event *a, const struct event *b)
{
    if (!(w->ignore & DIFF_IDS) && a->id != b->id) {
        return says(w, "the id is %lld, expected %lld", (long long)b->id, (long long)a->id);
    }
    if (!(w->ignore & DIFF_TIMES) && (a->time_ns != b->time_ns || a->no_time != b->no_time)) {
        return says(w, "the time is %lld ns, expected %lld ns", (long long)b->time_ns,
                    (long long)a->time_ns);
    }
    if (!(w->ignore & (DIFF_TIMES | DIFF_DIGITS)) &&
        wire_time_digits(a->time_ns, a->time_digits) !=
            wire_time_digits(b->time_ns, b->time_digits)) {
        return says(w, "the time has another number of digits");
    }
    if (!(w->ignore & DIFF_IDENTITIES) && (a->task_id != b->task_id || a->version != b->version)) {
        return says(w, "the task id or version is %lld/%lld, expected %lld/%lld",
                    (long long)b->task_id, (long long)b->version, (long long)a->task_id,
                    (long long)a->version);
    }
    if (a->worker_may_ignore != b->worker_may_ignore || a->no_attributes != b->no_attributes) {
        return says(w, "workerMayIgnore or the presence of attributes differs");
    }
    if (!unknown_equal(w, a->unknown, b->unknown)) {
        return says(w, "further members are {%s}, expected {%s}", b->unknown ? b->unknown : "",
                    a->unknown ? a->unknown : "");
    }
    if (!(w->ignore & DIFF_UNKNOWN) && !kept_equal(a->user_metadata, b->user_metadata, false)) {
        return says(w, "userMetadata is %s, expected %s",
                    b->user_metadata ? b->user_metadata : "absent",
                    a->user_metadata ? a->user_metadata : "absent");
    }
    return true;
}

bool event_equal(const struct event *expected, const struct event *actual, unsigned ignore,
                 struct str *out)
{
    struct walk w = {.ignore = ignore, .out = out, .event = actual};
    const struct event_desc *desc = event_desc(expected->type);

    if (expected->type != actual->type) {
        return says(&w, "the type is %s, expected %s", event_type_title(actual->type),
                    event_type_title(expected->type));
    }
    return envelope_equal(&w, expected, actual) &&
           (!desc || message_equal(&w, &desc->message, expected->attributes, actual->attributes));
}

bool history_equal(const struct history *expected, const struct history *actual, unsigned ignore,
                   struct str *out)
{
    struct walk w = {.ignore = ignore, .out = out};

    for (size_t i = 0; i < expected->count && i < actual->count; i++) {
        if (!event_equal(&expected->items[i], &actual->items[i], ignore, out)) {
            return false;
        }
    }
    if (expected->count > actual->count) {
        return says(&w, "the history ends after %zu events, expected %zu, the next being %s",
                    actual->count, expected->count,
                    event_type_title(expected->items[actual->count].type));
    }
    if (expected->count < actual->count) {
        return says(&w, "the history has %zu events, expected %zu; the first one more is %s",
                    actual->count, expected->count,
                    event_type_title(actual->items[expected->count].type));
    }
    if (!unknown_equal(&w, expected->unknown, actual->unknown)) {
        return says(&w, "members beside the events differ");
    }
    return true;
}

bool failure_equal(const struct failure *expected, const struct failure *actual, unsigned ignore,
                   struct str *out)
{
    struct walk w = {.ignore = ignore, .out = out};

    return message_equal(&w, &message_desc_failure, expected, actual);
}
