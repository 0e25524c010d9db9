/*
 * tls.c - certificates: are ours in order, and what is wrong with the server's.
 *
 * Owns: the only use of libssl. A look at a server is a handshake and nothing else: it is verified
 * as gRPC does (same CA, same name), so that it fails as gRPC's did, with a reason.
 * Must not: be asked whether to trust. A handshake that succeeds here makes no connection usable.
 * Tests: tests/unit/test_temporal_connect.c, tests/temporal/t8100-transport.sh.
 */
#include "temporal/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define LOOK_MS 3000

/* --- ours ----------------------------------------------------------------------------------- */

static X509 *read_cert(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return cert;
}

/* A passphrase cannot be asked for. */
static int no_passphrase(char *buf, int size, int is_writing, void *user)
{
    (void)buf;
    (void)size;
    (void)is_writing;
    (void)user;
    return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    ERR_clear_error();
    return key;
}

static void add_date(struct str *out, const ASN1_TIME *at)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(at, &tm) == 1) {
        str_addf(out, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    }
}

static int check_dates(X509 *cert, const char *file, struct err *err)
{
    autostr struct str date = {0};
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0) {
        add_date(&date, X509_get0_notAfter(cert));
        return err_set(err, ERR_PERMANENT, "BadCertificate",
                       "%s: our certificate expired on %s; get a new one", file, str_c(&date));
    }
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0) {
        add_date(&date, X509_get0_notBefore(cert));
        return err_set(err, ERR_PERMANENT, "BadCertificate",
                       "%s: our certificate begins on %s; is the clock right?", file, str_c(&date));
    }
    return 0;
}

static int check_pair(const struct tls_pem *pem, struct err *err)
{
    int rc = 0;
    X509 *cert = read_cert(pem->cert);
    EVP_PKEY *key = read_key(pem->key);
    if (!cert) {
        rc = err_set(err, ERR_PERMANENT, "BadCertificate", "%s holds no certificate in PEM form",
                     pem->cert_file);
    } else if (!key) {
        rc = err_set(err, ERR_PERMANENT, "BadCertificate",
                     "%s holds no private key in PEM form, or one behind a passphrase",
                     pem->key_file);
    } else if (X509_check_private_key(cert, key) != 1) {
        rc = err_set(err, ERR_PERMANENT, "BadCertificate",
                     "%s is not the key of the certificate in %s", pem->key_file, pem->cert_file);
    } else {
        rc = check_dates(cert, pem->cert_file, err);
    }
    ERR_clear_error();
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

int tls_check(const struct tls_pem *pem, struct err *err)
{
    if (pem->ca) {
        X509 *ca = read_cert(pem->ca);
        if (!ca) {
            return err_set(err, ERR_PERMANENT, "BadCertificate",
                           "%s holds no certificate in PEM form", pem->ca_file);
        }
        X509_free(ca);
    }
    return pem->cert ? check_pair(pem, err) : 0;
}

/* --- a look at the server ------------------------------------------------------------------- */

struct look {
    const struct tls_peer *peer;
    char *host; /* without brackets */
    const char *port;
    const char *name; /* that the certificate must show */
    SSL_CTX *context;
    SSL *ssl;
    int fd;
    X509 *bad; /* the first certificate that was not accepted, and why */
    int verdict;
};

static int connect_within(const struct addrinfo *to, int64_t ms)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof(error);
    if (fd >= 0 && (connect(fd, to->ai_addr, to->ai_addrlen) == 0 ||
                    (errno == EINPROGRESS && poll(&wait, 1, (int)ms) == 1 &&
                     getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0))) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static int reach(const struct look *look)
{
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1;
    if (getaddrinfo(look->host, look->port, &wish, &found) == 0) {
        for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
            fd = connect_within(at, LOOK_MS / 2);
        }
        freeaddrinfo(found);
    }
    return fd;
}

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static int note_verdict(int is_good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct look *look = SSL_get_app_data(ssl);
    if (!is_good && !look->bad) {
        look->bad = X509_STORE_CTX_get_current_cert(store);
        look->verdict = X509_STORE_CTX_get_error(store);
        X509_up_ref(look->bad);
    }
    return is_good;
}

static bool set_up(struct look *look)
{
    const struct tls_peer *peer = look->peer;
    look->context = SSL_CTX_new(TLS_client_method());
    bool is_good = peer->ca_file
                       ? SSL_CTX_load_verify_locations(look->context, peer->ca_file, NULL) == 1
                       : SSL_CTX_set_default_verify_paths(look->context) == 1;
    SSL_CTX_set_default_passwd_cb(look->context, no_passphrase);
    if (peer->cert_file) {
        is_good = is_good &&
                  SSL_CTX_use_certificate_chain_file(look->context, peer->cert_file) == 1 &&
                  SSL_CTX_use_PrivateKey_file(look->context, peer->key_file, SSL_FILETYPE_PEM) == 1;
    }
    SSL_CTX_set_verify(look->context, SSL_VERIFY_PEER, note_verdict);
    look->ssl = SSL_new(look->context);
    SSL_set_app_data(look->ssl, look);
    X509_VERIFY_PARAM *param = SSL_get0_param(look->ssl);
    if (is_address(look->name)) {
        X509_VERIFY_PARAM_set1_ip_asc(param, look->name);
    } else {
        SSL_set1_host(look->ssl, look->name);
        SSL_set_tlsext_host_name(look->ssl, look->name);
    }
    static const unsigned char h2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(look->ssl, h2, sizeof(h2));
    SSL_set_fd(look->ssl, look->fd);
    return is_good;
}

/* Does step() until it is done, fails, or the time is over. */
static int within(const struct look *look, int (*step)(SSL *ssl), int64_t until_ns)
{
    for (;;) {
        ERR_clear_error();
        int rc = step(look->ssl);
        int wants = SSL_get_error(look->ssl, rc);
        int64_t left_ms = (until_ns - clock_mono_ns()) / NS_PER_MS;
        struct pollfd wait = {.fd = look->fd,
                              .events = wants == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN};
        if (rc > 0 || (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE)) {
            return rc;
        }
        if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) <= 0) {
            ERR_clear_error();
            return -1;
        }
    }
}

static int read_byte(SSL *ssl)
{
    char byte;
    return SSL_read(ssl, &byte, 1);
}

/* --- what is wrong -------------------------------------------------------------------------- */

static void add_names(struct str *out, X509 *cert)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    size_t start = out->len;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && out->len - start < 200; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS) {
            str_addf(out, "%s%.*s", out->len > start ? ", " : "",
                     ASN1_STRING_length(name->d.dNSName),
                     (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        }
    }
    GENERAL_NAMES_free(names);
    if (out->len == start) {
        str_add(out, "no host");
    }
}

static void add_verdict(struct str *out, const struct look *look)
{
    X509 *cert = look->bad;
    switch (look->verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        str_add(out, "the server's certificate expired on ");
        add_date(out, X509_get0_notAfter(cert));
        str_add(out, "; renew it there, or is this machine's clock wrong?");
        return;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        str_add(out, "the server's certificate begins on ");
        add_date(out, X509_get0_notBefore(cert));
        str_add(out, "; is this machine's clock wrong?");
        return;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        str_add(out, "the server's certificate is for ");
        add_names(out, cert);
        str_addf(out, ", not for %s; check the address, or set server_name", look->name);
        return;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        str_addf(out,
                 "the server's certificate is signed by nobody that %s knows; set ca_file to the "
                 "certificate of who signed it",
                 look->peer->ca_file ? look->peer->ca_file : "the system");
        return;
    default:
        str_addf(out, "the server's certificate was not accepted (%s); check it and ca_file",
                 X509_verify_cert_error_string(look->verdict));
    }
}

static bool add_alert(struct str *out, const struct look *look)
{
    switch (ERR_GET_REASON(ERR_peek_last_error())) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        str_add(out, "the server wants a client's certificate; set cert_file and key_file");
        return true;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        str_addf(out, "the server broke off the handshake; %s",
                 look->peer->cert_file ? "does it accept our certificate?"
                                       : "does it want a client's certificate? (cert_file)");
        return true;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        str_addf(out,
                 "the server does not accept our certificate (%s); is it signed by whom the "
                 "server trusts?",
                 look->peer->cert_file ? look->peer->cert_file : "none was sent");
        return true;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        str_add(out, "the server does not speak TLS here; check the port, or leave tls out for a "
                     "server on this machine");
        return true;
    default:
        return false;
    }
}

static bool shake_hands(struct look *look, struct str *out)
{
    int64_t until_ns = clock_mono_ns() + LOOK_MS * NS_PER_MS;
    bool is_through = within(look, SSL_connect, until_ns) == 1;
    if (is_through) { /* TLS 1.3 tells us of our certificate only now */
        within(look, read_byte, clock_mono_ns() + LOOK_MS / 3 * NS_PER_MS);
        return add_alert(out, look);
    }
    if (look->bad) {
        add_verdict(out, look);
        return true;
    }
    return add_alert(out, look);
}

/* OpenSSL writes to sockets in a way that raises SIGPIPE: not for our caller. */
struct hush {
    sigset_t pipe, before;
    bool was_pending;
};

static void hush_begin(struct hush *hush)
{
    sigset_t pending;
    sigpending(&pending);
    hush->was_pending = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&hush->pipe);
    sigaddset(&hush->pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &hush->pipe, &hush->before);
}

static void hush_end(struct hush *hush)
{
    const struct timespec none = {0};
    while (!hush->was_pending && sigtimedwait(&hush->pipe, NULL, &none) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &hush->before, NULL);
}

bool tls_explain(const struct tls_peer *peer, struct str *out)
{
    const char *colon = strrchr(peer->target, ':');
    bool is_bracketed = peer->target[0] == '[';
    size_t len = (size_t)(colon - peer->target) - (is_bracketed ? 2 : 0);
    autofree char *host = mem_strndup(peer->target + is_bracketed, len);
    struct look look = {.peer = peer, .host = host, .port = colon + 1};
    look.name = peer->server_name ? peer->server_name : host;
    look.fd = reach(&look);
    if (look.fd < 0) {
        return false;
    }
    struct hush hush;
    hush_begin(&hush);
    bool is_found = set_up(&look) && shake_hands(&look, out);
    X509_free(look.bad);
    SSL_free(look.ssl);
    SSL_CTX_free(look.context);
    close(look.fd);
    hush_end(&hush);
    ERR_clear_error();
    return is_found;
}
