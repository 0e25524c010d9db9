/*
 * client_look.c - dur_describe and pending activities of a run on a server.
 *
 * Owns: a dur_description from what the server tells of a run, and from the events that say what it
 * does not: the closing one (result, failure, the next run), the first one (attempt), the last
 * failed workflow task (why the run makes no progress).
 * Must not: ask for an event that is not needed.
 * Tests: tests/temporal/test_client.c, tests/temporal/test_asking.c, tests/temporal/test_pending.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "history/field.h"
#include "temporal/client.h"
#include "temporal/remote.h"

/* --- what a list has, too --------------------------------------------------------------------- */

static const char *parent_of(struct arena *arena, const Pb__WorkflowExecution *parent)
{
    return parent && *parent->workflow_id
               ? arena_printf(arena, "%s@%s", parent->workflow_id, parent->run_id)
               : NULL;
}

int client_info(struct remote *remote, struct arena *arena, const Pb__WorkflowExecutionInfo *info,
                dur_description *ret, struct err *err)
{
    const Pb__WorkflowExecution *execution = info->execution;
    int64_t begins_ns = value_ns(info->execution_time);

    *ret = (dur_description){
        .workflow_id = arena_strdup(arena, execution ? execution->workflow_id : ""),
        .run_id = arena_strdup(arena, execution ? execution->run_id : ""),
        .type = arena_strdup(arena, info->type ? info->type->name : ""),
        .task_queue = arena_strdup(arena, remote_queue_shown(remote, info->task_queue)),
        .status = (dur_status)info->status,
        .started_ns = value_ns(info->start_time),
        .closed_ns = value_ns(info->close_time),
        .history_events = info->history_length,
        .history_bytes = info->history_size_bytes,
        .parent = parent_of(arena, info->parent_execution),
    };
    bool is_open = ret->status == DUR_RUNNING || ret->status == DUR_PAUSED;
    ret->begins_ns = is_open && begins_ns > clock_wall_ns() ? begins_ns : 0;
    ret->first_run_id = *info->first_run_id ? arena_strdup(arena, info->first_run_id) : ret->run_id;
    if (value_show_memo(remote, arena, info->memo, &ret->memo, err) < 0) {
        return client_bad(err, "the run's memo");
    }
    if (value_read_attributes(arena, info->search_attributes, &ret->search_attributes, err) < 0) {
        return client_bad(err, "the run's search attributes");
    }
    return DUR_OK;
}

/* --- what events tell ------------------------------------------------------------------------- */

/* Of a run that others came before: how often it was tried. */
static int add_attempt(struct remote *remote, struct arena *arena, const char *id,
                       const Pb__WorkflowExecution *run, dur_description *d, struct err *err)
{
    autopb ProtobufCMessage *answer = NULL;
    struct history history;

    d->attempt = 1;
    if (str_eq(d->first_run_id, d->run_id)) {
        return DUR_OK;
    }
    int rc = client_page(remote, id, run, &(struct client_part){.most = 1}, &answer, err);
    if (rc != DUR_OK) {
        return rc;
    }
    const Pb__GetWorkflowExecutionHistoryResponse *page =
        (Pb__GetWorkflowExecutionHistoryResponse *)answer;
    ProtobufCBinaryData bytes =
        page->n_raw_history > 0 ? page->raw_history[0]->data : page->history;
    if (value_show_history(remote, arena, bytes, &history, err) < 0) {
        return client_bad(err, "the run's first event");
    }
    if (history.count > 0 && history.items[0].type == EVENT_WORKFLOW_EXECUTION_STARTED) {
        int attempt = ev_workflow_execution_started(&history.items[0])->attempt;
        d->attempt = attempt > 0 ? attempt : 1;
    }
    return DUR_OK;
}

static int add_closing(struct remote *remote, struct arena *arena, const char *id,
                       const Pb__WorkflowExecution *run, dur_description *d, struct err *err)
{
    const struct event *closing;
    int rc = client_closing(remote, arena, id, run, &closing, err);

    if (rc != DUR_OK) {
        return rc > 0 ? DUR_OK : rc;
    }
    d->result = client_result_of(arena, closing);
    d->failure = value_failure_json(arena, client_failure_of(arena, closing));
    d->next_run_id = client_next_run(closing);
    return DUR_OK;
}

static bool is_task_end(const struct event *event)
{
    return event->type == EVENT_WORKFLOW_TASK_FAILED ||
           event->type == EVENT_WORKFLOW_TASK_COMPLETED;
}

/* Why the workflow task that is tried again and again fails, if it failed and was not lost. */
static int add_parked(struct remote *remote, struct arena *arena, const char *id,
                      const Pb__DescribeWorkflowExecutionResponse *look, dur_description *d,
                      struct err *err)
{
    const struct event *event;

    if (!look->pending_workflow_task || look->pending_workflow_task->attempt <= 1) {
        return DUR_OK;
    }
    int rc = client_look_back(remote, arena, id, look->workflow_execution_info->execution,
                              is_task_end, &event, err);
    if (rc != DUR_OK || event->type != EVENT_WORKFLOW_TASK_FAILED) {
        return rc > 0 ? DUR_OK : rc;
    }
    const struct ev_workflow_task_failed *f = ev_workflow_task_failed(event);
    const char *message = f->failure && f->failure->message ? f->failure->message : "";
    const char *cause = enum_name(&enum_desc_workflow_task_failed_cause, f->cause);
    if (f->cause == WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR) {
        d->parked = message;
    } else if (f->cause != WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND &&
               f->cause != WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW) {
        d->parked = arena_printf(arena, "workflow task %lld failed (%s): %s",
                                 (long long)f->scheduled_event_id, cause ? cause : "?", message);
    }
    return DUR_OK;
}

static void add_rest(struct arena *arena, const Pb__DescribeWorkflowExecutionResponse *look,
                     dur_description *d)
{
    const Pb__WorkflowExecutionExtendedInfo *more = look->workflow_extended_info;

    if (d->status == DUR_PAUSED) {
        d->paused = more && more->pause_info ? arena_strdup(arena, more->pause_info->reason) : "";
    }
    if (!d->next_run_id && more && *more->reset_run_id) {
        d->next_run_id = arena_strdup(arena, more->reset_run_id);
    }
}

int client_describe(struct remote *remote, struct arena *arena, const char *id,
                    dur_description *ret, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    Pb__WorkflowExecution *run;
    int rc = client_target(arena, id, &run, err);

    if (rc != DUR_OK || (rc = client_look(remote, id, run, &look, err)) != DUR_OK ||
        (rc = client_info(remote, arena, look->workflow_execution_info, ret, err)) != DUR_OK) {
        return rc;
    }
    run = look->workflow_execution_info->execution;
    if ((rc = add_attempt(remote, arena, id, run, ret, err)) != DUR_OK) {
        return rc;
    }
    bool is_open = ret->status == DUR_RUNNING || ret->status == DUR_PAUSED;
    rc = is_open ? add_parked(remote, arena, id, look, ret, err)
                 : add_closing(remote, arena, id, run, ret, err);
    if (rc == DUR_OK) {
        add_rest(arena, look, ret);
    }
    return rc;
}

/* --- pending activities ----------------------------------------------------------------------- */

/* PendingActivityState */
#define STATE_STARTED 2
#define STATE_CANCEL_REQUESTED 3

static int add_activity(struct remote *remote, struct arena *arena,
                        const Pb__PendingActivityInfo *a, struct remote_pending_activity *ret,
                        struct err *err)
{
    struct failure *failure;
    const Pb__TaskQueue *queue = a->activity_options ? a->activity_options->task_queue : NULL;

    *ret = (struct remote_pending_activity){
        .scheduled_ns = value_ns(a->scheduled_time),
        .started_ns = value_ns(a->last_started_time),
        .next_attempt_ns = value_ns(a->next_attempt_schedule_time),
        .deadline_ns = value_ns(a->expiration_time),
        .heartbeat_ns = value_ns(a->last_heartbeat_time),
        .activity_id = arena_strdup(arena, a->activity_id),
        .type = arena_strdup(arena, a->activity_type ? a->activity_type->name : ""),
        .task_queue = arena_strdup(arena, queue ? remote_queue_shown(remote, queue->name) : ""),
        .attempt = a->attempt,
        .cancel_requested = a->state == STATE_CANCEL_REQUESTED,
    };
    bool is_running = a->state == STATE_STARTED || a->state == STATE_CANCEL_REQUESTED;
    ret->state = is_running                               ? REMOTE_STARTED
                 : ret->next_attempt_ns > clock_wall_ns() ? REMOTE_BACKOFF
                                                          : REMOTE_SCHEDULED;
    if (value_show_failure(remote, arena, a->last_failure, &failure, err) < 0) {
        return client_bad(err, "an activity's last failure");
    }
    ret->last_failure = failure ? value_failure_line(arena, failure) : NULL;
    return DUR_OK;
}

int client_activities(struct remote *remote, struct arena *arena, const char *id,
                      struct remote_pending_activities *ret, struct err *err)
{
    autolook Pb__DescribeWorkflowExecutionResponse *look = NULL;
    Pb__WorkflowExecution *run;
    int rc = client_target(arena, id, &run, err);

    if (rc != DUR_OK || (rc = client_look(remote, id, run, &look, err)) != DUR_OK) {
        return rc;
    }
    ret->count = look->n_pending_activities;
    ret->rows = arena_array_of(arena, struct remote_pending_activity, ret->count + 1);
    for (size_t i = 0; i < ret->count && rc == DUR_OK; i++) {
        rc = add_activity(remote, arena, look->pending_activities[i], &ret->rows[i], err);
    }
    return rc;
}
