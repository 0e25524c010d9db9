/*
 * source.c - see source.h.
 *
 * Owns: finding the events of a JSON history in its text without a tree of the whole: the text is
 * checked once (base/json.h), and then cut along brackets and quotes.
 * Tests: tests/unit/test_history_source.c, tests/unit/test_history_json.c,
 * tests/fuzz/fuzz_history.c
 */
#include "history/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "history/codec.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/proto_part.h"

/* A piece of checked JSON text. */
struct slice {
    const char *at;
    const char *end;
};

enum source_form { SOURCE_PROTO, SOURCE_ARRAY, SOURCE_SEQUENCE };

struct history_source {
    enum source_form form;
    struct slice rest;             /* ARRAY: behind the last event read; SEQUENCE: of the text */
    struct slice batches;          /* ARRAY: further holders of events, or empty */
    struct part_cursor cursor;     /* PROTO */
    struct proto_decoder *decoder; /* PROTO */
    struct arena *arena;           /* of the source itself */
    struct arena *tree;            /* of one event's JSON */
    struct str unknown;
    size_t index;
};

/* --- cutting ---------------------------------------------------------------------------------- */

static void skip_space(struct slice *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) {
        s->at++;
    }
}

static void skip_string(struct slice *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++) {
        s->at += *s->at == '\\';
    }
    s->at = s->at < s->end ? s->at + 1 : s->end;
}

/* The value that starts at s->at, which is before the end; s moves behind it. */
static struct slice take_value(struct slice *s)
{
    struct slice value = {s->at, s->at};
    int depth = 0;

    do {
        if (*s->at == '"') {
            skip_string(s);
            continue;
        }
        depth += *s->at == '{' || *s->at == '[';
        depth -= *s->at == '}' || *s->at == ']';
        s->at++;
        if (depth == 0 && value.at[0] != '{' && value.at[0] != '[') { /* a number or a word */
            while (s->at < s->end && !strchr(",}] \t\r\n", *s->at)) {
                s->at++;
            }
        }
    } while (depth > 0 && s->at < s->end);
    value.end = s->at;
    return value;
}

/* Inside of an array or object: the next item; false at its end. */
static bool take_item(struct slice *s, struct slice *ret)
{
    skip_space(s);
    if (s->at < s->end && *s->at == ',') {
        s->at++;
        skip_space(s);
    }
    if (s->at >= s->end || *s->at == ']' || *s->at == '}') {
        return false;
    }
    *ret = take_value(s);
    return true;
}

static bool take_member(struct slice *s, struct slice *ret_key, struct slice *ret_value)
{
    if (!take_item(s, ret_key)) {
        return false;
    }
    skip_space(s);
    s->at++; /* the colon */
    skip_space(s);
    *ret_value = take_value(s);
    return true;
}

static struct slice inside(struct slice value)
{
    return (struct slice){value.at + 1, value.end};
}

static bool key_is(struct slice key, const char *name)
{
    size_t len = (size_t)(key.end - key.at);

    return len == strlen(name) + 2 && memcmp(key.at + 1, name, len - 2) == 0;
}

/* The first member of that name; false when there is none, or it is null. */
static bool find_member(struct slice object, const char *name, struct slice *ret)
{
    struct slice s = inside(object), key, value;

    if (object.at == object.end || *object.at != '{') {
        return false;
    }
    while (take_member(&s, &key, &value)) {
        if (key_is(key, name)) {
            *ret = value;
            return *value.at != 'n';
        }
    }
    return false;
}

/* --- containers ------------------------------------------------------------------------------- */

static int refuse(struct err *err)
{
    return err_set(
        err, ERR_PERMANENT, "BadHistory",
        "no history: expected {\"events\":[...]}, an array of events, "
        "{\"history\":{\"events\":[...]}}, events one after the other, or protobuf's binary form");
}

/* The events of {"events":[...]}; what stands beside them is kept. */
static int open_holder(struct history_source *source, struct slice holder, struct err *err)
{
    struct reader r = {.arena = source->arena, .err = err, .form = CODEC_WIRE};
    struct slice events, s = inside(holder), key, value;

    if (!find_member(holder, "events", &events) || *events.at != '[') {
        return refuse(err);
    }
    while (take_member(&s, &key, &value)) {
        const struct json *member = NULL;
        if (value.at == events.at || *value.at == 'n') {
            continue;
        }
        arena_reset(source->tree);
        const char *text = arena_printf(source->tree, "{%.*s:%.*s}", (int)(key.end - key.at),
                                        key.at, (int)(value.end - value.at), value.at);
        if (json_parse(source->tree, text, strlen(text), &member, err) < 0) {
            return err_wrap(err, "history");
        }
        unknown_add(&r, &source->unknown, member->first);
    }
    source->rest = inside(events);
    return reader_depth(&r);
}

static int open_array(struct history_source *source, struct slice root, struct err *err)
{
    struct slice s = inside(root), first, events;

    if (!take_item(&s, &first) || !find_member(first, "events", &events)) {
        source->rest = inside(root);
        return 0;
    }
    source->batches = s;
    return open_holder(source, first, err);
}

static int open_json(struct history_source *source, struct slice root, struct err *err)
{
    struct slice holder;

    source->form = SOURCE_ARRAY;
    if (*root.at == '[') {
        return open_array(source, root, err);
    }
    if (*root.at != '{') {
        return refuse(err);
    }
    if (!find_member(root, "events", &holder) && find_member(root, "history", &holder)) {
        return open_holder(source, holder, err);
    }
    return open_holder(source, root, err);
}

/* The next of several documents, on lines of their own or with commas between; false at the end. Of
 * text that was not checked yet it may be any part. */
static bool take_document(struct slice *s, struct slice *ret)
{
    skip_space(s);
    if (s->at < s->end && *s->at == ',') {
        s->at++;
        skip_space(s);
    }
    if (s->at >= s->end) {
        return false;
    }
    if (*s->at == '{') {
        *ret = take_value(s);
    } else {
        *ret = (struct slice){s->at, s->end};
        s->at = s->end;
    }
    return true;
}

/* Several documents, each an event? */
static bool are_events(struct slice text)
{
    struct slice s = text, document, id;
    size_t count = 0;

    for (; take_document(&s, &document); count++) {
        if (json_check(document.at, (size_t)(document.end - document.at), NULL) < 0 ||
            (!find_member(document, "eventId", &id) && !find_member(document, "event_id", &id))) {
            return false;
        }
    }
    return count > 0;
}

static int open_text(struct history_source *source, struct slice text, struct err *err)
{
    if (text.end - text.at >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) {
        text.at += 3; /* a byte order mark */
    }
    if (are_events(text)) {
        source->form = SOURCE_SEQUENCE;
        source->rest = text;
        return 0;
    }
    if (json_check(text.at, (size_t)(text.end - text.at), err) < 0) {
        return err_wrap(err, "history");
    }
    skip_space(&text);
    return open_json(source, text, err);
}

static int open_proto(struct history_source *source, const void *bytes, size_t len, struct err *err)
{
    source->form = SOURCE_PROTO;
    source->cursor = part_cursor(bytes, len);
    source->decoder = proto_decoder_new();
    return proto_survey(bytes, len, &source->unknown, err);
}

static int open_form(struct history_source **ret, const void *bytes, size_t len, bool proto,
                     struct err *err)
{
    const char *text = bytes;

    *ret = NULL;
    if (len > HISTORY_BYTES_MAX) {
        return err_set(err, ERR_PERMANENT, "BadHistory",
                       "the history has %zu bytes; %u is the limit", len, HISTORY_BYTES_MAX);
    }
    struct history_source *source = mem_alloc(sizeof(*source));
    source->arena = arena_new();
    source->tree = arena_new();
    int rc = proto ? open_proto(source, bytes, len, err)
                   : open_text(source, (struct slice){text, text + len}, err);
    if (rc < 0) {
        history_source_free(source);
        return rc;
    }
    *ret = source;
    return 0;
}

int history_source_open(struct history_source **ret, const void *bytes, size_t len, struct err *err)
{
    return open_form(ret, bytes, len, bytes_are_proto(bytes, len), err);
}

struct history_source *history_source_free(struct history_source *source)
{
    if (source) {
        str_free(&source->unknown);
        proto_decoder_free(source->decoder);
        arena_free(source->arena);
        arena_free(source->tree);
        free(source);
    }
    return NULL;
}

/* --- events ----------------------------------------------------------------------------------- */

/* The next batch of an array of them. */
static int next_batch(struct history_source *source, struct err *err)
{
    struct slice batch, events;

    if (source->batches.at == source->batches.end || !take_item(&source->batches, &batch)) {
        return 1;
    }
    if (!find_member(batch, "events", &events) || *events.at != '[') {
        return err_set(err, ERR_PERMANENT, "BadHistory", "a batch after event %zu has no events",
                       source->index);
    }
    source->rest = inside(events);
    return 0;
}

static int next_text(struct history_source *source, struct slice *ret, struct err *err)
{
    if (source->form == SOURCE_SEQUENCE) {
        return take_document(&source->rest, ret) ? 0 : 1;
    }
    while (!take_item(&source->rest, ret)) {
        int rc = next_batch(source, err);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int next_json(struct history_source *source, struct arena *arena, struct event *ret,
                     struct err *err)
{
    const struct json *object = NULL;
    struct slice text;
    int64_t id = 0;

    int rc = next_text(source, &text, err);
    if (rc != 0) {
        return rc;
    }
    arena_reset(source->tree);
    if (json_parse(source->tree, text.at, (size_t)(text.end - text.at), &object, err) < 0) {
        return err_wrap(err, "history");
    }
    if (event_from_tree(arena, object, ret, err) < 0) {
        if (object->type == JSON_OBJECT && !json_get_i64(object, "eventId", &id)) {
            json_get_i64(object, "event_id", &id);
        }
        return err_wrap(err, "event at index %zu (id %lld)", source->index, (long long)id);
    }
    return 0;
}

static int next_proto(struct history_source *source, struct arena *arena, struct event *ret,
                      struct err *err)
{
    struct part part;

    while (source->cursor.at < source->cursor.end && part_take(&source->cursor, &part)) {
        if (part.number == 1 && part.type == PART_BYTES) {
            if (proto_decode(source->decoder, arena, part.data, part.len, ret, err) < 0) {
                return err_wrap(err, "event at index %zu", source->index);
            }
            return 0;
        }
    }
    return 1;
}

int history_source_next(struct history_source *source, struct arena *arena, struct event *ret,
                        struct err *err)
{
    int rc = source->form == SOURCE_PROTO ? next_proto(source, arena, ret, err)
                                          : next_json(source, arena, ret, err);

    source->index += rc == 0;
    return rc;
}

bool history_source_is_proto(const struct history_source *source)
{
    return source->form == SOURCE_PROTO;
}

size_t history_source_index(const struct history_source *source)
{
    return source->index;
}

const char *history_source_unknown(const struct history_source *source)
{
    return source->unknown.len > 0 ? str_c(&source->unknown) : NULL;
}

/* --- whole histories -------------------------------------------------------------------------- */

/* Temporal's servers and its UI also list a history newest first. */
static void turn_round(struct history *history)
{
    size_t count = history->count;

    for (size_t i = 0; i < count; i++) {
        if (history->items[i].id != (int64_t)(count - i)) {
            return;
        }
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct event event = history->items[i];
        history->items[i] = history->items[count - 1 - i];
        history->items[count - 1 - i] = event;
    }
}

static int read_all(struct history_source *source, struct arena *arena, struct history *ret,
                    struct err *err)
{
    struct history history = {0};
    int rc;

    do {
        if (history.count == history.cap) {
            history_grow(&history, arena);
        }
        rc = history_source_next(source, arena, &history.items[history.count], err);
        history.count += rc == 0;
    } while (rc == 0);
    if (rc < 0) {
        return rc;
    }
    turn_round(&history);
    history.unknown = arena_strdup(arena, history_source_unknown(source));
    *ret = history;
    return 0;
}

int history_from_bytes(struct arena *arena, const void *bytes, size_t len,
                       struct history *ret_history, struct err *err)
{
    autosource struct history_source *source = NULL;

    return history_source_open(&source, bytes, len, err) < 0
               ? -1
               : read_all(source, arena, ret_history, err);
}

int history_from_json(struct arena *arena, const char *text, size_t len,
                      struct history *ret_history, struct err *err)
{
    autosource struct history_source *source = NULL;

    return open_form(&source, text, len, false, err) < 0
               ? -1
               : read_all(source, arena, ret_history, err);
}

int history_from_proto(struct arena *arena, const void *bytes, size_t len,
                       struct history *ret_history, struct err *err)
{
    autosource struct history_source *source = NULL;

    return open_form(&source, bytes, len, true, err) < 0
               ? -1
               : read_all(source, arena, ret_history, err);
}
