/*
 * reset_rows.c - the rows of a run that a reset made (reset.h): what its history leaves open.
 *
 * Owns: the execution with its time-outs counted anew; activities, which start over; timers, which
 * keep their times; children, which report to the new run from now on; updates, so that their
 * callers find the answers; requests to signal, so that a repeated one stays one. Must not: change
 * the history.
 * Tests: tests/unit/test_engine_reset.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/reset.h"
#include "journal/activity.h"
#include "journal/child.h"
#include "journal/run_update.h"
#include "journal/signal_request.h"
#include "journal/timer.h"
#include "worker/record.h"

/* --- the execution -----------------------------------------------------------------------------
 */

static void fill_row(struct reset *r)
{
    const struct ev_workflow_execution_started *s =
        ev_workflow_execution_started(&r->fresh.items[0]);
    const char *run_id = r->row.run_id;
    r->row = (struct execution_row){
        .workflow_id = r->base.workflow_id,
        .run_id = run_id,
        .type = r->base.type,
        .task_queue = r->base.task_queue,
        .status = EXECUTION_RUNNING,
        .next_event_id = (int64_t)r->fresh.count + 1,
        .started_ns = r->a.now_ns,
        .attempt = r->base.attempt,
        .task_timeout_ns = r->base.task_timeout_ns,
        .first_run_id = s->first_execution_run_id,
        .parent = r->base.parent,
        .parent_event_id = r->base.parent_event_id,
    };
    if (s->workflow_execution_timeout > 0) {
        r->row.expires_ns = time_later(r->a.now_ns, s->workflow_execution_timeout);
    }
    if (s->workflow_run_timeout > 0) {
        r->row.run_deadline_ns = time_later(r->a.now_ns, s->workflow_run_timeout);
    }
    for (size_t i = 0; i < r->fresh.count; i++) {
        record_state(r->a.arena, &r->row, &r->fresh.items[i]);
    }
}

/* --- what is open in the copied part ------------------------------------------------------------
 */

struct open {
    int64_t cancel_id;  /* of an activity: its request to cancel */
    int64_t started_id; /* of a child */
    const char *run_id; /* of a child's first run */
    bool is_closed;
};

/* opens[] by the event id of what was scheduled, started or initiated. */
static void note(struct open *opens, const struct event *event)
{
    int64_t ended = event_ends_id(event);
    if (ended > 0 && ended < event->id) {
        opens[ended].is_closed = true;
    } else if (event->type == EVENT_ACTIVITY_TASK_CANCEL_REQUESTED) {
        opens[event_scheduled_id(event)].cancel_id = event->id;
    } else if (event->type == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED) {
        const struct ev_child_workflow_execution_started *c =
            ev_child_workflow_execution_started(event);
        opens[c->initiated_event_id].started_id = event->id;
        opens[c->initiated_event_id].run_id =
            c->workflow_execution ? c->workflow_execution->run_id : NULL;
    }
}

/* From its first attempt, as if scheduled now. */
static void write_activity(struct reset *r, const struct event *event, const struct open *open)
{
    const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
    struct activity_row row = {
        .execution = r->row.id,
        .scheduled_event_id = event->id,
        .activity_id = a->activity_id ? a->activity_id : "",
        .type = a->activity_type ? a->activity_type : "",
        .task_queue =
            a->task_queue && a->task_queue->name ? a->task_queue->name : r->row.task_queue,
        .attempt = 1,
        .state = ACTIVITY_SCHEDULED,
        .scheduled_ns = r->a.now_ns,
        .deadline_ns = a->schedule_to_close_timeout
                           ? time_later(r->a.now_ns, a->schedule_to_close_timeout)
                           : 0,
        .priority = a->priority ? (int)a->priority->priority_key : 0,
        .concurrency_key = a->priority ? a->priority->fairness_key : NULL,
    };
    activity_insert(r->a.txn, &row);
    if (open->cancel_id) {
        activity_request_cancel(r->a.txn, r->row.id, event->id, open->cancel_id);
    }
}

static void write_timer(struct reset *r, const struct event *event)
{
    const struct ev_timer_started *t = ev_timer_started(event);
    timer_insert(r->a.txn, &(struct timer_row){
                               .execution = r->row.id,
                               .started_event_id = event->id,
                               .timer_id = t->timer_id ? t->timer_id : "",
                               .due_ns = time_later(event->time_ns, t->start_to_fire_timeout)});
}

/* The last run of the child's chain belongs to the new run now. If it has ended, the engine tells
 * its end there. */
static void write_child(struct reset *r, const struct event *event, const struct open *open)
{
    const struct ev_start_child_workflow_execution_initiated *i =
        ev_start_child_workflow_execution_initiated(event);
    struct execution_row row = {.next_run_id = open->run_id};
    struct err err = {0};
    while (row.next_run_id) {
        int rc = execution_find_run(txn_db(r->a.txn), r->a.arena, row.next_run_id, &row, &err);
        if (rc < 0) {
            txn_fail(r->a.txn, &err);
        }
        if (rc != 0) {
            return; /* it was deleted: nobody knows how it ended */
        }
    }
    if (row.id == 0) {
        return;
    }
    child_remove(r->a.txn, r->base.id, event->id);
    child_insert(r->a.txn, &(struct child_row){.execution = r->row.id,
                                               .initiated_event_id = event->id,
                                               .started_event_id = open->started_id,
                                               .close_policy = (int)i->parent_close_policy,
                                               .workflow_id = i->workflow_id,
                                               .run_id = open->run_id});
    execution_set_parent(r->a.txn, row.id, r->row.id);
    if (row.status != EXECUTION_RUNNING) {
        task_put(r->a.txn, row.id, TASK_TERMINATE, r->a.now_ns);
    }
}

static void write_open(struct reset *r)
{
    struct open *opens = arena_array_of(r->a.arena, struct open, r->fresh.count + 2);
    for (size_t i = 0; i < r->fresh.count; i++) {
        note(opens, &r->fresh.items[i]);
    }
    for (size_t i = 0; i < r->fresh.count; i++) {
        const struct event *event = &r->fresh.items[i];
        const struct open *open = &opens[event->id];
        if (open->is_closed) {
            continue;
        }
        if (event->type == EVENT_ACTIVITY_TASK_SCHEDULED) {
            write_activity(r, event, open);
        } else if (event->type == EVENT_TIMER_STARTED) {
            write_timer(r, event);
        } else if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
            write_child(r, event, open);
        }
    }
}

/* --- what was asked of it -----------------------------------------------------------------------
 */

static void admit(struct reset *r, const struct update_request *u, int64_t time_ns)
{
    if (u && u->meta && u->meta->update_id && u->input) {
        run_update_admit(
            r->a.txn, &(struct run_update_row){.execution = r->row.id,
                                               .update_id = u->meta->update_id,
                                               .created_ns = time_ns,
                                               .name = u->input->name,
                                               .input = payloads_first_json(u->input->args, NULL),
                                               .identity = u->meta->identity});
    }
}

static void complete(struct reset *r, const struct ev_workflow_execution_update_completed *c)
{
    autostr struct str failure = {0};
    if (!c->meta || !c->outcome) {
        return;
    }
    if (c->outcome->failure) {
        store_failure_encode(c->outcome->failure, &failure);
    }
    run_update_complete(r->a.txn, r->row.id, c->meta->update_id,
                        c->outcome->failure ? NULL : payloads_first_json(c->outcome->success, NULL),
                        c->outcome->failure ? str_c(&failure) : NULL);
}

static void write_requests(struct reset *r)
{
    signal_request_copy(r->a.txn, r->base.id, r->row.id);
    for (size_t i = 0; i < r->fresh.count; i++) {
        const struct event *event = &r->fresh.items[i];
        if (event->type == EVENT_WORKFLOW_EXECUTION_SIGNALED) {
            const char *request_id = ev_workflow_execution_signaled(event)->request_id;
            if (request_id && *request_id) {
                signal_request_put(r->a.txn, r->row.id, request_id);
            }
        } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED) {
            admit(r, ev_workflow_execution_update_admitted(event)->request, event->time_ns);
        } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
            const struct ev_workflow_execution_update_accepted *a =
                ev_workflow_execution_update_accepted(event);
            admit(r, a->accepted_request, event->time_ns);
            run_update_accept(r->a.txn, r->row.id, a->protocol_instance_id, event->id);
        } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
            complete(r, ev_workflow_execution_update_completed(event));
        }
    }
}

void reset_write(struct reset *r)
{
    fill_row(r);
    r->row.id = execution_insert(r->a.txn, &r->row);
    if (txn_failed(r->a.txn)) {
        return;
    }
    record_history(r->a.txn, &r->row, r->fresh.items, r->fresh.count);
    write_open(r);
    write_requests(r);
    task_put(r->a.txn, r->row.id, TASK_START, r->a.now_ns);
}
