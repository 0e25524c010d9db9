/*
 * builder.c - see builder.h. Owns the running ids and times of the history being built.
 *
 * Must not: be linked into the engine's hot paths; look-ups of earlier events are linear.
 * Tests: tests/unit/test_history_validate.c builds everything with it and validates it.
 */
#include "history/builder.h"

#include <assert.h>

#include "base/clock.h"
#include "history/failure.h"

#define FIRST_TIME_NS (1767323045LL * NS_PER_S) /* 2026-01-02T03:04:05Z */
#define TEN_SECONDS_NS (10 * NS_PER_S)
#define RUN_ID "00000000-0000-4000-8000-000000000001"

struct event *build_event(struct builder *b, enum event_type type)
{
    struct event *event = history_append(&b->history, b->arena, type);

    event->time_ns = b->now_ns;
    b->now_ns += b->step_ns;
    return event;
}

void builder_init(struct builder *b, struct arena *arena, const char *workflow_type)
{
    *b = (struct builder){
        .arena = arena,
        .now_ns = FIRST_TIME_NS,
        .step_ns = 10 * NS_PER_MS,
        .task_queue = "default",
        .identity = "builder@test",
    };
    struct ev_workflow_execution_started *a =
        ev_workflow_execution_started(build_event(b, EVENT_WORKFLOW_EXECUTION_STARTED));
    a->workflow_type = arena_strdup(arena, workflow_type);
    a->task_queue = task_queue_new(arena, b->task_queue);
    a->workflow_task_timeout = TEN_SECONDS_NS;
    a->original_execution_run_id = RUN_ID;
    a->first_execution_run_id = RUN_ID;
    a->attempt = 1;
    a->identity = b->identity;
    a->workflow_id = arena_printf(arena, "%s-1", workflow_type);
}

/* --- workflow task --- */

int64_t build_task_scheduled(struct builder *b)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_TASK_SCHEDULED);
    struct ev_workflow_task_scheduled *a = ev_workflow_task_scheduled(event);

    a->task_queue = task_queue_new(b->arena, b->task_queue);
    a->start_to_close_timeout = TEN_SECONDS_NS;
    a->attempt = 1;
    b->scheduled = event->id;
    b->started = 0;
    return event->id;
}

int64_t build_task_started(struct builder *b)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_TASK_STARTED);
    struct ev_workflow_task_started *a = ev_workflow_task_started(event);

    a->scheduled_event_id = b->scheduled;
    a->identity = b->identity;
    b->started = event->id;
    return event->id;
}

int64_t build_task_completed(struct builder *b)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_TASK_COMPLETED);
    struct ev_workflow_task_completed *a = ev_workflow_task_completed(event);

    a->scheduled_event_id = b->scheduled;
    a->started_event_id = b->started;
    a->identity = b->identity;
    b->completed = event->id;
    return event->id;
}

int64_t build_task(struct builder *b)
{
    build_task_scheduled(b);
    build_task_started(b);
    return build_task_completed(b);
}

int64_t build_task_failed(struct builder *b, enum workflow_task_failed_cause cause,
                          struct failure *failure)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_TASK_FAILED);
    struct ev_workflow_task_failed *a = ev_workflow_task_failed(event);

    a->scheduled_event_id = b->scheduled;
    a->started_event_id = b->started;
    a->cause = cause;
    a->failure = failure;
    a->identity = b->identity;
    return event->id;
}

int64_t build_task_timed_out(struct builder *b, enum timeout_type type)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_TASK_TIMED_OUT);
    struct ev_workflow_task_timed_out *a = ev_workflow_task_timed_out(event);

    a->scheduled_event_id = b->scheduled;
    a->started_event_id = b->started;
    a->timeout_type = type;
    return event->id;
}

/* --- activities --- */

int64_t build_activity(struct builder *b, const char *activity_id, const char *type,
                       const char *input_json)
{
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_SCHEDULED);
    struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);

    a->activity_id = arena_strdup(b->arena, activity_id);
    a->activity_type = arena_strdup(b->arena, type);
    a->task_queue = task_queue_new(b->arena, b->task_queue);
    a->input = input_json ? payloads_json(b->arena, input_json) : NULL;
    a->schedule_to_close_timeout = TEN_SECONDS_NS;
    a->schedule_to_start_timeout = TEN_SECONDS_NS;
    a->start_to_close_timeout = TEN_SECONDS_NS;
    a->workflow_task_completed_event_id = b->completed;
    a->retry_policy = arena_new_of(b->arena, struct retry_policy);
    a->retry_policy->initial_interval = NS_PER_S;
    a->retry_policy->backoff_coefficient = 2.0;
    a->retry_policy->maximum_interval = 100 * NS_PER_S;
    return event->id;
}

int64_t build_activity_started(struct builder *b, int64_t scheduled_id, int attempt)
{
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_STARTED);
    struct ev_activity_task_started *a = ev_activity_task_started(event);

    a->scheduled_event_id = scheduled_id;
    a->identity = b->identity;
    a->attempt = attempt;
    return event->id;
}

/* The STARTED event of that activity, or 0. */
static int64_t find_started(const struct builder *b, int64_t scheduled_id)
{
    for (size_t i = b->history.count; i > (size_t)scheduled_id; i--) {
        const struct event *event = &b->history.items[i - 1];
        if (event->type == EVENT_ACTIVITY_TASK_STARTED &&
            event_scheduled_id(event) == scheduled_id) {
            return event->id;
        }
    }
    return 0;
}

static int64_t ensure_started(struct builder *b, int64_t scheduled_id)
{
    int64_t started = find_started(b, scheduled_id);

    return started ? started : build_activity_started(b, scheduled_id, 1);
}

int64_t build_activity_done(struct builder *b, int64_t scheduled_id, const char *result_json)
{
    int64_t started = ensure_started(b, scheduled_id);
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_COMPLETED);
    struct ev_activity_task_completed *a = ev_activity_task_completed(event);

    a->result = result_json ? payloads_json(b->arena, result_json) : NULL;
    a->scheduled_event_id = scheduled_id;
    a->started_event_id = started;
    a->identity = b->identity;
    return event->id;
}

int64_t build_activity_failed(struct builder *b, int64_t scheduled_id, struct failure *failure,
                              enum retry_state state)
{
    int64_t started = ensure_started(b, scheduled_id);
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_FAILED);
    struct ev_activity_task_failed *a = ev_activity_task_failed(event);

    a->failure = failure;
    a->scheduled_event_id = scheduled_id;
    a->started_event_id = started;
    a->identity = b->identity;
    a->retry_state = state;
    return event->id;
}

int64_t build_activity_timed_out(struct builder *b, int64_t scheduled_id, enum timeout_type type)
{
    bool ran = type == TIMEOUT_TYPE_START_TO_CLOSE || type == TIMEOUT_TYPE_HEARTBEAT;
    int64_t started = ran ? ensure_started(b, scheduled_id) : find_started(b, scheduled_id);
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_TIMED_OUT);
    struct ev_activity_task_timed_out *a = ev_activity_task_timed_out(event);

    a->failure = failure_timeout(b->arena, type, NULL, NULL, NULL);
    a->scheduled_event_id = scheduled_id;
    a->started_event_id = started;
    a->retry_state = RETRY_STATE_TIMEOUT;
    return event->id;
}

int64_t build_activity_cancel(struct builder *b, int64_t scheduled_id)
{
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_CANCEL_REQUESTED);
    struct ev_activity_task_cancel_requested *a = ev_activity_task_cancel_requested(event);

    a->scheduled_event_id = scheduled_id;
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}

int64_t build_activity_canceled(struct builder *b, int64_t scheduled_id)
{
    struct event *event = build_event(b, EVENT_ACTIVITY_TASK_CANCELED);
    struct ev_activity_task_canceled *a = ev_activity_task_canceled(event);

    a->scheduled_event_id = scheduled_id;
    a->started_event_id = find_started(b, scheduled_id);
    a->identity = b->identity;
    for (size_t i = b->history.count; i > 0; i--) {
        const struct event *other = &b->history.items[i - 1];
        if (other->type == EVENT_ACTIVITY_TASK_CANCEL_REQUESTED &&
            event_scheduled_id(other) == scheduled_id) {
            a->latest_cancel_requested_event_id = other->id;
            break;
        }
    }
    return event->id;
}

/* --- timers --- */

int64_t build_timer(struct builder *b, const char *timer_id, int64_t duration_ns)
{
    struct event *event = build_event(b, EVENT_TIMER_STARTED);
    struct ev_timer_started *a = ev_timer_started(event);

    a->timer_id = arena_strdup(b->arena, timer_id);
    a->start_to_fire_timeout = duration_ns;
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}

static const char *timer_id_of(const struct builder *b, int64_t started_id)
{
    assert(started_id > 0 && (size_t)started_id <= b->history.count);
    return ev_timer_started(&b->history.items[started_id - 1])->timer_id;
}

int64_t build_timer_fired(struct builder *b, int64_t started_id)
{
    const char *timer_id = timer_id_of(b, started_id);
    struct event *event = build_event(b, EVENT_TIMER_FIRED);

    ev_timer_fired(event)->timer_id = timer_id;
    ev_timer_fired(event)->started_event_id = started_id;
    return event->id;
}

int64_t build_timer_canceled(struct builder *b, int64_t started_id)
{
    const char *timer_id = timer_id_of(b, started_id);
    struct event *event = build_event(b, EVENT_TIMER_CANCELED);
    struct ev_timer_canceled *a = ev_timer_canceled(event);

    a->timer_id = timer_id;
    a->started_event_id = started_id;
    a->workflow_task_completed_event_id = b->completed;
    a->identity = b->identity;
    return event->id;
}

/* --- from outside, and small commands --- */

int64_t build_signal(struct builder *b, const char *name, const char *input_json)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    struct ev_workflow_execution_signaled *a = ev_workflow_execution_signaled(event);

    a->signal_name = arena_strdup(b->arena, name);
    a->input = input_json ? payloads_json(b->arena, input_json) : NULL;
    a->identity = b->identity;
    return event->id;
}

int64_t build_cancel_requested(struct builder *b, const char *cause)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED);

    ev_workflow_execution_cancel_requested(event)->cause = arena_strdup(b->arena, cause);
    ev_workflow_execution_cancel_requested(event)->identity = b->identity;
    return event->id;
}

int64_t build_marker(struct builder *b, const char *name, const char *key, const char *json)
{
    struct event *event = build_event(b, EVENT_MARKER_RECORDED);
    struct ev_marker_recorded *a = ev_marker_recorded(event);

    a->marker_name = arena_strdup(b->arena, name);
    a->details = arena_new_of(b->arena, struct payloads_map);
    payloads_map_add(a->details, b->arena, key, payloads_json(b->arena, json));
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}

static struct payload_map *one_entry(struct builder *b, const char *key, const char *json)
{
    struct payload_map *map = arena_new_of(b->arena, struct payload_map);

    payload_map_add(map, b->arena, key, &payloads_json(b->arena, json)->items[0]);
    return map;
}

int64_t build_memo(struct builder *b, const char *key, const char *json)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_PROPERTIES_MODIFIED);
    struct ev_workflow_properties_modified *a = ev_workflow_properties_modified(event);

    a->workflow_task_completed_event_id = b->completed;
    a->upserted_memo = one_entry(b, key, json);
    return event->id;
}

int64_t build_search_attribute(struct builder *b, const char *key, const char *json)
{
    struct event *event = build_event(b, EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES);
    struct ev_upsert_workflow_search_attributes *a = ev_upsert_workflow_search_attributes(event);

    a->workflow_task_completed_event_id = b->completed;
    a->search_attributes = one_entry(b, key, json);
    return event->id;
}

/* --- children --- */

int64_t build_child(struct builder *b, const char *workflow_id, const char *type,
                    const char *input_json)
{
    struct event *event = build_event(b, EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED);
    struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(event);

    a->workflow_id = arena_strdup(b->arena, workflow_id);
    a->workflow_type = arena_strdup(b->arena, type);
    a->task_queue = task_queue_new(b->arena, b->task_queue);
    a->input = input_json ? payloads_json(b->arena, input_json) : NULL;
    a->workflow_task_timeout = TEN_SECONDS_NS;
    a->parent_close_policy = PARENT_CLOSE_POLICY_TERMINATE;
    a->workflow_id_reuse_policy = WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE;
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}

static struct workflow_execution *child_execution(const struct builder *b, int64_t initiated_id,
                                                  const char **ret_type)
{
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(&b->history.items[initiated_id - 1]);
    struct workflow_execution *execution = arena_new_of(b->arena, struct workflow_execution);

    execution->workflow_id = a->workflow_id;
    execution->run_id =
        arena_printf(b->arena, "00000000-0000-4000-9000-%012lld", (long long)initiated_id);
    *ret_type = a->workflow_type;
    return execution;
}

int64_t build_child_started(struct builder *b, int64_t initiated_id)
{
    const char *type = NULL;
    struct workflow_execution *execution = child_execution(b, initiated_id, &type);
    struct event *event = build_event(b, EVENT_CHILD_WORKFLOW_EXECUTION_STARTED);
    struct ev_child_workflow_execution_started *a = ev_child_workflow_execution_started(event);

    a->initiated_event_id = initiated_id;
    a->workflow_execution = execution;
    a->workflow_type = type;
    return event->id;
}

int64_t build_child_done(struct builder *b, int64_t initiated_id, const char *result_json)
{
    const char *type = NULL;
    struct workflow_execution *execution = child_execution(b, initiated_id, &type);
    int64_t started = 0;

    for (size_t i = b->history.count; i > (size_t)initiated_id && started == 0; i--) {
        const struct event *other = &b->history.items[i - 1];
        if (other->type == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED &&
            event_initiated_id(other) == initiated_id) {
            started = other->id;
        }
    }
    struct event *event = build_event(b, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    struct ev_child_workflow_execution_completed *a = ev_child_workflow_execution_completed(event);
    a->result = result_json ? payloads_json(b->arena, result_json) : NULL;
    a->workflow_execution = execution;
    a->workflow_type = type;
    a->initiated_event_id = initiated_id;
    a->started_event_id = started;
    return event->id;
}

/* --- the end --- */

int64_t build_completed(struct builder *b, const char *result_json)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_COMPLETED);
    struct ev_workflow_execution_completed *a = ev_workflow_execution_completed(event);

    a->result = result_json ? payloads_json(b->arena, result_json) : NULL;
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}

int64_t build_failed(struct builder *b, struct failure *failure)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_FAILED);
    struct ev_workflow_execution_failed *a = ev_workflow_execution_failed(event);

    a->failure = failure;
    a->retry_state = RETRY_STATE_RETRY_POLICY_NOT_SET;
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}

int64_t build_canceled(struct builder *b)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_CANCELED);

    ev_workflow_execution_canceled(event)->workflow_task_completed_event_id = b->completed;
    return event->id;
}

int64_t build_terminated(struct builder *b, const char *reason)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_TERMINATED);

    ev_workflow_execution_terminated(event)->reason = arena_strdup(b->arena, reason);
    ev_workflow_execution_terminated(event)->identity = b->identity;
    return event->id;
}

int64_t build_timed_out(struct builder *b)
{
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_TIMED_OUT);

    ev_workflow_execution_timed_out(event)->retry_state = RETRY_STATE_RETRY_POLICY_NOT_SET;
    return event->id;
}

int64_t build_continued(struct builder *b, const char *input_json)
{
    const char *type = ev_workflow_execution_started(&b->history.items[0])->workflow_type;
    struct event *event = build_event(b, EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW);
    struct ev_workflow_execution_continued_as_new *a =
        ev_workflow_execution_continued_as_new(event);

    a->new_execution_run_id = "00000000-0000-4000-8000-000000000002";
    a->workflow_type = type;
    a->task_queue = task_queue_new(b->arena, b->task_queue);
    a->input = input_json ? payloads_json(b->arena, input_json) : NULL;
    a->workflow_task_timeout = TEN_SECONDS_NS;
    a->initiator = CONTINUE_AS_NEW_INITIATOR_WORKFLOW;
    a->workflow_task_completed_event_id = b->completed;
    return event->id;
}
