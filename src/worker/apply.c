/*
 * apply.c - what the commands of a workflow task mean beside their events (host.h).
 *
 * Owns: pending rows, timers, memo and the close of a run, in the turn's transaction. Walks the
 * events that the run produced. Must not: write events of its own, but ACTIVITY_TASK_CANCELED of an
 * activity that had not started (Temporal's rule 2.6).
 * Tests: tests/unit/test_engine_run.c, tests/unit/test_engine_activity.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "history/attributes.h"
#include "history/failure.h"
#include "history/map.h"
#include "journal/timer.h"
#include "worker/host.h"

static void schedule_activity(struct host *host, struct live *live, const struct event *event)
{
    struct pending *p = pending_new(live, event, host);
    bool started = claim_now(host, p);
    if (!started) {
        claim_enqueue(host, p);
    }
    struct activity_row row = {
        .execution = live->id,
        .scheduled_event_id = p->scheduled_id,
        .activity_id = p->activity_id,
        .type = p->type,
        .task_queue = p->lane->name,
        .attempt = p->attempt,
        .state = p->state,
        .epoch = started ? host->epoch : 0,
        .scheduled_ns = p->scheduled_ns,
        .started_ns = p->started_ns,
        .deadline_ns = p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns : 0,
        .priority = p->priority,
        .concurrency_key = p->concurrency_key,
    };
    if (!started && claim_line(host, p->lane->name)->limits) {
        row.queued_ns = p->queued_ns;
    }
    activity_insert(host->txn, &row);
    due_arm_pending(host, p);
}

/* closing: the same task ends the run, so nobody will see the activity's end (as in Temporal, where
 * the buffered event is dropped with the run). */
static void cancel_activity(struct host *host, struct live *live, const struct event *event,
                            bool closing)
{
    const struct ev_activity_task_cancel_requested *a = ev_activity_task_cancel_requested(event);
    struct pending *p = live_pending(live, a->scheduled_event_id);
    if (!p) {
        return; /* closed in the same turn: accepted, without effect */
    }
    p->cancel_event_id = event->id;
    activity_request_cancel(host->txn, live->id, p->scheduled_id, event->id);
    if (p->state != ACTIVITY_STARTED && !closing) {
        settle_canceled(host, p, false, NULL);
    } else if (p->running) {
        claim_tell(host, p->running, "cancelled", false);
    }
}

static void start_timer(struct host *host, struct live *live, const struct event *event)
{
    const struct ev_timer_started *a = ev_timer_started(event);
    struct open_timer *timer = mem_alloc(sizeof(*timer));
    timer->started_id = event->id;
    timer->timer_id = mem_strdup(a->timer_id);
    timer->due_ns = time_later(host->now_ns, a->start_to_fire_timeout);
    timer->next = live->timers;
    live->timers = timer;
    timer_insert(host->txn, &(struct timer_row){.execution = live->id,
                                                .started_event_id = event->id,
                                                .timer_id = a->timer_id,
                                                .due_ns = timer->due_ns});
    heap_push(&host->wall, &(struct due){.at_ns = timer->due_ns,
                                         .kind = DUE_TIMER,
                                         .execution = live->id,
                                         .event = event->id});
}

static void cancel_timer(struct host *host, struct live *live, const struct event *event)
{
    const struct ev_timer_canceled *a = ev_timer_canceled(event);
    for (struct open_timer **link = &live->timers; *link; link = &(*link)->next) {
        struct open_timer *timer = *link;
        if (timer->started_id == a->started_event_id) {
            *link = timer->next;
            free(timer->timer_id);
            free(timer);
            break;
        }
    }
    timer_remove(host->txn, live->id, a->started_event_id);
}

static void merge_memo(struct host *host, struct live *live, const struct payload_map *fresh)
{
    const char *merged = map_merge(host->arena, live->memo, fresh);
    free(live->memo);
    live->memo = mem_strdup(merged);
    execution_set_memo(host->txn, live->id, live->memo);
}

static void merge_search_attributes(struct host *host, struct live *live,
                                    const struct payload_map *fresh)
{
    const char *merged = attributes_merge(host->arena, live->search_attributes, fresh);
    free(live->search_attributes);
    live->search_attributes = mem_strdup(merged);
    execution_set_search_attributes(host->txn, live->id, merged);
}

void apply_close(struct host *host, struct live *live, enum execution_status status,
                 const char *result, const char *failure)
{
    live_write(host, live); /* the row of the run keeps where its history ends */
    execution_close(host->txn, live->id, status, host->now_ns, result, failure);
    live->closed = true;
    live->wake = false;
    for (struct pending *p = live->pending; p; p = p->next) {
        claim_leave(host, p);
        p->running = NULL;
    }
    live_fence(host, live->id);
    family_gone(host, live->id);
}

static const char *failure_text(struct host *host, const struct failure *failure)
{
    autostr struct str text = {0};
    store_failure_encode(failure, &text);
    return arena_strdup(host->arena, str_c(&text));
}

static void apply_event(struct host *host, struct live *live, const struct event *event,
                        bool closing)
{
    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED:
        schedule_activity(host, live, event);
        break;
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
        cancel_activity(host, live, event, closing);
        break;
    case EVENT_TIMER_STARTED:
        start_timer(host, live, event);
        break;
    case EVENT_TIMER_CANCELED:
        cancel_timer(host, live, event);
        break;
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED:
        merge_memo(host, live, ev_workflow_properties_modified(event)->upserted_memo);
        break;
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
        updates_accepted(host, live, event);
        break;
    case EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
        updates_completed(host, live, event);
        break;
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        merge_search_attributes(host, live,
                                ev_upsert_workflow_search_attributes(event)->search_attributes);
        break;
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        apply_close(host, live, EXECUTION_COMPLETED,
                    payloads_first_json(ev_workflow_execution_completed(event)->result, NULL),
                    NULL);
        break;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        apply_close(host, live, EXECUTION_FAILED, NULL,
                    failure_text(host, ev_workflow_execution_failed(event)->failure));
        break;
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
        apply_close(host, live, EXECUTION_CANCELED, NULL,
                    failure_text(host, failure_canceled(host->arena, NULL)));
        break;
    case EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        apply_close(host, live, EXECUTION_CONTINUED_AS_NEW, NULL, NULL);
        break;
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        family_start_child(host, live, event, closing);
        break;
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        family_signal(host, live, event, closing);
        break;
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        family_cancel(host, live, event, closing);
        break;
    default: /* markers live in the history alone */
        break;
    }
}

void apply_output(struct host *host, struct live *live, const struct run_output *out)
{
    bool closing = event_is_close(out->events[out->count - 1]->type);
    for (size_t i = 1; i < out->count; i++) { /* [0] is WORKFLOW_TASK_COMPLETED */
        apply_event(host, live, out->events[i], closing);
    }
}
