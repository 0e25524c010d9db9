/*
 * server.c - see server.h.
 *
 * A request is judged from its headers first; when it is refused there, its body is still read (and
 * thrown away), because closing a socket on unread data would lose the answer. The handler runs
 * when the body is complete. A handler that must wait suspends the connection and is called again.
 * Tests: tests/unit/test_guest_daemon.c, tests/unit/test_guest_hostile.c
 */
#include "guest/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "guest/listener.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECTION_BYTES                                                                           \
    ((size_t)128 << 10)        /* headers, and the window an answer is sent through                \
                                */
#define IDLE_CONNECTION_S 640U /* as envd */
#define TYPE_UNARY "application/json"
#define TYPE_STREAM "application/connect+json"

static const struct route *const TABLES[] = {PROCESS_ROUTES, FILESYSTEM_ROUTES, DOWNLOAD_ROUTES,
                                             UPLOAD_ROUTES, SYSTEM_ROUTES};

/* --- what handlers use --- */

const char *request_header(const struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

int request_argument(const struct request *r, const char *name, const char **ret)
{
    const char *value = NULL;
    size_t len = 0;
    if (MHD_lookup_connection_value_n(r->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name),
                                      &value, &len) != MHD_YES ||
        !value) {
        return 0;
    }
    if (strlen(value) != len) {
        return -1;
    }
    *ret = value;
    return 1;
}

static void wake(void *user)
{
    struct request *r = user;
    r->waiting_for = NULL;
    MHD_resume_connection(r->connection);
}

void request_wait_input(struct request *r, struct process *process)
{
    r->waiting_for = process;
    r->waiter = (struct process_waiter){.wake = wake, .user = r};
    process_wait_input(process, &r->waiter);
    MHD_suspend_connection(r->connection);
}

enum MHD_Result request_queue(struct request *r, int status, struct MHD_Response *response)
{
    enum MHD_Result queued = MHD_queue_response(r->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return queued;
}

struct MHD_Response *response_of_bytes(char *bytes, size_t len)
{
    struct MHD_Response *response = NULL;
    if (!mem_retry((response = MHD_create_response_from_buffer_with_free_callback(len, bytes,
                                                                                  free)) != NULL)) {
        mem_exhausted(len);
    }
    return response;
}

void response_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (!mem_retry(MHD_add_response_header(response, name, value) == MHD_YES)) {
        mem_exhausted(strlen(value));
    }
}

static struct MHD_Response *response_of(const char *type, struct str *body)
{
    struct str none = {0};
    body = body ? body : &none;
    size_t len = body->len;
    struct MHD_Response *response = response_of_bytes(str_take(body), len);
    if (type) {
        response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    }
    return response;
}

enum MHD_Result request_reply(struct request *r, int status, const char *type, struct str *body)
{
    return request_queue(r, status, response_of(type, body));
}

enum MHD_Result request_reply_error(struct request *r, int status, const char *message)
{
    autostr struct str body = {0};
    struct json_out w = json_writer(&body, 0);
    json_begin_object(&w);
    json_kv_i64(&w, "code", status);
    json_key(&w, "message");
    json_put_strn(&w, message, strlen(message));
    json_end_object(&w);
    return request_reply(r, status, "application/json; charset=utf-8", &body);
}

int request_rest_status(const struct wire_error *error)
{
    return error->code == WIRE_RESOURCE_EXHAUSTED ? 507 : wire_code_status(error->code);
}

/* --- judging the headers --- */

static const struct route *find_route(const char *method, const char *path, const char **ret_allow)
{
    if (strcmp(method, MHD_HTTP_METHOD_HEAD) == 0) {
        method = MHD_HTTP_METHOD_GET;
    }
    for (size_t i = 0; i < ARRAY_LEN(TABLES); i++) {
        for (const struct route *route = TABLES[i]; route->path; route++) {
            if (strcmp(route->path, path) != 0) {
                continue;
            }
            if (strcmp(route->method, method) == 0) {
                return route;
            }
            *ret_allow = route->method;
        }
    }
    return NULL;
}

static bool token_ok(const struct request *r)
{
    const char *given = request_header(r, "X-Access-Token");
    return !r->guest->token || r->route->open || (given && strcmp(given, r->guest->token) == 0);
}

static void check_user(struct request *r)
{
    const char *header = request_header(r, MHD_HTTP_HEADER_AUTHORIZATION);
    autostr struct str user = {0};
    if (!header) {
        return;
    }
    if (!wire_basic_user(header, &user)) {
        wire_fail(&r->error, WIRE_UNAUTHENTICATED, "invalid Authorization header");
    } else if (!guest_user_known(r->guest, str_c(&user))) {
        wire_fail(&r->error, WIRE_UNAUTHENTICATED, "invalid username: '%.64s'", str_c(&user));
    }
}

static void check_rpc(struct request *r)
{
    const char *type = request_header(r, MHD_HTTP_HEADER_CONTENT_TYPE);
    const char *wanted = r->route->kind == ROUTE_UNARY ? TYPE_UNARY : TYPE_STREAM;
    const char *encoding =
        request_header(r, r->route->kind == ROUTE_UNARY ? MHD_HTTP_HEADER_CONTENT_ENCODING
                                                        : "Connect-Content-Encoding");
    const char *timeout = request_header(r, "Connect-Timeout-Ms");
    int64_t ms = 1;
    if (!wire_is_type(type, wanted)) {
        r->early_status = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    } else if (encoding && strcasecmp(encoding, "identity") != 0) {
        wire_fail(&r->error, WIRE_UNIMPLEMENTED, "unknown compression '%.64s'", encoding);
    } else if (timeout && !wire_timeout(timeout, &ms)) {
        wire_fail(&r->error, WIRE_INVALID_ARGUMENT, "invalid Connect-Timeout-Ms '%.64s'", timeout);
    } else if (ms == 0) {
        wire_fail(&r->error, WIRE_DEADLINE_EXCEEDED, "the operation timed out");
    } else {
        check_user(r);
    }
}

static struct request *begin(struct guest *guest, struct MHD_Connection *connection,
                             const char *method, const char *path)
{
    static const struct route refused = {.method = "", .path = "", .kind = ROUTE_REST};
    struct request *r = mem_alloc(sizeof(*r));
    const char *allow = NULL;
    r->guest = guest;
    r->connection = connection;
    r->route = find_route(method, path, &allow);
    guest->requests++;
    guest_touch(guest);
    if (!r->route) {
        r->route = &refused;
        r->early_status = allow ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
        r->data = NULL;
        str_add(&r->body, allow ? allow : "");
    } else if (!token_ok(r)) {
        r->early_status = MHD_HTTP_UNAUTHORIZED;
    } else if (r->route->kind != ROUTE_REST) {
        check_rpc(r);
    }
    return r;
}

static enum MHD_Result reply_early(struct request *r)
{
    struct str none = {0};
    struct MHD_Response *response;
    switch (r->early_status) {
    case MHD_HTTP_UNAUTHORIZED:
        return request_reply_error(r, MHD_HTTP_UNAUTHORIZED,
                                   "unauthorized access, X-Access-Token is missing or wrong");
    case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
        response = response_of(NULL, &none);
        response_header(response, "Accept-Post",
                        r->route->kind == ROUTE_UNARY ? TYPE_UNARY : TYPE_STREAM);
        break;
    case MHD_HTTP_METHOD_NOT_ALLOWED:
        response = response_of(NULL, &none);
        response_header(response, MHD_HTTP_HEADER_ALLOW, str_c(&r->body));
        break;
    default:
        str_add(&none, "404 page not found\n");
        response = response_of("text/plain; charset=utf-8", &none);
        break;
    }
    return request_queue(r, r->early_status, response);
}

/* --- bodies --- */

static void take_body(struct request *r, const char *bytes, size_t *len)
{
    size_t used = *len;
    if (r->early_status != 0 || r->error.code != WIRE_OK) {
        *len = 0;
        return;
    }
    if (r->route->feed) {
        int rc = r->route->feed(r, bytes, *len, &used, &r->error);
        *len = rc == 1 ? *len - used : 0;
        return;
    }
    if (r->body.len + *len > REQUEST_BODY_MAX) {
        wire_fail(&r->error, WIRE_RESOURCE_EXHAUSTED, "message is larger than the limit of %zu",
                  REQUEST_BODY_MAX);
        str_free(&r->body);
    } else {
        str_addn(&r->body, bytes, *len);
    }
    *len = 0;
}

static int parse(struct request *r, const char *bytes, size_t len, const struct json **ret)
{
    struct err err = {0};
    if (!r->arena) {
        r->arena = arena_new();
    }
    arena_reset(r->arena);
    if (json_parse(r->arena, bytes, len, ret, &err) < 0) {
        return wire_fail(&r->error, WIRE_INVALID_ARGUMENT, "request is not JSON: %.256s", err.text);
    }
    if ((*ret)->type != JSON_OBJECT) {
        return wire_fail(&r->error, WIRE_INVALID_ARGUMENT, "request is not a JSON object");
    }
    return 0;
}

static enum MHD_Result finish_unary(struct request *r)
{
    autostr struct str out = {0};
    const struct json *message;
    if (r->error.code == WIRE_OK && parse(r, str_c(&r->body), r->body.len, &message) == 0) {
        int rc = r->route->unary(r, message, &out, &r->error);
        if (rc == 1) {
            return MHD_YES;
        }
        if (rc == 0) {
            return request_reply(r, MHD_HTTP_OK, TYPE_UNARY, &out);
        }
    }
    str_reset(&out);
    wire_put_error(&out, &r->error);
    return request_reply(r, wire_code_status(r->error.code), TYPE_UNARY, &out);
}

/* The one message of a server stream: parsed from reader->payload. */
static int one_message(struct request *r, struct wire_reader *reader, const struct json **ret)
{
    size_t used = 0;
    int rc = wire_reader_feed(reader, str_c(&r->body), r->body.len, &used, &r->error);
    if (rc < 0) {
        return -1;
    }
    if (rc == 0) {
        return wire_fail(&r->error, WIRE_INVALID_ARGUMENT, "request ends inside its message");
    }
    if (used < r->body.len && !((uint8_t)r->body.ptr[used] & WIRE_FLAG_END)) {
        return wire_fail(&r->error, WIRE_UNIMPLEMENTED, "more than one message in the request");
    }
    return parse(r, str_c(&reader->payload), reader->payload.len, ret);
}

static enum MHD_Result reply_stream(struct request *r, const char *message)
{
    autostr struct str out = {0};
    if (r->error.code == WIRE_OK) {
        wire_put_envelope(&out, 0, message, strlen(message));
    }
    wire_put_end(&out, r->error.code == WIRE_OK ? NULL : &r->error);
    return request_reply(r, MHD_HTTP_OK, TYPE_STREAM, &out);
}

static enum MHD_Result finish_stream(struct request *r)
{
    struct wire_reader reader = {.max = REQUEST_BODY_MAX};
    const struct json *message;
    struct MHD_Response *response = NULL;
    if (r->error.code == WIRE_OK && one_message(r, &reader, &message) == 0) {
        response = r->route->stream(r, message, &r->error);
    }
    wire_reader_free(&reader);
    if (!response) {
        return reply_stream(r, "");
    }
    response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, TYPE_STREAM);
    return request_queue(r, MHD_HTTP_OK, response);
}

static enum MHD_Result finish_input(struct request *r)
{
    size_t used = 0;
    if (r->error.code == WIRE_OK && r->route->feed(r, "", 0, &used, &r->error) == 1) {
        return MHD_YES;
    }
    return reply_stream(r, "{}");
}

static enum MHD_Result finish(struct request *r)
{
    if (r->early_status != 0) {
        return reply_early(r);
    }
    switch (r->route->kind) {
    case ROUTE_REST:
        return r->route->rest(r);
    case ROUTE_UNARY:
        return finish_unary(r);
    case ROUTE_STREAM:
        return finish_stream(r);
    case ROUTE_INPUT:
        return finish_input(r);
    }
    return MHD_NO;
}

/* --- libmicrohttpd's side --- */

static enum MHD_Result access_handler(void *user, struct MHD_Connection *connection,
                                      const char *url, const char *method,
                                      const char *version is_unused, const char *bytes, size_t *len,
                                      void **state)
{
    struct request *r = *state;
    if (!r) {
        *state = begin(user, connection, method, url);
        return MHD_YES;
    }
    if (*len > 0) {
        take_body(r, bytes, len);
        return MHD_YES;
    }
    return finish(r);
}

static void completed(void *user is_unused, struct MHD_Connection *connection is_unused,
                      void **state, enum MHD_RequestTerminationCode code is_unused)
{
    struct request *r = *state;
    if (!r) {
        return;
    }
    if (r->waiting_for) {
        process_forget_waiter(r->waiting_for, &r->waiter);
    }
    if (r->route->dispose) {
        r->route->dispose(r);
    }
    r->guest->requests--;
    guest_touch(r->guest);
    str_free(&r->body);
    arena_free(r->arena);
    free(r);
    *state = NULL;
}

printf_like(2, 0) static void library_says(void *user is_unused, const char *fmt, va_list ap)
{
    autostr struct str line = {0};
    str_addv(&line, fmt, ap);
    while (line.len > 0 && line.ptr[line.len - 1] == '\n') {
        str_cut(&line, line.len - 1);
    }
    log_debug("guest", "http: %s", str_c(&line));
}

struct MHD_Daemon *server_start(struct guest *guest)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET, 0,
        NULL, NULL, access_handler, guest, MHD_OPTION_EXTERNAL_LOGGER, library_says, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        IDLE_CONNECTION_S, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}
