/*
 * append.c - see append.h. Owns: the shape of every client transaction.
 * Tests: tests/unit/test_engine_client.c
 */
#include "engine/append.h"

#include <string.h>

#include "history/failure.h"
#include "journal/clock.h"
#include "worker/birth.h"
#include "worker/record.h"

int check_reason(dur_engine *engine, const char *reason)
{
    return reason && *reason ? engine_check_name(engine, "the reason", reason) : DUR_OK;
}

int append_begin(struct append *a, dur_engine *engine, struct arena *arena)
{
    int rc = engine_ready(engine, true);
    if (rc) {
        return rc;
    }
    a->engine = engine;
    a->arena = arena;
    a->txn = txn_begin(engine->store);
    /* after the wait for other writers: they came before */
    struct clock_reading now = clock_read_of(engine->clock);
    a->now_ns = now.wall_ns;
    clock_settle(a->txn, &now);
    return DUR_OK;
}

int append_open(struct append *a, dur_engine *engine, struct arena *arena, const char *id)
{
    struct err err = {0};
    int rc = append_begin(a, engine, arena);
    if (rc) {
        return rc;
    }
    rc = engine_find_open(engine, txn_db(a->txn), arena, id, &a->row, &err);
    if (rc != 0) {
        txn_rollback(a->txn);
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no open run has the id %s",
                                      id ? id : "");
    }
    return DUR_OK;
}

struct event *append_event(struct append *a, enum event_type type)
{
    struct event *event = event_new(a->arena, type);
    event->id = a->row.next_event_id + (int64_t)a->count;
    event->time_ns = a->now_ns;
    return event;
}

void append_add(struct append *a, const struct event *event)
{
    struct store_context codec;
    store_context_init(&codec, db_sealer(txn_db(a->txn)), a->row.task_queue, NULL,
                       a->row.workflow_id, a->row.run_id);
    a->row.history_bytes +=
        record_event(&codec, a->arena, event, event->time_ns, &a->rows[a->count++]);
}

void append_task(struct append *a)
{
    struct err err;
    int needs = record_needs_task(txn_db(a->txn), &a->row, &err);
    if (needs < 0) {
        txn_fail(a->txn, &err);
    } else if (needs) {
        struct event *event = append_event(a, EVENT_WORKFLOW_TASK_SCHEDULED);
        record_task_scheduled(a->arena, event, a->row.task_queue,
                              birth_row_task_timeout_ns(&a->row), 1);
        append_add(a, event);
    }
}

static void write_events(struct append *a)
{
    event_append(a->txn, a->row.id, a->rows, a->count, a->row.history_bytes);
}

void append_write(struct append *a, enum task_kind mark)
{
    write_events(a);
    task_put(a->txn, a->row.id, mark, a->now_ns);
}

void append_terminated(struct append *a, const char *reason, const struct payloads *details)
{
    autostr struct str failure = {0};
    const char *identity = a->engine->identity;
    struct event *event = append_event(a, EVENT_WORKFLOW_EXECUTION_TERMINATED);
    struct ev_workflow_execution_terminated *t = ev_workflow_execution_terminated(event);
    t->reason = reason;
    t->details = (struct payloads *)(uintptr_t)details;
    t->identity = identity;
    append_add(a, event);
    store_failure_encode(failure_terminated(a->arena, reason, identity), &failure);
    write_events(a);
    execution_close(a->txn, a->row.id, EXECUTION_TERMINATED, a->now_ns, NULL, str_c(&failure));
    task_put(a->txn, a->row.id, TASK_TERMINATE, a->now_ns);
}

int append_commit(struct append *a)
{
    struct err err = {0};
    if (txn_commit(a->txn, &err) < 0) {
        return engine_fail(a->engine, &err);
    }
    bell_ring(a->engine->bell, BELL_WORK);
    bell_ring(a->engine->bell, BELL_NEWS);
    return DUR_OK;
}

int append_rollback(struct append *a, int code)
{
    txn_rollback(a->txn);
    return code;
}
