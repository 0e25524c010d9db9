/*
 * transport.h - a connection to a Temporal server, and single calls over it.
 *
 * Owns: gRPC: one channel per server with TLS or, to this machine alone, plaintext; what is sent
 * along with every call (client-name, client-version, temporal-namespace, the API key); deadlines.
 * Must not: retry, know a message's content, or show a key. The channel makes its connection when
 * it is needed and again after it is lost or the server sends it away (GOAWAY).
 * Threads: transport_call() from any number of threads; open and close by the owner;
 * close waits for the calls under way to come back. gRPC's own threads end with the last transport
 * of the process.
 */
#ifndef TEMPORAL_TRANSPORT_H
#define TEMPORAL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "temporal/cancel.h"

struct transport;

struct transport_options {
    const char *target;      /* "host:port" */
    const char *name_space;  /* sent along; "" : not */
    const char *server_name; /* the name that the certificate must show; NULL: the target's */
    const char *ca;          /* PEM; NULL: the system's */
    const char *cert, *key;  /* PEM, both or neither */
    const char *api_key;     /* NULL: none; needs is_tls */
    bool is_tls;
};

/* No connection is made yet. Permanent "BadEndpoint" when gRPC takes none of it. */
int transport_open(const struct transport_options *options, struct transport **ret,
                   struct err *err);
void transport_close(struct transport *transport); /* NULL fine; calls under way are cancelled */

/* gRPC's status codes. */
enum grpc_code {
    CODE_OK = 0,
    CODE_CANCELLED = 1,
    CODE_UNKNOWN = 2,
    CODE_INVALID_ARGUMENT = 3,
    CODE_DEADLINE_EXCEEDED = 4,
    CODE_NOT_FOUND = 5,
    CODE_ALREADY_EXISTS = 6,
    CODE_PERMISSION_DENIED = 7,
    CODE_RESOURCE_EXHAUSTED = 8,
    CODE_FAILED_PRECONDITION = 9,
    CODE_ABORTED = 10,
    CODE_OUT_OF_RANGE = 11,
    CODE_UNIMPLEMENTED = 12,
    CODE_INTERNAL = 13,
    CODE_UNAVAILABLE = 14,
    CODE_DATA_LOSS = 15,
    CODE_UNAUTHENTICATED = 16,
};

struct transport_reply {
    int code;           /* enum grpc_code, or a number that a newer server sends */
    struct str body;    /* CODE_OK: the response message */
    struct str message; /* else: what the server, or gRPC, says */
    struct str details; /* else: google.rpc.Status as it came; may be empty */
};
void transport_reply_free(struct transport_reply *reply);
#define autoreply cleanup_with(transport_reply_free)

struct transport_request {
    const char *method; /* "StartWorkflowExecution" */
    const void *bytes;
    size_t len;
    int64_t timeout_ms;
    bool is_patient; /* while the server is not reached: wait for it, all the time that there is */
};

/* One try. *reply begins zeroed. cancel may be NULL; thrown, the code is CODE_CANCELLED. */
void transport_call(struct transport *transport, const struct transport_request *request,
                    struct rpc_cancel *cancel, struct transport_reply *reply);
/* The switch that transport_close() throws: for who waits between tries. */
struct rpc_cancel *transport_closing(struct transport *transport);

#endif
