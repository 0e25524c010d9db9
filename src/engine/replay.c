/*
 * replay.c - dur_replay: today's code against a recorded history, without a store.
 * Owns: the window of events that are in memory: however long the history is, only what the run has
 * not processed yet and what was just read.
 *
 *     read until WINDOW_EVENTS are there and the last one starts a workflow task (so that all
 *     commands of the task before are there) -> run_replay() -> keep what it left, read on
 *
 * Tests: tests/unit/test_engine_replay.c, tests/unit/test_engine_import.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "exec/run.h"
#include "history/source.h"

#define WINDOW_EVENTS 1000

struct window {
    dur_engine *engine;
    struct history_source *source;
    struct arena *arena; /* of the events below */
    struct arena *spare;
    const struct event **events;
    size_t count;
    size_t cap;
    bool at_end;    /* of the history */
    bool is_sealed; /* some of its payloads may be */
};

static void window_close(struct window *w)
{
    history_source_free(w->source);
    arena_free(w->arena);
    arena_free(w->spare);
    free(w->events);
}

static void keep(struct window *w, const struct event *event)
{
    mem_reserve(w->events, &w->cap, w->count + 1);
    w->events[w->count++] = event;
}

static int fill(struct window *w, struct err *err)
{
    int rc = 0;
    size_t least = w->count + WINDOW_EVENTS;

    while (!w->at_end &&
           (w->count < least || w->events[w->count - 1]->type != EVENT_WORKFLOW_TASK_STARTED)) {
        struct event *event = arena_new_of(w->arena, struct event);
        rc = history_source_next(w->source, w->arena, event, err);
        if (rc < 0) {
            return rc;
        }
        w->at_end = rc > 0;
        if (rc == 0 && w->is_sealed && keys_open_event(w->engine, w->arena, event, err) < 0) {
            return -1;
        }
        if (rc == 0) {
            keep(w, event);
        }
    }
    return 0;
}

/* Forgets the events up to that id. */
static void slide(struct window *w, int64_t processed)
{
    size_t count = w->count;

    w->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (w->events[i]->id > processed) {
            struct event *copy = arena_new_of(w->spare, struct event);
            event_copy(copy, w->events[i], w->spare);
            w->events[w->count++] = copy;
        }
    }
    arena_reset(w->arena);
    struct arena *arena = w->arena;
    w->arena = w->spare;
    w->spare = arena;
}

/* The run for the history whose beginning is in the window; NULL after *ret_rc was set. */
static struct run *start(dur_engine *engine, const struct window *w, int *ret_rc)
{
    if (w->count == 0 || w->events[0]->type != EVENT_WORKFLOW_EXECUTION_STARTED) {
        *ret_rc =
            engine_refuse(engine, DUR_INVALID, "the history does not begin with a start event");
        return NULL;
    }
    const struct ev_workflow_execution_started *s = ev_workflow_execution_started(w->events[0]);
    const char *type = s->workflow_type ? s->workflow_type : "";
    const struct registered *workflow = registry_workflow(&engine->registry, type);
    if (!workflow) {
        *ret_rc = engine_refuse(engine, DUR_NOT_FOUND, "no workflow of type %s is registered",
                                *type ? type : "(none)");
        return NULL;
    }
    struct run_spec spec = {
        .fn = workflow->workflow,
        .user = workflow->user,
        .workflow_id = s->workflow_id ? s->workflow_id : "",
        .run_id = s->original_execution_run_id ? s->original_execution_run_id : "",
        .type = s->workflow_type,
        .identity = engine->identity,
        .task_queue = s->task_queue && s->task_queue->name ? s->task_queue->name : "default",
    };
    return run_new(&spec);
}

static int replay(dur_engine *engine, struct window *w, char **report)
{
    struct err err = {0};
    struct run_output out = {0};
    int rc = 0;

    if (fill(w, &err) < 0) {
        return engine_fail(engine, &err);
    }
    struct run *run = start(engine, w, &rc);
    if (!run) {
        return rc;
    }
    while ((rc = run_replay(run, w->events, w->count, &out, &err)) == 0 && !w->at_end &&
           run_status(run) == RUN_RUNNING) {
        slide(w, run_processed(run));
        if (fill(w, &err) < 0) {
            rc = -1;
            break;
        }
    }
    if (rc > 0 && report) {
        *report = mem_strdup(out.report ? out.report : out.message);
    }
    if (rc > 0) {
        rc = engine_refuse(engine, DUR_MISMATCH, "%s", out.message);
    } else if (rc < 0) {
        rc = engine_fail(engine, &err);
    }
    run_free(run);
    return rc;
}

int dur_replay_bytes(dur_engine *engine, const void *bytes, size_t len, char **report)
{
    struct err err = {0};
    struct window w = {.engine = engine};

    if (report) {
        *report = NULL;
    }
    if (!engine) {
        return engine_refuse(engine, DUR_INVALID,
                             "an engine is needed: its workflows are replayed");
    }
    if (!bytes) {
        return engine_refuse(engine, DUR_INVALID, "a history is needed");
    }
    if (history_source_open(&w.source, bytes, len, &err) < 0) {
        return engine_fail(engine, &err);
    }
    w.is_sealed = keys_in_bytes(bytes, len);
    w.arena = arena_new();
    w.spare = arena_new();
    int rc = replay(engine, &w, report);
    window_close(&w);
    return rc;
}

int dur_replay(dur_engine *engine, const char *history_json, char **report)
{
    return dur_replay_bytes(engine, history_json, history_json ? strlen(history_json) : 0, report);
}
