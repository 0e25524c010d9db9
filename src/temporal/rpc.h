/*
 * rpc.h - calls to the server with messages in and out, tried again as the protocol says.
 *
 * Owns: packing and unpacking, which codes are tried again and when, the server's details about a
 * failure, and the line for people: "ENDPOINT: CALL: what happened; what to check". Never a key.
 * Must not: know what a call is for.
 * Threads: any.
 *
 *     Pb__GetSystemInfoRequest request;
 *     pb__get_system_info_request__init(&request);
 *     autopb ProtobufCMessage *answer = NULL;
 *     int rc = rpc_send(remote, &(struct rpc){"GetSystemInfo"}, &request.base,
 *                       &pb__get_system_info_response__descriptor, NULL, &answer, NULL, err);
 */
#ifndef TEMPORAL_RPC_H
#define TEMPORAL_RPC_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "temporal/cancel.h"
#include "temporal/transport.h"

struct remote;

#define RPC_TIMEOUT_MS 10000      /* an ordinary call, all tries together */
#define RPC_POLL_TIMEOUT_MS 70000 /* the server holds a poll for 60 s */

struct rpc {
    const char *method; /* "StartWorkflowExecution" */
    int64_t timeout_ms; /* 0: RPC_TIMEOUT_MS, of a poll RPC_POLL_TIMEOUT_MS */
    enum {
        RPC_CALL,  /* tried again until timeout_ms are over (10 tries at most) */
        RPC_POLL,  /* each try lasts up to timeout_ms; tried again without end, until cancelled */
        RPC_REPLY, /* of a worker, about a task: tried again until timeout_ms are over */
        RPC_ONCE,  /* one try */
    } kind;
};

/* What the server says of a failure, beyond its code: temporal.api.errordetails.v1. */
enum rpc_detail {
    DETAIL_NONE, /* or one that is not here */
    DETAIL_NOT_FOUND,
    DETAIL_NAMESPACE_NOT_FOUND,
    DETAIL_ALREADY_STARTED, /* Pb__WorkflowExecutionAlreadyStartedFailure */
    DETAIL_CANCEL_REQUESTED,
    DETAIL_QUERY_FAILED, /* Pb__QueryFailedFailure */
    DETAIL_PERMISSION_DENIED,
    DETAIL_RESOURCE_EXHAUSTED, /* Pb__ResourceExhaustedFailure */
    DETAIL_NOT_READY,          /* WorkflowNotReadyFailure */
    DETAIL_NAMESPACE_NOT_ACTIVE,
    DETAIL_CLIENT_VERSION,
    DETAIL_SERVER_VERSION,
};

struct rpc_failure {
    int code; /* enum grpc_code */
    enum rpc_detail detail;
    struct str bytes; /* the detail's message, as it came */
    char *message;    /* the server's text; NULL: none */
};
void rpc_failure_free(struct rpc_failure *failure); /* a zeroed one is fine */
#define autorpcfailure cleanup_with(rpc_failure_free)

/* 0 with *ret (rpc_free), or a code of durable.h: DUR_CANCELLED (cancel was thrown, or the remote
 * closes), DUR_INVALID (refused: arguments, rights, version), DUR_NOT_FOUND, DUR_EXISTS, DUR_BUSY
 * (rate limited to the end), DUR_LIMIT (a message is too large), DUR_IO (all else: not reached, no
 * answer in time). ret NULL: the answer is not wanted. ret_failure begins zeroed; NULL fine. */
int rpc_send(struct remote *remote, const struct rpc *rpc, const ProtobufCMessage *request,
             const ProtobufCMessageDescriptor *response_type, struct rpc_cancel *cancel,
             ProtobufCMessage **ret, struct rpc_failure *ret_failure, struct err *err);
void rpc_free(ProtobufCMessage **message); /* NULL fine */
#define autopb cleanup_with(rpc_free)

/* --- what the tests look at, too --- */

/* How long to wait before try number `tries + 1`, or -1: that failure is final. */
int64_t rpc_retry_ms(const struct rpc *rpc, int code, const char *message, int tries,
                     uint64_t random);
/* durable.h's code for a gRPC code. */
int rpc_code(int code, const char *message);

#endif
