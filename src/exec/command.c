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
#include <string.h>

#include "base/mem.h"

bool command_is(const struct command *command, const struct command_def *def)
{
    return strcmp(command->def->name, def->name) == 0;
}

struct command *command_add(struct run *run, const struct command_def *def)
{
    if (run->command_count >= RUN_MAX_COMMANDS) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                   "more than %d commands without waiting for any: a loop that never ends?",
                   RUN_MAX_COMMANDS);
        return NULL;
    }
    mem_reserve(run->commands, &run->command_cap, run->command_count + 1);
    struct command *c = &run->commands[run->command_count++];
    *c = (struct command){.def = def};
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

void must_move(const struct machine_def *def, uint8_t *state, int to, const void *object)
{
    bool moved = machine_move(def, state, to, object);
    assert(moved);
    (void)moved;
}

void command_bind(struct run *run, const struct command *c, int64_t event_id)
{
    if (c->def->bind) {
        c->def->bind(run, c, event_id);
    }
}

/* --- events ------------------------------------------------------------------------------------
 */

static struct u32_list flags(struct run *run, const uint32_t *numbers, size_t count)
{
    return (struct u32_list){.items = arena_dup(run->task_arena, numbers, count * sizeof(*numbers)),
                             .count = count};
}

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
        sdk->core_used_flags = flags(run, (uint32_t[]){1, 2, 3}, 3);
        sdk->lang_used_flags = flags(run, (uint32_t[]){RUN_FLAG_DELIVERY_1, RUN_FLAG_ONE_BATCH}, 2);
        sdk->sdk_name = RUN_SDK_NAME;
        sdk->sdk_version = arena_printf(run->task_arena, "%d.%d.%d", DUR_VERSION_MAJOR,
                                        DUR_VERSION_MINOR, DUR_VERSION_PATCH);
        a->sdk_metadata = sdk;
        run->flags_recorded = true;
    }
    return event;
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
        struct event *event = c->def->event ? c->def->event(run, c) : c->event;
        assert(event);
        event->id = completed->id + (int64_t)count;
        event_set_completed_id(event, completed->id);
        command_bind(run, c, event->id);
        sites[count] = c->site;
        events[count++] = event;
    }
    run->processed = completed->id + (int64_t)count - 1;
    out->events = events;
    out->sites = sites;
    out->count = count;
    if (run->state == RUN_STATE_CONTINUED) {
        out->next_retry = run->next.retry;
        out->signals_left = signals_left(run, &out->signals_left_count);
    }
}
