/*
 * transport.c - calls over gRPC's C core. The only file that includes its headers.
 *
 * Owns: the channel and its settings, one call's life:
 *
 *   create the call on a completion queue of its own -> watch both switches (the caller's and that
 *   of close) -> one batch of six operations -> wait for it -> leave the switches -> free
 *
 * A batch always ends: by the answer, the deadline, a lost connection or a cancel.
 * Must not: retry or log. gRPC's own log is silenced (it would write to standard error, and its
 * traces show headers); what an embedding program had set up for its own use of gRPC goes with it.
 * Threads: struct transport is read-only after open, but for the switch.
 * Tests: tests/temporal/t8100-transport.sh.
 */
#include "temporal/transport.h"

#include <assert.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define SERVICE "/temporal.api.workflowservice.v1.WorkflowService/"
#define CLIENT_NAME "durable-c"
#define MESSAGE_MAX (128 << 20)
#define METADATA_MAX (256 << 10)
#define KEEPALIVE_MS 30000
#define KEEPALIVE_TIMEOUT_MS 15000
#define CONNECT_MS 10000 /* one attempt to connect */
#define RECONNECT_FIRST_MS 100
#define RECONNECT_MAX_MS 2000
#define RESOLVE_AGAIN_MS 2000

struct transport {
    grpc_channel *channel;
    char *name_space;
    struct rpc_cancel closing;
    pthread_mutex_t mutex; /* guards call_count */
    pthread_cond_t is_idle;
    size_t call_count;
};

static void keep_quiet(gpr_log_func_args *args)
{
    if (strncmp(args->message, "assertion failed", 16) == 0) {
        fprintf(stderr, "gRPC: %s\n", args->message); /* it aborts the process now */
    }
}

static grpc_arg text_arg(const char *key, const char *value)
{
    grpc_arg arg = {.type = GRPC_ARG_STRING};
    arg.key = (char *)(uintptr_t)key;
    arg.value.string = (char *)(uintptr_t)value;
    return arg;
}

static grpc_arg number_arg(const char *key, int value)
{
    grpc_arg arg = {.type = GRPC_ARG_INTEGER};
    arg.key = (char *)(uintptr_t)key;
    arg.value.integer = value;
    return arg;
}

static grpc_channel_credentials *credentials_new(const struct transport_options *options)
{
    if (!options->is_tls) {
        return grpc_insecure_credentials_create();
    }
    grpc_ssl_pem_key_cert_pair pair = {options->key, options->cert};
    grpc_channel_credentials *tls =
        grpc_ssl_credentials_create_ex(options->ca, options->cert ? &pair : NULL, NULL, NULL);
    if (!tls || !options->api_key) {
        return tls;
    }
    /* As gRPC's own credential: it refuses to send it over an open line. */
    grpc_call_credentials *key = grpc_access_token_credentials_create(options->api_key, NULL);
    grpc_channel_credentials *both = grpc_composite_channel_credentials_create(tls, key, NULL);
    grpc_call_credentials_release(key);
    grpc_channel_credentials_release(tls);
    return both;
}

static grpc_channel *channel_new(const struct transport_options *options)
{
    grpc_arg args[20];
    size_t count = 0;
    args[count++] = number_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_MAX);
    args[count++] = number_arg(GRPC_ARG_MAX_METADATA_SIZE, METADATA_MAX);
    args[count++] = number_arg(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS);
    args[count++] = number_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS);
    args[count++] = number_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    args[count++] = number_arg(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    args[count++] = number_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, RECONNECT_FIRST_MS);
    args[count++] = number_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_MS);
    args[count++] = number_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, RECONNECT_MAX_MS);
    args[count++] = number_arg(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, RESOLVE_AGAIN_MS);
    /* A connection belongs to its engine, and ends with it. */
    args[count++] = number_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    args[count++] = number_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    args[count++] = text_arg(GRPC_ARG_PRIMARY_USER_AGENT_STRING, CLIENT_NAME "/" PACKAGE_VERSION);
    if (!options->is_tls) {
        args[count++] = number_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    }
    if (options->server_name) {
        args[count++] = text_arg(GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, options->server_name);
    }
    assert(count <= sizeof(args) / sizeof(args[0]));
    grpc_channel_credentials *credentials = credentials_new(options);
    if (!credentials) {
        return NULL;
    }
    autostr struct str target = {0};
    str_addf(&target, "dns:///%s", options->target);
    grpc_channel_args list = {count, args};
    grpc_channel *channel = grpc_channel_create(str_c(&target), credentials, &list);
    grpc_channel_credentials_release(credentials);
    return channel;
}

/* Threads that gRPC starts take the mask of who starts them: signals are the program's. */
static grpc_channel *begin(const struct transport_options *options)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    gpr_set_log_function(keep_quiet);
    grpc_init();
    grpc_channel *channel = channel_new(options);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return channel;
}

int transport_open(const struct transport_options *options, struct transport **ret, struct err *err)
{
    grpc_channel *channel = begin(options);
    if (!channel) {
        grpc_shutdown();
        return err_set(err, ERR_PERMANENT, "BadEndpoint",
                       "%s: gRPC takes neither the address nor the certificates", options->target);
    }
    struct transport *transport = mem_alloc(sizeof(*transport));
    transport->channel = channel;
    transport->name_space = mem_strdup(options->name_space ? options->name_space : "");
    rpc_cancel_init(&transport->closing);
    pthread_mutex_init(&transport->mutex, NULL);
    pthread_cond_init(&transport->is_idle, NULL);
    *ret = transport;
    return 0;
}

void transport_close(struct transport *transport)
{
    if (!transport) {
        return;
    }
    rpc_cancel(&transport->closing);
    pthread_mutex_lock(&transport->mutex);
    while (transport->call_count) {
        pthread_cond_wait(&transport->is_idle, &transport->mutex);
    }
    pthread_mutex_unlock(&transport->mutex);
    grpc_channel_destroy(transport->channel);
    grpc_shutdown();
    pthread_cond_destroy(&transport->is_idle);
    pthread_mutex_destroy(&transport->mutex);
    rpc_cancel_free(&transport->closing);
    free(transport->name_space);
    free(transport);
}

struct rpc_cancel *transport_closing(struct transport *transport)
{
    return &transport->closing;
}

void transport_reply_free(struct transport_reply *reply)
{
    str_free(&reply->body);
    str_free(&reply->message);
    str_free(&reply->details);
}

static void count_call(struct transport *transport, bool is_new)
{
    pthread_mutex_lock(&transport->mutex);
    transport->call_count += is_new ? 1 : -(size_t)1;
    if (!transport->call_count) {
        pthread_cond_broadcast(&transport->is_idle);
    }
    pthread_mutex_unlock(&transport->mutex);
}

/* --- one call ------------------------------------------------------------------------------- */

static void end_call(void *call)
{
    grpc_call_cancel(call, NULL);
}

static void add_slice(struct str *out, grpc_slice slice)
{
    str_addn(out, GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
}

static void read_body(grpc_byte_buffer *buffer, struct str *out)
{
    grpc_byte_buffer_reader reader;
    if (buffer && grpc_byte_buffer_reader_init(&reader, buffer)) {
        grpc_slice slice;
        str_reserve(out, grpc_byte_buffer_length(buffer));
        while (grpc_byte_buffer_reader_next(&reader, &slice)) {
            add_slice(out, slice);
            grpc_slice_unref(slice);
        }
        grpc_byte_buffer_reader_destroy(&reader);
    }
}

static size_t headers(const struct transport *transport, grpc_metadata list[3])
{
    const char *pairs[3][2] = {
        {"client-name", CLIENT_NAME},
        {"client-version", PACKAGE_VERSION},
        {"temporal-namespace", transport->name_space},
    };
    size_t count = transport->name_space[0] ? 3 : 2;
    for (size_t i = 0; i < count; i++) {
        memset(&list[i], 0, sizeof(list[i]));
        list[i].key = grpc_slice_from_static_string(pairs[i][0]);
        list[i].value = grpc_slice_from_static_string(pairs[i][1]);
    }
    return count;
}

/* Sends, and waits for the end. */
static void exchange(const struct transport *transport, grpc_call *call,
                     grpc_completion_queue *queue, const struct transport_request *request,
                     struct transport_reply *reply)
{
    grpc_metadata metadata[3];
    grpc_metadata_array initial, trailing;
    grpc_metadata_array_init(&initial);
    grpc_metadata_array_init(&trailing);
    grpc_byte_buffer *body = NULL;
    grpc_status_code status = GRPC_STATUS_UNKNOWN;
    grpc_slice message = grpc_empty_slice();
    grpc_slice bytes = grpc_slice_from_copied_buffer(request->bytes, request->len);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&bytes, 1);
    grpc_slice_unref(bytes);

    grpc_op ops[6] = {0};
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[0].flags = request->is_patient ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0;
    ops[0].data.send_initial_metadata.count = headers(transport, metadata);
    ops[0].data.send_initial_metadata.metadata = metadata;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = buffer;
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial;
    ops[4].op = GRPC_OP_RECV_MESSAGE;
    ops[4].data.recv_message.recv_message = &body;
    ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    ops[5].data.recv_status_on_client.trailing_metadata = &trailing;
    ops[5].data.recv_status_on_client.status = &status;
    ops[5].data.recv_status_on_client.status_details = &message;

    grpc_call_error error = grpc_call_start_batch(call, ops, ARRAY_LEN(ops), call, NULL);
    if (error == GRPC_CALL_OK) {
        grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        reply->code = (int)status;
    } else { /* nothing was sent: a namespace that is no header value */
        reply->code = CODE_INVALID_ARGUMENT;
        str_add(&reply->message, grpc_call_error_to_string(error));
    }
    if (reply->code == CODE_OK && body) {
        read_body(body, &reply->body);
    } else if (reply->code == CODE_OK) {
        reply->code = CODE_INTERNAL;
        str_add(&reply->message, "an answer without a message");
    }
    add_slice(&reply->message, message);
    for (size_t i = 0; i < trailing.count; i++) {
        if (grpc_slice_str_cmp(trailing.metadata[i].key, "grpc-status-details-bin") == 0) {
            str_reset(&reply->details);
            add_slice(&reply->details, trailing.metadata[i].value);
        }
    }
    grpc_slice_unref(message);
    grpc_byte_buffer_destroy(buffer);
    if (body) {
        grpc_byte_buffer_destroy(body);
    }
    grpc_metadata_array_destroy(&initial);
    grpc_metadata_array_destroy(&trailing);
}

static grpc_call *call_new(const struct transport *transport, grpc_completion_queue *queue,
                           const struct transport_request *request)
{
    autostr struct str path = {0};
    str_addf(&path, SERVICE "%s", request->method);
    gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                         gpr_time_from_millis(request->timeout_ms, GPR_TIMESPAN));
    grpc_slice slice = grpc_slice_from_copied_string(str_c(&path));
    grpc_call *call = grpc_channel_create_call(transport->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                               queue, slice, NULL, deadline, NULL);
    grpc_slice_unref(slice);
    return call;
}

void transport_call(struct transport *transport, const struct transport_request *request,
                    struct rpc_cancel *cancel, struct transport_reply *reply)
{
    count_call(transport, true);
    grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
    grpc_call *call = call_new(transport, queue, request);
    struct rpc_flight own = {.end = end_call, .call = call};
    struct rpc_flight theirs = own;
    reply->code = CODE_CANCELLED;
    if (rpc_cancel_watch(&transport->closing, &own)) {
        if (!cancel || rpc_cancel_watch(cancel, &theirs)) {
            exchange(transport, call, queue, request, reply);
            if (cancel) {
                rpc_cancel_leave(cancel, &theirs);
            }
        }
        rpc_cancel_leave(&transport->closing, &own);
    }
    grpc_call_unref(call);
    grpc_completion_queue_shutdown(queue);
    while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(queue);
    count_call(transport, false);
}
