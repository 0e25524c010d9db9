/*
 * test_temporal_rpc.c - when calls are tried again, what is said when they fail, and how they end.
 *
 * Owns: the pure parts of src/temporal's calls, and those with nobody at the other end. With a
 * server: tests/temporal/.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "temporal/advice.h"
#include "temporal/proto/service.pb-c.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"

TestSuite(temporal_rpc, .timeout = 60);

/* --- when --------------------------------------------------------------------------------------
 */

static const struct rpc call = {"X", 0, RPC_CALL};
static const struct rpc poll_ = {"X", 0, RPC_POLL};
static const struct rpc reply = {"X", 0, RPC_REPLY};
static const struct rpc once = {"X", 0, RPC_ONCE};

Test(temporal_rpc, which_codes_are_tried_again)
{
    static const struct {
        int code;
        bool call, worker;
    } table[] = {
        {CODE_CANCELLED, false, true},
        {CODE_UNKNOWN, true, true},
        {CODE_INVALID_ARGUMENT, false, false},
        {CODE_DEADLINE_EXCEEDED, false, true},
        {CODE_NOT_FOUND, false, false},
        {CODE_ALREADY_EXISTS, false, false},
        {CODE_PERMISSION_DENIED, false, false},
        {CODE_RESOURCE_EXHAUSTED, true, true},
        {CODE_FAILED_PRECONDITION, false, false},
        {CODE_ABORTED, true, true},
        {CODE_OUT_OF_RANGE, true, true},
        {CODE_UNIMPLEMENTED, false, false},
        {CODE_INTERNAL, true, true},
        {CODE_UNAVAILABLE, true, true},
        {CODE_DATA_LOSS, true, true},
        {CODE_UNAUTHENTICATED, false, false},
        {99, false, false}, /* of a newer server */
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int code = table[i].code;
        cr_expect_eq(rpc_retry_ms(&call, code, "", 1, 7) >= 0, table[i].call, "call %d", code);
        cr_expect_eq(rpc_retry_ms(&poll_, code, "", 1, 7) >= 0, table[i].worker, "poll %d", code);
        cr_expect_eq(rpc_retry_ms(&reply, code, "", 1, 7) >= 0, table[i].worker, "reply %d", code);
        cr_expect_eq(rpc_retry_ms(&once, code, "", 1, 7), -1, "once %d", code);
    }
    const char *large = "grpc: received message larger than max (5 vs. 4)";
    cr_expect_eq(rpc_retry_ms(&reply, CODE_RESOURCE_EXHAUSTED, large, 1, 7), -1);
    cr_expect_eq(rpc_code(CODE_RESOURCE_EXHAUSTED, large), DUR_LIMIT);
    cr_expect_eq(rpc_code(CODE_INVALID_ARGUMENT, "Blob data size exceeds limit."), DUR_LIMIT);
    cr_expect_eq(rpc_code(CODE_INVALID_ARGUMENT, NULL), DUR_INVALID);
    cr_expect_eq(rpc_code(CODE_RESOURCE_EXHAUSTED, "namespace rate limit exceeded"), DUR_BUSY);
}

static void expect_waits(const struct rpc *rpc, int code, double first, double factor, double most,
                         double low, double high)
{
    double wait = first;
    for (int tries = 1; tries <= 9; tries++) {
        for (uint64_t random = 0; random < 5000; random += 333) {
            int64_t ms = rpc_retry_ms(rpc, code, "", tries, random);
            cr_expect(ms >= (int64_t)(wait * low) && (double)ms <= wait * high,
                      "code %d, try %d: %lld ms, not about %f", code, tries, (long long)ms, wait);
        }
        wait = wait * factor < most ? wait * factor : most;
    }
}

Test(temporal_rpc, waits_grow_up_to_a_bound)
{
    expect_waits(&call, CODE_UNAVAILABLE, 100, 1.7, 5000, 0.8, 1.2);
    expect_waits(&poll_, CODE_UNAVAILABLE, 200, 2, 10000, 0.8, 1.2);
    expect_waits(&reply, CODE_INTERNAL, 200, 2, 10000, 0.8, 1.2);
    expect_waits(&call, CODE_RESOURCE_EXHAUSTED, 1000, 2, 10000, 1, 1.2);
    expect_waits(&poll_, CODE_RESOURCE_EXHAUSTED, 1000, 2, 10000, 1, 1.2);
    cr_expect_eq(rpc_retry_ms(&call, CODE_UNAVAILABLE, "", 10, 0), -1, "ten tries are enough");
    cr_expect(rpc_retry_ms(&poll_, CODE_UNAVAILABLE, "", 100000, 0) > 0, "a worker does not rest");
}

/* --- what is said ------------------------------------------------------------------------------
 */

static void expect_said(struct advice_case c, const char *said)
{
    autostr struct str out = {0};
    c.name_space = "orders";
    advice_add(&out, &c);
    cr_expect_str_eq(str_c(&out), said);
}

Test(temporal_rpc, failures_say_what_to_check)
{
#define HEALTH "is the server up? (temporal operator cluster health)"
    expect_said((struct advice_case){.code = CODE_UNAVAILABLE,
                                     .message = "failed to connect to all addresses; last error: "
                                                "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to "
                                                "remote host: Connection refused"},
                "connection refused; " HEALTH);
    expect_said((struct advice_case){.code = CODE_UNAVAILABLE,
                                     .message = "DNS resolution failed for nowhere.invalid:7233"},
                "the host name was not found; check the address and the network's name service");
    expect_said(
        (struct advice_case){.code = CODE_UNAVAILABLE, .message = "Socket closed"},
        "the connection was lost; is the server up, and does it want TLS? (temporal operator "
        "cluster health)");
    expect_said((struct advice_case){.code = CODE_UNAVAILABLE,
                                     .message = "last error: handshake failed",
                                     .tls = "the certificate expired on 2026-01-01"},
                "the certificate expired on 2026-01-01");
    expect_said((struct advice_case){.code = CODE_DEADLINE_EXCEEDED, .message = "Deadline"},
                "no answer in time; is the server overloaded, or does something on the way swallow "
                "packets?");
    expect_said((struct advice_case){.code = CODE_NOT_FOUND,
                                     .detail = DETAIL_NAMESPACE_NOT_FOUND,
                                     .message = "Namespace orders is not found."},
                "the server has no namespace 'orders'; check the name, or make it (temporal "
                "operator namespace create -n orders)");
    expect_said((struct advice_case){.code = CODE_NOT_FOUND,
                                     .detail = DETAIL_NOT_FOUND,
                                     .message = "workflow not found for ID: x"},
                "workflow not found for ID: x");
    expect_said((struct advice_case){.code = CODE_UNAUTHENTICATED,
                                     .message = "Jwt is expired",
                                     .api_key_env = "ORDERS_KEY"},
                "Jwt is expired; is the API key in $ORDERS_KEY current, and for this server?");
    expect_said((struct advice_case){.code = CODE_UNAUTHENTICATED},
                "refused without a reason; the server wants an API key or a client's certificate");
    expect_said((struct advice_case){.code = CODE_PERMISSION_DENIED,
                                     .message = "Request "
                                                "unauthorized."},
                "Request unauthorized.; may this identity use the namespace?");
    expect_said((struct advice_case){.code = CODE_RESOURCE_EXHAUSTED,
                                     .message = "namespace rate limit exceeded"},
                "namespace rate limit exceeded; the server limits how often it may be asked; ask "
                "less often, or raise the namespace's limit");
    expect_said((struct advice_case){.code = CODE_UNIMPLEMENTED, .message = "unknown method"},
                "the server does not know this call; is this a Temporal frontend, and is its "
                "version recent enough?");
    expect_said((struct advice_case){.code = 99, .message = "two\nlines"}, "two lines");
}

Test(temporal_rpc, long_texts_from_outside_are_cut)
{
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    autostr struct str out = {0};
    advice_add(&out, &(struct advice_case){.code = CODE_INVALID_ARGUMENT, .message = text});
    cr_expect_eq(out.len, 400);
}

/* --- nobody there ------------------------------------------------------------------------------
 */

/* A port of this machine at which nobody listens; *ret_fd keeps it (-1: it is let go). */
static int free_port(int *ret_fd)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_fd = fd;
    return ntohs(at.sin_port);
}

static int open_remote(const char *target, dur_connect_options options, struct remote **ret,
                       struct err *err)
{
    return remote_open(&(struct remote_open){&options, target, "me", {NULL, NULL}}, ret, err);
}

static int ask(struct remote *remote, const struct rpc *rpc, struct rpc_cancel *cancel,
               struct rpc_failure *failure, struct err *err)
{
    Pb__GetSystemInfoRequest request;
    pb__get_system_info_request__init(&request);
    autopb ProtobufCMessage *answer = NULL;
    return rpc_send(remote, rpc, &request.base, &pb__get_system_info_response__descriptor, cancel,
                    &answer, failure, err);
}

Test(temporal_rpc, refused_connections_are_said_to_be_so)
{
    int fd = -1;
    char target[64], expected[200];
    snprintf(target, sizeof(target), "127.0.0.1:%d", free_port(&fd));
    struct err err = {0};
    struct remote *remote = NULL;
    int rc = open_remote(target, (dur_connect_options){.connect_timeout_ms = 300}, &remote, &err);
    cr_expect_eq(rc, DUR_IO);
    cr_expect_null(remote);
    snprintf(expected, sizeof(expected), "%s: GetSystemInfo: connection refused; " HEALTH, target);
    cr_expect_str_eq(err.text, expected);
    cr_expect_eq(err.kind, ERR_TRANSIENT);
    close(fd);
}

/* It listens, and never says a word: what a black hole looks like. */
static int silent_port(int *ret_fd)
{
    int port = free_port(ret_fd);
    cr_assert_eq(listen(*ret_fd, 100), 0);
    return port;
}

Test(temporal_rpc, silence_ends_at_the_deadline)
{
    int fd = -1;
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%d", silent_port(&fd));
    struct err err = {0};
    struct remote *remote = NULL;
    cr_assert_eq(open_remote(target, (dur_connect_options){.lazy = 1}, &remote, &err), DUR_OK);
    autorpcfailure struct rpc_failure failure = {0};
    int rc = ask(remote, &(struct rpc){"GetSystemInfo", 300, RPC_CALL}, NULL, &failure, &err);
    cr_expect_eq(rc, DUR_IO);
    cr_expect_eq(failure.code, CODE_DEADLINE_EXCEEDED);
    cr_expect_not_null(strstr(err.text, ": GetSystemInfo: no answer in time; "), "%s", err.text);
    remote_close(remote);
    close(fd);
}

struct poller {
    struct remote *remote;
    struct rpc_cancel *cancel;
    int rc;
    struct err err;
};

static void *poll_once(void *user)
{
    struct poller *poller = user;
    poller->rc = ask(poller->remote, &(struct rpc){"GetSystemInfo", 0, RPC_POLL}, poller->cancel,
                     NULL, &poller->err);
    return NULL;
}

/* count polls at once, ended by the switch (or by closing the remote). */
static void cancel_polls(int port, int count, int before_ms, bool by_close)
{
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%d", port);
    struct err err = {0};
    struct remote *remote = NULL;
    cr_assert_eq(open_remote(target, (dur_connect_options){.lazy = 1}, &remote, &err), DUR_OK);
    struct rpc_cancel cancel;
    rpc_cancel_init(&cancel);
    struct poller pollers[20];
    pthread_t threads[20];
    for (int i = 0; i < count; i++) {
        pollers[i] = (struct poller){.remote = remote, .cancel = by_close ? NULL : &cancel};
        pthread_create(&threads[i], NULL, poll_once, &pollers[i]);
    }
    clock_sleep_ms(before_ms);
    if (by_close) {
        rpc_cancel(transport_closing(remote->transport));
    } else {
        rpc_cancel(&cancel);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(pollers[i].rc, DUR_CANCELLED, "%d: %s", pollers[i].rc, pollers[i].err.text);
        cr_expect_eq(pollers[i].err.kind, ERR_CANCELLED);
    }
    cr_expect_eq(ask(remote, &poll_, by_close ? NULL : &cancel, NULL, &err), DUR_CANCELLED,
                 "a switch stays thrown");
    remote_close(remote);
    rpc_cancel_free(&cancel);
}

Test(temporal_rpc, polls_end_when_they_are_cancelled)
{
    int silent = -1, refused = -1;
    int silent_at = silent_port(&silent), refused_at = free_port(&refused);
    cancel_polls(silent_at, 20, 100, false);  /* connecting */
    cancel_polls(refused_at, 20, 300, false); /* waiting for the next try */
    cancel_polls(silent_at, 3, 0, true);
    cancel_polls(refused_at, 3, 200, true);
    close(silent);
    close(refused);
}

Test(temporal_rpc, lines_that_make_no_sense_are_survived)
{
    int fd = -1;
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%d", silent_port(&fd));
    struct err err = {0};
    struct remote *remote = NULL;
    cr_assert_eq(open_remote(target, (dur_connect_options){.lazy = 1}, &remote, &err), DUR_OK);
    struct rpc_cancel cancel;
    rpc_cancel_init(&cancel);
    struct poller poller = {.remote = remote, .cancel = &cancel};
    pthread_t thread;
    pthread_create(&thread, NULL, poll_once, &poller);
    int peer = accept(fd, NULL, NULL);
    const char *nonsense = "HTTP/1.1 400 Bad Request\r\n\r\nthis is a web server\r\n";
    cr_expect_eq(send(peer, nonsense, strlen(nonsense), MSG_NOSIGNAL), (ssize_t)strlen(nonsense));
    clock_sleep_ms(100);
    rpc_cancel(&cancel);
    pthread_join(thread, NULL);
    cr_expect_eq(poller.rc, DUR_CANCELLED);
    int rc = ask(remote, &(struct rpc){"GetSystemInfo", 200, RPC_ONCE}, NULL, NULL, &err);
    cr_expect_eq(rc, DUR_IO, "%s", err.text);
    close(peer);
    remote_close(remote);
    rpc_cancel_free(&cancel);
    close(fd);
}
