/*
 * sealing.c - see sealing.h.
 *
 * Owns: the walk over field.h's tables in both directions. A message on the way is copied, flat,
 * before something in it changes; lists and maps likewise.
 * Must not: name an event or a field of one, but headers, search attributes and failures.
 * Tests: tests/unit/test_history_sealing.c
 */
#include "history/sealing.h"

#include <string.h>

#include "history/codec.h"
#include "history/value_proto.h"

struct walk {
    const struct sealer *sealer;
    struct arena *arena;
    bool opens;
    struct err *err; /* of opening: sealing cannot fail */
};

static int message_walk(struct walk *w, const struct message_desc *desc, void **at, int depth);

/* --- payloads ----------------------------------------------------------------------------------
 */

bool payload_is_sealed(const struct payload *payload, const char **ret_key_id)
{
    if (!payload || !str_eq(payload->encoding, SEALED_ENCODING)) {
        return false;
    }
    for (const struct payload_meta *m = payload->meta; m; m = m->next) {
        if (str_eq(m->key, SEALED_KEY_ID)) {
            if (ret_key_id) {
                *ret_key_id = m->value;
            }
            return true;
        }
    }
    return false;
}

static void shut(struct walk *w, struct payload *payload)
{
    autostr struct str plain = {0}, sealed = {0};
    struct payload_meta *meta = arena_new_of(w->arena, struct payload_meta);

    payload_to_proto(&plain, payload);
    const char *key_id = w->sealer->seal(w->sealer->user, str_c(&plain), plain.len, &sealed);
    *meta =
        (struct payload_meta){SEALED_KEY_ID, arena_strdup(w->arena, key_id), strlen(key_id), NULL};
    *payload = (struct payload){.encoding = SEALED_ENCODING,
                                .data = arena_dup(w->arena, sealed.ptr, sealed.len),
                                .len = sealed.len,
                                .meta = meta};
}

static int unshut(struct walk *w, struct payload *payload, const char *key_id)
{
    autostr struct str plain = {0};
    struct payload *opened = NULL;

    if (w->sealer->open(w->sealer->user, key_id, payload->data ? payload->data : "", payload->len,
                        &plain, w->err) < 0 ||
        payload_from_proto(w->arena, str_c(&plain), plain.len, &opened, w->err) < 0) {
        return -1;
    }
    *payload = opened ? *opened : (struct payload){0};
    return 0;
}

/* In place. */
static int payload_walk(struct walk *w, struct payload *payload)
{
    const char *key_id = NULL;
    bool is_sealed = payload_is_sealed(payload, &key_id);

    if (w->opens) {
        return is_sealed ? unshut(w, payload, key_id) : 0;
    }
    if (!is_sealed) {
        shut(w, payload);
    }
    return 0;
}

static int list_walk(struct walk *w, struct payloads *list)
{
    list->items = arena_dup(w->arena, list->items, list->count * sizeof(*list->items));
    for (size_t i = 0; i < list->count; i++) {
        if (payload_walk(w, &list->items[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int payload_at(struct walk *w, struct payload **at)
{
    *at = arena_dup(w->arena, *at, sizeof(**at));
    return payload_walk(w, *at);
}

static int payloads_at(struct walk *w, struct payloads **at)
{
    *at = arena_dup(w->arena, *at, sizeof(**at));
    return list_walk(w, *at);
}

static int map_at(struct walk *w, struct payload_map **at)
{
    struct payload_map *map = *at = arena_dup(w->arena, *at, sizeof(**at));

    map->items = arena_dup(w->arena, map->items, map->count * sizeof(*map->items));
    for (size_t i = 0; i < map->count; i++) {
        if (payload_walk(w, &map->items[i].payload) < 0) {
            return err_wrap(w->err, "%s", map->items[i].key);
        }
    }
    return 0;
}

static int lists_at(struct walk *w, struct payloads_map **at)
{
    struct payloads_map *map = *at = arena_dup(w->arena, *at, sizeof(**at));

    map->items = arena_dup(w->arena, map->items, map->count * sizeof(*map->items));
    for (size_t i = 0; i < map->count; i++) {
        if (list_walk(w, &map->items[i].payloads) < 0) {
            return err_wrap(w->err, "%s", map->items[i].key);
        }
    }
    return 0;
}

/* --- failures ----------------------------------------------------------------------------------
 */

static bool is_text(const char *text)
{
    return text && *text;
}

/* Message and stack trace into encoded_attributes, not sealed yet. Where there are attributes
 * already they count, and what stands beside them is nobody's. */
static void encode_attributes(struct walk *w, struct failure *failure)
{
    autostr struct str text = {0};
    struct json_out out = json_writer(&text, 0);

    if (!failure->encoded_attributes) {
        if (!is_text(failure->message) && !is_text(failure->stack_trace)) {
            return;
        }
        json_begin_object(&out);
        json_kv_str(&out, "message", failure->message ? failure->message : "");
        json_kv_str(&out, "stack_trace", failure->stack_trace ? failure->stack_trace : "");
        json_end_object(&out);
        failure->encoded_attributes = arena_new_of(w->arena, struct payload);
        payload_set(failure->encoded_attributes, w->arena, "json/plain", text.ptr, text.len);
    }
    failure->message = SEALED_FAILURE;
    failure->stack_trace = NULL;
}

/* The inverse; attributes of another form stay. */
static void decode_attributes(struct walk *w, struct failure *failure)
{
    autoarena struct arena *tree = arena_new();
    const struct payload *p = failure->encoded_attributes;
    const struct json *root = NULL;

    if (!p || !str_eq(p->encoding, "json/plain") ||
        json_parse(tree, p->data ? p->data : "", p->len, &root, NULL) < 0) {
        return;
    }
    const char *message = json_get_str(root, "message");
    const char *stack_trace = json_get_str(root, "stack_trace");
    if (message) {
        failure->message = arena_strdup(w->arena, message);
        failure->stack_trace = is_text(stack_trace) ? arena_strdup(w->arena, stack_trace) : NULL;
        failure->encoded_attributes = NULL;
    }
}

/* --- messages ----------------------------------------------------------------------------------
 */

static int field_walk(struct walk *w, const struct field_desc *field, void *at, int depth)
{
    switch (field->kind) {
    case FIELD_MSG:
        return message_walk(w, field->message, at, depth + 1);
    case FIELD_PAYLOAD:
        return payload_at(w, at);
    case FIELD_PAYLOADS:
        return payloads_at(w, at);
    case FIELD_PAYLOAD_MAP:
        if (str_eq(field->detail, "indexedFields") || str_eq(field->json, "header")) {
            return 0;
        }
        return map_at(w, at);
    case FIELD_PAYLOADS_MAP:
        return lists_at(w, at);
    case FIELD_STR:
    case FIELD_NAME:
    case FIELD_RAW: /* of servers: links, callbacks, versions */
    case FIELD_I64:
    case FIELD_I32:
    case FIELD_BOOL:
    case FIELD_DOUBLE:
    case FIELD_DUR:
    case FIELD_TIME:
    case FIELD_ENUM:
    case FIELD_ENUMS:
    case FIELD_U32S:
    case FIELD_STRS:
        break;
    }
    return 0;
}

static int fields_walk(struct walk *w, const struct message_desc *desc, void *message, int depth)
{
    for (size_t i = 0; i < desc->count; i++) {
        const struct field_desc *field = &desc->fields[i];
        if (!field_is_zero(message, field) &&
            field_walk(w, field, field_at(message, field), depth) < 0) {
            return err_wrap(w->err, "%s", field->json);
        }
    }
    return 0;
}

static int message_walk(struct walk *w, const struct message_desc *desc, void **at, int depth)
{
    if (depth > MESSAGE_DEPTH_MAX) {
        *at = NULL; /* where the codecs cut a chain of causes too */
        return 0;
    }
    bool is_failure = desc == &message_desc_failure;
    void *message = *at = arena_dup(w->arena, *at, desc->size);
    if (is_failure && !w->opens) {
        encode_attributes(w, message);
    }
    int rc = fields_walk(w, desc, message, depth);
    if (is_failure && w->opens && rc == 0) {
        decode_attributes(w, message);
    }
    return rc;
}

/* --- what people read of an event ---------------------------------------------------------------
 */

static int metadata_walk(struct walk *w, const char **at)
{
    static const struct field_desc payload_field = {.kind = FIELD_PAYLOAD};
    autoarena struct arena *tree = arena_new();
    autostr struct str text = {0};
    struct reader r = {.arena = tree, .err = w->err, .form = CODEC_WIRE};
    struct printer p = printer_new(&text, CODEC_WIRE);
    const struct json *root = NULL;
    int rc = 0;

    if (json_parse(tree, *at, strlen(*at), &root, NULL) < 0 || root->type != JSON_OBJECT) {
        return 0; /* none that this program wrote */
    }
    json_begin_object(&p.w);
    json_each (member, root) {
        struct payload payload = {0};
        struct payload *value = &payload;
        json_keyn(&p.w, member->key, member->key_len);
        if (member->type != JSON_OBJECT || payload_read(&r, member, &payload) < 0) {
            json_put(&p.w, member);
            continue;
        }
        rc = rc < 0 ? rc : payload_walk(w, &payload);
        field_print(&p, &payload_field, &value);
    }
    json_end_object(&p.w);
    reader_close(&r);
    *at = arena_dup(w->arena, text.ptr, text.len);
    return rc;
}

/* --- the calls ---------------------------------------------------------------------------------
 */

static int event_walk(struct walk *w, struct event *event)
{
    const struct event_desc *desc = event_desc(event->type);

    if (event->user_metadata && metadata_walk(w, &event->user_metadata) < 0) {
        return err_wrap(w->err, "event %lld: userMetadata", (long long)event->id);
    }
    if (desc && event->attributes && message_walk(w, &desc->message, &event->attributes, 0) < 0) {
        return err_wrap(w->err, "event %lld", (long long)event->id);
    }
    return 0;
}

struct event event_seal(const struct sealer *sealer, struct arena *arena, const struct event *event)
{
    struct walk w = {.sealer = sealer, .arena = arena};
    struct event sealed = *event;

    if (sealer) {
        event_walk(&w, &sealed);
    }
    return sealed;
}

int event_open(const struct sealer *sealer, struct arena *arena, const struct event *event,
               struct event *ret, struct err *err)
{
    struct walk w = {.sealer = sealer, .arena = arena, .opens = true, .err = err};
    struct event opened = *event;

    if (sealer && event_walk(&w, &opened) < 0) {
        return -1;
    }
    *ret = opened;
    return 0;
}

static int failure_at(struct walk *w, struct failure **at)
{
    void *message = *at;
    int rc = message_walk(w, &message_desc_failure, &message, 0);

    *at = message;
    return rc;
}

#define VALUE_CALLS_(name, type, what)                                                             \
    struct type *name##_seal(const struct sealer *sealer, struct arena *arena,                     \
                             const struct type *value)                                             \
    {                                                                                              \
        struct walk w = {.sealer = sealer, .arena = arena};                                        \
        struct type *made = (struct type *)(uintptr_t)value;                                       \
        if (sealer && value) {                                                                     \
            what##_at(&w, &made);                                                                  \
        }                                                                                          \
        return made;                                                                               \
    }                                                                                              \
    int name##_open(const struct sealer *sealer, struct arena *arena, const struct type *value,    \
                    struct type **ret, struct err *err)                                            \
    {                                                                                              \
        struct walk w = {.sealer = sealer, .arena = arena, .opens = true, .err = err};             \
        struct type *made = (struct type *)(uintptr_t)value;                                       \
        if (sealer && value && what##_at(&w, &made) < 0) {                                         \
            return -1;                                                                             \
        }                                                                                          \
        *ret = made;                                                                               \
        return 0;                                                                                  \
    }
VALUE_CALLS_(payload, payload, payload)
VALUE_CALLS_(payloads, payloads, payloads)
VALUE_CALLS_(memo, payload_map, map)
VALUE_CALLS_(failure, failure, failure)

const char *user_metadata_seal(const struct sealer *sealer, struct arena *arena, const char *json)
{
    struct walk w = {.sealer = sealer, .arena = arena};

    if (sealer && json) {
        metadata_walk(&w, &json);
    }
    return json;
}

int user_metadata_open(const struct sealer *sealer, struct arena *arena, const char *json,
                       const char **ret, struct err *err)
{
    struct walk w = {.sealer = sealer, .arena = arena, .opens = true, .err = err};

    if (sealer && json && metadata_walk(&w, &json) < 0) {
        return -1;
    }
    *ret = json;
    return 0;
}
