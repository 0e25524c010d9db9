/*
 * client_start.c - dur_start and dur_signal_with_start on a server.
 *
 * Owns: durable.h's options in the two requests, which have the same members by other numbers.
 *
 *   conflict   FAIL: 1, USE_EXISTING: 2, TERMINATE_EXISTING: 3; with a signal FAIL is USE_EXISTING
 *   reuse      ALLOW: 1, FAILED_ONLY: 2, REJECT: 3
 *
 * Every start has a request id, so that a call which is tried again starts one run.
 * Must not: check what the engine checked.
 * Tests: tests/temporal/test_client.c
 */
#include "base/clock.h"
#include "base/rng.h"
#include "exec/options.h"
#include "history/attributes.h"
#include "history/map.h"
#include "temporal/client.h"
#include "temporal/remote.h"

struct start {
    struct remote *remote;
    struct arena *arena;
    dur_start_options o;
    const char *type, *id, *input;
    struct payload_map *attributes;
    struct retry_policy *retry;
    char request_id[UUID_TEXT_BYTES];
};

/* What both requests have. */
#define FILL(request, s)                                                                           \
    do {                                                                                           \
        (request)->namespace_ = (s)->remote->name_space;                                           \
        (request)->workflow_id = value_chars((s)->id);                                             \
        (request)->workflow_type = workflow_type(s);                                               \
        (request)->task_queue = value_task_queue((s)->remote, (s)->arena, (s)->o.task_queue);      \
        (request)->input = value_json((s)->remote, (s)->arena, (s)->input);                        \
        (request)->workflow_execution_timeout = span((s), (s)->o.execution_timeout_ms);            \
        (request)->workflow_run_timeout = span((s), (s)->o.run_timeout_ms);                        \
        (request)->workflow_task_timeout = span((s), (s)->o.task_timeout_ms);                      \
        (request)->workflow_start_delay = span((s), (s)->o.start_delay_ms);                        \
        (request)->identity = (s)->remote->identity;                                               \
        (request)->request_id =                                                                    \
            (s)->o.request_id ? value_chars((s)->o.request_id) : (s)->request_id;                  \
        (request)->workflow_id_reuse_policy = (int)(s)->o.reuse + 1;                               \
        (request)->workflow_id_conflict_policy = (int)(s)->o.conflict + 1;                         \
        (request)->retry_policy = value_retry((s)->arena, (s)->retry);                             \
        (request)->cron_schedule = value_chars((s)->o.cron);                                       \
        (request)->memo = value_memo((s)->remote, (s)->arena, map_parse((s)->arena, (s)->o.memo)); \
        (request)->search_attributes = value_attributes((s)->arena, (s)->attributes);              \
        (request)->priority = priority(s);                                                         \
    } while (0)

static Pb__WorkflowType *workflow_type(const struct start *s)
{
    Pb__WorkflowType *type = arena_new_of(s->arena, Pb__WorkflowType);

    pb__workflow_type__init(type);
    type->name = value_chars(s->type);
    return type;
}

static Pb__Duration *span(const struct start *s, int64_t ms)
{
    return value_duration(s->arena, ms * NS_PER_MS);
}

static Pb__Priority *priority(const struct start *s)
{
    if (s->o.priority == 0) {
        return NULL;
    }
    Pb__Priority *made = arena_new_of(s->arena, Pb__Priority);
    pb__priority__init(made);
    made->priority_key = s->o.priority;
    return made;
}

/* The server's word on why there is no run. */
static int refused(const struct start *s, int rc, const struct rpc_failure *failure,
                   struct err *err)
{
    if (rc == DUR_EXISTS) {
        return client_refuse(err, rc, "the id %s is taken: %s", s->id,
                             failure->message ? failure->message : "a run has it");
    }
    if (s->attributes && failure->code == CODE_INVALID_ARGUMENT && failure->message) {
        return client_refuse(err, rc,
                             "%s (temporal operator search-attribute list shows those that the "
                             "server knows, search-attribute create makes one)",
                             failure->message);
    }
    return rc;
}

static int start_plain(struct start *s, struct err *err)
{
    Pb__StartWorkflowExecutionRequest request;
    autorpcfailure struct rpc_failure failure = {0};

    pb__start_workflow_execution_request__init(&request);
    FILL(&request, s);
    int rc =
        rpc_send(s->remote, &(struct rpc){.method = "StartWorkflowExecution"}, &request.base,
                 &pb__start_workflow_execution_response__descriptor, NULL, NULL, &failure, err);
    return rc == DUR_OK ? rc : refused(s, rc, &failure, err);
}

static int start_with_signal(struct start *s, const char *signal, const char *signal_input,
                             struct err *err)
{
    Pb__SignalWithStartWorkflowExecutionRequest request;
    autorpcfailure struct rpc_failure failure = {0};

    pb__signal_with_start_workflow_execution_request__init(&request);
    if (s->o.conflict == DUR_CONFLICT_FAIL) {
        s->o.conflict = DUR_CONFLICT_USE_EXISTING;
    }
    FILL(&request, s);
    request.signal_name = value_chars(signal);
    request.signal_input = value_json(s->remote, s->arena, signal_input);
    int rc = rpc_send(s->remote, &(struct rpc){.method = "SignalWithStartWorkflowExecution"},
                      &request.base, &pb__signal_with_start_workflow_execution_response__descriptor,
                      NULL, NULL, &failure, err);
    return rc == DUR_OK ? rc : refused(s, rc, &failure, err);
}

int client_start(struct remote *remote, const char *type, const char *id, const char *input,
                 const char *signal, const char *signal_input, const dur_start_options *options,
                 struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct start s = {.remote = remote, .arena = arena, .type = type, .id = id, .input = input};

    if (options) {
        s.o = *options;
    }
    rng_uuid(s.request_id);
    s.retry = s.o.retry ? options_policy(arena, s.o.retry, 0) : NULL;
    if (attributes_parse(arena, s.o.search_attributes, &s.attributes, err) < 0) {
        return DUR_INVALID;
    }
    return signal ? start_with_signal(&s, signal, signal_input, err) : start_plain(&s, err);
}
