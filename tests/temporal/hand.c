/*
 * hand.c - see hand.h.
 */
#include "tests/temporal/hand.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

enum { COMMAND_SCHEDULE_ACTIVITY = 1, COMMAND_CANCEL_ACTIVITY = 2 };

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct str log_text;

static void log_line(void *user, int level, const char *line)
{
    (void)user;
    pthread_mutex_lock(&log_mutex);
    str_addf(&log_text, "%d %s\n", level, line);
    pthread_mutex_unlock(&log_mutex);
}

const char *hand_log(void)
{
    static char text[65536];
    pthread_mutex_lock(&log_mutex);
    str_copy(text, sizeof(text), str_c(&log_text));
    pthread_mutex_unlock(&log_mutex);
    return text;
}

void hand_needs(const char *name)
{
    const char *only = getenv("HAND_ONLY");
    if (!getenv("TEMPORAL_ADDRESS")) {
        cr_skip_test("skip: start a Temporal server and set TEMPORAL_ADDRESS");
    }
    if (only && !str_eq(only, name)) {
        cr_skip_test("skip: unset HAND_ONLY");
    }
}

struct remote *hand_connect(void)
{
    struct remote *remote = NULL;
    struct err err = {0};
    dur_connect_options options = {0};
    struct remote_open open = {.options = &options,
                               .target = getenv("TEMPORAL_ADDRESS"),
                               .identity = "hand",
                               .log = {log_line, NULL}};
    cr_assert_eq(remote_open(&open, &remote, &err), DUR_OK, "%s", err.text);
    return remote;
}

static int call(struct hand *h, const char *method, int kind, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *type, ProtobufCMessage **ret)
{
    struct err err = {0};
    int rc = rpc_send(h->remote, &(struct rpc){.method = method, .kind = kind}, request, type, NULL,
                      ret, NULL, &err);
    cr_assert_eq(rc, DUR_OK, "%s", err.text);
    return rc;
}

static Pb__WorkflowExecution execution(struct hand *h)
{
    Pb__WorkflowExecution run;
    pb__workflow_execution__init(&run);
    run.workflow_id = h->workflow_id;
    return run;
}

static void take_task(struct hand *h)
{
    Pb__PollWorkflowTaskQueueRequest request;
    ProtobufCMessage *answer = NULL;
    struct err err = {0};
    pb__poll_workflow_task_queue_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.identity = h->remote->identity;
    request.task_queue = value_task_queue(h->remote, h->arena, h->queue);
    do {
        call(h, "PollWorkflowTaskQueue", RPC_POLL, &request.base,
             &pb__poll_workflow_task_queue_response__descriptor, &answer);
        const Pb__PollWorkflowTaskQueueResponse *task = (const void *)answer;
        h->task_token.len = task->task_token.len;
        if (task->task_token.len > 0) {
            h->task_token.data = arena_dup(h->arena, task->task_token.data, task->task_token.len);
            cr_assert_eq(task->next_page_token.len, 0, "the test's history is too long");
            cr_assert_eq(value_read_history(h->remote, h->arena, task->history, &h->history, &err),
                         0, "%s", err.text);
            h->run_id = arena_strdup(h->arena, task->workflow_execution->run_id);
        }
        rpc_free(&answer);
    } while (h->task_token.len == 0);
}

static void answer_task(struct hand *h, Pb__Command **commands, size_t count)
{
    Pb__RespondWorkflowTaskCompletedRequest request;
    pb__respond_workflow_task_completed_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.identity = h->remote->identity;
    request.task_token = h->task_token;
    request.commands = commands;
    request.n_commands = count;
    call(h, "RespondWorkflowTaskCompleted", RPC_REPLY, &request.base, NULL, NULL);
    h->task_token.len = 0;
}

void hand_begin(struct hand *h, const char *name)
{
    Pb__StartWorkflowExecutionRequest request;
    Pb__WorkflowType type;
    uint64_t random = rng_u64();
    hand_needs(name);
    *h = (struct hand){.arena = arena_new(), .remote = hand_connect()};
    snprintf(h->queue, sizeof(h->queue), "%s-%llx", name, (unsigned long long)random);
    snprintf(h->workflow_id, sizeof(h->workflow_id), "run-%s", h->queue);
    pb__start_workflow_execution_request__init(&request);
    pb__workflow_type__init(&type);
    type.name = value_chars("ByHand");
    request.namespace_ = h->remote->name_space;
    request.identity = h->remote->identity;
    request.workflow_id = h->workflow_id;
    request.request_id = h->workflow_id;
    request.workflow_type = &type;
    request.task_queue = value_task_queue(h->remote, h->arena, h->queue);
    /* A dev server that is short of time may lose a task on its way to us: it comes again then. */
    request.workflow_task_timeout = value_duration(h->arena, 8 * NS_PER_S);
    call(h, "StartWorkflowExecution", RPC_CALL, &request.base, NULL, NULL);
    take_task(h);
    h->seen = h->history.count;
}

void hand_terminate(struct hand *h)
{
    Pb__TerminateWorkflowExecutionRequest request;
    Pb__WorkflowExecution run = execution(h);
    pb__terminate_workflow_execution_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.identity = h->remote->identity;
    request.workflow_execution = &run;
    call(h, "TerminateWorkflowExecution", RPC_CALL, &request.base, NULL, NULL);
}

void hand_end(struct hand *h)
{
    remote_close(h->remote);
    arena_free(h->arena);
}

static Pb__Command *command(struct hand *h, int type, int which)
{
    Pb__Command *command = arena_new_of(h->arena, Pb__Command);
    pb__command__init(command);
    command->command_type = type;
    command->attributes_case = which;
    return command;
}

static Pb__Duration *span(struct hand *h, int64_t ms)
{
    return value_duration(h->arena, ms * NS_PER_MS);
}

static Pb__Command *schedule(struct hand *h, const struct hand_activity *a, size_t number)
{
    Pb__Command *c =
        command(h, COMMAND_SCHEDULE_ACTIVITY, PB__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK);
    Pb__ScheduleActivityTaskCommand *s = arena_new_of(h->arena, Pb__ScheduleActivityTaskCommand);
    struct retry_policy policy = {.initial_interval =
                                      (a->initial_ms ? a->initial_ms : 20) * NS_PER_MS,
                                  .backoff_coefficient = 1.0,
                                  .maximum_attempts = a->attempts};
    pb__schedule_activity_task_command__init(s);
    s->activity_id = arena_printf(h->arena, "%zu", number);
    s->activity_type = arena_new_of(h->arena, Pb__ActivityType);
    pb__activity_type__init(s->activity_type);
    s->activity_type->name = value_chars(a->type);
    s->task_queue = value_task_queue(h->remote, h->arena, a->queue ? a->queue : h->queue);
    s->input = value_json(h->remote, h->arena, a->input);
    s->start_to_close_timeout = span(h, a->start_to_close_ms);
    s->schedule_to_close_timeout = span(h, a->schedule_to_close_ms);
    s->schedule_to_start_timeout = span(h, a->schedule_to_start_ms);
    s->heartbeat_timeout = span(h, a->heartbeat_ms);
    s->retry_policy = value_retry(h->arena, &policy);
    c->schedule_activity_task = s;
    return c;
}

static size_t count_scheduled(const struct hand *h)
{
    size_t count = 0;
    for (size_t i = 0; i < h->history.count; i++) {
        count += h->history.items[i].type == EVENT_ACTIVITY_TASK_SCHEDULED;
    }
    return count;
}

void hand_schedule(struct hand *h, const struct hand_activity *activities, size_t count)
{
    Pb__Command **commands = arena_array_of(h->arena, Pb__Command *, count);
    size_t before = count_scheduled(h);
    for (size_t i = 0; i < count; i++) {
        commands[i] = schedule(h, &activities[i], before + i + 1);
    }
    answer_task(h, commands, count);
}

void hand_cancel(struct hand *h, const char *activity_id)
{
    Pb__SignalWorkflowExecutionRequest request;
    Pb__WorkflowExecution run = execution(h);
    pb__signal_workflow_execution_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.workflow_execution = &run;
    request.signal_name = value_chars("wake");
    call(h, "SignalWorkflowExecution", RPC_CALL, &request.base, NULL, NULL);
    take_task(h);
    Pb__Command *c =
        command(h, COMMAND_CANCEL_ACTIVITY, PB__COMMAND__ATTRIBUTES_REQUEST_CANCEL_ACTIVITY_TASK);
    Pb__RequestCancelActivityTaskCommand *r =
        arena_new_of(h->arena, Pb__RequestCancelActivityTaskCommand);
    pb__request_cancel_activity_task_command__init(r);
    for (size_t i = 0; i < h->history.count; i++) {
        const struct event *e = &h->history.items[i];
        if (e->type == EVENT_ACTIVITY_TASK_SCHEDULED &&
            str_eq(ev_activity_task_scheduled(e)->activity_id, activity_id)) {
            r->scheduled_event_id = e->id;
        }
    }
    c->request_cancel_activity_task = r;
    answer_task(h, &c, 1);
}

static bool closes(const struct event *event)
{
    return event->type == EVENT_ACTIVITY_TASK_COMPLETED ||
           event->type == EVENT_ACTIVITY_TASK_FAILED ||
           event->type == EVENT_ACTIVITY_TASK_TIMED_OUT ||
           event->type == EVENT_ACTIVITY_TASK_CANCELED;
}

const struct event *hand_closed(struct hand *h)
{
    for (;;) {
        while (h->seen < h->history.count) {
            const struct event *event = &h->history.items[h->seen++];
            if (closes(event)) {
                return event;
            }
        }
        if (h->task_token.len > 0) {
            answer_task(h, NULL, 0);
        }
        take_task(h);
    }
}

const char *hand_result(struct hand *h, const struct event *completed)
{
    cr_assert_eq(completed->type, EVENT_ACTIVITY_TASK_COMPLETED, "it is no result, but event %d",
                 (int)completed->type);
    const char *text = value_text(h->arena, ev_activity_task_completed(completed)->result);
    return text ? text : "null";
}

const Pb__PendingActivityInfo *hand_pending(struct hand *h)
{
    Pb__DescribeWorkflowExecutionRequest request;
    Pb__WorkflowExecution run = execution(h);
    ProtobufCMessage *answer = NULL; /* lives as long as the test */
    pb__describe_workflow_execution_request__init(&request);
    request.namespace_ = h->remote->name_space;
    request.execution = &run;
    call(h, "DescribeWorkflowExecution", RPC_CALL, &request.base,
         &pb__describe_workflow_execution_response__descriptor, &answer);
    const Pb__DescribeWorkflowExecutionResponse *said = (const void *)answer;
    return said->n_pending_activities ? said->pending_activities[0] : NULL;
}
