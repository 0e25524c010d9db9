/*
 * codec_read.c - messages from JSON, in either form.
 *
 * Owns: what is accepted for every field kind, and what is kept aside: members and values that have
 * no place in the struct go to head.unknown as text, so that nothing is lost in a round trip.
 * Must not: let a result point into the source. Nesting is bounded by base/json.h.
 * Tests: tests/unit/test_history_json.c, tests/unit/test_history_store.c, tests/fuzz/fuzz_history.c
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "history/codec.h"

#define KEEP 1 /* outcome of a value reader: no place for it, keep it as unknown */

void reader_close(struct reader *r)
{
    str_free(&r->scratch);
}

int reader_bad(struct reader *r, const char *what)
{
    return err_set(r->err, ERR_PERMANENT, "BadHistory", "%s", what);
}

static void keep_member(struct reader *r, struct str *unknown, const char *key, size_t len,
                        const struct json *member)
{
    r->too_deep |= text_depth(member->raw, member->raw_len) > KEPT_DEPTH_MAX;
    if (unknown->len > 0) {
        str_addc(unknown, ',');
    }
    json_quote(unknown, key, len);
    str_addc(unknown, ':');
    json_print(unknown, member, 0);
}

void unknown_add(struct reader *r, struct str *unknown, const struct json *member)
{
    keep_member(r, unknown, member->key, member->key_len, member);
}

int reader_raw(struct reader *r, const struct json *value, const char **ret)
{
    autostr struct str text = {0};

    json_print(&text, value, 0);
    *ret = arena_strndup(r->arena, str_c(&text), text.len);
    r->too_deep |= text_depth(value->raw, value->raw_len) > KEPT_DEPTH_MAX;
    return 0;
}

int reader_depth(struct reader *r)
{
    return r->too_deep ? reader_bad(r, "holds unknown members that nest too deeply") : 0;
}

const char *unknown_take(struct reader *r, const struct str *unknown)
{
    return unknown->len > 0 ? arena_strndup(r->arena, unknown->ptr, unknown->len) : NULL;
}

/* --- scalars --- */

int reader_text(struct reader *r, const struct json *value, const char **ret)
{
    if (value->type != JSON_STRING) {
        return reader_bad(r, "must be a string");
    }
    if (memchr(value->text, '\0', value->text_len)) {
        return reader_bad(r, "holds a NUL character");
    }
    *ret = arena_strndup(r->arena, value->text, value->text_len);
    return 0;
}

bool wire_duration_parse(const char *text, size_t len, int64_t *ret_ns)
{
    size_t i = 0;
    bool negative = len > 0 && text[0] == '-';
    int64_t seconds = 0;
    int64_t nanos = 0;
    int64_t unit = NS_PER_S / 10;

    i += negative;
    size_t first = i;
    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        if (__builtin_mul_overflow(seconds, (int64_t)10, &seconds) ||
            __builtin_add_overflow(seconds, (int64_t)(text[i] - '0'), &seconds)) {
            return false;
        }
    }
    bool digits = i > first;
    if (i < len && text[i] == '.') {
        for (i++; i < len && text[i] >= '0' && text[i] <= '9' && unit > 0; i++, unit /= 10) {
            nanos += (text[i] - '0') * unit;
            digits = true;
        }
    }
    if (!digits || i + 1 != len || text[i] != 's') {
        return false;
    }
    int64_t ns = 0;
    if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns) ||
        __builtin_add_overflow(ns, nanos, &ns)) {
        return false;
    }
    *ret_ns = negative ? -ns : ns;
    return true;
}

bool wire_time_parse(const char *text, size_t len, int64_t *ret_ns, uint8_t *ret_digits)
{
    const char *dot = memchr(text, '.', len);
    uint8_t digits = 0;

    if (dot) {
        const char *end = text + len;
        for (const char *c = dot + 1; c < end && *c >= '0' && *c <= '9' && digits < 9; c++) {
            digits++;
        }
    }
    *ret_digits = (uint8_t)((digits + 2) / 3 * 3);
    return time_parse_rfc3339(text, len, ret_ns);
}

/* Is text of the outer shape of a time or duration, only beyond what 64 bits of nanoseconds hold?
 * Such values ("0001-01-01T00:00:00Z", "315576000000s") are legal on the wire and kept as text. */
static bool is_far_time(const char *text, size_t len)
{
    return len >= 20 && text[4] == '-' && text[7] == '-' && text[10] == 'T' &&
           (text[len - 1] == 'Z' || memchr(text + 19, ':', len - 19));
}

static bool is_far_duration(const char *text, size_t len)
{
    size_t i = len > 0 && text[0] == '-';
    size_t digits = 0;

    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        digits++;
    }
    return digits >= 10 && digits <= 12 && i < len && (text[i] == '.' || i + 1 == len) &&
           text[len - 1] == 's';
}

static int time_read(struct reader *r, const struct field_desc *field, const struct json *value,
                     int64_t *ret)
{
    uint8_t digits = 0;

    if (value->type != JSON_STRING) {
        return reader_bad(r, "must be a string");
    }
    if (field->kind == FIELD_DUR) {
        if (wire_duration_parse(value->text, value->text_len, ret)) {
            return 0;
        }
        return is_far_duration(value->text, value->text_len)
                   ? KEEP
                   : reader_bad(r, "is no duration such as \"1.500s\"");
    }
    if (wire_time_parse(value->text, value->text_len, ret, &digits)) {
        return 0;
    }
    return is_far_time(value->text, value->text_len)
               ? KEEP
               : reader_bad(r, "is no RFC 3339 time such as \"2026-01-02T03:04:05Z\"");
}

/* "1.0", "1e3": integers all the same, as protobuf's JSON readers have it. */
static bool whole_number(const struct json *value, int64_t *ret)
{
    double number = 0;

    if (value->type != JSON_NUMBER || !json_double(value, &number) ||
        number < -9007199254740992.0 || number > 9007199254740992.0 ||
        (double)(int64_t)number != number) {
        return false;
    }
    *ret = (int64_t)number;
    return true;
}

static int number_read(struct reader *r, const struct field_desc *field, const struct json *value,
                       void *at)
{
    int64_t number = 0;

    if ((value->type != JSON_NUMBER && value->type != JSON_STRING) ||
        (!json_i64(value, &number) && !whole_number(value, &number))) {
        return reader_bad(r, "must be an integer of 64 bits");
    }
    if (field->kind == FIELD_I64) {
        *(int64_t *)at = number;
        return 0;
    }
    if (number < INT32_MIN || number > INT32_MAX) {
        return reader_bad(r, "must be an integer of 32 bits");
    }
    *(int32_t *)at = (int32_t)number;
    return 0;
}

static int enum_read(struct reader *r, const struct enum_desc *values, const struct json *value,
                     int32_t *ret)
{
    int64_t number = 0;

    if (value->type == JSON_STRING) {
        return enum_parse(values, value->text, value->text_len, ret) ? 0 : KEEP;
    }
    if (value->type != JSON_NUMBER || !json_i64(value, &number) || number < INT32_MIN ||
        number > INT32_MAX) {
        return reader_bad(r, "must be an enumeration's name");
    }
    *ret = (int32_t)number;
    return 0;
}

static int bool_read(struct reader *r, const struct json *value, bool *ret)
{
    if (value->type != JSON_BOOL) {
        return reader_bad(r, "must be true or false");
    }
    *ret = value->boolean;
    return 0;
}

static int double_read(struct reader *r, const struct json *value, double *ret)
{
    if (value->type == JSON_STRING) {
        return KEEP; /* "NaN", "Infinity" */
    }
    if (!json_double(value, ret)) {
        return reader_bad(r, "must be a number");
    }
    return 0;
}

static int name_read(struct reader *r, const struct json *value, const char **ret)
{
    int outcome = 0;

    if (r->form == CODEC_STORE && value->type == JSON_STRING) {
        return reader_text(r, value, ret);
    }
    if (value->type != JSON_OBJECT) {
        return reader_bad(r, "must be an object with a name");
    }
    *ret = "";
    json_each (member, value) {
        if (member->type == JSON_NULL) {
            continue;
        }
        if (!member_is(member, "name")) {
            outcome = KEEP;
        } else if (reader_text(r, member, ret) < 0) {
            return err_wrap(r->err, "name");
        }
    }
    return outcome;
}

/* --- lists --- */

static int list_read(struct reader *r, const struct field_desc *field, const struct json *value,
                     void *at)
{
    static const struct field_desc i64 = {.kind = FIELD_I64};
    size_t i = 0;

    if (value->type != JSON_ARRAY) {
        return reader_bad(r, "must be an array");
    }
    struct string_list strings = {NULL, value->count};
    struct u32_list numbers = {NULL, value->count};
    struct enum_list enums = {NULL, value->count};
    if (field->kind == FIELD_STRS) {
        strings.items = arena_array_of(r->arena, const char *, value->count + 1);
    } else {
        numbers.items = arena_array_of(r->arena, uint32_t, value->count + 1);
        enums.items = (int32_t *)numbers.items;
    }
    json_each (item, value) {
        int64_t number = 0;
        if (field->kind == FIELD_STRS) {
            if (reader_text(r, item, &strings.items[i]) < 0) {
                return -1;
            }
        } else if (field->kind == FIELD_U32S) {
            if (number_read(r, &i64, item, &number) < 0) {
                return -1;
            }
            if (number < 0 || number > UINT32_MAX) {
                return reader_bad(r, "must hold integers of 32 bits without sign");
            }
            numbers.items[i] = (uint32_t)number;
        } else {
            int rc = enum_read(r, field->values, item, &enums.items[i]);
            if (rc != 0) {
                return rc; /* one value unknown: the whole list is kept as text */
            }
        }
        i++;
    }
    if (field->kind == FIELD_STRS) {
        *(struct string_list *)at = strings;
    } else if (field->kind == FIELD_U32S) {
        *(struct u32_list *)at = numbers;
    } else {
        *(struct enum_list *)at = enums;
    }
    return 0;
}

/* --- messages --- */

static int child_read(struct reader *r, const struct field_desc *field, const struct json *value,
                      void **ret)
{
    void *message = arena_alloc(r->arena, field->message->size);

    *ret = message;
    if (r->form == CODEC_STORE && value->type == JSON_STRING &&
        field->message == &message_desc_task_queue) {
        struct task_queue *queue = message;
        queue->kind = TASK_QUEUE_KIND_NORMAL;
        return reader_text(r, value, &queue->name);
    }
    return message_read(r, field->message, value, message, NULL);
}

static int value_read(struct reader *r, const struct field_desc *field, const struct json *value,
                      void *at)
{
    switch (field->kind) {
    case FIELD_STR: {
        int rc = reader_text(r, value, at);
        if (rc == 0 && r->form == CODEC_WIRE && value->text_len == 0) {
            *(const char **)at = NULL; /* the default is no value */
        }
        return rc;
    }
    case FIELD_NAME:
        return name_read(r, value, at);
    case FIELD_RAW:
        return reader_raw(r, value, at);
    case FIELD_I64:
    case FIELD_I32:
        return number_read(r, field, value, at);
    case FIELD_BOOL:
        return bool_read(r, value, at);
    case FIELD_DOUBLE:
        return double_read(r, value, at);
    case FIELD_DUR:
    case FIELD_TIME:
        return time_read(r, field, value, at);
    case FIELD_ENUM:
        return enum_read(r, field->values, value, at);
    case FIELD_ENUMS:
    case FIELD_U32S:
    case FIELD_STRS:
        return list_read(r, field, value, at);
    case FIELD_MSG:
        return child_read(r, field, value, at);
    case FIELD_PAYLOAD:
        *(struct payload **)at = arena_new_of(r->arena, struct payload);
        return payload_read(r, value, *(struct payload **)at);
    case FIELD_PAYLOADS:
        *(struct payloads **)at = arena_new_of(r->arena, struct payloads);
        return payloads_read(r, value, *(struct payloads **)at);
    case FIELD_PAYLOAD_MAP:
        *(struct payload_map **)at = arena_new_of(r->arena, struct payload_map);
        return payload_map_read(r, field, value, *(struct payload_map **)at);
    case FIELD_PAYLOADS_MAP: {
        struct payloads_map *map = arena_new_of(r->arena, struct payloads_map);
        *(struct payloads_map **)at = map->count > 0 ? map : NULL;
        int rc = payloads_map_read(r, value, map);
        *(struct payloads_map **)at = map->count > 0 ? map : NULL;
        return rc;
    }
    }
    return KEEP;
}

static bool name_matches(const struct field_desc *field, const char *key, size_t len)
{
    return (field->json_len == len && memcmp(field->json, key, len) == 0) ||
           (field->snake_len == len && memcmp(field->snake, key, len) == 0);
}

const struct field_desc *field_find(const struct message_desc *desc, const char *key, size_t len,
                                    size_t hint, size_t *ret_index)
{
    static const char renamed[] = "useCompatibleVersion"; /* of useWorkflowBuildId, 2023 */

    for (size_t i = hint; i < desc->count; i++) {
        if (name_matches(&desc->fields[i], key, len)) {
            *ret_index = i;
            return &desc->fields[i];
        }
    }
    for (size_t i = 0; i < hint && i < desc->count; i++) {
        if (name_matches(&desc->fields[i], key, len)) {
            *ret_index = i;
            return &desc->fields[i];
        }
    }
    if (len == sizeof(renamed) - 1 && memcmp(key, renamed, len) == 0) {
        return field_find(desc, "useWorkflowBuildId", sizeof("useWorkflowBuildId") - 1, 0,
                          ret_index);
    }
    return NULL;
}

/* A member that is no field: kept, but for what store.c put around a message. */
static void extra_read(struct reader *r, const struct json *member, struct str *unknown)
{
    if (r->form == CODEC_STORE && member_is(member, "$event")) {
        return;
    }
    if (r->form == CODEC_STORE && member_is(member, "$unknown") && member->type == JSON_OBJECT) {
        json_each (inner, member) {
            unknown_add(r, unknown, inner);
        }
    } else if (member->type != JSON_NULL) {
        unknown_add(r, unknown, member);
    }
}

static int members_read(struct reader *r, const struct message_desc *desc,
                        const struct json *object, void *message, uint64_t *ret_seen)
{
    struct message_head *head = message;
    autostr struct str unknown = {0};
    uint64_t seen = 0;
    size_t hint = 0;

    if (object->type != JSON_OBJECT) {
        return reader_bad(r, "must be an object");
    }
    json_each (member, object) {
        size_t index = 0;
        const struct field_desc *field =
            field_find(desc, member->key, member->key_len, hint, &index);
        if (!field) {
            extra_read(r, member, &unknown);
            continue;
        }
        hint = index + 1;
        if (seen >> index & 1) {
            reader_bad(r, "given twice");
            return err_wrap(r->err, "%s", field->json);
        }
        seen |= 1ULL << index;
        if (member->type == JSON_NULL &&
            !(r->form == CODEC_STORE && field->kind == FIELD_PAYLOAD)) { /* there: the value null */
            continue;
        }
        int rc = value_read(r, field, member, field_at(message, field));
        if (rc < 0) {
            return err_wrap(r->err, "%s", field->json);
        }
        if (rc == KEEP) { /* by its own name: who prints it must know it for the field's */
            keep_member(r, &unknown, field->json, strlen(field->json), member);
        } else if ((field->kind == FIELD_DUR || field->kind == FIELD_TIME) &&
                   *(const int64_t *)field_in(message, field) == 0) {
            head->set_zero |= 1ULL << index;
        }
    }
    head->unknown = unknown_take(r, &unknown);
    if (ret_seen) {
        *ret_seen = seen;
    }
    return 0;
}

int message_read(struct reader *r, const struct message_desc *desc, const struct json *object,
                 void *message, uint64_t *ret_seen)
{
    if (r->depth >= MESSAGE_DEPTH_MAX) {
        return reader_bad(r, "is nested too deeply");
    }
    r->depth++;
    int rc = members_read(r, desc, object, message, ret_seen);
    r->depth--;
    return rc;
}
