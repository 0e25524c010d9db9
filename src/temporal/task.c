/*
 * task.c - see task.h. Owns: the way of a task's bytes from the server to events, and back.
 * Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/task.h"

#include <string.h>

#include "base/clock.h"
#include "durable.h"
#include "history/failure.h"
#include "temporal/carry.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/value.h"

#define TASK_TIMEOUT_NS                                                                            \
    (10 * NS_PER_S)    /* when its SCHEDULED does not say: the server's default                    \
                        */
#define QUERY_FAILED 2 /* QueryResultType */

struct task *task_new(ProtobufCMessage *message, const Pb__PollWorkflowTaskQueueResponse *from)
{
    if (!from || from->task_token.len == 0 || !from->workflow_execution || !from->workflow_type) {
        rpc_free(&message);
        return NULL;
    }
    struct arena *arena = arena_new();
    struct task *task = arena_new_of(arena, struct task);
    task->arena = arena;
    task->message = message;
    task->from = from;
    task->expires_ns = time_later(clock_mono_ns(), TASK_TIMEOUT_NS);
    return task;
}

struct task *task_free(struct task *task)
{
    while (task) {
        struct task *following = task->following;
        rpc_free(&task->message);
        arena_free(task->arena);
        task = following;
    }
    return NULL;
}

bool task_is_query(const struct task *task)
{
    return task->from->query != NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void add_events(struct arena *arena, struct history *to, const struct history *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (to->count == to->cap) {
            history_grow(to, arena);
        }
        to->items[to->count++] = page->items[i];
    }
}

static int add_bytes(struct remote *remote, struct arena *arena, struct history *to,
                     ProtobufCBinaryData bytes, struct err *err)
{
    struct history page;

    if (value_read_history(remote, arena, bytes, &page, err) < 0) {
        return value_code(err);
    }
    add_events(arena, to, &page);
    return DUR_OK;
}

static int add_page(struct remote *remote, struct arena *arena, struct history *to,
                    const Pb__GetWorkflowExecutionHistoryResponse *page, struct err *err)
{
    int rc = add_bytes(remote, arena, to, page->history, err);

    for (size_t i = 0; i < page->n_raw_history && rc == DUR_OK; i++) {
        rc = add_bytes(remote, arena, to, page->raw_history[i]->data, err);
    }
    return rc;
}

/* The pages that a token leads to; no token: from the first event on. Ends behind event `last` (0:
 * the end). */
static int add_pages(struct remote *remote, struct task *task, ProtobufCBinaryData token,
                     int64_t last, struct history *to, struct rpc_cancel *cancel, struct err *err)
{
    Pb__GetWorkflowExecutionHistoryRequest request;
    int rc = DUR_OK;

    pb__get_workflow_execution_history_request__init(&request);
    request.namespace_ = remote->name_space;
    request.execution = task->from->workflow_execution;
    request.next_page_token = token;
    do {
        autopb ProtobufCMessage *answer = NULL;
        rc = rpc_send(remote, &(struct rpc){.method = "GetWorkflowExecutionHistory"}, &request.base,
                      &pb__get_workflow_execution_history_response__descriptor, cancel, &answer,
                      NULL, err);
        if (rc != DUR_OK) {
            return rc;
        }
        const Pb__GetWorkflowExecutionHistoryResponse *page =
            (const Pb__GetWorkflowExecutionHistoryResponse *)answer;
        rc = add_page(remote, task->arena, to, page, err);
        request.next_page_token.len = page->next_page_token.len;
        request.next_page_token.data =
            arena_dup(task->arena, page->next_page_token.data, page->next_page_token.len);
    } while (rc == DUR_OK && request.next_page_token.len > 0 &&
             (last == 0 || to->count == 0 || to->items[to->count - 1].id < last));
    return rc;
}

/* Since when it is ours, and for how long. */
static void note_timeout(struct task *task)
{
    for (size_t i = task->history.count; i-- > 0;) {
        const struct event *event = &task->history.items[i];
        if (event->type == EVENT_WORKFLOW_TASK_SCHEDULED) {
            int64_t ns = ev_workflow_task_scheduled(event)->start_to_close_timeout;
            task->expires_ns = time_later(clock_mono_ns(), ns > 0 ? ns : TASK_TIMEOUT_NS);
            return;
        }
    }
}

void task_read(struct remote *remote, struct task *task, struct rpc_cancel *cancel)
{
    const Pb__PollWorkflowTaskQueueResponse *from = task->from;

    task->fault = add_bytes(remote, task->arena, &task->history, from->history, &task->err);
    if (task->fault == DUR_OK && from->next_page_token.len > 0) {
        task->fault = add_pages(remote, task, from->next_page_token, from->started_event_id,
                                &task->history, cancel, &task->err);
    }
    task->is_whole = task->history.count > 0 && task->history.items[0].id == 1;
    note_timeout(task);
}

void task_read_whole(struct remote *remote, struct task *task, struct rpc_cancel *cancel)
{
    struct history part = task->history;
    struct history whole = {0};
    int64_t first = part.count > 0 ? part.items[0].id : 0;

    task->fault = add_pages(remote, task, (ProtobufCBinaryData){0}, first > 0 ? first - 1 : 0,
                            &whole, cancel, &task->err);
    while (first > 0 && whole.count > 0 && whole.items[whole.count - 1].id >= first) {
        whole.count--; /* what came with the task is as the task sees it */
    }
    add_events(task->arena, &whole, &part);
    task->history = whole;
    task->is_whole = true;
}

/* --- answering -------------------------------------------------------------------------------- */

void task_set_failed(struct remote *remote, struct task *task, int cause, const char *message)
{
    struct failure *failure =
        failure_application(task->arena, "WorkflowTaskFailed", message, false, NULL);

    task->reply = REPLY_FAILED;
    pb__respond_workflow_task_failed_request__init(&task->failed);
    task->failed.task_token = task->from->task_token;
    task->failed.cause = cause;
    task->failed.failure = value_failure(remote, task->arena, failure);
    task->failed.identity = remote->identity;
    task->failed.namespace_ = remote->name_space;
}

/* The next task of the run may ride on the answer. */
static void take_following(struct remote *remote, struct task *task, ProtobufCMessage *answer,
                           struct rpc_cancel *cancel)
{
    const Pb__RespondWorkflowTaskCompletedResponse *response =
        (const Pb__RespondWorkflowTaskCompletedResponse *)answer;

    task->following = task_new(answer, response->workflow_task);
    if (task->following) {
        task_read(remote, task->following, cancel);
    }
}

static int send_one(struct remote *remote, struct task *task, struct rpc_cancel *cancel)
{
    static const struct {
        const char *method;
        const ProtobufCMessageDescriptor *response;
    } calls[] = {
        [REPLY_COMPLETED] = {"RespondWorkflowTaskCompleted",
                             &pb__respond_workflow_task_completed_response__descriptor},
        [REPLY_FAILED] = {"RespondWorkflowTaskFailed",
                          &pb__respond_workflow_task_failed_response__descriptor},
        [REPLY_QUERY] = {"RespondQueryTaskCompleted",
                         &pb__respond_query_task_completed_response__descriptor},
    };
    ProtobufCMessage *answer = NULL;
    int64_t left_ms = (task->expires_ns - clock_mono_ns()) / NS_PER_MS;
    struct rpc rpc = {.method = calls[task->reply].method,
                      .timeout_ms = left_ms > 0 ? left_ms : 1,
                      .kind = RPC_REPLY};
    const ProtobufCMessage *request = task->reply == REPLY_COMPLETED ? &task->completed.base
                                      : task->reply == REPLY_FAILED  ? &task->failed.base
                                                                     : &task->query.base;
    int rc = rpc_send(remote, &rpc, request, calls[task->reply].response, cancel, &answer, NULL,
                      &task->err);
    if (rc == DUR_OK && task->reply == REPLY_COMPLETED) {
        take_following(remote, task, answer, cancel);
        carry_signals(remote, task, cancel);
    } else {
        rpc_free(&answer);
    }
    return rc;
}

/* Not GRPC_MESSAGE_TOO_LARGE: of that a server terminates the run. */
static const char *too_large(const struct task *task)
{
    return arena_printf(task->arena,
                        "its %zu commands have %zu bytes together, more than the server takes at "
                        "once (4 MiB): keep large data elsewhere, or let the code wait in between",
                        task->completed.n_commands,
                        protobuf_c_message_get_packed_size(&task->completed.base));
}

void task_send(struct remote *remote, struct task *task, struct rpc_cancel *cancel)
{
    task->code = send_one(remote, task, cancel);
    if (task->code == DUR_LIMIT && task->reply == REPLY_COMPLETED) {
        const char *why = too_large(task);
        if (task->from->attempt <= 1) { /* drive.h: later failures are not told */
            task_set_failed(remote, task, WORKFLOW_TASK_FAILED_CAUSE_PAYLOADS_TOO_LARGE, why);
            send_one(remote, task, cancel);
        }
        err_set(&task->err, ERR_PERMANENT, "TooLarge", "%s", why);
    } else if (task->code == DUR_LIMIT && task->reply == REPLY_QUERY) {
        task->query.completed_type = QUERY_FAILED;
        task->query.query_result = (ProtobufCBinaryData){0};
        task->query.error_message = arena_strdup(task->arena, task->err.text);
        task->code = send_one(remote, task, cancel);
    }
}
