/*
 * value_proto.c - see value_proto.h. Owns: the way over the JSON form (codec.h, wire.h), and a
 * short one for payloads as nearly all are, with an encoding and nothing else beside the data; both
 * give the same. Must not: copy what wire.h's tables say but for those. Invariant: what is written
 * here reads back equal. Tests: tests/unit/test_history_value_proto.c
 */
#include "history/value_proto.h"

#include <assert.h>
#include <string.h>

#include "history/codec.h"
#include "history/proto_part.h"
#include "history/wire.h"

static const struct field_desc payload_field = {.kind = FIELD_PAYLOAD};
static const struct field_desc payloads_field = {.kind = FIELD_PAYLOADS};

static const struct field_desc *map_field(enum map_kind kind)
{
    static const struct field_desc fields = {.kind = FIELD_PAYLOAD_MAP, .detail = "fields"};
    static const struct field_desc indexed = {.kind = FIELD_PAYLOAD_MAP, .detail = "indexedFields"};

    return kind == MAP_SEARCH_ATTRIBUTES ? &indexed : &fields;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The bytes of the message of that name from its JSON form. */
static void put_text(struct str *out, const char *name, const struct str *text)
{
    autoarena struct arena *tree = arena_new();
    const struct json *root = NULL;

    int rc = json_parse(tree, text->ptr, text->len, &root, NULL);
    assert(rc == 0); /* whatever the printer prints can be read */
    (void)rc;
    wire_put(out, wire_message_find(name), root);
}

void value_to_proto(struct str *out, const struct message_desc *desc, const void *value)
{
    autostr struct str text = {0};

    if (value) {
        struct printer p = printer_new(&text, CODEC_WIRE);
        message_print(&p, desc, value);
        put_text(out, desc->name, &text);
    }
}

/* at: where the pointer to the value is. */
static void put_field(struct str *out, const char *name, const struct field_desc *field,
                      const void *at)
{
    autostr struct str text = {0};
    struct printer p = printer_new(&text, CODEC_WIRE);

    field_print(&p, field, at);
    put_text(out, name, &text);
}

/* A part of type BYTES. */
static void put_part(struct str *out, char number, const char *bytes, size_t len)
{
    str_addc(out, (char)(number << 3 | PART_BYTES));
    for (size_t rest = len;; rest >>= 7) {
        str_addc(out, (char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)));
        if (rest <= 0x7f) {
            break;
        }
    }
    str_addn(out, bytes, len);
}

static bool is_usual(const struct payload *payload)
{
    return payload->encoding && *payload->encoding && !payload->meta && !payload->unknown;
}

void payload_to_proto(struct str *out, const struct payload *payload)
{
    autostr struct str entry = {0};

    if (payload && is_usual(payload)) {
        put_part(&entry, 1, "encoding", strlen("encoding"));
        put_part(&entry, 2, payload->encoding, strlen(payload->encoding));
        put_part(out, 1, entry.ptr, entry.len);
        if (payload->len > 0) {
            put_part(out, 2, payload->data, payload->len);
        }
    } else if (payload) {
        put_field(out, "payload", &payload_field, &payload);
    }
}

void payloads_to_proto(struct str *out, const struct payloads *payloads)
{
    if (payloads) {
        put_field(out, "payloads", &payloads_field, &payloads);
    }
}

void payload_map_to_proto(struct str *out, enum map_kind kind, const struct payload_map *map)
{
    const struct field_desc *field = map_field(kind);

    if (map) {
        put_field(out, field->detail, field, &map);
    }
}

void name_to_proto(struct str *out, const char *name)
{
    autostr struct str text = {0};

    if (name) {
        struct json_out w = json_writer(&text, 0);
        json_begin_object(&w);
        json_kv_str(&w, "name", name);
        json_end_object(&w);
        put_text(out, "name", &text);
    }
}

void user_metadata_to_proto(struct str *out, const char *json)
{
    autoarena struct arena *tree = arena_new();
    const struct json *root = NULL;

    if (json && json_parse(tree, json, strlen(json), &root, NULL) == 0 &&
        root->type == JSON_OBJECT) {
        wire_put(out, wire_message_find("user_metadata"), root);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The message of that name as a tree, which lives in scratch and text. */
static int tell(struct arena *scratch, struct str *text, const char *name, const void *bytes,
                size_t len, const struct json **ret_root, struct err *err)
{
    if (wire_tell(scratch, wire_message_find(name), bytes, len, text, err) < 0 ||
        json_parse(scratch, text->ptr, text->len, ret_root, err) < 0) {
        return err_wrap(err, "%s", name);
    }
    return 0;
}

/* Ends a reading that began with rc; err names what was read. */
static int finish(struct reader *r, int rc, const char *name)
{
    if (rc == 0) {
        rc = reader_depth(r);
    }
    reader_close(r);
    return rc < 0 ? err_wrap(r->err, "%s", name) : 0;
}

int value_from_proto(struct arena *arena, const struct message_desc *desc, const void *bytes,
                     size_t len, void **ret_value, struct err *err)
{
    autoarena struct arena *scratch = arena_new();
    autostr struct str text = {0};
    struct reader r = {.arena = arena, .err = err, .form = CODEC_WIRE};
    const struct json *root = NULL;

    *ret_value = NULL;
    if (len == 0) {
        return 0;
    }
    if (tell(scratch, &text, desc->name, bytes, len, &root, err) < 0) {
        return -1;
    }
    void *value = arena_alloc(arena, desc->size);
    if (finish(&r, message_read(&r, desc, root, value, NULL), desc->name) < 0) {
        return -1;
    }
    *ret_value = value;
    return 0;
}

/* The same of what is no message of the lists; *ret is the new payload, payloads or map. */
static int get_field(struct arena *arena, const char *name, const struct field_desc *field,
                     const void *bytes, size_t len, void **ret, struct err *err)
{
    autoarena struct arena *scratch = arena_new();
    autostr struct str text = {0};
    struct reader r = {.arena = arena, .err = err, .form = CODEC_WIRE};
    const struct json *root = NULL;
    int rc;

    *ret = NULL;
    if (len == 0) {
        return 0;
    }
    if (tell(scratch, &text, name, bytes, len, &root, err) < 0) {
        return -1;
    }
    if (field->kind == FIELD_PAYLOAD) {
        *ret = arena_new_of(arena, struct payload);
        rc = payload_read(&r, root, *ret);
    } else if (field->kind == FIELD_PAYLOADS) {
        *ret = arena_new_of(arena, struct payloads);
        rc = payloads_read(&r, root, *ret);
    } else {
        *ret = arena_new_of(arena, struct payload_map);
        rc = payload_map_read(&r, field, root, *ret);
    }
    return finish(&r, rc, name);
}

static bool take_part(struct part_cursor *c, uint32_t number, struct part *ret)
{
    return part_take(c, ret) && ret->number == number && ret->type == PART_BYTES && ret->len > 0;
}

/* The short way back; false: it is not such a payload. */
static bool read_usual(struct arena *arena, const void *bytes, size_t len, struct payload *ret)
{
    struct part_cursor c = part_cursor(bytes, len);
    struct part entry, key, value, data = {0};

    if (!take_part(&c, 1, &entry)) {
        return false;
    }
    struct part_cursor e = {entry.data, entry.data + entry.len};
    if (!take_part(&e, 1, &key) || key.len != strlen("encoding") ||
        memcmp(key.data, "encoding", key.len) != 0 || !take_part(&e, 2, &value) || e.at != e.end ||
        !utf8_valid(value.data, value.len) || memchr(value.data, '\0', value.len) ||
        (c.at != c.end && (!take_part(&c, 2, &data) || c.at != c.end))) {
        return false;
    }
    *ret = (struct payload){.encoding = arena_dup(arena, value.data, value.len),
                            .data = data.len > 0 ? arena_dup(arena, data.data, data.len) : NULL,
                            .len = data.len};
    return true;
}

int payload_from_proto(struct arena *arena, const void *bytes, size_t len, struct payload **ret,
                       struct err *err)
{
    struct payload usual;
    void *value = NULL;

    if (len > 0 && read_usual(arena, bytes, len, &usual)) {
        *ret = arena_dup(arena, &usual, sizeof(usual));
        return 0;
    }
    int rc = get_field(arena, "payload", &payload_field, bytes, len, &value, err);

    *ret = rc == 0 ? value : NULL;
    return rc;
}

int payloads_from_proto(struct arena *arena, const void *bytes, size_t len, struct payloads **ret,
                        struct err *err)
{
    void *value = NULL;
    int rc = get_field(arena, "payloads", &payloads_field, bytes, len, &value, err);

    *ret = rc == 0 ? value : NULL;
    return rc;
}

int payload_map_from_proto(struct arena *arena, enum map_kind kind, const void *bytes, size_t len,
                           struct payload_map **ret, struct err *err)
{
    const struct field_desc *field = map_field(kind);
    void *value = NULL;
    int rc = get_field(arena, field->detail, field, bytes, len, &value, err);

    *ret = rc == 0 ? value : NULL;
    return rc;
}

int name_from_proto(struct arena *arena, const void *bytes, size_t len, const char **ret,
                    struct err *err)
{
    autoarena struct arena *scratch = arena_new();
    autostr struct str text = {0};
    const struct json *root = NULL;

    *ret = NULL;
    if (len == 0) {
        return 0;
    }
    if (tell(scratch, &text, "name", bytes, len, &root, err) < 0) {
        return -1;
    }
    const char *name = json_get_str(root, "name");
    *ret = name ? arena_strdup(arena, name) : NULL;
    return 0;
}
