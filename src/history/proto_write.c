/*
 * proto_write.c - histories in protobuf's binary form (proto.h).
 *
 * Owns: the walk over an event's JSON form by wire.h's tables. A member that has no field, or a
 * value that its field cannot hold, is kept as JSON text in field 64999 of its message.
 * Invariant: what is written here, proto_read.c reads back to an equal event.
 * Tests: tests/unit/test_history_proto.c
 */
#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/proto_part.h"
#include "history/wire.h"

static void put_varint(struct str *out, uint64_t value)
{
    while (value >= 0x80) {
        str_addc(out, (char)(uint8_t)(value | 0x80));
        value >>= 7;
    }
    str_addc(out, (char)(uint8_t)value);
}

static void put_tag(struct str *out, unsigned number, enum part_type type)
{
    put_varint(out, (uint64_t)number << 3 | type);
}

static void put_bytes(struct str *out, unsigned number, const void *data, size_t len)
{
    put_tag(out, number, PART_BYTES);
    put_varint(out, len);
    if (len > 0) {
        str_addn(out, data, len);
    }
}

static void put_fixed(struct str *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        str_addc(out, (char)(uint8_t)(value >> (8 * i)));
    }
}

/* --- times ------------------------------------------------------------------------------------ */

static void put_clock(struct str *out, unsigned number, int64_t seconds, int64_t nanos)
{
    autostr struct str body = {0};

    if (seconds != 0) {
        put_tag(&body, 1, PART_VARINT);
        put_varint(&body, (uint64_t)seconds);
    }
    if (nanos != 0) {
        put_tag(&body, 2, PART_VARINT);
        put_varint(&body, (uint64_t)nanos);
    }
    put_bytes(out, number, body.ptr, body.len);
}

struct scan {
    const char *at;
    const char *end;
};

static bool scan_char(struct scan *s, char c)
{
    if (s->at < s->end && *s->at == c) {
        s->at++;
        return true;
    }
    return false;
}

/* Between min and max digits. */
static bool scan_number(struct scan *s, int min, int max, int64_t *ret)
{
    int64_t value = 0;
    int digits = 0;

    for (; digits < max && s->at < s->end && *s->at >= '0' && *s->at <= '9'; digits++) {
        value = value * 10 + (*s->at++ - '0');
    }
    *ret = value;
    return digits >= min;
}

static bool scan_fraction(struct scan *s, int64_t *ret_nanos)
{
    const char *start;
    int64_t nanos = 0;

    *ret_nanos = 0;
    if (!scan_char(s, '.')) {
        return true;
    }
    start = s->at;
    if (!scan_number(s, 1, 9, &nanos)) {
        return false;
    }
    for (long digits = s->at - start; digits < 9; digits++) {
        nanos *= 10;
    }
    *ret_nanos = nanos;
    return true;
}

static bool put_duration(struct str *out, unsigned number, const struct json *value)
{
    struct scan s = {value->text, value->text + value->text_len};
    int64_t seconds = 0, nanos = 0;

    if (value->type != JSON_STRING) {
        return false;
    }
    int64_t sign = scan_char(&s, '-') ? -1 : 1;
    if (!scan_number(&s, 0, 12, &seconds) || !scan_fraction(&s, &nanos) || !scan_char(&s, 's') ||
        s.at != s.end || seconds > 315576000000LL) {
        return false;
    }
    put_clock(out, number, sign * seconds, sign * nanos);
    return true;
}

/* Days from 1970-01-01 to that date of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "Z", "+01:00" */
static bool scan_offset(struct scan *s, int64_t *ret_seconds)
{
    int64_t hours, minutes;

    *ret_seconds = 0;
    if (scan_char(s, 'Z')) {
        return true;
    }
    int64_t sign = scan_char(s, '+') ? 1 : scan_char(s, '-') ? -1 : 0;
    if (sign == 0 || !scan_number(s, 2, 2, &hours) || !scan_char(s, ':') ||
        !scan_number(s, 2, 2, &minutes)) {
        return false;
    }
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool put_time(struct str *out, unsigned number, const struct json *value)
{
    struct scan s = {value->text, value->text + value->text_len};
    int64_t year, month, day, hour, minute, second, nanos, offset;

    if (value->type != JSON_STRING || !scan_number(&s, 4, 4, &year) || !scan_char(&s, '-') ||
        !scan_number(&s, 2, 2, &month) || !scan_char(&s, '-') || !scan_number(&s, 2, 2, &day) ||
        !scan_char(&s, 'T') || !scan_number(&s, 2, 2, &hour) || !scan_char(&s, ':') ||
        !scan_number(&s, 2, 2, &minute) || !scan_char(&s, ':') || !scan_number(&s, 2, 2, &second) ||
        !scan_fraction(&s, &nanos) || !scan_offset(&s, &offset) || s.at != s.end) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    int64_t days = days_of(year, month, day);
    if (days >= days_of(month < 12 ? year : year + 1, month < 12 ? month + 1 : 1, 1)) {
        return false;
    }
    int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset;
    if (seconds < -62135596800LL || seconds > 253402300799LL) {
        return false;
    }
    put_clock(out, number, seconds, nanos);
    return true;
}

/* --- scalars ---------------------------------------------------------------------------------- */

static bool read_integer(const struct wire_field *field, const struct json *value, uint64_t *ret)
{
    int64_t number = 0;

    if ((value->type != JSON_NUMBER && value->type != JSON_STRING) || !json_i64(value, &number) ||
        (field->kind == WIRE_I32 && (number < INT32_MIN || number > INT32_MAX)) ||
        (field->kind == WIRE_U32 && (number < 0 || number > UINT32_MAX))) {
        return false;
    }
    *ret = (uint64_t)number;
    return true;
}

static bool read_enum(const struct wire_field *field, const struct json *value, uint64_t *ret)
{
    int64_t number = 0;
    int32_t named = 0;

    if (value->type == JSON_NUMBER) {
        if (!json_i64(value, &number) || number < INT32_MIN || number > INT32_MAX) {
            return false;
        }
    } else if (value->type != JSON_STRING) {
        return false;
    } else if (field->kind == WIRE_EVENT_TYPE) {
        number = event_type_parse(value->text, value->text_len);
        if (number == EVENT_UNKNOWN) {
            return false;
        }
    } else if (enum_parse(field->values, value->text, value->text_len, &named)) {
        number = named;
    } else {
        return false;
    }
    *ret = (uint64_t)number;
    return true;
}

static bool read_double(const struct json *value, double *ret)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {
        {"NaN", __builtin_nan("")}, {"Infinity", __builtin_inf()}, {"-Infinity", -__builtin_inf()}};

    for (size_t i = 0; value->type == JSON_STRING && i < ARRAY_LEN(words); i++) {
        if (str_eq(value->text, words[i].text)) {
            *ret = words[i].value;
            return true;
        }
    }
    return value->type == JSON_NUMBER && json_double(value, ret);
}

/* Value of a field that is a number on the wire. */
static bool read_scalar(const struct wire_field *field, const struct json *value, uint64_t *ret,
                        enum part_type *ret_type)
{
    double number = 0;
    float single;
    uint32_t bits;

    *ret_type = PART_VARINT;
    switch ((enum wire_kind)field->kind) {
    case WIRE_I64:
    case WIRE_I32:
    case WIRE_U32:
        return read_integer(field, value, ret);
    case WIRE_BOOL:
        *ret = value->boolean;
        return value->type == JSON_BOOL;
    case WIRE_ENUM:
    case WIRE_EVENT_TYPE:
        return read_enum(field, value, ret);
    case WIRE_DOUBLE:
    case WIRE_FLOAT:
        if (!read_double(value, &number)) {
            return false;
        }
        if (field->kind == WIRE_DOUBLE) {
            *ret_type = PART_FIXED64;
            memcpy(ret, &number, sizeof(*ret));
            return true;
        }
        if (number == number && number - number == 0 &&
            (number > 3.4028234663852886e38 || number < -3.4028234663852886e38)) {
            return false;
        }
        *ret_type = PART_FIXED32;
        single = (float)number;
        memcpy(&bits, &single, sizeof(bits));
        *ret = bits;
        return true;
    case WIRE_STR:
    case WIRE_BYTES:
    case WIRE_DUR:
    case WIRE_TIME:
    case WIRE_MSG:
        break;
    }
    return false;
}

static void put_scalar(struct str *out, uint64_t value, enum part_type type)
{
    if (type == PART_VARINT) {
        put_varint(out, value);
    } else {
        put_fixed(out, value, type == PART_FIXED64 ? 8 : 4);
    }
}

/* --- messages --------------------------------------------------------------------------------- */
/* typed: the event is of a known type; of others everything is text, kept to the letter. */

static void put_message(bool typed, struct str *out, const struct wire_message *message,
                        const struct json *object);

static bool is_scalar(enum wire_kind kind)
{
    return kind != WIRE_STR && kind != WIRE_BYTES && kind != WIRE_DUR && kind != WIRE_TIME &&
           kind != WIRE_MSG;
}

/* One value with its tag. False, and out as it was, when the field cannot hold it. */
static bool put_value(bool typed, struct str *out, const struct wire_field *field, unsigned number,
                      const struct json *value)
{
    autostr struct str bytes = {0};
    enum part_type type;
    uint64_t scalar = 0;

    switch ((enum wire_kind)field->kind) {
    case WIRE_STR:
        if (value->type != JSON_STRING) {
            return false;
        }
        put_bytes(out, number, value->text, value->text_len);
        return true;
    case WIRE_BYTES:
        if (value->type != JSON_STRING || !base64_decode(&bytes, value->text, value->text_len)) {
            return false;
        }
        put_bytes(out, number, bytes.ptr, bytes.len);
        return true;
    case WIRE_DUR:
        return put_duration(out, number, value);
    case WIRE_TIME:
        return put_time(out, number, value);
    case WIRE_MSG:
        if (value->type != JSON_OBJECT) {
            return false;
        }
        put_message(typed, &bytes, field->message, value);
        put_bytes(out, number, bytes.ptr, bytes.len);
        return true;
    case WIRE_I64:
    case WIRE_I32:
    case WIRE_U32:
    case WIRE_BOOL:
    case WIRE_DOUBLE:
    case WIRE_FLOAT:
    case WIRE_ENUM:
    case WIRE_EVENT_TYPE:
        break;
    }
    if (!read_scalar(field, value, &scalar, &type)) {
        return false;
    }
    put_tag(out, number, type);
    put_scalar(out, scalar, type);
    return true;
}

/* An empty list is no field at all on the wire: kept as text. But the printer writes the list of
 * payloads even when it is empty, which says nothing. */
static bool put_list(bool typed, struct str *out, const struct wire_field *field,
                     const struct json *value)
{
    autostr struct str body = {0};

    if (value->type != JSON_ARRAY || value->count == 0) {
        return typed && value->type == JSON_ARRAY && str_eq(field->json, "payloads");
    }
    json_each (item, value) {
        enum part_type type;
        uint64_t scalar = 0;
        if (!is_scalar(field->kind)) {
            if (!put_value(typed, &body, field, field->number, item)) {
                return false;
            }
        } else if (!read_scalar(field, item, &scalar, &type)) {
            return false;
        } else {
            put_scalar(&body, scalar, type);
        }
    }
    if (is_scalar(field->kind)) {
        put_bytes(out, field->number, body.ptr, body.len);
    } else {
        str_addn(out, str_c(&body), body.len);
    }
    return true;
}

static bool put_map(bool typed, struct str *out, const struct wire_field *field,
                    const struct json *value)
{
    autostr struct str body = {0};

    if (value->type != JSON_OBJECT || value->count == 0) {
        return false;
    }
    json_each (member, value) {
        autostr struct str entry = {0};
        put_bytes(&entry, 1, member->key, member->key_len);
        if (!put_value(typed, &entry, field, 2, member)) {
            return false;
        }
        put_bytes(&body, field->number, entry.ptr, entry.len);
    }
    str_addn(out, str_c(&body), body.len);
    return true;
}

static bool put_field(bool typed, struct str *out, const struct wire_field *field,
                      const struct json *value)
{
    switch ((enum wire_shape)field->shape) {
    case WIRE_LIST:
        return put_list(typed, out, field, value);
    case WIRE_MAP:
        return put_map(typed, out, field, value);
    case WIRE_ONE:
        break;
    }
    return put_value(typed, out, field, field->number, value);
}

/* Unknown fields that came from the wire go back as they were. */
static bool put_unknown(struct str *out, const struct json *member)
{
    autoarena struct arena *scratch = arena_new();
    autostr struct str bytes = {0};
    struct parts parts;

    if (!str_eq(member->key, WIRE_UNKNOWN_KEY) || member->type != JSON_STRING ||
        !base64_decode(&bytes, member->text, member->text_len) ||
        !parts_cut(scratch, str_c(&bytes), bytes.len, &parts)) {
        return false;
    }
    str_addn(out, str_c(&bytes), bytes.len);
    return true;
}

static void keep(struct str *kept, const struct json *member)
{
    if (kept->len > 0) {
        str_addc(kept, ',');
    }
    json_quote(kept, member->key, member->key_len);
    str_addc(kept, ':');
    json_print(kept, member, 0);
}

static void put_message(bool typed, struct str *out, const struct wire_message *message,
                        const struct json *object)
{
    autostr struct str kept = {0};

    json_each (member, object) {
        const struct wire_field *field = wire_field_find(message, member->key, member->key_len);
        if (field ? !put_field(typed, out, field, member) : !put_unknown(out, member)) {
            keep(&kept, member);
        }
    }
    if (kept.len > 0) {
        put_bytes(out, WIRE_JSON_FIELD, kept.ptr, kept.len);
    }
}

void wire_put(struct str *out, const struct wire_message *message, const struct json *object)
{
    put_message(true, out, message, object);
}

/* --- events ----------------------------------------------------------------------------------- */

void event_to_proto(struct str *out, const struct event *event)
{
    autoarena struct arena *tree = arena_new();
    autostr struct str text = {0}, body = {0};
    const struct json *root = NULL;

    event_to_json(&text, event);
    int rc = json_parse(tree, text.ptr, text.len, &root, NULL);
    assert(rc == 0); /* whatever the printer prints can be read */
    (void)rc;
    put_message(event->type != EVENT_UNKNOWN, &body, &wire_event, root);
    put_bytes(out, 1, body.ptr, body.len);
}

void history_unknown_to_proto(struct str *out, const char *unknown)
{
    static const struct wire_message nothing = {NULL, 0};
    autoarena struct arena *tree = arena_new();
    autostr struct str text = {0};
    const struct json *root = NULL;

    if (unknown) {
        str_addf(&text, "{%s}", unknown);
        int rc = json_parse(tree, text.ptr, text.len, &root, NULL);
        assert(rc == 0);
        (void)rc;
        put_message(false, out, &nothing, root);
    }
}

void history_to_proto(struct str *out, const struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        event_to_proto(out, &history->items[i]);
    }
    history_unknown_to_proto(out, history->unknown);
}
