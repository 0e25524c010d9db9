/*
 * client_query.c - dur_query on a server: a worker answers.
 *
 * Owns: waiting for a worker that is not there yet, and what a refusal reads: "TYPE: message".
 * Must not: answer itself.
 * Tests: tests/temporal/test_asking.c
 */
#include "base/clock.h"
#include "base/mem.h"
#include "history/failure.h"
#include "temporal/client.h"
#include "temporal/remote.h"

#define ASK_MS 30000  /* of one question to the server; it is asked again until the limit */
#define LEAST_MS 1000 /* a worker must have time to answer, whatever the caller's limit */

/* The handler's refusal, or that of the worker: its type stands first. */
static int failed(struct remote *remote, const struct rpc_failure *f, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct failure *failure = NULL;
    const char *message = f->message ? f->message : "";
    Pb__QueryFailedFailure *detail =
        pb__query_failed_failure__unpack(NULL, f->bytes.len, (const uint8_t *)f->bytes.ptr);

    if (detail) {
        (void)value_show_failure(remote, arena, detail->failure, &failure, NULL);
        pb__query_failed_failure__free_unpacked(detail, NULL);
    }
    const char *type = failure ? failure_type(failure) : "";
    if (*type && failure->message) {
        message = failure->message;
    }
    return client_refuse(err, DUR_FAILED, "%s: %s", *type ? type : "QueryFailed", message);
}

/* What a server's answer other than a result means. */
static int judge(struct client_wait *wait, const char *id, int rc,
                 const struct rpc_failure *failure, struct err *err)
{
    if (failure->detail == DETAIL_QUERY_FAILED) {
        return failed(wait->remote, failure, err);
    }
    if (rc == DUR_NOT_FOUND && failure->detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return client_refuse(err, rc, "no run has the id %s", id);
    }
    return rc;
}

static int ask(struct client_wait *wait, const char *id, const Pb__QueryWorkflowRequest *request,
               ProtobufCMessage **ret, struct err *err)
{
    for (;;) {
        autorpcfailure struct rpc_failure failure = {0};
        int rc = client_poll(wait, "QueryWorkflow", ASK_MS, &request->base,
                             &pb__query_workflow_response__descriptor, ret, &failure, err);
        if (rc < 0 && rc != DUR_TIMED_OUT) {
            rc = judge(wait, id, rc, &failure, err);
        }
        if (rc == DUR_TIMED_OUT) {
            return client_refuse(err, rc,
                                 "query of run %s: no answer in time; does a worker serve "
                                 "its task queue? (%s)",
                                 id, failure.message ? failure.message : "nobody answered");
        }
        if (rc <= 0) {
            return rc;
        }
    }
}

int client_query(struct remote *remote, const char *id, const char *query, const char *input,
                 int64_t timeout_ms, char **result, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autopb ProtobufCMessage *answer = NULL;
    Pb__QueryWorkflowRequest request;
    Pb__WorkflowQuery asked;
    struct client_wait wait;
    const char *text;

    pb__workflow_query__init(&asked);
    asked.query_type = value_chars(query);
    asked.query_args = value_json(remote, arena, input);
    pb__query_workflow_request__init(&request);
    request.namespace_ = remote->name_space;
    request.query = &asked;
    client_wait_begin(&wait, remote,
                      timeout_ms >= 0 && timeout_ms < LEAST_MS ? LEAST_MS : timeout_ms);
    int rc = client_target(arena, id, &request.execution, err);
    if (rc != DUR_OK || (rc = ask(&wait, id, &request, &answer, err)) != DUR_OK) {
        return rc;
    }
    if (value_read_json(remote, arena, ((Pb__QueryWorkflowResponse *)answer)->query_result, &text,
                        err) < 0) {
        return client_bad(err, "the answer");
    }
    if (result) {
        *result = mem_strdup(text ? text : "null");
    }
    return DUR_OK;
}
