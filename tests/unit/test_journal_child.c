/*
 * test_journal_child.c - journal/child: which children of which run are open.
 */
#include "../lib/journal_fixture.h"
#include "journal/child.h"

TestSuite(journal_child, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

static void add(struct txn *txn, int64_t run, int64_t event, int policy, const char *id)
{
    child_insert(txn, &(struct child_row){.execution = run,
                                          .initiated_event_id = event,
                                          .started_event_id = event + 3,
                                          .close_policy = policy,
                                          .workflow_id = id,
                                          .run_id = "r"});
}

Test(journal_child, rows_come_in_order_and_go)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct child_list list;
    struct child_row row;
    int64_t a = new_run(store, 1);
    int64_t b = new_run(store, 2);
    struct txn *txn = txn_begin(store);
    add(txn, a, 9, CHILD_CLOSE_ABANDON, "second");
    add(txn, a, 5, CHILD_CLOSE_TERMINATE, "first");
    add(txn, b, 5, CHILD_CLOSE_REQUEST_CANCEL, "other");
    commit(txn);
    cr_assert_eq(child_list(store_db(store), arena, a, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_str_eq(list.rows[0].workflow_id, "first");
    cr_assert_eq(list.rows[1].initiated_event_id, 9);
    cr_assert_eq(child_get(store_db(store), arena, b, 5, &row, NULL), 0);
    cr_assert_eq(row.started_event_id, 8);
    cr_assert_eq(row.close_policy, CHILD_CLOSE_REQUEST_CANCEL);
    cr_assert_str_eq(row.run_id, "r");
    cr_assert_eq(child_get(store_db(store), arena, b, 6, &row, NULL), 1);
    txn = txn_begin(store);
    cr_assert(child_remove(txn, b, 5));
    cr_assert(!child_remove(txn, b, 5));
    child_remove_all(txn, a);
    commit(txn);
    cr_assert_eq(child_list(store_db(store), arena, a, &list, NULL), 0);
    cr_assert_eq(list.count, 0);
}

Test(journal_child, a_row_needs_its_parent_and_a_policy)
{
    autostore struct store *store = open_store();
    int64_t a = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    add(txn, 4711, 5, CHILD_CLOSE_ABANDON, "kid");
    cr_assert(txn_failed(txn));
    txn_rollback(txn);
    txn = txn_begin(store);
    add(txn, a, 5, 0, "kid");
    cr_assert(txn_failed(txn));
    txn_rollback(txn);
}

Test(journal_child, a_closed_run_with_a_mark_is_not_purged)
{
    autostore struct store *store = open_store();
    int64_t a = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    add(txn, a, 5, CHILD_CLOSE_TERMINATE, "kid");
    execution_close(txn, a, EXECUTION_TERMINATED, 5, NULL, NULL);
    task_put(txn, a, TASK_TERMINATE, 5);
    commit(txn);
    txn = txn_begin(store);
    cr_assert(!execution_delete(txn, a)); /* an engine has to look after its children first */
    cr_assert(task_delete(txn, a, TASK_TERMINATE));
    cr_assert(execution_delete(txn, a));
    commit(txn);
}
