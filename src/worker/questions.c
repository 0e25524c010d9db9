/*
 * questions.c - the engine answers what clients ask it (host.h).
 *
 * Owns: looking for questions after a turn that the bell woke, answering them from what is
 * committed (a run in memory, else its history), and writing the answers in a transaction of their
 * own. No question touches a history or a turn; a crash leaves it for the next engine.
 * Tests: tests/unit/test_engine_query.c
 */
#include "journal/question.h"
#include "worker/ask.h"
#include "worker/host.h"

#define QUESTIONS_AT_ONCE 64

static int answer(struct host *host, struct arena *arena, struct question_row *q, struct err *err)
{
    struct execution_row row;
    struct live *live = live_peek(host, q->execution);
    q->answered_ns = host->now_ns;
    if (live && live->run && !live->closed) {
        ask_run(live->run, q->name, q->input, arena, q);
        return 0;
    }
    int rc = execution_get(store_db(host->store), arena, q->execution, &row, err);
    if (rc == 0) {
        rc = ask_history(host->registry, host->fibers, store_db(host->store), &row, q->name,
                         q->input, arena, q, err);
    }
    if (rc > 0) {
        q->failure_type = "UnknownWorkflow";
        q->failure =
            arena_printf(arena, "the engine that serves knows no workflow of type %s", row.type);
    }
    return rc < 0 ? rc : 0;
}

void questions_answer(struct host *host)
{
    autoarena struct arena *arena = arena_new();
    struct question_list list;
    struct err err = {0};
    if (question_list_waiting(store_db(host->store), arena, QUESTIONS_AT_ONCE, &list, &err) < 0) {
        host_log(host, HOST_LOG_WARN, "queries cannot be read: %s", err.text);
        return;
    }
    if (list.count == 0) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (answer(host, arena, &list.rows[i], &err) < 0) {
            list.rows[i].failure_type = "StoreFailed";
            list.rows[i].failure = arena_strdup(arena, err.text);
        }
    }
    struct txn *txn = txn_begin(host->store);
    for (size_t i = 0; i < list.count; i++) {
        question_answer(txn, &list.rows[i]);
    }
    question_delete_expired(txn, host->now_ns);
    if (txn_commit(txn, &err) < 0) {
        host_log(host, HOST_LOG_WARN, "answers to queries cannot be written: %s", err.text);
    }
    host->look |= list.count == QUESTIONS_AT_ONCE;
    host_ring(host);
}
