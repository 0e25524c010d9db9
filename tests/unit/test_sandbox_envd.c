/*
 * test_sandbox_envd.c - the envd client against answers that no good guest gives.
 *
 * A thread serves canned bytes on a unix socket, as many at a time as the test wants; each
 * connection gets the next answer.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/envd_wire.h"
#include "tmpdir.h"

TestSuite(envd, .timeout = 60);

/* --- a server that says what it is told
 * ----------------------------------------------------------- */

struct canned {
    int listen_fd;
    struct str answer;  /* of every connection */
    size_t piece;       /* bytes per write; 0: all at once */
    bool hang;          /* keep the connection open after the answer */
    struct str request; /* the last one, headers and what came with them */
    atomic_bool stop;
    pthread_t thread;
    struct envd_target target;
};

static void serve_one(struct canned *canned, int fd)
{
    char buffer[65536];

    str_reset(&canned->request);
    for (;;) { /* headers and, as long as it comes at once, the body */
        ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
        if (got <= 0) {
            return;
        }
        str_addn(&canned->request, buffer, (size_t)got);
        const char *end = strstr(str_c(&canned->request), "\r\n\r\n");
        const char *length = strstr(str_c(&canned->request), "Content-Length: ");
        size_t want = length ? strtoul(length + 16, NULL, 10) : 0;
        if (end && canned->request.len - (size_t)(end + 4 - canned->request.ptr) >= want) {
            break;
        }
    }
    size_t piece = canned->piece ? canned->piece : canned->answer.len;
    for (size_t at = 0; at < canned->answer.len; at += piece) {
        size_t left = canned->answer.len - at;
        if (send(fd, canned->answer.ptr + at, left < piece ? left : piece, MSG_NOSIGNAL) < 0) {
            return;
        }
        if (canned->piece) {
            clock_sleep_ms(1);
        }
    }
    while (canned->hang && !atomic_load(&canned->stop)) {
        clock_sleep_ms(2);
    }
}

static void *serve(void *arg)
{
    struct canned *canned = arg;

    for (int fd; (fd = accept(canned->listen_fd, NULL, NULL)) >= 0;) {
        serve_one(canned, fd);
        close(fd);
    }
    return NULL;
}

static void canned_start(struct canned *canned)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    canned->target.unix_socket = mem_printf("%s/s", tmpdir());
    canned->target.base_url = mem_strdup("http://sandbox");
    canned->target.user = mem_strdup("us/er");
    unlink(canned->target.unix_socket);
    str_copy(address.sun_path, sizeof(address.sun_path), canned->target.unix_socket);
    canned->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(canned->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(canned->listen_fd, 8), 0);
    cr_assert_eq(pthread_create(&canned->thread, NULL, serve, canned), 0);
}

static void canned_end(struct canned *canned)
{
    atomic_store(&canned->stop, true);
    shutdown(canned->listen_fd, SHUT_RDWR);
    pthread_join(canned->thread, NULL);
    close(canned->listen_fd);
    str_free(&canned->answer);
    str_free(&canned->request);
    envd_target_free(&canned->target);
}

static void answer(struct canned *canned, const char *status, const char *type, const void *body,
                   size_t len)
{
    str_reset(&canned->answer);
    str_addf(&canned->answer,
             "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n",
             status, type, len);
    str_addn(&canned->answer, body, len);
}

static void envelope(struct str *out, int flags, const char *json)
{
    size_t len = strlen(json);
    const char head[5] = {(char)flags, (char)(len >> 24), (char)(len >> 16), (char)(len >> 8),
                          (char)len};

    str_addn(out, head, 5);
    str_add(out, json);
}

static int run(struct canned *canned, const struct envd_command *command,
               struct envd_result *result, struct err *err)
{
    autoenvd struct envd *envd = envd_open(&canned->target);

    return envd_exec(envd, command, NULL, result, err);
}

static const char *const true_argv[] = {"true", NULL};

/* --- streams -----------------------------------------------------------------------------------
 */

Test(envd, envelopes_may_be_cut_anywhere)
{
    for (size_t piece = 0; piece < 4; piece++) {
        struct canned canned = {.piece = piece};
        autostr struct str body = {0};
        struct envd_command command = {.argv = true_argv};
        autoresult struct envd_result result = {0};
        struct err err = {0};

        envelope(&body, 0, "{ \"event\" : {\"start\":{\"pid\":\"42\"}}}");
        envelope(&body, 0, "{\"event\":{\"keepalive\":{}}}");
        envelope(&body, 0, "{\"somethingNew\":1}");
        envelope(&body, 0, "{\"event\":{\"data\":{\"stdout\":\"aGVs\"}}}");
        envelope(&body, 0, "{\"event\":{\"data\":{\"stderr\":\"ZXJy\"}}}");
        envelope(&body, 0, "{\"event\":{\"data\":{\"stdout\":\"bG8=\"}}}");
        envelope(
            &body, 0,
            "{\"event\":{\"end\":{\"exitCode\":3,\"exited\":true,\"status\":\"exit status 3\"}}}");
        envelope(&body, 2, "{}");
        answer(&canned, "200 OK", "application/connect+json", body.ptr, body.len);
        canned_start(&canned);
        cr_assert_eq(run(&canned, &command, &result, &err), 0, "%s", err.text);
        cr_expect_str_eq(str_c(&result.out), "hello");
        cr_expect_str_eq(str_c(&result.err), "err");
        cr_expect_eq(result.exit_code, 3);
        cr_expect_eq(result.pid, 42);
        canned_end(&canned);
    }
}

Test(envd, every_form_of_an_end_is_understood)
{
    static const struct {
        const char *end;
        int code;
        int signal;
    } rows[] = {
        {"{\"exited\":true,\"status\":\"exit status 0\"}", 0, 0},
        {"{\"exited\":true}", 0, 0},
        {"{\"exit_code\":9,\"exited\":true}", 9, 0},
        {"{\"status\":\"exit status 17\"}", 17, 0},
        {"{\"exitCode\":-1,\"status\":\"signal: killed\",\"error\":\"signal: killed\"}", 137, 9},
        {"{\"exitCode\":-1,\"status\":\"signal: terminated\"}", 143, 15},
        {"{\"exitCode\":-1,\"status\":\"signal: segmentation fault (core dumped)\"}", 139, 11},
        {"{\"exitCode\":-1,\"status\":\"signal 34\"}", 162, 34},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct canned canned = {0};
        autostr struct str body = {0};
        autofree char *end = mem_printf("{\"event\":{\"end\":%s}}", rows[i].end);
        struct envd_command command = {.argv = true_argv};
        autoresult struct envd_result result = {0};
        struct err err = {0};

        envelope(&body, 0, "{\"event\":{\"start\":{\"pid\":1}}}");
        envelope(&body, 0, end);
        envelope(&body, 2, "{}");
        answer(&canned, "200 OK", "application/connect+json", body.ptr, body.len);
        canned_start(&canned);
        cr_expect_eq(run(&canned, &command, &result, &err), 0, "%s: %s", end, err.text);
        cr_expect_eq(result.exit_code, rows[i].code, "%s: %d", end, result.exit_code);
        cr_expect_eq(result.signal, rows[i].signal, "%s: %d", end, result.signal);
        canned_end(&canned);
    }
}

Test(envd, what_is_no_good_stream_is_an_error)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum err_kind kind;
    } rows[] = {
        {"", 0, ERR_AMBIGUOUS},                                    /* no end */
        {"<!DOCTYPE html><html>portal</html>", 34, ERR_AMBIGUOUS}, /* flag 0x3c */
        {"\0\xff\xff\xff\xff{}", 7, ERR_AMBIGUOUS},                /* 4 GiB announced */
        {"\0\0\0\0\4nope", 9, ERR_AMBIGUOUS},                      /* not JSON */
        {"\0\0\0\0\2[]", 7, ERR_AMBIGUOUS},                        /* not an object */
        {"\0\0\0\0\x10{\"event\":", 14, ERR_AMBIGUOUS},            /* cut off */
        {"\2\0\0\0\2{}\0\0\0\0\2{}", 14, ERR_AMBIGUOUS},           /* goes on after its end */
        {"\2\0\0\0\2{}", 7, ERR_AMBIGUOUS},                        /* no end event */
        {"\2\0\0\0\46{\"error\":{\"code\":\"invalid_argument\"}}   ", 43, ERR_PERMANENT},
        {"\2\0\0\0\41{\"error\":{\"code\":\"unavailable\"}}   ", 38, ERR_TRANSIENT},
        {"\2\0\0\0\36{\"error\":{\"code\":\"made_up\"}}  ", 35, ERR_AMBIGUOUS},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct canned canned = {0};
        struct envd_command command = {.argv = true_argv};
        struct envd_result result = {0};
        struct err err = {0};

        answer(&canned, "200 OK", "application/connect+json", rows[i].bytes, rows[i].len);
        canned_start(&canned);
        cr_expect_eq(run(&canned, &command, &result, &err), -1, "%zu", i);
        cr_expect_eq(err.kind, rows[i].kind, "%zu: %s", i, err.text);
        canned_end(&canned);
    }
}

Test(envd, a_lost_connection_is_ambiguous_and_none_is_transient)
{
    struct canned canned = {0};
    struct envd_command command = {.argv = true_argv};
    struct envd_result result = {0};
    struct err err = {0};

    str_add(&canned.answer, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    canned_start(&canned);
    cr_expect_eq(run(&canned, &command, &result, &err), -1);
    cr_expect_eq(err.kind, ERR_AMBIGUOUS, "%s", err.text);
    char *path = mem_strdup(canned.target.unix_socket);
    canned_end(&canned);
    unlink(path);
    struct envd_target target = {.unix_socket = path, .base_url = mem_strdup("http://sandbox")};
    autoenvd struct envd *envd = envd_open(&target);
    cr_expect_eq(envd_exec(envd, &command, NULL, &result, &err), -1);
    cr_expect_eq(err.kind, ERR_TRANSIENT, "%s", err.text);
    cr_expect_eq(envd_health(envd, 1000, &err), -1);
    cr_expect_eq(err.kind, ERR_TRANSIENT);
    envd_target_free(&target);
}

Test(envd, a_silent_process_that_cannot_be_killed_is_given_up, .timeout = 60)
{
    struct canned canned = {.hang = true};
    autostr struct str body = {0};
    atomic_bool cancel = true;
    struct envd_command follow = {0};
    autoresult struct envd_result result = {0};
    struct err err = {0};

    envelope(&body, 0, "{\"event\":{\"start\":{\"pid\":7}}}");
    str_add(&canned.answer, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    str_addn(&canned.answer, body.ptr, body.len);
    canned_start(&canned);
    autoenvd struct envd *envd = envd_open(&canned.target);
    /* Listening only: the flag ends the listening, whatever the other side does. */
    cr_expect_eq(envd_connect(envd, 7, &follow, &cancel, &result, &err), ENVD_CANCELLED, "%s",
                 err.text);
    cr_expect_eq(result.exit_code, -1);
    canned_end(&canned);
}

/* --- unary calls and files -------------------------------------------------------------------- */

Test(envd, errors_are_told_by_code_and_not_by_words)
{
    static const struct {
        const char *status;
        const char *type;
        const char *body;
        int rc;
        enum err_kind kind;
    } rows[] = {
        {"404 Not Found", "application/json", "{\"code\":\"not_found\",\"message\":\"x\"}",
         ENVD_ABSENT, 0},
        {"404 Not Found", "application/json", "{\"code\":404,\"message\":\"x\"}", ENVD_ABSENT, 0},
        {"400 Bad", "application/json", "{\"code\":\"invalid_argument\"}", -1, ERR_PERMANENT},
        {"503 No", "application/json", "{\"error\":\"service unavailable\"}", -1, ERR_TRANSIENT},
        {"502 Bad Gateway", "text/html", "<html>", -1, ERR_TRANSIENT},
        {"410 Gone", "application/json", "{\"error\":\"gone\"}", -1, ERR_PERMANENT},
        {"500 Oops", "text/plain", "", -1, ERR_AMBIGUOUS},
        {"200 OK", "text/html", "<html>portal</html>", -1, ERR_PERMANENT},
        {"200 OK", "application/json", "{}", -1, ERR_PERMANENT},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct canned canned = {0};
        struct envd_entry entry = {0};
        struct err err = {0};

        answer(&canned, rows[i].status, rows[i].type, rows[i].body, strlen(rows[i].body));
        canned_start(&canned);
        autoenvd struct envd *envd = envd_open(&canned.target);
        int rc = envd_stat(envd, "/x", &entry, &err);
        cr_expect_eq(rc, rows[i].rc, "%zu: %d %s", i, rc, err.text);
        if (rc < 0) {
            cr_expect_eq(err.kind, rows[i].kind, "%zu: %s", i, err.text);
        }
        canned_end(&canned);
    }
}

Test(envd, a_short_body_is_an_error)
{
    struct canned canned = {0};
    autostr struct str text = {0};
    struct err err = {0};

    str_add(&canned.answer,
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nabc");
    canned_start(&canned);
    autoenvd struct envd *envd = envd_open(&canned.target);
    cr_expect_eq(envd_read_file(envd, "/x", 100, &text, NULL, &err), -1);
    cr_expect_eq(text.len, 0);
    canned_end(&canned);
}

Test(envd, requests_are_escaped_and_name_the_user)
{
    struct canned canned = {0};
    autostr struct str text = {0};
    struct err err = {0};

    answer(&canned, "200 OK", "text/plain", "x", 1);
    canned_start(&canned);
    autoenvd struct envd *envd = envd_open(&canned.target);
    cr_assert_eq(envd_read_file(envd, "/a b/&c=d\r\nX: y", 100, &text, NULL, &err), 0, "%s",
                 err.text);
    cr_expect_not_null(
        strstr(str_c(&canned.request),
               "GET /files?path=%2Fa%20b%2F%26c%3Dd%0D%0AX%3A%20y&username=us%2Fer HTTP"),
        "%s", str_c(&canned.request));
    cr_expect_not_null(strstr(str_c(&canned.request), "Authorization: Basic dXMvZXI6"));
    canned_end(&canned);
}

/* --- the capture ------------------------------------------------------------------------------ */

Test(capture, keeps_all_or_head_and_tail)
{
    for (size_t limit = 0; limit < 12; limit++) {
        for (size_t total = 0; total < 40; total++) {
            for (size_t piece = 1; piece < 16; piece += 3) {
                struct envd_capture capture = {.limit = limit};
                autostr struct str all = {0};
                autostr struct str want = {0};
                autostr struct str got = {0};
                for (size_t i = 0; i < total; i++) {
                    str_addc(&all, (char)('A' + i));
                }
                for (size_t at = 0; at < total; at += piece) {
                    envd_capture_add(&capture, all.ptr + at,
                                     total - at < piece ? total - at : piece);
                }
                bool cut = envd_capture_finish(&capture, &got);
                cr_assert_eq(cut, total > limit);
                if (cut) {
                    size_t tail = limit - limit / 2;
                    str_addf(&want, "%.*s\n[... %zu bytes left out ...]\n%s", (int)(limit / 2),
                             str_c(&all), total - limit, str_c(&all) + total - tail);
                } else {
                    str_add(&want, str_c(&all));
                }
                cr_assert_str_eq(str_c(&got), str_c(&want), "limit %zu total %zu piece %zu", limit,
                                 total, piece);
            }
        }
    }
}
