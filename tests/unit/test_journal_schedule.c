/*
 * test_journal_schedule.c - journal/schedule: rows, what is due or ripe, starts that wait, and the
 * trigger that makes a schedule ripe when a run of its closes.
 */
#include "../lib/journal_fixture.h"

#include "journal/schedule.h"

TestSuite(journal_schedule, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

static int64_t put(struct txn *txn, const char *name, int64_t due_ns)
{
    return schedule_insert(txn, &(struct schedule_row){.name = name,
                                                       .definition = "{}",
                                                       .created_ns = 1,
                                                       .changed_ns = 2,
                                                       .cursor_ns = 3,
                                                       .has_next = due_ns > 0,
                                                       .nominal_ns = due_ns,
                                                       .due_ns = due_ns});
}

static struct schedule_row find(struct store *store, struct arena *arena, const char *name)
{
    struct schedule_row row = {0};
    cr_assert_eq(schedule_find(store_db(store), arena, name, &row, NULL), 0);
    return row;
}

Test(journal_schedule, a_row_comes_back_as_it_was_put)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct txn *txn = txn_begin(store);
    struct schedule_row row = {
        .name = "nightly",
        .definition = "{\"a\":1}",
        .paused = true,
        .note = "note",
        .problem = "no zone",
        .limited = true,
        .remaining = 0,
        .created_ns = 5,
        .changed_ns = 6,
        .cursor_ns = 7,
        .has_next = true,
        .nominal_ns = 8,
        .due_ns = 9,
        .started = 1,
        .skipped = 2,
        .missed = 3,
        .dropped = 4,
        .last_result = "1",
        .last_failure = "{}",
    };
    cr_assert(!schedule_any(txn_db(txn)));
    row.id = schedule_insert(txn, &row);
    cr_assert(schedule_any(txn_db(txn)));
    commit(txn);
    struct schedule_row got = find(store, arena, "nightly");
    cr_expect(got.paused && got.limited && got.has_next && !got.ripe);
    cr_expect_eq(got.remaining, 0);
    cr_expect_eq(got.nominal_ns, 8);
    cr_expect_eq(got.due_ns, 9);
    cr_expect_eq(got.started * 1000 + got.skipped * 100 + got.missed * 10 + got.dropped, 1234);
    cr_expect_str_eq(got.problem, "no zone");
    cr_expect_str_eq(got.last_result, "1");
    row.limited = row.paused = row.has_next = false;
    row.due_ns = 0;
    row.note = NULL;
    txn = txn_begin(store);
    cr_expect(schedule_update(txn, &row));
    commit(txn);
    got = find(store, arena, "nightly");
    cr_expect(!got.paused && !got.limited && !got.has_next && !got.note);
    cr_expect_eq(got.due_ns, 0);
    check_store(store);
}

Test(journal_schedule, due_ones_and_ripe_ones_are_found)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct schedule_list list;
    int64_t next = -1;
    cr_expect_eq(schedule_next_due(store_db(store), &next, NULL), 1);
    struct txn *txn = txn_begin(store);
    put(txn, "late", 300);
    put(txn, "soon", 100);
    int64_t idle = put(txn, "idle", 0);
    commit(txn);
    cr_expect_eq(schedule_next_due(store_db(store), &next, NULL), 0);
    cr_expect_eq(next, 100);
    cr_assert_eq(schedule_list_due(store_db(store), arena, 100, 10, &list, NULL), 0);
    cr_assert_eq(list.count, 1);
    cr_expect_str_eq(list.rows[0].name, "soon");
    txn = txn_begin(store);
    cr_expect(schedule_ripen(txn, idle));
    commit(txn);
    cr_expect_eq(schedule_next_due(store_db(store), &next, NULL), 0);
    cr_expect_eq(next, 0);
    cr_assert_eq(schedule_list_due(store_db(store), arena, 100, 10, &list, NULL), 0);
    cr_expect_eq(list.count, 2);
    cr_assert_eq(schedule_list(store_db(store), arena, "idle", 0, &list, NULL), 0);
    cr_assert_eq(list.count, 2);
    cr_expect_str_eq(list.rows[0].name, "late");
}

Test(journal_schedule, a_closing_run_makes_its_schedule_ripe)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    int64_t run = new_run(store, 1);
    int64_t other = new_run(store, 2);
    struct txn *txn = txn_begin(store);
    int64_t id = put(txn, "s", 100);
    schedule_run_put(txn, id, &(struct schedule_run){.workflow_id = "order-1", .run_id = "run-1"});
    commit(txn);
    txn = txn_begin(store);
    execution_close(txn, other, EXECUTION_COMPLETED, 9, NULL, NULL);
    commit(txn);
    cr_expect(!find(store, arena, "s").ripe);
    txn = txn_begin(store);
    execution_close(txn, run, EXECUTION_COMPLETED, 9, NULL, NULL);
    commit(txn);
    cr_expect(find(store, arena, "s").ripe);
}

Test(journal_schedule, starts_wait_in_order_and_old_runs_are_forgotten)
{
    autostore struct store *store = open_store();
    autoarena struct arena *arena = arena_new();
    struct schedule_starts starts;
    struct schedule_runs runs;
    struct txn *txn = txn_begin(store);
    int64_t id = put(txn, "s", 0);
    for (int i = 0; i < 3; i++) {
        schedule_start_put(txn, id, &(struct schedule_start){.nominal_ns = 30 - i, .overlap = i});
    }
    cr_expect(schedule_start_drop(txn, id, 1));
    cr_expect(!schedule_start_drop(txn, id, 1));
    for (int i = 0; i < 6; i++) {
        const char *run_id = arena_printf(arena, "r%d", i);
        schedule_run_put(txn, id, &(struct schedule_run){.workflow_id = "w", .run_id = run_id});
    }
    for (int i = 1; i <= 6; i++) {
        cr_expect(i == 2 || schedule_run_close(txn, id, i)); /* the second one is open */
    }
    schedule_run_trim(txn, id, 2);
    commit(txn);
    cr_assert_eq(schedule_start_list(store_db(store), arena, id, &starts, NULL), 0);
    cr_assert_eq(starts.count, 2);
    cr_expect_eq(starts.rows[0].nominal_ns, 29);
    cr_expect_eq(starts.rows[1].overlap, 2);
    cr_assert_eq(schedule_run_list(store_db(store), arena, id, &runs, NULL), 0);
    cr_assert_eq(runs.count, 3);
    cr_expect(!runs.rows[0].closed);
    cr_expect_str_eq(runs.rows[1].run_id, "r4");
    txn = txn_begin(store);
    cr_expect(schedule_delete(txn, id));
    commit(txn);
    cr_assert_eq(schedule_start_list(store_db(store), arena, id, &starts, NULL), 0);
    cr_expect_eq(starts.count, 0);
    check_store(store);
}
