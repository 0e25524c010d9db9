/*
 * replay.c - dur_replay: today's code against a recorded history, without a store.
 * Owns: nothing.
 * Tests: tests/unit/test_engine_replay.c
 */
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "exec/run.h"
#include "history/json.h"

static int replay(dur_engine *engine, struct arena *arena, const struct history *history,
                  const struct registered *workflow, char **report)
{
    struct err err = {0};
    const struct ev_workflow_execution_started *s =
        ev_workflow_execution_started(&history->items[0]);
    struct run_spec spec = {
        .fn = workflow->workflow,
        .user = workflow->user,
        .workflow_id = s->workflow_id,
        .run_id = s->original_execution_run_id ? s->original_execution_run_id : "",
        .type = s->workflow_type,
        .identity = engine->identity,
        .task_queue = s->task_queue && s->task_queue->name ? s->task_queue->name : "default",
    };
    spec.workflow_id = spec.workflow_id ? spec.workflow_id : "";
    const struct event **events = arena_array_of(arena, const struct event *, history->count);
    for (size_t i = 0; i < history->count; i++) {
        events[i] = &history->items[i];
    }
    struct run_output out = {0};
    struct run *run = run_new(&spec);
    int rc = run_replay(run, events, history->count, &out, &err);
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

int dur_replay(dur_engine *engine, const char *history_json, char **report)
{
    struct err err = {0};
    struct history history;
    if (report) {
        *report = NULL;
    }
    if (!engine) {
        return engine_refuse(engine, DUR_INVALID,
                             "an engine is needed: its workflows are replayed");
    }
    autoarena struct arena *arena = arena_new();
    if (!history_json ||
        history_from_json(arena, history_json, strlen(history_json), &history, &err) < 0) {
        return history_json ? engine_fail(engine, &err)
                            : engine_refuse(engine, DUR_INVALID, "a history is needed");
    }
    if (history.count == 0 || history.items[0].type != EVENT_WORKFLOW_EXECUTION_STARTED) {
        return engine_refuse(engine, DUR_INVALID, "the history does not begin with a start event");
    }
    const char *type = ev_workflow_execution_started(&history.items[0])->workflow_type;
    const struct registered *workflow = registry_workflow(&engine->registry, type ? type : "");
    if (!workflow) {
        return engine_refuse(engine, DUR_NOT_FOUND, "no workflow of type %s is registered",
                             type ? type : "(none)");
    }
    return replay(engine, arena, &history, workflow, report);
}
