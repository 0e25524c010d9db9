/*
 * import_rows.c - what an imported history leaves open, and the rows that stand for it (import.h).
 *
 * Owns: activities from their first attempt, timers with their recorded times, children that are in
 * this store, updates, requests to signal. Must not: change the history.
 * Tests: tests/unit/test_engine_import.c
 */
#include <string.h>

#include "engine/import.h"
#include "journal/activity.h"
#include "journal/child.h"
#include "journal/run_update.h"
#include "journal/signal_request.h"
#include "journal/task.h"
#include "journal/timer.h"
#include "worker/record.h"

/* --- what is open ----------------------------------------------------------------------------- */

/* The validator has seen to it that ids name earlier events; 0 is nobody's. */
static struct import_thing *thing(struct import *im, int64_t id)
{
    return &im->things[id > 0 && (size_t)id <= im->history.count ? id : 0];
}

static void survey_begin(struct import *im, const struct event *event)
{
    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED:
    case EVENT_TIMER_STARTED:
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_NEXUS_OPERATION_SCHEDULED:
        thing(im, event->id)->is_open = true;
        break;
    case EVENT_ACTIVITY_TASK_STARTED:
        thing(im, event_scheduled_id(event))->is_begun = true;
        break;
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
        thing(im, event_scheduled_id(event))->cancel_id = event->id;
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_STARTED: {
        const struct ev_child_workflow_execution_started *c =
            ev_child_workflow_execution_started(event);
        thing(im, c->initiated_event_id)->started_id = event->id;
        thing(im, c->initiated_event_id)->run_id =
            c->workflow_execution ? c->workflow_execution->run_id : NULL;
        break;
    }
    default:
        record_state(im->arena, &im->state, event);
        break;
    }
}

void import_survey(struct import *im, const struct event *event)
{
    int64_t ended = event_ends_id(event);
    if (ended) {
        thing(im, ended)->is_open = false;
    } else {
        survey_begin(im, event);
    }
}

/* The last run of the child's chain in this store, when it says itself that this request started
 * it; 0, 1 there is none, <0. */
static int find_child(struct import *im, struct db *db, int64_t initiated_id, struct err *err)
{
    struct import_thing *t = thing(im, initiated_id);
    struct execution_row row = {.next_run_id = t->run_id};
    while (row.next_run_id) {
        int rc = execution_find_run(db, im->arena, row.next_run_id, &row, err);
        if (rc != 0) {
            return rc;
        }
    }
    t->child = row.id;
    t->child_is_closed = row.status != EXECUTION_RUNNING;
    return row.id && row.parent_event_id == initiated_id ? 0 : 1;
}

int import_check_open(struct import *im, struct db *db)
{
    for (size_t i = 0; i < im->history.count; i++) {
        const struct event *event = &im->history.items[i];
        struct import_thing *t = thing(im, event->id);
        struct err err = {0};
        if (!t->is_open || event->type == EVENT_TIMER_STARTED ||
            (event->type == EVENT_ACTIVITY_TASK_SCHEDULED && !t->is_begun)) {
            continue;
        }
        if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED && t->run_id) {
            int rc = find_child(im, db, event->id, &err);
            if (rc < 0) {
                return engine_fail(im->engine, &err);
            }
            if (rc == 0) {
                continue;
            }
            return engine_refuse(
                im->engine, DUR_INVALID,
                "the run is open and waits for its child %s (event %lld): import that run first",
                ev_start_child_workflow_execution_initiated(event)->workflow_id,
                (long long)event->id);
        }
        return engine_refuse(im->engine, DUR_INVALID,
                             "the run is open and waits for event %lld (%s), which only the server "
                             "that recorded it can bring to an end",
                             (long long)event->id, event_type_title(event->type));
    }
    return DUR_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void write_activity(struct import *im, struct txn *txn, int64_t execution,
                           const struct event *event)
{
    const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
    struct activity_row row = {
        .execution = execution,
        .scheduled_event_id = event->id,
        .activity_id = a->activity_id ? a->activity_id : "",
        .type = a->activity_type ? a->activity_type : "",
        .task_queue =
            a->task_queue && a->task_queue->name ? a->task_queue->name : im->row.task_queue,
        .attempt = 1,
        .state = ACTIVITY_SCHEDULED,
        .scheduled_ns = event->time_ns,
        .deadline_ns = a->schedule_to_close_timeout
                           ? time_later(event->time_ns, a->schedule_to_close_timeout)
                           : 0,
        .priority = a->priority ? (int)a->priority->priority_key : 0,
        .concurrency_key = a->priority ? a->priority->fairness_key : NULL,
    };
    activity_insert(txn, &row);
    if (thing(im, event->id)->cancel_id) {
        activity_request_cancel(txn, execution, event->id, thing(im, event->id)->cancel_id);
    }
}

static void write_timer(struct txn *txn, int64_t execution, const struct event *event)
{
    const struct ev_timer_started *t = ev_timer_started(event);
    timer_insert(
        txn, &(struct timer_row){.execution = execution,
                                 .started_event_id = event->id,
                                 .timer_id = t->timer_id ? t->timer_id : "",
                                 .due_ns = time_later(event->time_ns, t->start_to_fire_timeout)});
}

/* The child tells its end to the run that has come; if it has ended, the engine does it now. */
static void write_child(struct import *im, struct txn *txn, int64_t execution,
                        const struct event *event)
{
    const struct ev_start_child_workflow_execution_initiated *i =
        ev_start_child_workflow_execution_initiated(event);
    const struct import_thing *t = thing(im, event->id);
    int policy = (int)i->parent_close_policy;
    child_insert(txn, &(struct child_row){.execution = execution,
                                          .initiated_event_id = event->id,
                                          .started_event_id = t->started_id,
                                          .close_policy = policy ? policy : CHILD_CLOSE_TERMINATE,
                                          .workflow_id = i->workflow_id,
                                          .run_id = t->run_id});
    execution_set_parent(txn, t->child, execution);
    if (t->child_is_closed) {
        task_put(txn, t->child, TASK_TERMINATE, im->now_ns);
    }
}

void import_write_open(struct import *im, struct txn *txn, int64_t execution)
{
    for (size_t i = 0; i < im->history.count; i++) {
        const struct event *event = &im->history.items[i];
        if (!thing(im, event->id)->is_open) {
            continue;
        }
        if (event->type == EVENT_ACTIVITY_TASK_SCHEDULED) {
            write_activity(im, txn, execution, event);
        } else if (event->type == EVENT_TIMER_STARTED) {
            write_timer(txn, execution, event);
        } else if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
            write_child(im, txn, execution, event);
        }
    }
    task_put(txn, execution, TASK_START, im->now_ns);
}

/* --- what was asked of it --------------------------------------------------------------------- */

static void write_update(struct txn *txn, int64_t execution, const struct event *event)
{
    const struct ev_workflow_execution_update_accepted *a =
        ev_workflow_execution_update_accepted(event);
    const struct update_request *u = a->accepted_request;
    if (!u || !u->meta || !u->meta->update_id || !*u->meta->update_id || !u->input) {
        return; /* of a server that did not write the request down */
    }
    run_update_admit(txn,
                     &(struct run_update_row){.execution = execution,
                                              .update_id = u->meta->update_id,
                                              .created_ns = event->time_ns,
                                              .name = u->input->name ? u->input->name : "",
                                              .input = payloads_first_json(u->input->args, NULL),
                                              .identity = u->meta->identity});
    run_update_accept(txn, execution, u->meta->update_id, event->id);
}

static void write_outcome(struct txn *txn, int64_t execution, const struct event *event)
{
    const struct ev_workflow_execution_update_completed *c =
        ev_workflow_execution_update_completed(event);
    autostr struct str failure = {0};
    if (!c->meta || !c->meta->update_id || !c->outcome) {
        return;
    }
    if (c->outcome->failure) {
        store_failure_encode(c->outcome->failure, &failure);
    }
    run_update_complete(txn, execution, c->meta->update_id,
                        c->outcome->failure ? NULL : payloads_first_json(c->outcome->success, NULL),
                        c->outcome->failure ? str_c(&failure) : NULL);
}

void import_write_requests(struct import *im, struct txn *txn, int64_t execution)
{
    for (size_t i = 0; i < im->history.count; i++) {
        const struct event *event = &im->history.items[i];
        if (event->type == EVENT_WORKFLOW_EXECUTION_SIGNALED) {
            const char *request_id = ev_workflow_execution_signaled(event)->request_id;
            if (request_id && *request_id) {
                signal_request_put(txn, execution, request_id);
            }
        } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
            write_update(txn, execution, event);
        } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
            write_outcome(txn, execution, event);
        }
    }
}
