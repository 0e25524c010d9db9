/*
 * command.c - see command.h. Owns: the field by field way from an event's attributes to a
 * command's. Invariant: the event that the server makes of a command has the values of the one it
 * was made of. Tests: tests/unit/test_temporal_command.c (every golden history of
 * tests/golden/scenario)
 */
#include "temporal/command.h"

#include <assert.h>
#include <string.h>

#include "temporal/message.h"
#include "temporal/remote.h"
#include "temporal/value.h"

/* protobuf-c's messages, in an arena. */
#define MAKER(Type, snake)                                                                         \
    static Pb__##Type *new_##snake(struct arena *arena)                                            \
    {                                                                                              \
        Pb__##Type *message = arena_new_of(arena, Pb__##Type);                                     \
        pb__##snake##__init(message);                                                              \
        return message;                                                                            \
    }
MAKER(Command, command)
MAKER(ScheduleActivityTaskCommand, schedule_activity_task_command)
MAKER(RequestCancelActivityTaskCommand, request_cancel_activity_task_command)
MAKER(StartTimerCommand, start_timer_command)
MAKER(CancelTimerCommand, cancel_timer_command)
MAKER(CompleteWorkflowExecutionCommand, complete_workflow_execution_command)
MAKER(FailWorkflowExecutionCommand, fail_workflow_execution_command)
MAKER(CancelWorkflowExecutionCommand, cancel_workflow_execution_command)
MAKER(RequestCancelExternalCommand, request_cancel_external_command)
MAKER(RecordMarkerCommand, record_marker_command)
MAKER(MarkerDetail, marker_detail)
MAKER(ContinueAsNewCommand, continue_as_new_command)
MAKER(StartChildCommand, start_child_command)
MAKER(SignalExternalCommand, signal_external_command)
MAKER(UpsertSearchAttributesCommand, upsert_search_attributes_command)
MAKER(ModifyPropertiesCommand, modify_properties_command)
MAKER(ProtocolMessageCommand, protocol_message_command)
MAKER(WorkflowType, workflow_type)
MAKER(ActivityType, activity_type)
MAKER(WorkflowExecution, workflow_execution)
MAKER(Priority, priority)
MAKER(TaskCompletedMetadata, task_completed_metadata)
#undef MAKER

/* --- what several have ------------------------------------------------------------------------ */

static char *text(struct arena *arena, const char *from)
{
    return value_chars(arena_strdup(arena, from));
}

static Pb__WorkflowType *workflow_type(struct arena *arena, const char *name)
{
    Pb__WorkflowType *type = new_workflow_type(arena);

    type->name = text(arena, name);
    return type;
}

static Pb__WorkflowExecution *execution(struct arena *arena, const struct workflow_execution *from)
{
    Pb__WorkflowExecution *to = new_workflow_execution(arena);

    if (from) {
        to->workflow_id = text(arena, from->workflow_id);
        to->run_id = text(arena, from->run_id);
    }
    return to;
}

static Pb__Priority *priority(struct arena *arena, const struct priority *from)
{
    if (!from) {
        return NULL;
    }
    Pb__Priority *to = new_priority(arena);
    to->priority_key = from->priority_key;
    to->fairness_key = text(arena, from->fairness_key);
    to->fairness_weight = (float)from->fairness_weight;
    return to;
}

static Pb__TaskQueue *task_queue(const struct command_context *x, const struct task_queue *from)
{
    return value_task_queue(x->remote, x->arena, from ? from->name : NULL);
}

/* --- one function per kind ---------------------------------------------------------------------
 */

static void schedule_activity(const struct command_context *x, const struct event *event,
                              Pb__Command *c)
{
    const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
    Pb__ScheduleActivityTaskCommand *to = new_schedule_activity_task_command(x->arena);

    to->activity_id = text(x->arena, a->activity_id);
    to->activity_type = new_activity_type(x->arena);
    to->activity_type->name = text(x->arena, a->activity_type);
    to->task_queue = task_queue(x, a->task_queue);
    to->header = value_header(x->arena, a->header);
    to->input = value_payloads(x->remote, x->arena, a->input);
    to->schedule_to_close_timeout = value_duration(x->arena, a->schedule_to_close_timeout);
    to->schedule_to_start_timeout = value_duration(x->arena, a->schedule_to_start_timeout);
    to->start_to_close_timeout = value_duration(x->arena, a->start_to_close_timeout);
    to->heartbeat_timeout = value_duration(x->arena, a->heartbeat_timeout);
    to->retry_policy = value_retry(x->arena, a->retry_policy);
    to->priority = priority(x->arena, a->priority);
    c->schedule_activity_task = to;
}

static void cancel_activity(const struct command_context *x, const struct event *event,
                            Pb__Command *c)
{
    c->request_cancel_activity_task = new_request_cancel_activity_task_command(x->arena);
    c->request_cancel_activity_task->scheduled_event_id =
        ev_activity_task_cancel_requested(event)->scheduled_event_id;
}

static void start_timer(const struct command_context *x, const struct event *event, Pb__Command *c)
{
    const struct ev_timer_started *a = ev_timer_started(event);

    c->start_timer = new_start_timer_command(x->arena);
    c->start_timer->timer_id = text(x->arena, a->timer_id);
    c->start_timer->start_to_fire_timeout = value_duration(x->arena, a->start_to_fire_timeout);
}

static void cancel_timer(const struct command_context *x, const struct event *event, Pb__Command *c)
{
    c->cancel_timer = new_cancel_timer_command(x->arena);
    c->cancel_timer->timer_id = text(x->arena, ev_timer_canceled(event)->timer_id);
}

static void complete_run(const struct command_context *x, const struct event *event, Pb__Command *c)
{
    c->complete_workflow_execution = new_complete_workflow_execution_command(x->arena);
    c->complete_workflow_execution->result =
        value_payloads(x->remote, x->arena, ev_workflow_execution_completed(event)->result);
}

static void fail_run(const struct command_context *x, const struct event *event, Pb__Command *c)
{
    c->fail_workflow_execution = new_fail_workflow_execution_command(x->arena);
    c->fail_workflow_execution->failure =
        value_failure(x->remote, x->arena, ev_workflow_execution_failed(event)->failure);
}

static void cancel_run(const struct command_context *x, const struct event *event, Pb__Command *c)
{
    c->cancel_workflow_execution = new_cancel_workflow_execution_command(x->arena);
    c->cancel_workflow_execution->details =
        value_payloads(x->remote, x->arena, ev_workflow_execution_canceled(event)->details);
}

static void cancel_external(const struct command_context *x, const struct event *event,
                            Pb__Command *c)
{
    const struct ev_request_cancel_external_workflow_execution_initiated *a =
        ev_request_cancel_external_workflow_execution_initiated(event);
    Pb__RequestCancelExternalCommand *to = new_request_cancel_external_command(x->arena);

    if (a->workflow_execution) {
        to->workflow_id = text(x->arena, a->workflow_execution->workflow_id);
        to->run_id = text(x->arena, a->workflow_execution->run_id);
    }
    to->child_workflow_only = a->child_workflow_only;
    to->reason = text(x->arena, a->reason);
    c->request_cancel_external = to;
}

static void signal_external(const struct command_context *x, const struct event *event,
                            Pb__Command *c)
{
    const struct ev_signal_external_workflow_execution_initiated *a =
        ev_signal_external_workflow_execution_initiated(event);
    Pb__SignalExternalCommand *to = new_signal_external_command(x->arena);

    to->execution = execution(x->arena, a->workflow_execution);
    to->signal_name = text(x->arena, a->signal_name);
    to->input = value_payloads(x->remote, x->arena, a->input);
    to->child_workflow_only = a->child_workflow_only;
    to->header = value_header(x->arena, a->header);
    c->signal_external = to;
}

static void record_marker(const struct command_context *x, const struct event *event,
                          Pb__Command *c)
{
    const struct ev_marker_recorded *a = ev_marker_recorded(event);
    Pb__RecordMarkerCommand *to = new_record_marker_command(x->arena);
    size_t count = a->details ? a->details->count : 0;

    to->marker_name = text(x->arena, a->marker_name);
    to->details = arena_array_of(x->arena, Pb__MarkerDetail *, count + 1);
    for (size_t i = 0; i < count; i++) {
        to->details[i] = new_marker_detail(x->arena);
        to->details[i]->key = text(x->arena, a->details->items[i].key);
        to->details[i]->value = value_payloads(x->remote, x->arena, &a->details->items[i].payloads);
    }
    to->n_details = count;
    to->header = value_header(x->arena, a->header);
    to->failure = value_failure(x->remote, x->arena, a->failure);
    c->record_marker = to;
}

static void start_child(const struct command_context *x, const struct event *event, Pb__Command *c)
{
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(event);
    Pb__StartChildCommand *to = new_start_child_command(x->arena);

    to->workflow_id = text(x->arena, a->workflow_id);
    to->workflow_type = workflow_type(x->arena, a->workflow_type);
    to->task_queue = task_queue(x, a->task_queue);
    to->input = value_payloads(x->remote, x->arena, a->input);
    to->workflow_execution_timeout = value_duration(x->arena, a->workflow_execution_timeout);
    to->workflow_run_timeout = value_duration(x->arena, a->workflow_run_timeout);
    to->workflow_task_timeout = value_duration(x->arena, a->workflow_task_timeout);
    to->parent_close_policy = (int32_t)a->parent_close_policy;
    to->workflow_id_reuse_policy = (int32_t)a->workflow_id_reuse_policy;
    to->retry_policy = value_retry(x->arena, a->retry_policy);
    to->cron_schedule = text(x->arena, a->cron_schedule);
    to->header = value_header(x->arena, a->header);
    to->memo = value_memo(x->remote, x->arena, a->memo);
    to->search_attributes = value_attributes(x->arena, a->search_attributes);
    to->priority = priority(x->arena, a->priority);
    c->start_child = to;
}

/* What the code left as it is comes from the run's start; the server would begin anew with it. */
static void continue_as_new(const struct command_context *x, const struct event *event,
                            Pb__Command *c)
{
    const struct ev_workflow_execution_continued_as_new *a =
        ev_workflow_execution_continued_as_new(event);
    const struct ev_workflow_execution_started *s = x->started;
    Pb__ContinueAsNewCommand *to = new_continue_as_new_command(x->arena);

    to->workflow_type = workflow_type(x->arena, a->workflow_type);
    to->task_queue = task_queue(x, a->task_queue);
    to->input = value_payloads(x->remote, x->arena, a->input);
    to->workflow_run_timeout = value_duration(
        x->arena, a->workflow_run_timeout ? a->workflow_run_timeout : s->workflow_run_timeout);
    to->workflow_task_timeout = value_duration(
        x->arena, a->workflow_task_timeout ? a->workflow_task_timeout : s->workflow_task_timeout);
    to->backoff_start_interval = value_duration(x->arena, a->backoff_start_interval);
    to->retry_policy = value_retry(x->arena, x->next_retry ? x->next_retry : s->retry_policy);
    to->initiator = (int32_t)a->initiator;
    to->last_completion_result = value_payloads(x->remote, x->arena, s->last_completion_result);
    to->cron_schedule = text(x->arena, s->cron_schedule);
    to->header = value_header(x->arena, s->header);
    to->memo = value_memo(x->remote, x->arena, a->memo);
    to->search_attributes = value_attributes(x->arena, a->search_attributes);
    c->continue_as_new = to;
}

static void upsert_attributes(const struct command_context *x, const struct event *event,
                              Pb__Command *c)
{
    c->upsert_search_attributes = new_upsert_search_attributes_command(x->arena);
    c->upsert_search_attributes->search_attributes =
        value_attributes(x->arena, ev_upsert_workflow_search_attributes(event)->search_attributes);
}

static void modify_properties(const struct command_context *x, const struct event *event,
                              Pb__Command *c)
{
    c->modify_properties = new_modify_properties_command(x->arena);
    c->modify_properties->upserted_memo =
        value_memo(x->remote, x->arena, ev_workflow_properties_modified(event)->upserted_memo);
}

static void protocol_message(const struct command_context *x, const struct event *event,
                             Pb__Command *c)
{
    c->protocol_message = new_protocol_message_command(x->arena);
    c->protocol_message->message_id = message_id(x->arena, event);
}

/* --- the table ---------------------------------------------------------------------------------
 */

#define ATTRIBUTES(name) PB__COMMAND__ATTRIBUTES_##name
static const struct kind {
    enum event_type event;
    int32_t command; /* temporal.api.enums.v1.CommandType */
    Pb__Command__AttributesCase attributes;
    void (*fill)(const struct command_context *x, const struct event *event, Pb__Command *c);
} kinds[] = {
    {EVENT_ACTIVITY_TASK_SCHEDULED, 1, ATTRIBUTES(SCHEDULE_ACTIVITY_TASK), schedule_activity},
    {EVENT_ACTIVITY_TASK_CANCEL_REQUESTED, 2, ATTRIBUTES(REQUEST_CANCEL_ACTIVITY_TASK),
     cancel_activity},
    {EVENT_TIMER_STARTED, 3, ATTRIBUTES(START_TIMER), start_timer},
    {EVENT_WORKFLOW_EXECUTION_COMPLETED, 4, ATTRIBUTES(COMPLETE_WORKFLOW_EXECUTION), complete_run},
    {EVENT_WORKFLOW_EXECUTION_FAILED, 5, ATTRIBUTES(FAIL_WORKFLOW_EXECUTION), fail_run},
    {EVENT_TIMER_CANCELED, 6, ATTRIBUTES(CANCEL_TIMER), cancel_timer},
    {EVENT_WORKFLOW_EXECUTION_CANCELED, 7, ATTRIBUTES(CANCEL_WORKFLOW_EXECUTION), cancel_run},
    {EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, 8,
     ATTRIBUTES(REQUEST_CANCEL_EXTERNAL), cancel_external},
    {EVENT_MARKER_RECORDED, 9, ATTRIBUTES(RECORD_MARKER), record_marker},
    {EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, 10, ATTRIBUTES(CONTINUE_AS_NEW), continue_as_new},
    {EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED, 11, ATTRIBUTES(START_CHILD), start_child},
    {EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, 12, ATTRIBUTES(SIGNAL_EXTERNAL),
     signal_external},
    {EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, 13, ATTRIBUTES(UPSERT_SEARCH_ATTRIBUTES),
     upsert_attributes},
    {EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, 14, ATTRIBUTES(PROTOCOL_MESSAGE), protocol_message},
    {EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED, 14, ATTRIBUTES(PROTOCOL_MESSAGE), protocol_message},
    {EVENT_WORKFLOW_PROPERTIES_MODIFIED, 16, ATTRIBUTES(MODIFY_PROPERTIES), modify_properties},
};

static bool is_update(const struct event *event)
{
    return event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED ||
           event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED;
}

Pb__Command *command_of(const struct command_context *x, const struct event *event)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].event == event->type) {
            Pb__Command *c = new_command(x->arena);
            c->command_type = kinds[i].command;
            c->attributes_case = kinds[i].attributes;
            kinds[i].fill(x, event, c);
            c->user_metadata = value_user_metadata(x->remote, x->arena, event->user_metadata);
            return c;
        }
    }
    return NULL;
}

static uint32_t *flags(struct arena *arena, const struct u32_list *list)
{
    return arena_dup(arena, list->items, list->count * sizeof(*list->items));
}

static Pb__TaskCompletedMetadata *metadata_of(struct arena *arena, const struct event *completed)
{
    const struct sdk_metadata *sdk = ev_workflow_task_completed(completed)->sdk_metadata;

    if (!sdk) {
        return NULL;
    }
    Pb__TaskCompletedMetadata *to = new_task_completed_metadata(arena);
    to->core_used_flags = flags(arena, &sdk->core_used_flags);
    to->n_core_used_flags = sdk->core_used_flags.count;
    to->lang_used_flags = flags(arena, &sdk->lang_used_flags);
    to->n_lang_used_flags = sdk->lang_used_flags.count;
    to->sdk_name = text(arena, sdk->sdk_name);
    to->sdk_version = text(arena, sdk->sdk_version);
    return to;
}

void commands_put(const struct command_context *x, const struct run_output *out, size_t spare,
                  Pb__RespondWorkflowTaskCompletedRequest *request)
{
    request->commands = arena_array_of(x->arena, Pb__Command *, out->count + 1);
    request->messages = arena_array_of(x->arena, Pb__ProtocolMessage *, out->count + spare + 1);
    for (size_t i = 0; i < out->count; i++) {
        const struct event *event = out->events[i];
        if (event->type == EVENT_WORKFLOW_TASK_COMPLETED) {
            request->sdk_metadata = metadata_of(x->arena, event);
            continue;
        }
        if (is_update(event)) {
            request->messages[request->n_messages++] = message_of(x->remote, x->arena, event);
        }
        Pb__Command *c = command_of(x, event);
        assert(c); /* whatever exec asks for, a server can be asked for */
        request->commands[request->n_commands++] = c;
    }
}
