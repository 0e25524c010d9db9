/*
 * import_rows.c - what an imported history leaves open, and the rows that stand for it (import.h).
 *
 * Owns: activities from their first attempt, timers with their recorded times, children that are in
 * this store, updates, requests to signal. Must not: change the history.
 * Tests: tests/unit/test_engine_import.c
 */
#include <string.h>

#include "engine/import.h"
#include "journal/run_update.h"
#include "journal/task.h"
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

/* The child tells its end to the run that has come; if it has ended, the engine does it now. */
static void write_child(struct import *im, struct txn *txn, int64_t execution,
                        const struct event *event)
{
    const struct import_thing *t = thing(im, event->id);
    record_child(txn, execution, event, t->started_id, t->run_id);
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
            record_activity(txn, &im->row, event, event->time_ns, thing(im, event->id)->cancel_id);
        } else if (event->type == EVENT_TIMER_STARTED) {
            record_timer(txn, execution, event);
        } else if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
            write_child(im, txn, execution, event);
        }
    }
    task_put(txn, execution, TASK_START, im->now_ns);
}

/* --- what was asked of it --------------------------------------------------------------------- */

void import_write_requests(struct import *im, struct txn *txn, int64_t execution)
{
    for (size_t i = 0; i < im->history.count; i++) {
        record_request(txn, execution, &im->history.items[i]);
    }
    if (im->row.status != EXECUTION_RUNNING) {
        run_update_cut_off(txn, execution);
    }
}
