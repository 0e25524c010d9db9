/*
 * test_journal_report.c - table activity_report.
 */
#include "../lib/journal_fixture.h"
#include "base/arena.h"
#include "journal/report.h"

TestSuite(journal_report, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static bool put(struct txn *txn, int64_t run, enum report_kind kind, int attempt, const char *body)
{
    return report_put(txn, &(struct report_row){.execution = run,
                                                .scheduled_event_id = 5,
                                                .kind = kind,
                                                .attempt = attempt,
                                                .code = -1,
                                                .body = body,
                                                .identity = "me",
                                                .created_ns = 9});
}

Test(journal_report, one_outcome_of_an_attempt_and_the_newest_heartbeat)
{
    struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct report_list list;
    int64_t run = new_run(store, 1);
    int64_t other = new_run(store, 2);
    struct txn *txn = txn_begin(store);
    cr_assert(put(txn, run, REPORT_OUTCOME, 1, "1"));
    cr_assert_not(put(txn, run, REPORT_OUTCOME, 1, "2"));
    cr_assert(put(txn, run, REPORT_OUTCOME, 2, "3")); /* the first attempt's came too late */
    cr_assert(put(txn, run, REPORT_HEARTBEAT, 2, "4"));
    cr_assert(put(txn, run, REPORT_HEARTBEAT, 2, "5"));
    cr_assert(put(txn, other, REPORT_HEARTBEAT, 1, NULL));
    commit(txn);
    txn = txn_begin(store);
    report_take(txn, arena, run, &list);
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.rows[0].kind, REPORT_HEARTBEAT);
    cr_assert_str_eq(list.rows[0].body, "5");
    cr_assert_eq(list.rows[1].attempt, 2);
    cr_assert_eq(list.rows[1].code, -1);
    cr_assert_str_eq(list.rows[1].body, "3");
    cr_assert_str_eq(list.rows[1].identity, "me");
    cr_assert_eq(list.rows[1].created_ns, 9);
    commit(txn);
    txn = txn_begin(store);
    report_take(txn, arena, run, &list);
    cr_assert_eq(list.count, 0);
    report_take(txn, arena, other, &list);
    cr_assert_eq(list.count, 1);
    cr_assert_null(list.rows[0].body);
    txn_rollback(txn);
    txn = txn_begin(store);
    cr_assert(execution_close(txn, other, EXECUTION_COMPLETED, 9, NULL, NULL));
    report_take(txn, arena, other, &list);
    cr_assert_eq(list.count, 0, "they go with the run");
    commit(txn);
    check_store(store);
    store_close(store);
}
