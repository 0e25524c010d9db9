/*
 * update.c - dur_update, dur_update_result: asking a run to change, and to say what came of it.
 *
 * Owns: admitting an update (a row and a mark, one commit) and waiting for its outcome. So an
 * update is durable when it is admitted, whether or not an engine runs; asking again with its id
 * asks for the same one.
 * Must not: append events: an update that is rejected leaves no trace in the history.
 * Tests: tests/unit/test_engine_update.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "history/failure.h"
#include "history/json.h"
#include "journal/bell.h"
#include "journal/run_update.h"
#include "journal/sealed.h"
#include "journal/task.h"

/* --- outcomes ----------------------------------------------------------------------------------
 */

/* The stored failure for the caller: *result is its JSON, dur_error its one line. */
static int failed(dur_engine *engine, struct arena *arena, const struct run_update_row *row,
                  int code, char **result)
{
    struct failure *failure = NULL;
    struct str json = {0};
    autostr struct str line = {0};
    if (!row->failure ||
        store_failure_decode(arena, row->failure, strlen(row->failure), &failure, NULL) < 0) {
        return engine_refuse(engine, code, "update %s failed", row->update_id);
    }
    failure_to_json(&json, failure);
    *result = str_take(&json);
    failure_describe(failure, &line);
    return engine_refuse(engine, code, "update %s was %s: %s", row->update_id,
                         code == DUR_REJECTED ? "rejected" : "not completed", str_c(&line));
}

/* As dur_update returns it; 1: it is not there yet. */
static int outcome(dur_engine *engine, struct arena *arena, const struct run_update_row *row,
                   dur_update_stage stage, char **result)
{
    switch (row->state) {
    case RUN_UPDATE_ADMITTED:
        return stage == DUR_WAIT_ADMITTED ? DUR_OK : 1;
    case RUN_UPDATE_ACCEPTED:
        return stage == DUR_WAIT_COMPLETED ? 1 : DUR_OK;
    case RUN_UPDATE_COMPLETED:
        if (row->failure) {
            return failed(engine, arena, row, DUR_FAILED, result);
        }
        if (sealed_key(arena, row->result)) {
            return keys_refuse(engine, "the result of update", row->update_id,
                               sealed_key(arena, row->result));
        }
        *result = mem_strdup(row->result ? row->result : "null");
        return DUR_OK;
    case RUN_UPDATE_REJECTED:
        return failed(engine, arena, row, DUR_REJECTED, result);
    default:
        return engine_refuse(engine, DUR_FAILED,
                             row->accepted_event_id
                                 ? "the run closed before update %s was completed"
                                 : "the run closed before update %s was accepted",
                             row->update_id);
    }
}

/* --- waiting -----------------------------------------------------------------------------------
 */

struct wanted {
    int64_t execution;
    const char *update_id;
    dur_update_stage stage;
    int64_t until_ns; /* monotonic; INT64_MAX: for ever */
};

static int time_out(dur_engine *engine, const struct run_update_row *row)
{
    if (row->state == RUN_UPDATE_ACCEPTED) {
        return engine_refuse(engine, DUR_TIMED_OUT, "update %s is accepted and not completed yet",
                             row->update_id);
    }
    return engine_refuse(engine, DUR_TIMED_OUT, "update %s is admitted; %s", row->update_id,
                         dur_served_by(engine, NULL) == 1 ? "the run has not looked at it yet"
                                                          : "no engine serves the store now");
}

static int wait_outcome(dur_engine *engine, const struct wanted *w, char **result)
{
    struct err err = {0};
    struct listener news autolistener = {0};
    int rc = engine_listen(engine, &news);
    if (rc != DUR_OK) {
        return rc;
    }
    for (;;) {
        struct run_update_row row;
        autoarena struct arena *arena = arena_new();
        bell_drain(news.bell);
        rc = run_update_get(store_db(engine->store), arena, w->execution, w->update_id, &row, &err);
        if (rc != 0) {
            return rc < 0 ? engine_fail(engine, &err)
                          : engine_refuse(engine, DUR_NOT_FOUND, "there is no update %s",
                                          w->update_id);
        }
        rc = outcome(engine, arena, &row, w->stage, result);
        if (rc <= 0) {
            return rc;
        }
        rc = engine_wait_news(engine, news.bell, w->until_ns);
        if (rc != DUR_OK) {
            return rc > 0 ? time_out(engine, &row) : rc;
        }
    }
}

/* --- admitting ---------------------------------------------------------------------------------
 */

/* Commits the row unless the run has this update already. */
static int admit(dur_engine *engine, struct arena *arena, const char *id,
                 struct run_update_row *update)
{
    struct err err = {0};
    struct execution_row run;
    struct run_update_row known;
    struct txn *txn = txn_begin(engine->store);
    int rc = engine_find(engine, txn_db(txn), arena, id, &run, &err);
    if (rc == 0) {
        update->execution = run.id;
        rc = run_update_get(txn_db(txn), arena, run.id, update->update_id, &known, &err);
        if (rc == 0 && known.state != RUN_UPDATE_REJECTED) {
            txn_rollback(txn); /* asked before: its outcome is the answer */
            return DUR_OK;
        }
        if (rc >= 0) {
            rc = run.status == EXECUTION_RUNNING ? 0 : 1;
        }
    }
    if (rc != 0) {
        txn_rollback(txn);
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no open run has the id %s",
                                      id ? id : "");
    }
    run_update_admit(txn, update);
    task_put(txn, run.id, TASK_UPDATE, update->created_ns);
    if (txn_commit(txn, &err) < 0) {
        return engine_fail(engine, &err);
    }
    bell_ring(engine->bell, BELL_WORK);
    return DUR_OK;
}

int dur_update_at(dur_engine *engine, const char *id, const char *update, const char *input,
                  char **result, const dur_update_options *options, size_t options_size)
{
    dur_update_options o = {0};
    char made_id[UUID_TEXT_BYTES];
    char *ignored = NULL;
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    int rc = engine_ready(engine, true);
    if (rc || (rc = engine_check_name(engine, "the update", update)) ||
        (rc = engine_check_payload(engine, "the update's input", input)) ||
        (o.update_id && (rc = engine_check_name(engine, "the update id", o.update_id)))) {
        return rc;
    }
    if ((unsigned)o.wait > DUR_WAIT_ADMITTED) {
        return engine_refuse(engine, DUR_INVALID, "%d is no stage of an update", (int)o.wait);
    }
    rng_uuid(made_id);
    o.update_id = o.update_id ? o.update_id : made_id;
    char **to = result ? result : &ignored;
    *to = NULL;
    if (engine_is_remote(engine)) {
        rc = engine_remote_run(engine, true, update, id, update, input, to, &o);
        dur_free(ignored);
        return rc;
    }
    autoarena struct arena *arena = arena_new();
    struct run_update_row row = {.update_id = o.update_id,
                                 .created_ns = engine_now_ns(engine),
                                 .name = update,
                                 .input = input,
                                 .identity = engine->identity};
    rc = admit(engine, arena, id, &row);
    if (rc != DUR_OK) {
        return rc;
    }
    struct wanted w = {.execution = row.execution,
                       .update_id = row.update_id,
                       .stage = o.wait,
                       .until_ns = engine_deadline_ns(o.timeout_ms ? o.timeout_ms : -1)};
    rc = wait_outcome(engine, &w, to);
    dur_free(ignored);
    return rc;
}

int dur_update_result(dur_engine *engine, const char *id, const char *update_id, int64_t timeout_ms,
                      char **result)
{
    struct err err = {0};
    struct execution_row run;
    char *ignored = NULL;
    int rc = engine_ready(engine, false);
    if (rc || (rc = engine_check_name(engine, "the update id", update_id))) {
        return rc;
    }
    char **to = result ? result : &ignored;
    *to = NULL;
    if (engine_is_remote(engine)) {
        rc = engine_remote_run(engine, true, update_result, id, update_id, timeout_ms, to);
        dur_free(ignored);
        return rc;
    }
    autoarena struct arena *arena = arena_new();
    rc = engine_find(engine, store_db(engine->store), arena, id, &run, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no run has the id %s", id ? id : "");
    }
    struct wanted w = {.execution = run.id,
                       .update_id = update_id,
                       .stage = DUR_WAIT_COMPLETED,
                       .until_ns = engine_deadline_ns(timeout_ms)};
    rc = wait_outcome(engine, &w, to);
    dur_free(ignored);
    return rc;
}
