/*
 * rpc.c - one call to the server: pack, try, try again, unpack, or say what went wrong.
 *
 * Owns: the schedule of tries. An ordinary call waits 100 ms, then 1.7 times longer each time, up
 * to 5 s; a worker's polls and replies 200 ms, doubled up to 10 s; after "too often" at least a
 * second; all of them 20 % more or less. Requests that must not happen twice carry a request id
 * (their caller's business), so every try may have been the one that arrived.
 * Must not: decide by texts, but for one: a message too large has no code of its own.
 * Threads: any; a call's state is in its frame.
 * Tests: tests/unit/test_temporal_rpc.c, tests/temporal/t8100-transport.sh.
 */
#include "temporal/rpc.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "durable.h"
#include "temporal/advice.h"
#include "temporal/proto/service.pb-c.h"
#include "temporal/remote.h"
#include "temporal/tls.h"

#define CALL_FIRST_MS 100
#define CALL_MAX_MS 5000
#define CALL_TRIES 10
#define WORKER_FIRST_MS 200
#define WORKER_MAX_MS 10000
#define LIMITED_FIRST_MS 1000
#define REPLY_TRY_MS 10000 /* one try of a reply */
#define PROBE_MS 10000
#define LIMIT_SAID_AGAIN_NS (60 * NS_PER_S)

void rpc_free(ProtobufCMessage **message)
{
    if (*message) {
        protobuf_c_message_free_unpacked(*message, NULL);
        *message = NULL;
    }
}

void rpc_failure_free(struct rpc_failure *failure)
{
    str_free(&failure->bytes);
    free(failure->message);
    failure->message = NULL;
}

/* --- codes ---------------------------------------------------------------------------------- */

static bool is_too_large(int code, const char *message)
{
    if (!message) {
        return false;
    }
    return (code == CODE_RESOURCE_EXHAUSTED && strstr(message, "message larger than max")) ||
           (code == CODE_INVALID_ARGUMENT && strstr(message, "Blob data size exceeds limit"));
}

int rpc_code(int code, const char *message)
{
    switch (code) {
    case CODE_OK:
        return DUR_OK;
    case CODE_INVALID_ARGUMENT:
        return is_too_large(code, message) ? DUR_LIMIT : DUR_INVALID;
    case CODE_PERMISSION_DENIED:
    case CODE_FAILED_PRECONDITION:
    case CODE_UNIMPLEMENTED:
    case CODE_UNAUTHENTICATED:
        return DUR_INVALID;
    case CODE_NOT_FOUND:
        return DUR_NOT_FOUND;
    case CODE_ALREADY_EXISTS:
        return DUR_EXISTS;
    case CODE_RESOURCE_EXHAUSTED:
        return is_too_large(code, message) ? DUR_LIMIT : DUR_BUSY;
    default:
        return DUR_IO;
    }
}

static bool is_final(const struct rpc *rpc, int code, const char *message)
{
    bool is_worker = rpc->kind == RPC_POLL || rpc->kind == RPC_REPLY;
    switch (code) {
    case CODE_CANCELLED: /* by the server: it shuts down */
    case CODE_DEADLINE_EXCEEDED:
        return !is_worker;
    case CODE_RESOURCE_EXHAUSTED:
        return is_too_large(code, message);
    case CODE_UNKNOWN:
    case CODE_ABORTED:
    case CODE_OUT_OF_RANGE:
    case CODE_INTERNAL:
    case CODE_UNAVAILABLE:
    case CODE_DATA_LOSS:
        return false;
    default:
        return true;
    }
}

int64_t rpc_retry_ms(const struct rpc *rpc, int code, const char *message, int tries,
                     uint64_t random)
{
    if (rpc->kind == RPC_ONCE || is_final(rpc, code, message) ||
        (rpc->kind == RPC_CALL && tries >= CALL_TRIES)) {
        return -1;
    }
    bool is_call = rpc->kind == RPC_CALL;
    double wait = is_call ? CALL_FIRST_MS : WORKER_FIRST_MS;
    double most = is_call ? CALL_MAX_MS : WORKER_MAX_MS;
    double factor = is_call ? 1.7 : 2.0;
    if (code == CODE_RESOURCE_EXHAUSTED) {
        wait = LIMITED_FIRST_MS;
        most = WORKER_MAX_MS;
        factor = 2.0;
    }
    for (int i = 1; i < tries && wait < most; i++) {
        wait *= factor;
    }
    wait = wait < most ? wait : most;
    double spread = (double)(random % 1000) / 1000.0; /* 0 to 1 */
    bool is_limited = code == CODE_RESOURCE_EXHAUSTED;
    return (int64_t)(wait * (is_limited ? 1.0 + 0.2 * spread : 0.8 + 0.4 * spread));
}

/* --- failures ------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    enum rpc_detail detail;
} details[] = {
    {"NotFoundFailure", DETAIL_NOT_FOUND},
    {"NamespaceNotFoundFailure", DETAIL_NAMESPACE_NOT_FOUND},
    {"WorkflowExecutionAlreadyStartedFailure", DETAIL_ALREADY_STARTED},
    {"CancellationAlreadyRequestedFailure", DETAIL_CANCEL_REQUESTED},
    {"QueryFailedFailure", DETAIL_QUERY_FAILED},
    {"PermissionDeniedFailure", DETAIL_PERMISSION_DENIED},
    {"ResourceExhaustedFailure", DETAIL_RESOURCE_EXHAUSTED},
    {"WorkflowNotReadyFailure", DETAIL_NOT_READY},
    {"NamespaceNotActiveFailure", DETAIL_NAMESPACE_NOT_ACTIVE},
    {"ClientVersionNotSupportedFailure", DETAIL_CLIENT_VERSION},
    {"ServerVersionNotSupportedFailure", DETAIL_SERVER_VERSION},
};

static void read_details(const struct str *bytes, struct rpc_failure *failure)
{
    Pb__Status *status = pb__status__unpack(NULL, bytes->len, (const uint8_t *)str_c(bytes));
    if (status && status->n_details) {
        const char *dot = strrchr(status->details[0]->type_url, '.');
        for (size_t i = 0; dot && i < ARRAY_LEN(details); i++) {
            if (str_eq(dot + 1, details[i].type)) {
                failure->detail = details[i].detail;
            }
        }
        str_addn(&failure->bytes, status->details[0]->value.data, status->details[0]->value.len);
    }
    if (status) {
        pb__status__free_unpacked(status, NULL);
    }
}

static void set_error(int rc, const char *text, struct err *err)
{
    static const struct {
        int code;
        enum err_kind kind;
        const char *name;
    } names[] = {
        {DUR_CANCELLED, ERR_CANCELLED, "Cancelled"},  {DUR_INVALID, ERR_PERMANENT, "ServerRefused"},
        {DUR_NOT_FOUND, ERR_PERMANENT, "RunGone"},    {DUR_EXISTS, ERR_PERMANENT, "RunExists"},
        {DUR_BUSY, ERR_TRANSIENT, "RateLimited"},     {DUR_LIMIT, ERR_PERMANENT, "TooLarge"},
        {DUR_IO, ERR_TRANSIENT, "ServerUnreachable"},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].code == rc) {
            err_set(err, names[i].kind, names[i].name, "%s", text);
        }
    }
}

static int cancelled(struct remote *remote, const struct rpc *rpc, struct err *err)
{
    autostr struct str text = {0};
    str_addf(&text, "%s: %s: cancelled", remote->target, rpc->method);
    set_error(DUR_CANCELLED, str_c(&text), err);
    return DUR_CANCELLED;
}

/* Why TLS does not work, if that is it; empty: it is not, or it is not to be seen. */
static void look_at_tls(struct remote *remote, int code, struct str *why)
{
    if (remote->is_tls && code == CODE_UNAVAILABLE) {
        struct tls_peer peer = {remote->target, remote->server_name, remote->ca_file,
                                remote->cert_file, remote->key_file};
        tls_explain(&peer, why);
    }
}

static void describe(struct remote *remote, const struct rpc *rpc,
                     const struct transport_reply *reply, enum rpc_detail detail,
                     const struct str *why, struct str *out)
{
    str_addf(out, "%s: %s: ", remote->target, rpc->method);
    struct advice_case c = {
        .code = reply->code,
        .detail = (int)detail,
        .message = str_c(&reply->message),
        .name_space = remote->name_space,
        .api_key_env = remote->api_key_env,
        .tls = why->len ? why->ptr : NULL,
    };
    advice_add(out, &c);
}

static int failed(struct remote *remote, const struct rpc *rpc, struct transport_reply *reply,
                  const struct str *why, struct rpc_failure *ret_failure, struct err *err)
{
    struct rpc_failure failure = {.code = reply->code};
    read_details(&reply->details, &failure);
    autostr struct str text = {0};
    describe(remote, rpc, reply, failure.detail, why, &text);
    int rc = rpc_code(reply->code, str_c(&reply->message));
    set_error(rc, str_c(&text), err);
    if (ret_failure) {
        failure.message = str_take(&reply->message);
        *ret_failure = failure;
    } else {
        rpc_failure_free(&failure);
    }
    return rc;
}

/* --- polls and the news that they bring ------------------------------------------------------ */

static void say(struct remote *remote, const struct rpc *rpc, const struct transport_reply *reply)
{
    autostr struct str text = {0};
    autostr struct str why = {0};
    look_at_tls(remote, reply->code, &why);
    describe(remote, rpc, reply, DETAIL_NONE, &why, &text);
    remote_say(remote, 1, "%s; trying on", str_c(&text));
}

/* A poll failed, and is tried again. */
static void say_lost(struct remote *remote, const struct rpc *rpc,
                     const struct transport_reply *reply)
{
    if (reply->code == CODE_CANCELLED) { /* it is there, and tidies up */
        return;
    }
    if (reply->code == CODE_RESOURCE_EXHAUSTED) { /* it is there: now and then an answer */
        int64_t now_ns = clock_mono_ns();
        int64_t said_ns = atomic_load(&remote->limit_said_ns);
        if ((!said_ns || now_ns - said_ns > LIMIT_SAID_AGAIN_NS) &&
            atomic_compare_exchange_strong(&remote->limit_said_ns, &said_ns, now_ns)) {
            say(remote, rpc, reply);
        }
    } else if (!atomic_exchange(&remote->is_lost, true)) {
        say(remote, rpc, reply);
    }
}

static void say_back(struct remote *remote)
{
    if (atomic_exchange(&remote->is_lost, false)) {
        remote_say(remote, 2, "%s: the server answers again", remote->target);
    }
}

/* --- the call ------------------------------------------------------------------------------- */

static int64_t try_ms(const struct rpc *rpc, int64_t timeout_ms, int64_t deadline_ns)
{
    if (rpc->kind == RPC_POLL) {
        return timeout_ms;
    }
    int64_t left_ms = (deadline_ns - clock_mono_ns()) / NS_PER_MS;
    left_ms = left_ms > 1 ? left_ms : 1;
    return rpc->kind == RPC_REPLY && left_ms > REPLY_TRY_MS ? REPLY_TRY_MS : left_ms;
}

/* Whether to try again, and after how long. An ordinary call that fails by its certificates does so
 * at once, with the reason in *why. */
static bool is_worth_a_try(struct remote *remote, const struct rpc *rpc, int tries,
                           const struct transport_reply *reply, int64_t deadline_ns,
                           struct str *why, int64_t *ret_wait_ms)
{
    int64_t wait_ms = rpc_retry_ms(rpc, reply->code, str_c(&reply->message), tries, rng_u64());
    if (tries == 1 && rpc->kind != RPC_POLL && rpc->kind != RPC_REPLY) {
        look_at_tls(remote, reply->code, why);
    }
    *ret_wait_ms = wait_ms;
    return wait_ms >= 0 && !why->len &&
           (rpc->kind == RPC_POLL || clock_mono_ns() + wait_ms * NS_PER_MS < deadline_ns);
}

/* One try. A poll of a server that was lost asks first for something that is answered at once: that
 * it is back is known then, and not when the poll ends, a minute later. */
static void try_once(struct remote *remote, const struct rpc *rpc,
                     const struct transport_request *request, struct rpc_cancel *cancel,
                     struct transport_reply *reply)
{
    if (rpc->kind == RPC_POLL && atomic_load(&remote->is_lost)) {
        struct transport_request probe = {
            .method = "GetSystemInfo", .bytes = "", .timeout_ms = PROBE_MS, .is_patient = true};
        transport_call(remote->transport, &probe, cancel, reply);
        if (reply->code != CODE_OK && reply->code != CODE_UNIMPLEMENTED) {
            return;
        }
        transport_reply_free(reply);
        say_back(remote);
    }
    transport_call(remote->transport, request, cancel, reply);
}

/* Tries until there is an answer or none is to be had; *reply is the last one's, or if time ran out
 * in that, the one's before. False: cancelled. */
static bool try_all(struct remote *remote, const struct rpc *rpc, const struct str *bytes,
                    struct rpc_cancel *cancel, struct transport_reply *reply, struct str *why)
{
    bool is_poll = rpc->kind == RPC_POLL;
    int64_t timeout_ms = rpc->timeout_ms > 0 ? rpc->timeout_ms
                         : is_poll           ? RPC_POLL_TIMEOUT_MS
                                             : RPC_TIMEOUT_MS;
    int64_t deadline_ns = time_later(clock_mono_ns(), timeout_ms * NS_PER_MS);
    struct rpc_cancel *closing = transport_closing(remote->transport);
    for (int tries = 1;; tries++) {
        struct transport_reply now = {0};
        struct transport_request request = {
            .method = rpc->method,
            .bytes = str_c(bytes),
            .len = bytes->len,
            .timeout_ms = try_ms(rpc, timeout_ms, deadline_ns),
            .is_patient = tries > 1, /* gRPC knows the moment when it is reached again */
        };
        try_once(remote, rpc, &request, cancel, &now);
        bool is_told = tries > 1 && now.code == CODE_DEADLINE_EXCEEDED && !is_poll;
        if (!is_told) {
            transport_reply_free(reply);
            *reply = now;
        } else {
            transport_reply_free(&now);
        }
        if (now.code == CODE_OK) {
            return true;
        }
        int64_t wait_ms = 0;
        if (rpc_is_cancelled(closing) || (cancel && rpc_is_cancelled(cancel))) {
            return false;
        }
        if (!is_worth_a_try(remote, rpc, tries, reply, deadline_ns, why, &wait_ms)) {
            return true;
        }
        if (is_poll) {
            say_lost(remote, rpc, reply);
        }
        if (rpc_cancel_wait(cancel ? cancel : closing, wait_ms)) {
            return false;
        }
    }
}

int rpc_send(struct remote *remote, const struct rpc *rpc, const ProtobufCMessage *request,
             const ProtobufCMessageDescriptor *response_type, struct rpc_cancel *cancel,
             ProtobufCMessage **ret, struct rpc_failure *ret_failure, struct err *err)
{
    autostr struct str bytes = {0};
    str_reserve(&bytes, protobuf_c_message_get_packed_size(request));
    bytes.len = protobuf_c_message_pack(request, (uint8_t *)bytes.ptr);
    autoreply struct transport_reply reply = {0};
    autostr struct str why = {0};
    if (!try_all(remote, rpc, &bytes, cancel, &reply, &why)) {
        if (ret_failure) {
            ret_failure->code = CODE_CANCELLED;
        }
        return cancelled(remote, rpc, err);
    }
    if (reply.code != CODE_OK) {
        return failed(remote, rpc, &reply, &why, ret_failure, err);
    }
    say_back(remote);
    if (!ret) {
        return DUR_OK;
    }
    *ret = protobuf_c_message_unpack(response_type, NULL, reply.body.len,
                                     (const uint8_t *)str_c(&reply.body));
    if (*ret) {
        return DUR_OK;
    }
    reply.code = CODE_INTERNAL;
    str_add(&reply.message, "the answer is not the message that it should be");
    return failed(remote, rpc, &reply, &why, ret_failure, err);
}
