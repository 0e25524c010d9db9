/*
 * chain.c - which run follows one that closes (host.h): continued as new, tried again by the retry
 * policy of the run as a whole, or due by its cron text.
 *
 * Owns: the decision, what the closing event says of it (retry state, the next run's id, and what a
 * continued run left as it is), and the birth of the next run in the closing turn's transaction. So
 * a chain never ends by a crash. Must not: touch the parent of a run (it hears of the last run of a
 * chain alone).
 *
 *   closes as          followed by
 *   completed          the next point of its cron text
 *   failed, timed out  another attempt, unless the policy says no; else the next cron point
 *   continued as new   what it asked for
 *   cancelled, terminated, expired: nothing
 *
 * The next run inherits from WORKFLOW_EXECUTION_STARTED, which is read from the journal then: open
 * runs need not keep it.
 * Tests: tests/unit/test_engine_chain.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/cron.h"
#include "history/attributes.h"
#include "history/failure.h"
#include "history/map.h"
#include "worker/birth.h"
#include "worker/host.h"

/* Event 1, decoded, in the turn's arena. NULL: the transaction has failed. */
static const struct ev_workflow_execution_started *start_of(struct host *host, struct live *live)
{
    struct event_list rows;
    struct store_context codec;
    struct err err = {0};
    struct event *event = arena_new_of(host->arena, struct event);
    int rc = event_read(txn_db(host->txn), host->arena, live->id, 1, 1, &rows, &err);
    if (rc == 0 && (rows.count != 1 || rows.rows[0].type != EVENT_WORKFLOW_EXECUTION_STARTED)) {
        rc = err_set(&err, ERR_PERMANENT, "StoreCorrupt", "run %s has no start event",
                     live->workflow_id);
    }
    if (rc == 0) {
        store_context_init(&codec, host_sealer(host), live->task_queue, NULL, live->workflow_id,
                           live->run_id);
        rc = store_decode(&codec, host->arena, 1, rows.rows[0].type, rows.rows[0].time_ns,
                          rows.rows[0].attributes, rows.rows[0].attributes_len, event, &err);
    }
    if (rc < 0) {
        txn_fail(host->txn, &err);
        return NULL;
    }
    return ev_workflow_execution_started(event);
}

/* What every successor has in common with the run before it. */
static void inherit(struct host *host, struct live *live,
                    const struct ev_workflow_execution_started *s, struct chain *next)
{
    const struct workflow_execution *parent = s->parent_workflow_execution;
    const struct workflow_execution *root = s->root_workflow_execution;
    struct execution_row row = {0};
    struct err err = {0};
    if (execution_get(txn_db(host->txn), host->arena, live->id, &row, &err) < 0) {
        txn_fail(host->txn, &err); /* the row: a reset of its parent may have changed it */
    }
    next->follows = true;
    next->birth = (struct birth){
        .workflow_id = live->workflow_id,
        .run_id = birth_run_id(host->arena),
        .type = live->type,
        .task_queue = live->task_queue,
        .input = s->input,
        .memo = s->memo,
        .search_attributes = s->search_attributes,
        .header = s->header,
        .execution_timeout_ns = s->workflow_execution_timeout,
        .expires_ns = live->expires_ns,
        .run_timeout_ns = s->workflow_run_timeout,
        .task_timeout_ns = s->workflow_task_timeout,
        .retry = s->retry_policy,
        .cron = s->cron_schedule,
        .priority = s->priority ? s->priority->priority_key : 0,
        .last_completion_result = s->last_completion_result,
        .continued_run_id = live->run_id,
        .first_run_id = s->first_execution_run_id,
        .parent = row.parent,
        .parent_namespace = s->parent_workflow_namespace,
        .parent_namespace_id = s->parent_workflow_namespace_id,
        .parent_workflow_id = parent ? parent->workflow_id : NULL,
        .parent_run_id = parent ? parent->run_id : NULL,
        .parent_event_id = s->parent_initiated_event_id,
        .root_workflow_id = root ? root->workflow_id : NULL,
        .root_run_id = root ? root->run_id : NULL,
        .identity = host->identity,
    };
}

/* --- retry and cron ------------------------------------------------------------------------------
 */

static struct retry_rule rule_of(const struct retry_policy *policy)
{
    return (struct retry_rule){.initial_ns = policy->initial_interval,
                               .coefficient = policy->backoff_coefficient,
                               .maximum_ns = policy->maximum_interval,
                               .maximum_attempts = policy->maximum_attempts};
}

static enum retry_state decide(struct host *host, struct live *live,
                               const struct ev_workflow_execution_started *s,
                               const struct failure *failure, int64_t *ret_delay_ns)
{
    if (!s->retry_policy) {
        return RETRY_STATE_RETRY_POLICY_NOT_SET;
    }
    struct retry_rule rule = rule_of(s->retry_policy);
    struct retry_case now = {
        .attempt = s->attempt,
        .non_retryable = !failure_is_retryable(failure, s->retry_policy),
        .now_ns = host->now_ns,
        .expires_ns = live->expires_ns,
    };
    return retry_decide(&rule, &now, ret_delay_ns);
}

/* The cron text's next point as a delay from now; -1: none. */
static int64_t cron_delay_ns(struct host *host, struct live *live,
                             const struct ev_workflow_execution_started *s)
{
    struct cron *cron autocron = NULL;
    struct err err = {0};
    if (!s->cron_schedule || !*s->cron_schedule) {
        return -1;
    }
    if (cron_parse(s->cron_schedule, NULL, &cron, &err) < 0) {
        host_log(host, HOST_LOG_ERROR, "run %s (%s) is not followed: %s", live->workflow_id,
                 live->type, err.text);
        return -1;
    }
    int64_t began_ns = live->started_ns + s->first_workflow_task_backoff;
    int64_t at_ns = cron_next_since(cron, began_ns, host->now_ns);
    return at_ns == CRON_NEVER ? -1 : at_ns - host->now_ns;
}

/* After a failure. What the closing event says of retries is the answer. */
static enum retry_state plan_failed(struct host *host, struct live *live,
                                    const struct failure *failure, struct chain *next)
{
    const struct ev_workflow_execution_started *s = start_of(host, live);
    int64_t delay_ns = 0;
    if (!s) {
        return RETRY_STATE_RETRY_POLICY_NOT_SET;
    }
    enum retry_state state = decide(host, live, s, failure, &delay_ns);
    bool again = state == RETRY_STATE_IN_PROGRESS;
    if (!again && (delay_ns = cron_delay_ns(host, live, s)) < 0) {
        return state;
    }
    inherit(host, live, s, next);
    next->birth.attempt = again ? s->attempt + 1 : 1;
    next->birth.initiator =
        again ? CONTINUE_AS_NEW_INITIATOR_RETRY : CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE;
    next->birth.first_task_backoff_ns = delay_ns;
    next->birth.continued_failure = failure;
    return state;
}

static void plan_completed(struct host *host, struct live *live, const struct payloads *result,
                           struct chain *next)
{
    const struct ev_workflow_execution_started *s = start_of(host, live);
    int64_t delay_ns = s ? cron_delay_ns(host, live, s) : -1;
    if (delay_ns < 0) {
        return;
    }
    inherit(host, live, s, next);
    next->birth.initiator = CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE;
    next->birth.first_task_backoff_ns = delay_ns;
    next->birth.last_completion_result = result;
}

/* --- continue-as-new ---------------------------------------------------------------------------
 */

/* The signals that nobody received, from the journal: their event ids are given. */
static void take_signals(struct host *host, struct live *live, const struct run_output *out,
                         struct birth *birth)
{
    struct err err = {0};
    struct event **signals =
        arena_array_of(host->arena, struct event *, out->signals_left_count + 1);
    if (out->signals_left_count > 0) {
        live_write(host, live); /* some may have come in this very turn */
    }
    for (size_t i = 0; i < out->signals_left_count && !txn_failed(host->txn); i++) {
        struct event_list rows;
        struct store_context codec;
        struct event *event = arena_new_of(host->arena, struct event);
        store_context_init(&codec, host_sealer(host), live->task_queue, NULL, live->workflow_id,
                           live->run_id);
        int rc = event_read(txn_db(host->txn), host->arena, live->id, out->signals_left[i], 1,
                            &rows, &err);
        if (rc == 0 &&
            (rows.count != 1 || rows.rows[0].type != EVENT_WORKFLOW_EXECUTION_SIGNALED)) {
            rc = err_set(&err, ERR_PERMANENT, "StoreCorrupt", "event %lld of run %s is no signal",
                         (long long)out->signals_left[i], live->workflow_id);
        }
        if (rc == 0) {
            const struct event_row *row = &rows.rows[0];
            rc = store_decode(&codec, host->arena, row->event_id, row->type, row->time_ns,
                              row->attributes, row->attributes_len, event, &err);
        }
        if (rc < 0) {
            txn_fail(host->txn, &err);
            return;
        }
        signals[i] = event;
    }
    birth->signals = (const struct event *const *)signals;
    birth->signal_count = out->signals_left_count;
}

/* Temporal's shortest distance between the beginnings of two runs of a chain. */
static int64_t spaced(struct host *host, struct live *live,
                      const struct ev_workflow_execution_started *s, int64_t backoff_ns)
{
    int64_t began_ns = live->started_ns + s->first_workflow_task_backoff;
    int64_t lasted_ns = host->now_ns > began_ns ? host->now_ns - began_ns : 0;
    int64_t rest_ns = host->chain_spacing_ns - lasted_ns;
    return backoff_ns < rest_ns ? rest_ns : backoff_ns;
}

/* With what this very task changed. */
static struct payload_map *memo_now(struct host *host, struct live *live,
                                    const struct run_output *out)
{
    const char *memo = live->memo;
    for (size_t i = 0; i < out->count; i++) {
        if (out->events[i]->type == EVENT_WORKFLOW_PROPERTIES_MODIFIED) {
            memo = map_merge(host->arena, memo,
                             ev_workflow_properties_modified(out->events[i])->upserted_memo);
        }
    }
    return map_parse(host->arena, memo);
}

/* The same; versions of code begin anew with the next run. */
static struct payload_map *attributes_now(struct host *host, struct live *live,
                                          const struct run_output *out)
{
    struct payload_map *all = NULL;
    const char *json = live->search_attributes;
    for (size_t i = 0; i < out->count; i++) {
        if (out->events[i]->type == EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES) {
            json = attributes_merge(
                host->arena, json,
                ev_upsert_workflow_search_attributes(out->events[i])->search_attributes);
        }
    }
    if (attributes_parse(host->arena, json, &all, NULL) < 0 || !all) {
        return NULL;
    }
    struct payload_map *kept = arena_new_of(host->arena, struct payload_map);
    for (size_t i = 0; i < all->count; i++) {
        if (!str_eq(all->items[i].key, "TemporalChangeVersion")) {
            payload_map_add(kept, host->arena, all->items[i].key, &all->items[i].payload);
        }
    }
    return kept->count > 0 ? kept : NULL;
}

/* Fills in what the code left as it is, and plans the next run from the whole. */
static void plan_continued(struct host *host, struct live *live, const struct run_output *out,
                           struct ev_workflow_execution_continued_as_new *a, struct chain *next)
{
    const struct ev_workflow_execution_started *s = start_of(host, live);
    if (!s) {
        return;
    }
    inherit(host, live, s, next);
    struct birth *b = &next->birth;
    a->new_execution_run_id = b->run_id;
    a->workflow_run_timeout = a->workflow_run_timeout ? a->workflow_run_timeout : b->run_timeout_ns;
    a->workflow_task_timeout =
        a->workflow_task_timeout ? a->workflow_task_timeout : b->task_timeout_ns;
    a->backoff_start_interval = spaced(host, live, s, a->backoff_start_interval);
    a->memo = a->memo ? a->memo : memo_now(host, live, out);
    a->search_attributes =
        a->search_attributes ? a->search_attributes : attributes_now(host, live, out);
    a->header = s->header;
    a->last_completion_result = s->last_completion_result;
    b->initiator = CONTINUE_AS_NEW_INITIATOR_WORKFLOW;
    b->type = a->workflow_type;
    b->task_queue = a->task_queue->name;
    b->input = a->input;
    b->memo = a->memo;
    b->search_attributes = a->search_attributes;
    b->run_timeout_ns = a->workflow_run_timeout;
    b->task_timeout_ns = a->workflow_task_timeout;
    b->first_task_backoff_ns = a->backoff_start_interval;
    b->retry = out->next_retry ? out->next_retry : b->retry;
    take_signals(host, live, out, b);
}

/* --- the closing event -------------------------------------------------------------------------
 */

/* The last event of the output becomes one of ours, to be filled in. */
static struct event *own_last(struct host *host, struct run_output *out)
{
    const struct event **events = arena_array_of(host->arena, const struct event *, out->count);
    struct event *last = arena_new_of(host->arena, struct event);
    memcpy(events, out->events, out->count * sizeof(*events));
    event_copy(last, out->events[out->count - 1], host->arena);
    events[out->count - 1] = last;
    out->events = events;
    return last;
}

void chain_plan_output(struct host *host, struct live *live, struct run_output *out,
                       struct chain *ret)
{
    *ret = (struct chain){0};
    if (out->count == 0) {
        return;
    }
    enum event_type type = out->events[out->count - 1]->type;
    if (type == EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW) {
        plan_continued(host, live, out, ev_workflow_execution_continued_as_new(own_last(host, out)),
                       ret);
    } else if (type == EVENT_WORKFLOW_EXECUTION_FAILED && live->is_chained) {
        struct ev_workflow_execution_failed *a = ev_workflow_execution_failed(own_last(host, out));
        a->retry_state = plan_failed(host, live, a->failure, ret);
        a->new_execution_run_id = ret->follows ? ret->birth.run_id : NULL;
    } else if (type == EVENT_WORKFLOW_EXECUTION_COMPLETED && live->is_chained) {
        struct ev_workflow_execution_completed *a =
            ev_workflow_execution_completed(own_last(host, out));
        plan_completed(host, live, a->result, ret);
        a->new_execution_run_id = ret->follows ? ret->birth.run_id : NULL;
    }
    live->next_run_id = ret->follows ? ret->birth.run_id : NULL;
}

enum retry_state chain_plan_timeout(struct host *host, struct live *live,
                                    const struct failure *failure, struct chain *ret)
{
    *ret = (struct chain){0};
    if (live->expires_ns > 0 && live->expires_ns <= host->now_ns) {
        return RETRY_STATE_TIMEOUT;
    }
    if (!live->is_chained) {
        return RETRY_STATE_RETRY_POLICY_NOT_SET;
    }
    enum retry_state state = plan_failed(host, live, failure, ret);
    live->next_run_id = ret->follows ? ret->birth.run_id : NULL;
    return state;
}

void chain_follow(struct host *host, struct live *live, const struct chain *next)
{
    struct execution_row row;
    if (!next->follows || txn_failed(host->txn)) {
        return;
    }
    birth_write(host->txn, host->arena, &next->birth, host->now_ns, &row);
    execution_set_next(host->txn, live->id, row.run_id);
    live->successor = row.id;
    turn_born(host);
}
