/*
 * test_journal_execution.c - journal/execution: identity, head, closing, listing, counts, deletion.
 */
#include "../lib/journal_fixture.h"

#include "journal/blob.h"

TestSuite(journal_execution, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

Test(journal_execution, every_column_comes_back)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row in = {.workflow_id = "w",
                               .run_id = "r",
                               .type = "T",
                               .task_queue = "q",
                               .status = EXECUTION_RUNNING,
                               .started_ns = 1796000000123456789,
                               .run_deadline_ns = 50,
                               .expires_ns = 60,
                               .request_id = "req",
                               .memo = "{\"a\":\"\xc3\xa9\"}",
                               .parked = "stopped"};
    struct txn *txn = txn_begin(store);
    in.id = execution_insert(txn, &in);
    event_append(txn, in.id,
                 (struct event_row[]){{.event_id = 1, .type = 1}, {.event_id = 2, .type = 5}}, 2,
                 44);
    commit(txn);
    struct execution_row out;
    cr_assert_eq(execution_find_run(store_db(store), arena, "r", &out, NULL), 0);
    cr_assert_eq(out.id, in.id);
    cr_assert_eq(out.status, EXECUTION_RUNNING);
    cr_assert_eq(out.next_event_id, 3);
    cr_assert_eq(out.history_bytes, 44);
    cr_assert_eq(out.started_ns, 1796000000123456789);
    cr_assert_eq(out.closed_ns, 0);
    cr_assert_eq(out.run_deadline_ns, 50);
    cr_assert_eq(out.expires_ns, 60);
    cr_assert_str_eq(out.workflow_id, "w");
    cr_assert_str_eq(out.type, "T");
    cr_assert_str_eq(out.task_queue, "q");
    cr_assert_str_eq(out.request_id, "req");
    cr_assert_str_eq(out.memo, in.memo);
    cr_assert_str_eq(out.parked, "stopped");
    cr_assert_null(out.result);
    cr_assert_null(out.failure);
}

Test(journal_execution, one_open_run_for_each_workflow_id)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    struct err err = {0};
    int64_t first = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    cr_assert_eq(put_run(txn, 1), 0);
    cr_assert_lt(txn_commit(txn, &err), 0);
    cr_assert_str_eq(err.name, "RunExists");

    txn = txn_begin(store);
    cr_assert(execution_close(txn, first, EXECUTION_FAILED, 99, NULL, "{\"message\":\"x\"}"));
    int64_t second = execution_insert(txn, &(struct execution_row){.workflow_id = "order-1",
                                                                   .run_id = "again",
                                                                   .type = "Order",
                                                                   .task_queue = "default",
                                                                   .status = EXECUTION_RUNNING,
                                                                   .next_event_id = 1,
                                                                   .started_ns = 2000});
    commit(txn);
    cr_assert_gt(second, first);
    cr_assert_eq(execution_find_open(store_db(store), arena, "order-1", &row, NULL), 0);
    cr_assert_eq(row.id, second);
    cr_assert_eq(execution_find_newest(store_db(store), arena, "order-1", &row, NULL), 0);
    cr_assert_eq(row.id, second);
    cr_assert_eq(execution_find_run(store_db(store), arena, "run-1", &row, NULL), 0);
    cr_assert_eq(row.id, first);
    cr_assert_eq(row.status, EXECUTION_FAILED);
    cr_assert_str_eq(row.failure, "{\"message\":\"x\"}");
    cr_assert_eq(execution_find_open(store_db(store), arena, "order-2", &row, NULL), 1);
    cr_assert_eq(execution_find_newest(store_db(store), arena, "order-2", &row, NULL), 1);
    cr_assert_eq(execution_find_run(store_db(store), arena, "", &row, NULL), 1);
}

Test(journal_execution, a_run_id_is_unique)
{
    autostore struct store *store = open_store();
    struct txn *txn = txn_begin(store);
    struct execution_row row = {.workflow_id = "a",
                                .run_id = "same",
                                .type = "T",
                                .task_queue = "q",
                                .status = EXECUTION_RUNNING,
                                .next_event_id = 1,
                                .started_ns = 1};
    cr_assert_neq(execution_insert(txn, &row), 0);
    row.workflow_id = "b";
    cr_assert_eq(execution_insert(txn, &row), 0);
    cr_assert_str_eq(txn_error(txn)->name, "StoreConstraint");
    txn_rollback(txn);
}

Test(journal_execution, closing_ends_what_is_pending_and_stays)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    int64_t tasks = 0;
    struct execution_row row;
    struct activity_list activities;
    struct timer_list timers;
    struct activity_row activity = some_activity(id, 5);
    struct txn *txn = txn_begin(store);
    activity_insert(txn, &activity);
    timer_insert(txn, &(struct timer_row){id, 6, "t", 77});
    task_put(txn, id, TASK_SIGNAL, 1);
    cr_assert(execution_set_parked(txn, id, "report"));
    commit(txn);
    txn = txn_begin(store);
    cr_assert(execution_close(txn, id, EXECUTION_COMPLETED, 123, "{\"ok\":true}", NULL));
    commit(txn);
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    cr_assert_eq(row.status, EXECUTION_COMPLETED);
    cr_assert_eq(row.closed_ns, 123);
    cr_assert_str_eq(row.result, "{\"ok\":true}");
    cr_assert_null(row.parked);
    cr_assert_eq(activity_list(store_db(store), arena, id, &activities, NULL), 0);
    cr_assert_eq(activities.count, 0);
    cr_assert_eq(timer_list(store_db(store), arena, id, &timers, NULL), 0);
    cr_assert_eq(timers.count, 0);
    cr_assert_eq(task_count(store_db(store), &tasks, NULL), 0);
    cr_assert_eq(tasks, 0);
    txn = txn_begin(store);
    cr_assert(!execution_close(txn, id, EXECUTION_FAILED, 124, NULL, "{}"));
    cr_assert(!execution_close(txn, 4711, EXECUTION_FAILED, 124, NULL, "{}"));
    commit(txn);
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    cr_assert_eq(row.status, EXECUTION_COMPLETED);
}

Test(journal_execution, memo_can_be_set_and_taken_away)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    struct execution_row row;
    struct txn *txn = txn_begin(store);
    cr_assert(execution_set_memo(txn, id, "{\"k\":1}"));
    cr_assert(!execution_set_memo(txn, 4711, "{\"k\":1}"));
    cr_assert_eq(execution_get(txn_db(txn), arena, id, &row, NULL), 0);
    cr_assert_str_eq(row.memo, "{\"k\":1}");
    cr_assert(execution_set_memo(txn, id, NULL));
    cr_assert_eq(execution_get(txn_db(txn), arena, id, &row, NULL), 0);
    cr_assert_null(row.memo);
    commit(txn);
}

Test(journal_execution, lists_page_newest_first)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t ids[25];
    struct txn *txn = txn_begin(store);
    for (int i = 0; i < 25; i++) {
        ids[i] = put_run(txn, i);
        if (i % 5 == 0) {
            execution_close(txn, ids[i], EXECUTION_COMPLETED, 100 - i, "1", NULL);
        }
    }
    commit(txn);
    struct execution_list list;
    int64_t before = 0;
    int expect = 24;
    do {
        cr_assert_eq(execution_list(store_db(store), arena, 0, before, 7, &list, NULL), 0);
        for (size_t i = 0; i < list.count; i++, expect--) {
            cr_assert_eq(list.rows[i].id, ids[expect]);
        }
        before = list.count ? list.rows[list.count - 1].id : 0;
    } while (list.count == 7);
    cr_assert_eq(expect, -1);
    cr_assert_eq(
        execution_list(store_db(store), arena, EXECUTION_COMPLETED, ids[20], 10, &list, NULL), 0);
    cr_assert_eq(list.count, 4);
    cr_assert_eq(list.rows[0].id, ids[15]);
    cr_assert_eq(execution_list_open(store_db(store), arena, ids[1], 3, &list, NULL), 0);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.rows[0].id, ids[2]);
    cr_assert_eq(list.rows[2].id, ids[4]);
}

Test(journal_execution, counts_follow_every_change)
{
    autostore struct store *store = open_store();
    int64_t counts[EXECUTION_STATUS_COUNT];
    int64_t a = new_run(store, 1);
    int64_t b = new_run(store, 2);
    new_run(store, 3);
    struct txn *txn = txn_begin(store);
    execution_close(txn, a, EXECUTION_COMPLETED, 5, "1", NULL);
    execution_close(txn, b, EXECUTION_TIMED_OUT, 5, NULL, "{}");
    commit(txn);
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], 3);
    cr_assert_eq(counts[EXECUTION_RUNNING], 1);
    cr_assert_eq(counts[EXECUTION_COMPLETED], 1);
    cr_assert_eq(counts[EXECUTION_TIMED_OUT], 1);
    txn = txn_begin(store);
    cr_assert(execution_delete(txn, a));
    commit(txn);
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], 2);
    cr_assert_eq(counts[EXECUTION_COMPLETED], 0);
    check_store(store);
}

Test(journal_execution, due_times_of_open_runs_only)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_list list;
    int64_t due = 0;
    cr_assert_eq(execution_next_due(store_db(store), &due, NULL), 1);
    int64_t ids[3];
    struct txn *txn = txn_begin(store);
    for (int i = 0; i < 3; i++) {
        char run_id[16];
        snprintf(run_id, sizeof(run_id), "r%d", i);
        ids[i] = execution_insert(txn, &(struct execution_row){.workflow_id = run_id,
                                                               .run_id = run_id,
                                                               .type = "T",
                                                               .task_queue = "q",
                                                               .status = EXECUTION_RUNNING,
                                                               .next_event_id = 1,
                                                               .started_ns = 1,
                                                               .run_deadline_ns = i ? 300 - i : 0,
                                                               .expires_ns = i == 2 ? 200 : 0});
    }
    commit(txn);
    cr_assert_eq(execution_next_due(store_db(store), &due, NULL), 0);
    cr_assert_eq(due, 200);
    cr_assert_eq(execution_list_due(store_db(store), arena, 299, 10, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.rows[0].id, ids[2]);
    cr_assert_eq(list.rows[1].id, ids[1]);
    txn = txn_begin(store);
    execution_close(txn, ids[2], EXECUTION_TIMED_OUT, 200, NULL, "{}");
    commit(txn);
    cr_assert_eq(execution_next_due(store_db(store), &due, NULL), 0);
    cr_assert_eq(due, 299);
}

Test(journal_execution, deletion_takes_everything_along)
{
    autostore struct store *store = open_store();
    int64_t id = new_run(store, 1);
    int64_t keep = new_run(store, 2);
    int64_t events = 0;
    char big[40000];
    memset(big, 'x', sizeof(big));
    struct event_row large = {
        .event_id = 4, .type = 26, .time_ns = 1, .attributes = big, .attributes_len = sizeof(big)};
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 3);
    put_events(txn, keep, 1, 3);
    event_append(txn, id, &large, 1, 1);
    event_append(txn, keep, &large, 1, 1);
    blob_put(txn, id, "only here", 9, NULL);
    commit(txn);
    txn = txn_begin(store);
    cr_assert(!execution_delete(txn, id), "an open run stays");
    execution_close(txn, id, EXECUTION_COMPLETED, 9, "1", NULL);
    cr_assert(execution_delete(txn, id));
    cr_assert(!execution_delete(txn, id));
    commit(txn);
    cr_assert_eq(event_count(store_db(store), id, &events, NULL), 0);
    cr_assert_eq(events, 0);
    cr_assert_eq(event_count(store_db(store), keep, &events, NULL), 0);
    cr_assert_eq(events, 4);
    char digest[SHA256_HEX_BYTES];
    int64_t blob = 0;
    sha256_hex("only here", 9, digest);
    cr_assert_eq(blob_find(store_db(store), digest, &blob, NULL), 1);
    sha256_hex(big, sizeof(big), digest);
    cr_assert_eq(blob_find(store_db(store), digest, &blob, NULL), 0, "the other run needs it");
    check_store(store);
    cr_assert_gt(new_run(store, 3), keep, "ids are never used again");
}
