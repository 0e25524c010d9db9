/*
 * query.c - dur_query: a question about a run's state.
 *
 * Owns: who answers. This process, by replaying the committed history, when it has registered the
 * workflow and no other thread drives this handle (workflow code runs on one thread at a time);
 * else the engine that serves, through the table question and the bell. On a connected engine the
 * server finds who answers.
 * Must not: write to a history; a local answer writes nothing at all.
 * Tests: tests/unit/test_engine_query.c
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "journal/bell.h"
#include "journal/question.h"
#include "worker/ask.h"

#define EVER_NS                                                                                    \
    (NS_PER_S * 60 * 60 * 24 * 365) /* a question that waits for ever is kept so long              \
                                     */

/* DUR_OK: this thread may run workflow code here until leave_asking(); 1: another thread drives the
 * engine and has to answer; else refused. */
static int enter_asking(dur_engine *engine)
{
    int rc = DUR_OK;
    pthread_mutex_lock(&engine->mutex);
    while (engine->is_asking && !pthread_equal(engine->asker, pthread_self())) {
        pthread_cond_wait(&engine->at_rest, &engine->mutex);
    }
    bool is_mine = pthread_equal(engine->server, pthread_self());
    bool is_within = engine->serving && is_mine && !(engine->host && engine->host->is_outside);
    if (engine->is_asking || is_within) {
        rc = engine_refuse(engine, DUR_INVALID, "workflow code must not call the engine");
    } else if (engine->host && !is_mine) {
        rc = 1;
    } else {
        engine->is_asking = true;
        engine->asker = pthread_self();
    }
    pthread_mutex_unlock(&engine->mutex);
    return rc;
}

static void leave_asking(dur_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->is_asking = false;
    pthread_cond_broadcast(&engine->at_rest);
    pthread_mutex_unlock(&engine->mutex);
}

/* What the caller gets. */
static int conclude(dur_engine *engine, const struct execution_row *row,
                    const struct question_row *q, char **result)
{
    if (!q->answer) {
        return engine_refuse(engine, DUR_FAILED, "%s: %s", q->failure_type, q->failure);
    }
    *result = mem_strdup(q->answer);
    if (q->stale) {
        engine_refuse(engine, 1, "run %s is parked: answered as of event %lld", row->workflow_id,
                      (long long)q->stale);
        return 1;
    }
    return DUR_OK;
}

/* --- by the engine that serves -----------------------------------------------------------------
 */

static int put(dur_engine *engine, struct question_row *q)
{
    struct err err = {0};
    struct txn *txn = txn_begin(engine->store);
    q->id = question_ask(txn, q);
    if (txn_commit(txn, &err) < 0) {
        return engine_fail(engine, &err);
    }
    bell_ring(engine->bell, BELL_WORK);
    return DUR_OK;
}

static void take_away(dur_engine *engine, const struct question_row *q)
{
    struct txn *txn = txn_begin(engine->store);
    question_delete(txn, q->id);
    txn_commit(txn, NULL); /* should this fail, the engine takes it away when its time is over */
}

/* Has the thread that drove this handle left it? Then nobody else need be waited for. */
static bool is_free(dur_engine *engine, const char *type)
{
    pthread_mutex_lock(&engine->mutex);
    bool is_driven = engine->host != NULL;
    pthread_mutex_unlock(&engine->mutex);
    return !is_driven && registry_workflow(&engine->registry, type);
}

/* Waits for the answer. DUR_OK with q filled; 1: this process can answer by now. */
static int wait_answer(dur_engine *engine, struct bell *bell, struct arena *arena,
                       const struct execution_row *row, struct question_row *q, int64_t until_ns)
{
    struct err err = {0};
    int64_t pid = 0;
    for (;;) {
        bell_drain(bell);
        int rc = question_get(store_db(engine->store), arena, q->id, q, &err);
        if (rc != 0) {
            return rc < 0 ? engine_fail(engine, &err)
                          : engine_refuse(engine, DUR_NOT_FOUND, "the run was deleted meanwhile");
        }
        if (q->answered_ns) {
            return DUR_OK;
        }
        if (is_free(engine, row->type)) {
            return 1;
        }
        rc = engine_wait_news(engine, bell, until_ns);
        if (rc > 0) {
            return engine_refuse(engine, DUR_TIMED_OUT,
                                 dur_served_by(engine, &pid) == 1
                                     ? "the engine that serves gave no answer in time"
                                     : "no engine serves the store, and this program has not "
                                       "registered the run's workflow");
        }
        if (rc < 0) {
            return rc;
        }
    }
}

static int ask_engine(dur_engine *engine, struct arena *arena, const struct execution_row *row,
                      struct question_row *q, int64_t timeout_ms)
{
    struct listener news autolistener = {0};
    int64_t limit_ns =
        timeout_ms < 0 || timeout_ms > EVER_NS / NS_PER_MS ? EVER_NS : timeout_ms * NS_PER_MS;
    int rc = engine_ready(engine, true);
    if (rc) {
        return rc;
    }
    if ((rc = engine_listen(engine, &news)) != DUR_OK) {
        return rc;
    }
    q->execution = row->id;
    q->created_ns = engine_now_ns(engine);
    q->expires_ns = q->created_ns + limit_ns + NS_PER_S;
    int64_t until_ns = limit_ns == EVER_NS ? INT64_MAX : clock_mono_ns() + limit_ns;
    rc = put(engine, q);
    if (rc == DUR_OK) {
        rc = wait_answer(engine, news.bell, arena, row, q, until_ns);
        take_away(engine, q);
    }
    return rc;
}

/* --- here ---------------------------------------------------------------------------------------
 */

/* DUR_OK with q filled, 1: this process cannot answer; else refused. */
static int ask_here(dur_engine *engine, struct arena *arena, const struct execution_row *row,
                    struct question_row *q)
{
    struct err err = {0};
    if (!registry_workflow(&engine->registry, row->type)) {
        return 1;
    }
    int rc = enter_asking(engine);
    if (rc != DUR_OK) {
        return rc;
    }
    rc = ask_history(&engine->registry, NULL, store_db(engine->store), row, q->name, q->input,
                     arena, q, &err);
    leave_asking(engine);
    return rc < 0 ? engine_fail(engine, &err) : rc;
}

int dur_query(dur_engine *engine, const char *id, const char *query, const char *input,
              int64_t timeout_ms, char **result)
{
    struct err err = {0};
    struct execution_row row;
    struct question_row q = {.name = query, .input = input};
    char *ignored = NULL;
    int rc = engine_ready(engine, false);
    if (rc || (rc = engine_check_name(engine, "the query", query)) ||
        (rc = engine_check_payload(engine, "the query's input", input))) {
        return rc;
    }
    if (engine_is_remote(engine)) { /* as a writer: workflow code would wait for itself */
        rc = engine_remote_run(engine, true, query, id, query, input, timeout_ms,
                               result ? result : &ignored);
        dur_free(ignored);
        return rc;
    }
    rc = keys_ready(engine); /* its code runs on what it was given */
    if (rc) {
        return rc;
    }
    autoarena struct arena *arena = arena_new();
    rc = engine_find(engine, store_db(engine->store), arena, id, &row, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(engine, &err)
                      : engine_refuse(engine, DUR_NOT_FOUND, "no run has the id %s", id ? id : "");
    }
    do {
        rc = ask_here(engine, arena, &row, &q);
        if (rc > 0) {
            rc = ask_engine(engine, arena, &row, &q, timeout_ms);
        }
    } while (rc > 0);
    if (rc != DUR_OK) {
        return rc;
    }
    rc = conclude(engine, &row, &q, result ? result : &ignored);
    dur_free(ignored);
    return rc;
}
