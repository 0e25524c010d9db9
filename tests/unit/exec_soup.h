/*
 * exec_soup.h - histories made of arbitrary bytes, for fuzzing the replay.
 *
 * Owns: soup_replay(): two bytes make one event (type from a short list, and which earlier event it
 * refers to); ids are gap-free so that the events get past the first check. Property: replaying
 * them, and running one more task, ends with a documented outcome and never crashes or hangs.
 */
#ifndef TESTS_EXEC_SOUP_H
#define TESTS_EXEC_SOUP_H

#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "durable.h"
#include "exec/run.h"
#include "history/event.h"

#define SOUP_MAX 200

static const enum event_type soup_types[] = {
    EVENT_WORKFLOW_TASK_SCHEDULED,
    EVENT_WORKFLOW_TASK_STARTED,
    EVENT_WORKFLOW_TASK_COMPLETED,
    EVENT_ACTIVITY_TASK_SCHEDULED,
    EVENT_ACTIVITY_TASK_STARTED,
    EVENT_ACTIVITY_TASK_COMPLETED,
    EVENT_ACTIVITY_TASK_FAILED,
    EVENT_ACTIVITY_TASK_TIMED_OUT,
    EVENT_ACTIVITY_TASK_CANCEL_REQUESTED,
    EVENT_ACTIVITY_TASK_CANCELED,
    EVENT_TIMER_STARTED,
    EVENT_TIMER_FIRED,
    EVENT_TIMER_CANCELED,
    EVENT_WORKFLOW_EXECUTION_SIGNALED,
    EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
    EVENT_MARKER_RECORDED,
    EVENT_WORKFLOW_EXECUTION_COMPLETED,
    EVENT_WORKFLOW_EXECUTION_TERMINATED,
    EVENT_WORKFLOW_TASK_FAILED,
    EVENT_WORKFLOW_TASK_TIMED_OUT,
    EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
    EVENT_WORKFLOW_PROPERTIES_MODIFIED,
    EVENT_CHILD_WORKFLOW_EXECUTION_STARTED,
    EVENT_WORKFLOW_EXECUTION_STARTED,
    EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
    EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED,
    EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED,
    EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED,
    EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
    EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
    EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
    EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED,
};

static int soup_effect(void *arg, const char **result)
{
    *result = arg;
    return DUR_OK;
}

/* Asks for a bit of everything, in the order that the events of a tame soup have. */
static int soup_workflow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options wait = {.cancellation = DUR_WAIT_CANCEL};
    dur_future *f[3] = {dur_start_activity(ctx, "A", input, &wait), dur_timer(ctx, 1000),
                        dur_signal_future(ctx, "s")};

    (void)user;
    for (int i = 0; i < 20; i++) {
        int rc = dur_select(ctx, f, 3);
        if (rc == DUR_UNWIND) {
            return rc;
        }
        rc = dur_receive(ctx, "s", 0, NULL);
        if (rc == DUR_TIMED_OUT && dur_side_effect(ctx, soup_effect, (char[]){"1"}, result) < 0) {
            return DUR_UNWIND;
        }
        if (dur_done(f[0])) {
            f[0] = dur_start_activity(ctx, "A", input, NULL);
        }
        if (dur_done(f[1])) {
            f[1] = i % 2 ? dur_timer(ctx, 1000)
                         : dur_start_child(ctx, "A", input,
                                           &(dur_child_options){.cancellation = i % 3});
        }
        if (i % 5 == 4) {
            dur_signal_external(ctx, "x", "s", NULL);
        }
        if (dur_is_cancelled(ctx)) {
            return dur_run(dur_disconnected(ctx), "Undo", input, result, &wait);
        }
    }
    return DUR_OK;
}

static void soup_fill_relation(struct event *event, struct arena *arena, uint8_t ref,
                               const char *id)
{
    switch (event->type) {
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        ev_start_child_workflow_execution_initiated(event)->workflow_id = ref & 1 ? id : "r_1";
        ev_start_child_workflow_execution_initiated(event)->workflow_type = "A";
        return;
    case EVENT_CHILD_WORKFLOW_EXECUTION_STARTED:
        ev_child_workflow_execution_started(event)->initiated_event_id = ref & 63;
        if (ref < 128) {
            struct workflow_execution *name = arena_new_of(arena, struct workflow_execution);
            name->run_id = id;
            ev_child_workflow_execution_started(event)->workflow_execution = name;
        }
        return;
    case EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED:
        ev_child_workflow_execution_completed(event)->initiated_event_id = ref;
        return;
    case EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED:
        ev_child_workflow_execution_terminated(event)->initiated_event_id = ref;
        return;
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED:
        ev_start_child_workflow_execution_failed(event)->initiated_event_id = ref;
        return;
    case EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        ev_external_workflow_execution_cancel_requested(event)->initiated_event_id = ref;
        return;
    case EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
        ev_external_workflow_execution_signaled(event)->initiated_event_id = ref;
        return;
    default:
        return;
    }
}

static void soup_fill(struct event *event, struct arena *arena, uint8_t ref)
{
    const char *id = arena_printf(arena, "%d", 1 + ref % 3);

    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED:
        ev_activity_task_scheduled(event)->activity_id = id;
        ev_activity_task_scheduled(event)->activity_type = ref & 64 ? "Undo" : "A";
        return;
    case EVENT_ACTIVITY_TASK_STARTED:
        ev_activity_task_started(event)->scheduled_event_id = ref;
        return;
    case EVENT_ACTIVITY_TASK_COMPLETED:
        ev_activity_task_completed(event)->scheduled_event_id = ref;
        return;
    case EVENT_ACTIVITY_TASK_FAILED:
        ev_activity_task_failed(event)->scheduled_event_id = ref;
        return;
    case EVENT_ACTIVITY_TASK_TIMED_OUT:
        ev_activity_task_timed_out(event)->scheduled_event_id = ref;
        return;
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
        ev_activity_task_cancel_requested(event)->scheduled_event_id = ref;
        return;
    case EVENT_ACTIVITY_TASK_CANCELED:
        ev_activity_task_canceled(event)->scheduled_event_id = ref;
        return;
    case EVENT_TIMER_STARTED:
        ev_timer_started(event)->timer_id = id;
        return;
    case EVENT_TIMER_FIRED:
        ev_timer_fired(event)->started_event_id = ref & 63;
        ev_timer_fired(event)->timer_id = ref & 128 ? NULL : "1";
        return;
    case EVENT_TIMER_CANCELED:
        ev_timer_canceled(event)->timer_id = id;
        return;
    case EVENT_WORKFLOW_EXECUTION_SIGNALED:
        ev_workflow_execution_signaled(event)->signal_name = ref & 1 ? "s" : NULL;
        return;
    case EVENT_MARKER_RECORDED:
        ev_marker_recorded(event)->marker_name = ref & 1   ? "SideEffect"
                                                 : ref & 2 ? "Version"
                                                           : NULL;
        return;
    default:
        soup_fill_relation(event, arena, ref, id);
        return;
    }
}

/* Outcomes seen: bit 0 good, bit 1 mismatch, bit 2 task failed, bit 3 bad history. */
static unsigned soup_replay(const uint8_t *data, size_t size)
{
    autoarena struct arena *arena = arena_new();
    const struct event *events[SOUP_MAX + 2];
    struct run_spec spec = {.fn = soup_workflow, .type = "t", .workflow_id = "w", .run_id = "r"};
    struct run_output out;
    struct err err = {0};
    size_t count = 0;

    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    for (size_t i = 0;; i += 2) {
        event->id = (int64_t)count + 1;
        event->time_ns = event->id;
        events[count++] = event;
        if (i + 1 >= size || count == SOUP_MAX) {
            break;
        }
        event = event_new(arena, soup_types[data[i] % ARRAY_LEN(soup_types)]);
        soup_fill(event, arena, data[i + 1]);
    }
    struct run *run = run_new(&spec);
    int rc = run_replay(run, events, count, &out, &err);
    unsigned seen = rc < 0 ? 8 : 1U << rc;
    if (rc == 0 && run_status(run) == RUN_RUNNING) { /* and go on live */
        event = event_new(arena, EVENT_WORKFLOW_TASK_STARTED);
        event->id = (int64_t)count + 1;
        event->time_ns = event->id;
        events[count++] = event;
        rc = run_task(run, events, count, &out, &err);
        seen |= rc < 0 ? 8 : 1U << rc;
    }
    assert(rc >= 0 || err.text[0]);
    assert(rc <= 0 || (out.message && out.report && out.count == 0));
    run_free(run);
    return seen;
}

#endif
