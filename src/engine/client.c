/*
 * client.c - starting, signalling, cancelling and terminating runs: the caller's own transactions.
 *
 * Owns: what a client writes: the event, the workflow task that it makes necessary, a mark for the
 * engine, all in one commit, and the ring after it. So a call is durable when it returns, whether
 * or not an engine runs. The types that clients append have no defaults but those of the
 * execution's row, so no client reads a history to append to it. Must not: execute anything.
 * Tests: tests/unit/test_engine_client.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine/engine.h"
#include "history/failure.h"
#include "history/map.h"
#include "journal/task.h"
#include "worker/birth.h"

#define ID_BYTES_MAX 1000
#define TIMEOUT_MS_MAX (100 * 365 * DUR_DAYS) /* Temporal's cap */
#define PAYLOAD_BYTES_MAX (2U * 1024 * 1024)  /* Temporal's blob limit */

/* What one client transaction appends to one run. */
struct append {
    dur_engine *engine;
    struct txn *txn;
    struct arena *arena;
    struct execution_row row;
    struct event_row rows[4];
    size_t count;
    int64_t now_ns;
};

static struct event *new_event(struct append *a, enum event_type type)
{
    struct event *event = event_new(a->arena, type);
    event->id = a->row.next_event_id + (int64_t)a->count;
    event->time_ns = a->now_ns;
    return event;
}

static void add_event(struct append *a, const struct event *event)
{
    autostr struct str text = {0};
    struct store_context codec;
    store_context_init(&codec, a->row.task_queue, NULL, a->row.workflow_id, a->row.run_id);
    store_encode(&codec, event, &text);
    struct event_row *row = &a->rows[a->count++];
    row->event_id = event->id;
    row->type = (int)event->type;
    row->time_ns = event->time_ns;
    row->attributes = text.len ? arena_dup(a->arena, text.ptr, text.len) : NULL;
    row->attributes_len = text.len;
    a->row.history_bytes += (int64_t)text.len + 16;
}

static void add_task_scheduled(struct append *a)
{
    struct event *event = new_event(a, EVENT_WORKFLOW_TASK_SCHEDULED);
    struct ev_workflow_task_scheduled *t = ev_workflow_task_scheduled(event);
    t->task_queue = task_queue_new(a->arena, a->row.task_queue);
    t->start_to_close_timeout = birth_row_task_timeout_ns(&a->row);
    t->attempt = 1;
    add_event(a, event);
}

/* Unless a task is scheduled already, schedule one. A run whose first task is still to come, or
 * that is paused, gets it later. */
static void need_task(struct append *a)
{
    if (a->row.first_task_ns > 0 || a->row.paused) {
        return;
    }
    int64_t id;
    int type = 0;
    struct err err;
    int rc = event_last(txn_db(a->txn), a->row.id, EVENT_WORKFLOW_TASK_SCHEDULED,
                        EVENT_WORKFLOW_TASK_FAILED, &id, &type, &err);
    if (rc < 0) {
        txn_fail(a->txn, &err);
    } else if (type != EVENT_WORKFLOW_TASK_SCHEDULED) {
        add_task_scheduled(a);
    }
}

static void write_events(struct append *a, enum task_kind mark)
{
    event_append(a->txn, a->row.id, a->rows, a->count);
    execution_set_head(a->txn, a->row.id, a->row.next_event_id + (int64_t)a->count,
                       a->row.history_bytes);
    task_put(a->txn, a->row.id, mark, a->now_ns);
}

static int commit(struct append *a)
{
    struct err err = {0};
    if (txn_commit(a->txn, &err) < 0) {
        return engine_fail(a->engine, &err);
    }
    bell_ring(a->engine->bell, BELL_WORK);
    bell_ring(a->engine->bell, BELL_NEWS);
    return DUR_OK;
}

static int check_payload(dur_engine *engine, const char *what, const char *json)
{
    struct err err;
    if (!json) {
        return DUR_OK;
    }
    if (strlen(json) > PAYLOAD_BYTES_MAX) {
        return engine_refuse(engine, DUR_LIMIT, "%s is larger than %u bytes", what,
                             PAYLOAD_BYTES_MAX);
    }
    if (json_check(json, strlen(json), &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "%s is not JSON: %s", what, err.text);
    }
    return DUR_OK;
}

static int check_name(dur_engine *engine, const char *what, const char *name)
{
    if (!name || !*name || strlen(name) > ID_BYTES_MAX || !utf8_valid(name, strlen(name))) {
        return engine_refuse(engine, DUR_INVALID, "%s must be 1 to %d bytes of UTF-8", what,
                             ID_BYTES_MAX);
    }
    return DUR_OK;
}

static int check_reason(dur_engine *engine, const char *reason)
{
    return reason && *reason ? check_name(engine, "the reason", reason) : DUR_OK;
}

/* --- start ---------------------------------------------------------------------------------------
 */

/* DUR_OK: there is room for a new run. */
static int check_room(struct append *a)
{
    struct err err = {0};
    return store_admits_new_runs(a->engine->store, &err) < 0 ? engine_fail(a->engine, &err)
                                                             : DUR_OK;
}

/* DUR_OK: a new run may be made; 1: the very same call was committed before; else the refusal. */
static int check_reuse(struct append *a, const char *id, const dur_start_options *o)
{
    struct execution_row old;
    struct err err = {0};
    int rc = execution_find_newest(txn_db(a->txn), a->arena, id, &old, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(a->engine, &err) : check_room(a);
    }
    if (o->request_id && str_eq(old.request_id, o->request_id)) {
        return 1;
    }
    if (old.status == EXECUTION_RUNNING) {
        return engine_refuse(a->engine, DUR_EXISTS, "a run with id %s is open", id);
    }
    bool ended_well = old.status == EXECUTION_COMPLETED;
    if (o->reuse == DUR_REUSE_REJECT || (o->reuse == DUR_REUSE_FAILED_ONLY && ended_well)) {
        return engine_refuse(a->engine, DUR_EXISTS,
                             "the id %s was used before and may not be reused", id);
    }
    return check_room(a);
}

static int insert_run(struct append *a, const char *type, const char *id, const char *input,
                      const dur_start_options *o)
{
    struct birth birth = {
        .workflow_id = id,
        .type = type,
        .task_queue = o->task_queue,
        .input = input ? payloads_json(a->arena, input) : NULL,
        .memo = map_parse(a->arena, o->memo),
        .execution_timeout_ns = o->execution_timeout_ms * NS_PER_MS,
        .run_timeout_ns = o->run_timeout_ms * NS_PER_MS,
        .request_id = o->request_id,
        .identity = a->engine->identity,
    };
    birth_write(a->txn, a->arena, &birth, a->now_ns, &a->row);
    return commit(a);
}

static int check_start(dur_engine *engine, const dur_start_options *o)
{
    int rc = check_payload(engine, "the memo", o->memo);
    if (rc || (o->task_queue && (rc = check_name(engine, "the task queue", o->task_queue))) ||
        (o->request_id && (rc = check_name(engine, "the request id", o->request_id)))) {
        return rc;
    }
    if (o->memo && o->memo[strspn(o->memo, " \t\r\n")] != '{') {
        return engine_refuse(engine, DUR_INVALID, "the memo must be a JSON object");
    }
    if (o->execution_timeout_ms < 0 || o->execution_timeout_ms > TIMEOUT_MS_MAX ||
        o->run_timeout_ms < 0 || o->run_timeout_ms > TIMEOUT_MS_MAX) {
        return engine_refuse(engine, DUR_INVALID, "time-outs lie between 0 and 100 years");
    }
    if ((unsigned)o->reuse > DUR_REUSE_REJECT) {
        return engine_refuse(engine, DUR_INVALID, "%d is no reuse policy", (int)o->reuse);
    }
    return DUR_OK;
}

int dur_start_at(dur_engine *engine, const char *type, const char *id, const char *input,
                 const dur_start_options *options, size_t options_size)
{
    dur_start_options o = {0};
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    int rc = engine_ready(engine, true);
    if (rc || (rc = check_name(engine, "the workflow type", type)) ||
        (rc = check_name(engine, "the workflow id", id)) ||
        (rc = check_payload(engine, "the input", input)) || (rc = check_start(engine, &o))) {
        return rc;
    }
    autoarena struct arena *arena = arena_new();
    struct append a = {.engine = engine,
                       .arena = arena,
                       .now_ns = engine_now_ns(engine),
                       .txn = txn_begin(engine->store)};
    rc = check_reuse(&a, id, &o);
    if (rc != DUR_OK) {
        txn_rollback(a.txn);
        return rc > 0 ? DUR_OK : rc;
    }
    return insert_run(&a, type, id, input, &o);
}

/* --- signal, cancel, terminate
 * --------------------------------------------------------------------- */

/* Begins a transaction on the open run of this id. */
static int open_append(struct append *a, dur_engine *engine, struct arena *arena, const char *id)
{
    struct err err = {0};
    int rc = engine_ready(engine, true);
    if (rc) {
        return rc;
    }
    a->engine = engine;
    a->arena = arena;
    a->now_ns = engine_now_ns(engine);
    a->txn = txn_begin(engine->store);
    rc = execution_find_open(txn_db(a->txn), arena, id ? id : "", &a->row, &err);
    if (rc != 0) {
        txn_rollback(a->txn);
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no open run has the id %s",
                                      id ? id : "");
    }
    return DUR_OK;
}

int dur_signal(dur_engine *engine, const char *id, const char *signal, const char *input)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    int rc = check_name(engine, "the signal name", signal);
    if (rc || (rc = check_payload(engine, "the signal's input", input)) ||
        (rc = open_append(&a, engine, arena, id))) {
        return rc;
    }
    struct event *event = new_event(&a, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    struct ev_workflow_execution_signaled *s = ev_workflow_execution_signaled(event);
    s->signal_name = signal;
    s->input = input ? payloads_json(arena, input) : NULL;
    s->identity = engine->identity;
    add_event(&a, event);
    need_task(&a);
    write_events(&a, TASK_SIGNAL);
    return commit(&a);
}

int dur_cancel(dur_engine *engine, const char *id, const char *reason)
{
    autoarena struct arena *arena = arena_new();
    struct append a = {0};
    struct err err = {0};
    int64_t event_id;
    int type;
    int rc = check_reason(engine, reason);
    if (rc || (rc = open_append(&a, engine, arena, id))) {
        return rc;
    }
    rc = event_last(txn_db(a.txn), a.row.id, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
                    EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &event_id, &type, &err);
    if (rc <= 0) { /* asked before, or the store failed */
        txn_rollback(a.txn);
        return rc < 0 ? engine_fail(engine, &err) : DUR_OK;
    }
    struct event *event = new_event(&a, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    struct ev_workflow_execution_cancel_requested *c =
        ev_workflow_execution_cancel_requested(event);
    c->cause = reason;
    c->identity = engine->identity;
    add_event(&a, event);
    need_task(&a);
    write_events(&a, TASK_CANCEL);
    return commit(&a);
}

int dur_terminate(dur_engine *engine, const char *id, const char *reason)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str failure = {0};
    struct append a = {0};
    int rc = check_reason(engine, reason);
    if (rc || (rc = open_append(&a, engine, arena, id))) {
        return rc;
    }
    struct event *event = new_event(&a, EVENT_WORKFLOW_EXECUTION_TERMINATED);
    struct ev_workflow_execution_terminated *t = ev_workflow_execution_terminated(event);
    t->reason = reason;
    t->identity = engine->identity;
    add_event(&a, event);
    store_failure_encode(failure_terminated(arena, reason, engine->identity), &failure);
    event_append(a.txn, a.row.id, a.rows, a.count);
    execution_set_head(a.txn, a.row.id, a.row.next_event_id + (int64_t)a.count,
                       a.row.history_bytes);
    execution_close(a.txn, a.row.id, EXECUTION_TERMINATED, a.now_ns, NULL, str_c(&failure));
    task_put(a.txn, a.row.id, TASK_TERMINATE, a.now_ns);
    return commit(&a);
}
