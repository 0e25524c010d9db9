/*
 * record_rows.c - the rows that stand for what a whole history leaves open or was asked (record.h).
 *
 * Owns: what is usual where the history of another server says nothing. Must not: decide what is
 * open, or change a history.
 * Tests: tests/unit/test_engine_import.c, tests/unit/test_engine_reset.c
 */
#include "base/clock.h"
#include "base/str.h"
#include "history/store.h"
#include "journal/activity.h"
#include "journal/child.h"
#include "journal/run_update.h"
#include "journal/signal_request.h"
#include "journal/timer.h"
#include "worker/record.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* --- open --------------------------------------------------------------------------------------
 */

void record_activity(struct txn *txn, const struct execution_row *row, const struct event *event,
                     int64_t scheduled_ns, int64_t cancel_id)
{
    const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
    struct activity_row activity = {
        .execution = row->id,
        .scheduled_event_id = event->id,
        .activity_id = or_empty(a->activity_id),
        .type = or_empty(a->activity_type),
        .task_queue = a->task_queue && a->task_queue->name ? a->task_queue->name : row->task_queue,
        .attempt = 1,
        .state = ACTIVITY_SCHEDULED,
        .scheduled_ns = scheduled_ns,
        .deadline_ns = a->schedule_to_close_timeout
                           ? time_later(scheduled_ns, a->schedule_to_close_timeout)
                           : 0,
        .priority = a->priority ? (int)a->priority->priority_key : 0,
        .concurrency_key = a->priority ? a->priority->fairness_key : NULL,
    };
    activity_insert(txn, &activity);
    if (cancel_id) {
        activity_request_cancel(txn, row->id, event->id, cancel_id);
    }
}

void record_timer(struct txn *txn, int64_t execution, const struct event *event)
{
    const struct ev_timer_started *t = ev_timer_started(event);
    timer_insert(
        txn, &(struct timer_row){.execution = execution,
                                 .started_event_id = event->id,
                                 .timer_id = or_empty(t->timer_id),
                                 .due_ns = time_later(event->time_ns, t->start_to_fire_timeout)});
}

void record_child(struct txn *txn, int64_t execution, const struct event *event, int64_t started_id,
                  const char *run_id)
{
    const struct ev_start_child_workflow_execution_initiated *i =
        ev_start_child_workflow_execution_initiated(event);
    int policy = (int)i->parent_close_policy;
    child_insert(txn, &(struct child_row){.execution = execution,
                                          .initiated_event_id = event->id,
                                          .started_event_id = started_id,
                                          .close_policy = policy ? policy : CHILD_CLOSE_TERMINATE,
                                          .workflow_id = or_empty(i->workflow_id),
                                          .run_id = or_empty(run_id)});
}

/* --- asked -------------------------------------------------------------------------------------
 */

static const char *id_of(const struct update_meta *meta)
{
    return meta && meta->update_id && *meta->update_id ? meta->update_id : NULL;
}

static void admit(struct txn *txn, int64_t execution, const struct update_request *u,
                  int64_t time_ns)
{
    if (u && id_of(u->meta) && u->input) {
        run_update_admit(
            txn, &(struct run_update_row){.execution = execution,
                                          .update_id = u->meta->update_id,
                                          .created_ns = time_ns,
                                          .name = or_empty(u->input->name),
                                          .input = payloads_first_json(u->input->args, NULL),
                                          .identity = u->meta->identity});
    }
}

/* The request may stand in the ADMITTED before. */
static void accept(struct txn *txn, int64_t execution, const struct event *event)
{
    const struct ev_workflow_execution_update_accepted *a =
        ev_workflow_execution_update_accepted(event);
    const struct update_request *u = a->accepted_request;
    const char *id = u ? id_of(u->meta) : NULL;
    admit(txn, execution, u, event->time_ns);
    run_update_accept(txn, execution, id ? id : or_empty(a->protocol_instance_id), event->id);
}

static void complete(struct txn *txn, int64_t execution,
                     const struct ev_workflow_execution_update_completed *c)
{
    autostr struct str failure = {0};
    if (!id_of(c->meta) || !c->outcome) {
        return;
    }
    if (c->outcome->failure) {
        store_failure_encode(c->outcome->failure, &failure);
    }
    run_update_complete(txn, execution, c->meta->update_id,
                        c->outcome->failure ? NULL : payloads_first_json(c->outcome->success, NULL),
                        c->outcome->failure ? str_c(&failure) : NULL);
}

void record_request(struct txn *txn, int64_t execution, const struct event *event)
{
    if (event->type == EVENT_WORKFLOW_EXECUTION_SIGNALED) {
        const char *request_id = ev_workflow_execution_signaled(event)->request_id;
        if (request_id && *request_id) {
            signal_request_put(txn, execution, request_id);
        }
    } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED) {
        admit(txn, execution, ev_workflow_execution_update_admitted(event)->request,
              event->time_ns);
    } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
        accept(txn, execution, event);
    } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
        complete(txn, execution, ev_workflow_execution_update_completed(event));
    }
}
