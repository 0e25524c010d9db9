/*
 * test_engine_transaction.c - SQL within the workflow task: exactly once under kills, undone when
 * it fails, nothing of the engine's in reach.
 */
#include "tests/lib/engine_fixture.h"
#include "selftest/fault_disk.h"

static const dur_migration schema[] = {
    {"0001_init", "CREATE TABLE account (name TEXT PRIMARY KEY, cents INTEGER NOT NULL "
                  "CHECK (cents >= 0)) STRICT;"
                  "CREATE TABLE move (id INTEGER PRIMARY KEY, note TEXT) STRICT;"
                  "CREATE TABLE fuse (n INTEGER);"
                  "CREATE TRIGGER blow AFTER INSERT ON fuse BEGIN SELECT RAISE(ROLLBACK, 'no'); "
                  "END;"
                  "INSERT INTO account VALUES ('ann', 1000), ('bob', 0)"},
    {0}};

static atomic_int calls;
static atomic_int park_first; /* the workflow asks for something impossible after its transaction */

static dur_engine *open_bank(const char *path)
{
    return open_with(path, (dur_options){.schema_name = "bank", .schema = schema});
}

/* {"cents": n} from ann to bob */
static int transfer(dur_sql *sql, const char *input, const char **result, void *user)
{
    const char *rows;
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (dur_sql_exec(sql, "INSERT INTO move (note) VALUES (:cents)", input) ||
        dur_sql_exec(sql, "UPDATE account SET cents = cents + :cents WHERE name = 'bob'", input)) {
        return DUR_FAILED;
    }
    if (dur_sql_exec(sql, "UPDATE account SET cents = cents - :cents WHERE name = 'ann'", input)) {
        return dur_sql_fail(sql, "NoMoney", "ann: %s", dur_sql_error(sql));
    }
    if (dur_sql_rows(sql, "SELECT name, cents FROM account ORDER BY name", NULL, &rows)) {
        return DUR_FAILED;
    }
    *result = rows;
    return DUR_OK;
}

static int hostile(dur_sql *sql, const char *input, const char **result, void *user)
{
    static const char *const texts[] = {
        "SELECT * FROM execution",
        "SELECT * FROM runs",
        "DELETE FROM event",
        "UPDATE Activity SET attempt = 9",
        "SELECT (SELECT count(*) FROM timer)",
        "INSERT INTO migration VALUES ('x', 1, 'y', 'z', 0)",
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        "SAVEPOINT mark",
        "RELEASE mark",
        "ROLLBACK TO mark",
        "ATTACH ':memory:' AS other",
        "PRAGMA user_version = 1",
        "PRAGMA synchronous = OFF",
        "VACUUM",
        "CREATE TABLE mine (a)",
        "CREATE TEMP TABLE mine (a)",
        "CREATE TRIGGER t AFTER INSERT ON move BEGIN DELETE FROM event; END",
        "DROP TABLE account",
        "ALTER TABLE account ADD COLUMN x",
        "CREATE VIEW v AS SELECT * FROM event",
        "ANALYZE",
        "SELECT 1; SELECT 2",
        "",
        "-- nothing",
        "SELEC",
    };
    size_t refused = 0;
    (void)input;
    (void)user;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int rc = dur_sql_exec(sql, texts[i], NULL);
        cr_expect_eq(rc, DUR_INVALID, "%s", texts[i]);
        cr_expect_str_neq(dur_sql_error(sql), "", "%s", texts[i]);
        refused += rc == DUR_INVALID;
    }
    cr_expect_eq(dur_sql_exec(sql, NULL, NULL), DUR_INVALID);
    cr_expect_eq(dur_sql_exec(sql, "SELECT ?1", NULL), DUR_INVALID);
    cr_expect_eq(dur_sql_exec(sql, "SELECT ?1", "[1,2]"), DUR_INVALID);
    cr_expect_eq(dur_sql_exec(sql, "SELECT ?1", "7"), DUR_INVALID);
    cr_expect_eq(dur_sql_exec(sql, "SELECT ?1", "["), DUR_INVALID);
    cr_expect_eq(dur_sql_exec(sql, "SELECT :b", "{\"a\":1}"), DUR_INVALID);
    char *text = dur_sql_alloc(sql, 64);
    snprintf(text, 64, "%zu", refused);
    *result = text;
    return DUR_OK;
}

static int values(dur_sql *sql, const char *input, const char **result, void *user)
{
    (void)user;
    cr_expect_eq(dur_sql_exec(sql, "INSERT INTO move (note) VALUES ('a'), ('b'), ('c')", NULL),
                 DUR_OK);
    cr_expect_eq(dur_sql_changes(sql), 3);
    cr_expect_eq(dur_sql_exec(sql, "SELECT 1", NULL), DUR_OK);
    cr_expect_eq(dur_sql_changes(sql), 0);
    return dur_sql_rows(sql,
                        "SELECT ?1 AS n, ?2 AS i, ?3 AS r, ?4 AS b, ?5 AS t, ?6 AS j, "
                        "x'00ff' AS blob, typeof(?2) AS type",
                        input, result);
}

static int spoil(dur_sql *sql, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    atomic_fetch_add(&calls, 1);
    return dur_sql_exec(sql, "INSERT INTO fuse VALUES (1)", NULL);
}

static int bad(dur_sql *sql, const char *input, const char **result, void *user)
{
    (void)user;
    dur_sql_exec(sql, "INSERT INTO move (note) VALUES ('bad')", NULL);
    *result = "{";
    return dur_json_bool(input, "/code", 0) ? DUR_NOT_FOUND : DUR_OK;
}

static int one(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    (void)user;
    int rc = dur_run_transaction(ctx, dur_ctx_json_string(ctx, input, "/do"),
                                 dur_ctx_json_string(ctx, input, "/with"), &value);
    const dur_failure_info *f = rc == DUR_FAILED ? dur_failure(ctx) : NULL;
    *result = f ? dur_ctx_jsonf(ctx, "{\"of\":%q,\"type\":%q,\"message\":%q,\"kind\":%d}",
                                f->activity_type, f->cause->type, f->cause->message, f->cause->kind)
                : dur_ctx_jsonf(ctx, "{\"code\":%d,\"value\":%j}", rc, value);
    if (atomic_load(&park_first)) {
        *result = "not json";
    }
    return DUR_OK;
}

/* Ten cents a step. */
static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    for (int i = 0; i < 10; i++) {
        int rc = dur_run_transaction(ctx, "transfer", "{\"cents\":10}", result);
        if (rc || (rc = dur_sleep(ctx, 1))) {
            return rc;
        }
    }
    return DUR_OK;
}

/* Reads from outside what the bank holds. */
static int look(dur_sql *sql, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_sql_rows(sql,
                        "SELECT (SELECT group_concat(cents) FROM account) AS cents, "
                        "(SELECT count(*) FROM move) AS moves",
                        NULL, result);
}

/* One that is fine, then one that ends the transaction. */
static int second_spoils(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *first = NULL;
    (void)input;
    (void)user;
    int rc = dur_run_transaction(ctx, "transfer", "{\"cents\":1}", &first);
    if (rc == DUR_OK && dur_run_transaction(ctx, "spoil", NULL, NULL) == DUR_FAILED) {
        *result = dur_ctx_jsonf(ctx, "%q", dur_failure(ctx)->cause->type);
    }
    return rc;
}

static void fixture_register(dur_engine *engine)
{
    dur_register_transaction(engine, "transfer", transfer, NULL);
    dur_register_transaction(engine, "hostile", hostile, NULL);
    dur_register_transaction(engine, "values", values, NULL);
    dur_register_transaction(engine, "spoil", spoil, NULL);
    dur_register_transaction(engine, "bad", bad, NULL);
    dur_register_transaction(engine, "look", look, NULL);
    dur_register_workflow(engine, "one", one, NULL);
    dur_register_workflow(engine, "steps", steps, NULL);
    dur_register_workflow(engine, "second", second_spoils, NULL);
}

static void check(dur_engine *engine, const char *id, const char *input, const char *expected)
{
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "one", id, input, NULL), DUR_OK, "%s", dur_error(engine));
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, id, 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, expected);
    dur_free(result);
    check_history(engine, id);
}

Test(transaction, it_is_done_with_its_marker, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    check(engine, "w", "{\"do\":\"transfer\",\"with\":\"{\\\"cents\\\":300}\"}",
          "{\"code\":0,\"value\":[{\"name\":\"ann\",\"cents\":700},{\"name\":\"bob\",\"cents\":300}"
          "]}");
    check_types(engine, "w", 4, "WorkflowTaskCompleted MarkerRecorded WorkflowExecutionCompleted");
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"700,300\",\"moves\":1}]}");
    dur_close(engine);
}

Test(transaction, a_failure_takes_all_back, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    check(engine, "w", "{\"do\":\"transfer\",\"with\":\"{\\\"cents\\\":3000}\"}",
          "{\"of\":\"transfer\",\"type\":\"NoMoney\",\"message\":\"ann: CHECK constraint failed: "
          "cents >= 0\",\"kind\":1}");
    check(engine, "v", "{\"do\":\"bad\"}",
          "{\"of\":\"bad\",\"type\":\"BadResult\",\"message\":\"transaction bad: its result is not "
          "JSON: line 1 column 2: expected a key in double quotes\",\"kind\":1}");
    check(engine, "u", "{\"do\":\"bad\",\"with\":\"{\\\"code\\\":true}\"}",
          "{\"of\":\"bad\",\"type\":\"TransactionError\",\"message\":\"transaction bad returned "
          "-6\",\"kind\":1}");
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"1000,0\",\"moves\":0}]}");
    dur_close(engine);
}

Test(transaction, only_the_programs_tables, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    check(engine, "w", "{\"do\":\"hostile\"}", "{\"code\":0,\"value\":27}");
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"1000,0\",\"moves\":0}]}");
    dur_close(engine);
}

Test(transaction, values_come_and_go_as_json, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    check(engine, "w",
          "{\"do\":\"values\",\"with\":\"[null,9007199254740993,0.5,true,\\\"t\\\",{\\\"a\\\":[1]}]"
          "\"}",
          "{\"code\":0,\"value\":[{\"n\":null,\"i\":9007199254740993,\"r\":0.5,\"b\":1,\"t\":\"t\","
          "\"j\":\"{\\\"a\\\":[1]}\",\"blob\":\"AP8=\",\"type\":\"integer\"}]}");
    dur_close(engine);
}

Test(transaction, sql_that_rolls_back_costs_a_turn_not_the_engine, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    check(engine, "w", "{\"do\":\"spoil\"}",
          "{\"of\":\"spoil\",\"type\":\"TransactionLost\",\"message\":\"a statement ended the "
          "engine's transaction: ROLLBACK is not for transactions, ABORT is\",\"kind\":1}");
    cr_assert_eq(atomic_load(&calls), 1);
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"1000,0\",\"moves\":0}]}");
    dur_close(engine);
}

Test(transaction, only_the_one_that_rolled_back_is_blamed, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "second", "w", NULL, NULL), DUR_OK);
    serve_until_idle(engine);
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "\"TransactionLost\"");
    dur_free(result);
    check_history(engine, "w");
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"999,1\",\"moves\":1}]}");
    dur_close(engine);
}

Test(transaction, a_task_that_leaves_no_trace_leaves_no_sql, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    atomic_store(&park_first, 1);
    cr_assert_eq(
        dur_start(engine, "one", "w", "{\"do\":\"transfer\",\"with\":\"{\\\"cents\\\":1}\"}", NULL),
        DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(is_parked(engine, "w"));
    serve_end(engine, thread);
    cr_assert_eq(atomic_load(&calls), 1);
    atomic_store(&park_first, 0); /* mended */
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"999,1\",\"moves\":1}]}");
    cr_assert_eq(atomic_load(&calls), 2);
    check_history(engine, "w");
    dur_close(engine);
}

Test(transaction, an_unknown_one_parks_the_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    cr_assert_eq(dur_start(engine, "one", "w", "{\"do\":\"nobody\"}", NULL), DUR_OK);
    pthread_t thread = serve_begin(engine);
    wait_until(is_parked(engine, "w"));
    serve_end(engine, thread);
    cr_assert(log_has("transaction nobody is not registered"));
    cr_assert_eq(dur_register_transaction(engine, "transfer", transfer, NULL), DUR_INVALID);
    cr_assert_eq(dur_register_transaction(engine, "", transfer, NULL), DUR_INVALID);
    cr_assert_eq(dur_register_transaction(engine, "x", NULL, NULL), DUR_INVALID);
    dur_close(engine);
}

/* Killed at moments of its own choosing, again and again: each step happened once. */
Test(transaction, exactly_once_under_kills, .timeout = 120)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_bank(path);
    cr_assert_eq(dur_start(engine, "steps", "w", NULL, NULL), DUR_OK);
    for (int round = 0; round < 12; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            dur_engine *mine = open_bank(path);
            dur_serve(mine, DUR_UNTIL_STOPPED);
            _exit(0);
        }
        int64_t before = events_of(engine, "w");
        int64_t until = clock_mono_ns() + 300 * NS_PER_MS;
        while (events_of(engine, "w") <= before + round % 5 && clock_mono_ns() < until) {
            clock_sleep_ms(1);
        }
        kill_child(pid);
    }
    serve_until_idle(engine);
    char *result = NULL;
    cr_assert_eq(dur_result(engine, "w", 0, &result), DUR_OK, "%s", dur_error(engine));
    cr_assert_str_eq(result, "[{\"name\":\"ann\",\"cents\":900},{\"name\":\"bob\",\"cents\":100}]");
    dur_free(result);
    check_history(engine, "w");
    check(engine, "x", "{\"do\":\"look\"}",
          "{\"code\":0,\"value\":[{\"cents\":\"900,100\",\"moves\":10}]}");
    dur_close(engine);
}

/* Writes and syncs that fail once, each in its turn: what was not committed comes again, whole. */
Test(transaction, exactly_once_under_a_failing_disk, .timeout = 120)
{
    fault_disk_register();
    for (int mode = FAULT_EIO; mode <= FAULT_FULL; mode++) {
        for (int at = 1; at <= 60; at += mode == FAULT_EIO ? 7 : 11) {
            autofree char *path = temp_path("e.db");
            dur_engine *engine = open_with(
                path, (dur_options){.schema_name = "bank", .schema = schema, .vfs = "fault"});
            cr_assert_eq(dur_start(engine, "steps", "w", NULL, NULL), DUR_OK);
            fault_disk_plan(&(struct fault_plan){.mode = (enum fault_mode)mode, .at = at});
            serve_until_idle(engine);
            fault_disk_plan(NULL);
            check_history(engine, "w");
            check(engine, "x", "{\"do\":\"look\"}",
                  "{\"code\":0,\"value\":[{\"cents\":\"900,100\",\"moves\":10}]}");
            dur_close(engine);
        }
    }
}
