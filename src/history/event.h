/*
 * event.h - one history event in memory, and the whole history.
 *
 * Owns: the C structs made from event_list.h and value_list.h, payloads, and their constructors.
 * Everything lives in an arena and is plain data: no destructor, no hidden state. Strings are
 * NUL-terminated UTF-8; a zeroed struct is a valid empty message; 0, NULL and false mean absent.
 * Must not: know JSON, clocks, stores or threads.
 *
 *   struct event *ev = event_new(arena, EVENT_ACTIVITY_TASK_SCHEDULED);
 *   struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(ev);
 *   a->activity_id = "1";
 *   a->input = payloads_json(arena, "{\"name\":\"ada\"}");
 *
 * Members carry the protobuf's field names (event_list.h says which). Each struct starts with a
 * `head` that only the codecs use: it keeps what a round trip must not lose.
 */
#ifndef HISTORY_EVENT_H
#define HISTORY_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "history/event_list.h"
#include "history/value_list.h"

/* --- enumerations: enum timeout_type { TIMEOUT_TYPE_UNSPECIFIED = 0, ... } --- */
#define ENUM_VALUE_(prefix, name, number) prefix##_##name = (number),
#define ENUM_TYPE_(c_name, prefix) enum c_name { VALUES_##prefix(ENUM_VALUE_) };
ENUM_LIST(ENUM_TYPE_)
#undef ENUM_TYPE_
#undef ENUM_VALUE_

/* EVENT_TIMER_FIRED and so on. 0 is an event of a type that this program does not know. */
#define EVENT_VALUE_(number, name, c_name, title, json, oneof) EVENT_##name = (number),
enum event_type { EVENT_UNKNOWN = 0, EVENT_LIST(EVENT_VALUE_) };
#undef EVENT_VALUE_
#define EVENT_TYPE_MAX 60

/* --- values --- */

/* Opaque bytes with metadata. encoding is metadata["encoding"], the usual ones being
 * "json/plain" (data is JSON text), "binary/null" (no data), "binary/plain". NULL: none given. */
struct payload {
    const char *encoding;
    const char *data; /* len bytes, always followed by a NUL; NULL when len is 0 */
    size_t len;
    struct payload_meta *meta; /* further metadata entries in the order given, or NULL */
    const char *unknown;       /* see message_head */
};

struct payload_meta {
    const char *key;
    const char *value; /* bytes, followed by a NUL */
    size_t len;
    struct payload_meta *next;
};

struct payloads {
    struct payload *items;
    size_t count;
    const char *unknown;
};

/* Header, memo, search attributes: keys are unique, order is kept. */
struct payload_entry {
    const char *key;
    struct payload payload;
};

struct payload_map {
    struct payload_entry *items;
    size_t count;
    const char *unknown;
};

/* Marker details. */
struct payloads_entry {
    const char *key;
    struct payloads payloads;
};

struct payloads_map {
    struct payloads_entry *items;
    size_t count;
};

struct string_list {
    const char **items;
    size_t count;
};

struct u32_list {
    uint32_t *items;
    size_t count;
};

struct enum_list {
    int32_t *items;
    size_t count;
};

/* First member of every message. */
struct message_head {
    uint64_t set_zero;   /* bit i: field i was given although it is zero ("0s", "1970-...") */
    const char *unknown; /* members that we do not know, as JSON text: "a":1,"b":[2]; or NULL */
};

/* --- messages: struct task_queue, struct failure, struct ev_timer_fired, ... --- */
#define MEMBER_STR_(name, detail) const char *name;
#define MEMBER_NAME_(name, detail) const char *name;
#define MEMBER_RAW_(name, detail) const char *name;
#define MEMBER_I64_(name, detail) int64_t name;
#define MEMBER_I32_(name, detail) int32_t name;
#define MEMBER_BOOL_(name, detail) bool name;
#define MEMBER_DOUBLE_(name, detail) double name;
#define MEMBER_DUR_(name, detail) int64_t name;
#define MEMBER_TIME_(name, detail) int64_t name;
#define MEMBER_ENUM_(name, detail) enum detail name;
#define MEMBER_ENUMS_(name, detail) struct enum_list name;
#define MEMBER_U32S_(name, detail) struct u32_list name;
#define MEMBER_STRS_(name, detail) struct string_list name;
#define MEMBER_MSG_(name, detail) struct detail *name;
#define MEMBER_PAYLOAD_(name, detail) struct payload *name;
#define MEMBER_PAYLOADS_(name, detail) struct payloads *name;
#define MEMBER_PAYLOAD_MAP_(name, detail) struct payload_map *name;
#define MEMBER_PAYLOADS_MAP_(name, detail) struct payloads_map *name;
#define MEMBER_(owner, kind, name, json, number, detail) MEMBER_##kind##_(name, detail)

#define MESSAGE_STRUCT_(c_name, upper)                                                             \
    struct c_name {                                                                                \
        struct message_head head;                                                                  \
        FIELDS_##upper(MEMBER_, c_name)                                                            \
    };
MESSAGE_LIST(MESSAGE_STRUCT_)
#undef MESSAGE_STRUCT_

#define EVENT_STRUCT_(number, upper, c_name, title, json, oneof)                                   \
    struct ev_##c_name {                                                                           \
        struct message_head head;                                                                  \
        FIELDS_##upper(MEMBER_, c_name)                                                            \
    };
EVENT_LIST(EVENT_STRUCT_)
#undef EVENT_STRUCT_

/* --- the event --- */
struct event {
    int64_t id; /* 1..n */
    enum event_type type;
    bool worker_may_ignore;
    bool no_attributes;  /* the source had no attributes; attributes is an empty struct then */
    uint8_t time_digits; /* 3, 6 or 9 fraction digits where the source wrote more than needed */
    bool no_time;        /* the source gave no eventTime */
    int64_t time_ns;     /* since 1970 UTC; not monotone in id */
    int64_t task_id;     /* 0 absent; means nothing to a replay */
    int64_t version;     /* 0 absent */
    void *attributes;    /* struct ev_<type>; never NULL for a known type; NULL for EVENT_UNKNOWN */
    const char *user_metadata; /* compact JSON text or NULL */
    const char *unknown; /* further members of the envelope, incl. attributes of unknown types */
};

struct history {
    struct event *items;
    size_t count;
    size_t cap;
    const char *unknown; /* further members beside "events", as JSON text, or NULL */
};

/* Zeroed event with its attributes struct, in arena. type must be a known one. */
struct event *event_new(struct arena *arena, enum event_type type);
/* The same, in place. */
void event_init(struct event *event, struct arena *arena, enum event_type type);

/* Room for at least one more item, by copying. */
void history_grow(struct history *history, struct arena *arena);
/* Append a zeroed event, give it id count + 1 and return it. The pointer (and all earlier ones into
 * items) is valid until the next append; the attributes stay where they are. */
struct event *history_append(struct history *history, struct arena *arena, enum event_type type);

/* ev_timer_fired(event): the attributes, typed. Asserts that the event is of that type. */
void *event_attributes_(const struct event *event, enum event_type type);
#define EVENT_CAST_(number, upper, c_name, title, json, oneof)                                     \
    static inline struct ev_##c_name *ev_##c_name(const struct event *event)                       \
    {                                                                                              \
        return (struct ev_##c_name *)event_attributes_(event, EVENT_##upper);                      \
    }
EVENT_LIST(EVENT_CAST_)
#undef EVENT_CAST_

/* "EVENT_TYPE_TIMER_FIRED" / "TimerFired"; never NULL ("EVENT_TYPE_UNSPECIFIED" / "Unknown"). */
const char *event_type_name(enum event_type type);
const char *event_type_title(enum event_type type);
/* Either spelling. EVENT_UNKNOWN when there is no such type. */
enum event_type event_type_parse(const char *name, size_t len);

/* Classes. command: written because workflow code asked for it, directly
 * behind WORKFLOW_TASK_COMPLETED. close: ends the run. buffered: held back while a workflow task is
 * between STARTED and its outcome. */
bool event_is_command(enum event_type type);
bool event_is_close(enum event_type type);
bool event_is_buffered(enum event_type type);
bool event_is_workflow_task(enum event_type type);

/* What the event says of itself, whatever its type: 0 when it has no such field. */
int64_t event_scheduled_id(const struct event *event); /* scheduled_event_id */
int64_t event_started_id(const struct event *event);   /* started_event_id */
int64_t event_initiated_id(const struct event *event); /* initiated_event_id */
int64_t event_completed_id(const struct event *event); /* workflow_task_completed_event_id */
/* Sets that back reference in a command's event; nothing when the type has none. */
void event_set_completed_id(struct event *event, int64_t id);
/* The event whose activity, timer, child or request this one brings to an end; 0: none. */
int64_t event_ends_id(const struct event *event);

/* Deep copy: dst (any memory) shares nothing with src, everything it points to is in arena. */
void event_copy(struct event *dst, const struct event *src, struct arena *arena);

/* --- payload helpers --- */
/* One json/plain payload of that JSON text (copied; not checked). NULL text gives binary/null. */
struct payloads *payloads_json(struct arena *arena, const char *json);
struct payloads *payloads_jsonn(struct arena *arena, const char *json, size_t len);
void payload_set(struct payload *payload, struct arena *arena, const char *encoding,
                 const void *data, size_t len);
/* The JSON text of the first payload: borrowed, "null" for binary/null, NULL when there is no
 * payload or it is not JSON. *ret_len may be NULL. */
const char *payloads_first_json(const struct payloads *payloads, size_t *ret_len);
/* Value of one key; NULL when absent. */
const struct payload *payload_map_get(const struct payload_map *map, const char *key);
const struct payloads *payloads_map_get(const struct payloads_map *map, const char *key);
/* Adds at the end; the map must not hold the key yet. */
void payload_map_add(struct payload_map *map, struct arena *arena, const char *key,
                     const struct payload *payload);
void payloads_map_add(struct payloads_map *map, struct arena *arena, const char *key,
                      const struct payloads *payloads);

/* A queue of kind NORMAL. */
struct task_queue *task_queue_new(struct arena *arena, const char *name);

#endif
