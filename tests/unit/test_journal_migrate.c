/*
 * test_journal_migrate.c - journal/migrate: application schemas, upgrades, copies, refusals.
 */
#include "../lib/journal_fixture.h"
#include "../lib/sql.h"

#include <sys/wait.h>
#include <unistd.h>

TestSuite(journal_migrate, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

#define STEP1                                                                                      \
    {                                                                                              \
        "0001_init", "CREATE TABLE shop_item (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;" \
    }
#define STEP2                                                                                      \
    {                                                                                              \
        "0002_price", "ALTER TABLE shop_item ADD COLUMN cents INTEGER NOT NULL DEFAULT 0;"         \
    }

static const struct store_migration one_step[] = {STEP1, {0}};
static const struct store_migration two_steps[] = {STEP1, STEP2, {0}};
static const struct store_migration changed_step[] = {
    {"0001_init", "CREATE TABLE shop_item (id INTEGER PRIMARY KEY) STRICT;"}, {0}};
static const struct store_migration renamed_step[] = {
    {"0001_begin", "CREATE TABLE shop_item (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;"},
    {0}};
static const struct store_migration broken_step[] = {
    STEP1, {"0002_broken", "CREATE TABLE other (x); INSERT INTO nowhere VALUES (1);"}, {0}};
static const struct store_migration sneaky_step[] = {
    STEP1, {"0002_sneaky", "CREATE TABLE other (x); COMMIT;"}, {0}};

static int open_with(const struct store_migration *steps, struct store **ret, struct err *err)
{
    return store_open(
        scratch_db,
        &(struct store_options){.reserve_bytes = -1, .schema_name = "shop", .schema = steps}, ret,
        err);
}

static void expect_refusal(const struct store_migration *steps, const char *name)
{
    struct store *store = NULL;
    struct err err = {0};
    cr_assert_lt(open_with(steps, &store, &err), 0);
    cr_assert_str_eq(err.name, name, "%s: %s", err.name, err.text);
    cr_assert_null(store);
}

static void make(const struct store_migration *steps)
{
    struct store *store = NULL;
    struct err err = {0};
    cr_assert_eq(open_with(steps, &store, &err), 0, "%s", err.text);
    check_store(store);
    store_close(store);
}

Test(journal_migrate, an_application_schema_lives_in_the_same_file)
{
    make(two_steps);
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(cents) FROM shop_item"), 0);
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM migration WHERE schema = 'shop'"), 2);
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM migration WHERE length(sha256) = 64"),
                 engine_steps() + 2);
    make(two_steps);           /* nothing to do */
    store_close(open_store()); /* a program that knows no shop can use the engine's part */
}

Test(journal_migrate, an_upgrade_leaves_a_copy_of_what_was)
{
    make(one_step);
    struct store *store = NULL;
    cr_assert_eq(open_with(one_step, &store, NULL), 0);
    int64_t id = new_run(store, 1);
    store_close(store);
    make(two_steps);
    autofree char *copy = mem_printf("%s.before-%d", scratch_db, engine_steps() + 1);
    cr_assert(fs_exists(copy));
    cr_assert_eq(sql_ask(copy, "SELECT count(*) FROM pragma_table_info('shop_item')"), 2);
    cr_assert_eq(sql_ask(copy, "SELECT id FROM execution"), id);
    cr_assert_eq(sql_ask(copy, "SELECT count(*) FROM pragma_integrity_check WHERE "
                               "integrity_check = 'ok'"),
                 1);
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM pragma_table_info('shop_item')"), 3);
    cr_assert_eq(sql_ask(scratch_db, "SELECT id FROM execution"), id);
    autofree char *temporary = mem_printf("%s.tmp", copy);
    cr_assert(!fs_exists(temporary));
}

Test(journal_migrate, a_fresh_file_needs_no_copy)
{
    make(two_steps);
    autofree char *copy = mem_printf("%s.before-0", scratch_db);
    cr_assert(!fs_exists(copy));
}

Test(journal_migrate, a_schema_can_come_later)
{
    store_close(open_store());
    make(one_step);
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM shop_item"), 0);
}

Test(journal_migrate, a_changed_or_renamed_step_is_refused)
{
    make(one_step);
    expect_refusal(changed_step, "MigrationChanged");
    expect_refusal(renamed_step, "MigrationChanged");
    make(one_step);
}

Test(journal_migrate, a_newer_application_schema_is_refused)
{
    make(two_steps);
    expect_refusal(one_step, "NewerFile");
    expect_refusal(NULL, "NewerFile");
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM pragma_table_info('shop_item')"), 3);
}

Test(journal_migrate, a_step_that_fails_changes_nothing)
{
    make(one_step);
    expect_refusal(broken_step, "MigrationFailed");
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM sqlite_schema WHERE name = 'other'"), 0);
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM migration WHERE schema = 'shop'"), 1);
    make(two_steps);
}

Test(journal_migrate, a_step_must_not_end_the_transaction)
{
    make(one_step);
    expect_refusal(sneaky_step, "MigrationFailed");
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM migration WHERE schema = 'shop'"), 1);
}

Test(journal_migrate, read_only_never_upgrades)
{
    make(one_step);
    struct store *store = NULL;
    struct err err = {0};
    struct store_options options = {.read_only = true, .schema_name = "shop", .schema = two_steps};
    cr_assert_lt(store_open(scratch_db, &options, &store, &err), 0);
    cr_assert_str_eq(err.name, "OlderFile");
    cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM migration WHERE schema = 'shop'"), 1);
}

Test(journal_migrate, reserved_names_are_refused)
{
    struct store *store = NULL;
    struct err err = {0};
    struct store_options options = {.schema_name = "engine", .schema = one_step};
    cr_assert_lt(store_open(scratch_db, &options, &store, &err), 0);
    cr_assert_str_eq(err.name, "BadSchemaName");
    options.schema_name = "";
    cr_assert_lt(store_open(scratch_db, &options, &store, &err), 0);
}

Test(journal_migrate, processes_that_create_together_make_one_store)
{
    for (int round = 0; round < 5; round++) {
        pid_t pids[4];
        for (int i = 0; i < 4; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                struct store *store = NULL;
                int rc = open_with(two_steps, &store, NULL);
                _exit(rc == 0 ? 0 : 1);
            }
        }
        for (int i = 0; i < 4; i++) {
            int status = -1;
            cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
            cr_assert_eq(status, 0);
        }
        cr_assert_eq(sql_ask(scratch_db, "SELECT count(*) FROM migration"), engine_steps() + 2);
        make(two_steps);
        unlink(scratch_db);
    }
}
