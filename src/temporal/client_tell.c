/*
 * client_tell.c - signalling, cancelling, terminating, pausing and resuming runs of a server.
 *
 * Owns: durable.h's outcomes where the server's differ: cancelling a closed run is DUR_NOT_FOUND
 * here as in a store, pausing twice is harmless.
 * Must not: follow a run that was continued: "ID" is the run that is open when the call arrives.
 * Tests: tests/temporal/test_client.c
 */
#include "base/rng.h"
#include "temporal/client.h"
#include "temporal/remote.h"

int client_signal(struct remote *remote, const char *id, const char *signal, const char *input,
                  const char *request_id, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    Pb__SignalWorkflowExecutionRequest request;
    char made[UUID_TEXT_BYTES];

    pb__signal_workflow_execution_request__init(&request);
    int rc = client_target(arena, id, &request.workflow_execution, err);
    if (rc != DUR_OK) {
        return rc;
    }
    rng_uuid(made);
    request.namespace_ = remote->name_space;
    request.signal_name = value_chars(signal);
    request.input = value_json(remote, arena, input);
    request.identity = remote->identity;
    request.request_id = request_id ? value_chars(request_id) : made;
    return client_call(remote, "SignalWorkflowExecution", &request.base,
                       &pb__signal_workflow_execution_response__descriptor, "open run", id, NULL,
                       NULL, err);
}

/* The server takes a cancel request for a closed run and does nothing: so it is looked at first. */
int client_cancel(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    Pb__RequestCancelWorkflowExecutionRequest request;
    char made[UUID_TEXT_BYTES];

    pb__request_cancel_workflow_execution_request__init(&request);
    int rc = client_target(arena, id, &request.workflow_execution, err);
    if (rc != DUR_OK || (rc = client_look(remote, id, request.workflow_execution, &look, err))) {
        return rc;
    }
    if (!client_is_open(look)) {
        return client_refuse(err, DUR_NOT_FOUND, "no open run has the id %s", id);
    }
    rng_uuid(made);
    request.namespace_ = remote->name_space;
    request.identity = remote->identity;
    request.request_id = made;
    request.reason = value_chars(reason);
    return client_call(remote, "RequestCancelWorkflowExecution", &request.base,
                       &pb__request_cancel_workflow_execution_response__descriptor, "open run", id,
                       NULL, NULL, err);
}

int client_terminate(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    Pb__TerminateWorkflowExecutionRequest request;

    pb__terminate_workflow_execution_request__init(&request);
    int rc = client_target(arena, id, &request.workflow_execution, err);
    if (rc != DUR_OK) {
        return rc;
    }
    request.namespace_ = remote->name_space;
    request.reason = value_chars(reason);
    request.identity = remote->identity;
    return client_call(remote, "TerminateWorkflowExecution", &request.base,
                       &pb__terminate_workflow_execution_response__descriptor, "open run", id, NULL,
                       NULL, err);
}

/* --- pausing ---------------------------------------------------------------------------------- */

/* What the server's refusal means: it cannot pause at all, or the run is so already. */
static int paused(struct remote *remote, int rc, const struct rpc_failure *failure, struct err *err)
{
    if (failure->code == CODE_UNIMPLEMENTED) {
        return client_refuse(err, DUR_INVALID,
                             "%s: the server cannot pause runs: it is older than that, or has it "
                             "switched off (frontend.workflowPauseEnabled)",
                             remote->target);
    }
    bool is_so_already =
        failure->code == CODE_FAILED_PRECONDITION && failure->detail == DETAIL_NONE;
    return is_so_already ? DUR_OK : rc;
}

/* Pausing and its end have messages with the same fields. */
static int set_paused(struct remote *remote, const char *method, const char *id, const char *reason,
                      struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autorpcfailure struct rpc_failure failure = {0};
    Pb__PauseWorkflowExecutionRequest request;
    Pb__WorkflowExecution *run;
    char made[UUID_TEXT_BYTES];

    pb__pause_workflow_execution_request__init(&request);
    int rc = client_target(arena, id, &run, err);
    if (rc != DUR_OK) {
        return rc;
    }
    rng_uuid(made);
    request.namespace_ = remote->name_space;
    request.workflow_id = run->workflow_id;
    request.run_id = run->run_id;
    request.identity = remote->identity;
    request.reason = value_chars(reason);
    request.request_id = made;
    rc = client_call(remote, method, &request.base,
                     &pb__pause_workflow_execution_response__descriptor, "open run", id, NULL,
                     &failure, err);
    return paused(remote, rc, &failure, err);
}

int client_pause(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    return set_paused(remote, "PauseWorkflowExecution", id, reason, err);
}

int client_resume(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    return set_paused(remote, "UnpauseWorkflowExecution", id, reason, err);
}
