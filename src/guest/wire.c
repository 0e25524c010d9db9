/*
 * wire.c - see wire.h. Pure: bytes in, bytes out; any thread.
 * Tests: tests/unit/test_guest_wire.c
 */
#include "guest/wire.h"

#include "base/digest.h"
#include "base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int status;
} CODES[] = {
    [WIRE_OK] = {"ok", 200},
    [WIRE_CANCELED] = {"canceled", 499},
    [WIRE_UNKNOWN] = {"unknown", 500},
    [WIRE_INVALID_ARGUMENT] = {"invalid_argument", 400},
    [WIRE_DEADLINE_EXCEEDED] = {"deadline_exceeded", 504},
    [WIRE_NOT_FOUND] = {"not_found", 404},
    [WIRE_ALREADY_EXISTS] = {"already_exists", 409},
    [WIRE_PERMISSION_DENIED] = {"permission_denied", 403},
    [WIRE_RESOURCE_EXHAUSTED] = {"resource_exhausted", 429},
    [WIRE_FAILED_PRECONDITION] = {"failed_precondition", 400},
    [WIRE_UNIMPLEMENTED] = {"unimplemented", 501},
    [WIRE_INTERNAL] = {"internal", 500},
    [WIRE_UNAVAILABLE] = {"unavailable", 503},
    [WIRE_UNAUTHENTICATED] = {"unauthenticated", 401},
};

const char *wire_code_name(enum wire_code code)
{
    return CODES[code].name;
}

int wire_code_status(enum wire_code code)
{
    return CODES[code].status;
}

int wire_fail(struct wire_error *error, enum wire_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    error->code = code;
    vsnprintf(error->text, sizeof(error->text), fmt, ap);
    va_end(ap);
    return -1;
}

enum wire_code wire_code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
        return WIRE_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return WIRE_PERMISSION_DENIED;
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
        return WIRE_INVALID_ARGUMENT;
    case EEXIST:
    case ENOTEMPTY:
        return WIRE_ALREADY_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
        return WIRE_RESOURCE_EXHAUSTED;
    default:
        return WIRE_INTERNAL;
    }
}

void wire_put_error(struct str *out, const struct wire_error *error)
{
    struct json_out w = json_writer(out, 0);
    json_begin_object(&w);
    json_kv_str(&w, "code", wire_code_name(error->code));
    json_key(&w, "message");
    /* By length, which also mends a message that was cut inside a character. */
    json_put_strn(&w, error->text, strlen(error->text));
    json_end_object(&w);
}

void wire_put_envelope(struct str *out, uint8_t flags, const void *payload, size_t len)
{
    uint8_t header[5] = {flags, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                         (uint8_t)len};
    str_addn(out, header, sizeof(header));
    str_addn(out, payload, len);
}

void wire_put_end(struct str *out, const struct wire_error *error)
{
    autostr struct str body = {0};
    if (error) {
        str_add(&body, "{\"error\":");
        wire_put_error(&body, error);
        str_addc(&body, '}');
    } else {
        str_add(&body, "{}");
    }
    wire_put_envelope(out, WIRE_FLAG_END, body.ptr, body.len);
}

void wire_reader_free(struct wire_reader *reader)
{
    str_free(&reader->payload);
}

bool wire_reader_is_partial(const struct wire_reader *reader)
{
    return reader->have > 0 && !reader->complete;
}

static size_t payload_len(const struct wire_reader *reader)
{
    const uint8_t *h = reader->header;
    return (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 | h[4];
}

/* The five bytes are there: are they something we take? */
static int check_header(const struct wire_reader *reader, struct wire_error *error)
{
    uint8_t flags = reader->header[0];
    if (flags & WIRE_FLAG_COMPRESSED) {
        return wire_fail(error, WIRE_UNIMPLEMENTED, "compressed messages are not served");
    }
    if (flags & ~WIRE_FLAG_END) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "invalid envelope flags 0x%02x", flags);
    }
    if (payload_len(reader) > reader->max) {
        return wire_fail(error, WIRE_RESOURCE_EXHAUSTED,
                         "message of %zu bytes is larger than the limit of %zu",
                         payload_len(reader), reader->max);
    }
    return 0;
}

int wire_reader_feed(struct wire_reader *reader, const char *bytes, size_t len, size_t *ret_used,
                     struct wire_error *error)
{
    size_t used = 0;
    if (reader->complete) {
        reader->complete = false;
        reader->have = 0;
        str_reset(&reader->payload);
    }
    if (reader->have < sizeof(reader->header)) {
        while (reader->have < sizeof(reader->header) && used < len) {
            reader->header[reader->have++] = (uint8_t)bytes[used++];
        }
        *ret_used = used;
        if (reader->have < sizeof(reader->header)) {
            return 0;
        }
        if (check_header(reader, error) < 0) {
            return -1;
        }
    }
    size_t missing = payload_len(reader) - reader->payload.len;
    size_t take = len - used < missing ? len - used : missing;
    str_addn(&reader->payload, bytes + used, take);
    *ret_used = used + take;
    reader->complete = take == missing;
    return reader->complete ? 1 : 0;
}

bool wire_base64(struct str *out, const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '=') {
        len--;
    }
    autostr struct str padded = {0};
    str_reserve(&padded, len + 4);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        str_addc(&padded, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    while (padded.len % 4 != 0) {
        str_addc(&padded, '=');
    }
    return padded.len == 0 || base64_decode(out, padded.ptr, padded.len);
}

bool wire_timeout(const char *text, int64_t *ret_ms)
{
    size_t len = strspn(text, "0123456789");
    if (len < 1 || len > 10 || text[len] != '\0') {
        return false;
    }
    *ret_ms = strtoll(text, NULL, 10);
    return true;
}

int64_t wire_keepalive_ms(const char *text)
{
    int64_t seconds;
    if (!text || !wire_timeout(text, &seconds) || seconds < 1 || seconds > 86400) {
        return WIRE_KEEPALIVE_MS;
    }
    return seconds * 1000;
}

bool wire_basic_user(const char *header, struct str *ret_user)
{
    if (strncasecmp(header, "Basic ", 6) != 0) {
        return false;
    }
    const char *code = header + 6 + strspn(header + 6, " ");
    autostr struct str text = {0};
    if (!wire_base64(&text, code, strlen(code))) {
        return false;
    }
    const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;
    if (!colon || memchr(text.ptr, '\0', text.len)) {
        return false;
    }
    str_addn(ret_user, text.ptr, (size_t)(colon - text.ptr));
    return true;
}

bool wire_is_type(const char *header, const char *type)
{
    size_t len = strlen(type);
    if (!header || strncasecmp(header, type, len) != 0) {
        return false;
    }
    header += len;
    header += strspn(header, " \t");
    return *header == '\0' || *header == ';';
}
