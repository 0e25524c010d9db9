/*
 * proto_read.c - histories from protobuf's binary form (proto.h).
 *
 * Owns: cutting messages into parts, and telling each part as JSON by wire.h's tables; json.h's
 * reader makes the event of it. Every length is checked against the bytes that are there.
 * Must not: let a result point into the source.
 * Tests: tests/unit/test_history_proto.c, tests/fuzz/fuzz_history.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/proto_part.h"
#include "history/wire.h"

#define DEPTH_MAX 100
#define SECONDS_MIN (-62135596800LL) /* 0001-01-01T00:00:00Z */
#define SECONDS_MAX 253402300799LL   /* 9999-12-31T23:59:59Z */
#define DURATION_MAX 315576000000LL

struct decoder {
    struct err *err;
    struct arena *scratch;
    int depth;
};

static int bad(struct decoder *d, const char *what)
{
    return err_set(d->err, ERR_PERMANENT, "BadHistory", "%s", what);
}

/* --- parts ------------------------------------------------------------------------------------ */

static int cut(struct decoder *d, const uint8_t *bytes, size_t len, struct parts *ret)
{
    return parts_cut(d->scratch, bytes, len, ret)
               ? 0
               : bad(d, "is no protobuf message: the bytes end early or make no field");
}

static enum part_type type_of(enum wire_kind kind)
{
    switch (kind) {
    case WIRE_STR:
    case WIRE_BYTES:
    case WIRE_DUR:
    case WIRE_TIME:
    case WIRE_MSG:
        return PART_BYTES;
    case WIRE_DOUBLE:
        return PART_FIXED64;
    case WIRE_FLOAT:
        return PART_FIXED32;
    case WIRE_I64:
    case WIRE_I32:
    case WIRE_U32:
    case WIRE_BOOL:
    case WIRE_ENUM:
    case WIRE_EVENT_TYPE:
        break;
    }
    return PART_VARINT;
}

static bool is_packed(const struct wire_field *field, const struct part *part)
{
    return field->shape == WIRE_LIST && part->type == PART_BYTES &&
           type_of(field->kind) != PART_BYTES;
}

static bool part_fits(const struct wire_field *field, const struct part *part)
{
    return part->number == field->number &&
           (is_packed(field, part) ||
            part->type == (field->shape == WIRE_MAP ? PART_BYTES : type_of(field->kind)));
}

/* --- values ----------------------------------------------------------------------------------- */

static int message_tell(struct decoder *d, const struct wire_message *message, const uint8_t *bytes,
                        size_t len, struct json_out *w);

static int text_tell(struct decoder *d, const struct part *part, struct json_out *w)
{
    if (!utf8_valid(part->data, part->len)) {
        return bad(d, "is not UTF-8");
    }
    json_put_strn(w, (const char *)part->data, part->len);
    return 0;
}

static void bytes_tell(const uint8_t *data, size_t len, struct json_out *w)
{
    autostr struct str text = {0};

    base64_encode(&text, data, len);
    json_put_strn(w, str_c(&text), text.len);
}

/* Seconds and nanoseconds of a Timestamp or Duration. */
static int instant_read(struct decoder *d, const struct part *part, int64_t *ret_seconds,
                        int32_t *ret_nanos)
{
    struct parts parts;

    *ret_seconds = 0;
    *ret_nanos = 0;
    if (cut(d, part->data, part->len, &parts) < 0) {
        return -1;
    }
    for (size_t i = 0; i < parts.count; i++) {
        const struct part *p = &parts.items[i];
        if (p->type != PART_VARINT || p->number > 2) {
            return bad(d, "holds more than seconds and nanoseconds");
        }
        if (p->number == 1) {
            *ret_seconds = (int64_t)p->value;
        } else if ((int64_t)p->value > -NS_PER_S && (int64_t)p->value < NS_PER_S) {
            *ret_nanos = (int32_t)p->value;
        } else {
            return bad(d, "has nanoseconds of more than a second");
        }
    }
    return 0;
}

static void put_fraction(struct str *out, int32_t nanos)
{
    if (nanos % 1000000 == 0) {
        str_addf(out, ".%03d", nanos / 1000000);
    } else if (nanos % 1000 == 0) {
        str_addf(out, ".%06d", nanos / 1000);
    } else {
        str_addf(out, ".%09d", nanos);
    }
}

static int duration_tell(struct decoder *d, const struct part *part, struct json_out *w)
{
    autostr struct str text = {0};
    int64_t seconds;
    int32_t nanos;

    if (instant_read(d, part, &seconds, &nanos) < 0) {
        return -1;
    }
    if (seconds > DURATION_MAX || seconds < -DURATION_MAX || (seconds > 0 && nanos < 0) ||
        (seconds < 0 && nanos > 0)) {
        return bad(d, "is no duration: out of range, or of two signs");
    }
    bool negative = seconds < 0 || nanos < 0;
    str_addf(&text, "%s%lld", negative ? "-" : "", (long long)(seconds < 0 ? -seconds : seconds));
    if (nanos != 0) {
        put_fraction(&text, nanos < 0 ? -nanos : nanos);
    }
    str_addc(&text, 's');
    json_put_strn(w, text.ptr, text.len);
    return 0;
}

/* Any year from 1 to 9999; base/clock.h's form reaches from 1678 to 2261 only. */
static void put_date(struct str *out, int64_t days)
{
    int64_t shifted = days + 719468; /* since 0000-03-01 */
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* from March */
    int64_t day = of_year - (153 * month + 2) / 5 + 1;

    str_addf(out, "%04d-%02d-%02d", (int)(year + era * 400 + (month >= 10)),
             (int)(month < 10 ? month + 3 : month - 9), (int)day);
}

static int time_tell(struct decoder *d, const struct part *part, struct json_out *w)
{
    autostr struct str text = {0};
    int64_t seconds;
    int32_t nanos;

    if (instant_read(d, part, &seconds, &nanos) < 0) {
        return -1;
    }
    if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || nanos < 0) {
        return bad(d, "is no time between the years 1 and 9999");
    }
    int64_t day = (seconds - SECONDS_MIN) / 86400;
    int of_day = (int)((seconds - SECONDS_MIN) % 86400);
    put_date(&text, day + SECONDS_MIN / 86400);
    str_addf(&text, "T%02d:%02d:%02d", of_day / 3600, of_day / 60 % 60, of_day % 60);
    if (nanos != 0) {
        put_fraction(&text, nanos);
    }
    str_addc(&text, 'Z');
    json_put_strn(w, text.ptr, text.len);
    return 0;
}

static void put_double(struct json_out *w, double value)
{
    if (value != value) {
        json_put_str(w, "NaN");
    } else if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308) {
        json_put_str(w, value > 0 ? "Infinity" : "-Infinity");
    } else {
        json_put_double(w, value);
    }
}

/* The shortest text that is the same float. */
static void float_tell(uint32_t bits, struct json_out *w)
{
    float value;
    char text[32];

    memcpy(&value, &bits, sizeof(value));
    if (value != value || value > 3.4028235e38F || value < -3.4028235e38F) {
        put_double(w, (double)value);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) {
            break;
        }
    }
    json_put_raw(w, text, strlen(text));
}

static void enum_tell(const struct wire_field *field, int32_t number, struct json_out *w)
{
    autostr struct str text = {0};
    const char *name = NULL;

    if (field->kind == WIRE_EVENT_TYPE) {
        if (number > 0 && number <= EVENT_TYPE_MAX) {
            json_put_str(w, event_type_name((enum event_type)number));
            return;
        }
    } else {
        name = enum_name(field->values, number);
    }
    if (!name) {
        json_put_i64(w, number);
        return;
    }
    str_addf(&text, "%s_%s", field->values->prefix, name);
    json_put_strn(w, text.ptr, text.len);
}

static void scalar_tell(const struct wire_field *field, uint64_t value, struct json_out *w)
{
    double number = 0;

    switch ((enum wire_kind)field->kind) {
    case WIRE_I64:
        json_put_i64_text(w, (int64_t)value);
        return;
    case WIRE_I32:
        json_put_i64(w, (int32_t)(uint32_t)value);
        return;
    case WIRE_U32:
        json_put_i64(w, (uint32_t)value);
        return;
    case WIRE_BOOL:
        json_put_bool(w, value != 0);
        return;
    case WIRE_DOUBLE:
        memcpy(&number, &value, sizeof(number));
        put_double(w, number);
        return;
    case WIRE_FLOAT:
        float_tell((uint32_t)value, w);
        return;
    case WIRE_ENUM:
    case WIRE_EVENT_TYPE:
        enum_tell(field, (int32_t)(uint32_t)value, w);
        return;
    case WIRE_STR:
    case WIRE_BYTES:
    case WIRE_DUR:
    case WIRE_TIME:
    case WIRE_MSG:
        return;
    }
}

static int value_tell(struct decoder *d, const struct wire_field *field, const struct part *part,
                      struct json_out *w)
{
    switch ((enum wire_kind)field->kind) {
    case WIRE_STR:
        return text_tell(d, part, w);
    case WIRE_BYTES:
        bytes_tell(part->data, part->len, w);
        return 0;
    case WIRE_DUR:
        return duration_tell(d, part, w);
    case WIRE_TIME:
        return time_tell(d, part, w);
    case WIRE_MSG:
        return message_tell(d, field->message, part->data, part->len, w);
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
    scalar_tell(field, part->value, w);
    return 0;
}

/* --- fields ----------------------------------------------------------------------------------- */

static int packed_tell(struct decoder *d, const struct wire_field *field, const struct part *part,
                       struct json_out *w)
{
    struct part_cursor c = part_cursor(part->data, part->len);
    uint64_t value = 0;

    while (c.at < c.end) {
        enum part_type type = type_of(field->kind);
        bool good = type == PART_VARINT ? part_varint(&c, &value)
                                        : part_fixed(&c, type == PART_FIXED64 ? 8 : 4, &value);
        if (!good) {
            return bad(d, "is no packed list");
        }
        scalar_tell(field, value, w);
    }
    return 0;
}

static int list_tell(struct decoder *d, const struct wire_field *field, struct parts *parts,
                     struct json_out *w)
{
    json_begin_array(w);
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        if (!part_fits(field, part)) {
            continue;
        }
        part->taken = true;
        int rc =
            is_packed(field, part) ? packed_tell(d, field, part, w) : value_tell(d, field, part, w);
        if (rc < 0) {
            return rc;
        }
    }
    json_end_array(w);
    return 0;
}

struct entry {
    struct part key;
    struct part value;
    size_t index;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = len ? memcmp(x->key.data, y->key.data, len) : 0;

    if (order == 0 && x->key.len != y->key.len) {
        order = x->key.len < y->key.len ? -1 : 1;
    }
    return order ? order : x->index < y->index ? -1 : 1;
}

static int compare_places(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

static int entry_read(struct decoder *d, const struct wire_field *field, const struct part *part,
                      struct entry *ret)
{
    struct parts parts;

    if (cut(d, part->data, part->len, &parts) < 0) {
        return -1;
    }
    for (size_t i = 0; i < parts.count; i++) {
        const struct part *p = &parts.items[i];
        if (p->number == 1 && p->type == PART_BYTES) {
            ret->key = *p;
        } else if (p->number == 2 && p->type == type_of(field->kind)) {
            ret->value = *p;
        } else {
            return bad(d, "holds a map entry that is more than key and value");
        }
    }
    return utf8_valid(ret->key.data, ret->key.len) ? 0 : bad(d, "has a key that is not UTF-8");
}

/* Of a key that comes twice the last entry counts; the order is kept. */
static int map_tell(struct decoder *d, const struct wire_field *field, struct parts *parts,
                    struct json_out *w)
{
    struct entry *entries = arena_array_of(d->scratch, struct entry, parts->count + 1);
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < parts->count; i++) {
        if (part_fits(field, &parts->items[i])) {
            parts->items[i].taken = true;
            entries[count].index = i;
            if (entry_read(d, field, &parts->items[i], &entries[count++]) < 0) {
                return -1;
            }
        }
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    for (size_t i = 0; i < count; i++) {
        bool same = i + 1 < count && entries[i].key.len == entries[i + 1].key.len &&
                    (entries[i].key.len == 0 ||
                     memcmp(entries[i].key.data, entries[i + 1].key.data, entries[i].key.len) == 0);
        if (!same) {
            entries[kept++] = entries[i];
        }
    }
    qsort(entries, kept, sizeof(*entries), compare_places);
    json_begin_object(w);
    for (size_t i = 0; i < kept; i++) {
        json_keyn(w, (const char *)entries[i].key.data, entries[i].key.len);
        if (value_tell(d, field, &entries[i].value, w) < 0) {
            return -1;
        }
    }
    json_end_object(w);
    return 0;
}

/* A message in several pieces is their concatenation; of a scalar the last one counts. */
static int one_tell(struct decoder *d, const struct wire_field *field, struct parts *parts,
                    struct json_out *w)
{
    struct part last = {0};
    size_t pieces = 0;
    size_t len = 0;

    for (size_t i = 0; i < parts->count; i++) {
        if (part_fits(field, &parts->items[i])) {
            parts->items[i].taken = true;
            last = parts->items[i];
            len += last.len;
            pieces++;
        }
    }
    bool is_message =
        field->kind == WIRE_MSG || field->kind == WIRE_DUR || field->kind == WIRE_TIME;
    if (is_message && pieces > 1) {
        uint8_t *whole = arena_alloc(d->scratch, len + 1);
        last.data = whole;
        last.len = len;
        for (size_t i = 0; i < parts->count; i++) {
            if (part_fits(field, &parts->items[i]) && parts->items[i].len > 0) {
                memcpy(whole, parts->items[i].data, parts->items[i].len);
                whole += parts->items[i].len;
            }
        }
    }
    return value_tell(d, field, &last, w);
}

static int field_tell(struct decoder *d, const struct wire_field *field, struct parts *parts,
                      struct json_out *w)
{
    int rc = 0;

    json_key(w, field->json);
    switch ((enum wire_shape)field->shape) {
    case WIRE_ONE:
        rc = one_tell(d, field, parts, w);
        break;
    case WIRE_LIST:
        rc = list_tell(d, field, parts, w);
        break;
    case WIRE_MAP:
        rc = map_tell(d, field, parts, w);
        break;
    }
    return rc < 0 ? err_wrap(d->err, "%s", field->json) : 0;
}

/* The members of a JSON history that had no field (proto.h). */
static bool members_tell(const struct part *part, struct json_out *w)
{
    autostr struct str text = {0};

    if (part->number != WIRE_JSON_FIELD || part->type != PART_BYTES || part->len == 0) {
        return false;
    }
    str_addc(&text, '{');
    str_addn(&text, part->data, part->len);
    str_addc(&text, '}');
    if (json_check(text.ptr, text.len, NULL) < 0) {
        return false;
    }
    json_put_raw(w, (const char *)part->data, part->len);
    return true;
}

/* What no field took. */
static void rest_tell(const struct parts *parts, struct json_out *w)
{
    autostr struct str bytes = {0};

    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        if (!part->taken && !members_tell(part, w)) {
            str_addn(&bytes, part->raw, part->raw_len);
        }
    }
    if (bytes.len > 0) {
        json_key(w, WIRE_UNKNOWN_KEY);
        bytes_tell((const uint8_t *)bytes.ptr, bytes.len, w);
    }
}

static int fields_tell(struct decoder *d, const struct wire_message *message, struct parts *parts,
                       struct json_out *w)
{
    for (size_t i = 0; i < message->count; i++) {
        const struct wire_field *field = &message->fields[i];
        bool found = false;
        for (size_t k = 0; k < parts->count && !found; k++) {
            found = part_fits(field, &parts->items[k]);
        }
        if (found && field_tell(d, field, parts, w) < 0) {
            return -1;
        }
    }
    return 0;
}

static int message_tell(struct decoder *d, const struct wire_message *message, const uint8_t *bytes,
                        size_t len, struct json_out *w)
{
    struct parts parts;

    if (d->depth >= DEPTH_MAX) {
        return bad(d, "is nested too deeply");
    }
    if (cut(d, bytes, len, &parts) < 0) {
        return -1;
    }
    d->depth++;
    json_begin_object(w);
    if (fields_tell(d, message, &parts, w) < 0) {
        return -1; /* the text stays unfinished and unread */
    }
    rest_tell(&parts, w);
    json_end_object(w);
    d->depth--;
    return 0;
}

int wire_tell(struct arena *scratch, const struct wire_message *message, const void *bytes,
              size_t len, struct str *ret_json, struct err *err)
{
    struct decoder d = {.err = err, .scratch = scratch};
    struct json_out w = json_writer(ret_json, 0);

    return message_tell(&d, message, bytes, len, &w);
}

/* --- events ----------------------------------------------------------------------------------- */

struct proto_decoder {
    struct arena *scratch;
    struct str text;
};

struct proto_decoder *proto_decoder_new(void)
{
    struct proto_decoder *decoder = mem_alloc(sizeof(*decoder));

    decoder->scratch = arena_new();
    return decoder;
}

struct proto_decoder *proto_decoder_free(struct proto_decoder *decoder)
{
    if (decoder) {
        arena_free(decoder->scratch);
        str_free(&decoder->text);
        free(decoder);
    }
    return NULL;
}

int proto_decode(struct proto_decoder *decoder, struct arena *arena, const void *bytes, size_t len,
                 struct event *ret_event, struct err *err)
{
    struct decoder d = {.err = err, .scratch = decoder->scratch};

    str_reset(&decoder->text);
    arena_reset(decoder->scratch);
    struct json_out w = json_writer(&decoder->text, 0);
    if (message_tell(&d, &wire_event, bytes, len, &w) < 0) {
        return -1;
    }
    return event_from_json(arena, str_c(&decoder->text), decoder->text.len, ret_event, err);
}

int event_from_proto(struct arena *arena, const void *bytes, size_t len, struct event *ret_event,
                     struct err *err)
{
    struct proto_decoder *decoder = proto_decoder_new();
    int rc = proto_decode(decoder, arena, bytes, len, ret_event, err);

    proto_decoder_free(decoder);
    return rc;
}

int proto_survey(const void *bytes, size_t len, struct str *ret_unknown, struct err *err)
{
    struct part_cursor c = part_cursor(bytes, len);
    autostr struct str rest = {0}, text = {0};
    struct part part;
    size_t count = 0;

    struct json_out w = json_writer(&text, 0);
    json_begin_object(&w);
    while (c.at < c.end) {
        if (!part_take(&c, &part)) {
            return err_set(err, ERR_PERMANENT, "BadHistory",
                           "the bytes end early or make no field after event %zu; expected "
                           "protobuf's temporal.api.history.v1.History",
                           count);
        }
        if (part.number == 1 && part.type == PART_BYTES) {
            count++;
        } else if (!members_tell(&part, &w)) {
            str_addn(&rest, part.raw, part.raw_len);
        }
    }
    if (count == 0) {
        return err_set(err, ERR_PERMANENT, "BadHistory",
                       "no event is in it; expected protobuf's temporal.api.history.v1.History");
    }
    if (rest.len > 0) {
        json_key(&w, WIRE_UNKNOWN_KEY);
        bytes_tell((const uint8_t *)rest.ptr, rest.len, &w);
    }
    str_addn(ret_unknown, text.ptr + 1, text.len - 1);
    return 0;
}

bool bytes_are_proto(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < len && i < 64; i++) {
        if (at[i] < 0x20 && at[i] != '\n' && at[i] != '\t' && at[i] != '\r') {
            return true;
        }
    }
    return false;
}
