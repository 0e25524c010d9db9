/*
 * field.h - what a codec needs to know of each message: offsets, kinds, names.
 *
 * Owns: the tables made from event_list.h and value_list.h; the walk over them is the codecs'
 * business. Read-only data, so any thread. Must not: be needed outside history/ and temporal/.
 */
#ifndef HISTORY_FIELD_H
#define HISTORY_FIELD_H

#include "history/event.h"

enum field_kind {
    FIELD_STR,
    FIELD_NAME,
    FIELD_RAW,
    FIELD_I64,
    FIELD_I32,
    FIELD_BOOL,
    FIELD_DOUBLE,
    FIELD_DUR,
    FIELD_TIME,
    FIELD_ENUM,
    FIELD_ENUMS,
    FIELD_U32S,
    FIELD_STRS,
    FIELD_MSG,
    FIELD_PAYLOAD,
    FIELD_PAYLOADS,
    FIELD_PAYLOAD_MAP,
    FIELD_PAYLOADS_MAP,
};

struct enum_value {
    const char *name; /* without prefix: "START_TO_CLOSE" */
    int32_t number;
};

struct enum_desc {
    const char *prefix; /* "TIMEOUT_TYPE" */
    const struct enum_value *values;
    size_t count;
};

struct message_desc;

struct field_desc {
    enum field_kind kind;
    uint16_t number; /* protobuf's */
    uint16_t offset; /* in the struct */
    uint8_t json_len;
    uint8_t snake_len;
    const char *json;                   /* "activityType" */
    const char *snake;                  /* "activity_type": the member's name too */
    const struct message_desc *message; /* FIELD_MSG */
    const struct enum_desc *values;     /* FIELD_ENUM, FIELD_ENUMS */
    const char *detail;                 /* FIELD_PAYLOAD_MAP: the wrapper's member name */
};

struct message_desc {
    const char *name; /* "ev_timer_fired", "task_queue" */
    size_t size;
    const struct field_desc *fields;
    size_t count;
};

struct event_desc {
    enum event_type type;
    uint16_t oneof;         /* protobuf number of the attributes member */
    const char *name;       /* "EVENT_TYPE_TIMER_FIRED" */
    const char *title;      /* "TimerFired" */
    const char *attributes; /* "timerFiredEventAttributes" */
    const char *attributes_snake;
    struct message_desc message;
};

#define DECLARE_MESSAGE_(c_name, upper) extern const struct message_desc message_desc_##c_name;
MESSAGE_LIST(DECLARE_MESSAGE_)
#undef DECLARE_MESSAGE_

#define DECLARE_ENUM_(c_name, prefix) extern const struct enum_desc enum_desc_##c_name;
ENUM_LIST(DECLARE_ENUM_)
#undef DECLARE_ENUM_

const struct event_desc *event_desc(enum event_type type); /* NULL for EVENT_UNKNOWN */
const struct event_desc *event_desc_at(size_t index);      /* 0..EVENT_TYPE_MAX-1, for tables */

/* Name without prefix, or NULL when the number has none. */
const char *enum_name(const struct enum_desc *values, int32_t number);
/* "TIMEOUT_TYPE_HEARTBEAT", "HEARTBEAT", "Heartbeat" and historic names. */
bool enum_parse(const struct enum_desc *values, const char *text, size_t len, int32_t *ret_number);
/* All enumerations, for tests. NULL beyond the last. */
const struct enum_desc *enum_desc_at(size_t index);

/* A field's place in a struct. */
static inline void *field_at(void *message, const struct field_desc *field)
{
    return (char *)message + field->offset;
}
static inline const void *field_in(const void *message, const struct field_desc *field)
{
    return (const char *)message + field->offset;
}
/* Zero, NULL, false or an empty list? */
bool field_is_zero(const void *message, const struct field_desc *field);

#endif
