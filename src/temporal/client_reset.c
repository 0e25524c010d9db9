/*
 * client_reset.c - dur_reset on a server.
 *
 * Owns: which points there are: ends of workflow tasks, as in a store; of itself the last task that
 * was completed. Must not: copy events; the server makes the new run.
 * Tests: tests/temporal/test_asking.c
 */
#include "base/mem.h"
#include "base/rng.h"
#include "temporal/client.h"
#include "temporal/remote.h"

/* ResetReapplyExcludeType */
#define DROP_SIGNALS 1
#define DROP_UPDATES 2

#define NO_POINT "run %s has not run its code yet: there is nothing to take back"

static bool is_completed(const struct event *event)
{
    return event->type == EVENT_WORKFLOW_TASK_COMPLETED;
}

static int last_point(struct remote *remote, struct arena *arena, const char *id,
                      const Pb__WorkflowExecution *run, int64_t *ret, struct err *err)
{
    const struct event *event;
    int rc = client_look_back(remote, arena, id, run, is_completed, &event, err);

    if (rc == DUR_OK) {
        *ret = event->id;
    }
    return rc <= 0 ? rc : client_refuse(err, DUR_INVALID, NO_POINT, id);
}

/* --- a point that is given ---------------------------------------------------------------------
 */

struct search {
    int64_t wanted;
    enum event_type before; /* type of the last event that was looked at */
    int64_t last;           /* its id */
    int64_t nearest_before, nearest_behind;
    bool found;
};

/* A reset may be recorded in the place of an event that follows a WORKFLOW_TASK_STARTED. The server
 * would take some others too, which are no ends of workflow tasks. */
static int search_events(void *user, const struct event *events, size_t count)
{
    struct search *s = user;

    for (size_t i = 0; i < count; i++) {
        int64_t id = events[i].id;
        if (s->before == EVENT_WORKFLOW_TASK_STARTED) {
            s->found = s->found || id == s->wanted;
            s->nearest_before = id < s->wanted ? id : s->nearest_before;
            s->nearest_behind = id > s->wanted ? id : 0;
        }
        if (s->found || s->nearest_behind) {
            return 1;
        }
        s->before = events[i].type;
        s->last = id;
    }
    return 0;
}

static int check_point(struct remote *remote, const char *id, const Pb__WorkflowExecution *run,
                       int64_t point, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct search s = {.wanted = point};
    const char *name = arena_printf(arena, "%s@%s", run->workflow_id, run->run_id);
    int rc = client_history(remote, name, search_events, &s, err);

    bool is_running = s.before == EVENT_WORKFLOW_TASK_STARTED && point == s.last + 1;
    if (rc != DUR_OK || s.found || is_running) {
        return rc;
    }
    int64_t a = s.nearest_before ? s.nearest_before : s.nearest_behind;
    int64_t b = s.nearest_behind ? s.nearest_behind : s.nearest_before;
    if (a == 0) {
        return client_refuse(err, DUR_INVALID, NO_POINT, id);
    }
    return client_refuse(err, DUR_INVALID,
                         "event %lld of run %s does not end a workflow task: the nearest that do "
                         "are %lld and %lld",
                         (long long)point, id, (long long)a, (long long)b);
}

/* --- the call -----------------------------------------------------------------------------------
 */

static int send(struct remote *remote, const char *id, Pb__WorkflowExecution *run, int64_t point,
                const dur_reset_options *options, char **run_id, struct err *err)
{
    Pb__ResetWorkflowExecutionRequest request;
    autorpcfailure struct rpc_failure failure = {0};
    autopb ProtobufCMessage *answer = NULL;
    char made[UUID_TEXT_BYTES];
    int32_t drops[2];

    rng_uuid(made);
    pb__reset_workflow_execution_request__init(&request);
    request.namespace_ = remote->name_space;
    request.workflow_execution = run;
    request.reason = value_chars(options->reason);
    request.workflow_task_finish_event_id = point;
    request.request_id = made;
    request.identity = remote->identity;
    request.reset_reapply_exclude_types = drops;
    if (options->drop_signals) {
        drops[request.n_reset_reapply_exclude_types++] = DROP_SIGNALS;
    }
    if (options->drop_updates) {
        drops[request.n_reset_reapply_exclude_types++] = DROP_UPDATES;
    }
    int rc = client_call(remote, "ResetWorkflowExecution", &request.base,
                         &pb__reset_workflow_execution_response__descriptor, "run", id, &answer,
                         &failure, err);
    if (rc == DUR_INVALID && failure.code == CODE_INVALID_ARGUMENT) {
        return client_refuse(err, DUR_INVALID, "event %lld of run %s is no point to go back to: %s",
                             (long long)point, id, failure.message ? failure.message : "");
    }
    if (rc == DUR_OK && run_id) {
        *run_id = mem_strdup(((Pb__ResetWorkflowExecutionResponse *)answer)->run_id);
    }
    return rc;
}

int client_reset(struct remote *remote, const char *id, const dur_reset_options *options,
                 char **run_id, struct err *err)
{
    autoarena struct arena *arena = arena_new();
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    Pb__WorkflowExecution *run;
    dur_reset_options o = {0};

    if (options) {
        o = *options;
    }
    int rc = client_target(arena, id, &run, err);
    if (rc != DUR_OK || (rc = client_look(remote, id, run, &look, err)) != DUR_OK) {
        return rc;
    }
    run = look->workflow_execution_info->execution; /* that run, whatever follows it meanwhile */
    rc = o.event_id == 0 ? last_point(remote, arena, id, run, &o.event_id, err)
                         : check_point(remote, id, run, o.event_id, err);
    return rc != DUR_OK ? rc : send(remote, id, run, o.event_id, &o, run_id, err);
}
