/*
 * test_temporal_connect.c - options of a connection: what is refused, and how that is said.
 *
 * Owns: everything that dur_connect() finds wrong before it asks a server.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "temporal/remote.h"
#include "temporal/tls.h"

TestSuite(temporal_connect, .timeout = 60);

static void expect_refused(const char *target, dur_connect_options options, const char *said)
{
    struct err err = {0};
    struct remote *remote = NULL;
    options.lazy = 1;
    int rc =
        remote_open(&(struct remote_open){&options, target, "me", {NULL, NULL}}, &remote, &err);
    cr_expect_eq(rc, DUR_INVALID, "%s was taken", target);
    cr_expect_str_eq(err.text, said);
    cr_expect_eq(err.kind, ERR_PERMANENT);
    remote_close(remote);
}

static void expect_taken(const char *target, dur_connect_options options)
{
    struct err err = {0};
    struct remote *remote = NULL;
    options.lazy = 1;
    int rc =
        remote_open(&(struct remote_open){&options, target, "me", {NULL, NULL}}, &remote, &err);
    cr_expect_eq(rc, DUR_OK, "%s: %s", target, err.text);
    remote_close(remote);
}

Test(temporal_connect, addresses)
{
    static const char *const bad[] = {
        "",
        "localhost",
        "localhost:",
        ":7233",
        "localhost:0",
        "host:70000",
        "localhost:72x3",
        "localhost:+7233",
        "::1:7233",
        "http://localhost:7233",
        "a b:7233",
        "localhost: 7233",
        "[]:7233",
        "dns:///x:7233",
        "localhost:-1",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char said[200];
        snprintf(said, sizeof(said),
                 "'%s' is no address of a server; write HOST:PORT, as in 127.0.0.1:7233", bad[i]);
        expect_refused(bad[i], (dur_connect_options){0}, said);
    }
    expect_taken("localhost:7233", (dur_connect_options){0});
    expect_taken("127.0.0.1:1", (dur_connect_options){0});
    expect_taken("127.1.2.3:65535", (dur_connect_options){0});
    expect_taken("[::1]:7233", (dur_connect_options){0});
    expect_taken("orders.example:7233", (dur_connect_options){.tls = 1});
    expect_taken("[2001:db8::1]:7233", (dur_connect_options){.tls = 1});
}

Test(temporal_connect, plaintext_is_for_this_machine)
{
    static const char *const far[] = {"orders.example:7233",    "10.0.0.1:7233",
                                      "0.0.0.0:7233",           "127.evil.example:7233",
                                      "localhost.example:7233", "[2001:db8::1]:7233"};
    for (size_t i = 0; i < ARRAY_LEN(far); i++) {
        char said[200];
        snprintf(said, sizeof(said),
                 "%s: plaintext is for this machine alone; set tls for other hosts", far[i]);
        expect_refused(far[i], (dur_connect_options){0}, said);
    }
}

Test(temporal_connect, options_that_need_tls_or_each_other)
{
    const char *at = "localhost:7233";
    expect_refused(at, (dur_connect_options){.server_name = "x"},
                   "localhost:7233: server_name needs TLS; set tls");
    expect_refused(at, (dur_connect_options){.ca_file = "x"},
                   "localhost:7233: ca_file needs TLS; set tls");
    expect_refused(at, (dur_connect_options){.key_file = "x"},
                   "localhost:7233: cert_file and key_file needs TLS; set tls");
    expect_refused(at, (dur_connect_options){.api_key_env = "HOME"},
                   "localhost:7233: api_key_env needs TLS; set tls");
    expect_refused(at, (dur_connect_options){.tls = 1, .cert_file = "x"},
                   "localhost:7233: cert_file and key_file belong together; key_file is missing");
    expect_refused(at, (dur_connect_options){.tls = 1, .key_file = "x"},
                   "localhost:7233: cert_file and key_file belong together; cert_file is missing");
    expect_refused(at, (dur_connect_options){.name_space = ""},
                   "localhost:7233: '' can be no namespace: 1 to 1000 letters, no blanks");
    expect_refused(at, (dur_connect_options){.name_space = "two words"},
                   "localhost:7233: 'two words' can be no namespace: 1 to 1000 letters, no blanks");
}

Test(temporal_connect, api_keys_come_from_the_environment_and_are_not_shown)
{
    const char *at = "localhost:7233";
    dur_connect_options options = {.tls = 1, .api_key_env = "TEST_TEMPORAL_KEY"};
    unsetenv("TEST_TEMPORAL_KEY");
    expect_refused(at, options,
                   "localhost:7233: the API key is to be in $TEST_TEMPORAL_KEY, which is not set");
    setenv("TEST_TEMPORAL_KEY", "", 1);
    expect_refused(at, options,
                   "localhost:7233: the API key is to be in $TEST_TEMPORAL_KEY, which is empty");
    setenv("TEST_TEMPORAL_KEY", "secret\n", 1);
    expect_refused(at, options,
                   "localhost:7233: $TEST_TEMPORAL_KEY holds no API key: it has blanks, line ends "
                   "or letters beyond ASCII");
    setenv("TEST_TEMPORAL_KEY", "secret", 1);
    expect_taken(at, options);
    unsetenv("TEST_TEMPORAL_KEY");
}

/* --- a look at a server's certificates -----------------------------------------------------------
 */

struct peer {
    int fd;
    const char *says;
    size_t len;
};

/* Takes two connections, says something in each, and hangs up without having read anything. */
static void *hang_up(void *user)
{
    const struct peer *peer = user;
    for (int i = 0; i < 2; i++) {
        int fd = accept(peer->fd, NULL, NULL);
        send(fd, peer->says, peer->len, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        clock_sleep_ms(20);
        close(fd);
    }
    return NULL;
}

/* SIGPIPE has its default here: it would end the test. */
static void look_at(const char *says, size_t bytes, const char *expected)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    struct peer peer = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), says, bytes};
    pthread_t thread;
    cr_assert_eq(bind(peer.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(getsockname(peer.fd, (struct sockaddr *)&at, &len), 0);
    cr_assert_eq(listen(peer.fd, 5), 0);
    pthread_create(&thread, NULL, hang_up, &peer);
    char target[64];
    snprintf(target, sizeof(target), "127.0.0.1:%d", ntohs(at.sin_port));
    for (int i = 0; i < 2; i++) {
        autostr struct str out = {0};
        bool is_found = tls_explain(&(struct tls_peer){.target = target}, &out);
        cr_expect_eq(is_found, *expected != '\0');
        cr_expect_str_eq(str_c(&out), expected);
    }
    pthread_join(thread, NULL);
    close(peer.fd);
}

Test(temporal_connect, looks_at_servers_that_are_none)
{
    static const char web[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    static const char refusal[] = {0x15, 3, 3, 0, 2, 2, 0x28}; /* an alert: handshake failure */
    static const char half[] = {0x16, 3, 3};
    look_at(web, strlen(web),
            "the server does not speak TLS here; check the port, or leave tls out for a server on "
            "this machine");
    look_at("", 0, "");
    look_at(refusal, sizeof(refusal),
            "the server broke off the handshake; does it want a client's certificate? (cert_file)");
    look_at(half, sizeof(half), "");
}
