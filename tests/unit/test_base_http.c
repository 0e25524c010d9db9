/*
 * test_base_http.c - base/http against a small server of its own, over TCP and a unix socket.
 */
#include "base/http.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tmpdir.h"

/* --- the server: one thread per connection; the path says what it shall do --- */

static atomic_int connections;
static atomic_int given_up; /* peers that went away in the middle of an endless answer */

static void say(int fd, const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        text += n;
        len -= (size_t)n;
    }
}

/* Reads a whole request, with its body in *in behind the head. */
static bool hear(int fd, struct str *in, size_t *ret_head)
{
    str_reset(in);
    str_add(in, "");
    for (;;) {
        const char *end = strstr(in->ptr, "\r\n\r\n");
        if (end) {
            *ret_head = (size_t)(end - in->ptr) + 4;
            const char *length = strcasestr(in->ptr, "\r\nContent-Length: ");
            bool chunked = strcasestr(in->ptr, "\r\nTransfer-Encoding: chunked");
            size_t want = length ? strtoul(length + 18, NULL, 10) : 0;
            if (chunked ? str_ends(in->ptr, "\r\n0\r\n\r\n") || str_ends(end, "\r\n\r\n0\r\n\r\n")
                        : in->len - *ret_head >= want) {
                return true;
            }
        }
        char buf[4096];
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
        if (n <= 0) {
            return false;
        }
        str_addn(in, buf, (size_t)n);
    }
}

static void answer_endless(int fd)
{
    say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (send(fd, "5\r\ntick\n\r\n", 10, MSG_NOSIGNAL) == 10) {
        clock_sleep_ms(10);
    }
    atomic_fetch_add(&given_up, 1);
}

static bool answer(int fd, const struct str *in, size_t head)
{
    autostr struct str out = {0};
    if (strstr(in->ptr, " /echo")) {
        str_addf(&out, "HTTP/1.1 200 OK\r\nX-Two:  a b \t\r\nContent-Length: %zu\r\n\r\n%s",
                 in->len, in->ptr);
    } else if (strstr(in->ptr, " /nobody")) {
        str_add(&out, "HTTP/1.1 204 No Content\r\n\r\n");
    } else if (strstr(in->ptr, " /head")) {
        str_add(&out, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    } else if (strstr(in->ptr, " /bad")) {
        str_add(&out, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope");
    } else if (strstr(in->ptr, " /moved")) {
        str_add(&out, "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n");
    } else if (strstr(in->ptr, " /continue")) {
        str_add(&out, "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-Late: 1\r\n"
                      "Content-Length: 2\r\n\r\nok");
    } else if (strstr(in->ptr, " /short")) {
        str_add(&out, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    } else if (strstr(in->ptr, " /garbage")) {
        str_add(&out, "SSH-2.0-nonsense\r\n\r\n");
    } else if (strstr(in->ptr, " /hang")) {
        char byte;
        return recv(fd, &byte, 1, 0) > 0; /* until the client goes away */
    } else if (strstr(in->ptr, " /endless")) {
        answer_endless(fd);
        return false;
    } else {
        return false; /* /drop: close without a word */
    }
    say(fd, out.ptr);
    return head > 0 && !strstr(in->ptr, " /short") && !strstr(in->ptr, " /garbage");
}

static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg;
    struct str in = {0};
    size_t head = 0;
    while (hear(fd, &in, &head) && answer(fd, &in, head)) {
    }
    str_free(&in);
    close(fd);
    return NULL;
}

static void *serve(void *arg)
{
    int listener = (int)(intptr_t)arg;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            return NULL;
        }
        atomic_fetch_add(&connections, 1);
        pthread_t thread;
        pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd);
        pthread_detach(thread);
    }
}

static void start(int listener)
{
    pthread_t thread;
    cr_assert_eq(listen(listener, 16), 0);
    cr_assert_eq(pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener), 0);
    pthread_detach(thread);
}

static char base[64];
static struct err err;
static struct http_client *client;

static void start_tcp(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    snprintf(base, sizeof(base), "http://127.0.0.1:%d", ntohs(at.sin_port));
    setenv("http_proxy", "http://127.0.0.1:1/", 1); /* must not be asked for loopback */
    start(listener);
    client = http_client_new(NULL);
}

static void stop(void)
{
    client = http_client_free(client);
}

static const char *url(const char *path)
{
    static char text[128];
    snprintf(text, sizeof(text), "%s%s", base, path);
    return text;
}

TestSuite(http, .init = start_tcp, .fini = stop, .timeout = 30);

Test(http, get_brings_status_headers_and_body)
{
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "GET", .url = url("/echo?q=1")};
    cr_assert_eq(http_perform(client, &q, &r, &err), 0, "%s", err.text);
    cr_assert_eq(r.status, 200);
    cr_assert(str_starts(r.body.ptr, "GET /echo?q=1 HTTP/1.1\r\n"));
    cr_assert_null(strcasestr(r.body.ptr, "expect:"));
    cr_assert_null(strcasestr(r.body.ptr, "content-type:"));
    autofree char *two = http_header(&r, "x-two");
    cr_assert_str_eq(two, "a b");
    cr_assert_null(http_header(&r, "X-Tw"));
    cr_assert_null(http_header(&r, "X-Twos"));
}

Test(http, bodies_methods_and_headers_are_sent_as_given)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
    const char *const headers[] = {"Content-Type: application/json", "X-A: b", NULL};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        autohttp struct http_response r = {0};
        struct http_request q = {.method = methods[i],
                                 .url = url("/echo"),
                                 .headers = headers,
                                 .body = "{\"a\":1}",
                                 .body_len = 7};
        cr_assert_eq(http_perform(client, &q, &r, &err), 0, "%s", err.text);
        cr_expect(str_starts(r.body.ptr, methods[i]));
        cr_expect_not_null(strstr(r.body.ptr, "\r\nContent-Type: application/json\r\n"));
        cr_expect_not_null(strstr(r.body.ptr, "\r\nX-A: b\r\n"));
        cr_expect_not_null(strstr(r.body.ptr, "\r\nContent-Length: 7\r\n"));
        cr_expect(str_ends(r.body.ptr, "\r\n\r\n{\"a\":1}"));
    }
    cr_assert_eq(connections, 1); /* one connection served them all */
}

Test(http, an_empty_post_says_so)
{
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "POST", .url = url("/echo")};
    cr_assert_eq(http_perform(client, &q, &r, &err), 0, "%s", err.text);
    cr_assert_not_null(strstr(r.body.ptr, "\r\nContent-Length: 0\r\n"));
    cr_assert_null(strcasestr(r.body.ptr, "content-type"));
}

Test(http, a_large_post_does_not_wait_for_permission)
{
    autostr struct str big = {0};
    for (int i = 0; i < 200000; i++) {
        str_add(&big, "0123456789");
    }
    autohttp struct http_response r = {0};
    struct http_request q = {
        .method = "POST", .url = url("/echo"), .body = big.ptr, .body_len = big.len};
    cr_assert_eq(http_perform(client, &q, &r, &err), 0, "%s", err.text);
    cr_assert_gt(r.body.len, big.len);
    cr_assert(str_ends(r.body.ptr, big.ptr));
}

static int pipe_ends[2];

static void *write_slowly(void *arg is_unused)
{
    for (int i = 0; i < 3; i++) {
        clock_sleep_ms(50);
        if (write(pipe_ends[1], "part.", 5) != 5) {
            break;
        }
    }
    close(pipe_ends[1]);
    return NULL;
}

Test(http, a_body_is_streamed_from_a_descriptor)
{
    pthread_t thread;
    cr_assert_eq(pipe2(pipe_ends, O_CLOEXEC), 0);
    pthread_create(&thread, NULL, write_slowly, NULL);
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "POST", .url = url("/echo"), .body_fd = pipe_ends[0]};
    cr_assert_eq(http_perform(client, &q, &r, &err), 0, "%s", err.text);
    cr_assert(str_starts(r.body.ptr, "POST /echo"));
    cr_assert_not_null(strstr(r.body.ptr, "\r\nTransfer-Encoding: chunked\r\n"));
    cr_assert(str_ends(r.body.ptr, "5\r\npart.\r\n5\r\npart.\r\n5\r\npart.\r\n0\r\n\r\n"));
    pthread_join(thread, NULL);
}

Test(http, every_status_is_an_answer)
{
    static const struct {
        const char *method;
        const char *path;
        int status;
        const char *body;
    } cases[] = {
        {"GET", "/bad", 404, "nope"},    {"GET", "/nobody", 204, ""}, {"GET", "/moved", 302, ""},
        {"GET", "/continue", 200, "ok"}, {"HEAD", "/head", 200, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autohttp struct http_response r = {0};
        struct http_request q = {.method = cases[i].method, .url = url(cases[i].path)};
        cr_assert_eq(http_perform(client, &q, &r, &err), 0, "%s", err.text);
        cr_expect_eq(r.status, cases[i].status);
        cr_expect_str_eq(str_c(&r.body), cases[i].body);
        cr_expect_null(http_header(&r, "X-Early"));
    }
}

struct seen {
    struct str bytes;
    size_t stop_at;
};

static int on_data(void *user, const void *bytes, size_t len)
{
    struct seen *seen = user;
    str_addn(&seen->bytes, bytes, len);
    return seen->stop_at && seen->bytes.len >= seen->stop_at;
}

Test(http, streaming_delivers_and_can_be_stopped)
{
    autohttp struct http_response r = {0};
    struct seen seen = {.stop_at = 12};
    struct http_request q = {
        .method = "GET", .url = url("/endless"), .on_data = on_data, .user = &seen};
    cr_assert_eq(http_perform(client, &q, &r, &err), 1);
    cr_assert_eq(r.status, 200);
    cr_assert_eq(r.body.len, 0);
    cr_assert(str_starts(seen.bytes.ptr, "tick\ntick\nti"));
    for (int i = 0; i < 300 && given_up == 0; i++) {
        clock_sleep_ms(10);
    }
    cr_assert_eq(given_up, 1); /* the server noticed */
    str_free(&seen.bytes);
    /* an error's body does not go to the stream */
    autohttp struct http_response bad = {0};
    q.url = url("/bad");
    cr_assert_eq(http_perform(client, &q, &bad, &err), 0);
    cr_assert_str_eq(bad.body.ptr, "nope");
    cr_assert_eq(seen.bytes.len, 0);
}

static atomic_bool cancel;

static void *cancel_soon(void *arg is_unused)
{
    clock_sleep_ms(100);
    atomic_store(&cancel, true);
    return NULL;
}

Test(http, a_cancel_flag_ends_it)
{
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, NULL);
    autohttp struct http_response r = {.status = 77};
    struct http_request q = {.method = "POST", .url = url("/hang"), .cancel = &cancel};
    cr_assert_lt(http_perform(client, &q, &r, &err), 0);
    cr_assert_eq(err.kind, ERR_CANCELLED);
    cr_assert_eq(r.status, 77);
    pthread_join(thread, NULL);
    /* the client is fit for the next one */
    autohttp struct http_response r2 = {0};
    q = (struct http_request){.method = "GET", .url = url("/bad")};
    cr_assert_eq(http_perform(client, &q, &r2, &err), 0);
}

Test(http, errors_have_the_kind_that_says_what_to_do)
{
    static const struct {
        const char *method;
        const char *path;
        enum err_kind kind;
        const char *name;
    } cases[] = {
        {"POST", "/hang", ERR_AMBIGUOUS, "RequestTimedOut"},
        {"GET", "/hang", ERR_TRANSIENT, "RequestTimedOut"},
        {"POST", "/drop", ERR_AMBIGUOUS, "ConnectionLost"},
        {"GET", "/drop", ERR_TRANSIENT, "ConnectionLost"},
        {"POST", "/short", ERR_AMBIGUOUS, "ConnectionLost"},
        {"POST", "/garbage", ERR_AMBIGUOUS, "ConnectionLost"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autohttp struct http_response r = {0};
        struct http_request q = {
            .method = cases[i].method, .url = url(cases[i].path), .timeout_ms = 300};
        cr_expect_lt(http_perform(client, &q, &r, &err), 0, "%s", cases[i].path);
        cr_expect_eq(err.kind, cases[i].kind, "%s %s: %s", cases[i].method, cases[i].path,
                     err.text);
        cr_expect_str_eq(err.name, cases[i].name, "%s", err.text);
        err_clear(&err);
    }
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "POST", .url = "http://127.0.0.1:1/x"};
    cr_expect_lt(http_perform(client, &q, &r, &err), 0);
    cr_expect_eq(err.kind, ERR_TRANSIENT);
    cr_expect_str_eq(err.name, "ConnectFailed");
}

Test(http, an_answer_that_is_too_large_is_refused)
{
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "GET", .url = url("/bad"), .max_body_bytes = 3};
    cr_assert_lt(http_perform(client, &q, &r, &err), 0);
    cr_assert_str_eq(err.name, "BodyTooLarge");
    q.max_body_bytes = 4;
    cr_assert_eq(http_perform(client, &q, &r, &err), 0);
}

Test(http, nonsense_is_refused_before_anything_is_sent)
{
    static const char *const urls[] = {
        "", "ftp://x/", "file:///etc/passwd", "http://x/a b", "http://x/\r\nX: y", "x"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        autohttp struct http_response r = {0};
        struct http_request q = {.method = "GET", .url = urls[i]};
        cr_expect_lt(http_perform(client, &q, &r, &err), 0);
        cr_expect_str_eq(err.name, "BadRequest", "%s", err.text);
        cr_expect_eq(err.kind, ERR_PERMANENT);
    }
    static const char *const lines[] = {"X: a\r\nY: b", "no colon", "X: a\n"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        autohttp struct http_response r = {0};
        const char *const headers[] = {lines[i], NULL};
        struct http_request q = {.method = "GET", .url = url("/echo"), .headers = headers};
        cr_expect_lt(http_perform(client, &q, &r, &err), 0);
        cr_expect_str_eq(err.name, "BadRequest");
    }
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "GET /x", .url = url("/echo")};
    cr_expect_lt(http_perform(client, &q, &r, &err), 0);
    cr_expect_eq(connections, 0);
}

Test(http, errors_do_not_repeat_secrets)
{
    autohttp struct http_response r = {0};
    struct http_request q = {.method = "GET",
                             .url = "http://user:hunter2@127.0.0.1:1/p?token=hunter3"};
    cr_assert_lt(http_perform(client, &q, &r, &err), 0);
    cr_assert_null(strstr(err.text, "hunter"), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "GET http://127.0.0.1:1/p: "), "%s", err.text);
}

Test(http, over_a_unix_socket)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    str_copy(at.sun_path, sizeof(at.sun_path), tmpdir_file("s"));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    start(listener);
    struct http_client *local = http_client_new(tmpdir_file("s"));
    autohttp struct http_response r = {0};
    struct http_request q = {
        .method = "POST", .url = "http://guest/echo", .body = "x", .body_len = 1};
    cr_assert_eq(http_perform(local, &q, &r, &err), 0, "%s", err.text);
    cr_assert(str_ends(r.body.ptr, "\r\n\r\nx"));
    cr_assert_not_null(strstr(r.body.ptr, "\r\nHost: guest\r\n"));
    http_client_free(local);
    local = http_client_new(tmpdir_file("absent"));
    autohttp struct http_response r2 = {0};
    cr_assert_lt(http_perform(local, &q, &r2, &err), 0);
    cr_assert_eq(err.kind, ERR_TRANSIENT);
    http_client_free(local);
    char far_too_long[200];
    memset(far_too_long, 'x', sizeof(far_too_long) - 1);
    far_too_long[sizeof(far_too_long) - 1] = '\0';
    local = http_client_new(far_too_long);
    cr_assert_lt(http_perform(local, &q, &r2, &err), 0);
    cr_assert_str_eq(err.name, "BadRequest");
    http_client_free(local);
    cr_assert_null(http_client_free(NULL));
}
