/*
 * export.c - dur_history and dur_export: a run's events as Temporal's tools read them.
 * Owns: reading a history in pages, so that no run is too long for memory. Events are append-only,
 * so what a run had when the export began is read without a lock. A server's history is printed as
 * it comes.
 * Tests: tests/unit/test_engine_import.c, tests/unit/test_engine_look.c
 */
#include <string.h>

#include "engine/engine.h"
#include "history/json.h"
#include "history/proto.h"

#define PAGE_EVENTS 500
#define PIECE_BYTES ((size_t)64 * 1024)

struct export
{
    bool protobuf;
    dur_write_fn write; /* NULL: all of it stays in text */
    void *user;
    struct str text; /* not written yet */
    bool is_refused; /* the caller's function wants no more */
};

/* 1: the caller's function wants no more. */
static int flush(struct export *e, size_t least)
{
    if (!e->write || e->text.len < least || e->text.len == 0) {
        return 0;
    }
    int rc = e->write(e->user, e->text.ptr, e->text.len) ? 1 : 0;
    str_reset(&e->text);
    return rc;
}

static void put(struct export *e, const struct event *event)
{
    if (e->protobuf) {
        event_to_proto(&e->text, event);
    } else {
        history_json_event(&e->text, event, event->id == 1);
    }
}

static int refused(dur_engine *engine, const char *id)
{
    return engine_refuse(engine, DUR_IO, "the export of %s was broken off by its receiver", id);
}

static int gone(struct err *err, const struct execution_row *row)
{
    return err_set(err, ERR_PERMANENT, "RunGone", "run %s was removed while it was read",
                   row->workflow_id);
}

/* 0, <0 with err, >0: the caller's function wants no more. */
static int put_events(dur_engine *engine, const struct execution_row *row, struct export *e,
                      struct err *err)
{
    autoarena struct arena *arena = arena_new();
    struct store_context codec;
    int64_t next = 1;
    int rc = 0;

    store_context_init(&codec, db_sealer(store_db(engine->store)), row->task_queue, NULL,
                       row->workflow_id, row->run_id);
    codec.shows_sealed = true;
    while (rc == 0 && next < row->next_event_id) {
        struct event_list rows;
        arena_reset(arena);
        if (event_read(store_db(engine->store), arena, row->id, next, PAGE_EVENTS, &rows, err) <
            0) {
            return -1;
        }
        if (rows.count == 0) {
            return gone(err, row);
        }
        for (size_t i = 0; i < rows.count && next < row->next_event_id && rc == 0; i++, next++) {
            const struct event_row *r = &rows.rows[i];
            struct event event;
            if (store_decode(&codec, arena, r->event_id, r->type, r->time_ns, r->attributes,
                             r->attributes_len, &event, err) < 0) {
                return -1;
            }
            put(e, &event);
            rc = flush(e, PIECE_BYTES);
        }
    }
    return rc;
}

/* A remote_events_fn. */
static int put_remote(void *user, const struct event *events, size_t count)
{
    struct export *e = user;
    for (size_t i = 0; i < count && !e->is_refused; i++) {
        put(e, &events[i]);
        e->is_refused = flush(e, PIECE_BYTES) != 0;
    }
    return e->is_refused;
}

/* Begins, gives and ends the whole text. DUR_OK, or a failure that is kept. */
static int export_remote(dur_engine *engine, const char *id, struct export *e)
{
    if (!e->protobuf) {
        history_json_begin(&e->text);
    }
    int rc = engine_remote_run(engine, false, history, id, put_remote, e);
    if (rc == DUR_OK && !e->is_refused) {
        if (!e->protobuf) {
            history_json_end(&e->text, NULL);
        }
        e->is_refused = flush(e, 0) != 0;
    }
    return e->is_refused ? refused(engine, id) : rc;
}

static int export(dur_engine *engine, const char *id, struct export *e)
{
    struct err err = {0};
    struct execution_row row;
    autoarena struct arena *arena = arena_new();
    int rc = engine_ready(engine, false);

    if (rc) {
        return rc;
    }
    if (engine_is_remote(engine)) {
        return export_remote(engine, id, e);
    }
    rc = engine_find(engine, store_db(engine->store), arena, id, &row, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no run has the id %s", id ? id : "");
    }
    if (!e->protobuf) {
        history_json_begin(&e->text);
    }
    rc = put_events(engine, &row, e, &err);
    if (rc == 0 && !e->protobuf) {
        history_json_end(&e->text, NULL);
    }
    if (rc == 0) {
        rc = flush(e, 0);
    }
    return rc < 0 ? engine_fail(engine, &err) : rc ? refused(engine, id) : DUR_OK;
}

int dur_export(dur_engine *engine, const char *id, dur_form form, dur_write_fn write, void *user)
{
    struct export e = {.protobuf = form == DUR_FORM_PROTOBUF, .write = write, .user = user};

    if (!write || (form != DUR_FORM_JSON && form != DUR_FORM_PROTOBUF)) {
        return engine_refuse(engine, DUR_INVALID, "dur_export needs a form and a function");
    }
    int rc = export(engine, id, &e);
    str_free(&e.text);
    return rc;
}

int dur_history(dur_engine *engine, const char *id, char **json)
{
    struct export e = {0};

    if (!json) {
        return engine_refuse(engine, DUR_INVALID, "dur_history needs a place for the answer");
    }
    int rc = export(engine, id, &e);
    if (rc == DUR_OK) {
        *json = str_take(&e.text);
    }
    str_free(&e.text);
    return rc;
}
