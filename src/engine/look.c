/*
 * look.c - describing, listing and waiting for runs: durable.h's reading calls.
 * Owns: dur_description and its memory. Reads committed state only; works without an engine. On a
 * connected engine the server answers.
 * Tests: tests/unit/test_engine_look.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "history/failure.h"
#include "history/json.h"
#include "journal/bell.h"
#include "journal/sealed.h"

struct described {
    dur_description public; /* first: the pointers are cast */
    struct arena *arena;
};

/* "ID@RUN" names that run. 0; 1: there is no such run, so it may be an id with an @ in it. */
static int find_named(struct db *db, struct arena *arena, const char *id, struct execution_row *ret,
                      struct err *err)
{
    const char *at = id ? strrchr(id, '@') : NULL;
    if (!at || !at[1]) {
        return 1;
    }
    int rc = execution_find_run(db, arena, at + 1, ret, err);
    if (rc == 0 && (strlen(ret->workflow_id) != (size_t)(at - id) ||
                    strncmp(ret->workflow_id, id, (size_t)(at - id)) != 0)) {
        rc = 1;
    }
    return rc;
}

int engine_find(dur_engine *engine, struct db *db, struct arena *arena, const char *id,
                struct execution_row *ret, struct err *err)
{
    (void)engine;
    int rc = find_named(db, arena, id, ret, err);
    return rc <= 0 ? rc : execution_find_newest(db, arena, id ? id : "", ret, err);
}

int engine_find_open(dur_engine *engine, struct db *db, struct arena *arena, const char *id,
                     struct execution_row *ret, struct err *err)
{
    (void)engine;
    int rc = find_named(db, arena, id, ret, err);
    if (rc == 0) {
        return ret->status == EXECUTION_RUNNING ? 0 : 1;
    }
    return rc < 0 ? rc : execution_find_open(db, arena, id ? id : "", ret, err);
}

/* The column's compact form in Temporal's JSON. */
static const char *failure_json(struct arena *arena, const char *stored)
{
    struct failure *failure;
    autostr struct str text = {0};
    if (!stored || store_failure_decode(arena, stored, strlen(stored), &failure, NULL) < 0) {
        return keys_shown_json(arena, stored, "message");
    }
    failure_to_json(&text, failure);
    return arena_strdup(arena, str_c(&text));
}

/* "ID@RUN" of the run that started this one; NULL: none, or it was purged. */
static const char *parent_of(struct db *db, struct arena *arena, const struct execution_row *row)
{
    struct execution_row parent;
    if (!row->parent || execution_get(db, arena, row->parent, &parent, NULL) != 0) {
        return NULL;
    }
    return arena_printf(arena, "%s@%s", parent.workflow_id, parent.run_id);
}

static void describe(dur_description *d, struct db *db, struct arena *arena,
                     const struct execution_row *row)
{
    d->workflow_id = row->workflow_id;
    d->run_id = row->run_id;
    d->type = row->type;
    d->task_queue = row->task_queue;
    d->status = (dur_status)row->status;
    d->started_ns = row->started_ns;
    d->closed_ns = row->closed_ns;
    d->history_events = row->next_event_id - 1;
    d->history_bytes = row->history_bytes;
    d->memo = row->memo ? keys_shown_json(arena, row->memo, "$sealed") : "{}";
    d->result = keys_shown_json(arena, row->result, "$sealed");
    d->failure = failure_json(arena, row->failure);
    d->parked = keys_shown(arena, row->parked);
    d->paused = row->paused;
    d->attempt = row->attempt;
    d->first_run_id = row->first_run_id ? row->first_run_id : row->run_id;
    d->next_run_id = row->next_run_id;
    d->begins_ns = row->first_task_ns;
    d->search_attributes = row->search_attributes ? row->search_attributes : "{}";
    d->parent = parent_of(db, arena, row);
    if (row->paused) {
        d->status = DUR_PAUSED;
    }
}

static int not_found(dur_engine *engine, const char *id)
{
    return engine_refuse(engine, DUR_NOT_FOUND, "no run has the id %s", id ? id : "");
}

/* DUR_OK with the description in arena. */
static int describe_stored(dur_engine *engine, struct arena *arena, const char *id,
                           dur_description *ret)
{
    struct err err = {0};
    struct execution_row row;
    struct db *db = store_db(engine->store);
    int rc = engine_find(engine, db, arena, id, &row, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(engine, &err) : not_found(engine, id);
    }
    describe(ret, db, arena, &row);
    return DUR_OK;
}

int dur_describe(dur_engine *engine, const char *id, dur_description **description)
{
    if (!description) {
        return engine_refuse(engine, DUR_INVALID, "dur_describe needs a place for the answer");
    }
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    autoarena struct arena *arena = arena_new();
    struct described *made = arena_new_of(arena, struct described);
    rc = engine_is_remote(engine) ? engine_remote_describe(engine, arena, id, &made->public)
                                  : describe_stored(engine, arena, id, &made->public);
    if (rc == DUR_OK) {
        made->arena = steal(&arena);
        *description = &made->public;
    }
    return rc;
}

void dur_description_free(dur_description *description)
{
    if (description) {
        arena_free(((struct described *)description)->arena);
    }
}

static int give_rows(struct db *db, struct arena *arena, const struct execution_list *list,
                     dur_list_fn row, void *user)
{
    for (size_t i = 0; i < list->count; i++) {
        dur_description d = {0};
        describe(&d, db, arena, &list->rows[i]);
        if (row(user, list->rows[i].id, &d)) {
            break;
        }
    }
    return DUR_OK;
}

int dur_list(dur_engine *engine, dur_status status, int64_t after, int limit, dur_list_fn row,
             void *user)
{
    struct err err = {0};
    struct execution_list list;
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    if (!row || limit < 0 || after < 0 || (int)status < 0 || status > DUR_PAUSED) {
        return engine_refuse(engine, DUR_INVALID, "dur_list needs a callback, a status and counts");
    }
    if (engine_is_remote(engine)) {
        return engine_remote(engine, false, list, NULL, status, after, limit, row, user);
    }
    autoarena struct arena *arena = arena_new();
    if (execution_list(store_db(engine->store), arena, (int)status, after, limit, &list, &err) <
        0) {
        return engine_fail(engine, &err);
    }
    return give_rows(store_db(engine->store), arena, &list, row, user);
}

int dur_list_where(dur_engine *engine, const char *filter, int64_t after, int limit,
                   dur_list_fn row, void *user)
{
    struct err err = {0};
    struct filter parsed;
    struct execution_list list;
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    if (!row || limit < 0 || after < 0 || !filter || !utf8_valid(filter, strlen(filter))) {
        return engine_refuse(engine, DUR_INVALID,
                             "dur_list_where needs a filter, a callback and counts");
    }
    if (engine_is_remote(engine)) { /* blanks are no filter */
        filter = filter[strspn(filter, " \t\r\n")] ? filter : NULL;
        return engine_remote(engine, false, list, filter, 0, after, limit, row, user);
    }
    autoarena struct arena *arena = arena_new();
    if (filter_parse(arena, filter, &parsed, &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "filter: %s", err.text);
    }
    if (execution_list_where(store_db(engine->store), arena, &parsed, after, limit, &list, &err) <
        0) {
        return engine_fail(engine, &err);
    }
    return give_rows(store_db(engine->store), arena, &list, row, user);
}

/* ": what went wrong at the bottom of it", or "". */
static const char *reason(struct arena *arena, const char *stored)
{
    struct failure *failure;
    autostr struct str text = {0};
    if (!stored || store_failure_decode(arena, stored, strlen(stored), &failure, NULL) < 0) {
        return sealed_key(arena, stored) ? arena_printf(arena, " %s", keys_shown(arena, stored))
                                         : "";
    }
    failure_describe(failure_root(failure), &text);
    return arena_printf(arena, ": %s", str_c(&text));
}

/* DUR_OK etc. when closed, 1 while it is open. */
static int outcome(dur_engine *engine, struct arena *arena, const struct execution_row *row,
                   char **result)
{
    switch (row->status) {
    case EXECUTION_RUNNING:
        return 1;
    case EXECUTION_COMPLETED:
        if (sealed_key(arena, row->result)) {
            return keys_refuse(engine, "the result of run", row->workflow_id,
                               sealed_key(arena, row->result));
        }
        if (result) {
            *result = mem_strdup(row->result ? row->result : "null");
        }
        return DUR_OK;
    case EXECUTION_CANCELED:
        return engine_refuse(engine, DUR_CANCELLED, "run %s was cancelled", row->workflow_id);
    default:
        return engine_refuse(engine, DUR_FAILED, "run %s ended as %s%s", row->workflow_id,
                             dur_status_name((dur_status)row->status), reason(arena, row->failure));
    }
}

/* The run of this id as it is now; id 0: look it up, else it stays the run that was found first. */
static int look(dur_engine *engine, struct arena *arena, const char *id, int64_t known,
                struct execution_row *row)
{
    struct err err = {0};
    struct db *db = store_db(engine->store);
    int rc = known ? execution_get(db, arena, known, row, &err)
                   : engine_find(engine, db, arena, id, row, &err);
    return rc < 0 ? engine_fail(engine, &err) : rc > 0 ? not_found(engine, id) : DUR_OK;
}

/* The last run of the chain, as far as it goes now: each link is there, or was purged. */
static int follow(dur_engine *engine, struct arena *arena, struct execution_row *row)
{
    struct err err = {0};
    while (row->next_run_id) {
        int rc = execution_find_run(store_db(engine->store), arena, row->next_run_id, row, &err);
        if (rc != 0) {
            return rc < 0 ? engine_fail(engine, &err)
                          : engine_refuse(engine, DUR_NOT_FOUND,
                                          "the run that followed run %s was deleted", row->run_id);
        }
    }
    return DUR_OK;
}

int dur_result(dur_engine *engine, const char *id, int64_t timeout_ms, char **result)
{
    struct listener news autolistener = {0};
    int64_t until = engine_deadline_ns(timeout_ms);
    int64_t known = 0;
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    if (engine_is_remote(engine)) {
        autofree char *ignored = NULL;
        return engine_remote_run(engine, false, result, id, timeout_ms, result ? result : &ignored);
    }
    if ((rc = engine_listen(engine, &news)) != DUR_OK) {
        return rc;
    }
    for (;;) {
        struct execution_row row;
        autoarena struct arena *arena = arena_new();
        bell_drain(news.bell);
        rc = look(engine, arena, id, known, &row);
        if (rc != DUR_OK || (rc = follow(engine, arena, &row)) != DUR_OK) {
            return rc;
        }
        known = row.id;
        rc = outcome(engine, arena, &row, result);
        if (rc <= 0) {
            return rc;
        }
        rc = engine_wait_news(engine, news.bell, until);
        if (rc != DUR_OK) {
            return rc > 0 ? engine_refuse(engine, DUR_TIMED_OUT, "run %s is still open", id) : rc;
        }
    }
}

int engine_load_history(struct db *db, struct arena *arena, const struct execution_row *row,
                        struct history *ret, struct err *err)
{
    struct event_list rows;
    struct store_context codec;
    if (event_read(db, arena, row->id, 1, 0, &rows, err) < 0) {
        return -1;
    }
    store_context_init(&codec, db_sealer(db), row->task_queue, NULL, row->workflow_id, row->run_id);
    codec.shows_sealed = true;
    *ret = (struct history){.count = rows.count, .cap = rows.count};
    ret->items = arena_array_of(arena, struct event, rows.count ? rows.count : 1);
    for (size_t i = 0; i < rows.count; i++) {
        const struct event_row *r = &rows.rows[i];
        if (store_decode(&codec, arena, r->event_id, r->type, r->time_ns, r->attributes,
                         r->attributes_len, &ret->items[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}
