/*
 * test_journal_task.c - journal/task and journal/epoch: marks for the engine, and which engine.
 */
#include "../lib/journal_fixture.h"

#include "journal/epoch.h"

TestSuite(journal_task, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

Test(journal_task, marks_do_not_pile_up_and_are_taken_once)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct task_list list;
    int64_t n = 0;
    int64_t a = new_run(store, 1);
    int64_t b = new_run(store, 2);
    struct txn *txn = txn_begin(store);
    task_put(txn, b, TASK_START, 7);
    task_put(txn, a, TASK_SIGNAL, 8);
    task_put(txn, a, TASK_SIGNAL, 9);
    task_put(txn, a, TASK_CANCEL, 9);
    commit(txn);
    cr_assert_eq(task_count(store_db(store), &n, NULL), 0);
    cr_assert_eq(n, 3);
    cr_assert_eq(task_list(store_db(store), arena, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.rows[0].execution, a);
    cr_assert_eq(list.rows[0].kind, TASK_SIGNAL);
    cr_assert_eq(list.rows[0].created_ns, 8, "the oldest mark's time");
    txn = txn_begin(store);
    task_take(txn, arena, 2, &list);
    cr_assert_eq(list.count, 2);
    txn_rollback(txn);
    cr_assert_eq(task_count(store_db(store), &n, NULL), 0);
    cr_assert_eq(n, 3, "a crash leaves the marks");
    txn = txn_begin(store);
    task_take(txn, arena, 0, &list);
    cr_assert_eq(list.count, 3);
    task_take(txn, arena, 0, &list);
    cr_assert_eq(list.count, 0);
    cr_assert(!task_delete(txn, a, TASK_SIGNAL));
    commit(txn);
    cr_assert_eq(task_count(store_db(store), &n, NULL), 0);
    cr_assert_eq(n, 0);
}

Test(journal_task, taking_in_a_failed_transaction_gives_nothing)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct task_list list = {.count = 99};
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    task_put(txn, id, TASK_START, 7);
    task_put(txn, 4711, TASK_START, 7);
    task_take(txn, arena, 0, &list);
    cr_assert_eq(list.count, 0);
    cr_assert_lt(txn_commit(txn, NULL), 0);
}

Test(journal_task, wakes_are_kept_for_the_next_engine)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct task_list list;
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    task_put(txn, id, TASK_WAKE, 7);
    task_put(txn, id, TASK_SIGNAL, 8);
    task_take_new(txn, arena, 0, &list);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(list.rows[0].kind, TASK_SIGNAL);
    task_take_new(txn, arena, 0, &list);
    cr_assert_eq(list.count, 0);
    task_take(txn, arena, 0, &list);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(list.rows[0].kind, TASK_WAKE);
    commit(txn);
}

Test(journal_task, epochs_count_engines)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct epoch_row row;
    cr_assert_eq(epoch_get(store_db(store), arena, &row, NULL), 0);
    cr_assert_eq(row.epoch, 0);
    struct txn *txn = txn_begin(store);
    cr_assert_eq(epoch_bump(txn, 100, "here", 5), 1);
    commit(txn);
    txn = txn_begin(store);
    cr_assert_eq(epoch_bump(txn, 101, "there", 6), 2);
    commit(txn);
    cr_assert_eq(epoch_get(store_db(store), arena, &row, NULL), 0);
    cr_assert_eq(row.epoch, 2);
    cr_assert_eq(row.pid, 101);
    cr_assert_str_eq(row.host, "there");
    cr_assert_eq(row.started_ns, 6);
}
