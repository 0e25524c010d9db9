/*
 * command.c - what the code asked for in the current task, and the events that become of it.
 *
 * Owns: the command list (order of asking; a command taken back leaves no trace), the binding of
 * machines to event ids, and the complete events that the host appends:
 *
 *   s+1      WORKFLOW_TASK_COMPLETED, s being the task's WORKFLOW_TASK_STARTED
 *   s+1+k    the event of the k-th command
 *
 * Tests: tests/unit/test_exec_run.c
 */
#include "exec/state.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"

struct command *command_add(struct run *run, enum command_kind kind)
{
    if (run->command_count >= RUN_MAX_COMMANDS) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                   "more than %d commands without waiting for any: a loop that never ends?",
                   RUN_MAX_COMMANDS);
        return NULL;
    }
    mem_reserve(run->commands, &run->command_cap, run->command_count + 1);
    struct command *c = &run->commands[run->command_count++];
    *c = (struct command){.kind = (uint8_t)kind};
    if (run->current) {
        c->site = run_last_call(run);
    }
    return c;
}

void command_drop(struct run *run, const dur_future *f)
{
    for (size_t i = run->command_count; i-- > 0;) {
        if (run->commands[i].future == f && !run->commands[i].dropped) {
            run->commands[i].dropped = true;
            return;
        }
    }
    assert(!"a new activity or timer without its command");
}

void counter_print(char out[ID_TEXT_BYTES], uint64_t n)
{
    char digits[ID_TEXT_BYTES];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    for (size_t i = 0; i < count; i++) {
        out[i] = digits[count - 1 - i];
    }
    out[count] = '\0';
}

static void must_move(const struct machine_def *def, uint8_t *state, int to, const void *object)
{
    bool moved = machine_move(def, state, to, object);
    assert(moved);
    (void)moved;
}

void command_bind(struct run *run, const struct command *c, int64_t event_id)
{
    switch ((enum command_kind)c->kind) {
    case COMMAND_SCHEDULE_ACTIVITY:
        c->future->activity.scheduled_id = event_id;
        c->future->activity.command = NULL; /* it lives no longer than this task */
        must_move(&activity_machine, &c->future->activity.state, ACTIVITY_SCHEDULED,
                  &c->future->activity);
        open_add(run, event_id, c->future);
        return;
    case COMMAND_START_TIMER:
        c->future->timer.started_id = event_id;
        must_move(&timer_machine, &c->future->timer.state, TIMER_STARTED, &c->future->timer);
        open_add(run, event_id, c->future);
        return;
    case COMMAND_CANCEL_TIMER:
        open_remove(run, c->future->timer.started_id);
        must_move(&timer_machine, &c->future->timer.state, TIMER_CANCELED, &c->future->timer);
        if (c->future->orphan) {
            c->future->orphan = false;
            future_recycle(run, c->future);
        }
        return;
    case COMMAND_SIDE_EFFECT:
    case COMMAND_VERSION:
        must_move(&marker_machine, &c->marker->state, MARKER_RECORDED, c->marker);
        return;
    case COMMAND_COMPLETE:
        must_move(&run_machine, &run->state, RUN_STATE_COMPLETED, run);
        return;
    case COMMAND_FAIL:
        must_move(&run_machine, &run->state, RUN_STATE_FAILED, run);
        return;
    case COMMAND_CANCEL_RUN:
        must_move(&run_machine, &run->state, RUN_STATE_CANCELED, run);
        return;
    case COMMAND_CANCEL_ACTIVITY:
    case COMMAND_VERSION_ATTRIBUTE:
    case COMMAND_MEMO:
        return;
    }
}

/* --- events ------------------------------------------------------------------------------------
 */

static struct event *completed_event(struct run *run)
{
    struct event *event = event_new(run->task_arena, EVENT_WORKFLOW_TASK_COMPLETED);
    struct ev_workflow_task_completed *a = ev_workflow_task_completed(event);

    event->id = run->task.started_id + 1;
    a->scheduled_event_id = run->task.scheduled_id;
    a->started_event_id = run->task.started_id;
    a->identity = run->spec.identity;
    if (!run->flags_recorded) { /* only the first task says so; replay unions them */
        struct sdk_metadata *sdk = arena_new_of(run->task_arena, struct sdk_metadata);
        sdk->lang_used_flags.items = arena_array_of(run->task_arena, uint32_t, 1);
        sdk->lang_used_flags.items[0] = RUN_FLAG_DELIVERY_1;
        sdk->lang_used_flags.count = 1;
        sdk->sdk_name = RUN_SDK_NAME;
        sdk->sdk_version = arena_printf(run->task_arena, "%d.%d.%d", DUR_VERSION_MAJOR,
                                        DUR_VERSION_MINOR, DUR_VERSION_PATCH);
        a->sdk_metadata = sdk;
        run->flags_recorded = true;
    }
    return event;
}

static struct event *timer_started_event(struct run *run, const struct timer *t)
{
    struct event *event = event_new(run->task_arena, EVENT_TIMER_STARTED);
    struct ev_timer_started *a = ev_timer_started(event);

    a->timer_id = t->id;
    a->start_to_fire_timeout = t->ms * NS_PER_MS;
    return event;
}

static struct event *timer_canceled_event(struct run *run, const struct timer *t)
{
    struct event *event = event_new(run->task_arena, EVENT_TIMER_CANCELED);
    struct ev_timer_canceled *a = ev_timer_canceled(event);

    a->timer_id = t->id;
    a->started_event_id = t->started_id;
    a->identity = run->spec.identity;
    return event;
}

static struct event *command_event(struct run *run, const struct command *c)
{
    switch ((enum command_kind)c->kind) {
    case COMMAND_SCHEDULE_ACTIVITY:
        return c->future->activity.command;
    case COMMAND_CANCEL_ACTIVITY: {
        struct event *event = event_new(run->task_arena, EVENT_ACTIVITY_TASK_CANCEL_REQUESTED);
        ev_activity_task_cancel_requested(event)->scheduled_event_id =
            c->future->activity.scheduled_id;
        return event;
    }
    case COMMAND_START_TIMER:
        return timer_started_event(run, &c->future->timer);
    case COMMAND_CANCEL_TIMER:
        return timer_canceled_event(run, &c->future->timer);
    case COMMAND_SIDE_EFFECT:
    case COMMAND_VERSION:
    case COMMAND_VERSION_ATTRIBUTE:
    case COMMAND_MEMO:
    case COMMAND_COMPLETE:
    case COMMAND_FAIL:
    case COMMAND_CANCEL_RUN:
        return c->event;
    }
    return NULL;
}

/* The back reference that every command's event carries. */
static void set_completed_id(struct event *event, int64_t id)
{
    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED:
        ev_activity_task_scheduled(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
        ev_activity_task_cancel_requested(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_TIMER_STARTED:
        ev_timer_started(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_TIMER_CANCELED:
        ev_timer_canceled(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_MARKER_RECORDED:
        ev_marker_recorded(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        ev_upsert_workflow_search_attributes(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED:
        ev_workflow_properties_modified(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        ev_workflow_execution_completed(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        ev_workflow_execution_failed(event)->workflow_task_completed_event_id = id;
        return;
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
        ev_workflow_execution_canceled(event)->workflow_task_completed_event_id = id;
        return;
    default:
        assert(!"no command makes this event");
    }
}

void commands_emit(struct run *run, struct run_output *out)
{
    const struct event **events =
        arena_array_of(run->task_arena, const struct event *, run->command_count + 1);
    struct run_site *sites =
        arena_array_of(run->task_arena, struct run_site, run->command_count + 1);
    struct event *completed = completed_event(run);
    size_t count = 1;

    events[0] = completed;
    must_move(&workflow_task_machine, &run->task.state, TASK_NONE, &run->task);
    for (size_t i = 0; i < run->command_count; i++) {
        const struct command *c = &run->commands[i];
        if (c->dropped) {
            continue;
        }
        struct event *event = command_event(run, c);
        assert(event);
        event->id = completed->id + (int64_t)count;
        set_completed_id(event, completed->id);
        command_bind(run, c, event->id);
        sites[count] = c->site;
        events[count++] = event;
    }
    run->processed = completed->id + (int64_t)count - 1;
    out->events = events;
    out->sites = sites;
    out->count = count;
}
