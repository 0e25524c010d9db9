/*
 * complete.c - completing activities by token: the caller's own transactions.
 *
 * Owns: the form of a token, RUN_ID.SCHEDULED_EVENT_ID.ATTEMPT, and the check that this attempt is
 * still awaited, made in the transaction that writes the report. So whoever was told DUR_OK has
 * reported in time, and the attempt ends as reported unless a time-out that was due before is
 * written first. A server's tokens are its own: they are handed over as they are.
 * Must not: append events; the engine's turn does.
 * Tests: tests/unit/test_engine_async.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "journal/activity.h"
#include "journal/bell.h"
#include "journal/report.h"
#include "journal/task.h"

#define PAYLOAD_BYTES_MAX (2U * 1024 * 1024) /* Temporal's blob limit */
#define MESSAGE_BYTES_MAX (16U * 1024)       /* as dur_fail's */
#define TYPE_BYTES_MAX 1000

struct token {
    char run_id[UUID_TEXT_BYTES];
    int64_t scheduled_event_id;
    int attempt;
};

static bool parse_token(const char *text, struct token *ret)
{
    int end = 0;
    size_t id_len = UUID_TEXT_BYTES - 1;
    if (!text || strlen(text) <= id_len || text[id_len] != '.') {
        return false;
    }
    memcpy(ret->run_id, text, id_len);
    ret->run_id[id_len] = '\0';
    const char *rest = text + id_len + 1;
    return strspn(rest, "0123456789.") == strlen(rest) && strlen(rest) < 32 &&
           sscanf(rest, "%18" SCNd64 ".%9d%n", &ret->scheduled_event_id, &ret->attempt, &end) ==
               2 &&
           rest[end] == '\0' && ret->attempt > 0;
}

/* What one report is made of. */
struct report {
    dur_engine *engine;
    struct txn *txn;
    struct arena *arena;
    struct execution_row run;
    struct activity_row activity;
    struct token token;
};

static int refuse(struct report *r, int code, const char *why)
{
    return engine_refuse(r->engine, code, "attempt %d of activity %lld of run %s %s",
                         r->token.attempt, (long long)r->token.scheduled_event_id, r->token.run_id,
                         why);
}

static int find(struct report *r)
{
    struct db *db = txn_db(r->txn);
    struct err err = {0};
    int rc = execution_find_run(db, r->arena, r->token.run_id, &r->run, &err);
    if (rc == 0 && r->run.status != EXECUTION_RUNNING) {
        return refuse(r, DUR_NOT_FOUND, "is over: the run is closed");
    }
    if (rc == 0) {
        rc = activity_get(db, r->arena, r->run.id, r->token.scheduled_event_id, &r->activity, &err);
    }
    if (rc < 0) {
        return engine_fail(r->engine, &err);
    }
    if (rc > 0) {
        return refuse(r, DUR_NOT_FOUND, "is not pending: it has ended, or never was");
    }
    if (r->activity.attempt != r->token.attempt || r->activity.state != ACTIVITY_STARTED) {
        return refuse(r, DUR_NOT_FOUND, "is over: another attempt has taken its place");
    }
    return DUR_OK;
}

/* DUR_OK with a transaction that the caller ends. */
static int begin(struct report *r, dur_engine *engine, struct arena *arena, const char *token)
{
    int rc = engine_ready(engine, true);
    if (rc) {
        return rc;
    }
    r->engine = engine;
    r->arena = arena;
    if (!parse_token(token, &r->token)) {
        return engine_refuse(engine, DUR_INVALID, "this is no activity token");
    }
    r->txn = txn_begin(engine->store);
    rc = find(r);
    if (rc != DUR_OK) {
        txn_rollback(r->txn);
    }
    return rc;
}

static int end_remote(dur_engine *engine, const char *token, const struct remote_end *end)
{
    if (!token || !*token) {
        return engine_refuse(engine, DUR_INVALID, "this is no activity token");
    }
    return engine_remote(engine, true, complete, token, end);
}

static int put(struct report *r, enum report_kind kind, int code, const char *body)
{
    struct err err = {0};
    int64_t now_ns = engine_now_ns(r->engine);
    bool done =
        report_put(r->txn, &(struct report_row){.execution = r->run.id,
                                                .scheduled_event_id = r->token.scheduled_event_id,
                                                .kind = kind,
                                                .attempt = r->token.attempt,
                                                .code = code,
                                                .body = body,
                                                .identity = r->engine->identity,
                                                .created_ns = now_ns});
    if (!done && !txn_failed(r->txn)) {
        txn_rollback(r->txn);
        return refuse(r, DUR_EXISTS, "was completed before");
    }
    task_put(r->txn, r->run.id, TASK_REPORT, now_ns);
    if (txn_commit(r->txn, &err) < 0) {
        return engine_fail(r->engine, &err);
    }
    bell_ring(r->engine->bell, BELL_WORK);
    return DUR_OK;
}

static int check_json(dur_engine *engine, const char *what, const char *json)
{
    struct err err;
    if (json && strlen(json) > PAYLOAD_BYTES_MAX) {
        return engine_refuse(engine, DUR_LIMIT, "%s is larger than %u bytes", what,
                             PAYLOAD_BYTES_MAX);
    }
    if (json && json_check(json, strlen(json), &err) < 0) {
        return engine_refuse(engine, DUR_INVALID, "%s is not JSON: %s", what, err.text);
    }
    return DUR_OK;
}

int dur_complete(dur_engine *engine, const char *token, const char *result)
{
    autoarena struct arena *arena = arena_new();
    struct report r = {0};
    int rc = check_json(engine, "the result", result);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return end_remote(engine, token,
                          &(struct remote_end){.how = REMOTE_COMPLETED, .result = result});
    }
    if (rc || (rc = begin(&r, engine, arena, token))) {
        return rc;
    }
    return put(&r, REPORT_OUTCOME, DUR_OK, result);
}

int dur_complete_failed(dur_engine *engine, const char *token, dur_kind kind, const char *type,
                        const char *message)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str body = {0};
    struct report r = {0};
    size_t len = message ? strlen(message) : 0;
    if (kind < DUR_PERMANENT || kind > DUR_AMBIGUOUS || !type || !*type ||
        strlen(type) > TYPE_BYTES_MAX) {
        return engine_refuse(engine, DUR_INVALID,
                             "a failure needs a kind and a type of 1 to %d bytes", TYPE_BYTES_MAX);
    }
    if (engine_is_remote(engine)) {
        return end_remote(engine, token,
                          &(struct remote_end){.how = REMOTE_FAILED,
                                               .kind = kind,
                                               .type = type,
                                               .message = arena_strndup(
                                                   arena, message ? message : "",
                                                   utf8_prefix(message, len, MESSAGE_BYTES_MAX))});
    }
    int rc = begin(&r, engine, arena, token);
    if (rc) {
        return rc;
    }
    struct json_out w = json_writer(&body, 0);
    json_begin_object(&w);
    json_kv_i64(&w, "kind", kind);
    json_kv_str(&w, "type", type);
    json_kv_strn(&w, "message", message ? message : "",
                 utf8_prefix(message, len, MESSAGE_BYTES_MAX));
    json_end_object(&w);
    return put(&r, REPORT_OUTCOME, DUR_FAILED, str_c(&body));
}

int dur_complete_cancelled(dur_engine *engine, const char *token)
{
    autoarena struct arena *arena = arena_new();
    struct report r = {0};
    if (engine_is_remote(engine)) {
        return end_remote(engine, token, &(struct remote_end){.how = REMOTE_CANCELLED});
    }
    int rc = begin(&r, engine, arena, token);
    if (rc) {
        return rc;
    }
    if (!r.activity.cancel_event_id) {
        txn_rollback(r.txn);
        return refuse(&r, DUR_INVALID, "was not asked to stop: complete or fail it");
    }
    return put(&r, REPORT_OUTCOME, DUR_CANCELLED, NULL);
}

int dur_complete_heartbeat(dur_engine *engine, const char *token, const char *details)
{
    autoarena struct arena *arena = arena_new();
    struct report r = {0};
    int rc = check_json(engine, "the details", details);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        return token && *token ? engine_remote(engine, true, complete_heartbeat, token, details)
                               : engine_refuse(engine, DUR_INVALID, "this is no activity token");
    }
    if (rc || (rc = begin(&r, engine, arena, token))) {
        return rc;
    }
    bool should_stop = r.activity.cancel_event_id != 0;
    rc = put(&r, REPORT_HEARTBEAT, DUR_OK, details);
    return rc == DUR_OK && should_stop ? DUR_CANCELLED : rc;
}

int dur_activity_token_of(dur_engine *engine, const char *id, const char *activity_id, char **token)
{
    autoarena struct arena *arena = arena_new();
    struct execution_row run;
    struct activity_list list;
    struct err err = {0};
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    if (engine_is_remote(engine)) {
        rc = engine_check_name(engine, "the activity id", activity_id);
        return rc ? rc : engine_remote_run(engine, false, token_of, id, activity_id, token);
    }
    struct db *db = store_db(engine->store);
    rc = engine_find(engine, db, arena, id, &run, &err);
    if (rc < 0 || (rc == 0 && activity_list(db, arena, run.id, &list, &err) < 0)) {
        return engine_fail(engine, &err);
    }
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        const struct activity_row *row = &list.rows[i];
        if (!str_eq(row->activity_id, activity_id)) {
            continue;
        }
        if (row->state != ACTIVITY_STARTED) {
            return engine_refuse(engine, DUR_BUSY, "no attempt of activity %s of %s runs now",
                                 activity_id, id);
        }
        *token = mem_printf("%s.%" PRId64 ".%d", run.run_id, row->scheduled_event_id, row->attempt);
        return DUR_OK;
    }
    return engine_refuse(engine, DUR_NOT_FOUND, "no activity %s of %s is pending",
                         activity_id ? activity_id : "", id ? id : "");
}
