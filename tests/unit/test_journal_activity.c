/*
 * test_journal_activity.c - journal/activity: attempts, backoff, heartbeats, cancel requests,
 * lists.
 */
#include "../lib/journal_fixture.h"

TestSuite(journal_activity, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

Test(journal_activity, every_column_comes_back)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct activity_row in = {.execution = new_run(store, 1),
                              .scheduled_event_id = 5,
                              .activity_id = "7",
                              .type = "Charge",
                              .task_queue = "bank",
                              .input = "[1]",
                              .options = "{\"startToClose\":1}",
                              .attempt = 2,
                              .state = ACTIVITY_BACKOFF,
                              .epoch = 3,
                              .scheduled_ns = 10,
                              .started_ns = 11,
                              .next_attempt_ns = 12,
                              .deadline_ns = 13,
                              .heartbeat_ns = 14,
                              .cancel_event_id = 15,
                              .heartbeat_details = "{\"pid\":1}",
                              .last_failure = "{\"message\":\"m\"}"};
    struct txn *txn = txn_begin(store);
    activity_insert(txn, &in);
    commit(txn);
    struct activity_row out;
    cr_assert_eq(activity_get(store_db(store), arena, in.execution, 5, &out, NULL), 0);
    cr_assert_eq(out.execution, in.execution);
    cr_assert_eq(out.scheduled_event_id, 5);
    cr_assert_eq(out.attempt, 2);
    cr_assert_eq(out.state, ACTIVITY_BACKOFF);
    cr_assert_eq(out.epoch, 3);
    cr_assert_eq(out.scheduled_ns, 10);
    cr_assert_eq(out.started_ns, 11);
    cr_assert_eq(out.next_attempt_ns, 12);
    cr_assert_eq(out.deadline_ns, 13);
    cr_assert_eq(out.heartbeat_ns, 14);
    cr_assert_eq(out.cancel_event_id, 15);
    cr_assert_str_eq(out.activity_id, "7");
    cr_assert_str_eq(out.type, "Charge");
    cr_assert_str_eq(out.task_queue, "bank");
    cr_assert_str_eq(out.input, "[1]");
    cr_assert_str_eq(out.options, "{\"startToClose\":1}");
    cr_assert_str_eq(out.heartbeat_details, "{\"pid\":1}");
    cr_assert_str_eq(out.last_failure, "{\"message\":\"m\"}");
    cr_assert_eq(activity_get(store_db(store), arena, in.execution, 6, &out, NULL), 1);
}

Test(journal_activity, a_life_of_two_attempts)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t id = new_run(store, 1);
    struct activity_row row = some_activity(id, 5);
    struct txn *txn = txn_begin(store);
    activity_insert(txn, &row);
    cr_assert(!activity_heartbeat(txn, id, 5, 1, 15, 16, "early"), "it does not run yet");
    cr_assert(activity_start(txn, id, 5, 1, 20, 120, 9));
    cr_assert(activity_heartbeat(txn, id, 5, 1, 25, 125, "{\"step\":1}"));
    cr_assert(activity_heartbeat(txn, id, 5, 1, 26, 126, NULL), "details stay");
    cr_assert_eq(activity_get(txn_db(txn), arena, id, 5, &row, NULL), 0);
    cr_assert_eq(row.state, ACTIVITY_STARTED);
    cr_assert_eq(row.epoch, 9);
    cr_assert_eq(row.heartbeat_ns, 26);
    cr_assert_eq(row.deadline_ns, 126);
    cr_assert_str_eq(row.heartbeat_details, "{\"step\":1}");
    cr_assert(activity_backoff(txn, id, 5, 2, 500, 0, "{\"message\":\"down\"}"));
    cr_assert(!activity_heartbeat(txn, id, 5, 1, 30, 130, "zombie"));
    cr_assert_eq(activity_get(txn_db(txn), arena, id, 5, &row, NULL), 0);
    cr_assert_eq(row.state, ACTIVITY_BACKOFF);
    cr_assert_eq(row.attempt, 2);
    cr_assert_eq(row.next_attempt_ns, 500);
    cr_assert_eq(row.started_ns, 0);
    cr_assert_eq(row.epoch, 0);
    cr_assert_eq(row.heartbeat_ns, 0);
    cr_assert_str_eq(row.heartbeat_details, "{\"step\":1}", "the next attempt gets them");
    cr_assert_str_eq(row.last_failure, "{\"message\":\"down\"}");
    cr_assert(activity_start(txn, id, 5, 2, 510, 610, 9));
    cr_assert(!activity_heartbeat(txn, id, 5, 1, 520, 620, "zombie"));
    cr_assert(activity_request_cancel(txn, id, 5, 8));
    cr_assert_eq(activity_get(txn_db(txn), arena, id, 5, &row, NULL), 0);
    cr_assert_eq(row.next_attempt_ns, 0);
    cr_assert_eq(row.cancel_event_id, 8);
    cr_assert_str_eq(row.heartbeat_details, "{\"step\":1}");
    cr_assert(activity_delete(txn, id, 5));
    cr_assert(!activity_delete(txn, id, 5));
    cr_assert(!activity_start(txn, id, 5, 3, 1, 1, 1));
    cr_assert(!activity_backoff(txn, id, 5, 3, 1, 1, NULL));
    cr_assert(!activity_request_cancel(txn, id, 5, 8));
    commit(txn);
}

Test(journal_activity, lists_for_recovery_page_through_everything)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct activity_list list;
    int64_t ids[3];
    struct txn *txn = txn_begin(store);
    for (int i = 0; i < 3; i++) {
        ids[i] = put_run(txn, i);
        for (int n = 0; n < 4; n++) {
            struct activity_row row = some_activity(ids[i], 5 + n);
            activity_insert(txn, &row);
        }
    }
    commit(txn);
    cr_assert_eq(activity_list(store_db(store), arena, ids[1], &list, NULL), 0);
    cr_assert_eq(list.count, 4);
    size_t seen = 0;
    int64_t execution = 0;
    int64_t event = 0;
    do {
        cr_assert_eq(activity_list_all(store_db(store), arena, execution, event, 5, &list, NULL),
                     0);
        seen += list.count;
        if (list.count > 0) {
            execution = list.rows[list.count - 1].execution;
            event = list.rows[list.count - 1].scheduled_event_id;
        }
    } while (list.count == 5);
    cr_assert_eq(seen, 12);
    cr_assert_eq(execution, ids[2]);
    cr_assert_eq(event, 8);
    cr_assert_eq(activity_list_all(store_db(store), arena, 0, 0, 0, &list, NULL), 0);
    cr_assert_eq(list.count, 12);
}

Test(journal_activity, due_ones_and_the_next)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct activity_list list;
    int64_t due = 0;
    int64_t id = new_run(store, 1);
    cr_assert_eq(activity_next_due(store_db(store), &due, NULL), 1);
    struct txn *txn = txn_begin(store);
    for (int n = 0; n < 4; n++) {
        struct activity_row row = some_activity(id, 5 + n);
        activity_insert(txn, &row);
    }
    activity_start(txn, id, 5, 1, 10, 300, 1);
    activity_start(txn, id, 6, 1, 10, 100, 1);
    activity_backoff(txn, id, 7, 2, 200, 0, NULL);
    commit(txn);
    cr_assert_eq(activity_next_due(store_db(store), &due, NULL), 0);
    cr_assert_eq(due, 100);
    cr_assert_eq(activity_list_due(store_db(store), arena, 99, &list, NULL), 0);
    cr_assert_eq(list.count, 0);
    cr_assert_eq(activity_list_due(store_db(store), arena, 250, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.rows[0].scheduled_event_id, 6);
    cr_assert_eq(list.rows[1].scheduled_event_id, 7);
}

Test(journal_activity, counts_by_queue)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct activity_queue_list list;
    int64_t id = new_run(store, 1);
    struct txn *txn = txn_begin(store);
    for (int n = 0; n < 6; n++) {
        struct activity_row row = some_activity(id, 5 + n);
        row.task_queue = n < 4 ? "agent" : "control";
        activity_insert(txn, &row);
    }
    activity_start(txn, id, 5, 1, 10, 300, 1);
    activity_start(txn, id, 6, 1, 10, 300, 1);
    activity_backoff(txn, id, 9, 2, 200, 0, NULL);
    commit(txn);
    cr_assert_eq(activity_count_by_queue(store_db(store), arena, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_assert_str_eq(list.rows[0].task_queue, "agent");
    cr_assert_eq(list.rows[0].scheduled, 2);
    cr_assert_eq(list.rows[0].started, 2);
    cr_assert_eq(list.rows[0].backoff, 0);
    cr_assert_str_eq(list.rows[1].task_queue, "control");
    cr_assert_eq(list.rows[1].backoff, 1);
}
