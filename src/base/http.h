/*
 * http.h - the only door to libcurl: HTTP/1.1 requests over TCP or a unix socket.
 *
 * Owns: one reusable client handle, buffered and streaming bodies, deadlines, cancellation. Must
 * not: follow redirects, use proxies for loopback or unix sockets, disable TLS verification. A
 * client belongs to one thread at a time.
 */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct http_client; /* keeps connections alive between requests */
struct http_client *http_client_new(const char *unix_socket_path /* NULL: TCP */);
struct http_client *http_client_free(struct http_client *client); /* NULL fine; returns NULL */

struct http_request {
    const char *method;         /* "GET", "POST" ... */
    const char *url;            /* http://host/path even with a unix socket */
    const char *const *headers; /* NULL-terminated "Name: value" lines; NULL: none */
    const void *body;
    size_t body_len;
    int body_fd;        /* > 0: stream the body from this descriptor (chunked), body ignored */
    int64_t timeout_ms; /* whole request; <= 0: none */
    int64_t connect_timeout_ms; /* <= 0: 5000 */
    size_t max_body_bytes;      /* buffered answers beyond this are an error; 0: 64 MiB */
    /* Streaming: called for every piece of the body; return non-zero to stop (outcome 1). When set,
     * ret->body stays empty for 2xx answers. */
    int (*on_data)(void *user, const void *bytes, size_t len);
    void *user;
    const atomic_bool *cancel; /* polled at least every 200 ms; true -> ERR_CANCELLED */
};
struct http_response {
    int status;
    struct str body;
    struct str headers; /* raw "Name: value\r\n" lines of the final answer */
};
void http_response_free(struct http_response *r);
#define autohttp cleanup_with(http_response_free)

/* 0: an answer arrived (any status); 1: on_data stopped it; <0: no (whole) answer. *ret must be
 * empty before and is untouched when <0. Error names: BadRequest, ConnectFailed, TlsFailed,
 * RequestTimedOut, ConnectionLost, BodyTooLarge, ReadFailed, Cancelled; texts hold method and URL
 * without user, password and query. Kinds: could not connect -> transient; deadline or connection
 * lost after the request was sent -> ambiguous, but transient for GET and HEAD, which leave nothing
 * half done. */
int http_perform(struct http_client *client, const struct http_request *request,
                 struct http_response *ret, struct err *err);
/* Value of a header, case-insensitive, trimmed; caller frees; NULL when absent. */
char *http_header(const struct http_response *response, const char *name);

#endif
