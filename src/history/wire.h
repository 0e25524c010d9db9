/*
 * wire.h - the shape of every message of a history on protobuf's wire.
 *
 * Owns: the tables made from event_list.h, value_list.h and raw_list.h: numbers, kinds, JSON names.
 * The walks over them are proto_read.c's and proto_write.c's business. Read-only, so any thread.
 * Must not: be included outside history/.
 */
#ifndef HISTORY_WIRE_H
#define HISTORY_WIRE_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "history/field.h"

/* Where the binary form keeps what it has no place for otherwise (proto.h). */
#define WIRE_JSON_FIELD 64999
#define WIRE_UNKNOWN_KEY "$protobuf"

enum wire_kind {
    WIRE_STR,
    WIRE_BYTES,
    WIRE_I64,
    WIRE_I32,
    WIRE_U32,
    WIRE_BOOL,
    WIRE_DOUBLE,
    WIRE_FLOAT,
    WIRE_DUR,
    WIRE_TIME,
    WIRE_ENUM,
    WIRE_EVENT_TYPE,
    WIRE_MSG,
};

enum wire_shape { WIRE_ONE, WIRE_LIST, WIRE_MAP }; /* a map's key is text; kind is its value's */

struct wire_message;

struct wire_field {
    const char *json;
    uint16_t number;
    uint8_t kind;
    uint8_t shape;
    const struct wire_message *message; /* WIRE_MSG */
    const struct enum_desc *values;     /* WIRE_ENUM */
};

struct wire_message {
    const struct wire_field *fields;
    size_t count;
};

extern const struct wire_message wire_event; /* HistoryEvent */

/* By its name in the lists: "failure", "payloads", "fields". NULL: there is none. */
const struct wire_message *wire_message_find(const char *name);

/* By camelCase or snake_case name; NULL: no such field. */
const struct wire_field *wire_field_find(const struct wire_message *message, const char *key,
                                         size_t len);

/* A message's JSON form from its bytes (proto_read.c). err: "BadHistory". */
int wire_tell(struct arena *scratch, const struct wire_message *message, const void *bytes,
              size_t len, struct str *ret_json, struct err *err);
/* The inverse: the fields of a message from its JSON form (proto_write.c). */
void wire_put(struct str *out, const struct wire_message *message, const struct json *object);

#endif
