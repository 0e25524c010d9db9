/*
 * run.c - a run's life: made, fed with tasks (recorded or new), freed.
 *
 * Owns: the cutting of a history into tasks and the loop over them. A task is all events after the
 * last one up to a WORKFLOW_TASK_STARTED that led to COMPLETED (replayed) or that ends the events
 * (live). STARTED followed by FAILED or TIMED_OUT did nothing and belongs to the next task.
 *
 *   events:  ... S | C cmd cmd | x y S F | S' | C cmd | z S
 *            task 1 ^recorded    task 2 (x y S F S')^   task 3, live
 *
 * Tests: tests/unit/test_exec_run.c, tests/unit/test_exec_history.c
 */
#include "exec/run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/handler.h"

struct run *run_new(const struct run_spec *spec)
{
    struct run *run = mem_alloc(sizeof(*run));

    run->arena = arena_new();
    run->task_arena = arena_new();
    run->spec = *spec;
    run->spec.workflow_id = run_strdup(run, spec->workflow_id ? spec->workflow_id : "");
    run->spec.run_id = run_strdup(run, spec->run_id ? spec->run_id : "");
    run->spec.type = run_strdup(run, spec->type ? spec->type : "");
    run->spec.task_queue = run_strdup(run, spec->task_queue ? spec->task_queue : "default");
    run->spec.identity = run_strdup(run, spec->identity);
    return run;
}

struct run *run_free(struct run *run)
{
    if (run) {
        schedule_unwind(run);
        free(run->commands);
        free(run->open);
        free(run->closing);
        arena_free(run->task_arena);
        arena_free(run->arena);
        free(run);
    }
    return NULL;
}

/* --- cutting ------------------------------------------------------------------------------------
 */

/* One step of the loop: what lies ahead of `from`. */
struct chunk {
    size_t end;                    /* one past the task's STARTED, or past the closing event */
    const struct event *completed; /* NULL: live, or closed from outside */
    size_t commands_end;           /* one past its command events */
    bool closed;                   /* ends with TERMINATED or TIMED_OUT */
};

/* false: nothing more to do here (no task ends in these events). */
static bool next_chunk(const struct event *const *events, size_t from, size_t count, bool live,
                       struct chunk *ret)
{
    *ret = (struct chunk){0};
    for (size_t i = from; i < count; i++) {
        enum event_type type = events[i]->type;
        if (event_is_close(type) && !event_is_command(type)) {
            ret->end = i + 1;
            ret->closed = true;
            return true;
        }
        if (type != EVENT_WORKFLOW_TASK_STARTED) {
            continue;
        }
        if (i + 1 == count) {
            ret->end = count;
            return live;
        }
        if (events[i + 1]->type == EVENT_WORKFLOW_TASK_COMPLETED) {
            size_t end = i + 2;
            while (end < count && event_is_command(events[end]->type)) {
                end++;
            }
            ret->end = i + 1;
            ret->completed = events[i + 1];
            ret->commands_end = end;
            return true;
        }
    }
    return false;
}

static int check_ids(const struct event *const *events, size_t from, size_t count,
                     int64_t processed, struct err *err)
{
    for (size_t i = from; i < count; i++) {
        int64_t want = processed + 1 + (int64_t)(i - from);
        if (events[i]->id != want) {
            return bad_history(err, events[i], "event %lld should come here", (long long)want);
        }
    }
    return 0;
}

/* --- one task -----------------------------------------------------------------------------------
 */

static int begin_task(struct run *run, const struct event *const *events, size_t count,
                      struct err *err)
{
    arena_reset(run->task_arena);
    run->command_count = 0;
    run->side_effect_at = 0;
    run->local_at = 0;
    run->child_at = 0;
    run->before = (struct run_before){.processed = run->processed,
                                      .now_ns = run->now_ns,
                                      .task = run->task,
                                      .flags_recorded = run->flags_recorded};
    run->rejections = NULL;
    run->rejection_count = 0;
    run->stepped = run->news = false;
    int rc = deliver(run, events, count, err);
    if (rc == 0 && run->state == RUN_STATE_NEW) {
        rc = bad_history(err, events[0], "a history begins with WORKFLOW_EXECUTION_STARTED");
    }
    if (rc == 0) {
        int64_t now = events[count - 1]->time_ns;
        run->now_ns = now > run->now_ns ? now : run->now_ns;
        schedule_run(run);
        locals_deliver(run);
        updates_end_task(run);
    }
    return rc ? rc : run->outcome;
}

/* Flags in a completed task: whose history it is, and what its writer kept to. Our own flags must
 * be ones that we know; the languages' of others mean nothing to us. */
static int check_flags(struct run *run, const struct event *completed)
{
    const struct sdk_metadata *sdk = ev_workflow_task_completed(completed)->sdk_metadata;

    run->flags_recorded = true;
    if (!sdk) {
        return 0;
    }
    for (size_t i = 0; i < sdk->core_used_flags.count; i++) {
        if (sdk->core_used_flags.items[i] < 32) {
            run->core_flags |= 1U << sdk->core_used_flags.items[i];
        }
    }
    run->own |= str_eq(sdk->sdk_name, RUN_SDK_NAME);
    run->compares_timers |= run->own || str_eq(sdk->sdk_name, "temporal-go");
    run->compares_ids |= run->compares_timers || (run->core_flags & RUN_CORE_FLAG_IDS) != 0;
    if (!run->own) {
        return 0;
    }
    for (size_t i = 0; i < sdk->lang_used_flags.count; i++) {
        if (sdk->lang_used_flags.items[i] != RUN_FLAG_DELIVERY_1 &&
            sdk->lang_used_flags.items[i] != RUN_FLAG_ONE_BATCH) {
            return fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR,
                              "event %lld was written by a newer program (flag %u): upgrade",
                              (long long)completed->id, sdk->lang_used_flags.items[i]);
        }
    }
    return 0;
}

/* The recorded events of a closed run may end it in ways that code here never asks for. */
static int close_as_recorded(struct run *run, const struct event *first, const struct event *event,
                             struct err *err)
{
    if (run->state == RUN_STATE_NEW && first->type == EVENT_WORKFLOW_EXECUTION_STARTED &&
        !machine_move(&run_machine, &run->state, RUN_STATE_RUNNING, run)) { /* no task ever ran */
        return bad_history(err, first, "the run cannot start");
    }
    int to = event->type == EVENT_WORKFLOW_EXECUTION_TERMINATED  ? RUN_STATE_TERMINATED
             : event->type == EVENT_WORKFLOW_EXECUTION_TIMED_OUT ? RUN_STATE_TIMED_OUT
                                                                 : RUN_STATE_CONTINUED;
    if (!machine_move(&run_machine, &run->state, to, run)) {
        return bad_history(err, event, "the run is %s", run_machine.state_names[run->state]);
    }
    run->finished = true;
    return 0;
}

static int replay_task(struct run *run, const struct event *const *events, size_t from,
                       const struct chunk *chunk, bool is_last, struct err *err)
{
    run->replaying = true;
    run->recorded = events + chunk->end + 1;
    run->recorded_count = chunk->commands_end - chunk->end - 1;
    run->completed = chunk->completed;
    run->last_task = is_last;
    int rc = check_flags(run, chunk->completed);
    if (rc == 0) {
        rc = begin_task(run, events + from, chunk->end - from, err);
    }
    if (rc == 0) {
        rc = commands_match(run, chunk->completed);
    }
    run->recorded = NULL;
    run->recorded_count = 0;
    run->completed = NULL;
    run->replaying = false;
    if (rc == 0) {
        bool moved = machine_move(&workflow_task_machine, &run->task.state, TASK_NONE, &run->task);
        assert(moved); /* begin_task saw its STARTED last */
        (void)moved;
        run->processed = events[chunk->commands_end - 1]->id;
    }
    return rc;
}

static int live_task(struct run *run, const struct event *const *events, size_t from,
                     const struct chunk *chunk, struct run_output *out, struct err *err)
{
    int rc = begin_task(run, events + from, chunk->end - from, err);

    if (rc == 0) {
        commands_emit(run, out);
        out->rejections = run->rejections;
        out->rejection_count = run->rejection_count;
        out->unfinished = run->finished ? run->signal_handlers + updates_running(run) : 0;
        out->no_trace = out->count == 1 && !run->stepped && !run->news && run->rejection_count > 0;
    }
    return rc;
}

void run_give_updates(struct run *run, const struct run_update *updates, size_t count)
{
    run->given = updates;
    run->given_count = count;
}

void run_undo_task(struct run *run)
{
    run->processed = run->before.processed;
    run->now_ns = run->before.now_ns;
    run->task = run->before.task;
    run->flags_recorded = run->before.flags_recorded;
}

/* Every task that lies in the events; the last one live if asked for. */
static int advance(struct run *run, const struct event *const *events, size_t count, bool live,
                   struct run_output *out, struct err *err)
{
    size_t at = 0;
    int rc = 0;

    while (at < count && events[at]->id <= run->processed) {
        at++;
    }
    if (live && at == count) {
        return err_set(err, ERR_PERMANENT, "BadHistory",
                       "no event after %lld: there is no task to run", (long long)run->processed);
    }
    rc = check_ids(events, at, count, run->processed, err);
    while (rc == 0 && at < count && !run->finished) {
        struct chunk chunk;
        if (!next_chunk(events, at, count, live, &chunk)) {
            if (live) {
                return bad_history(err, events[count - 1], "does not start a workflow task");
            }
            break;
        }
        if (chunk.closed) {
            rc = close_as_recorded(run, events[at], events[chunk.end - 1], err);
            run->processed = events[chunk.end - 1]->id;
            break;
        }
        if (!chunk.completed) {
            return live_task(run, events, at, &chunk, out, err);
        }
        rc = replay_task(run, events, at, &chunk, !live && chunk.commands_end == count, err);
        at = chunk.commands_end;
    }
    return rc;
}

static int drive(struct run *run, const struct event *const *events, size_t count, bool live,
                 struct run_output *out, struct err *err)
{
    *out = (struct run_output){0};
    if (run->outcome || run->finished) {
        return err_set(err, ERR_PERMANENT, "RunIsOver", "run %s is closed or has failed: free it",
                       run->spec.workflow_id);
    }
    int rc = advance(run, events, count, live, out, err);
    out->status = run_status(run);
    if (rc > 0) {
        out->events = NULL;
        out->sites = NULL;
        out->count = 0;
        out->cause = run->cause;
        out->message = run->message;
        out->report = run->report;
        out->mismatch = run->mismatch;
    }
    if (rc != 0 && !run->outcome) {
        run->outcome = RUN_TASK_FAILED; /* a bad history: only run_free() is left */
    }
    return rc;
}

int run_task(struct run *run, const struct event *const *events, size_t count,
             struct run_output *out, struct err *err)
{
    return drive(run, events, count, true, out, err);
}

int run_replay(struct run *run, const struct event *const *events, size_t count,
               struct run_output *out, struct err *err)
{
    return drive(run, events, count, false, out, err);
}

/* --- asking --------------------------------------------------------------------------------------
 */

int64_t run_processed(const struct run *run)
{
    return run->processed;
}

enum run_status run_status(const struct run *run)
{
    return run->state == RUN_STATE_NEW ? RUN_RUNNING : (enum run_status)run->state;
}

size_t run_bytes(const struct run *run)
{
    return sizeof(*run) + arena_bytes(run->arena) + arena_bytes(run->task_arena) +
           run->command_cap * sizeof(*run->commands) + run->open_cap * sizeof(*run->open) +
           run->closing_cap * sizeof(*run->closing);
}

struct run_site run_last_call(const struct run *run)
{
    return (struct run_site){
        .file = atomic_load_explicit(&run->last_file, memory_order_relaxed),
        .line = atomic_load_explicit(&run->last_line, memory_order_relaxed),
    };
}

void run_trim(struct run *run)
{
    arena_free(run->task_arena);
    run->task_arena = arena_new();
    free(run->commands);
    run->commands = NULL;
    run->command_count = run->command_cap = 0;
    free(run->closing);
    run->closing = NULL;
    run->closing_count = run->closing_cap = 0;
    for (struct coroutine *co = run->all; co; co = co->all_next) {
        fiber_trim(co->fiber);
    }
}

const char *run_strdup(struct run *run, const char *text)
{
    return arena_strdup(run->arena, text);
}
