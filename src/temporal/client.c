/*
 * client.c - what the client calls share: ids, codes, waiting with a limit, looking at a run's
 * closing event. See client.h.
 *
 * Owns: how long a server that does not answer is waited for. Must not: belong to one call.
 * Tests: tests/temporal/test_client.c
 */
#include "temporal/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "history/failure.h"
#include "temporal/remote.h"

#define ID_BYTES_MAX 1000
#define LOST_NS (5 * 60 * NS_PER_S) /* a wait goes on while a server is restarted or moved */
#define UNREADY_MS 200              /* before a run that cannot be asked yet is asked again */
#define BACK_EVENTS 50              /* of a page when a history is read from its end */

int client_refuse(struct err *err, int code, const char *fmt, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(err, ERR_PERMANENT, "Refused", "%s", text);
    return code;
}

int client_bad(struct err *err, const char *what)
{
    int code = value_code(err);

    err_wrap(err, "%s", what);
    return code;
}

int client_target(struct arena *arena, const char *id, Pb__WorkflowExecution **ret, struct err *err)
{
    *ret = value_execution(arena, id ? id : "");
    size_t len = strnlen((*ret)->workflow_id, ID_BYTES_MAX + 1);
    if (len == 0 || len > ID_BYTES_MAX || !utf8_valid((*ret)->workflow_id, len)) {
        return client_refuse(err, DUR_NOT_FOUND, "no run has the id %.100s", id ? id : "");
    }
    return DUR_OK;
}

int client_call(struct remote *remote, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *response_type, const char *which, const char *id,
                ProtobufCMessage **ret, struct rpc_failure *failure, struct err *err)
{
    autorpcfailure struct rpc_failure own = {0};
    struct rpc_failure *f = failure ? failure : &own;
    int rc = rpc_send(remote, &(struct rpc){.method = method}, request, response_type, NULL, ret, f,
                      err);

    if (rc == DUR_NOT_FOUND && f->detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return client_refuse(err, DUR_NOT_FOUND, "no %s has the id %s", which, id);
    }
    return rc;
}

/* --- looking ---------------------------------------------------------------------------------- */

static void fill_look(struct remote *remote, const Pb__WorkflowExecution *run,
                      Pb__DescribeWorkflowExecutionRequest *request)
{
    pb__describe_workflow_execution_request__init(request);
    request->namespace_ = remote->name_space;
    request->execution = (Pb__WorkflowExecution *)(uintptr_t)run;
}

static int take_look(struct remote *remote, ProtobufCMessage *answer,
                     Pb__DescribeWorkflowExecutionResponse **ret, struct err *err)
{
    *ret = (Pb__DescribeWorkflowExecutionResponse *)answer;
    if (!(*ret)->workflow_execution_info || !(*ret)->workflow_execution_info->execution) {
        client_look_free(ret);
        return client_refuse(err, DUR_IO, "%s: DescribeWorkflowExecution: the answer is empty",
                             remote->target);
    }
    return DUR_OK;
}

int client_look(struct remote *remote, const char *id, const Pb__WorkflowExecution *run,
                Pb__DescribeWorkflowExecutionResponse **ret, struct err *err)
{
    Pb__DescribeWorkflowExecutionRequest request;
    ProtobufCMessage *answer = NULL;

    fill_look(remote, run, &request);
    int rc = client_call(remote, "DescribeWorkflowExecution", &request.base,
                         &pb__describe_workflow_execution_response__descriptor, "run", id, &answer,
                         NULL, err);
    return rc == DUR_OK ? take_look(remote, answer, ret, err) : rc;
}

void client_look_free(Pb__DescribeWorkflowExecutionResponse **answer)
{
    ProtobufCMessage *message = *answer ? &(*answer)->base : NULL;

    rpc_free(&message);
    *answer = NULL;
}

bool client_is_open(const Pb__DescribeWorkflowExecutionResponse *answer)
{
    int status = answer->workflow_execution_info->status;

    return status == DUR_RUNNING || status == DUR_PAUSED;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void client_wait_begin(struct client_wait *wait, struct remote *remote, int64_t timeout_ms)
{
    int64_t ns;

    *wait = (struct client_wait){.remote = remote, .until_ns = INT64_MAX};
    if (timeout_ms >= 0 && !__builtin_mul_overflow(timeout_ms, NS_PER_MS, &ns)) {
        wait->until_ns = time_later(clock_mono_ns(), ns);
    }
}

bool client_wait_is_over(const struct client_wait *wait)
{
    return wait->until_ns <= clock_mono_ns();
}

/* The server did not answer: after a while, 1. DUR_TIMED_OUT when the limit passes first, rc when
 * it is to be given up. */
static int wait_lost(struct client_wait *wait, const struct rpc *rpc,
                     const struct rpc_failure *failure, int rc)
{
    int64_t now_ns = clock_mono_ns();
    uint64_t random = 0;

    rng_bytes(&random, sizeof(random));
    int64_t pause_ms = rpc_retry_ms(rpc, failure->code, failure->message, ++wait->tries, random);
    wait->lost_ns = wait->lost_ns ? wait->lost_ns : now_ns;
    if (pause_ms < 0 || now_ns - wait->lost_ns > LOST_NS) {
        return rc;
    }
    int64_t left_ns = wait->until_ns - now_ns;
    if (left_ns <= 0) {
        return DUR_TIMED_OUT;
    }
    int64_t left_ms = left_ns / NS_PER_MS + 1;
    if (rpc_cancel_wait(transport_closing(wait->remote->transport),
                        pause_ms < left_ms ? pause_ms : left_ms)) {
        return DUR_CANCELLED;
    }
    return 1;
}

/* No worker is there, or the run's tasks fail: after a moment, 1. */
static int wait_ready(struct client_wait *wait)
{
    if (client_wait_is_over(wait)) {
        return DUR_TIMED_OUT;
    }
    return rpc_cancel_wait(transport_closing(wait->remote->transport), UNREADY_MS) ? DUR_CANCELLED
                                                                                   : 1;
}

int client_poll(struct client_wait *wait, const char *method, int64_t most_ms,
                const ProtobufCMessage *request, const ProtobufCMessageDescriptor *response_type,
                ProtobufCMessage **ret, struct rpc_failure *failure, struct err *err)
{
    int64_t left_ns = wait->until_ns - clock_mono_ns();
    struct rpc rpc = {.method = method, .timeout_ms = most_ms, .kind = RPC_ONCE};

    rpc_failure_free(failure);
    if (left_ns < most_ms * NS_PER_MS) {
        rpc.timeout_ms = left_ns > NS_PER_MS ? left_ns / NS_PER_MS : 1;
    }
    int rc = rpc_send(wait->remote, &rpc, request, response_type, NULL, ret, failure, err);
    if (rc == DUR_OK) {
        wait->lost_ns = 0;
        wait->tries = 0;
        return 0;
    }
    if (failure->code == CODE_DEADLINE_EXCEEDED) { /* a poll that nothing came to */
        return client_wait_is_over(wait) ? DUR_TIMED_OUT : 1;
    }
    bool is_unready = failure->detail == DETAIL_NOT_READY ||
                      (failure->code == CODE_FAILED_PRECONDITION && failure->detail == DETAIL_NONE);
    if (is_unready) {
        return wait_ready(wait);
    }
    if (rc == DUR_CANCELLED) {
        return rc;
    }
    rpc.kind = RPC_POLL;
    return wait_lost(wait, &rpc, failure, rc);
}

int client_wait_look(struct client_wait *wait, const char *id, const Pb__WorkflowExecution *run,
                     Pb__DescribeWorkflowExecutionResponse **ret, struct err *err)
{
    Pb__DescribeWorkflowExecutionRequest request;

    fill_look(wait->remote, run, &request);
    for (;;) {
        autorpcfailure struct rpc_failure failure = {0};
        ProtobufCMessage *answer = NULL;
        int rc = client_poll(wait, "DescribeWorkflowExecution", RPC_TIMEOUT_MS, &request.base,
                             &pb__describe_workflow_execution_response__descriptor, &answer,
                             &failure, err);
        if (rc == DUR_OK) {
            return take_look(wait->remote, answer, ret, err);
        }
        if (rc == DUR_NOT_FOUND && failure.detail != DETAIL_NAMESPACE_NOT_FOUND) {
            return client_refuse(err, rc, "no run has the id %s", id);
        }
        if (rc <= 0) {
            wait->lost_ns = wait->lost_ns ? wait->lost_ns : clock_mono_ns();
            return rc;
        }
    }
}

/* --- the event that closed a run -------------------------------------------------------------- */

/* The last event of the page, copied into arena with all of it; NULL: the page is empty. */
static int last_event(struct remote *remote, struct arena *arena,
                      const Pb__GetWorkflowExecutionHistoryResponse *page, const struct event **ret,
                      struct err *err)
{
    struct history history = {0};

    *ret = NULL;
    if (page->history.len > 0) {
        if (value_show_history(remote, arena, page->history, &history, err) < 0) {
            return client_bad(err, "the run's history");
        }
    } else if (page->n_raw_history > 0) {
        if (value_show_history(remote, arena, page->raw_history[page->n_raw_history - 1]->data,
                               &history, err) < 0) {
            return client_bad(err, "the run's history");
        }
    }
    *ret = history.count > 0 ? &history.items[history.count - 1] : NULL;
    return DUR_OK;
}

int client_page(struct remote *remote, const char *id, const Pb__WorkflowExecution *run,
                const struct client_part *part, ProtobufCMessage **ret, struct err *err)
{
    Pb__GetWorkflowExecutionHistoryRequest request;

    pb__get_workflow_execution_history_request__init(&request);
    request.namespace_ = remote->name_space;
    request.execution = (Pb__WorkflowExecution *)(uintptr_t)run;
    request.history_event_filter_type = part->filter;
    request.maximum_page_size = part->most;
    request.skip_archival = true;
    return client_call(remote, "GetWorkflowExecutionHistory", &request.base,
                       &pb__get_workflow_execution_history_response__descriptor, "run", id, ret,
                       NULL, err);
}

int client_closing(struct remote *remote, struct arena *arena, const char *id,
                   const Pb__WorkflowExecution *run, const struct event **ret, struct err *err)
{
    autopb ProtobufCMessage *answer = NULL;
    int rc = client_page(remote, id, run, &(struct client_part){.filter = 2}, &answer, err);

    if (rc != DUR_OK) {
        return rc;
    }
    rc = last_event(remote, arena, (Pb__GetWorkflowExecutionHistoryResponse *)answer, ret, err);
    return rc != DUR_OK ? rc : *ret && event_is_close((*ret)->type) ? DUR_OK : 1;
}

const char *client_next_run(const struct event *closing)
{
    const char *next = NULL;

    if (closing->type == EVENT_WORKFLOW_EXECUTION_COMPLETED) {
        next = ev_workflow_execution_completed(closing)->new_execution_run_id;
    } else if (closing->type == EVENT_WORKFLOW_EXECUTION_FAILED) {
        next = ev_workflow_execution_failed(closing)->new_execution_run_id;
    } else if (closing->type == EVENT_WORKFLOW_EXECUTION_TIMED_OUT) {
        next = ev_workflow_execution_timed_out(closing)->new_execution_run_id;
    } else if (closing->type == EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW) {
        next = ev_workflow_execution_continued_as_new(closing)->new_execution_run_id;
    }
    return next && *next ? next : NULL;
}

const char *client_result_of(struct arena *arena, const struct event *closing)
{
    if (closing->type != EVENT_WORKFLOW_EXECUTION_COMPLETED) {
        return NULL;
    }
    const char *text = value_text(arena, ev_workflow_execution_completed(closing)->result);
    return text ? text : "null";
}

struct failure *client_failure_of(struct arena *arena, const struct event *closing)
{
    if (closing->type == EVENT_WORKFLOW_EXECUTION_FAILED) {
        struct failure *failure = ev_workflow_execution_failed(closing)->failure;
        return failure ? failure : arena_new_of(arena, struct failure);
    }
    if (closing->type == EVENT_WORKFLOW_EXECUTION_CANCELED) {
        return failure_canceled(arena, ev_workflow_execution_canceled(closing)->details);
    }
    if (closing->type == EVENT_WORKFLOW_EXECUTION_TERMINATED) {
        const struct ev_workflow_execution_terminated *t =
            ev_workflow_execution_terminated(closing);
        return failure_terminated(arena, t->reason, t->identity);
    }
    if (closing->type == EVENT_WORKFLOW_EXECUTION_TIMED_OUT) {
        return failure_timeout(arena, TIMEOUT_TYPE_START_TO_CLOSE, "workflow run timeout", NULL,
                               NULL);
    }
    return NULL;
}

/* --- looking back ------------------------------------------------------------------------------
 */

int client_look_back(struct remote *remote, struct arena *arena, const char *id,
                     const Pb__WorkflowExecution *run, bool (*wanted)(const struct event *event),
                     const struct event **ret, struct err *err)
{
    Pb__GetWorkflowExecutionHistoryReverseRequest request;
    struct str token cleanup_with(str_free) = {0};

    *ret = NULL;
    pb__get_workflow_execution_history_reverse_request__init(&request);
    request.namespace_ = remote->name_space;
    request.execution = (Pb__WorkflowExecution *)(uintptr_t)run;
    request.maximum_page_size = BACK_EVENTS;
    do {
        autopb ProtobufCMessage *answer = NULL;
        struct history history;
        int rc = client_call(remote, "GetWorkflowExecutionHistoryReverse", &request.base,
                             &pb__get_workflow_execution_history_reverse_response__descriptor,
                             "run", id, &answer, NULL, err);
        if (rc != DUR_OK) {
            return rc;
        }
        const Pb__GetWorkflowExecutionHistoryReverseResponse *page =
            (Pb__GetWorkflowExecutionHistoryReverseResponse *)answer;
        if (value_show_history(remote, arena, page->history, &history, err) < 0) {
            return client_bad(err, "the run's history");
        }
        for (size_t i = history.count; i > 0; i--) { /* read back in the order of ids */
            if (wanted(&history.items[i - 1])) {
                *ret = &history.items[i - 1];
                return DUR_OK;
            }
        }
        str_reset(&token);
        str_addn(&token, page->next_page_token.data, page->next_page_token.len);
        request.next_page_token = (ProtobufCBinaryData){token.len, (uint8_t *)token.ptr};
    } while (token.len > 0);
    return 1;
}
