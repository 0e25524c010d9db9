/*
 * codec_payload.c - payloads and their lists and maps from JSON, in either form.
 *
 * Owns: base64 and inline payloads, metadata, the wrappers of headers, memos and details.
 * Must not: let a result point into the source.
 * Tests: tests/unit/test_history_store.c, tests/unit/test_history_json.c, tests/fuzz/fuzz_history.c
 */
#include <string.h>

#include "base/digest.h"
#include "history/codec.h"

/* The alphabet of URLs, without padding, or with bits set that no byte has: protobuf's JSON readers
 * take all of it. */
static bool base64_decode_other(struct str *out, const char *text, size_t len)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    autostr struct str usual = {0};

    while (len > 0 && text[len - 1] == '=') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        str_addc(&usual, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
    }
    if (len % 4 == 2 || len % 4 == 3) {
        const char *last = usual.ptr[len - 1] ? strchr(alphabet, usual.ptr[len - 1]) : NULL;
        if (!last) {
            return false;
        }
        usual.ptr[len - 1] = alphabet[(last - alphabet) & (len % 4 == 2 ? 0x30 : 0x3c)];
        str_add(&usual, len % 4 == 2 ? "==" : "=");
    }
    return base64_decode(out, str_c(&usual), usual.len);
}

static int base64_read(struct reader *r, const struct json *value, const char **ret,
                       size_t *ret_len)
{
    *ret = NULL;
    *ret_len = 0;
    if (value->type == JSON_NULL) {
        return 0;
    }
    str_reset(&r->scratch);
    if (value->type != JSON_STRING ||
        (!base64_decode(&r->scratch, value->text, value->text_len) &&
         !base64_decode_other(&r->scratch, value->text, value->text_len))) {
        return reader_bad(r, "must be base64");
    }
    *ret = arena_dup(r->arena, str_c(&r->scratch), r->scratch.len);
    *ret_len = r->scratch.len;
    return 0;
}

/* One metadata entry; its value is base64 or text. */
static int meta_read(struct reader *r, const struct json *member, bool base64,
                     struct payload *payload, struct payload_meta ***tail)
{
    const char *bytes = NULL;
    size_t len = 0;

    if (base64) {
        if (base64_read(r, member, &bytes, &len) < 0) {
            return err_wrap(r->err, "metadata");
        }
    } else if (member->type == JSON_STRING) {
        len = member->text_len;
        bytes = arena_dup(r->arena, member->text, len);
    } else {
        return reader_bad(r, "metadata must hold strings");
    }
    if (!bytes) {
        return 0;
    }
    if (memchr(member->key, '\0', member->key_len)) {
        return reader_bad(r, "a metadata key holds a NUL character");
    }
    if (member_is(member, "encoding") && !payload->encoding && !memchr(bytes, '\0', len) &&
        utf8_valid(bytes, len)) {
        payload->encoding = bytes;
        return 0;
    }
    struct payload_meta *meta = arena_new_of(r->arena, struct payload_meta);
    *meta = (struct payload_meta){arena_strndup(r->arena, member->key, member->key_len), bytes, len,
                                  NULL};
    **tail = meta;
    *tail = &meta->next;
    return 0;
}

static int metas_read(struct reader *r, const struct json *value, bool base64,
                      struct payload *payload)
{
    struct payload_meta **tail = &payload->meta;

    while (*tail) {
        tail = &(*tail)->next;
    }
    if (value->type == JSON_NULL) {
        return 0;
    }
    if (value->type != JSON_OBJECT) {
        return reader_bad(r, "metadata must be an object");
    }
    json_each (member, value) {
        if (meta_read(r, member, base64, payload, &tail) < 0) {
            return -1;
        }
    }
    return 0;
}

static int payload_read_wire(struct reader *r, const struct json *value, struct payload *ret)
{
    autostr struct str unknown = {0};
    int rc = 0;

    if (value->type != JSON_OBJECT) { /* the short form of Temporal's tools for people */
        *ret = (struct payload){.encoding = "json/plain"};
        const char *text = NULL;
        reader_raw(r, value, &text);
        ret->data = text;
        ret->len = strlen(text);
        return 0;
    }
    json_each (member, value) {
        if (member_is(member, "metadata")) {
            rc = metas_read(r, member, true, ret);
        } else if (member_is(member, "data")) {
            rc = base64_read(r, member, &ret->data, &ret->len);
        } else if (member->type != JSON_NULL) {
            unknown_add(r, &unknown, member);
        }
        if (rc < 0) {
            return err_wrap(r->err, "payload %.*s", (int)member->key_len, member->key);
        }
    }
    ret->data = ret->len > 0 ? ret->data : NULL;
    ret->unknown = unknown_take(r, &unknown);
    return 0;
}

static int payload_read_escaped(struct reader *r, const struct json *value, struct payload *ret)
{
    int rc = 0;

    if (!value || value->type != JSON_OBJECT) {
        return reader_bad(r, "$payload must be an object");
    }
    json_each (member, value) {
        if (member_is(member, "encoding")) {
            rc = reader_text(r, member, &ret->encoding);
        } else if (member_is(member, "metadata") || member_is(member, "metadata64")) {
            /* encoding came first, so an "encoding" in here is one that is no text */
            rc = metas_read(r, member, member_is(member, "metadata64"), ret);
        } else if (member_is(member, "text") && member->type == JSON_STRING) {
            ret->data = arena_dup(r->arena, member->text, member->text_len);
            ret->len = member->text_len;
        } else if (member_is(member, "data")) {
            rc = base64_read(r, member, &ret->data, &ret->len);
        } else if (member_is(member, "unknown") && member->type == JSON_OBJECT) {
            autostr struct str unknown = {0};
            json_each (inner, member) {
                unknown_add(r, &unknown, inner);
            }
            ret->unknown = unknown_take(r, &unknown);
        } else {
            return reader_bad(r, "$payload has a member that is not known");
        }
        if (rc < 0) {
            return err_wrap(r->err, "$payload %.*s", (int)member->key_len, member->key);
        }
    }
    ret->data = ret->len > 0 ? ret->data : NULL;
    return 0;
}

int payload_read(struct reader *r, const struct json *value, struct payload *ret)
{
    static const char escape[] = "{\"$payload\":";

    if (r->form == CODEC_WIRE) {
        return payload_read_wire(r, value, ret);
    }
    if (value->raw_len >= sizeof(escape) - 1 &&
        memcmp(value->raw, escape, sizeof(escape) - 1) == 0) {
        return payload_read_escaped(r, value->first, ret);
    }
    ret->encoding = "json/plain";
    ret->data = arena_dup(r->arena, value->raw, value->raw_len);
    ret->len = value->raw_len;
    return 0;
}

static int payload_array_read(struct reader *r, const struct json *value, struct payloads *ret)
{
    size_t i = 0;

    if (value->type != JSON_ARRAY) {
        return reader_bad(r, "payloads must be an array");
    }
    ret->items = arena_array_of(r->arena, struct payload, value->count + 1);
    ret->count = value->count;
    json_each (item, value) {
        if (payload_read(r, item, &ret->items[i++]) < 0) {
            return -1;
        }
    }
    return 0;
}

int payloads_read(struct reader *r, const struct json *value, struct payloads *ret)
{
    autostr struct str unknown = {0};

    if (value->type == JSON_ARRAY) { /* stored so; the short form for people too */
        return payload_array_read(r, value, ret);
    }
    if (value->type != JSON_OBJECT) {
        return reader_bad(r, "must be an object with payloads");
    }
    json_each (member, value) {
        if (member->type == JSON_NULL) {
            continue;
        }
        if (!member_is(member, "payloads")) {
            unknown_add(r, &unknown, member);
        } else if (payload_array_read(r, member, ret) < 0) {
            return -1;
        }
    }
    ret->unknown = unknown_take(r, &unknown);
    return 0;
}

static int map_entries_read(struct reader *r, const struct json *value, struct payload_map *ret)
{
    if (value->type != JSON_OBJECT) {
        return reader_bad(r, "must be an object of payloads");
    }
    ret->items = arena_array_of(r->arena, struct payload_entry, value->count + 1);
    json_each (member, value) {
        struct payload_entry *entry = &ret->items[ret->count];
        if (memchr(member->key, '\0', member->key_len)) {
            return reader_bad(r, "a key holds a NUL character");
        }
        if (r->form == CODEC_WIRE && member->type == JSON_NULL) {
            continue;
        }
        entry->key = arena_strndup(r->arena, member->key, member->key_len);
        if (payload_read(r, member, &entry->payload) < 0) {
            return err_wrap(r->err, "%s", entry->key);
        }
        ret->count++;
    }
    return 0;
}

int payload_map_read(struct reader *r, const struct field_desc *field, const struct json *value,
                     struct payload_map *ret)
{
    autostr struct str unknown = {0};
    const struct json *wire = value;

    if (value->type != JSON_OBJECT) {
        return reader_bad(r, "must be an object");
    }
    if (r->form == CODEC_STORE) {
        if (value->count != 1 || !member_is(value->first, "$map")) {
            return map_entries_read(r, value, ret);
        }
        wire = value->first;
    }
    json_each (member, wire) {
        if (member->type == JSON_NULL) {
            continue;
        }
        if (!member_is(member, field->detail) &&
            !(str_eq(field->detail, "indexedFields") && member_is(member, "indexed_fields"))) {
            unknown_add(r, &unknown, member);
        } else if (map_entries_read(r, member, ret) < 0) {
            return -1;
        }
    }
    ret->unknown = unknown_take(r, &unknown);
    return 0;
}

int payloads_map_read(struct reader *r, const struct json *value, struct payloads_map *ret)
{
    if (value->type != JSON_OBJECT) {
        return reader_bad(r, "must be an object of payload lists");
    }
    ret->items = arena_array_of(r->arena, struct payloads_entry, value->count + 1);
    json_each (member, value) {
        struct payloads_entry *entry = &ret->items[ret->count];
        if (memchr(member->key, '\0', member->key_len)) {
            return reader_bad(r, "a key holds a NUL character");
        }
        if (member->type == JSON_NULL) {
            continue;
        }
        entry->key = arena_strndup(r->arena, member->key, member->key_len);
        if (payloads_read(r, member, &entry->payloads) < 0) {
            return err_wrap(r->err, "%s", entry->key);
        }
        ret->count++;
    }
    return 0;
}
