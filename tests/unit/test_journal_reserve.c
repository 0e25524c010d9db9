/*
 * test_journal_reserve.c - journal/vfs and journal/upkeep: the disk reserve saves a commit in
 * flight, and admission of new runs says no in time.
 */
#include "selftest/fault_disk.h"
#include "../lib/journal_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#define RESERVE ((int64_t)256 * 1024)

static void set_up(void)
{
    scratch_make();
    fault_disk_register();
}

TestSuite(journal_reserve, .init = set_up, .fini = scratch_remove, .timeout = 120);

static struct store *open_with(const struct store_options *options)
{
    struct store *store = NULL;
    struct err err = {0};
    cr_assert_eq(store_open(scratch_db, options, &store, &err), 0, "%s", err.text);
    return store;
}

Test(journal_reserve, it_has_real_blocks)
{
    autostore struct store *store = open_with(&(struct store_options){.reserve_bytes = RESERVE});
    autofree char *path = mem_printf("%s.reserve", store_path(store));
    struct stat st;
    struct store_facts facts;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_size, RESERVE);
    cr_assert_geq((int64_t)st.st_blocks * 512, RESERVE, "sparse: it would free nothing");
    cr_assert_eq(store_facts(store, &facts, NULL), 0);
    cr_assert_eq(facts.reserve_bytes, RESERVE);
}

Test(journal_reserve, a_commit_on_a_full_disk_goes_through_once)
{
    struct store_options options = {.reserve_bytes = RESERVE, .vfs = "fault"};
    struct store *store = open_with(&options);
    struct store_facts facts;
    struct err err = {0};
    autofree char *path = mem_printf("%s.reserve", store_path(store));
    int64_t id = new_run(store, 1);
    fault_disk_plan(&(struct fault_plan){
        .mode = FAULT_FULL, .at = 1, .is_lasting = true, .full_while_exists = path});
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 100);
    commit(txn);
    cr_assert_eq(store_facts(store, &facts, NULL), 0);
    cr_assert_eq(facts.reserve_bytes, 0, "it was given up for the commit");
    check_store(store);

    /* Full for good now: refused, nothing lost. */
    fault_disk_plan(&(struct fault_plan){.mode = FAULT_FULL, .at = 1, .is_lasting = true});
    txn = txn_begin(store);
    put_events(txn, id, 101, 100);
    cr_assert_lt(txn_commit(txn, &err), 0);
    cr_assert_str_eq(err.name, "DiskFull");
    cr_assert_eq(err.kind, ERR_TRANSIENT);

    /* Room again. */
    fault_disk_plan(NULL);
    txn = txn_begin(store);
    put_events(txn, id, 101, 100);
    commit(txn);
    cr_assert_eq(store_restore_reserve(store, &err), 0, "%s", err.text);
    cr_assert_eq(store_facts(store, &facts, NULL), 0);
    cr_assert_eq(facts.reserve_bytes, RESERVE);
    check_store(store);
    store_close(store);
}

Test(journal_reserve, admission_makes_the_reserve_again)
{
    autostore struct store *store = open_with(&(struct store_options){.reserve_bytes = RESERVE});
    autofree char *path = mem_printf("%s.reserve", store_path(store));
    struct err err = {0};
    cr_assert_eq(store_admits_new_runs(store, &err), 0, "%s", err.text);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(store_admits_new_runs(store, &err), 0, "%s", err.text);
    cr_assert(fs_exists(path));
}

Test(journal_reserve, too_little_free_space_refuses_new_runs_only)
{
    struct store_options options = {.reserve_bytes = RESERVE, .min_free_bytes = INT64_MAX / 2};
    autostore struct store *store = open_with(&options);
    struct err err = {0};
    cr_assert_lt(store_admits_new_runs(store, &err), 0);
    cr_assert_str_eq(err.name, "StoreFull");
    cr_assert_eq(err.kind, ERR_TRANSIENT);
    cr_assert_lt(store_restore_reserve(store, &err), 0);
    new_run(store, 1); /* the store itself goes on */
}

Test(journal_reserve, the_disk_budget_refuses_new_runs_only)
{
    struct store_options options = {.reserve_bytes = -1, .max_db_bytes = 1 << 20};
    autostore struct store *store = open_with(&options);
    struct err err = {0};
    int64_t id = new_run(store, 1);
    cr_assert_eq(store_admits_new_runs(store, &err), 0, "%s", err.text);
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 50000);
    commit(txn);
    cr_assert_lt(store_admits_new_runs(store, &err), 0);
    cr_assert_str_eq(err.name, "StoreFull");
    txn = txn_begin(store);
    execution_close(txn, id, EXECUTION_COMPLETED, 5, "1", NULL);
    execution_delete(txn, id);
    commit(txn);
    cr_assert_eq(store_admits_new_runs(store, &err), 0, "free pages count as free: %s", err.text);
}

Test(journal_reserve, no_reserve_when_none_is_wanted)
{
    autostore struct store *store = open_with(&(struct store_options){.reserve_bytes = -1});
    autofree char *path = mem_printf("%s.reserve", store_path(store));
    cr_assert(!fs_exists(path));
    cr_assert_eq(store_admits_new_runs(store, NULL), 0);
    cr_assert(!fs_exists(path));
}
