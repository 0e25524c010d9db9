/*
 * field.c - the tables of field.h, made from the lists, and look-ups in them.
 *
 * Owns: one descriptor table per message, event and enumeration; historic names of enum values.
 * Must not: read or write JSON. All data is constant.
 * Tests: tests/unit/test_history_json.c (names, numbers and spellings of every row).
 */
#include "history/field.h"

#include <assert.h>
#include <string.h>

/* --- enumerations --- */
#define VALUE_ROW_(prefix, name, number) {#name, number},
#define ENUM_TABLE_(c_name, prefix)                                                                \
    static const struct enum_value values_##c_name[] = {VALUES_##prefix(VALUE_ROW_)};              \
    const struct enum_desc enum_desc_##c_name = {#prefix, values_##c_name,                         \
                                                 ARRAY_LEN(values_##c_name)};                      \
    static_assert(sizeof(enum c_name) == sizeof(int32_t), "codecs store enums as int32_t");
ENUM_LIST(ENUM_TABLE_)

#define ENUM_POINTER_(c_name, prefix) &enum_desc_##c_name,
static const struct enum_desc *const enum_tables[] = {ENUM_LIST(ENUM_POINTER_)};

/* --- messages --- */
#define DETAIL_STR_(d) NULL, NULL, NULL
#define DETAIL_NAME_(d) NULL, NULL, NULL
#define DETAIL_RAW_(d) NULL, NULL, NULL
#define DETAIL_I64_(d) NULL, NULL, NULL
#define DETAIL_I32_(d) NULL, NULL, NULL
#define DETAIL_BOOL_(d) NULL, NULL, NULL
#define DETAIL_DOUBLE_(d) NULL, NULL, NULL
#define DETAIL_DUR_(d) NULL, NULL, NULL
#define DETAIL_TIME_(d) NULL, NULL, NULL
#define DETAIL_ENUM_(d) NULL, &enum_desc_##d, NULL
#define DETAIL_ENUMS_(d) NULL, &enum_desc_##d, NULL
#define DETAIL_U32S_(d) NULL, NULL, NULL
#define DETAIL_STRS_(d) NULL, NULL, NULL
#define DETAIL_MSG_(d) &message_desc_##d, NULL, NULL
#define DETAIL_PAYLOAD_(d) NULL, NULL, NULL
#define DETAIL_PAYLOADS_(d) NULL, NULL, NULL
#define DETAIL_PAYLOAD_MAP_(d) NULL, NULL, #d
#define DETAIL_PAYLOADS_MAP_(d) NULL, NULL, NULL

#define FIELD_ROW_(owner, kind, member, json_name, number, detail)                                 \
    {FIELD_##kind,                                                                                 \
     number,                                                                                       \
     offsetof(struct owner, member),                                                               \
     sizeof(#json_name) - 1,                                                                       \
     sizeof(#member) - 1,                                                                          \
     #json_name,                                                                                   \
     #member,                                                                                      \
     DETAIL_##kind##_(detail)},

/* A zero row at the end keeps tables without fields legal; count leaves it out. */
#define MESSAGE_FIELDS_(c_name, upper)                                                             \
    static const struct field_desc fields_##c_name[] = {FIELDS_##upper(FIELD_ROW_, c_name){0}};    \
    static_assert(ARRAY_LEN(fields_##c_name) <= 64, "message_head.set_zero has 64 bits");
MESSAGE_LIST(MESSAGE_FIELDS_)

#define MESSAGE_DESC_(c_name, upper)                                                               \
    const struct message_desc message_desc_##c_name = {                                            \
        #c_name, sizeof(struct c_name), fields_##c_name, ARRAY_LEN(fields_##c_name) - 1};
MESSAGE_LIST(MESSAGE_DESC_)

/* --- events --- */
#define EVENT_FIELDS_(number, upper, c_name, title, json, oneof)                                   \
    static const struct field_desc fields_ev_##c_name[] = {                                        \
        FIELDS_##upper(FIELD_ROW_, ev_##c_name){0}};                                               \
    static_assert(ARRAY_LEN(fields_ev_##c_name) <= 64, "message_head.set_zero has 64 bits");
EVENT_LIST(EVENT_FIELDS_)

#define EVENT_DESC_(number, upper, c_name, title, json, oneof)                                     \
    {EVENT_##upper,                                                                                \
     oneof,                                                                                        \
     "EVENT_TYPE_" #upper,                                                                         \
     #title,                                                                                       \
     #json "EventAttributes",                                                                      \
     #c_name "_event_attributes",                                                                  \
     {"ev_" #c_name, sizeof(struct ev_##c_name), fields_ev_##c_name,                               \
      ARRAY_LEN(fields_ev_##c_name) - 1}},

static const struct event_desc events[] = {EVENT_LIST(EVENT_DESC_)};
static_assert(ARRAY_LEN(events) == EVENT_TYPE_MAX, "event numbers are 1..60 without a gap");

const struct event_desc *event_desc_at(size_t index)
{
    return index < ARRAY_LEN(events) ? &events[index] : NULL;
}

const struct event_desc *event_desc(enum event_type type)
{
    int number = (int)type;

    if (number < 1 || number > EVENT_TYPE_MAX) {
        return NULL;
    }
    assert(events[number - 1].type == type);
    return &events[number - 1];
}

const struct enum_desc *enum_desc_at(size_t index)
{
    return index < ARRAY_LEN(enum_tables) ? enum_tables[index] : NULL;
}

const char *enum_name(const struct enum_desc *values, int32_t number)
{
    for (size_t i = 0; i < values->count; i++) {
        if (values->values[i].number == number) {
            return values->values[i].name;
        }
    }
    return NULL;
}

/* Does the CamelCase text (len bytes) spell the UPPER_SNAKE name? "StartToClose". */
static bool camel_matches(const char *upper, const char *text, size_t len)
{
    bool word_start = true;
    size_t at = 0;

    for (; *upper; upper++) {
        if (*upper == '_') {
            word_start = true;
            continue;
        }
        char want = *upper;
        if (!word_start && want >= 'A' && want <= 'Z') {
            want = (char)(want - 'A' + 'a');
        }
        word_start = false;
        if (at >= len || text[at] != want) {
            return false;
        }
        at++;
    }
    return at == len;
}

static bool text_is(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

bool enum_parse(const struct enum_desc *values, const char *text, size_t len, int32_t *ret_number)
{
    /* Renamed in 2024 without a change of meaning. */
    static const char old_origin[] = "UPDATE_REQUESTED_EVENT_ORIGIN_";
    size_t prefix = strlen(values->prefix);
    const char *bare = text;
    size_t bare_len = len;

    if (len > prefix + 1 && memcmp(text, values->prefix, prefix) == 0 && text[prefix] == '_') {
        bare += prefix + 1;
        bare_len -= prefix + 1;
    } else if (values == &enum_desc_update_admitted_event_origin && len > sizeof(old_origin) - 1 &&
               memcmp(text, old_origin, sizeof(old_origin) - 1) == 0) {
        bare += sizeof(old_origin) - 1;
        bare_len -= sizeof(old_origin) - 1;
    }
    for (size_t i = 0; i < values->count; i++) {
        const char *name = values->values[i].name;
        if (text_is(name, bare, bare_len) || camel_matches(name, bare, bare_len)) {
            *ret_number = values->values[i].number;
            return true;
        }
    }
    return false;
}

enum event_type event_type_parse(const char *name, size_t len)
{
    static const char prefix[] = "EVENT_TYPE_";
    size_t skip = 0;

    if (len > sizeof(prefix) - 1 && memcmp(name, prefix, sizeof(prefix) - 1) == 0) {
        skip = sizeof(prefix) - 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        const char *upper = events[i].name + sizeof(prefix) - 1;
        if (text_is(upper, name + skip, len - skip) ||
            (skip == 0 && text_is(events[i].title, name, len))) {
            return events[i].type;
        }
    }
    return EVENT_UNKNOWN;
}

const char *event_type_name(enum event_type type)
{
    const struct event_desc *desc = event_desc(type);

    return desc ? desc->name : "EVENT_TYPE_UNSPECIFIED";
}

const char *event_type_title(enum event_type type)
{
    const struct event_desc *desc = event_desc(type);

    return desc ? desc->title : "Unknown";
}

bool field_is_zero(const void *message, const struct field_desc *field)
{
    const void *at = field_in(message, field);

    switch (field->kind) {
    case FIELD_STR:
    case FIELD_NAME:
    case FIELD_RAW:
        return *(const char *const *)at == NULL;
    case FIELD_I64:
    case FIELD_DUR:
    case FIELD_TIME:
        return *(const int64_t *)at == 0;
    case FIELD_I32:
    case FIELD_ENUM:
        return *(const int32_t *)at == 0;
    case FIELD_BOOL:
        return !*(const bool *)at;
    case FIELD_DOUBLE: {
        /* -0.0 and NaN are something. */
        static const double zero = 0.0;
        return memcmp(at, &zero, sizeof(zero)) == 0;
    }
    case FIELD_ENUMS:
        return ((const struct enum_list *)at)->count == 0;
    case FIELD_U32S:
        return ((const struct u32_list *)at)->count == 0;
    case FIELD_STRS:
        return ((const struct string_list *)at)->count == 0;
    case FIELD_MSG:
    case FIELD_PAYLOAD:
    case FIELD_PAYLOADS:
    case FIELD_PAYLOAD_MAP:
    case FIELD_PAYLOADS_MAP:
        return *(const void *const *)at == NULL;
    }
    return true;
}
