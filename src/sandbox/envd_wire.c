/*
 * envd_wire.c - Connect-RPC over HTTP/1.1 with JSON: one unary call, one server stream.
 *
 * Owns: envelopes, end-of-stream handling, remote error codes. Must not: retry, or know any
 * method's meaning. A byte from the other side is never trusted: lengths are checked before memory
 * is taken. Tests: tests/unit/test_sandbox_envd.c
 */
#include "sandbox/envd_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/digest.h"

void envd_escape(struct str *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (const char *p = text; *p; p++) {
        if (strchr(plain, *p)) {
            str_addc(out, *p);
        } else {
            str_addf(out, "%%%02X", (unsigned)(unsigned char)*p);
        }
    }
}

struct envd *envd_open(const struct envd_target *target)
{
    struct envd *envd = mem_alloc(sizeof(*envd));
    autostr struct str login = {0};
    autostr struct str auth = {0};
    autostr struct str escaped = {0};

    envd_target_copy(&envd->target, target);
    const char *user = target->user ? target->user : "user";
    str_addf(&login, "%s:", user);
    str_add(&auth, "Authorization: Basic ");
    base64_encode(&auth, login.ptr, login.len);
    envd->auth = str_take(&auth);
    envd_escape(&escaped, user);
    envd->user_escaped = str_take(&escaped);
    envd->rpc = http_client_new(target->unix_socket);
    envd->stream = http_client_new(target->unix_socket);
    return envd;
}

struct envd *envd_close(struct envd *envd)
{
    if (envd) {
        http_client_free(envd->rpc);
        http_client_free(envd->stream);
        envd_target_free(&envd->target);
        free(envd->auth);
        free(envd->user_escaped);
        free(envd);
    }
    return NULL;
}

void envd_target_free(struct envd_target *target)
{
    free(target->unix_socket);
    free(target->base_url);
    free(target->user);
    for (size_t i = 0; target->headers && target->headers[i]; i++) {
        free(target->headers[i]);
    }
    free(target->headers);
    *target = (struct envd_target){0};
}

void envd_target_copy(struct envd_target *to, const struct envd_target *from)
{
    size_t count = 0;

    *to = (struct envd_target){
        .unix_socket = mem_strdup(from->unix_socket),
        .base_url = mem_strdup(from->base_url),
        .user = mem_strdup(from->user),
    };
    while (from->headers && from->headers[count]) {
        count++;
    }
    if (count > 0) {
        to->headers = mem_array(count + 1, sizeof(char *));
        for (size_t i = 0; i < count; i++) {
            to->headers[i] = mem_strdup(from->headers[i]);
        }
    }
}

/* --- remote errors --------------------------------------------------------------------------- */

struct code_row {
    const char *code;
    enum err_kind kind;
    int outcome; /* > 0: a documented outcome instead of an error */
    const char *name;
};

static const struct code_row code_rows[] = {
    {"not_found", ERR_PERMANENT, ENVD_ABSENT, "EnvdNotFound"},
    {"already_exists", ERR_PERMANENT, ENVD_EXISTS, "EnvdAlreadyExists"},
    {"invalid_argument", ERR_PERMANENT, 0, "EnvdInvalidArgument"},
    {"failed_precondition", ERR_PERMANENT, 0, "EnvdFailedPrecondition"},
    {"out_of_range", ERR_PERMANENT, 0, "EnvdOutOfRange"},
    {"permission_denied", ERR_PERMANENT, 0, "EnvdPermissionDenied"},
    {"unauthenticated", ERR_PERMANENT, 0, "EnvdUnauthenticated"},
    {"unimplemented", ERR_PERMANENT, 0, "EnvdUnimplemented"},
    {"internal", ERR_PERMANENT, 0, "EnvdInternal"},
    {"data_loss", ERR_PERMANENT, 0, "EnvdDataLoss"},
    {"resource_exhausted", ERR_TRANSIENT, 0, "EnvdResourceExhausted"},
    {"unavailable", ERR_TRANSIENT, 0, "EnvdUnavailable"},
    {"aborted", ERR_AMBIGUOUS, 0, "EnvdAborted"},
    {"deadline_exceeded", ERR_AMBIGUOUS, 0, "EnvdDeadlineExceeded"},
    {"canceled", ERR_AMBIGUOUS, 0, "EnvdCanceled"},
    {"unknown", ERR_AMBIGUOUS, 0, "EnvdUnknown"},
};

static int remote_error(const char *what, const char *code, const char *message, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(code_rows); i++) {
        if (str_eq(code_rows[i].code, code)) {
            err_set(err, code_rows[i].kind, code_rows[i].name, "sandbox: %s: %.600s", what,
                    message ? message : code);
            return code_rows[i].outcome > 0 ? code_rows[i].outcome : -1;
        }
    }
    return err_set(err, ERR_AMBIGUOUS, "EnvdUnknown", "sandbox: %s: %.60s: %.500s", what, code,
                   message ? message : "");
}

/* Answers without a Connect code: REST routes of envd, proxies, portals. */
static int status_error(const char *what, int status, const char *message, struct err *err)
{
    switch (status) {
    case 404:
        err_set(err, ERR_PERMANENT, "EnvdNotFound", "sandbox: %s: %.600s", what, message);
        return ENVD_ABSENT;
    case 410:
        return err_set(err, ERR_PERMANENT, "SandboxGone", "sandbox: %s: it is gone", what);
    case 429:
    case 502:
    case 503:
        return err_set(err, ERR_TRANSIENT, "EnvdUnavailable", "sandbox: %s: HTTP %d: %.600s", what,
                       status, message);
    case 507:
        return err_set(err, ERR_TRANSIENT, "SandboxDiskFull",
                       "sandbox: %s: its disk is full: %.500s", what, message);
    default:
        return err_set(err, status >= 500 ? ERR_AMBIGUOUS : ERR_PERMANENT, "EnvdFailed",
                       "sandbox: %s: HTTP %d: %.600s", what, status, message);
    }
}

int envd_http_failure(const char *what, const struct http_response *response, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root = NULL;

    if (json_parse(arena, str_c(&response->body), response->body.len, &root, NULL) ||
        root->type != JSON_OBJECT) {
        return status_error(what, response->status, "the answer is not envd's", err);
    }
    const char *code = json_get_str(root, "code");
    const char *message = json_get_str(root, "message");
    if (code) {
        return remote_error(what, code, message, err);
    }
    if (!message) {
        message = json_get_str(root, "error");
    }
    return status_error(what, response->status, message ? message : "", err);
}

/* --- requests -------------------------------------------------------------------------------- */

#define HEADERS_MAX 24

static void add_target_headers(const struct envd *envd, const char **headers, size_t *count)
{
    headers[(*count)++] = envd->auth;
    for (size_t i = 0; envd->target.headers && envd->target.headers[i] && *count < HEADERS_MAX;
         i++) {
        headers[(*count)++] = envd->target.headers[i];
    }
}

int envd_unary(struct envd *envd, const char *method, const struct str *body, struct arena *arena,
               const struct json **ret_root, struct err *err)
{
    autohttp struct http_response response = {0};
    autofree char *url = mem_printf("%s/%s", envd->target.base_url, method);
    const char *headers[HEADERS_MAX + 4] = {"Content-Type: application/json",
                                            "Connect-Protocol-Version: 1"};
    size_t count = 2;

    add_target_headers(envd, headers, &count);
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .body = body->ptr,
        .body_len = body->len,
        .timeout_ms = UNARY_TIMEOUT_MS,
    };
    if (http_perform(envd->rpc, &request, &response, err)) {
        return err_wrap(err, "sandbox: %s", method);
    }
    if (response.status != 200) {
        return envd_http_failure(method, &response, err);
    }
    if (ret_root) {
        const char *text = arena_dup(arena, str_c(&response.body), response.body.len);
        if (json_parse(arena, text, response.body.len, ret_root, err)) {
            return err_wrap(err, "sandbox: %s: the answer is not envd's", method);
        }
    }
    return 0;
}

/* --- the stream ------------------------------------------------------------------------------ */

struct reader {
    struct envd_stream_call *call;
    struct str pending; /* an incomplete envelope */
    bool ended;
    int outcome; /* what the end-of-stream envelope said, or why we stopped */
    bool failed;
    bool stopped;
    struct err err;
};

static int bad_stream(struct reader *reader, const char *why)
{
    reader->failed = true;
    err_set(&reader->err, ERR_AMBIGUOUS, "EnvdProtocol", "sandbox: %s: %s", reader->call->method,
            why);
    return 1;
}

static int end_stream(struct reader *reader, const struct json *root)
{
    const struct json *error = json_get(root, "error");

    reader->ended = true;
    if (!error) {
        return 0;
    }
    const char *code = json_get_str(error, "code");
    if (str_eq(code, "deadline_exceeded")) {
        reader->call->deadline = true;
        return 0;
    }
    int rc = remote_error(reader->call->method, code ? code : "unknown",
                          json_get_str(error, "message"), &reader->err);
    reader->outcome = rc == ENVD_ABSENT ? ENVD_WIRE_ABSENT : 0;
    reader->failed = rc != ENVD_ABSENT;
    return 0;
}

static int take_envelope(struct reader *reader, unsigned flags, const char *payload, size_t len)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root = NULL;

    if (reader->ended) {
        return bad_stream(reader, "bytes after the end of the stream");
    }
    if (json_parse(arena, payload, len, &root, NULL) || root->type != JSON_OBJECT) {
        return bad_stream(reader, "an envelope that is not JSON");
    }
    if (flags & 2) {
        return end_stream(reader, root);
    }
    const struct json *event = json_get(root, "event");
    if (!event || event->type != JSON_OBJECT) {
        return 0; /* an unknown kind of message: newer than we are */
    }
    reader->call->got_anything = true;
    if (reader->call->on_event(reader->call->user, event)) {
        reader->stopped = true;
        return 1;
    }
    return 0;
}

static int on_bytes(void *user, const void *bytes, size_t len)
{
    struct reader *reader = user;
    size_t used = 0;

    str_addn(&reader->pending, bytes, len);
    while (reader->pending.len - used >= 5) {
        const unsigned char *head = (const unsigned char *)reader->pending.ptr + used;
        uint32_t size = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 |
                        (uint32_t)head[4];
        if (head[0] & ~2u) {
            return bad_stream(reader, "the answer is not a Connect stream");
        }
        if (size > ENVELOPE_MAX) {
            return bad_stream(reader, "an envelope of more than 64 MiB");
        }
        if (reader->pending.len - used - 5 < size) {
            break;
        }
        /* The JSON reader wants nothing behind the payload, but only looks at `size` bytes. */
        int stop = take_envelope(reader, head[0], (const char *)head + 5, size);
        used += 5 + (size_t)size;
        if (stop) {
            return 1;
        }
    }
    if (used > 0) {
        memmove(reader->pending.ptr, reader->pending.ptr + used, reader->pending.len - used);
        str_cut(&reader->pending, reader->pending.len - used);
    }
    return 0;
}

static int stream_result(struct reader *reader, int rc, const struct http_response *response,
                         struct err *err)
{
    const char *method = reader->call->method;

    if (reader->failed) {
        if (err) {
            *err = reader->err;
        }
        return -1;
    }
    if (rc < 0) {
        return err_wrap(err, "sandbox: %s", method);
    }
    if (reader->stopped) {
        return ENVD_WIRE_STOPPED;
    }
    if (response->status != 200) {
        rc = envd_http_failure(method, response, err);
        return rc == ENVD_ABSENT ? ENVD_WIRE_ABSENT : -1;
    }
    if (!reader->ended) {
        return err_set(err, ERR_AMBIGUOUS, "EnvdStreamCut",
                       "sandbox: %s: the stream broke off before its end", method);
    }
    return reader->outcome;
}

int envd_stream(struct envd *envd, struct envd_stream_call *call, struct err *err)
{
    autohttp struct http_response response = {0};
    autofree char *url = mem_printf("%s/%s", envd->target.base_url, call->method);
    autofree char *keepalive = mem_printf("Keepalive-Ping-Interval: %d", call->keepalive_s);
    autofree char *timeout = mem_printf(
        "Connect-Timeout-Ms: %lld",
        (long long)(call->process_timeout_ms < 9999999999 ? call->process_timeout_ms : 9999999999));
    autostr struct str envelope = {0};
    const char *headers[HEADERS_MAX + 6] = {"Content-Type: application/connect+json",
                                            "Connect-Protocol-Version: 1", keepalive};
    size_t count = 3;
    struct reader reader = {.call = call};

    if (call->process_timeout_ms > 0) {
        headers[count++] = timeout;
    }
    add_target_headers(envd, headers, &count);
    uint32_t size = (uint32_t)call->body->len;
    const unsigned char head[5] = {0, (unsigned char)(size >> 24), (unsigned char)(size >> 16),
                                   (unsigned char)(size >> 8), (unsigned char)size};
    str_addn(&envelope, head, sizeof(head));
    str_addn(&envelope, call->body->ptr, call->body->len);
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .body = envelope.ptr,
        .body_len = envelope.len,
        .on_data = on_bytes,
        .user = &reader,
        .cancel = call->cancel,
    };
    int rc = http_perform(envd->stream, &request, &response, err);
    rc = stream_result(&reader, rc, &response, err);
    str_free(&reader.pending);
    return rc;
}
