/*
 * test_journal_talk.c - journal/run_update and journal/question: what clients ask, and answers.
 */
#include "../lib/journal_fixture.h"
#include "journal/question.h"
#include "journal/run_update.h"

TestSuite(journal_talk, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

static struct run_update_row update_of(int64_t execution, const char *id, int64_t created_ns)
{
    return (struct run_update_row){.execution = execution,
                                   .update_id = id,
                                   .created_ns = created_ns,
                                   .name = "add",
                                   .input = "{\"n\":1}",
                                   .identity = "me"};
}

static int state_of(struct store *store, struct arena *arena, int64_t execution, const char *id)
{
    struct run_update_row row;

    cr_assert_eq(run_update_get(store_db(store), arena, execution, id, &row, NULL), 0);
    return row.state;
}

Test(journal_talk, an_update_goes_its_way)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct run_update_list list;
    struct run_update_row row;
    int64_t run = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    struct run_update_row a = update_of(run, "a", 200), b = update_of(run, "b", 100);
    cr_assert(run_update_admit(txn, &a));
    cr_assert(run_update_admit(txn, &b));
    cr_assert_not(run_update_admit(txn, &b), "the id is taken");
    commit(txn);
    cr_assert_eq(run_update_list_admitted(store_db(store), arena, run, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_str_eq(list.rows[0].update_id, "b", "oldest first");
    cr_assert_str_eq(list.rows[0].input, "{\"n\":1}");
    txn = txn_begin(store);
    cr_assert_not(run_update_complete(txn, run, "a", "1", NULL), "not accepted yet");
    cr_assert(run_update_accept(txn, run, "a", 7));
    cr_assert_not(run_update_accept(txn, run, "a", 8), "once");
    cr_assert_not(run_update_reject(txn, run, "a", "{}"));
    cr_assert(run_update_complete(txn, run, "a", "[1]", NULL));
    cr_assert(run_update_reject(txn, run, "b", "{\"message\":\"no\"}"));
    cr_assert_not(run_update_accept(txn, run, "none", 9));
    commit(txn);
    cr_assert_eq(run_update_get(store_db(store), arena, run, "a", &row, NULL), 0);
    cr_assert_eq(row.state, RUN_UPDATE_COMPLETED);
    cr_assert_eq(row.accepted_event_id, 7);
    cr_assert_str_eq(row.result, "[1]");
    cr_assert_eq(run_update_get(store_db(store), arena, run, "b", &row, NULL), 0);
    cr_assert_str_eq(row.failure, "{\"message\":\"no\"}");
    cr_assert_eq(run_update_get(store_db(store), arena, run, "c", &row, NULL), 1);
    txn = txn_begin(store);
    cr_assert(run_update_admit(txn, &b), "a rejected id is free");
    cr_assert_not(run_update_admit(txn, &a), "a completed one is not");
    commit(txn);
    cr_assert_eq(state_of(store, arena, run, "b"), RUN_UPDATE_ADMITTED);
}

Test(journal_talk, the_end_of_the_run_cuts_updates_off)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t run = new_run(store, 1), other = new_run(store, 2);
    struct txn *txn = txn_begin(store);
    const char *ids[] = {"admitted", "accepted", "completed", "rejected"};
    for (size_t i = 0; i < 4; i++) {
        struct run_update_row row = update_of(run, ids[i], 1);
        cr_assert(run_update_admit(txn, &row));
        row.execution = other;
        cr_assert(run_update_admit(txn, &row));
    }
    run_update_accept(txn, run, "accepted", 5);
    run_update_accept(txn, run, "completed", 6);
    run_update_complete(txn, run, "completed", "1", NULL);
    run_update_reject(txn, run, "rejected", "{}");
    cr_assert(execution_close(txn, run, EXECUTION_COMPLETED, 9, NULL, NULL));
    commit(txn);
    cr_assert_eq(state_of(store, arena, run, "admitted"), RUN_UPDATE_CUT_OFF);
    cr_assert_eq(state_of(store, arena, run, "accepted"), RUN_UPDATE_CUT_OFF);
    cr_assert_eq(state_of(store, arena, run, "completed"), RUN_UPDATE_COMPLETED);
    cr_assert_eq(state_of(store, arena, run, "rejected"), RUN_UPDATE_REJECTED);
    cr_assert_eq(state_of(store, arena, other, "admitted"), RUN_UPDATE_ADMITTED);
    txn = txn_begin(store);
    cr_assert(execution_delete(txn, run));
    commit(txn);
    struct run_update_row row;
    cr_assert_eq(run_update_get(store_db(store), arena, run, "admitted", &row, NULL), 1);
}

Test(journal_talk, questions_wait_for_their_answer)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct question_list list;
    struct question_row row;
    int64_t run = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    struct question_row asked = {
        .execution = run, .created_ns = 10, .expires_ns = 100, .name = "status", .input = "1"};
    int64_t a = question_ask(txn, &asked);
    asked.expires_ns = 50;
    int64_t b = question_ask(txn, &asked);
    commit(txn);
    cr_assert_lt(a, b);
    cr_assert_eq(question_list_waiting(store_db(store), arena, 9, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.rows[0].id, a);
    txn = txn_begin(store);
    list.rows[0].answered_ns = 20;
    list.rows[0].answer = "{}";
    list.rows[0].stale = 4;
    cr_assert(question_answer(txn, &list.rows[0]));
    cr_assert_not(question_answer(txn, &list.rows[0]), "once");
    question_delete_expired(txn, 60);
    commit(txn);
    cr_assert_eq(question_get(store_db(store), arena, a, &row, NULL), 0);
    cr_assert_str_eq(row.answer, "{}");
    cr_assert_eq(row.stale, 4);
    cr_assert_eq(row.answered_ns, 20);
    cr_assert_eq(question_get(store_db(store), arena, b, &row, NULL), 1, "its asker gave up");
    txn = txn_begin(store);
    cr_assert(question_delete(txn, a));
    cr_assert_not(question_delete(txn, a));
    cr_assert_gt(question_ask(txn, &asked), b, "ids are not used again");
    commit(txn);
    cr_assert_eq(question_list_waiting(store_db(store), arena, 9, &list, NULL), 0);
    cr_assert_eq(list.count, 1);
}
