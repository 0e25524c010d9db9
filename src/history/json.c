/*
 * json.c - the envelope of events, and printing whole histories.
 *
 * Owns: which members an event has around its attributes. The attributes themselves are
 * codec_read.c's and codec_print.c's business, containers source.c's.
 * Tests: tests/unit/test_history_json.c, tests/fuzz/fuzz_history.c
 */
#include "history/json.h"

#include <string.h>

#include "base/json.h"
#include "history/codec.h"

/* Members of the envelope that have a place in struct event. */
enum member {
    MEMBER_OTHER,
    MEMBER_ID,
    MEMBER_TIME,
    MEMBER_TYPE,
    MEMBER_VERSION,
    MEMBER_TASK_ID,
    MEMBER_MAY_IGNORE,
    MEMBER_USER_METADATA,
    MEMBER_ATTRIBUTES
};

static const struct {
    const char *json;
    const char *snake;
    enum member member;
} members[] = {
    {"eventId", "event_id", MEMBER_ID},
    {"eventTime", "event_time", MEMBER_TIME},
    {"eventType", "event_type", MEMBER_TYPE},
    {"version", "version", MEMBER_VERSION},
    {"taskId", "task_id", MEMBER_TASK_ID},
    {"workerMayIgnore", "worker_may_ignore", MEMBER_MAY_IGNORE},
    {"userMetadata", "user_metadata", MEMBER_USER_METADATA},
};

static bool key_ends(const struct json *member, const char *end)
{
    size_t len = strlen(end);

    return member->key_len > len && memcmp(member->key + member->key_len - len, end, len) == 0;
}

/* The event type whose attributes member has this key; EVENT_UNKNOWN when there is none. */
static enum event_type attributes_type(const struct json *member)
{
    if (!key_ends(member, "EventAttributes") && !key_ends(member, "_event_attributes")) {
        return EVENT_UNKNOWN;
    }
    for (size_t i = 0; i < EVENT_TYPE_MAX; i++) {
        const struct event_desc *desc = event_desc_at(i);
        if (member_is(member, desc->attributes) || member_is(member, desc->attributes_snake)) {
            return desc->type;
        }
    }
    return EVENT_UNKNOWN;
}

static enum member classify(const struct event_desc *desc, const struct json *member)
{
    if (desc &&
        (member_is(member, desc->attributes) || member_is(member, desc->attributes_snake))) {
        return MEMBER_ATTRIBUTES;
    }
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (member_is(member, members[i].json) || member_is(member, members[i].snake)) {
            return members[i].member;
        }
    }
    return MEMBER_OTHER;
}

/* The type as told, or as the attributes member tells it when eventType is missing. */
static enum event_type find_type(const struct json *object)
{
    enum event_type guess = EVENT_UNKNOWN;

    json_each (member, object) {
        int64_t number = 0;
        if (member_is(member, "eventType") || member_is(member, "event_type")) {
            if (member->type == JSON_STRING) {
                return event_type_parse(member->text, member->text_len);
            }
            if (member->type == JSON_NUMBER && json_i64(member, &number)) {
                return number > 0 && number <= EVENT_TYPE_MAX ? (enum event_type)number
                                                              : EVENT_UNKNOWN;
            }
        } else if (guess == EVENT_UNKNOWN && member->type != JSON_NULL) {
            guess = attributes_type(member);
        }
    }
    return guess;
}

static int bad_member(struct reader *r, const struct json *member, const char *what)
{
    return err_set(r->err, ERR_PERMANENT, "BadHistory", "%.*s: %s", (int)member->key_len,
                   member->key, what);
}

static int i64_member(struct reader *r, const struct json *member, int64_t *ret)
{
    if ((member->type != JSON_NUMBER && member->type != JSON_STRING) || !json_i64(member, ret)) {
        return bad_member(r, member, "must be an integer of 64 bits");
    }
    return 0;
}

/* Returns 1 when the value has no place in the event. */
static int time_member(struct reader *r, const struct json *member, struct event *event)
{
    if (member->type != JSON_STRING) {
        return bad_member(r, member, "must be a string");
    }
    if (wire_time_parse(member->text, member->text_len, &event->time_ns, &event->time_digits)) {
        event->time_digits = wire_time_digits(event->time_ns, event->time_digits);
        event->no_time = false;
        return 0;
    }
    if (member->text_len >= 20 && member->text[10] == 'T') {
        return 1; /* the year 1, as Go writes no time */
    }
    return bad_member(r, member, "is no RFC 3339 time such as \"2026-01-02T03:04:05Z\"");
}

static int other_member(struct reader *r, const struct json *member, const struct event *event)
{
    enum event_type type = attributes_type(member);

    if (event->type != EVENT_UNKNOWN && type != EVENT_UNKNOWN) {
        return err_set(r->err, ERR_PERMANENT, "BadHistory",
                       "%.*s on an event of type %s, which has %s", (int)member->key_len,
                       member->key, event_type_name(event->type),
                       event_desc(event->type)->attributes);
    }
    return 1;
}

/* One member into the event. Returns 1 when it is to be kept as unknown. */
static int member_read(struct reader *r, const struct event_desc *desc, const struct json *member,
                       struct event *event)
{
    switch (classify(desc, member)) {
    case MEMBER_ID:
        return i64_member(r, member, &event->id);
    case MEMBER_TIME:
        return time_member(r, member, event);
    case MEMBER_TYPE:
        return event->type == EVENT_UNKNOWN;
    case MEMBER_VERSION:
        return i64_member(r, member, &event->version);
    case MEMBER_TASK_ID:
        return i64_member(r, member, &event->task_id);
    case MEMBER_MAY_IGNORE:
        if (member->type != JSON_BOOL) {
            return bad_member(r, member, "must be true or false");
        }
        event->worker_may_ignore = member->boolean;
        return 0;
    case MEMBER_USER_METADATA:
        return reader_raw(r, member, &event->user_metadata);
    case MEMBER_ATTRIBUTES:
        if (!event->no_attributes) {
            return bad_member(r, member, "given twice");
        }
        event->no_attributes = false;
        if (message_read(r, &desc->message, member, event->attributes, NULL) < 0) {
            return err_wrap(r->err, "%s", desc->attributes);
        }
        return 0;
    case MEMBER_OTHER:
        return other_member(r, member, event);
    }
    return 1;
}

static int event_read(struct reader *r, const struct json *object, struct event *event)
{
    autostr struct str unknown = {0};
    bool has_type = false;

    if (object->type != JSON_OBJECT) {
        return err_set(r->err, ERR_PERMANENT, "BadHistory", "must be an object");
    }
    event_init(event, r->arena, find_type(object));
    const struct event_desc *desc = event_desc(event->type);
    event->no_attributes = desc != NULL;
    event->no_time = true;
    json_each (member, object) {
        if (member->type == JSON_NULL) {
            continue;
        }
        if (classify(desc, member) == MEMBER_TYPE) {
            if (has_type) { /* in both spellings: which of them is it? */
                return bad_member(r, member, "given twice");
            }
            has_type = true;
        }
        int rc = member_read(r, desc, member, event);
        if (rc < 0) {
            return rc;
        }
        if (rc > 0) {
            unknown_add(r, &unknown, member);
        }
    }
    if (unknown.len > 0) {
        event->unknown = arena_strndup(r->arena, unknown.ptr, unknown.len);
    }
    return reader_depth(r);
}

int event_from_tree(struct arena *arena, const struct json *object, struct event *ret_event,
                    struct err *err)
{
    struct reader r = {.arena = arena, .err = err, .form = CODEC_WIRE};
    struct event event = {0};
    int rc = event_read(&r, object, &event);

    reader_close(&r);
    if (rc == 0) {
        *ret_event = event;
    }
    return rc;
}

int event_from_json(struct arena *arena, const char *text, size_t len, struct event *ret_event,
                    struct err *err)
{
    autoarena struct arena *tree = arena_new();
    const struct json *root = NULL;

    if (json_parse(tree, text, len, &root, err) < 0) {
        return err_wrap(err, "event");
    }
    return event_from_tree(arena, root, ret_event, err);
}

int failure_from_json(struct arena *arena, const char *text, size_t len,
                      struct failure **ret_failure, struct err *err)
{
    autoarena struct arena *tree = arena_new();
    struct reader r = {.arena = arena, .err = err, .form = CODEC_WIRE};
    struct failure *failure = arena_new_of(arena, struct failure);
    const struct json *root = NULL;

    if (json_parse(tree, text, len, &root, err) < 0) {
        return err_wrap(err, "failure");
    }
    int rc = message_read(&r, &message_desc_failure, root, failure, NULL);
    reader_close(&r);
    if (rc < 0 || reader_depth(&r) < 0) {
        return err_wrap(err, "failure");
    }
    *ret_failure = failure;
    return 0;
}

/* --- printing --- */

static void put_time(struct printer *p, int64_t ns, uint8_t digits)
{
    autostr struct str text = {0};

    wire_time_format(&text, ns, digits);
    json_put_strn(&p->w, str_c(&text), text.len);
}

static void i64_opt(struct printer *p, const char *key, int64_t value)
{
    if (value != 0) {
        json_key(&p->w, key);
        json_put_i64_text(&p->w, value);
    }
}

void event_to_json(struct str *out, const struct event *event)
{
    struct printer p = printer_new(out, CODEC_WIRE);
    const struct event_desc *desc = event_desc(event->type);

    json_begin_object(&p.w);
    json_key(&p.w, "eventId");
    json_put_i64_text(&p.w, event->id);
    if (!event->no_time) {
        json_key(&p.w, "eventTime");
        put_time(&p, event->time_ns, event->time_digits);
    }
    if (desc) {
        json_kv_str(&p.w, "eventType", desc->name);
    }
    i64_opt(&p, "version", event->version);
    i64_opt(&p, "taskId", event->task_id);
    if (desc && !event->no_attributes) {
        json_key(&p.w, desc->attributes);
        message_print(&p, &desc->message, event->attributes);
    }
    if (event->worker_may_ignore) {
        json_kv_bool(&p.w, "workerMayIgnore", true);
    }
    if (event->user_metadata) {
        json_key(&p.w, "userMetadata");
        json_put_raw(&p.w, event->user_metadata, strlen(event->user_metadata));
    }
    unknown_print(&p, event->unknown);
    json_end_object(&p.w);
}

void history_json_begin(struct str *out)
{
    str_add(out, "{\"events\":[");
}

void history_json_event(struct str *out, const struct event *event, bool first)
{
    str_add(out, first ? "\n" : ",\n");
    event_to_json(out, event);
}

void history_json_end(struct str *out, const char *unknown)
{
    str_add(out, "\n]");
    if (unknown) {
        str_addc(out, ',');
        str_add(out, unknown);
    }
    str_add(out, "}\n");
}

void history_to_json(struct str *out, const struct history *history)
{
    history_json_begin(out);
    for (size_t i = 0; i < history->count; i++) {
        history_json_event(out, &history->items[i], i == 0);
    }
    history_json_end(out, history->unknown);
}

void failure_to_json(struct str *out, const struct failure *failure)
{
    struct printer p = printer_new(out, CODEC_WIRE);

    message_print(&p, &message_desc_failure, failure);
}

void payload_to_json(struct str *out, const struct payload *payload)
{
    static const struct field_desc field = {.kind = FIELD_PAYLOAD};
    struct printer p = printer_new(out, CODEC_WIRE);

    field_print(&p, &field, &payload);
}
