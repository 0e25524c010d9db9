/*
 * settle.c - what the end of an attempt means (host.h).
 *
 * Owns: the step from an outcome (done, failed, timed out, cancelled, lost with its engine) to
 * either the closing events or the next attempt. The STARTED event of an activity is written only
 * here, directly before the closing event, with the attempt that closed it (Temporal's rule 2.8).
 * Must not: begin or end transactions, dispatch.
 * Tests: tests/unit/test_engine_activity.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "exec/failure_info.h"
#include "history/failure.h"
#include "worker/host.h"

#define LAST_FAILURE_BYTES 4096 /* of a failed attempt, while others follow: Temporal's limit */
#define LAST_FAILURE_CUT 2048   /* what is left of the message of a longer one */

/* ACTIVITY_TASK_STARTED of the final attempt; its id. */
static int64_t append_started(struct host *host, struct pending *p)
{
    struct event *event = live_append(host, p->live, EVENT_ACTIVITY_TASK_STARTED);
    struct ev_activity_task_started *a = ev_activity_task_started(event);
    event->time_ns = p->started_ns;
    a->scheduled_event_id = p->scheduled_id;
    a->identity = host->identity;
    a->attempt = p->attempt;
    if (p->last_failure &&
        store_failure_decode(host->arena, p->last_failure, strlen(p->last_failure),
                             &a->last_failure, NULL) < 0) {
        a->last_failure = NULL;
    }
    return event->id;
}

/* The activity is over: its row goes, the workflow must see it. */
static void close_activity(struct host *host, struct pending *p)
{
    struct live *live = p->live;
    activity_delete(host->txn, live->id, p->scheduled_id);
    pending_remove(host, p);
    live->wake = true;
}

void settle_completed(struct host *host, struct pending *p, const char *result,
                      const char *identity)
{
    int64_t started = append_started(host, p);
    struct event *event = live_append(host, p->live, EVENT_ACTIVITY_TASK_COMPLETED);
    struct ev_activity_task_completed *a = ev_activity_task_completed(event);
    a->scheduled_event_id = p->scheduled_id;
    a->started_event_id = started;
    a->identity = identity ? identity : host->identity;
    a->result = payloads_json(host->arena, result);
    close_activity(host, p);
}

static void fail(struct host *host, struct pending *p, struct failure *failure,
                 enum retry_state state, const char *identity)
{
    int64_t started = append_started(host, p);
    struct event *event = live_append(host, p->live, EVENT_ACTIVITY_TASK_FAILED);
    struct ev_activity_task_failed *a = ev_activity_task_failed(event);
    a->failure = failure;
    a->scheduled_event_id = p->scheduled_id;
    a->started_event_id = started;
    a->identity = identity ? identity : host->identity;
    a->retry_state = state;
    close_activity(host, p);
}

static void time_out(struct host *host, struct pending *p, struct failure *failure,
                     enum retry_state state, bool was_started)
{
    int64_t started = was_started ? append_started(host, p) : 0;
    struct event *event = live_append(host, p->live, EVENT_ACTIVITY_TASK_TIMED_OUT);
    struct ev_activity_task_timed_out *a = ev_activity_task_timed_out(event);
    a->failure = failure;
    a->scheduled_event_id = p->scheduled_id;
    a->started_event_id = started;
    a->retry_state = state;
    close_activity(host, p);
}

void settle_canceled(struct host *host, struct pending *p, bool was_started, const char *identity)
{
    int64_t started = was_started ? append_started(host, p) : 0;
    struct event *event = live_append(host, p->live, EVENT_ACTIVITY_TASK_CANCELED);
    struct ev_activity_task_canceled *a = ev_activity_task_canceled(event);
    a->latest_cancel_requested_event_id = p->cancel_event_id;
    a->scheduled_event_id = p->scheduled_id;
    a->started_event_id = started;
    a->identity = identity ? identity : host->identity;
    close_activity(host, p);
}

void settle_details(struct host *host, struct pending *p)
{
    char *details;
    uint64_t seq;
    struct dur_activity *attempt = p->running;
    if (!attempt || !attempt_take_details(attempt, &details, &seq)) {
        return;
    }
    activity_heartbeat(host->txn, p->live->id, p->scheduled_id, p->attempt, host->now_ns,
                       p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns : 0,
                       details);
    free(p->details);
    p->details = details;
    attempt->flush_seq = seq;
    if (!attempt->flush_listed) {
        attempt->flush_listed = true;
        attempt->next_flushed = host->flushed;
        host->flushed = attempt;
    }
}

/* The attempt goes on without this activity: it is told so, its last details are kept. */
static void part(struct host *host, struct pending *p, const char *reason)
{
    if (p->running) {
        settle_details(host, p);
        claim_tell(host, p->running, reason, true);
        p->running = NULL;
    }
}

/* As Temporal's server keeps it: what is longer than 4 KiB is cut and wrapped. Our own mark of
 * ambiguity stays, because the next attempt acts upon it. */
static const struct failure *truncated(struct host *host, const struct failure *failure)
{
    struct failure *cut = arena_new_of(host->arena, struct failure);
    size_t len = failure->message ? strlen(failure->message) : 0;
    cut->source = failure->source;
    cut->message = arena_strndup(host->arena, failure->message ? failure->message : "",
                                 utf8_prefix(failure->message, len, LAST_FAILURE_CUT));
    if (failure->application_failure_info) {
        bool is_ambiguous = failure_dur_kind(failure) == DUR_AMBIGUOUS;
        struct failure *plain =
            failure_of_kind(host->arena, is_ambiguous ? DUR_AMBIGUOUS : DUR_TRANSIENT,
                            failure_type(failure), NULL, NULL);
        cut->application_failure_info = plain->application_failure_info;
    } else if (failure->timeout_failure_info) {
        cut->timeout_failure_info = arena_new_of(host->arena, struct timeout_failure_info);
        cut->timeout_failure_info->timeout_type = failure->timeout_failure_info->timeout_type;
    }
    struct failure *wrapper = arena_new_of(host->arena, struct failure);
    wrapper->message = "Failure exceeds size limit.";
    wrapper->source = "Server";
    wrapper->server_failure_info = arena_new_of(host->arena, struct server_failure_info);
    wrapper->cause = cut;
    return wrapper;
}

static void set_last_failure(struct host *host, struct pending *p, const struct failure *failure)
{
    autostr struct str text = {0};
    store_failure_encode(failure, &text);
    if (text.len > LAST_FAILURE_BYTES) {
        str_reset(&text);
        store_failure_encode(truncated(host, failure), &text);
    }
    free(p->last_failure);
    p->last_failure = str_take(&text);
}

/* Another attempt after delay_ns. */
static void retry(struct host *host, struct pending *p, const struct failure *failure,
                  int64_t delay_ns)
{
    p->attempt++;
    p->state = ACTIVITY_BACKOFF;
    p->running = NULL;
    p->is_async = false;
    p->queued_ns = time_later(host->now_ns, delay_ns);
    set_last_failure(host, p, failure);
    int64_t closes = p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns : 0;
    activity_backoff(host->txn, p->live->id, p->scheduled_id, p->attempt, p->queued_ns, closes,
                     p->last_failure);
    heap_push(&host->wall, &(struct due){.at_ns = p->queued_ns,
                                         .kind = DUE_RETRY,
                                         .execution = p->live->id,
                                         .event = p->scheduled_id,
                                         .stamp = p->attempt});
}

static struct retry_case retry_case_of(struct host *host, const struct pending *p)
{
    return (struct retry_case){
        .attempt = p->attempt,
        .cancel_requested = p->cancel_event_id != 0,
        .now_ns = host->now_ns,
        .expires_ns = p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns : 0,
    };
}

void settle_failed(struct host *host, struct pending *p, const struct attempt_outcome *o,
                   const char *identity)
{
    struct failure *failure =
        failure_of_kind(host->arena, o->kind, o->type, o->message, o->details);
    failure->application_failure_info->next_retry_delay = o->next_delay_ns;
    struct retry_case now = retry_case_of(host, p);
    now.type = o->type;
    now.non_retryable = o->kind == DUR_PERMANENT;
    now.next_delay_ns = o->next_delay_ns;
    int64_t delay = 0;
    enum retry_state state = retry_decide(&p->rule, &now, &delay);
    if (state == RETRY_STATE_IN_PROGRESS) {
        retry(host, p, failure, delay);
    } else {
        fail(host, p, failure, state, identity);
    }
}

/* The engine stops: the attempt did not count, the next engine starts it again. */
static void put_back(struct host *host, struct pending *p)
{
    p->state = ACTIVITY_BACKOFF;
    p->running = NULL;
    p->queued_ns = host->now_ns;
    int64_t closes = p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns : 0;
    activity_backoff(host->txn, p->live->id, p->scheduled_id, p->attempt, p->queued_ns, closes,
                     p->last_failure);
}

void settle_done(struct host *host, struct dur_activity *attempt, struct live *live)
{
    struct pending *p = live_pending(live, attempt->scheduled_event_id);
    if (!p || p->state != ACTIVITY_STARTED || p->attempt != attempt->attempt) {
        return; /* fenced meanwhile: the outcome has no one to hear it */
    }
    const struct attempt_outcome *o = &attempt->outcome;
    const char *reason = NULL;
    settle_details(host, p); /* a throttled heartbeat is not lost with its attempt */
    p->running = NULL;
    switch (o->code) {
    case DUR_OK:
        settle_completed(host, p, o->result, NULL);
        break;
    case DUR_PENDING:
        p->is_async = true;
        p->beat_ns = host->now_ns;
        activity_set_async(host->txn, live->id, p->scheduled_id, p->attempt, p->beat_ns,
                           due_async_ns(p));
        due_arm_async(host, p);
        break;
    case DUR_CANCELLED:
        dur_activity_cancelled(attempt, &reason);
        if (p->cancel_event_id) {
            settle_canceled(host, p, true, NULL);
        } else if (str_eq(reason, "stopping")) {
            put_back(host, p);
        } else {
            settle_timeout(host, p, TIMEOUT_TYPE_START_TO_CLOSE);
        }
        break;
    default:
        settle_failed(host, p, o, NULL);
        break;
    }
}

static const char *rule_name(enum timeout_type type)
{
    return type == TIMEOUT_TYPE_HEARTBEAT ? "TemporalTimeout:Heartbeat"
                                          : "TemporalTimeout:StartToClose";
}

/* is_final: the failure of the attempt before lies under it, and its details are told. Not so while
 * attempts go on: each would carry all that came before. */
static struct failure *timeout_failure(struct host *host, const struct pending *p,
                                       enum timeout_type type, bool is_final)
{
    static const char *const words[] = {"", "StartToClose", "ScheduleToStart", "ScheduleToClose",
                                        "Heartbeat"};
    struct failure *cause = NULL;
    struct payloads *details =
        is_final && p->details ? payloads_json(host->arena, p->details) : NULL;
    if (is_final && p->last_failure &&
        store_failure_decode(host->arena, p->last_failure, strlen(p->last_failure), &cause, NULL) <
            0) {
        cause = NULL;
    }
    struct failure *failure = failure_timeout(
        host->arena, type, arena_printf(host->arena, "activity %s timeout", words[type]), details,
        cause);
    failure->source = "Server"; /* in Temporal it is the server that says so */
    return failure;
}

/* Shared by time-outs of attempts and attempts that died with their engine. */
static void end_attempt(struct host *host, struct pending *p, enum timeout_type type, bool at_once)
{
    part(host, p, "timed out");
    struct retry_case now = retry_case_of(host, p);
    now.type = rule_name(type);
    int64_t delay = 0;
    enum retry_state state = retry_decide(&p->rule, &now, &delay);
    if (state == RETRY_STATE_IN_PROGRESS) {
        retry(host, p, timeout_failure(host, p, type, false), at_once ? 0 : delay);
        return;
    }
    struct failure *failure = timeout_failure(host, p, type, true);
    if (state == RETRY_STATE_TIMEOUT) {
        failure = timeout_failure(host, p, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, true);
        failure->message = "Not enough time to schedule next retry before activity ScheduleToClose "
                           "timeout, giving up retrying";
    }
    time_out(host, p, failure, state, true);
}

void settle_timeout(struct host *host, struct pending *p, enum timeout_type type)
{
    if (type == TIMEOUT_TYPE_START_TO_CLOSE || type == TIMEOUT_TYPE_HEARTBEAT) {
        end_attempt(host, p, type, false);
        return;
    }
    bool was_started = p->state == ACTIVITY_STARTED;
    enum retry_state state =
        p->cancel_event_id ? RETRY_STATE_CANCEL_REQUESTED : RETRY_STATE_TIMEOUT;
    part(host, p, "timed out");
    time_out(host, p, timeout_failure(host, p, type, true), state, was_started);
}

void settle_lost(struct host *host, struct pending *p)
{
    if (p->cancel_event_id) {
        settle_canceled(host, p, true, NULL);
        return;
    }
    end_attempt(host, p, p->heartbeat_ns ? TIMEOUT_TYPE_HEARTBEAT : TIMEOUT_TYPE_START_TO_CLOSE,
                p->attempt < HOST_FAST_FAILOVERS);
}
