/*
 * http.c - see http.h. The only file that knows libcurl.
 *
 * One multi handle per client (it keeps the connections) and one easy handle, reset and added for
 * each request: curl_easy_perform() looks at its callbacks only once a second, our own loop looks
 * at the cancel flag every POLL_MS. HTTP/1.1 only: libcurl 7.88 breaks on re-used HTTP/2
 * connections, and only over HTTP/1.1 does a server notice that a request was given up. Tests:
 * tests/unit/test_base_http.c
 */
#include "base/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

#define POLL_MS 100
#define DEFAULT_CONNECT_TIMEOUT_MS 5000
#define DEFAULT_MAX_BODY_BYTES (64U << 20)
#define MAX_HEADER_BYTES (1U << 20) /* all header lines of one answer */

struct http_client {
    CURLM *multi;
    CURL *easy;
    char *socket_path;
};

/* One request while it runs. */
struct exchange {
    const struct http_request *request;
    CURL *easy;
    struct str body;
    struct str headers;
    size_t max_body_bytes;
    bool stopped;   /* on_data wanted no more */
    bool too_large; /* body or headers */
    bool paused;    /* body_fd has nothing to read yet */
    int read_errno; /* body_fd failed */
    char detail[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        mem_exhausted(0);
    }
}

struct http_client *http_client_new(const char *unix_socket_path)
{
    pthread_once(&once, init_curl);
    struct http_client *client = mem_alloc(sizeof(*client));
    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    client->socket_path = mem_strdup(unix_socket_path);
    if (!client->multi || !client->easy) {
        mem_exhausted(0);
    }
    return client;
}

struct http_client *http_client_free(struct http_client *client)
{
    if (client) {
        curl_easy_cleanup(client->easy);
        curl_multi_cleanup(client->multi);
        free(client->socket_path);
        free(client);
    }
    return NULL;
}

void http_response_free(struct http_response *r)
{
    str_free(&r->body);
    str_free(&r->headers);
    r->status = 0;
}

/* --- callbacks ------------------------------------------------------------------------------- */

static int status_of(CURL *easy)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct exchange *x = user;
    size_t len = size * count;
    int status = status_of(x->easy);
    if (x->request->on_data && status >= 200 && status < 300) {
        x->stopped = x->request->on_data(x->request->user, bytes, len) != 0;
        return x->stopped ? 0 : len;
    }
    if (len > x->max_body_bytes - x->body.len) {
        x->too_large = true;
        return 0;
    }
    str_addn(&x->body, bytes, len);
    return len;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct exchange *x = user;
    size_t len = size * count;
    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0) { /* 100 Continue comes before the answer */
        str_reset(&x->headers);
        return len;
    }
    if (len > MAX_HEADER_BYTES - x->headers.len) {
        x->too_large = true;
        return 0;
    }
    if (len > 2) { /* not the blank line */
        str_addn(&x->headers, bytes, len);
    }
    return len;
}

static size_t on_read(char *buf, size_t size, size_t count, void *user)
{
    struct exchange *x = user;
    struct pollfd ready = {.fd = x->request->body_fd, .events = POLLIN};
    if (poll(&ready, 1, 0) == 0) {
        x->paused = true;
        return CURL_READFUNC_PAUSE;
    }
    ssize_t got;
    do {
        got = read(x->request->body_fd, buf, size * count);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        x->read_errno = errno;
        return CURL_READFUNC_ABORT;
    }
    return (size_t)got;
}

/* --- setting up ------------------------------------------------------------------------------ */

static bool is_clean(const char *text, unsigned char lowest)
{
    for (; *text; text++) {
        if ((unsigned char)*text < lowest || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

/* scheme://[user@]host... : the part behind the "@", or behind "://". */
static const char *host_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t authority = strcspn(host, "/?#");
    for (size_t i = authority; i > 0; i--) {
        if (host[i - 1] == '@') {
            return host + i;
        }
    }
    return host;
}

static bool is_loopback(const char *url)
{
    const char *host = host_of(url);
    size_t len = strcspn(host, host[0] == '[' ? "/?#" : ":/?#");
    return (len == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           (len >= 7 && strncmp(host, "127.", 4) == 0) ||
           (len >= 5 && strncmp(host, "[::1]", 5) == 0);
}

/* "POST http://host/path" without what may be secret: user, password, query. */
static char *request_name(const struct http_request *request)
{
    const char *host = host_of(request->url);
    const char *scheme = strstr(request->url, "://");
    int scheme_len = scheme ? (int)(scheme + 3 - request->url) : 0;
    return mem_printf("%s %.*s%.*s", request->method, scheme_len, request->url,
                      (int)strcspn(host, "?#"), host);
}

static int check_request(const struct http_client *client, const struct http_request *request,
                         const char *name, struct err *err)
{
    bool http = strncasecmp(request->url, "http://", 7) == 0 ||
                strncasecmp(request->url, "https://", 8) == 0;
    if (!http || !is_clean(request->url, 0x21)) {
        return err_set(err, ERR_PERMANENT, "BadRequest", "%s: not an http or https URL", name);
    }
    if (!request->method[0] ||
        strspn(request->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != strlen(request->method)) {
        return err_set(err, ERR_PERMANENT, "BadRequest", "%s: not a method", name);
    }
    for (size_t i = 0; request->headers && request->headers[i]; i++) {
        if (!is_clean(request->headers[i], 0x20) || !strchr(request->headers[i], ':')) {
            return err_set(err, ERR_PERMANENT, "BadRequest", "%s: header line %zu is malformed",
                           name, i + 1);
        }
    }
    if (client->socket_path &&
        strlen(client->socket_path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        return err_set(err, ERR_PERMANENT, "BadRequest", "%s: socket path %s is too long", name,
                       client->socket_path);
    }
    return 0;
}

static struct curl_slist *append(struct curl_slist *list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(list, line);
    if (!longer) {
        mem_exhausted(strlen(line));
    }
    return longer;
}

static struct curl_slist *make_headers(const struct http_request *request)
{
    struct curl_slist *list = append(NULL, "Expect:"); /* no waiting for 100 Continue */
    bool typed = false;
    for (size_t i = 0; request->headers && request->headers[i]; i++) {
        typed |= strncasecmp(request->headers[i], "Content-Type:", 13) == 0;
        list = append(list, request->headers[i]);
    }
    return typed ? list : append(list, "Content-Type:"); /* nor libcurl's guess of a form */
}

static void set_method_and_body(CURL *easy, const struct http_request *request, struct exchange *x)
{
    const char *method = request->method;
    bool wants_body = str_eq(method, "POST") || str_eq(method, "PUT") || str_eq(method, "PATCH");
    if (request->body_fd > 0) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L); /* unknown size: chunked */
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, x);
    } else if (request->body_len > 0 || wants_body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body_len > 0 ? request->body : "");
    } else if (str_eq(method, "HEAD")) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static void set_transport(CURL *easy, const struct http_client *client,
                          const struct http_request *request)
{
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* a cancel does not wait for the resolver */
#endif
    if (client->socket_path) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, client->socket_path);
    }
    if (client->socket_path || is_loopback(request->url)) {
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    }
    if (request->timeout_ms > 0) {
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    }
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     request->connect_timeout_ms > 0 ? (long)request->connect_timeout_ms
                                                     : (long)DEFAULT_CONNECT_TIMEOUT_MS);
}

/* --- the loop -------------------------------------------------------------------------------- */

/* Waits for the socket, for body_fd when the upload is paused on it, or POLL_MS. */
static CURLMcode wait_turn(CURLM *multi, struct exchange *x)
{
    struct curl_waitfd input = {.fd = x->request->body_fd, .events = CURL_WAIT_POLLIN};
    CURLMcode rc = curl_multi_poll(multi, &input, x->paused ? 1 : 0, POLL_MS, NULL);
    if (rc == CURLM_OK && x->paused) {
        struct pollfd ready = {.fd = x->request->body_fd, .events = POLLIN};
        if (poll(&ready, 1, 0) != 0) {
            x->paused = false;
            curl_easy_pause(x->easy, CURLPAUSE_CONT);
        }
    }
    return rc;
}

/* CURLE_OK and friends when the transfer has ended; CURLE_ABORTED_BY_CALLBACK when cancelled. */
static CURLcode transfer(CURLM *multi, struct exchange *x)
{
    for (;;) {
        int running = 0;
        int left = 0;
        CURLMcode rc = curl_multi_perform(multi, &running);
        const CURLMsg *done = curl_multi_info_read(multi, &left);
        if (done && done->msg == CURLMSG_DONE) {
            return done->data.result;
        }
        if (rc == CURLM_OK && x->request->cancel && atomic_load(x->request->cancel)) {
            return CURLE_ABORTED_BY_CALLBACK;
        }
        if (rc == CURLM_OK) {
            rc = wait_turn(multi, x);
        }
        if (rc != CURLM_OK) {
            return rc == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
        }
    }
}

/* Nothing was done if no byte of the request left us, and nothing can be half done by a read. */
static enum err_kind lost_kind(const struct exchange *x)
{
    long sent = 0;
    curl_easy_getinfo(x->easy, CURLINFO_REQUEST_SIZE, &sent);
    bool reading = str_eq(x->request->method, "GET") || str_eq(x->request->method, "HEAD");
    return sent == 0 || reading ? ERR_TRANSIENT : ERR_AMBIGUOUS;
}

static int fail(const struct exchange *x, CURLcode code, const char *name, struct err *err)
{
    const char *why = x->detail[0] ? x->detail : curl_easy_strerror(code);
    if (x->too_large) {
        return err_set(err, ERR_PERMANENT, "BodyTooLarge", "%s: the answer is too large", name);
    }
    if (x->read_errno) {
        return err_sys(err, x->read_errno, "ReadFailed", "%s: cannot read the body to send", name);
    }
    switch ((int)code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return err_set(err, ERR_CANCELLED, "Cancelled", "%s was stopped on request", name);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
        return err_set(err, ERR_TRANSIENT, "ConnectFailed", "%s: %s", name, why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(err, ERR_PERMANENT, "TlsFailed", "%s: %s", name, why);
    case CURLE_URL_MALFORMAT:
        return err_set(err, ERR_PERMANENT, "BadRequest", "%s: %s", name, why);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, lost_kind(x), "RequestTimedOut", "%s: %s", name, why);
    default:
        return err_set(err, lost_kind(x), "ConnectionLost", "%s: %s", name, why);
    }
}

int http_perform(struct http_client *client, const struct http_request *request,
                 struct http_response *ret, struct err *err)
{
    autofree char *name = request_name(request);
    if (check_request(client, request, name, err) < 0) {
        return -1;
    }
    struct exchange x = {.request = request, .easy = client->easy};
    x.max_body_bytes = request->max_body_bytes ? request->max_body_bytes : DEFAULT_MAX_BODY_BYTES;
    struct curl_slist *headers = make_headers(request);
    curl_easy_reset(client->easy);
    set_transport(client->easy, client, request);
    set_method_and_body(client->easy, request, &x);
    curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(client->easy, CURLOPT_ERRORBUFFER, x.detail);
    curl_easy_setopt(client->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(client->easy, CURLOPT_WRITEDATA, &x);
    curl_easy_setopt(client->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(client->easy, CURLOPT_HEADERDATA, &x);
    curl_multi_add_handle(client->multi, client->easy);
    CURLcode code = transfer(client->multi, &x);
    int status = status_of(client->easy);
    int rc = 0;
    if (x.stopped) {
        rc = 1;
    } else if (code != CURLE_OK) {
        rc = fail(&x, code, name, err);
    }
    curl_multi_remove_handle(client->multi, client->easy);
    curl_easy_reset(client->easy); /* it must not keep pointers into this frame */
    curl_slist_free_all(headers);
    if (rc < 0) {
        str_free(&x.body);
        str_free(&x.headers);
        return rc;
    }
    *ret = (struct http_response){.status = status, .body = x.body, .headers = x.headers};
    return rc;
}

char *http_header(const struct http_response *response, const char *name)
{
    size_t name_len = strlen(name);
    const char *line = str_c(&response->headers);
    while (*line) {
        size_t len = strcspn(line, "\r\n");
        if (len > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
            const char *value = line + name_len + 1;
            const char *end = line + len;
            while (value < end && (*value == ' ' || *value == '\t')) {
                value++;
            }
            while (end > value && (end[-1] == ' ' || end[-1] == '\t')) {
                end--;
            }
            return mem_strndup(value, (size_t)(end - value));
        }
        line += len;
        line += strspn(line, "\r\n");
    }
    return NULL;
}
