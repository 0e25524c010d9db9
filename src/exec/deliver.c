/*
 * deliver.c - the events that precede a task's start, applied to machines and given to code.
 *
 * Owns: the order rule of run.h. One pass moves every machine (signals go straight to their
 * channels or handlers, in order); then the updates; then the cancel request; then the completions,
 * in event-id order. So a completion that lies in history wins against a cancel that arrives in the
 * same task. Must not: trust the events: an event that no machine can take is a bad history, never
 * an abort. Tests: tests/unit/test_exec_run.c, tests/unit/test_exec_history.c
 */
#include "exec/handler.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

int bad_history(struct err *err, const struct event *event, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(err, ERR_PERMANENT, "BadHistory", "event %lld (%s): %s", (long long)event->id,
                   event_type_title(event->type), text);
}

/* --- open activities and timers by event id ----------------------------------------------------
 */

void open_add(struct run *run, int64_t id, dur_future *f)
{
    assert(run->open_count == 0 || run->open[run->open_count - 1].id < id);
    mem_reserve(run->open, &run->open_cap, run->open_count + 1);
    run->open[run->open_count++] = (struct open_entry){.id = id, .future = f};
}

static struct open_entry *find(struct run *run, int64_t id)
{
    size_t low = 0;
    size_t high = run->open_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (run->open[mid].id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low < run->open_count && run->open[low].id == id && run->open[low].future) {
        return &run->open[low];
    }
    return NULL;
}

dur_future *open_find(struct run *run, int64_t id)
{
    struct open_entry *entry = find(run, id);
    return entry ? entry->future : NULL;
}

void open_remove(struct run *run, int64_t id)
{
    struct open_entry *entry = find(run, id);

    assert(entry);
    entry->future = NULL;
    run->open_dead++;
    while (run->open_count > 0 && !run->open[run->open_count - 1].future) {
        run->open_count--;
        run->open_dead--;
    }
    if (run->open_dead > 16 && run->open_dead > run->open_count / 2) {
        size_t kept = 0;
        for (size_t i = 0; i < run->open_count; i++) {
            if (run->open[i].future) {
                run->open[kept++] = run->open[i];
            }
        }
        run->open_count = kept;
        run->open_dead = 0;
    }
}

void closing_add(struct run *run, int64_t id, const struct event *event, future_resolver *resolve)
{
    dur_future *f = open_find(run, id);

    assert(f);
    open_remove(run, id);
    mem_reserve(run->closing, &run->closing_cap, run->closing_count + 1);
    run->closing[run->closing_count++] =
        (struct closing){.future = f, .event = event, .resolve = resolve};
}

/* --- one event -------------------------------------------------------------------------------- */

const char *result_text(struct run *run, const struct payloads *payloads)
{
    size_t len = 0;
    const char *json = payloads_first_json(payloads, &len);

    return json ? arena_strndup(run->arena, json, len) : "null";
}

int machine_apply(const struct machine_def *def, uint8_t *state, int to, const void *object,
                  const struct event *event, struct err *err)
{
    int from = *state;

    if (!machine_move(def, state, to, object)) {
        return bad_history(err, event, "%s is %s, it cannot become %s", def->name,
                           def->state_names[from], def->state_names[to]);
    }
    return 0;
}

static int apply_started(struct run *run, const struct event *event, struct err *err)
{
    const struct ev_workflow_execution_started *a = ev_workflow_execution_started(event);
    const char *seed_id = a->original_execution_run_id;

    int rc = machine_apply(&run_machine, &run->state, RUN_STATE_RUNNING, run, event, err);
    if (rc) {
        return rc;
    }
    run->input = result_text(run, a->input);
    search_attributes_put(run, a->search_attributes);
    run->run_timeout_ns = a->workflow_run_timeout;
    info_of_start(run, event);
    run->chance_id = run_strdup(run, seed_id && *seed_id ? seed_id : run->spec.run_id);
    uint64_t seed = random_seed(run->chance_id);
    random_start(&run->user_random, seed, RANDOM_USER);
    random_start(&run->uuid_random, seed, RANDOM_UUID);
    random_start(&run->aside_random, seed, RANDOM_ASIDE);
    run->main = coroutine_new(run, &run->root, NULL, NULL);
    if (!run->main) {
        return err_set(err, ERR_TRANSIENT, "NoStack",
                       "no memory for the stack of run %s: close other programs, or raise "
                       "vm.max_map_count",
                       run->spec.workflow_id);
    }
    return 0;
}

static int apply_cancel(struct run *run, const struct event *event, struct err *err)
{
    const struct ev_workflow_execution_cancel_requested *a =
        ev_workflow_execution_cancel_requested(event);

    if (!run->cancel.reason) {
        run->cancel.reason = run_strdup(run, a->cause ? a->cause : "");
    }
    return machine_apply(&cancel_machine, &run->cancel.state, CANCEL_REQUESTED, &run->cancel, event,
                         err);
}

static int apply_task(struct run *run, const struct event *event, struct err *err)
{
    struct workflow_task *t = &run->task;

    switch (event->type) {
    case EVENT_WORKFLOW_TASK_SCHEDULED:
        t->scheduled_id = event->id;
        t->started_id = 0;
        return machine_apply(&workflow_task_machine, &t->state, TASK_SCHEDULED, t, event, err);
    case EVENT_WORKFLOW_TASK_STARTED:
        if (event->time_ns == 0) {
            return bad_history(err, event, "has no time, and workflow code needs one");
        }
        t->started_id = event->id;
        info_of_task(run, event);
        return machine_apply(&workflow_task_machine, &t->state, TASK_STARTED, t, event, err);
    case EVENT_WORKFLOW_TASK_FAILED: {
        const struct ev_workflow_task_failed *a = ev_workflow_task_failed(event);
        if (a->cause == WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW && a->new_run_id &&
            *a->new_run_id) { /* a reset run draws other numbers from here on */
            run->chance_id = run_strdup(run, a->new_run_id);
            uint64_t seed = random_seed(run->chance_id);
            random_start(&run->user_random, seed, RANDOM_USER);
            random_start(&run->uuid_random, seed, RANDOM_UUID);
        }
        return machine_apply(&workflow_task_machine, &t->state, TASK_NONE, t, event, err);
    }
    default:
        return machine_apply(&workflow_task_machine, &t->state, TASK_NONE, t, event, err);
    }
}

/* Events that say nothing to workflow code. */
static bool is_weightless(const struct event *event)
{
    switch (event->type) {
    case EVENT_WORKFLOW_EXECUTION_OPTIONS_UPDATED:
    case EVENT_WORKFLOW_EXECUTION_PAUSED:
    case EVENT_WORKFLOW_EXECUTION_UNPAUSED:
    case EVENT_WORKFLOW_EXECUTION_TIME_SKIPPING_TRANSITIONED:
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED_EXTERNALLY:
    case EVENT_ACTIVITY_PROPERTIES_MODIFIED_EXTERNALLY:
        return true;
    default:
        return event->worker_may_ignore;
    }
}

static event_applier *const appliers[EVENT_TYPE_MAX + 1] = {
    [EVENT_WORKFLOW_EXECUTION_STARTED] = apply_started,
    [EVENT_WORKFLOW_EXECUTION_SIGNALED] = signal_apply,
    [EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED] = apply_cancel,
    [EVENT_WORKFLOW_TASK_SCHEDULED] = apply_task,
    [EVENT_WORKFLOW_TASK_STARTED] = apply_task,
    [EVENT_WORKFLOW_TASK_FAILED] = apply_task,
    [EVENT_WORKFLOW_TASK_TIMED_OUT] = apply_task,
    [EVENT_ACTIVITY_TASK_STARTED] = activity_apply_started,
    [EVENT_ACTIVITY_TASK_COMPLETED] = activity_apply_completed,
    [EVENT_ACTIVITY_TASK_FAILED] = activity_apply_failed,
    [EVENT_ACTIVITY_TASK_TIMED_OUT] = activity_apply_timed_out,
    [EVENT_ACTIVITY_TASK_CANCELED] = activity_apply_canceled,
    [EVENT_TIMER_FIRED] = timer_apply_fired,
    [EVENT_CHILD_WORKFLOW_EXECUTION_STARTED] = child_apply_started,
    [EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED] = child_apply_start_failed,
    [EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED] = child_apply_completed,
    [EVENT_CHILD_WORKFLOW_EXECUTION_FAILED] = child_apply_failed,
    [EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED] = child_apply_canceled,
    [EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT] = child_apply_timed_out,
    [EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED] = child_apply_terminated,
    [EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED] = external_apply_signaled,
    [EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED] = external_apply_signal_failed,
    [EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED] = external_apply_cancel_requested,
    [EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED] = external_apply_cancel_failed,
    [EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED] = update_apply_admitted,
};

static int apply(struct run *run, const struct event *event, struct err *err)
{
    if ((int)event->type >= 0 && event->type <= EVENT_TYPE_MAX && appliers[event->type]) {
        return appliers[event->type](run, event, err);
    }
    if (is_weightless(event)) {
        return 0;
    }
    return bad_history(err, event,
                       event_is_command(event->type)
                           ? "a command's event outside a completed task"
                           : "this program cannot run code against events of this type");
}

/* --- completions -------------------------------------------------------------------------------
 */

static void resolve_all(struct run *run)
{
    for (size_t i = 0; i < run->closing_count; i++) {
        dur_future *f = run->closing[i].future;
        if (f->orphan) {
            f->orphan = false;
            future_recycle(run, f);
        } else if (!f->done) {
            run->closing[i].resolve(run, f, run->closing[i].event);
        }
    }
    run->closing_count = 0;
}

int deliver(struct run *run, const struct event *const *events, size_t count, struct err *err)
{
    run->closing_count = 0;
    for (size_t i = 0; i < count; i++) {
        int rc = apply(run, events[i], err);
        if (rc) {
            return rc;
        }
    }
    int rc = updates_deliver(run, run->task.started_id - 1, err);
    if (rc) {
        return rc;
    }
    schedule_handlers_first(run);
    if (run->cancel.state == CANCEL_REQUESTED) {
        scope_cancel(run, &run->root);
    }
    resolve_all(run);
    return 0;
}
