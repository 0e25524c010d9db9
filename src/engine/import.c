/*
 * import.c - dur_import: a history recorded elsewhere becomes a run of this store.
 *
 * Owns: whether it may come in, its execution and its events; import_rows.c has what is open. All
 * of it is one transaction. Must not: change what the events say, but the workflow id when another
 * was asked for.
 * Tests: tests/unit/test_engine_import.c
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/import.h"
#include "history/source.h"
#include "history/validate.h"
#include "journal/clock.h"
#include "journal/task.h"
#include "worker/birth.h"
#include "worker/record.h"

#define ID_BYTES_MAX 1000

/* --- the row ---------------------------------------------------------------------------------- */

static const char *result_text(struct arena *arena, const struct payloads *result)
{
    size_t len = 0;
    const char *json = result ? payloads_first_json(result, &len) : NULL;
    return json ? arena_strndup(arena, json, len) : NULL;
}

static const char *failure_text(struct arena *arena, const struct failure *failure)
{
    autostr struct str text = {0};
    if (!failure) {
        return NULL;
    }
    store_failure_encode(failure, &text);
    return arena_strdup(arena, str_c(&text));
}

/* Status and outcome as the last event says. */
static void close_row(struct import *im, const struct event *last)
{
    struct execution_row *row = &im->row;
    const struct ev_workflow_execution_completed *completed;
    const struct ev_workflow_execution_failed *failed;

    row->status = EXECUTION_RUNNING;
    switch (last->type) {
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        completed = ev_workflow_execution_completed(last);
        row->status = EXECUTION_COMPLETED;
        row->result = result_text(im->arena, completed->result);
        row->next_run_id = completed->new_execution_run_id;
        break;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        failed = ev_workflow_execution_failed(last);
        row->status = EXECUTION_FAILED;
        row->failure = failure_text(im->arena, failed->failure);
        row->next_run_id = failed->new_execution_run_id;
        break;
    case EVENT_WORKFLOW_EXECUTION_TIMED_OUT:
        row->status = EXECUTION_TIMED_OUT;
        row->next_run_id = ev_workflow_execution_timed_out(last)->new_execution_run_id;
        break;
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
        row->status = EXECUTION_CANCELED;
        break;
    case EVENT_WORKFLOW_EXECUTION_TERMINATED:
        row->status = EXECUTION_TERMINATED;
        break;
    case EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        row->status = EXECUTION_CONTINUED_AS_NEW;
        row->next_run_id = ev_workflow_execution_continued_as_new(last)->new_execution_run_id;
        break;
    default:
        break;
    }
    if (row->status != EXECUTION_RUNNING) {
        row->closed_ns = last->time_ns > row->started_ns ? last->time_ns : row->started_ns;
    }
}

/* Times that ended while nobody looked do not end the run now: it is here to be looked at. */
static int64_t still_to_come(const struct import *im, int64_t ns)
{
    return ns > im->now_ns ? ns : 0;
}

static void open_row(struct import *im, const struct ev_workflow_execution_started *s)
{
    struct execution_row *row = &im->row;
    bool has_task = false;

    for (size_t i = 0; i < im->history.count; i++) {
        has_task |= event_is_workflow_task(im->history.items[i].type);
    }
    if (s->first_workflow_task_backoff > 0 && !has_task) {
        row->first_task_ns = time_later(row->started_ns, s->first_workflow_task_backoff);
    }
    if (s->workflow_run_timeout > 0) {
        row->run_deadline_ns =
            still_to_come(im, time_later(row->started_ns, s->workflow_run_timeout));
    }
    row->expires_ns = still_to_come(im, s->workflow_execution_expiration_time);
    row->paused = im->state.paused && *im->state.paused ? im->state.paused : "imported";
}

static int make_row(struct import *im, const dur_import_options *options)
{
    const struct event *first = &im->history.items[0];
    struct ev_workflow_execution_started *s = ev_workflow_execution_started(first);
    struct execution_row *row = &im->row;
    const char *id = options->id ? options->id : s->workflow_id;

    if (!id || !*id) {
        return engine_refuse(im->engine, DUR_INVALID,
                             "the history does not name its workflow id: give it one");
    }
    if (strlen(id) > ID_BYTES_MAX || !utf8_valid(id, strlen(id))) {
        return engine_refuse(im->engine, DUR_INVALID, "the id must be 1 to %d bytes of UTF-8",
                             ID_BYTES_MAX);
    }
    if (!s->workflow_type || !*s->workflow_type) {
        return engine_refuse(im->engine, DUR_INVALID,
                             "the history does not name its workflow type");
    }
    s->workflow_id = id;
    *row = (struct execution_row){
        .workflow_id = id,
        .run_id = s->original_execution_run_id && *s->original_execution_run_id
                      ? s->original_execution_run_id
                      : birth_run_id(im->arena),
        .type = s->workflow_type,
        .task_queue = s->task_queue && s->task_queue->name ? s->task_queue->name : "default",
        .started_ns = first->no_time || first->time_ns <= 0 ? 1 : first->time_ns,
        .attempt = s->attempt > 0 ? s->attempt : 1,
        .task_timeout_ns = birth_task_timeout_ns(s->workflow_task_timeout, s->workflow_run_timeout),
        .memo = im->state.memo,
        .search_attributes = im->state.search_attributes,
        .parent_event_id = s->parent_initiated_event_id, /* until the parent comes (write_child) */
        .next_event_id = (int64_t)im->history.count + 1,
    };
    if (s->first_execution_run_id && !str_eq(s->first_execution_run_id, row->run_id)) {
        row->first_run_id = s->first_execution_run_id;
    }
    close_row(im, &im->history.items[im->history.count - 1]);
    if (row->status == EXECUTION_RUNNING) {
        open_row(im, s);
    }
    return DUR_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* DUR_OK, or why the id cannot be used. With an id of its own the run gets a new run id too. */
static int check_clash(struct import *im, struct db *db, bool renamed)
{
    struct err err = {0};
    struct execution_row other;

    int rc = execution_find_run(db, im->arena, im->row.run_id, &other, &err);
    if (rc == 0 && !renamed) {
        return engine_refuse(im->engine, DUR_EXISTS, "the store has run %s of %s already",
                             other.run_id, other.workflow_id);
    }
    if (rc == 0) {
        im->row.run_id = birth_run_id(im->arena);
    }
    if (rc >= 0) {
        rc = execution_find_newest(db, im->arena, im->row.workflow_id, &other, &err);
    }
    if (rc < 0) {
        return engine_fail(im->engine, &err);
    }
    if (rc == 0 && (other.status == EXECUTION_RUNNING || other.started_ns >= im->row.started_ns)) {
        return engine_refuse(im->engine, DUR_EXISTS,
                             "%s has %s run (%s): import it under another id", other.workflow_id,
                             other.status == EXECUTION_RUNNING ? "an open" : "a later",
                             other.run_id);
    }
    return DUR_OK;
}

static int write_run(struct import *im, bool renamed)
{
    struct err err = {0};

    if (store_admits_new_runs(im->engine->store, &err) < 0) {
        return engine_fail(im->engine, &err);
    }
    struct txn *txn = txn_begin(im->engine->store);
    struct clock_reading now = clock_read_of(im->engine->clock);
    int rc = check_clash(im, txn_db(txn), renamed);

    if (rc == DUR_OK && im->row.status == EXECUTION_RUNNING) {
        rc = import_check_open(im, txn_db(txn));
    }
    if (rc != DUR_OK) {
        txn_rollback(txn);
        return rc;
    }
    clock_settle(txn, &now);
    int64_t execution = im->row.id = execution_insert(txn, &im->row);
    record_history(txn, &im->row, im->history.items, im->history.count);
    import_write_requests(im, txn, execution);
    if (im->row.status == EXECUTION_RUNNING) {
        import_write_open(im, txn, execution);
    }
    if (txn_commit(txn, &err) < 0) {
        return engine_fail(im->engine, &err);
    }
    bell_ring(im->engine->bell, BELL_WORK);
    bell_ring(im->engine->bell, BELL_NEWS);
    return DUR_OK;
}

/* --- the call --------------------------------------------------------------------------------- */

/* A workflow task that is being executed elsewhere ends there: its start is not ours. */
static void leave_started(struct history *history)
{
    if (history->count > 0 &&
        history->items[history->count - 1].type == EVENT_WORKFLOW_TASK_STARTED) {
        history->count--;
    }
}

static int read_history(struct import *im, const void *bytes, size_t len)
{
    struct err err = {0};

    if (!bytes || history_from_bytes(im->arena, bytes, len, &im->history, &err) < 0) {
        return bytes ? engine_fail(im->engine, &err)
                     : engine_refuse(im->engine, DUR_INVALID, "a history is needed");
    }
    if (im->history.count == 0) {
        return engine_refuse(im->engine, DUR_INVALID, "the history has no events");
    }
    for (size_t i = 0; keys_in_bytes(bytes, len) && i < im->history.count; i++) {
        if (keys_open_event(im->engine, im->arena, &im->history.items[i], &err) < 0) {
            return engine_fail(im->engine, &err);
        }
    }
    if (history_validate(&im->history, NULL, &err) < 0) {
        return engine_fail(im->engine, &err);
    }
    leave_started(&im->history);
    im->things = arena_array_of(im->arena, struct import_thing, im->history.count + 1);
    for (size_t i = 0; i < im->history.count; i++) {
        import_survey(im, &im->history.items[i]);
    }
    return DUR_OK;
}

int dur_import_at(dur_engine *engine, const void *bytes, size_t len, char **run,
                  const dur_import_options *options, size_t options_size)
{
    autoarena struct arena *arena = arena_new();
    struct import im = {.engine = engine, .arena = arena};
    dur_import_options o = {0};

    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    int rc =
        engine_store_ready(engine, true, "a history is imported into a store, opened by dur_open");
    if (rc) {
        return rc;
    }
    im.now_ns = engine_now_ns(engine);
    if ((rc = read_history(&im, bytes, len)) || (rc = make_row(&im, &o)) ||
        (rc = write_run(&im, o.id != NULL))) {
        return rc;
    }
    if (run) {
        *run = mem_printf("%s@%s", im.row.workflow_id, im.row.run_id);
    }
    return DUR_OK;
}
