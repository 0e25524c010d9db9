/*
 * fake_front.c - a gRPC server that answers as it is told.
 *
 * Owns: the server's side of gRPC's C core, in tests alone: one call at a time, in one thread.
 */
#include "tests/lib/fake_front.h"

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"

struct front {
    grpc_server *server;
    grpc_completion_queue *queue;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the rest */
    const struct front_answer *answers;
    size_t count;
    int port, calls;
    bool was_cancelled;
    struct str seen;
};

static void note(struct front *front, const grpc_call_details *details,
                 const grpc_metadata_array *metadata)
{
    pthread_mutex_lock(&front->mutex);
    front->calls++;
    front->was_cancelled = false;
    str_reset(&front->seen);
    str_addf(&front->seen, "path=%.*s\n", (int)GRPC_SLICE_LENGTH(details->method),
             (const char *)GRPC_SLICE_START_PTR(details->method));
    for (size_t i = 0; i < metadata->count; i++) {
        grpc_slice key = metadata->metadata[i].key;
        grpc_slice value = metadata->metadata[i].value;
        str_addf(&front->seen, "%.*s=%.*s\n", (int)GRPC_SLICE_LENGTH(key),
                 (const char *)GRPC_SLICE_START_PTR(key), (int)GRPC_SLICE_LENGTH(value),
                 (const char *)GRPC_SLICE_START_PTR(value));
    }
    pthread_mutex_unlock(&front->mutex);
}

/* One batch, waited for. */
static void batch(struct front *front, grpc_call *call, const grpc_op *ops, size_t count)
{
    if (grpc_call_start_batch(call, ops, count, call, NULL) == GRPC_CALL_OK) {
        grpc_completion_queue_next(front->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    }
}

static void hang(struct front *front, grpc_call *call)
{
    int cancelled = 0;
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    op.data.recv_close_on_server.cancelled = &cancelled;
    batch(front, call, &op, 1);
    pthread_mutex_lock(&front->mutex);
    front->was_cancelled = cancelled;
    pthread_mutex_unlock(&front->mutex);
}

static void answer(struct front *front, grpc_call *call, const struct front_answer *a)
{
    grpc_metadata details = {.key = grpc_slice_from_static_string("grpc-status-details-bin"),
                             .value = grpc_slice_from_static_buffer(a->details, a->details_len)};
    grpc_slice message = grpc_slice_from_static_string(a->message ? a->message : "");
    grpc_slice slice = grpc_slice_from_static_buffer(a->body, a->body_len);
    grpc_byte_buffer *body = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_byte_buffer *request = NULL;
    int cancelled = 0;
    grpc_op ops[5] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                      {.op = GRPC_OP_RECV_MESSAGE},
                      {.op = GRPC_OP_SEND_STATUS_FROM_SERVER},
                      {.op = GRPC_OP_RECV_CLOSE_ON_SERVER},
                      {.op = GRPC_OP_SEND_MESSAGE}};
    ops[1].data.recv_message.recv_message = &request;
    ops[2].data.send_status_from_server.status = (grpc_status_code)a->code;
    ops[2].data.send_status_from_server.status_details = &message;
    ops[2].data.send_status_from_server.trailing_metadata = &details;
    ops[2].data.send_status_from_server.trailing_metadata_count = a->details ? 1 : 0;
    ops[3].data.recv_close_on_server.cancelled = &cancelled;
    ops[4].data.send_message.send_message = body;
    batch(front, call, ops, a->code ? 4 : 5);
    grpc_byte_buffer_destroy(body);
    if (request) {
        grpc_byte_buffer_destroy(request);
    }
}

static void *work(void *user)
{
    struct front *front = user;
    for (;;) {
        grpc_call *call = NULL;
        grpc_call_details details;
        grpc_metadata_array metadata;
        grpc_call_details_init(&details);
        grpc_metadata_array_init(&metadata);
        grpc_server_request_call(front->server, &call, &details, &metadata, front->queue,
                                 front->queue, front);
        grpc_event event =
            grpc_completion_queue_next(front->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        bool is_call = event.success && call;
        if (is_call) {
            note(front, &details, &metadata);
            pthread_mutex_lock(&front->mutex);
            const struct front_answer *now = front->answers;
            if (front->count > 1) {
                front->answers++;
                front->count--;
            }
            pthread_mutex_unlock(&front->mutex);
            if (now->is_silent) {
                hang(front, call);
            } else {
                answer(front, call, now);
            }
            grpc_call_unref(call);
        }
        grpc_call_details_destroy(&details);
        grpc_metadata_array_destroy(&metadata);
        if (!is_call) {
            return NULL;
        }
    }
}

static struct front *start(const struct front_answer *answers, size_t count,
                           grpc_server_credentials *credentials)
{
    struct front *front = mem_alloc(sizeof(*front));
    front->answers = answers;
    front->count = count;
    pthread_mutex_init(&front->mutex, NULL);
    front->queue = grpc_completion_queue_create_for_next(NULL);
    front->server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(front->server, front->queue, NULL);
    front->port = grpc_server_add_http2_port(front->server, "127.0.0.1:0", credentials);
    grpc_server_credentials_release(credentials);
    grpc_server_start(front->server);
    pthread_create(&front->thread, NULL, work, front);
    return front;
}

struct front *front_start(const struct front_answer *answers, size_t count)
{
    grpc_init();
    return start(answers, count, grpc_insecure_server_credentials_create());
}

struct front *front_start_tls(const struct front_answer *answers, size_t count, const char *cert,
                              const char *key)
{
    grpc_ssl_pem_key_cert_pair pair = {key, cert};
    grpc_init();
    return start(answers, count, grpc_ssl_server_credentials_create(NULL, &pair, 1, 0, NULL));
}

int front_port(const struct front *front)
{
    return front->port;
}

void front_stop(struct front *front)
{
    grpc_completion_queue *end = grpc_completion_queue_create_for_next(NULL);
    grpc_server_shutdown_and_notify(front->server, end, front);
    grpc_server_cancel_all_calls(front->server);
    grpc_completion_queue_next(end, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    pthread_join(front->thread, NULL);
    grpc_completion_queue *queues[] = {end, front->queue};
    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        grpc_completion_queue_shutdown(queues[i]);
        while (
            grpc_completion_queue_next(queues[i], gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
            GRPC_QUEUE_SHUTDOWN) {
        }
    }
    grpc_server_destroy(front->server);
    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        grpc_completion_queue_destroy(queues[i]);
    }
    grpc_shutdown();
    pthread_mutex_destroy(&front->mutex);
    str_free(&front->seen);
    free(front);
}

int front_calls(struct front *front)
{
    pthread_mutex_lock(&front->mutex);
    int calls = front->calls;
    pthread_mutex_unlock(&front->mutex);
    return calls;
}

void front_seen(struct front *front, struct str *out)
{
    pthread_mutex_lock(&front->mutex);
    str_add(out, str_c(&front->seen));
    pthread_mutex_unlock(&front->mutex);
}

bool front_was_cancelled(struct front *front)
{
    pthread_mutex_lock(&front->mutex);
    bool was = front->was_cancelled;
    pthread_mutex_unlock(&front->mutex);
    return was;
}
