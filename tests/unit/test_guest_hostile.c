/*
 * test_guest_hostile.c - guest: whatever arrives, the daemon answers or closes, and goes on.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "guest_client.h"

static pid_t guest;

static void setup(void)
{
    guest = guest_up((const char *[]){"--max-processes", "64", NULL});
}

static void teardown(void)
{
    autoanswer struct answer health = client_call("GET", "/health", NULL, "", 0);
    cr_assert_eq(health.status, 204, "the daemon does not answer any more");
    cr_assert_eq(guest_down(guest), 0);
}

TestSuite(hostile, .init = setup, .fini = teardown, .timeout = 120);

/* Send raw bytes, half-close, read one answer. Half of a request may get none before the idle limit
 * of connections, so the wait is short; a status of 0 says that nothing came. */
static struct answer raw(const void *bytes, size_t len)
{
    struct timeval patience = {.tv_usec = 200000};
    int fd = client_connect();
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    client_send(fd, bytes, len);
    shutdown(fd, SHUT_WR);
    struct answer a = client_read(fd);
    close(fd);
    return a;
}

static struct answer start_with(const void *body, size_t len)
{
    return client_call("POST", "/process.Process/Start",
                       "Content-Type: application/connect+json\r\n", body, len);
}

static void refused(const void *body, size_t len, const char *code)
{
    autoanswer struct answer a = start_with(body, len);
    cr_assert_eq(a.status, 200);
    cr_assert_geq(a.body.len, 5);
    cr_assert_eq(a.body.ptr[0], 2, "one end-stream envelope and nothing else");
    cr_assert_not_null(memmem(a.body.ptr, a.body.len, code, strlen(code)), "%s", a.body.ptr + 5);
}

#define REFUSED(body, code) refused(body, sizeof(body) - 1, code)

Test(hostile, envelopes_that_lie)
{
    REFUSED("", "invalid_argument");
    REFUSED("\0\0\0", "invalid_argument");
    REFUSED("\0\0\0\0\x10{}", "invalid_argument");
    REFUSED("\0\xff\xff\xff\xff{}", "resource_exhausted");
    REFUSED("\0\0\0\0\0", "invalid_argument");
    REFUSED("\0\0\0\0\1{", "invalid_argument");
    REFUSED("\1\0\0\0\2{}", "unimplemented");
    REFUSED("\x40\0\0\0\2{}", "invalid_argument");
    REFUSED("<!DOCTYPE html><html></html>", "invalid_argument");
    REFUSED("\0\0\0\0\2{}\0\0\0\0\2{}", "unimplemented");
}

Test(hostile, json_that_is_deep_long_or_broken)
{
    autostr struct str deep = {0};
    for (int i = 0; i < 100000; i++) {
        str_addc(&deep, '[');
    }
    autoanswer struct answer a = client_rpc("process.Process/List", str_c(&deep));
    cr_assert_eq(a.status, 400);
    static const char *const broken[] = {"{",   "{}{}", "{\"a\":1,\"a\":2}",           "\"x",
                                         "nul", "\xff", "{\"process\":{\"pid\":1e99}}"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        autoanswer struct answer b = client_rpc("process.Process/SendSignal", broken[i]);
        cr_assert_eq(b.status, 400, "%s: %d", broken[i], b.status);
    }
}

Test(hostile, a_body_beyond_the_limit_is_refused_and_not_kept)
{
    enum { SIZE = 40 << 20 };
    char *big = mem_alloc(SIZE);
    memset(big, ' ', SIZE);
    autoanswer struct answer a = client_call("POST", "/process.Process/List",
                                             "Content-Type: application/json\r\n", big, SIZE);
    cr_assert_eq(a.status, 429);
    free(big);
}

Test(hostile, http_that_is_none)
{
    static const char *const requests[] = {
        "",
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /health HTTP/9.9\r\n\r\n",
        "POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /files?path=zz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: application/octet-stream\r\n\r\nfffffffffffffffff\r\nx",
        "POST /files?path=zz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: application/octet-stream\r\n\r\nzz\r\nx",
        "GET /files?path=%zz%%%&%00=&&=&username HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: x\r\nAuthorization\r\n : x\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        autoanswer struct answer a = raw(requests[i], strlen(requests[i]));
        cr_assert(a.status != 500, "%s", requests[i]);
    }
}

Test(hostile, headers_without_end_are_cut_off)
{
    int fd = client_connect();
    static const char head[] = "GET /health HTTP/1.1\r\nHost: x\r\n";
    client_send(fd, head, sizeof(head) - 1);
    autostr struct str line = {0};
    str_add(&line, "X: ");
    for (int i = 0; i < 8000; i++) {
        str_addc(&line, 'y');
    }
    str_add(&line, "\r\n");
    for (int i = 0; i < 60; i++) {
        client_send(fd, line.ptr, line.len);
    }
    autoanswer struct answer a = client_read(fd);
    cr_assert_neq(a.status, 204);
    close(fd);
}

Test(hostile, clients_that_leave_in_the_middle)
{
    static const char *const parts[] = {
        "POST /process.Process/Sta",
        "POST /process.Process/Start HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
        "Content-Type: application/connect+json\r\n\r\n{",
        "POST /files?path=half HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
        "Content-Type: application/octet-stream\r\n\r\nhalf",
        "POST /files HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n",
        "POST /process.Process/StreamInput HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
        "Content-Type: application/connect+json\r\n\r\n\0\0",
    };
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
            int fd = client_connect();
            client_send(fd, parts[i], strlen(parts[i]));
            close(fd);
        }
    }
    int pid = start_sh("yes", NULL, "Connect-Timeout-Ms: 20000\r\n"); /* left by its client */
    cr_assert(pid_is_alive(pid));
}

/* Of the daemon; a few dozen are its own and those of processes that still run. */
static int open_descriptors(void)
{
    autofree char *path = mem_printf("/proc/%d/fd", guest);
    DIR *dir = opendir(path);
    int count = 0;
    cr_assert_not_null(dir);
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

/* One random request out of plausible pieces, damaged here and there. */
static void random_request(struct str *out)
{
    static const char *const targets[] = {"/process.Process/Start",
                                          "/process.Process/Connect",
                                          "/process.Process/List",
                                          "/process.Process/SendInput",
                                          "/process.Process/StreamInput",
                                          "/process.Process/SendSignal",
                                          "/process.Process/CloseStdin",
                                          "/process.Process/Update",
                                          "/filesystem.Filesystem/Stat",
                                          "/filesystem.Filesystem/ListDir",
                                          "/files?path=fz&username=root",
                                          "/files",
                                          "/init",
                                          "/health"};
    static const char *const types[] = {"application/json", "application/connect+json",
                                        "multipart/form-data; boundary=b", "text/plain",
                                        "application/octet-stream"};
    static const char *const pieces[] = {
        "{\"process\":{\"cmd\":\"true\"}}",
        "{\"process\":{\"pid\":1}}",
        "{}",
        "{\"path\":\"/\"}",
        "{\"start\":{\"process\":{\"pid\":2}}}",
        "{\"data\":{\"input\":{\"stdin\":\"eA==\"}}}",
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"fz2\"\r\n\r\nx\r\n--b--",
        "{\"process\":{\"tag\":\"\"},\"signal\":15}",
        "\"",
        "[[[",
        "\\u0000"};
    autostr struct str body = {0};
    for (uint64_t n = rng_u64() % 4; n > 0; n--) {
        const char *piece = pieces[rng_u64() % ARRAY_LEN(pieces)];
        if (rng_u64() % 2) {
            size_t len = strlen(piece) + (rng_u64() % 8 == 0 ? rng_u64() % 300 : 0);
            char header[5] = {(char)(rng_u64() % 16 == 0), 0, 0, (char)(len >> 8), (char)len};
            str_addn(&body, header, sizeof(header));
        }
        str_add(&body, piece);
    }
    for (uint64_t n = rng_u64() % 3; n > 0 && body.len > 0; n--) {
        body.ptr[rng_u64() % body.len] = (char)rng_u64();
    }
    str_addf(out,
             "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: %s\r\n"
             "Connect-Timeout-Ms: 2000\r\nContent-Length: %zu\r\n\r\n",
             rng_u64() % 8 ? "POST" : "GET", targets[rng_u64() % ARRAY_LEN(targets)],
             types[rng_u64() % ARRAY_LEN(types)], body.len);
    str_addn(out, body.ptr, body.len);
    if (rng_u64() % 8 == 0) {
        out->ptr[rng_u64() % out->len] = (char)rng_u64();
    }
}

Test(hostile, random_requests_never_end_the_daemon)
{
    for (int i = 0; i < 1000; i++) {
        autostr struct str request = {0};
        random_request(&request);
        autoanswer struct answer a = raw(request.ptr, request.len);
        cr_assert_neq(a.status, 500, "%s", str_c(&a.body));
    }
    for (int i = 0; i < 1000 && open_descriptors() > 40; i++) {
        clock_sleep_ms(10);
    }
    cr_assert_leq(open_descriptors(), 40, "connections are left open");
}
