/*
 * guest_client.c - see guest_client.h. Any failure to talk at all fails the test at once.
 * Tests: tests/unit/test_guest_daemon.c
 */
#include "guest_client.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

char guest_dir[256];

static void enter_new_dir(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(guest_dir, sizeof(guest_dir), "%.200s/guest-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(guest_dir));
    cr_assert_eq(chdir(guest_dir), 0);
}

pid_t guest_up(const char *const *options)
{
    const char *argv[32] = {GUEST_DAEMON, "--socket", "s",          "--home", NULL,
                            "--log",      "log",      "--ready-fd", "100"};
    size_t n = 9;
    int ready[2];
    char byte;
    if (guest_dir[0] == '\0') {
        enter_new_dir();
    }
    argv[4] = guest_dir;
    for (; options && *options; options++) {
        argv[n++] = *options;
    }
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ready[1], 100);
        close(ready[0]);
        close(ready[1]);
        execv(GUEST_DAEMON, (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1, "the daemon did not start");
    close(ready[0]);
    return pid;
}

int guest_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int guest_down(pid_t pid)
{
    kill(pid, SIGTERM);
    return guest_wait(pid);
}

void answer_free(struct answer *answer)
{
    str_free(&answer->headers);
    str_free(&answer->body);
}

int client_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void client_send(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0) {
            return; /* the reader will see what that means */
        }
        at += n;
        len -= (size_t)n;
    }
}

/* --- answers --- */

static bool fill(int fd, struct str *in)
{
    char buffer[65536];
    ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n > 0) {
        str_addn(in, buffer, (size_t)n);
    }
    return n > 0;
}

static const char *header_value(const struct str *headers, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = strstr(str_c(headers), "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
            return line + len + 1 + strspn(line + len + 1, " ");
        }
    }
    return NULL;
}

bool answer_has_header(const struct answer *answer, const char *line)
{
    size_t len = strlen(line);
    for (const char *p = strstr(str_c(&answer->headers), "\r\n"); p; p = strstr(p, "\r\n")) {
        p += 2;
        if (strncasecmp(p, line, len) == 0 && p[len] == '\r') {
            return true;
        }
    }
    return false;
}

/* Decode chunks from `in` at `at` into the body; false when the connection broke. */
static bool read_chunks(int fd, struct str *in, size_t at, struct str *body)
{
    for (;;) {
        const char *end;
        while (!(end = in->len > at ? memmem(in->ptr + at, in->len - at, "\r\n", 2) : NULL)) {
            if (!fill(fd, in)) {
                return false;
            }
        }
        size_t len = strtoul(in->ptr + at, NULL, 16);
        at = (size_t)(end - in->ptr) + 2;
        while (in->len < at + len + 2) {
            if (!fill(fd, in)) {
                return false;
            }
        }
        str_addn(body, in->ptr + at, len);
        at += len + 2;
        if (len == 0) {
            return true;
        }
        if (at > (1U << 20)) { /* keep the window small */
            memmove(in->ptr, in->ptr + at, in->len - at);
            str_cut(in, in->len - at);
            at = 0;
        }
    }
}

struct answer client_read(int fd)
{
    struct answer answer = {0};
    autostr struct str in = {0};
    const char *end;
    while (!(end = in.len > 0 ? memmem(in.ptr, in.len, "\r\n\r\n", 4) : NULL)) {
        if (!fill(fd, &in)) {
            return answer;
        }
    }
    size_t at = (size_t)(end - in.ptr) + 4;
    str_addn(&answer.headers, in.ptr, at - 2);
    const char *length = header_value(&answer.headers, "Content-Length");
    const char *coding = header_value(&answer.headers, "Transfer-Encoding");
    size_t len = length ? strtoul(length, NULL, 10) : 0;
    bool whole = true;
    if (coding) {
        whole = read_chunks(fd, &in, at, &answer.body);
    } else {
        while (whole && in.len < at + len) {
            whole = fill(fd, &in);
        }
        str_addn(&answer.body, in.ptr + at, in.len - at < len ? in.len - at : len);
    }
    answer.status = whole ? (int)strtol(answer.headers.ptr + 9, NULL, 10) : 0;
    return answer;
}

static int send_request(const char *method, const char *target, const char *headers,
                        const void *body, size_t len)
{
    int fd = client_connect();
    autostr struct str head = {0};
    str_addf(&head, "%s %s HTTP/1.1\r\nHost: guest\r\nContent-Length: %zu\r\n%s\r\n", method,
             target, len, headers ? headers : "");
    client_send(fd, head.ptr, head.len);
    client_send(fd, body, len);
    return fd;
}

struct answer client_call(const char *method, const char *target, const char *headers,
                          const void *body, size_t len)
{
    int fd = send_request(method, target, headers, body, len);
    struct answer answer = client_read(fd);
    close(fd);
    return answer;
}

struct answer client_rpc(const char *procedure, const char *message)
{
    autofree char *target = mem_printf("/%s", procedure);
    return client_call("POST", target, "Content-Type: application/json\r\n", message,
                       strlen(message));
}

/* --- streams --- */

void run_free(struct run *run)
{
    str_free(&run->out);
    str_free(&run->err);
}

static void take_data(const struct json *data, const char *key, struct str *to)
{
    const char *text = json_get_str(data, key);
    if (text) {
        cr_assert(base64_decode(to, text, strlen(text)), "data is not base64");
    }
}

static void take_event(struct run *run, const struct json *event)
{
    const struct json *end = json_get(event, "end");
    int64_t number = 0;
    if (json_get_i64(json_get(event, "start"), "pid", &number)) {
        run->pid = (int)number;
        run->starts++;
    }
    take_data(json_get(event, "data"), "stdout", &run->out);
    take_data(json_get(event, "data"), "stderr", &run->err);
    run->keepalives += json_get(event, "keepalive") != NULL;
    if (end) {
        cr_assert(!run->ended, "two end events");
        number = 0;
        json_get_i64(end, "exitCode", &number);
        json_get_bool(end, "timedOut", &run->timed_out);
        run->exit_code = (int)number;
        run->ended = true;
        str_copy(run->end_status, sizeof(run->end_status), json_get_str(end, "status"));
    }
}

static void take_envelope(struct run *run, int flags, const char *bytes, size_t len)
{
    autoarena struct arena *arena = arena_new();
    struct err err = {0};
    const struct json *root;
    cr_assert_eq(json_parse(arena, bytes, len, &root, &err), 0, "%s", err.text);
    cr_assert(!run->closed, "something follows the end of the stream");
    if (flags == 0) {
        take_event(run, json_get(root, "event"));
        return;
    }
    cr_assert_eq(flags, 2);
    run->closed = true;
    const struct json *error = json_get(root, "error");
    if (error) {
        str_copy(run->error, sizeof(run->error), json_get_str(error, "code"));
        str_copy(run->message, sizeof(run->message), json_get_str(error, "message"));
    }
}

int stream_send(const char *procedure, const char *message, const char *headers)
{
    autofree char *target = mem_printf("/%s", procedure);
    autofree char *more =
        mem_printf("Content-Type: application/connect+json\r\n%s", headers ? headers : "");
    autostr struct str body = {0};
    size_t len = strlen(message);
    uint8_t header[5] = {0, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                         (uint8_t)len};
    str_addn(&body, header, 5);
    str_addn(&body, message, len);
    return send_request("POST", target, more, body.ptr, body.len);
}

struct run stream_read(int fd)
{
    struct run run = {0};
    autoanswer struct answer answer = client_read(fd);
    close(fd);
    run.status = answer.status;
    for (size_t at = 0; answer.status == 200 && at < answer.body.len;) {
        cr_assert_leq(at + 5, answer.body.len, "a cut envelope");
        const uint8_t *h = (const uint8_t *)answer.body.ptr + at;
        size_t len = (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 | h[4];
        cr_assert_leq(at + 5 + len, answer.body.len, "a cut envelope");
        take_envelope(&run, h[0], answer.body.ptr + at + 5, len);
        at += 5 + len;
    }
    return run;
}

struct run stream_call(const char *procedure, const char *message, const char *headers)
{
    return stream_read(stream_send(procedure, message, headers));
}

static void sh_message(struct str *out, const char *script, const char *more_fields)
{
    str_add(out, "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\",");
    json_quote(out, script, strlen(script));
    str_add(out, "],\"cwd\":");
    json_quote(out, guest_dir, strlen(guest_dir));
    str_addf(out, "}%s}", more_fields ? more_fields : ",\"stdin\":false");
}

struct run run_sh(const char *script, const char *headers)
{
    autostr struct str message = {0};
    sh_message(&message, script, NULL);
    return stream_call("process.Process/Start", str_c(&message), headers);
}

int start_sh(const char *script, const char *more_fields, const char *headers)
{
    autostr struct str message = {0};
    autostr struct str in = {0};
    const char *at = NULL;
    sh_message(&message, script, more_fields);
    int fd = stream_send("process.Process/Start", str_c(&message), headers);
    while (!at && fill(fd, &in)) {
        at = memmem(in.ptr, in.len, "\"pid\":", 6);
    }
    close(fd);
    cr_assert_not_null(at, "no start event: %s", str_c(&in));
    return (int)strtol(at + 6, NULL, 10);
}

struct run connect_to(int pid)
{
    autofree char *message = mem_printf("{\"process\":{\"pid\":%d}}", pid);
    return stream_call("process.Process/Connect", message, NULL);
}

/* --- processes --- */

bool pid_is_alive(pid_t pid)
{
    autofree char *path = mem_printf("/proc/%d/stat", pid);
    char text[512] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;
    return end && end[2] != 'Z' && end[2] != 'X';
}

int number_in(const char *file)
{
    for (int i = 0; i < 2000; i++) {
        char text[32] = "";
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
        if (fd >= 0) {
            close(fd);
        }
        if (n > 0 && text[n - 1] == '\n') {
            return (int)strtol(text, NULL, 10);
        }
        clock_sleep_ms(5);
    }
    cr_assert_fail("%s never got a number", file);
    return -1;
}

bool dies(pid_t pid)
{
    for (int i = 0; i < 2000 && pid_is_alive(pid); i++) {
        clock_sleep_ms(5);
    }
    return !pid_is_alive(pid);
}
