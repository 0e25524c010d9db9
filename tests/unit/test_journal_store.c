/*
 * test_journal_store.c - journal/store, db, companion: opening, refusing, settings, facts, WAL cap.
 */
#include "../lib/journal_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(journal_store, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

/* Runs SQL as another program would, with its own plain connection. */
static void shell(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
    cr_assert_eq(rc, SQLITE_OK, "%s: %s", sql, message);
    sqlite3_close(db);
}

static int64_t ask(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s", sql);
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

static void expect_refusal(const struct store_options *options, const char *name)
{
    struct store *store = (struct store *)1;
    struct err err = {0};
    cr_assert_lt(store_open(scratch_db, options, &store, &err), 0);
    cr_assert_str_eq(err.name, name, "%s: %s", err.name, err.text);
    cr_assert_null(store);
    cr_assert_not_null(strstr(err.text, "run.db"), "no file named in: %s", err.text);
}

Test(journal_store, a_new_file_has_every_setting)
{
    autostore struct store *store = open_store();
    cr_assert_eq(ask("PRAGMA page_size"), 4096);
    cr_assert_eq(ask("PRAGMA auto_vacuum"), 2);
    cr_assert_eq(ask("PRAGMA application_id"), 0x64757261);
    cr_assert_eq(ask("PRAGMA user_version"), engine_steps());
    cr_assert_eq(ask("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
    cr_assert_eq(ask("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE "
                     "'%STRICT%' AND name NOT LIKE 'sqlite_%'"),
                 0, "every table is STRICT");
    check_store(store);
}

Test(journal_store, rows_survive_closing_and_opening)
{
    struct store *store = open_store();
    int64_t id = new_run(store, 7);
    store = store_close(store);
    store = open_store();
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    cr_assert_str_eq(row.workflow_id, "order-7");
    store_close(store);
}

Test(journal_store, a_missing_file_is_made_only_when_allowed)
{
    expect_refusal(&(struct store_options){.no_create = true}, "StoreNotFound");
    expect_refusal(&(struct store_options){.read_only = true}, "StoreNotFound");
    cr_assert(!fs_exists(scratch_db));
    struct store *store = NULL;
    struct err err = {0};
    cr_assert_lt(store_open("/nonexistent/dir/run.db", NULL, &store, &err), 0);
    cr_assert_lt(store_open("", NULL, &store, &err), 0);
    cr_assert_str_eq(err.name, "BadPath");
    cr_assert_lt(store_open(NULL, NULL, &store, NULL), 0);
}

Test(journal_store, what_is_not_a_database_is_left_untouched)
{
    static const char text[] = "dear diary, today I was not a database at all. ";
    FILE *f = fopen(scratch_db, "w");
    for (int i = 0; i < 100; i++) {
        fputs(text, f);
    }
    fclose(f);
    expect_refusal(NULL, "NotADatabase");
    expect_refusal(&(struct store_options){.read_only = true}, "NotADatabase");
    struct str content = {0};
    cr_assert_eq(fs_read_file(scratch_db, 1 << 20, &content, NULL), 0);
    cr_assert_eq(content.len, 100 * (sizeof(text) - 1));
    cr_assert_eq(strncmp(content.ptr, text, sizeof(text) - 1), 0);
    str_free(&content);
}

Test(journal_store, a_short_text_file_is_not_a_database)
{
    FILE *f = fopen(scratch_db, "w");
    fputs("hi", f);
    fclose(f);
    expect_refusal(NULL, "NotADatabase");
}

Test(journal_store, an_empty_file_becomes_a_store)
{
    close(open(scratch_db, O_CREAT | O_WRONLY, 0644));
    expect_refusal(&(struct store_options){.read_only = true}, "StoreNotFound");
    autostore struct store *store = open_store();
    check_store(store);
}

Test(journal_store, a_directory_is_refused)
{
    cr_assert_eq(mkdir(scratch_db, 0755), 0);
    expect_refusal(NULL, "NotADatabase");
}

Test(journal_store, another_programs_database_is_left_untouched)
{
    shell(scratch_db, "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('x')");
    expect_refusal(NULL, "ForeignDatabase");
    cr_assert_eq(ask("SELECT count(*) FROM songs"), 1);
    cr_assert_eq(ask("SELECT count(*) FROM sqlite_schema"), 1);
    cr_assert_eq(ask("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"), 1);
}

Test(journal_store, a_newer_file_is_left_untouched)
{
    store_close(open_store());
    shell(scratch_db, "PRAGMA user_version = 999");
    expect_refusal(NULL, "NewerFile");
    expect_refusal(&(struct store_options){.read_only = true}, "NewerFile");
    cr_assert_eq(ask("PRAGMA user_version"), 999);
}

Test(journal_store, a_setting_that_does_not_hold_is_refused)
{
    store_close(open_store());
    shell(scratch_db, "PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM");
    expect_refusal(&(struct store_options){.read_only = true}, "SettingRefused");
    expect_refusal(NULL, "SettingRefused");
}

Test(journal_store, a_file_taken_out_of_wal_comes_back)
{
    store_close(open_store());
    shell(scratch_db, "PRAGMA journal_mode = DELETE");
    autostore struct store *store = open_store();
    cr_assert_eq(ask("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
}

static void copy_file(const char *from, const char *to)
{
    autostr struct str bytes = {0};
    struct err err = {0};
    cr_assert_eq(fs_read_file(from, 64 << 20, &bytes, &err), 0, "%s", err.text);
    cr_assert_eq(fs_write_file(to, bytes.ptr, bytes.len, 0600, &err), 0, "%s", err.text);
}

/* As a power cut in the making of a store can leave it: the header knows nothing of the WAL, and
 * the WAL holds no newer one. */
Test(journal_store, a_header_that_missed_wal_is_mended)
{
    autofree char *wal = mem_printf("%s-wal", scratch_db);
    autofree char *path = mem_printf("%s.cut", scratch_db);
    autofree char *path_wal = mem_printf("%s-wal", path);
    struct err err = {0};
    struct store *store = open_store();
    int64_t id = new_run(store, 1);
    cr_assert_eq(store_checkpoint(store, &err), 0, "%s", err.text);
    struct txn *txn = txn_begin(store);
    put_events(txn, id, 1, 6);
    cr_assert_eq(txn_commit(txn, &err), 0, "%s", err.text);
    copy_file(scratch_db, path);
    copy_file(wal, path_wal);
    store_close(store);
    FILE *file = fopen(path, "r+b");
    cr_assert(file && fseek(file, 18, SEEK_SET) == 0 && fputc(1, file) == 1 && fputc(1, file) == 1);
    fclose(file);
    cr_assert_eq(store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err), 0,
                 "%s", err.text);
    store_close(store);
    cr_assert_eq(store_open(path, &(struct store_options){.read_only = true}, &store, &err), 0,
                 "%s", err.text);
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    cr_assert_eq(row.next_event_id, 7);
    store_close(store);
}

Test(journal_store, read_only_reads_and_refuses_to_write)
{
    struct store *writer = open_store();
    int64_t id = new_run(writer, 1);
    struct store *store = NULL;
    struct err err = {0};
    cr_assert_eq(store_open(scratch_db, &(struct store_options){.read_only = true}, &store, &err),
                 0, "%s", err.text);
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    cr_assert_eq(execution_get(store_db(store), arena, id, &row, NULL), 0);
    struct txn *txn = txn_begin(store);
    cr_assert_eq(put_run(txn, 2), 0);
    txn_mark(txn);
    cr_assert_eq(txn_undo_to_mark(txn), 1);
    cr_assert_lt(txn_commit(txn, &err), 0);
    cr_assert_str_eq(err.name, "StoreReadOnly");
    cr_assert_lt(store_checkpoint(store, &err), 0);
    store_close(store);
    store_close(writer);
}

Test(journal_store, two_names_of_a_file_are_one_store)
{
    store_close(open_store());
    autofree char *alias = mem_printf("%s/alias.db", scratch_dir);
    cr_assert_eq(symlink(scratch_db, alias), 0);
    struct store *store = NULL;
    cr_assert_eq(store_open(alias, NULL, &store, NULL), 0);
    autofree char *real = NULL;
    cr_assert_eq(fs_realpath(scratch_db, &real, NULL), 0);
    cr_assert_str_eq(store_path(store), real);
    store_close(store);
}

Test(journal_store, data_version_tells_of_commits)
{
    autostore struct store *store = open_store();
    autostore struct store *other = open_store();
    int64_t before = 0;
    int64_t same = 0;
    int64_t after = 0;
    cr_assert_eq(store_data_version(store, &before, NULL), 0);
    cr_assert_eq(store_data_version(store, &same, NULL), 0);
    new_run(other, 1);
    cr_assert_eq(store_data_version(store, &after, NULL), 0);
    cr_assert_eq(before, same);
    cr_assert_neq(before, after);
}

Test(journal_store, facts_and_shrinking)
{
    autostore struct store *store = open_store();
    struct store_facts before;
    struct store_facts after;
    struct err err = {0};
    struct txn *txn = txn_begin(store);
    int64_t id = put_run(txn, 1);
    put_events(txn, id, 1, 5000);
    execution_close(txn, id, EXECUTION_COMPLETED, 9, "1", NULL);
    commit(txn);
    cr_assert_eq(store_facts(store, &before, &err), 0, "%s", err.text);
    cr_assert_gt(before.wal_bytes, 100000);
    txn = txn_begin(store);
    cr_assert(execution_delete(txn, id));
    commit(txn);
    cr_assert_eq(store_facts(store, &after, &err), 0);
    cr_assert_gt(after.free_db_bytes, 100000);
    cr_assert_eq(store_shrink(store, 1 << 20, &err), 0, "%s", err.text);
    cr_assert_eq(store_checkpoint(store, &err), 0);
    cr_assert_eq(store_facts(store, &after, &err), 0);
    cr_assert_lt(after.db_bytes, before.db_bytes);
    cr_assert_eq(after.free_db_bytes, 0);
    cr_assert_eq(after.wal_bytes, 0);
    cr_assert_eq(after.schema_version, engine_steps());
    check_store(store);
}

Test(journal_store, the_wal_is_cut_after_a_long_reader)
{
    struct store *store = NULL;
    struct store_facts facts;
    struct store_options options = {.wal_cap_bytes = 5 << 20, .reserve_bytes = -1};
    cr_assert_eq(store_open(scratch_db, &options, &store, NULL), 0);
    autostore struct store *reader = open_store();
    cr_assert_eq(snapshot_begin(store_db(reader), NULL), 0);
    int64_t id = new_run(store, 1);
    int64_t next = 1;
    for (int i = 0; i < 60; i++, next += 2000) {
        struct txn *txn = txn_begin(store);
        put_events(txn, id, next, 2000);
        commit(txn);
    }
    cr_assert_eq(store_facts(store, &facts, NULL), 0);
    cr_assert_gt(facts.wal_bytes, 5 << 20, "the reader holds the WAL");
    snapshot_end(store_db(reader));
    for (int i = 0; i < 25; i++, next += 2000) {
        struct txn *txn = txn_begin(store);
        put_events(txn, id, next, 2000);
        commit(txn);
    }
    cr_assert_eq(store_facts(store, &facts, NULL), 0);
    cr_assert_lt(facts.wal_bytes, 5 << 20, "%lld", (long long)facts.wal_bytes);
    check_store(store);
    store_close(store);
}

Test(journal_store, damage_is_found_by_the_check)
{
    struct store *store = open_store();
    struct txn *txn = txn_begin(store);
    int64_t id = put_run(txn, 1);
    put_events(txn, id, 1, 10);
    commit(txn);
    check_store(store);
    struct err err = {0};
    txn = txn_begin(store);
    execution_close(txn, id, EXECUTION_COMPLETED, 1, NULL, NULL);
    commit(txn);
    check_store(store);
    shell(scratch_db, "UPDATE execution SET next_event_id = 99");
    cr_assert_lt(store_check(store, &err), 0);
    cr_assert_str_eq(err.name, "StoreCorrupt");
    shell(scratch_db, "UPDATE execution SET next_event_id = 11");
    check_store(store);
    shell(scratch_db, "UPDATE execution_count SET n = 5 WHERE status = 2");
    cr_assert_lt(store_check(store, &err), 0);
    shell(scratch_db, "UPDATE execution_count SET n = 1 WHERE status = 2");
    shell(scratch_db, "PRAGMA foreign_keys = OFF; INSERT INTO timer VALUES (77, 1, 't', 1)");
    cr_assert_lt(store_check(store, &err), 0);
    cr_assert_not_null(strstr(err.text, "parent"), "%s", err.text);
    store_close(store);
}

/* --- reads from other threads while one writes --- */

static void *read_much(void *user)
{
    struct store *store = user;
    size_t bad = 0;
    for (int i = 0; i < 200; i++) {
        struct arena *arena = arena_new();
        struct execution_list list;
        if (execution_list(store_db(store), arena, 0, 0, 10, &list, NULL) != 0) {
            bad++;
        }
        for (size_t n = 1; n < list.count; n++) {
            bad += list.rows[n - 1].id > list.rows[n].id ? 0 : 1;
        }
        arena_free(arena);
    }
    return (void *)bad;
}

Test(journal_store, threads_read_while_one_writes)
{
    autostore struct store *store = open_store();
    pthread_t readers[3];
    new_run(store, 0);
    for (int i = 0; i < 3; i++) {
        pthread_create(&readers[i], NULL, read_much, store);
    }
    for (int i = 1; i <= 100; i++) {
        new_run(store, i);
    }
    for (int i = 0; i < 3; i++) {
        void *bad = NULL;
        pthread_join(readers[i], &bad);
        cr_assert_null(bad);
    }
}

Test(journal_store, a_snapshot_stands_still)
{
    autostore struct store *store = open_store();
    autostore struct store *other = open_store();
    int64_t counts[EXECUTION_STATUS_COUNT];
    cr_assert_eq(snapshot_begin(store_db(store), NULL), 0);
    new_run(other, 1);
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], 0);
    cr_assert_eq(snapshot_begin(store_db(store), NULL), 0);
    snapshot_end(store_db(store));
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], 0);
    snapshot_end(store_db(store));
    cr_assert_eq(execution_counts(store_db(store), counts, NULL), 0);
    cr_assert_eq(counts[0], 1);
}
