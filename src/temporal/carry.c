/*
 * carry.c - see carry.h.
 * Tests: tests/temporal/t8200-worker.sh (signals)
 */
#include "temporal/carry.h"

#include "durable.h"
#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/task.h"
#include "temporal/value.h"

static int send_on(struct remote *remote, struct task *task, const struct event *event,
                   struct rpc_cancel *cancel, struct err *err)
{
    const struct ev_workflow_execution_signaled *a = ev_workflow_execution_signaled(event);
    const Pb__WorkflowExecution *from = task->from->workflow_execution;
    Pb__WorkflowExecution to;
    Pb__SignalWorkflowExecutionRequest request;

    pb__workflow_execution__init(&to);
    to.workflow_id = from->workflow_id; /* whichever run has it now */
    pb__signal_workflow_execution_request__init(&request);
    request.namespace_ = remote->name_space;
    request.workflow_execution = &to;
    request.signal_name = value_chars(a->signal_name);
    request.input = value_payloads(remote, task->arena, a->input);
    request.header = value_header(task->arena, a->header);
    request.identity = value_chars(a->identity);
    request.request_id = arena_printf(task->arena, "%s/%lld", from->run_id, (long long)event->id);
    return rpc_send(remote, &(struct rpc){.method = "SignalWorkflowExecution"}, &request.base, NULL,
                    cancel, NULL, NULL, err);
}

static const struct event *signal_at(const struct task *task, int64_t id)
{
    for (size_t i = 0; i < task->history.count; i++) {
        const struct event *event = &task->history.items[i];
        if (event->id == id && event->type == EVENT_WORKFLOW_EXECUTION_SIGNALED) {
            return event;
        }
    }
    return NULL;
}

void carry_signals(struct remote *remote, struct task *task, struct rpc_cancel *cancel)
{
    struct err err = {0};
    size_t sent = 0;
    int rc = DUR_OK;

    if (task->left_count > 0 && !task->is_whole) {
        task_read_whole(remote, task, cancel);
        rc = task->fault;
        err = task->err;
    }
    for (; rc == DUR_OK && sent < task->left_count; sent++) {
        const struct event *event = signal_at(task, task->left[sent]);
        if (event) {
            rc = send_on(remote, task, event, cancel, &err);
        }
        if (rc != DUR_OK) {
            break;
        }
    }
    if (rc != DUR_OK) {
        remote_say(remote, 1,
                   "run %s continued as new; %zu signals that it had not received are lost: %s",
                   task->from->workflow_execution->workflow_id, task->left_count - sent, err.text);
    }
}
