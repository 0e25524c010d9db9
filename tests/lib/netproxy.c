/*
 * netproxy.c - a network that a test can spoil: a TCP proxy on the loopback.
 *
 * Usage: netproxy TARGET-PORT [CERT KEY [CLIENT-CA]]
 * Listens on a free port of 127.0.0.1, which is the first line that it prints, and passes what
 * comes to TARGET-PORT and back. With CERT and KEY (PEM) clients must speak TLS (ALPN h2), with
 * CLIENT-CA they must show a certificate that it signed; towards the target it is plaintext.
 * Commands come on standard input, a line each, and are answered by "ok" or a number:
 *   delay UP DOWN   milliseconds that bytes take, to the target and from it
 *   stop, go        nothing is passed, not even connections' ends: a black hole
 *   cut BYTES       every connection ends (reset) after so many further bytes from the target
 *   drop            all connections end (reset) now
 *   refuse, accept  connections are refused; taken again
 *   count           how many were taken since the beginning
 *   open            how many are open
 * Ends with its input.
 *
 *   client fd (SSL) --read--> up: chunks, each with the time it is due --write--> target fd
 *                  <--write-- down                                     <--read--
 *
 * Owns: its connections; one thread, poll(2). Must not: be part of anything but tests.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define CONNECTIONS_MAX 200
#define CHUNK_MAX 16384
#define QUEUED_MAX (1 << 20)

struct chunk {
    struct chunk *next;
    int64_t due_ns;
    size_t len, sent;
    unsigned char bytes[CHUNK_MAX];
};

struct direction {
    struct chunk *first, *last;
    size_t queued;
    bool is_over; /* its source has nothing more */
};

struct connection {
    int client, target; /* client < 0: this place is free */
    SSL *ssl;           /* of the client; NULL: plain */
    struct direction up, down;
    int64_t cut_after; /* bytes from the target; < 0: never */
};

static struct connection connections[CONNECTIONS_MAX];
static SSL_CTX *tls;
static int target_port, listener = -1;
static struct sockaddr_in here = {.sin_family = AF_INET};
static int64_t delay_up_ns, delay_down_ns, cut_after = -1;
static bool is_stopped;
static long taken;

static void die(const char *what)
{
    fprintf(stderr, "netproxy: %s: %m\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

/* --- connections -------------------------------------------------------------------------------
 */

static void start_listening(void)
{
    const int yes = 1;
    socklen_t len = sizeof(here);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener, (struct sockaddr *)&here, sizeof(here)) != 0 || listen(listener, 100) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &len) != 0) {
        die("cannot listen");
    }
}

static void clear(struct direction *d)
{
    while (d->first) {
        struct chunk *chunk = d->first;
        d->first = chunk->next;
        free(chunk);
    }
    *d = (struct direction){0};
}

static void reset(int fd)
{
    const struct linger at_once = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

static void end(struct connection *c, bool by_reset)
{
    if (c->ssl) {
        if (!by_reset) {
            SSL_shutdown(c->ssl);
        }
        SSL_free(c->ssl);
    }
    if (by_reset) {
        reset(c->client);
        reset(c->target);
    } else {
        close(c->client);
        close(c->target);
    }
    clear(&c->up);
    clear(&c->down);
    *c = (struct connection){.client = -1};
}

static void take(void)
{
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct connection *c = connections;
    while (client >= 0 && c < connections + CONNECTIONS_MAX && c->client >= 0) {
        c++;
    }
    if (client < 0 || c == connections + CONNECTIONS_MAX) {
        return;
    }
    struct sockaddr_in to = here;
    to.sin_port = htons((uint16_t)target_port);
    int target = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(target, (struct sockaddr *)&to, sizeof(to)) != 0) {
        close(target);
        reset(client); /* as if nobody listened here */
        return;
    }
    const int yes = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    setsockopt(target, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fcntl(target, F_SETFL, O_NONBLOCK);
    taken++;
    *c = (struct connection){.client = client, .target = target, .cut_after = cut_after};
    if (tls) {
        c->ssl = SSL_new(tls);
        SSL_set_fd(c->ssl, client);
        SSL_set_accept_state(c->ssl);
    }
}

/* --- bytes ---------------------------------------------------------------------------------------
 */

/* > 0 bytes, 0 the end, -1 not now, -2 broken. */
static ssize_t read_some(int fd, SSL *ssl, void *bytes, size_t len)
{
    if (!ssl) {
        ssize_t got = recv(fd, bytes, len, 0);
        return got >= 0 ? got : errno == EAGAIN || errno == EINTR ? -1 : -2;
    }
    ERR_clear_error();
    int got = SSL_read(ssl, bytes, (int)len);
    int error = SSL_get_error(ssl, got);
    return got > 0                                                         ? got
           : error == SSL_ERROR_ZERO_RETURN                                ? 0
           : error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? -1
                                                                           : -2;
}

static ssize_t write_some(int fd, SSL *ssl, const void *bytes, size_t len)
{
    if (!ssl) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        return sent >= 0 ? sent : errno == EAGAIN || errno == EINTR ? -1 : -2;
    }
    ERR_clear_error();
    int sent = SSL_write(ssl, bytes, (int)len);
    int error = SSL_get_error(ssl, sent);
    return sent > 0                                                        ? sent
           : error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? -1
                                                                           : -2;
}

/* False: the connection is broken. */
static bool fill(struct direction *d, int fd, SSL *ssl, int64_t delay_ns)
{
    while (!d->is_over && d->queued < QUEUED_MAX) {
        struct chunk *chunk = mem_alloc(sizeof(*chunk));
        ssize_t got = read_some(fd, ssl, chunk->bytes, sizeof(chunk->bytes));
        if (got <= 0) {
            free(chunk);
            d->is_over = got == 0;
            return got != -2;
        }
        chunk->len = (size_t)got;
        chunk->due_ns = clock_mono_ns() + delay_ns;
        d->queued += chunk->len;
        if (d->last) {
            d->last->next = chunk;
        } else {
            d->first = chunk;
        }
        d->last = chunk;
    }
    return true;
}

/* False: broken, or *cut bytes have gone. cut NULL: without end. */
static bool drain(struct direction *d, int fd, SSL *ssl, int64_t *cut)
{
    while (d->first && d->first->due_ns <= clock_mono_ns()) {
        struct chunk *chunk = d->first;
        size_t len = chunk->len - chunk->sent;
        if (cut && *cut >= 0 && (int64_t)len > *cut) {
            len = (size_t)*cut;
        }
        ssize_t sent = len ? write_some(fd, ssl, chunk->bytes + chunk->sent, len) : 0;
        if (sent < 0) {
            return sent == -1;
        }
        chunk->sent += (size_t)sent;
        d->queued -= (size_t)sent;
        if (cut && *cut >= 0) {
            *cut -= sent;
            if (*cut == 0) {
                return false;
            }
        }
        if (chunk->sent == chunk->len) {
            d->first = chunk->next;
            d->last = d->first ? d->last : NULL;
            free(chunk);
        }
    }
    return true;
}

static void pass(struct connection *c)
{
    bool is_good = fill(&c->up, c->client, c->ssl, delay_up_ns) &&
                   fill(&c->down, c->target, NULL, delay_down_ns) &&
                   drain(&c->up, c->target, NULL, NULL) &&
                   drain(&c->down, c->client, c->ssl, &c->cut_after);
    if (!is_good) {
        end(c, true);
    } else if ((c->up.is_over && !c->up.first) || (c->down.is_over && !c->down.first)) {
        end(c, false);
    }
}

/* --- commands ------------------------------------------------------------------------------------
 */

static void each_connection(void (*act)(struct connection *c))
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (connections[i].client >= 0) {
            act(&connections[i]);
        }
    }
}

static void set_cut(struct connection *c)
{
    c->cut_after = cut_after;
}

static void drop(struct connection *c)
{
    end(c, true);
}

static long open_count;
static void count_open(struct connection *c)
{
    (void)c;
    open_count++;
}

static void obey(const char *line)
{
    long up = 0, down = 0;
    if (sscanf(line, "delay %ld %ld", &up, &down) == 2) {
        delay_up_ns = up * NS_PER_MS;
        delay_down_ns = down * NS_PER_MS;
    } else if (sscanf(line, "cut %ld", &up) == 1) {
        cut_after = up;
        each_connection(set_cut);
    } else if (str_eq(line, "stop") || str_eq(line, "go")) {
        is_stopped = str_eq(line, "stop");
    } else if (str_eq(line, "drop")) {
        each_connection(drop);
    } else if (str_eq(line, "refuse") && listener >= 0) {
        close(listener);
        listener = -1;
        each_connection(drop);
    } else if (str_eq(line, "accept") && listener < 0) {
        start_listening();
    } else if (str_eq(line, "count")) {
        printf("%ld\n", taken);
        return;
    } else if (str_eq(line, "open")) {
        open_count = 0;
        each_connection(count_open);
        printf("%ld\n", open_count);
        return;
    } else {
        printf("what is '%s'?\n", line);
        return;
    }
    printf("ok\n");
}

/* False at the end of the commands. */
static bool read_commands(void)
{
    static struct str text;
    char bytes[512];
    ssize_t got = read(0, bytes, sizeof(bytes));
    if (got <= 0) {
        return got < 0 && errno == EINTR;
    }
    str_addn(&text, bytes, (size_t)got);
    char *line = text.ptr;
    for (char *nl = strchr(line, '\n'); nl; nl = strchr(line, '\n')) {
        *nl = '\0';
        obey(line);
        line = nl + 1;
    }
    fflush(stdout);
    autostr struct str rest = {0};
    str_add(&rest, line);
    str_reset(&text);
    str_add(&text, str_c(&rest));
    return true;
}

/* --- the loop ------------------------------------------------------------------------------------
 */

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                     const unsigned char *in, unsigned in_len, void *user)
{
    (void)ssl;
    (void)user;
    static const unsigned char h2[] = {2, 'h', '2'};
    unsigned char *chosen = NULL;
    int rc = SSL_select_next_proto(&chosen, out_len, h2, sizeof(h2), in, in_len);
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void start_tls(const char *cert, const char *key, const char *client_ca)
{
    tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_alpn_select_cb(tls, choose_h2, NULL);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_use_certificate_chain_file(tls, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1) {
        die("certificate or key");
    }
    if (client_ca) {
        if (SSL_CTX_load_verify_locations(tls, client_ca, NULL) != 1) {
            die("CA of clients");
        }
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
}

static int64_t sooner(const struct direction *d, int64_t wait_ns)
{
    int64_t left_ns = d->first ? d->first->due_ns - clock_mono_ns() : wait_ns;
    return left_ns < 0 ? 0 : left_ns < wait_ns ? left_ns : wait_ns;
}

static short wanted(const struct direction *in, const struct direction *out)
{
    bool is_due = out->first && out->first->due_ns <= clock_mono_ns();
    return (short)((in->is_over || in->queued >= QUEUED_MAX ? 0 : POLLIN) | (is_due ? POLLOUT : 0));
}

static bool turn(void)
{
    struct pollfd fds[2 + 2 * CONNECTIONS_MAX] = {{.fd = 0, .events = POLLIN}};
    nfds_t count = 1;
    int64_t wait_ns = 10 * NS_PER_S;
    fds[count++] = (struct pollfd){.fd = is_stopped ? -1 : listener, .events = POLLIN};
    for (size_t i = 0; i < CONNECTIONS_MAX && !is_stopped; i++) {
        struct connection *c = &connections[i];
        if (c->client >= 0) {
            fds[count++] = (struct pollfd){c->client, wanted(&c->up, &c->down), 0};
            fds[count++] = (struct pollfd){c->target, wanted(&c->down, &c->up), 0};
            wait_ns = sooner(&c->up, sooner(&c->down, wait_ns));
        }
    }
    if (poll(fds, count, (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS)) < 0 && errno != EINTR) {
        die("poll");
    }
    if (fds[0].revents && !read_commands()) {
        return false;
    }
    if (!is_stopped) {
        if (listener >= 0) {
            take();
        }
        each_connection(pass);
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 4 && argc != 5) {
        fprintf(stderr, "usage: netproxy TARGET-PORT [CERT KEY [CLIENT-CA]]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    target_port = (int)strtol(argv[1], NULL, 10);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        connections[i].client = -1;
    }
    if (argc > 2) {
        start_tls(argv[2], argv[3], argc > 4 ? argv[4] : NULL);
    }
    start_listening();
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    while (turn()) {
    }
    each_connection(drop);
    SSL_CTX_free(tls);
    return 0;
}
