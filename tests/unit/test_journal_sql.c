/*
 * test_journal_sql.c - statements of a program's own: what they may touch, what a failure leaves,
 * and that the engine's own statements go on undisturbed.
 */
#include "../lib/journal_fixture.h"
#include "base/arena.h"
#include "journal/sql.h"

static struct store *store;
static struct arena *arena;

static void make(void)
{
    static const struct store_migration steps[] = {
        {"0001_init", "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT;"
                      "CREATE TABLE spy (a);"
                      "CREATE TRIGGER reach AFTER INSERT ON spy BEGIN DELETE FROM task; END;"
                      "CREATE VIEW peek AS SELECT * FROM execution;"},
        {0}};
    struct err err = {0};
    scratch_make();
    arena = arena_new();
    int rc = store_open(
        scratch_db,
        &(struct store_options){.reserve_bytes = -1, .schema_name = "app", .schema = steps}, &store,
        &err);
    cr_assert_eq(rc, 0, "%s", err.text);
}

static void done(void)
{
    check_store(store);
    store_close(store);
    arena_free(arena);
    scratch_remove();
}

TestSuite(journal_sql, .init = make, .fini = done, .timeout = 60);

static const char *run(struct txn *txn, const char *text, const char *params)
{
    struct err err = {0};
    const char *rows = NULL;
    int64_t changes = 0;
    return sql_run(txn, arena, text, params, &rows, &changes, &err) == 0
               ? arena_printf(arena, "%s/%d", rows, (int)changes)
               : arena_printf(arena, "%s: %s", err.name, err.text);
}

Test(journal_sql, reads_and_writes_the_programs_tables)
{
    struct txn *txn = txn_begin(store);
    cr_expect_str_eq(run(txn, "INSERT INTO item (name) VALUES (?1), (?2)", "[\"a\",\"b\"]"),
                     "[]/2");
    cr_expect_str_eq(run(txn, "SELECT id, name FROM item ORDER BY id -- all\n;", NULL),
                     "[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]/0");
    cr_expect_str_eq(run(txn, "UPDATE item SET name = :to WHERE name = $from RETURNING id",
                         "{\"to\":\"c\",\"from\":\"b\"}"),
                     "[{\"id\":2}]/1");
    cr_expect_str_eq(run(txn,
                         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                         "3) SELECT sum(i) AS s FROM n",
                         NULL),
                     "[{\"s\":6}]/0");
    commit(txn);
}

Test(journal_sql, a_statement_that_fails_changes_nothing)
{
    struct txn *txn = txn_begin(store);
    int64_t id = put_run(txn, 1);
    cr_expect_str_eq(run(txn, "INSERT INTO item (name) VALUES ('x')", NULL), "[]/1");
    cr_expect_str_eq(run(txn, "INSERT INTO item (name) VALUES ('y'), ('x')", NULL),
                     "SqlError: UNIQUE constraint failed: item.name");
    cr_expect_str_eq(run(txn, "SELECT count(*) AS n FROM item", NULL), "[{\"n\":1}]/0");
    cr_expect_not(txn_failed(txn));
    put_events(txn, id, 1, 3); /* the engine goes on */
    commit(txn);
    struct event_list rows;
    struct err err = {0};
    cr_assert_eq(event_read(store_db(store), arena, id, 1, 0, &rows, &err), 0);
    cr_expect_eq(rows.count, 3);
}

Test(journal_sql, the_engines_tables_are_out_of_reach)
{
    static const char *const texts[] = {
        "SELECT * FROM execution",
        "SELECT * FROM EXECUTION AS e",
        "SELECT * FROM main.activity",
        "SELECT * FROM runs",
        "SELECT * FROM peek",
        "SELECT * FROM task_queue",
        "SELECT * FROM migration",
        "INSERT INTO spy VALUES (1)", /* its trigger reaches for the engine's */
        "INSERT INTO item SELECT id, workflow_id FROM execution",
        "DELETE FROM item WHERE id IN (SELECT id FROM execution)",
        "REPLACE INTO engine VALUES (1, 99, 1, 'h', 1)",
        "WITH x AS (SELECT * FROM event) SELECT * FROM x",
    };
    struct txn *txn = txn_begin(store);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *said = run(txn, texts[i], NULL);
        cr_expect_eq(strncmp(said, "SqlRefused: ", 12), 0, "%s: %s", texts[i], said);
    }
    cr_expect_str_eq(run(txn, "SELECT count(*) AS n FROM item", NULL), "[{\"n\":0}]/0");
    commit(txn);
}

Test(journal_sql, a_transaction_that_is_ended_from_within_is_lost)
{
    struct txn *txn = txn_begin(store);
    int64_t id = put_run(txn, 1);
    cr_expect_str_eq(run(txn, "INSERT INTO item (name) VALUES ('x')", NULL), "[]/1");
    const char *said = run(txn, "INSERT OR ROLLBACK INTO item (name) VALUES ('x')", NULL);
    cr_expect_eq(strncmp(said, "SqlLost: ", 9), 0, "%s", said);
    cr_expect(txn_failed(txn));
    cr_expect_eq(strncmp(run(txn, "SELECT 1", NULL), "SqlLost: ", 9), 0);
    struct err err = {0};
    cr_expect_lt(txn_commit(txn, &err), 0);
    struct execution_row row;
    cr_expect_eq(execution_get(store_db(store), arena, id, &row, &err), 1);
}

Test(journal_sql, rows_are_bounded)
{
    struct txn *txn = txn_begin(store);
    const char *said = run(txn,
                           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
                           "i FROM n",
                           NULL);
    cr_expect_str_eq(said, "SqlError: the rows are more than 2097152 bytes");
    cr_expect_str_eq(run(txn, "SELECT 1 AS a", NULL), "[{\"a\":1}]/0");
    commit(txn);
}
