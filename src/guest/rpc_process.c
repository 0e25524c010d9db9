/*
 * rpc_process.c - process.Process: messages in, process.h calls, messages out.
 *
 * Owns: the JSON of these procedures. Must not: touch a process except through process.h.
 * Unknown fields are ignored; a known field of a wrong type is invalid_argument.
 * Tests: tests/unit/test_guest_process.c, tests/unit/test_guest_hostile.c
 */
#include "guest/server.h"

#include "base/clock.h"
#include "base/mem.h"
#include "guest/stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --- reading messages --- */

/* NULL in *ret when absent. */
static int text_field(const struct json *object, const char *key, const char **ret,
                      struct wire_error *error)
{
    const struct json *value = json_get(object, key);
    *ret = NULL;
    if (!value || value->type == JSON_NULL) {
        return 0;
    }
    *ret = json_str(value);
    return *ret ? 0
                : wire_fail(error, WIRE_INVALID_ARGUMENT, "'%s' must be a string without NUL", key);
}

static const struct json *object_field(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);
    return value && value->type == JSON_OBJECT ? value : NULL;
}

/* The process that message.process selects. living: ended ones do not count. */
static struct process *select_process(const struct request *r, const struct json *message,
                                      bool living, struct wire_error *error)
{
    const struct json *selector = object_field(message, "process");
    const char *tag = NULL;
    int64_t pid = 0;
    if (!selector || text_field(selector, "tag", &tag, error) < 0) {
        wire_fail(error, WIRE_INVALID_ARGUMENT, "no process selected");
        return NULL;
    }
    if (!tag && (!json_get_i64(selector, "pid", &pid) || pid < 1 || pid > INT32_MAX)) {
        wire_fail(error, WIRE_INVALID_ARGUMENT, "process selector needs a pid or a tag");
        return NULL;
    }
    struct process *p = process_find(r->guest, (pid_t)pid, tag);
    if (p && !(living && p->ended)) {
        return p;
    }
    if (tag) {
        wire_fail(error, WIRE_NOT_FOUND, "process with tag %.128s not found", tag);
    } else {
        wire_fail(error, WIRE_NOT_FOUND, "process with pid %d not found", (int)pid);
    }
    return NULL;
}

static int64_t timeout_ms(const struct request *r)
{
    const char *header = request_header(r, "Connect-Timeout-Ms");
    int64_t ms = 0;
    return header && wire_timeout(header, &ms) ? ms : 0;
}

/* --- Start --- */

static int read_args(const struct request *r, const struct json *config, char ***ret,
                     struct wire_error *error)
{
    const struct json *args = json_get(config, "args");
    size_t count = args && args->type == JSON_ARRAY ? args->count : 0;
    if (args && args->type != JSON_ARRAY && args->type != JSON_NULL) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "'args' must be a list");
    }
    char **argv = arena_array_of(r->arena, char *, count + 2);
    const char *cmd = NULL;
    if (text_field(config, "cmd", &cmd, error) < 0) {
        return -1;
    }
    if (!cmd || *cmd == '\0') {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "'cmd' is missing");
    }
    size_t i = 0;
    argv[i++] = arena_strdup(r->arena, cmd);
    for (const struct json *arg = count > 0 ? args->first : NULL; arg; arg = arg->next) {
        if (!json_str(arg)) {
            return wire_fail(error, WIRE_INVALID_ARGUMENT, "'args' must be strings without NUL");
        }
        argv[i++] = arena_strdup(r->arena, json_str(arg));
    }
    *ret = argv;
    return 0;
}

static int read_envs(const struct request *r, const struct json *config, char ***ret,
                     struct wire_error *error)
{
    const struct json *envs = json_get(config, "envs");
    size_t count = envs && envs->type == JSON_OBJECT ? envs->count : 0;
    if (envs && envs->type != JSON_OBJECT && envs->type != JSON_NULL) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "'envs' must be an object");
    }
    char **vars = arena_array_of(r->arena, char *, count + 1);
    size_t i = 0;
    for (const struct json *var = count > 0 ? envs->first : NULL; var; var = var->next) {
        const char *name = arena_strndup(r->arena, var->key, var->key_len);
        if (!json_str(var) || strlen(name) != var->key_len || !guest_var_name_ok(name)) {
            return wire_fail(error, WIRE_INVALID_ARGUMENT, "'envs' holds an impossible variable");
        }
        vars[i++] = arena_printf(r->arena, "%s=%s", name, json_str(var));
    }
    *ret = vars;
    return 0;
}

static struct MHD_Response *start(struct request *r, const struct json *message,
                                  struct wire_error *error)
{
    const struct json *config = object_field(message, "process");
    struct process_request request = {.want_stdin = true, .timeout_ms = timeout_ms(r)};
    char **argv = NULL;
    char **envs = NULL;
    const char *cwd = NULL;
    autofree char *dir = NULL;
    autostr struct str text = {0};
    if (!config) {
        wire_fail(error, WIRE_INVALID_ARGUMENT, "'process' is missing");
        return NULL;
    }
    if (object_field(message, "pty")) {
        wire_fail(error, WIRE_UNIMPLEMENTED, "this sandbox has no pseudo terminals");
        return NULL;
    }
    if (read_args(r, config, &argv, error) < 0 || read_envs(r, config, &envs, error) < 0 ||
        text_field(config, "cwd", &cwd, error) < 0 ||
        text_field(message, "tag", &request.tag, error) < 0 ||
        guest_path(r->guest, cwd ? cwd : "", &dir, error) < 0) {
        return NULL;
    }
    json_get_bool(message, "stdin", &request.want_stdin);
    json_print(&text, config, 0);
    request.argv = argv;
    request.envs = envs;
    request.cwd = dir;
    request.config = str_c(&text);
    struct process *p;
    if (process_start(r->guest, &request, &p, error) < 0) {
        return NULL;
    }
    struct stream_spec spec = {.is_start = true,
                               .keepalive_ms =
                                   wire_keepalive_ms(request_header(r, "Keepalive-Ping-Interval"))};
    return stream_open(p, r->connection, &spec);
}

static struct MHD_Response *connect_to(struct request *r, const struct json *message,
                                       struct wire_error *error)
{
    struct process *p = select_process(r, message, false, error);
    const struct json *skip = object_field(message, "skip");
    int64_t out = 0;
    int64_t err = 0;
    if (!p) {
        return NULL;
    }
    json_get_i64(skip, "stdout", &out);
    json_get_i64(skip, "stderr", &err);
    struct stream_spec spec = {.timeout_ms = timeout_ms(r),
                               .keepalive_ms =
                                   wire_keepalive_ms(request_header(r, "Keepalive-Ping-Interval")),
                               .skip = {out > 0 ? (uint64_t)out : 0, err > 0 ? (uint64_t)err : 0}};
    return stream_open(p, r->connection, &spec);
}

/* --- List --- */

static void put_time(struct json_out *w, const char *key, int64_t wall_ns)
{
    autostr struct str text = {0};
    time_format_rfc3339(&text, wall_ns);
    json_kv_str(w, key, str_c(&text));
}

static void put_process(struct json_out *w, const struct process *p)
{
    json_begin_object(w);
    json_key(w, "config");
    json_put_raw(w, p->config, strlen(p->config));
    json_kv_i64(w, "pid", p->pid);
    json_kv_str_opt(w, "tag", p->tag);
    put_time(w, "startedAt", p->started_wall_ns);
    if (p->ended) {
        put_time(w, "endedAt", p->ended_wall_ns);
        json_key(w, "end");
        stream_put_end(w, p);
    }
    json_end_object(w);
}

static void put_list(struct json_out *w, const char *key, const struct guest *guest, bool ended)
{
    bool any = false;
    for (const struct process *p = guest->processes; p; p = p->next) {
        if (p->ended != ended) {
            continue;
        }
        if (!any) {
            json_key(w, key);
            json_begin_array(w);
            any = true;
        }
        put_process(w, p);
    }
    if (any) {
        json_end_array(w);
    }
}

static int list(struct request *r, const struct json *message is_unused, struct str *out,
                struct wire_error *error is_unused)
{
    struct json_out w = json_writer(out, 0);
    json_begin_object(&w);
    put_list(&w, "processes", r->guest, false);
    put_list(&w, "ended", r->guest, true);
    json_end_object(&w);
    return 0;
}

/* --- signals and stdin --- */

static int send_signal(struct request *r, const struct json *message, struct str *out,
                       struct wire_error *error)
{
    const char *name = json_get_str(message, "signal");
    int64_t number = 0;
    if (str_eq(name, "SIGNAL_SIGTERM")) {
        number = SIGTERM;
    } else if (str_eq(name, "SIGNAL_SIGKILL")) {
        number = SIGKILL;
    } else if (name && !str_eq(name, "SIGNAL_UNSPECIFIED")) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "unknown signal '%.64s'", name);
    } else if (!name) {
        json_get_i64(message, "signal", &number);
    }
    struct process *p = select_process(r, message, false, error);
    if (!p) {
        return -1;
    }
    if (number != SIGTERM && number != SIGKILL) {
        return wire_fail(error, WIRE_UNIMPLEMENTED, "only SIGTERM and SIGKILL can be sent");
    }
    str_add(out, "{}");
    return process_signal(p, (int)number, error);
}

/* Bytes of {"input":{"stdin":"base64"}}. */
static int read_input(const struct json *message, struct str *ret, struct wire_error *error)
{
    const struct json *input = object_field(message, "input");
    const struct json *bytes = json_get(input, "stdin");
    if (json_get(input, "pty")) {
        return wire_fail(error, WIRE_INTERNAL, "error writing to tty: process has none");
    }
    if (!bytes || bytes->type != JSON_STRING || !wire_base64(ret, bytes->text, bytes->text_len)) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "'input.stdin' must be base64");
    }
    return 0;
}

static int send_input(struct request *r, const struct json *message, struct str *out,
                      struct wire_error *error)
{
    autostr struct str bytes = {0};
    struct process *p = select_process(r, message, true, error);
    if (!p || read_input(message, &bytes, error) < 0) {
        return -1;
    }
    int rc = process_input(p, str_c(&bytes), bytes.len, error);
    if (rc == 1) {
        request_wait_input(r, p);
    } else if (rc == 0) {
        str_add(out, "{}");
    }
    return rc;
}

static int close_stdin(struct request *r, const struct json *message, struct str *out,
                       struct wire_error *error)
{
    struct process *p = select_process(r, message, true, error);
    str_add(out, "{}");
    return p ? process_close_stdin(p, error) : -1;
}

static int update(struct request *r, const struct json *message, struct str *out is_unused,
                  struct wire_error *error)
{
    struct process *p = select_process(r, message, true, error);
    return p ? wire_fail(error, WIRE_UNIMPLEMENTED, "process %d has no pseudo terminal", p->pid)
             : -1;
}

/* --- StreamInput: a start message, then data messages, each waiting for room --- */

struct input_stream {
    struct wire_reader reader;
    pid_t pid;
    int64_t started_wall_ns; /* with the pid: this process and no later one */
    struct str bytes;        /* decoded, waiting for room */
};

static int input_message(struct request *r, struct input_stream *s, struct wire_error *error)
{
    struct err err = {0};
    const struct json *message;
    autoarena struct arena *arena = arena_new();
    if (s->reader.header[0] & WIRE_FLAG_END) {
        return 0;
    }
    if (json_parse(arena, str_c(&s->reader.payload), s->reader.payload.len, &message, &err) < 0) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "message is not JSON: %.256s", err.text);
    }
    const struct json *begin = object_field(message, "start");
    const struct json *data = object_field(message, "data");
    if (begin) {
        const struct process *p = select_process(r, begin, true, error);
        s->pid = p ? p->pid : 0;
        s->started_wall_ns = p ? p->started_wall_ns : 0;
        return p ? 0 : -1;
    }
    if (data && s->pid == 0) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "data before start");
    }
    return data ? read_input(data, &s->bytes, error) : 0;
}

/* Hand the waiting bytes over. 1: suspended. */
static int input_flush(struct request *r, struct input_stream *s, struct wire_error *error)
{
    if (s->bytes.len == 0) {
        return 0;
    }
    struct process *p = process_find(r->guest, s->pid, NULL);
    if (!p || p->ended || p->started_wall_ns != s->started_wall_ns) {
        return wire_fail(error, WIRE_NOT_FOUND, "process with pid %d not found", s->pid);
    }
    int rc = process_input(p, s->bytes.ptr, s->bytes.len, error);
    if (rc == 1) {
        request_wait_input(r, p);
    } else {
        str_reset(&s->bytes);
    }
    return rc;
}

static int input_feed(struct request *r, const char *bytes, size_t len, size_t *ret_used,
                      struct wire_error *error)
{
    if (!r->data) {
        struct input_stream *fresh = mem_alloc(sizeof(*fresh));
        fresh->reader.max = REQUEST_BODY_MAX;
        r->data = fresh;
    }
    struct input_stream *s = r->data;
    size_t used = 0;
    for (;;) {
        int rc = input_flush(r, s, error);
        *ret_used = used;
        if (rc != 0 || used == len) {
            if (rc == 0 && len == 0 && wire_reader_is_partial(&s->reader)) {
                return wire_fail(error, WIRE_INVALID_ARGUMENT, "request ends inside a message");
            }
            return rc;
        }
        size_t step = 0;
        rc = wire_reader_feed(&s->reader, bytes + used, len - used, &step, error);
        used += step;
        if (rc < 0 || (rc == 1 && input_message(r, s, error) < 0)) {
            return -1;
        }
    }
}

static void input_dispose(struct request *r)
{
    struct input_stream *s = r->data;
    if (s) {
        wire_reader_free(&s->reader);
        str_free(&s->bytes);
        free(s);
    }
}

const struct route PROCESS_ROUTES[] = {
    {.method = "POST", .path = "/process.Process/Start", .kind = ROUTE_STREAM, .stream = start},
    {.method = "POST",
     .path = "/process.Process/Connect",
     .kind = ROUTE_STREAM,
     .stream = connect_to},
    {.method = "POST", .path = "/process.Process/List", .kind = ROUTE_UNARY, .unary = list},
    {.method = "POST",
     .path = "/process.Process/SendSignal",
     .kind = ROUTE_UNARY,
     .unary = send_signal},
    {.method = "POST",
     .path = "/process.Process/SendInput",
     .kind = ROUTE_UNARY,
     .unary = send_input},
    {.method = "POST",
     .path = "/process.Process/StreamInput",
     .kind = ROUTE_INPUT,
     .feed = input_feed,
     .dispose = input_dispose},
    {.method = "POST",
     .path = "/process.Process/CloseStdin",
     .kind = ROUTE_UNARY,
     .unary = close_stdin},
    {.method = "POST", .path = "/process.Process/Update", .kind = ROUTE_UNARY, .unary = update},
    {0},
};
