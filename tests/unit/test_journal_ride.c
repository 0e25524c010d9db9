/*
 * test_journal_ride.c - journal/txn.c: commits of one handle that share a sync, and what becomes of
 * the others when one of them fails.
 */
#include "../lib/journal_fixture.h"

#include <pthread.h>

#include "base/clock.h"
#include "journal/db.h"
#include "journal/store_impl.h"
#include "selftest/fault_disk.h"

TestSuite(journal_ride, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

#define THREADS 8
#define COMMITS 50

enum ending { COMMIT, ROLL_BACK, FAIL, LOSE, ALONE };

/* A thread that begins when it is told, and ends its transaction as it is told. */
struct second {
    struct store *store;
    enum ending ending;
    struct err err;
    int rc;
};

static void *be_second(void *arg)
{
    struct second *second = arg;
    struct txn *txn =
        second->ending == ALONE ? txn_begin_alone(second->store) : txn_begin(second->store);
    put_run(txn, 2);
    if (second->ending == ROLL_BACK) {
        txn_rollback(txn);
        return NULL;
    }
    if (second->ending == FAIL) {
        put_events(txn, 424242, 1, 1); /* no such run */
    }
    if (second->ending == LOSE) { /* what a full disk may do */
        sqlite3_exec(second->store->writer.raw, "ROLLBACK", NULL, NULL, NULL);
        txn_fail(txn, &(struct err){.kind = ERR_TRANSIENT, .name = "StoreFull", .text = "full"});
    }
    second->rc = txn_commit(txn, &second->err);
    return NULL;
}

/* The first one's commit while the second waits to begin. */
static int commit_before(struct store *store, struct second *second, struct err *err)
{
    pthread_t thread;
    struct txn *txn = txn_begin(store);
    put_run(txn, 1);
    second->store = store;
    cr_assert_eq(pthread_create(&thread, NULL, be_second, second), 0);
    while (atomic_load(&store->waiting) == 0) {
        clock_sleep_ms(1);
    }
    int rc = txn_commit(txn, err);
    pthread_join(thread, NULL);
    return rc;
}

static int has_run(struct store *store, int number)
{
    struct err err = {0};
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    char run_id[64];
    snprintf(run_id, sizeof(run_id), "run-%d", number);
    int rc = execution_find_run(store_db(store), arena, run_id, &row, &err);
    cr_assert_geq(rc, 0, "%s", err.text);
    return rc == 0;
}

static void check_usable(struct store *store)
{
    new_run(store, 3);
    cr_assert_eq(has_run(store, 3), 1);
    check_store(store);
}

Test(journal_ride, two_commits_are_one)
{
    struct fault_counts counts;
    fault_disk_register();
    struct store *store;
    struct err err = {0};
    struct store_options options = {.reserve_bytes = -1, .vfs = "fault"};
    cr_assert_eq(store_open(scratch_db, &options, &store, &err), 0, "%s", err.text);
    fault_disk_plan(NULL);
    struct second second = {.ending = COMMIT};
    cr_assert_eq(commit_before(store, &second, &err), 0);
    cr_assert_eq(second.rc, 0);
    fault_disk_counts(&counts);
    cr_assert_eq(counts.wal_syncs, 1);
    cr_assert_eq(has_run(store, 1), 1);
    cr_assert_eq(has_run(store, 2), 1);
    check_usable(store);
    store_close(store);
}

Test(journal_ride, who_rolls_back_takes_back_his_own_part)
{
    autostore struct store *store = open_store();
    struct err err = {0};
    struct second second = {.ending = ROLL_BACK};
    cr_assert_eq(commit_before(store, &second, &err), 0);
    cr_assert_eq(has_run(store, 1), 1);
    cr_assert_eq(has_run(store, 2), 0);
    check_usable(store);
}

Test(journal_ride, who_fails_fails_alone)
{
    autostore struct store *store = open_store();
    struct err err = {0};
    struct second second = {.ending = FAIL};
    cr_assert_eq(commit_before(store, &second, &err), 0);
    cr_assert_lt(second.rc, 0);
    cr_assert_str_eq(second.err.name, "StoreConstraint");
    cr_assert_eq(has_run(store, 1), 1);
    cr_assert_eq(has_run(store, 2), 0);
    check_usable(store);
}

Test(journal_ride, what_undoes_all_is_told_to_all)
{
    autostore struct store *store = open_store();
    struct err err = {0};
    struct second second = {.ending = LOSE};
    cr_assert_lt(commit_before(store, &second, &err), 0);
    cr_assert_str_eq(err.name, "StoreFull");
    cr_assert_lt(second.rc, 0);
    cr_assert_eq(has_run(store, 1), 0);
    cr_assert_eq(has_run(store, 2), 0);
    check_usable(store);
}

Test(journal_ride, alone_means_that_the_others_are_durable_first)
{
    autostore struct store *store = open_store();
    struct err err = {0};
    struct second second = {.ending = ALONE};
    cr_assert_eq(commit_before(store, &second, &err), 0);
    cr_assert_eq(second.rc, 0);
    cr_assert_eq(has_run(store, 1), 1);
    cr_assert_eq(has_run(store, 2), 1);
    check_usable(store);
}

/* --- many ------------------------------------------------------------------------------------- */

static atomic_int committed;

static void *commit_many(void *arg)
{
    struct store *store = arg;
    static atomic_int next = 1000;
    for (int i = 0; i < COMMITS; i++) {
        int number = atomic_fetch_add(&next, 1);
        struct txn *txn = txn_begin(store);
        put_run(txn, number);
        if (number % 7 == 0) {
            txn_rollback(txn);
        } else if (number % 11 == 0) {
            put_events(txn, 424242, 1, 1);
            cr_assert_lt(txn_commit(txn, NULL), 0);
        } else if (txn_commit(txn, NULL) == 0) {
            atomic_fetch_add(&committed, 1);
            cr_assert_eq(has_run(store, number), 1, "acknowledged, and not to be seen");
        }
    }
    return NULL;
}

Test(journal_ride, many_threads_each_get_their_own_answer)
{
    autostore struct store *store = open_store();
    pthread_t threads[THREADS];
    int64_t counts[EXECUTION_STATUS_COUNT];
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, commit_many, store), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], atomic_load(&committed));
    cr_assert_gt(counts[0], THREADS * COMMITS / 2);
    check_usable(store);
}

/* Each thread stops at its first refusal: what was acknowledged before must be there. */
static void *commit_until_it_breaks(void *arg)
{
    struct store *store = arg;
    static atomic_int next = 1000;
    for (int i = 0; i < COMMITS; i++) {
        int number = atomic_fetch_add(&next, 1);
        struct txn *txn = txn_begin(store);
        put_run(txn, number);
        if (txn_commit(txn, NULL) == 0) {
            atomic_fetch_add(&committed, 1);
        }
    }
    return NULL;
}

Test(journal_ride, a_disk_that_fails_fails_whoever_shares_the_commit)
{
    fault_disk_register();
    for (int at = 1; at < 60; at += 7) {
        struct store *store;
        struct err err = {0};
        pthread_t threads[THREADS];
        int64_t counts[EXECUTION_STATUS_COUNT];
        struct store_options options = {.reserve_bytes = -1, .vfs = "fault"};
        fault_disk_plan(NULL);
        atomic_store(&committed, 0);
        cr_assert_eq(store_open(scratch_db, &options, &store, &err), 0, "%s", err.text);
        cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
        int64_t before = counts[0];
        fault_disk_plan(&(struct fault_plan){.mode = FAULT_FULL, .at = at});
        for (int i = 0; i < THREADS; i++) {
            cr_assert_eq(pthread_create(&threads[i], NULL, commit_until_it_breaks, store), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        fault_disk_plan(NULL);
        cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
        cr_assert_eq(counts[0] - before, atomic_load(&committed), "fault at %d", at);
        check_store(store);
        store_close(store);
    }
}
