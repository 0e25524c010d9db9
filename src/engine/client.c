/*
 * client.c - signalling, cancelling, terminating, pausing and resuming runs: the caller's own
 * transactions.
 *
 * Owns: what each of these calls writes, by append.h. Every id is "ID" (the open run) or "ID@RUN".
 * On a connected engine the server writes it.
 * Must not: execute anything.
 * Tests: tests/unit/test_engine_client.c, tests/unit/test_engine_pause.c
 */
#include <string.h>

#include "engine/append.h"
#include "journal/signal_request.h"

/* request_id NULL: not deduplicated. */
static int send_signal(dur_engine *engine, const char *id, const char *signal, const char *input,
                       const char *request_id)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    int rc = engine_check_name(engine, "the signal name", signal);
    rc = rc ? rc : engine_check_payload(engine, "the signal's input", input);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return engine_remote_run(engine, true, signal, id, signal, input, request_id);
    }
    if (rc || (rc = append_open(&a, engine, arena, id))) {
        return rc;
    }
    if (request_id && !signal_request_put(a.txn, a.row.id, request_id) && !txn_failed(a.txn)) {
        return append_rollback(&a, DUR_OK);
    }
    struct event *event = append_event(&a, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    struct ev_workflow_execution_signaled *s = ev_workflow_execution_signaled(event);
    s->signal_name = signal;
    s->input = input ? payloads_json(arena, input) : NULL;
    s->identity = engine->identity;
    s->request_id = request_id;
    append_add(&a, event);
    append_task(&a);
    append_write(&a, TASK_SIGNAL);
    return append_commit(&a);
}

int dur_signal(dur_engine *engine, const char *id, const char *signal, const char *input)
{
    return send_signal(engine, id, signal, input, NULL);
}

int dur_signal_once(dur_engine *engine, const char *id, const char *signal, const char *input,
                    const char *request_id)
{
    int rc = engine_check_name(engine, "the request id", request_id);
    return rc ? rc : send_signal(engine, id, signal, input, request_id);
}

int dur_cancel(dur_engine *engine, const char *id, const char *reason)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    struct err err = {0};
    int64_t event_id;
    int type;
    int rc = check_reason(engine, reason);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return engine_remote_run(engine, true, cancel, id, reason);
    }
    if (rc || (rc = append_open(&a, engine, arena, id))) {
        return rc;
    }
    rc = event_last(txn_db(a.txn), a.row.id, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
                    EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &event_id, &type, &err);
    if (rc <= 0) { /* asked before, or the store failed */
        return append_rollback(&a, rc < 0 ? engine_fail(engine, &err) : DUR_OK);
    }
    struct event *event = append_event(&a, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    struct ev_workflow_execution_cancel_requested *c =
        ev_workflow_execution_cancel_requested(event);
    c->cause = reason;
    c->identity = engine->identity;
    append_add(&a, event);
    append_task(&a);
    append_write(&a, TASK_CANCEL);
    return append_commit(&a);
}

int dur_terminate(dur_engine *engine, const char *id, const char *reason)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    int rc = check_reason(engine, reason);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return engine_remote_run(engine, true, terminate, id, reason);
    }
    if (rc || (rc = append_open(&a, engine, arena, id))) {
        return rc;
    }
    append_terminated(&a, reason, NULL);
    return append_commit(&a);
}

int dur_pause(dur_engine *engine, const char *id, const char *reason)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    int rc = check_reason(engine, reason);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return engine_remote_run(engine, true, pause, id, reason);
    }
    if (rc || (rc = append_open(&a, engine, arena, id))) {
        return rc;
    }
    if (a.row.paused) {
        return append_rollback(&a, DUR_OK);
    }
    struct event *event = append_event(&a, EVENT_WORKFLOW_EXECUTION_PAUSED);
    ev_workflow_execution_paused(event)->reason = reason;
    ev_workflow_execution_paused(event)->identity = engine->identity;
    event->worker_may_ignore = true; /* replayers that do not know the event skip it then */
    append_add(&a, event);
    execution_set_paused(a.txn, a.row.id, reason ? reason : "");
    append_write(&a, TASK_PAUSE);
    return append_commit(&a);
}

int dur_resume(dur_engine *engine, const char *id, const char *reason)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    int rc = check_reason(engine, reason);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return engine_remote_run(engine, true, resume, id, reason);
    }
    if (rc || (rc = append_open(&a, engine, arena, id))) {
        return rc;
    }
    if (!a.row.paused) {
        return append_rollback(&a, DUR_OK);
    }
    struct event *event = append_event(&a, EVENT_WORKFLOW_EXECUTION_UNPAUSED);
    ev_workflow_execution_unpaused(event)->reason = reason;
    ev_workflow_execution_unpaused(event)->identity = engine->identity;
    event->worker_may_ignore = true;
    append_add(&a, event);
    execution_set_paused(a.txn, a.row.id, NULL);
    append_write(&a, TASK_PAUSE);
    return append_commit(&a);
}
