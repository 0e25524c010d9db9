/*
 * birth.c - see birth.h. Owns: the defaults and caps that Temporal's server applies at a start
 * (spec: workflow semantics, timeouts), and the encoding of a run's first events.
 * Tests: tests/unit/test_worker_birth.c
 */
#include "worker/birth.h"

#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "history/attributes.h"
#include "history/map.h"
#include "history/store.h"
#include "journal/event.h"
#include "journal/signal_request.h"
#include "journal/task.h"
#include "worker/record.h"

#define TASK_TIMEOUT_NS (10 * NS_PER_S)      /* Temporal's default */
#define TASK_TIMEOUT_MAX_NS (120 * NS_PER_S) /* and its cap */
#define RETRY_MAXIMUM_TIMES 100              /* the longest interval, when not given */

const char *birth_run_id(struct arena *arena)
{
    char id[UUID_TEXT_BYTES];
    rng_uuid(id);
    return arena_strdup(arena, id);
}

int64_t birth_task_timeout_ns(int64_t asked_ns, int64_t run_timeout_ns)
{
    int64_t ns = asked_ns > 0 ? asked_ns : TASK_TIMEOUT_NS;
    ns = ns < TASK_TIMEOUT_MAX_NS ? ns : TASK_TIMEOUT_MAX_NS;
    return run_timeout_ns > 0 && run_timeout_ns < ns ? run_timeout_ns : ns;
}

int64_t birth_row_task_timeout_ns(const struct execution_row *row)
{
    if (row->task_timeout_ns > 0) {
        return row->task_timeout_ns;
    }
    return birth_task_timeout_ns(0,
                                 row->run_deadline_ns ? row->run_deadline_ns - row->started_ns : 0);
}

static struct retry_policy *full_policy(struct arena *arena, const struct retry_policy *given)
{
    struct retry_policy *policy = arena_new_of(arena, struct retry_policy);
    *policy = *given;
    if (policy->initial_interval <= 0) {
        policy->initial_interval = NS_PER_S;
    }
    if (policy->backoff_coefficient < 1.0) {
        policy->backoff_coefficient = 2.0;
    }
    if (policy->maximum_interval <= 0 &&
        __builtin_mul_overflow(policy->initial_interval, (int64_t)RETRY_MAXIMUM_TIMES,
                               &policy->maximum_interval)) {
        policy->maximum_interval = INT64_MAX;
    }
    return policy;
}

/* Names and times; what follows from the time-outs asked for. */
static void fill_row(struct arena *arena, const struct birth *b, int64_t now_ns,
                     int64_t *ret_run_timeout_ns, struct execution_row *row)
{
    int64_t run_ns = b->run_timeout_ns;
    *row = (struct execution_row){
        .workflow_id = b->workflow_id,
        .run_id = b->run_id ? b->run_id : birth_run_id(arena),
        .type = b->type,
        .task_queue = b->task_queue ? b->task_queue : "default",
        .status = EXECUTION_RUNNING,
        .next_event_id = 1,
        .started_ns = now_ns,
        .request_id = b->request_id,
        .memo = map_text(arena, b->memo),
        .search_attributes = attributes_text(arena, b->search_attributes),
        .attempt = b->attempt > 0 ? b->attempt : 1,
        .first_run_id = b->first_run_id,
        .parent = b->parent,
        .parent_event_id = b->parent_event_id,
    };
    int64_t begins_ns = time_later(now_ns, b->first_task_backoff_ns);
    if (b->execution_timeout_ns > 0) {
        row->expires_ns =
            b->expires_ns > 0 ? b->expires_ns : time_later(begins_ns, b->execution_timeout_ns);
        run_ns = run_ns > 0 && run_ns < b->execution_timeout_ns ? run_ns : b->execution_timeout_ns;
    }
    if (run_ns > 0) {
        row->run_deadline_ns = time_later(begins_ns, run_ns);
    }
    if (row->expires_ns > 0 && row->run_deadline_ns > row->expires_ns) {
        row->run_deadline_ns = row->expires_ns;
    }
    row->first_task_ns = b->first_task_backoff_ns > 0 ? begins_ns : 0;
    row->first_task_by_wall = row->first_task_ns > 0 && b->cron && *b->cron &&
                              b->initiator != CONTINUE_AS_NEW_INITIATOR_RETRY;
    row->task_timeout_ns = birth_task_timeout_ns(b->task_timeout_ns, run_ns);
    *ret_run_timeout_ns = run_ns;
}

static struct workflow_execution *execution_name(struct arena *arena, const char *workflow_id,
                                                 const char *run_id)
{
    if (!workflow_id) {
        return NULL;
    }
    struct workflow_execution *name = arena_new_of(arena, struct workflow_execution);
    name->workflow_id = workflow_id;
    name->run_id = run_id;
    return name;
}

/* Events point into what was given: they are encoded at once. */
#define borrowed(type, pointer) ((type *)(uintptr_t)(const void *)(pointer))

static struct event *started_event(struct arena *arena, const struct birth *b,
                                   const struct execution_row *row, int64_t run_timeout_ns)
{
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    struct ev_workflow_execution_started *s = ev_workflow_execution_started(event);
    s->workflow_type = row->type;
    s->parent_workflow_namespace = b->parent_namespace;
    s->parent_workflow_namespace_id = b->parent_namespace_id;
    s->parent_workflow_execution = execution_name(arena, b->parent_workflow_id, b->parent_run_id);
    s->parent_initiated_event_id = b->parent_event_id;
    s->task_queue = task_queue_new(arena, row->task_queue);
    s->input = borrowed(struct payloads, b->input);
    s->workflow_execution_timeout = b->execution_timeout_ns;
    s->workflow_execution_expiration_time = row->expires_ns;
    s->workflow_run_timeout = run_timeout_ns;
    s->workflow_task_timeout = row->task_timeout_ns;
    s->continued_execution_run_id = b->continued_run_id;
    s->initiator = b->initiator ? b->initiator
                   : b->cron    ? CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE /* the first, too */
                                : CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED;
    s->continued_failure = borrowed(struct failure, b->continued_failure);
    s->last_completion_result = borrowed(struct payloads, b->last_completion_result);
    s->original_execution_run_id = b->original_run_id ? b->original_run_id : row->run_id;
    s->first_execution_run_id = b->first_run_id ? b->first_run_id : row->run_id;
    s->identity = b->identity;
    s->retry_policy = b->retry ? full_policy(arena, b->retry) : NULL;
    s->attempt = row->attempt;
    s->workflow_id = row->workflow_id;
    s->cron_schedule = b->cron;
    s->first_workflow_task_backoff = b->first_task_backoff_ns;
    s->memo = borrowed(struct payload_map, b->memo);
    s->search_attributes = borrowed(struct payload_map, b->search_attributes);
    s->header = borrowed(struct payload_map, b->header);
    s->root_workflow_execution = execution_name(arena, b->root_workflow_id, b->root_run_id);
    if (b->priority > 0) {
        s->priority = arena_new_of(arena, struct priority);
        s->priority->priority_key = b->priority;
    }
    return event;
}

/* The first events of one run, on their way into the journal. */
struct cradle {
    struct arena *arena;
    struct store_context codec;
    struct event_row *rows;
    size_t count;
    int64_t bytes;
    int64_t now_ns;
};

static void add_event(struct cradle *c, struct event *event)
{
    event->id = (int64_t)c->count + 1;
    if (event->time_ns == 0) {
        event->time_ns = c->now_ns;
    }
    c->bytes += record_event(&c->codec, c->arena, event, event->time_ns, &c->rows[c->count++]);
}

static void add_signals(struct txn *txn, struct cradle *c, const struct birth *b, int64_t execution)
{
    for (size_t i = 0; i < b->signal_count; i++) {
        struct event copy = *b->signals[i];
        const char *request_id = ev_workflow_execution_signaled(&copy)->request_id;
        add_event(c, &copy);
        if (request_id && *request_id) {
            signal_request_put(txn, execution, request_id);
        }
    }
}

int birth_write(struct txn *txn, struct arena *arena, const struct birth *birth, int64_t now_ns,
                struct execution_row *ret)
{
    int64_t run_timeout_ns;
    fill_row(arena, birth, now_ns, &run_timeout_ns, ret);
    ret->id = execution_insert(txn, ret);
    struct cradle cradle = {.arena = arena, .now_ns = now_ns};
    cradle.rows = arena_array_of(arena, struct event_row, birth->signal_count + 2);
    store_context_init(&cradle.codec, db_sealer(txn_db(txn)), ret->task_queue, NULL,
                       ret->workflow_id, ret->run_id);
    add_event(&cradle, started_event(arena, birth, ret, run_timeout_ns));
    add_signals(txn, &cradle, birth, ret->id);
    if (ret->first_task_ns == 0) {
        struct event *event = event_new(arena, EVENT_WORKFLOW_TASK_SCHEDULED);
        record_task_scheduled(arena, event, ret->task_queue, ret->task_timeout_ns, 1);
        add_event(&cradle, event);
    }
    ret->next_event_id = (int64_t)cradle.count + 1;
    ret->history_bytes = cradle.bytes;
    event_append(txn, ret->id, cradle.rows, cradle.count, cradle.bytes);
    task_put(txn, ret->id, TASK_START, now_ns);
    return txn_failed(txn) ? -1 : 0;
}
