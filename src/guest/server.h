/*
 * server.h - HTTP requests in, answers out: the layer between libmicrohttpd and the handlers.
 *
 * Owns: struct request (one HTTP request from its first header to its last byte), routing, body
 * collection within bounds, user and token checks, answers. Must not: know any procedure's meaning.
 * One thread: the daemon is driven by guest.c's loop.
 */
#ifndef GUEST_SERVER_H
#define GUEST_SERVER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "guest/process.h"
#include "guest/state.h"
#include "guest/wire.h"

#define REQUEST_BODY_MAX ((size_t)8 << 20) /* an RPC message: execve's own limit is 6 MiB */

struct request;

enum route_kind {
    ROUTE_REST,   /* rest(): answers by itself; body may be fed to feed() */
    ROUTE_UNARY,  /* unary(): one JSON message in, one out */
    ROUTE_STREAM, /* stream(): one enveloped message in, a stream out */
    ROUTE_INPUT,  /* feed(): enveloped messages in, then one out */
};

struct route {
    const char *method; /* "GET" serves HEAD, too */
    const char *path;
    enum route_kind kind;
    bool open; /* no X-Access-Token needed */
    enum MHD_Result (*rest)(struct request *request);
    /* 0: `out` is the answer; 1: suspended, will be called again; <0: *error. */
    int (*unary)(struct request *request, const struct json *message, struct str *out,
                 struct wire_error *error);
    /* The response to queue, or NULL and *error. */
    struct MHD_Response *(*stream)(struct request *request, const struct json *message,
                                   struct wire_error *error);
    /* Body bytes as they arrive. Takes all (0), or some and suspends (1, *ret_used). */
    int (*feed)(struct request *request, const char *bytes, size_t len, size_t *ret_used,
                struct wire_error *error);
    void (*dispose)(struct request *request); /* frees request->data */
};

struct request {
    struct guest *guest;
    struct MHD_Connection *connection;
    const struct route *route;
    struct arena *arena; /* dies with the request */
    struct str body;
    struct wire_error
        error;        /* code != WIRE_OK: the rest of the body is read over, then this is sent */
    int early_status; /* answer of the HTTP layer itself (404, 405, 415); 0: none */
    void *data;       /* the route's own */
    struct process *waiting_for; /* suspended until its stdin has room */
    struct process_waiter waiter;
};

/* NULL: it did not start. It listens nowhere: listener.h gives it its connections. */
struct MHD_Daemon *server_start(struct guest *guest);

const char *request_header(const struct request *request, const char *name); /* NULL: absent */
/* Query argument: 1 there, 0 absent, <0 holds a NUL byte. */
int request_argument(const struct request *request, const char *name, const char **ret);
/* Suspend until the process' stdin has room; the handler is called again then. */
void request_wait_input(struct request *request, struct process *process);

/* Takes the body's bytes over; `body` is empty afterwards (NULL: no body). */
enum MHD_Result request_reply(struct request *request, int status, const char *type,
                              struct str *body);
/* A response of these bytes, which it frees; and a header of one. libmicrohttpd gives none, or
 * drops the header, for want of memory alone: as base/mem.h has it, asked again, then the end. */
struct MHD_Response *response_of_bytes(char *bytes, size_t len);
void response_header(struct MHD_Response *response, const char *name, const char *value);
/* Queue a finished response and let go of it. */
enum MHD_Result request_queue(struct request *request, int status, struct MHD_Response *response);
/* {"code":STATUS,"message":"..."}: the REST routes' error form. */
enum MHD_Result request_reply_error(struct request *request, int status, const char *message);
/* The REST status for a failure. */
int request_rest_status(const struct wire_error *error);

/* The handlers: each table ends with a row without a path. */
extern const struct route PROCESS_ROUTES[];
extern const struct route FILESYSTEM_ROUTES[];
extern const struct route DOWNLOAD_ROUTES[];
extern const struct route UPLOAD_ROUTES[];
extern const struct route SYSTEM_ROUTES[];

#endif
