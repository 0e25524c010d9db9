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
#include "journal/child.h"
#include "journal/signal_request.h"
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

/* The last run of the child's chain belongs to the new run now. If it has ended, the engine tells
 * its end there. */
static void write_child(struct reset *r, const struct event *event, const struct open *open)
{
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
    record_child(r->a.txn, r->row.id, event, open->started_id, open->run_id);
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
            record_activity(r->a.txn, &r->row, event, r->a.now_ns, open->cancel_id);
        } else if (event->type == EVENT_TIMER_STARTED) {
            record_timer(r->a.txn, r->row.id, event);
        } else if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
            write_child(r, event, open);
        }
    }
}

/* --- what was asked of it -----------------------------------------------------------------------
 */

static void write_requests(struct reset *r)
{
    signal_request_copy(r->a.txn, r->base.id, r->row.id);
    for (size_t i = 0; i < r->fresh.count; i++) {
        record_request(r->a.txn, r->row.id, &r->fresh.items[i]);
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
