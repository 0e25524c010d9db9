/*
 * report.c - see report.h. No state.
 * Tests: tests/temporal/t8300-activities.sh
 */
#include "temporal/report.h"

#include "temporal/remote.h"

/* What every request of this file has: by token, or by id. */
#define FILL_TOKEN(request)                                                                        \
    do {                                                                                           \
        (request).task_token = target->task_token;                                                 \
        (request).identity = remote->identity;                                                     \
        (request).namespace_ = remote->name_space;                                                 \
    } while (0)
#define FILL_ID(request)                                                                           \
    do {                                                                                           \
        (request).workflow_id = value_chars(target->workflow_id);                                  \
        (request).run_id = value_chars(target->run_id);                                            \
        (request).activity_id = value_chars(target->activity_id);                                  \
        (request).identity = remote->identity;                                                     \
        (request).namespace_ = remote->name_space;                                                 \
    } while (0)

static int tell(struct remote *remote, const char *method, const struct report_way *way,
                const ProtobufCMessage *request, struct err *err)
{
    struct rpc rpc = {.method = method, .timeout_ms = way->timeout_ms, .kind = way->kind};
    return rpc_send(remote, &rpc, request, NULL, way->cancel, NULL, NULL, err);
}

static int completed(struct remote *remote, const struct report_target *target,
                     const struct report_way *way, ProtobufCBinaryData result, struct err *err)
{
    if (target->task_token.len > 0) {
        Pb__RespondActivityTaskCompletedRequest request;
        pb__respond_activity_task_completed_request__init(&request);
        FILL_TOKEN(request);
        request.result = result;
        return tell(remote, "RespondActivityTaskCompleted", way, &request.base, err);
    }
    Pb__RespondActivityTaskCompletedByIdRequest request;
    pb__respond_activity_task_completed_by_id_request__init(&request);
    FILL_ID(request);
    request.result = result;
    return tell(remote, "RespondActivityTaskCompletedById", way, &request.base, err);
}

static int failed(struct remote *remote, const struct report_target *target,
                  const struct report_way *way, ProtobufCBinaryData failure,
                  ProtobufCBinaryData details, struct err *err)
{
    if (target->task_token.len > 0) {
        Pb__RespondActivityTaskFailedRequest request;
        pb__respond_activity_task_failed_request__init(&request);
        FILL_TOKEN(request);
        request.failure = failure;
        request.last_heartbeat_details = details;
        return tell(remote, "RespondActivityTaskFailed", way, &request.base, err);
    }
    Pb__RespondActivityTaskFailedByIdRequest request;
    pb__respond_activity_task_failed_by_id_request__init(&request);
    FILL_ID(request);
    request.failure = failure;
    request.last_heartbeat_details = details;
    return tell(remote, "RespondActivityTaskFailedById", way, &request.base, err);
}

static int canceled(struct remote *remote, const struct report_target *target,
                    const struct report_way *way, struct err *err)
{
    if (target->task_token.len > 0) {
        Pb__RespondActivityTaskCanceledRequest request;
        pb__respond_activity_task_canceled_request__init(&request);
        FILL_TOKEN(request);
        return tell(remote, "RespondActivityTaskCanceled", way, &request.base, err);
    }
    Pb__RespondActivityTaskCanceledByIdRequest request;
    pb__respond_activity_task_canceled_by_id_request__init(&request);
    FILL_ID(request);
    return tell(remote, "RespondActivityTaskCanceledById", way, &request.base, err);
}

int report_answer(struct remote *remote, const struct report_target *target,
                  const struct report_way *way, const struct answer *answer, const char *details,
                  struct err *err)
{
    autoarena struct arena *arena = arena_new();
    switch (answer->kind) {
    case ANSWER_COMPLETED:
        return completed(remote, target, way, value_json(remote, arena, answer->result), err);
    case ANSWER_FAILED:
        return failed(remote, target, way, value_failure(remote, arena, answer->failure),
                      value_json(remote, arena, details), err);
    case ANSWER_CANCELED:
        return canceled(remote, target, way, err);
    default:
        return DUR_OK;
    }
}

static int ask(struct remote *remote, const char *method, const struct report_way *way,
               const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
               ProtobufCMessage **ret, struct rpc_failure *ret_failure, struct err *err)
{
    struct rpc rpc = {.method = method, .timeout_ms = way->timeout_ms, .kind = way->kind};
    return rpc_send(remote, &rpc, request, type, way->cancel, ret, ret_failure, err);
}

/* Both calls have the same answer. */
static int take_word(int rc, const ProtobufCMessage *answer, struct server_word *ret)
{
    if (rc == DUR_OK) {
        const Pb__RecordActivityTaskHeartbeatResponse *said = (const void *)answer;
        ret->cancel_requested = said->cancel_requested;
        ret->is_paused = said->activity_paused;
        ret->is_reset = said->activity_reset;
    }
    return rc;
}

static int beat_by_id(struct remote *remote, const struct report_target *target,
                      const struct report_way *way, ProtobufCBinaryData details,
                      struct server_word *ret, struct rpc_failure *ret_failure, struct err *err)
{
    autopb ProtobufCMessage *answer = NULL;
    Pb__RecordActivityTaskHeartbeatByIdRequest request;
    pb__record_activity_task_heartbeat_by_id_request__init(&request);
    FILL_ID(request);
    request.details = details;
    int rc =
        ask(remote, "RecordActivityTaskHeartbeatById", way, &request.base,
            &pb__record_activity_task_heartbeat_response__descriptor, &answer, ret_failure, err);
    return take_word(rc, answer, ret);
}

int report_beat_raw(struct remote *remote, const struct report_target *target,
                    const struct report_way *way, ProtobufCBinaryData details,
                    struct server_word *ret, struct rpc_failure *ret_failure, struct err *err)
{
    if (target->task_token.len == 0) {
        return beat_by_id(remote, target, way, details, ret, ret_failure, err);
    }
    autopb ProtobufCMessage *answer = NULL;
    Pb__RecordActivityTaskHeartbeatRequest request;
    pb__record_activity_task_heartbeat_request__init(&request);
    FILL_TOKEN(request);
    request.details = details;
    int rc =
        ask(remote, "RecordActivityTaskHeartbeat", way, &request.base,
            &pb__record_activity_task_heartbeat_response__descriptor, &answer, ret_failure, err);
    return take_word(rc, answer, ret);
}

int report_beat(struct remote *remote, const struct report_target *target,
                const struct report_way *way, const char *details, struct server_word *ret,
                struct rpc_failure *ret_failure, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    return report_beat_raw(remote, target, way, value_json(remote, arena, details), ret,
                           ret_failure, err);
}
