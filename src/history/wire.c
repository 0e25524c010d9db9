/*
 * wire.c - the tables of wire.h, made from the lists, and the look-up by name.
 *
 * Owns: which kind of struct member (event_list.h) is what on the wire. All data is constant.
 * Tests: tests/unit/test_history_proto.c
 */
#include "history/wire.h"

#include <string.h>

#include "history/raw_list.h"

#define DECLARE_WIRE_(c_name, upper) static const struct wire_message wire_##c_name;
MESSAGE_LIST(DECLARE_WIRE_)
RAW_MESSAGE_LIST(DECLARE_WIRE_)

/* kind, shape, message, values of each KIND of the lists */
#define SHAPE_STR(d) WIRE_STR, WIRE_ONE, NULL, NULL
#define SHAPE_BYTES(d) WIRE_BYTES, WIRE_ONE, NULL, NULL
#define SHAPE_NAME(d) WIRE_MSG, WIRE_ONE, &wire_name, NULL
#define SHAPE_I64(d) WIRE_I64, WIRE_ONE, NULL, NULL
#define SHAPE_I32(d) WIRE_I32, WIRE_ONE, NULL, NULL
#define SHAPE_U32(d) WIRE_U32, WIRE_ONE, NULL, NULL
#define SHAPE_BOOL(d) WIRE_BOOL, WIRE_ONE, NULL, NULL
#define SHAPE_DOUBLE(d) SHAPE_DOUBLE_##d, WIRE_ONE, NULL, NULL
#define SHAPE_DOUBLE_none WIRE_DOUBLE
#define SHAPE_DOUBLE_single WIRE_FLOAT
#define SHAPE_DUR(d) WIRE_DUR, WIRE_ONE, NULL, NULL
#define SHAPE_TIME(d) WIRE_TIME, WIRE_ONE, NULL, NULL
#define SHAPE_ENUM(d) WIRE_ENUM, WIRE_ONE, NULL, &enum_desc_##d
#define SHAPE_ENUMS(d) WIRE_ENUM, WIRE_LIST, NULL, &enum_desc_##d
#define SHAPE_EVENT_TYPE(d) WIRE_EVENT_TYPE, WIRE_ONE, NULL, NULL
#define SHAPE_U32S(d) WIRE_U32, WIRE_LIST, NULL, NULL
#define SHAPE_STRS(d) WIRE_STR, WIRE_LIST, NULL, NULL
#define SHAPE_MSG(d) WIRE_MSG, WIRE_ONE, &wire_##d, NULL
#define SHAPE_RAWS(d) WIRE_MSG, WIRE_LIST, &wire_##d, NULL
#define SHAPE_STR_MAP(d) WIRE_STR, WIRE_MAP, NULL, NULL
#define SHAPE_BYTES_MAP(d) WIRE_BYTES, WIRE_MAP, NULL, NULL
#define SHAPE_MSG_MAP(d) WIRE_MSG, WIRE_MAP, &wire_##d, NULL
#define SHAPE_PAYLOAD(d) SHAPE_MSG(payload)
#define SHAPE_PAYLOADS(d) SHAPE_MSG(payloads)
#define SHAPE_PAYLOAD_MAP(d) SHAPE_MSG(d)
#define SHAPE_PAYLOADS_MAP(d) SHAPE_MSG_MAP(payloads)
#define SHAPE_RAW(d) SHAPE_RAW_##d
#define SHAPE_RAW_reset_points SHAPE_MSG(reset_points)
#define SHAPE_RAW_version_stamp SHAPE_MSG(version_stamp)
#define SHAPE_RAW_callbacks SHAPE_RAWS(callback)
#define SHAPE_RAW_versioning_override SHAPE_MSG(versioning_override)
#define SHAPE_RAW_deployment_version SHAPE_MSG(deployment_version)
#define SHAPE_RAW_auto_upgrade_info SHAPE_MSG(auto_upgrade_info)
#define SHAPE_RAW_declined_upgrade SHAPE_MSG(declined_upgrade)
#define SHAPE_RAW_time_skipping SHAPE_MSG(time_skipping)
#define SHAPE_RAW_time_skipping_state SHAPE_MSG(time_skipping_state)
#define SHAPE_RAW_deployment SHAPE_MSG(deployment)
#define SHAPE_RAW_metering SHAPE_MSG(metering)
#define SHAPE_RAW_links SHAPE_RAWS(link)
#define SHAPE_RAW_string_map SHAPE_STR_MAP(none)
#define SHAPE_RAW_update_options SHAPE_RAWS(update_options_item)

#define FIELD_ROW_(owner, kind, member, json, number, detail) {#json, number, SHAPE_##kind(detail)},
#define WIRE_ROW_(kind, json, number, detail) {#json, number, SHAPE_##kind(detail)},

/* A zero row at the end keeps tables without fields legal; count leaves it out. */
#define MESSAGE_TABLE_(c_name, upper)                                                              \
    static const struct wire_field fields_##c_name[] = {FIELDS_##upper(FIELD_ROW_, none){0}};      \
    static const struct wire_message wire_##c_name = {fields_##c_name,                             \
                                                      ARRAY_LEN(fields_##c_name) - 1};
MESSAGE_LIST(MESSAGE_TABLE_)

#define RAW_TABLE_(c_name, upper)                                                                  \
    static const struct wire_field fields_##c_name[] = {WIRES_##upper(WIRE_ROW_){0}};              \
    static const struct wire_message wire_##c_name = {fields_##c_name,                             \
                                                      ARRAY_LEN(fields_##c_name) - 1};
RAW_MESSAGE_LIST(RAW_TABLE_)

#define EVENT_TABLE_(number, upper, c_name, title, json, oneof)                                    \
    static const struct wire_field fields_ev_##c_name[] = {FIELDS_##upper(FIELD_ROW_, none){0}};   \
    static const struct wire_message wire_ev_##c_name = {fields_ev_##c_name,                       \
                                                         ARRAY_LEN(fields_ev_##c_name) - 1};
EVENT_LIST(EVENT_TABLE_)

#define EVENT_ROW_(number, upper, c_name, title, json, oneof)                                      \
    {#json "EventAttributes", oneof, WIRE_MSG, WIRE_ONE, &wire_ev_##c_name, NULL},
static const struct wire_field fields_event[] = {WIRES_EVENT(WIRE_ROW_) EVENT_LIST(EVENT_ROW_)};
const struct wire_message wire_event = {fields_event, ARRAY_LEN(fields_event)};

#define NAMED_(c_name, upper) {#c_name, &wire_##c_name},
static const struct {
    const char *name;
    const struct wire_message *message;
} named[] = {MESSAGE_LIST(NAMED_) RAW_MESSAGE_LIST(NAMED_)};

const struct wire_message *wire_message_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        if (strcmp(named[i].name, name) == 0) {
            return named[i].message;
        }
    }
    return NULL;
}

/* Does key spell the camelCase name, in camelCase or in snake_case? */
static bool name_fits(const char *name, const char *key, size_t len)
{
    size_t at = 0;

    if (strlen(name) == len && memcmp(name, key, len) == 0) {
        return true;
    }
    for (; *name; name++) {
        char want = *name;
        if (want >= 'A' && want <= 'Z') {
            if (at >= len || key[at++] != '_') {
                return false;
            }
            want = (char)(want - 'A' + 'a');
        }
        if (at >= len || key[at++] != want) {
            return false;
        }
    }
    return at == len;
}

const struct wire_field *wire_field_find(const struct wire_message *message, const char *key,
                                         size_t len)
{
    for (size_t i = 0; i < message->count; i++) {
        if (name_fits(message->fields[i].json, key, len)) {
            return &message->fields[i];
        }
    }
    return NULL;
}
