/*
 * test_journal_purge.c - purge: what may go goes whole, and what may not stays.
 */
#include "journal/purge.h"

#include "base/clock.h"
#include "base/mem.h"
#include "journal/blob.h"
#include "journal/db.h"
#include "journal/execution.h"
#include "../lib/journal_fixture.h"

TestSuite(journal_purge, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

/* Closed at 1000 * number, with events and a row in every table that names a run. */
static int64_t closed_run(struct txn *txn, int number)
{
    static const char *const more[] = {
        "INSERT INTO signal_request (execution, request_id) VALUES (?1, 'r')",
        "INSERT INTO run_update (execution, update_id, state, created_ns, name) VALUES (?1, 'u', "
        "4, 1, 'n')",
        "INSERT INTO question (execution, created_ns, expires_ns, name) VALUES (?1, 1, 2, 'q')",
        "INSERT INTO activity_report (execution, scheduled_event_id, kind, attempt, code, "
        "created_ns) VALUES (?1, 5, 1, 1, 0, 1)",
        "INSERT INTO child (execution, initiated_event_id, started_event_id, close_policy, "
        "workflow_id, run_id) VALUES (?1, 3, 4, 1, 'c', 'd')",
        "INSERT INTO blob_ref (execution, blob) VALUES (?1, 1)",
        "UPDATE execution SET search_attributes = '{\"Color\":\"red\"}' WHERE id = ?1",
        "INSERT INTO timer (execution, started_event_id, timer_id, due_ns) VALUES (?1, 7, '7', "
        "9)"};
    int64_t id = put_run(txn, number);
    put_events(txn, id, 1, 10);
    execution_close(txn, id, EXECUTION_COMPLETED, 1000 * number, "1", NULL);
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        sqlite3_stmt *stmt = txn_stmt(txn, more[i]);
        bind_i64(stmt, 1, id);
        txn_run(txn, stmt);
    }
    cr_assert(!txn_failed(txn), "%s", txn_error(txn)->text);
    return id;
}

static struct store *store_with(int runs)
{
    struct store *store = open_store();
    struct txn *txn = txn_begin(store);
    db_exec(txn_db(txn),
            "INSERT INTO blob (id, digest, size, codec, bytes) VALUES (1, printf('%064d', 1), 1, "
            "0, x'00')",
            NULL);
    for (int i = 1; i <= runs; i++) {
        closed_run(txn, i);
    }
    commit(txn);
    return store;
}

static struct purge_count purge_all(struct store *store, struct purge_policy policy)
{
    struct purge_count gone = {0};
    int more = 1;
    while (more > 0) {
        struct txn *txn = txn_begin(store);
        more = purge_slice(txn, &policy, 3, INT64_MAX, &gone);
        cr_assert_geq(more, 0);
        commit(txn);
        check_store(store);
    }
    return gone;
}

static int64_t ask(struct store *store, const char *sql)
{
    int64_t answer = -1;
    struct err err = {0};
    cr_assert_eq(db_ask_i64(store_db(store), sql, &answer, &err), 0, "%s", err.text);
    return answer;
}

static int64_t runs_left(struct store *store)
{
    return ask(store, "SELECT count(*) FROM execution");
}

/* Rows that name a run, in whatever table: found in the schema, so that a new one is not forgotten.
 */
static void check_nothing_is_left(struct store *store)
{
    struct err err = {0};
    autoarena struct arena *arena = arena_new();
    size_t tables = 0;
    static const char SQL[] =
        "SELECT m.name, f.\"from\" FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f "
        "WHERE m.type = 'table' AND f.\"table\" = 'execution'";
    struct query q = query_begin(store_db(store), SQL, &err);
    char *names[64];
    while (query_next(&q) > 0) {
        names[tables++] = mem_printf("SELECT count(*) FROM %s WHERE %s IS NOT NULL",
                                     row_text(&q, arena, 0), row_text(&q, arena, 1));
    }
    query_end(&q);
    cr_assert_geq(tables, 9);
    for (size_t i = 0; i < tables; i++) {
        cr_assert_eq(ask(store, names[i]), 0, "%s", names[i]);
        free(names[i]);
    }
    cr_assert_eq(ask(store, "SELECT count(*) FROM blob"), 0);
    cr_assert_eq(ask(store, "SELECT sum(n) FROM execution_count"), 0);
}

Test(journal_purge, a_run_goes_with_all_that_is_its_own)
{
    autostore struct store *store = store_with(7);
    struct purge_count gone = purge_all(store, (struct purge_policy){INT64_MAX, -1});
    cr_assert_eq(gone.runs, 7);
    cr_assert_eq(gone.events, 70);
    cr_assert_gt(gone.history_bytes, 0);
    cr_assert_eq(runs_left(store), 0);
    check_nothing_is_left(store);
}

Test(journal_purge, by_age_the_younger_stay)
{
    autostore struct store *store = store_with(7);
    cr_assert_eq(purge_all(store, (struct purge_policy){3000, -1}).runs, 2);
    cr_assert_eq(ask(store, "SELECT min(closed_ns) FROM execution"), 3000);
    cr_assert_eq(purge_all(store, (struct purge_policy){3000, -1}).runs, 0);
    cr_assert_eq(ask(store, "SELECT count(*) FROM blob"), 1); /* others refer to it */
}

Test(journal_purge, by_number_the_newest_stay)
{
    autostore struct store *store = store_with(7);
    cr_assert_eq(purge_all(store, (struct purge_policy){0, 7}).runs, 0);
    cr_assert_eq(purge_all(store, (struct purge_policy){0, 3}).runs, 4);
    cr_assert_eq(ask(store, "SELECT min(closed_ns) FROM execution"), 5000);
    cr_assert_eq(purge_all(store, (struct purge_policy){0, 0}).runs, 3);
    check_nothing_is_left(store);
}

Test(journal_purge, either_limit_is_enough)
{
    autostore struct store *store = store_with(7);
    cr_assert_eq(purge_all(store, (struct purge_policy){3000, 6}).runs, 2);
    cr_assert_eq(purge_all(store, (struct purge_policy){3000, 2}).runs, 3);
}

Test(journal_purge, open_runs_and_marked_ones_stay)
{
    autostore struct store *store = store_with(3);
    struct txn *txn = txn_begin(store);
    put_run(txn, 50);
    task_put(txn, 1, TASK_TERMINATE, 1);
    commit(txn);
    cr_assert_eq(purge_all(store, (struct purge_policy){INT64_MAX, -1}).runs, 2);
    cr_assert_eq(ask(store, "SELECT count(*) FROM execution WHERE id = 1"), 1);
    cr_assert_eq(ask(store, "SELECT count(*) FROM execution WHERE status = 1"), 1);
}

Test(journal_purge, a_slice_ends_by_number_and_by_time)
{
    autostore struct store *store = store_with(7);
    struct purge_policy all = {INT64_MAX, -1};
    struct purge_count gone = {0};
    struct txn *txn = txn_begin(store);
    cr_assert_eq(purge_slice(txn, &all, 4, INT64_MAX, &gone), 1);
    cr_assert_eq(gone.runs, 4);
    cr_assert_eq(purge_slice(txn, &all, 4, clock_mono_ns(), &gone), 1);
    cr_assert_eq(gone.runs, 5); /* time is over, but one goes */
    cr_assert_eq(purge_slice(txn, &all, 4, INT64_MAX, &gone), 0);
    cr_assert_eq(gone.runs, 7);
    txn_rollback(txn);
    cr_assert_eq(runs_left(store), 7);
}

Test(journal_purge, the_preview_says_what_goes)
{
    autostore struct store *store = store_with(7);
    static const struct purge_policy policies[] = {{INT64_MAX, -1}, {3000, -1}, {0, 3},  {0, 0},
                                                   {3000, 6},       {3000, 2},  {1, -1}, {0, 100}};
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        struct purge_count told, gone = {0};
        struct err err = {0};
        cr_assert_eq(purge_preview(store_db(store), &policies[i], &told, &err), 0, "%s", err.text);
        struct txn *txn = txn_begin(store);
        cr_assert_eq(purge_slice(txn, &policies[i], 100, INT64_MAX, &gone), 0);
        txn_rollback(txn);
        cr_assert_eq(told.runs, gone.runs, "policy %zu", i);
        cr_assert_eq(told.events, gone.events);
        cr_assert_eq(told.history_bytes, gone.history_bytes);
    }
}

Test(journal_purge, the_oldest_is_known)
{
    autostore struct store *store = store_with(2);
    struct err err = {0};
    int64_t closed_ns = 0;
    cr_assert_eq(purge_oldest(store_db(store), &closed_ns, &err), 0);
    cr_assert_eq(closed_ns, 1000);
    purge_all(store, (struct purge_policy){INT64_MAX, -1});
    cr_assert_eq(purge_oldest(store_db(store), &closed_ns, &err), 1);
}
