/*
 * client_update.c - dur_update and dur_update_result on a server.
 *
 * Owns: asking until the stage is reached, and telling a refusal from a failure, which the server
 * answers alike: an update that was refused left no trace, so it is not found when it is asked for.
 * A server keeps no update before it is accepted, so DUR_WAIT_ADMITTED is refused.
 * Must not: send an update under two ids: each try of a call has the same one.
 * Tests: tests/temporal/test_asking.c
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "temporal/client.h"
#include "temporal/remote.h"

#define LOOK_MS 5000
#define POLL_MS 60000 /* of one call; the server holds it for some 20 s */

/* UpdateWorkflowExecutionLifecycleStage */
#define STAGE_ACCEPTED 2
#define STAGE_COMPLETED 3

struct asked {
    struct client_wait wait;
    struct remote *remote;
    struct arena *arena;
    const char *id;
    Pb__WorkflowExecution *run; /* as the caller says; once the server has answered, that run */
    const char *update_id;
    int stage;        /* that is waited for */
    int64_t begun_ns; /* wall clock */
    bool was_there;   /* it was accepted */
    char **result;
};

/* --- outcomes --------------------------------------------------------------------------------- */

/* How far is the update of that id? 1: there is none. */
static int stage_of(const struct asked *a, int *ret_stage, struct err *err)
{
    static const struct rpc look = {.method = "PollWorkflowExecutionUpdate", .timeout_ms = LOOK_MS};
    Pb__PollWorkflowExecutionUpdateRequest request;
    autorpcfailure struct rpc_failure failure = {0};
    autopb ProtobufCMessage *answer = NULL;
    Pb__UpdateRef ref;

    pb__update_ref__init(&ref);
    ref.workflow_execution = a->run;
    ref.update_id = value_chars(a->update_id);
    pb__poll_workflow_execution_update_request__init(&request);
    request.namespace_ = a->remote->name_space;
    request.update_ref = &ref;
    request.identity = a->remote->identity;
    int rc = rpc_send(a->remote, &look, &request.base,
                      &pb__poll_workflow_execution_update_response__descriptor, NULL, &answer,
                      &failure, err);
    if (rc == DUR_NOT_FOUND && failure.detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return 1;
    }
    *ret_stage = rc == DUR_OK ? ((Pb__PollWorkflowExecutionUpdateResponse *)answer)->stage : 0;
    return rc;
}

static int failed(const struct asked *a, ProtobufCBinaryData bytes, struct err *err)
{
    struct failure *failure;

    if (value_show_failure(a->remote, a->arena, bytes, &failure, err) < 0) {
        return client_bad(err, "the update's failure");
    }
    int stage;
    int rc = stage_of(a, &stage, err);
    if (rc < 0) {
        return rc;
    }
    const char *json = value_failure_json(a->arena, failure);
    *a->result = json ? mem_strdup(json) : NULL;
    return client_refuse(err, rc > 0 ? DUR_REJECTED : DUR_FAILED, "update %s was %s: %s",
                         a->update_id, rc > 0 ? "rejected" : "not completed",
                         value_failure_line(a->arena, failure));
}

/* As dur_update returns it; 1: it is not there yet. */
static int conclude(const struct asked *a, const Pb__UpdateOutcome *outcome, int stage,
                    struct err *err)
{
    const char *text;

    if (outcome && outcome->value_case == PB__UPDATE_OUTCOME__VALUE_FAILURE) {
        return failed(a, outcome->failure, err);
    }
    if (outcome && outcome->value_case == PB__UPDATE_OUTCOME__VALUE_SUCCESS) {
        if (value_read_json(a->remote, a->arena, outcome->success, &text, err) < 0) {
            return client_bad(err, "the update's result");
        }
        *a->result = mem_strdup(text ? text : "null");
        return DUR_OK;
    }
    return stage >= a->stage ? DUR_OK : 1;
}

/* NOT_FOUND: no such run or update, or the run closed while the update waited. */
static int not_found(const struct asked *a, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;

    int rc = client_look(a->remote, a->id, a->run, &look, err);
    if (rc != DUR_OK) {
        return rc;
    }
    int64_t closed_ns = value_ns(look->workflow_execution_info->close_time);
    if (closed_ns == 0 || (!a->was_there && closed_ns < a->begun_ns)) {
        return client_refuse(err, DUR_NOT_FOUND, "no open run has the id %s", a->id);
    }
    return client_refuse(err, DUR_FAILED, "the run closed before update %s was accepted",
                         a->update_id);
}

static int time_out(struct asked *a, const struct rpc_failure *failure, struct err *err)
{
    struct err ignored;
    int stage;

    if (a->wait.lost_ns != 0) {
        err_wrap(err, "it is not known how update %s goes on", a->update_id);
        return DUR_TIMED_OUT;
    }
    if (stage_of(a, &stage, &ignored) == DUR_OK) {
        a->was_there = stage >= STAGE_ACCEPTED;
    }
    if (a->was_there) {
        return client_refuse(err, DUR_TIMED_OUT, "update %s is accepted and not completed yet",
                             a->update_id);
    }
    return client_refuse(err, DUR_TIMED_OUT,
                         "update %s is not accepted yet; does a worker serve the run's task queue? "
                         "(%s)",
                         a->update_id, failure->message ? failure->message : "nobody answered");
}

/* --- the two calls ---------------------------------------------------------------------------- */

static int send(struct asked *a, const char *update, const char *input, struct err *err)
{
    Pb__UpdateWorkflowExecutionRequest request;
    autorpcfailure struct rpc_failure failure = {0};
    autopb ProtobufCMessage *answer = NULL;
    Pb__UpdateRequest asked;
    Pb__UpdateMeta meta;
    Pb__UpdateInput in;
    Pb__WaitPolicy policy;

    pb__update_meta__init(&meta);
    meta.update_id = value_chars(a->update_id);
    meta.identity = a->remote->identity;
    pb__update_input__init(&in);
    in.name = value_chars(update);
    in.args = value_json(a->remote, a->arena, input);
    pb__update_request__init(&asked);
    asked.meta = &meta;
    asked.input = &in;
    pb__wait_policy__init(&policy);
    policy.lifecycle_stage = a->stage;
    pb__update_workflow_execution_request__init(&request);
    request.namespace_ = a->remote->name_space;
    request.workflow_execution = a->run;
    request.wait_policy = &policy;
    request.request = &asked;
    int rc =
        client_poll(&a->wait, "UpdateWorkflowExecution", POLL_MS, &request.base,
                    &pb__update_workflow_execution_response__descriptor, &answer, &failure, err);
    if (rc == DUR_NOT_FOUND && failure.detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return not_found(a, err);
    }
    if (rc != DUR_OK) {
        return rc == DUR_TIMED_OUT ? time_out(a, &failure, err) : rc;
    }
    const Pb__UpdateWorkflowExecutionResponse *r = (Pb__UpdateWorkflowExecutionResponse *)answer;
    if (r->update_ref && r->update_ref->workflow_execution) {
        a->run->run_id = arena_strdup(a->arena, r->update_ref->workflow_execution->run_id);
    }
    a->was_there = a->was_there || r->stage >= STAGE_ACCEPTED;
    return conclude(a, r->outcome, r->stage, err);
}

static int poll(struct asked *a, struct err *err)
{
    Pb__PollWorkflowExecutionUpdateRequest request;
    autorpcfailure struct rpc_failure failure = {0};
    autopb ProtobufCMessage *answer = NULL;
    Pb__UpdateRef ref;
    Pb__WaitPolicy policy;

    pb__update_ref__init(&ref);
    ref.workflow_execution = a->run;
    ref.update_id = value_chars(a->update_id);
    pb__wait_policy__init(&policy);
    policy.lifecycle_stage = a->stage;
    pb__poll_workflow_execution_update_request__init(&request);
    request.namespace_ = a->remote->name_space;
    request.update_ref = &ref;
    request.identity = a->remote->identity;
    request.wait_policy = a->stage ? &policy : NULL;
    int rc = client_poll(&a->wait, "PollWorkflowExecutionUpdate", POLL_MS, &request.base,
                         &pb__poll_workflow_execution_update_response__descriptor, &answer,
                         &failure, err);
    if (rc == DUR_NOT_FOUND && failure.detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return client_refuse(err, rc, "run %s has no update %s", a->id, a->update_id);
    }
    if (rc != DUR_OK) {
        return rc == DUR_TIMED_OUT ? time_out(a, &failure, err) : rc;
    }
    const Pb__PollWorkflowExecutionUpdateResponse *r =
        (Pb__PollWorkflowExecutionUpdateResponse *)answer;
    a->was_there = a->was_there || r->stage >= STAGE_ACCEPTED;
    return conclude(a, r->outcome, r->stage, err);
}

static int begin(struct asked *a, int64_t timeout_ms, char **result, struct err *err)
{
    *result = NULL;
    a->result = result;
    a->begun_ns = clock_wall_ns();
    client_wait_begin(&a->wait, a->remote, timeout_ms);
    return client_target(a->arena, a->id, &a->run, err);
}

int client_update(struct remote *remote, const char *id, const char *update, const char *input,
                  char **result, const dur_update_options *options, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    dur_update_options o = {0};
    char made[UUID_TEXT_BYTES];
    char *ignored = NULL;

    if (options) {
        o = *options;
    }
    if (o.wait == DUR_WAIT_ADMITTED) {
        return client_refuse(err, DUR_INVALID,
                             "a Temporal server keeps no update before a worker has accepted it: "
                             "ask with DUR_WAIT_ACCEPTED");
    }
    rng_uuid(made);
    struct asked a = {.remote = remote,
                      .arena = arena,
                      .id = id,
                      .update_id = o.update_id ? o.update_id : made,
                      .stage = o.wait == DUR_WAIT_ACCEPTED ? STAGE_ACCEPTED : STAGE_COMPLETED};
    int rc = begin(&a, o.timeout_ms > 0 ? o.timeout_ms : -1, result ? result : &ignored, err);
    if (rc == DUR_OK) {
        do {
            rc = a.was_there ? poll(&a, err) : send(&a, update, input, err);
        } while (rc > 0);
    }
    free(ignored);
    return rc;
}

int client_update_result(struct remote *remote, const char *id, const char *update_id,
                         int64_t timeout_ms, char **result, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    char *ignored = NULL;
    struct asked a = {.remote = remote,
                      .arena = arena,
                      .id = id,
                      .update_id = update_id,
                      .stage = timeout_ms == 0 ? 0 : STAGE_COMPLETED};
    int rc =
        begin(&a, timeout_ms == 0 ? RPC_TIMEOUT_MS : timeout_ms, result ? result : &ignored, err);
    if (rc == DUR_OK) {
        do {
            rc = poll(&a, err);
        } while (rc > 0);
    }
    if (rc == DUR_OK && a.stage == 0 && !*a.result) {
        rc = time_out(&a, &(struct rpc_failure){0}, err);
    }
    free(ignored);
    return rc;
}
