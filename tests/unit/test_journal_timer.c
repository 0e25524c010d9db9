/*
 * test_journal_timer.c - journal/timer: what runs, what is due, what is next.
 */
#include "../lib/journal_fixture.h"

TestSuite(journal_timer, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

Test(journal_timer, due_timers_come_earliest_first)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct timer_list list;
    int64_t due = 0;
    int64_t a = new_run(store, 1);
    int64_t b = new_run(store, 2);
    cr_assert_eq(timer_next_due(store_db(store), &due, NULL), 1);
    struct txn *txn = txn_begin(store);
    timer_insert(txn, &(struct timer_row){a, 5, "later", 300});
    timer_insert(txn, &(struct timer_row){a, 6, "soon", 100});
    timer_insert(txn, &(struct timer_row){b, 5, "between", 200});
    commit(txn);
    cr_assert_eq(timer_next_due(store_db(store), &due, NULL), 0);
    cr_assert_eq(due, 100);
    cr_assert_eq(timer_list_due(store_db(store), arena, 250, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_str_eq(list.rows[0].timer_id, "soon");
    cr_assert_str_eq(list.rows[1].timer_id, "between");
    cr_assert_eq(list.rows[1].execution, b);
    cr_assert_eq(timer_list_due(store_db(store), arena, 999, 1, &list, NULL), 0);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(timer_list(store_db(store), arena, a, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    txn = txn_begin(store);
    cr_assert(timer_remove(txn, a, 6));
    cr_assert(!timer_remove(txn, a, 6));
    commit(txn);
    cr_assert_eq(timer_next_due(store_db(store), &due, NULL), 0);
    cr_assert_eq(due, 200);
}

Test(journal_timer, a_timer_needs_its_run)
{
    autostore struct store *store = open_store();
    struct txn *txn = txn_begin(store);
    timer_insert(txn, &(struct timer_row){4711, 5, "t", 300});
    cr_assert(txn_failed(txn));
    txn_rollback(txn);
}
