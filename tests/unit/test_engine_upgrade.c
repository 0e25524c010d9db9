/*
 * test_engine_upgrade.c - a store of the first released schema, brought up to date, served, and
 * taken back.
 */
#include "tests/lib/engine_fixture.h"
#include "tests/lib/sql.h"

#include "engine/upgrade.h"

TestSuite(engine_upgrade, .timeout = 120);

/* --- the code whose runs the golden store holds -------------------------------------------------
 */

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int order(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *paid;
    (void)user;
    int rc = dur_run(ctx, "Echo", input, result, NULL);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "paid", -1, &paid);
    }
    return rc ? rc : dur_run(ctx, "Echo", paid, result, NULL);
}

static int sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int way = dur_code_version(ctx, "way", -1, 1);
    int rc = dur_sleep(ctx, 60);
    *result = dur_ctx_jsonf(ctx, "%d", way);
    return rc;
}

static int flaky(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Down", input, result, NULL);
}

static int plain(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)dur_upsert_memo(ctx, "{\"step\":\"echo\"}");
    return dur_run(ctx, "Echo", input, result, NULL);
}

static void fixture_register(dur_engine *engine)
{
    cr_assert_eq(dur_register_activity(engine, "Echo", echo, NULL), DUR_OK);
    cr_assert_eq(dur_register_activity(engine, "Down", echo, NULL), DUR_OK);
    cr_assert_eq(dur_register_workflow(engine, "Order", order, NULL), DUR_OK);
    cr_assert_eq(dur_register_workflow(engine, "Sleeper", sleeper, NULL), DUR_OK);
    cr_assert_eq(dur_register_workflow(engine, "Flaky", flaky, NULL), DUR_OK);
    cr_assert_eq(dur_register_workflow(engine, "Plain", plain, NULL), DUR_OK);
}

/* --- stores -------------------------------------------------------------------------------------
 */

static char *old_store(void)
{
    const char *top = getenv("abs_top_srcdir");
    autofree char *dump = mem_printf("%s/tests/golden/store-0001.dump", top ? top : ".");
    autostr struct str sql = {0};
    struct err err = {0};
    char *path = temp_path("old.db");
    cr_assert_eq(fs_read_file(dump, 1 << 20, &sql, &err), 0, "%s", err.text);
    sql_run(path, str_c(&sql));
    sql_run(path, "PRAGMA journal_mode = WAL");
    return path;
}

static struct upgrade_levels levels_of(const char *path)
{
    struct upgrade_levels levels;
    struct err err = {0};
    cr_assert_eq(upgrade_look(path, &(dur_options){0}, &levels, &err), 0, "%s", err.text);
    return levels;
}

static void upgrade(const char *path)
{
    struct err err = {0};
    autofree char *copy = NULL;
    cr_assert_eq(upgrade_apply(path, &(dur_options){0}, &copy, &err), 0, "%s", err.text);
    cr_assert(fs_exists(copy));
    cr_assert_eq(sql_ask(copy, "PRAGMA user_version"), 1);
}

static void finish_runs(const char *path)
{
    char *result = NULL;
    dur_engine *engine = open_engine(path);
    cr_assert_eq(dur_signal(engine, "order-42", "paid", "\"cash\""), DUR_OK);
    cr_assert_eq(dur_cancel(engine, "flaky-1", NULL), DUR_OK);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK);
    cr_assert_eq(dur_result(engine, "order-42", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "\"cash\"");
    dur_free(result);
    cr_assert_eq(dur_result(engine, "sleeper-1", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "1");
    dur_free(result);
    cr_assert_eq(dur_result(engine, "waiting-1", 0, &result), DUR_OK);
    cr_assert_str_eq(result, "\"never served\"");
    dur_free(result);
    cr_assert_eq(dur_result(engine, "flaky-1", 0, &result), DUR_CANCELLED);
    dur_close(engine);
}

/* --- tests --------------------------------------------------------------------------------------
 */

Test(engine_upgrade, an_older_store_is_refused_when_asked)
{
    autofree char *path = old_store();
    dur_engine *engine;
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.no_migrate = 1}), DUR_OLDER);
    cr_assert(strstr(dur_error(engine), "older version"), "%s", dur_error(engine));
    dur_close(engine);
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.read_only = 1}), DUR_OLDER);
    dur_close(engine);
    cr_assert_eq(levels_of(path).engine_has, 1);
}

Test(engine_upgrade, its_runs_go_on_after_the_upgrade)
{
    autofree char *path = old_store();
    upgrade(path);
    cr_assert_eq(levels_of(path).engine_has, levels_of(path).engine_knows);
    cr_assert_eq(sql_ask(path, "SELECT count(*) FROM runs WHERE status = 'Running'"), 4);
    finish_runs(path);
}

Test(engine_upgrade, dur_open_upgrades_by_itself)
{
    autofree char *path = old_store();
    autofree char *copy = mem_printf("%s.before-1", path);
    dur_close(open_engine(path));
    cr_assert(fs_exists(copy));
    finish_runs(path);
}

Test(engine_upgrade, the_way_back_and_up_again)
{
    autofree char *path = old_store();
    struct err err = {0};
    autostr struct str needs = {0};
    autofree char *copy = NULL;
    upgrade(path);
    int64_t events = sql_ask(path, "SELECT count(*) FROM event");
    cr_assert_eq(upgrade_back(path, &(dur_options){0}, &needs, &copy, &err), 0, "%s %s", err.text,
                 str_c(&needs));
    cr_assert(fs_exists(copy));
    cr_assert_eq(sql_ask(path, "PRAGMA user_version"), 1);
    cr_assert_eq(sql_ask(path, "SELECT count(*) FROM migration"), 1);
    cr_assert_eq(sql_ask(path, "SELECT count(*) FROM event"), events);
    cr_assert_eq(sql_ask(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    upgrade(path);
    finish_runs(path);
}

/* Tables, columns, indices, views and triggers are those that version 0.1.0 made. */
Test(engine_upgrade, the_way_back_leaves_the_very_schema)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT name FROM sqlite_schema EXCEPT "
                              "SELECT name FROM old.sqlite_schema)";
    autofree char *path = old_store();
    autofree char *old = old_store();
    autostr struct str needs = {0};
    autofree char *copy = NULL;
    struct err err = {0};
    upgrade(path);
    cr_assert_eq(upgrade_back(path, &(dur_options){0}, &needs, &copy, &err), 0, "%s", err.text);
    autofree char *attach = mem_printf("ATTACH '%s' AS old", old);
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    cr_assert_eq(sqlite3_column_int(stmt, 0), 0);
    sqlite3_finalize(stmt);
    cr_assert_eq(
        sqlite3_prepare_v2(db,
                           "SELECT count(*) FROM (SELECT m.name, c.name FROM sqlite_schema AS m, "
                           "pragma_table_info(m.name) AS c EXCEPT SELECT m.name, c.name FROM "
                           "old.sqlite_schema AS m, pragma_table_info(m.name, 'old') AS c)",
                           -1, &stmt, NULL),
        SQLITE_OK);
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    cr_assert_eq(sqlite3_column_int(stmt, 0), 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

#define OPEN_RUN "(SELECT id FROM execution WHERE workflow_id = 'order-42')"
#define EVENT(type, attributes)                                                                    \
    "INSERT INTO event_batch (execution, first_event_id, last_event_id, history_bytes, time_ns, "  \
    "events) VALUES (" OPEN_RUN ", 99, 99, 1, 1, '[[" type ",0," attributes "]]')"

static const struct {
    const char *plant;
    const char *line;
} needing[] = {
    {"UPDATE execution SET paused = 'tea' WHERE workflow_id = 'order-42'",
     "run order-42 is paused\n"},
    {"UPDATE execution SET first_task_ns = 5 WHERE workflow_id = 'order-42'",
     "run order-42 waits for its first workflow task\n"},
    {"UPDATE execution SET parent = 1 WHERE workflow_id = 'order-42'",
     "run order-42 is a child of another run\n"},
    {"UPDATE execution SET first_run_id = 'r' WHERE workflow_id = 'order-42'",
     "run order-42 follows another run of its chain\n"},
    {EVENT("41", "null"), "run order-42 has events that the version before cannot replay: "
                          "WorkflowExecutionUpdateAccepted\n"},
    {EVENT("25", "{\"markerName\":\"core_patch\"}"),
     "run order-42 has events that the version before cannot replay: MarkerRecorded\n"},
    {EVENT("40", "{\"searchAttributes\":{\"City\":\"Oslo\"}}"),
     "run order-42 has events that the version before cannot replay: "
     "UpsertWorkflowSearchAttributes\n"},
    {"INSERT INTO run_update (execution, update_id, state, created_ns, name) VALUES (" OPEN_RUN
     ", 'u1', 1, 1, 'set')",
     "run order-42 has the update u1 to answer\n"},
    {"UPDATE activity SET is_async = 1", "run flaky-1 waits for the outcome of Down by token\n"},
    {"UPDATE activity SET queued_ns = 1",
     "run flaky-1 has an activity that waits in a queue with limits\n"},
    {"INSERT INTO task_queue VALUES ('gpu', 1, 0, 1, 0, 0, 0)", "the task queue gpu has limits\n"},
    {"INSERT INTO schedule (name, definition, created_ns, changed_ns, cursor_ns, nominal_ns) "
     "VALUES ('nightly', '{}', 1, 1, 1, 2)",
     "the schedule nightly starts runs\n"},
    {"INSERT INTO sealing_key VALUES ('k1', 'proof', 1)", "payloads are sealed with the key k1\n"},
};

Test(engine_upgrade, what_needs_the_new_schema_stops_the_way_back)
{
    for (size_t i = 0; i < sizeof(needing) / sizeof(needing[0]); i++) {
        autofree char *path = old_store();
        struct err err = {0};
        autostr struct str needs = {0};
        autofree char *copy = NULL;
        upgrade(path);
        sql_run(path, needing[i].plant);
        cr_assert_eq(upgrade_back(path, &(dur_options){0}, &needs, &copy, &err), 1, "%s",
                     needing[i].plant);
        cr_assert_str_eq(str_c(&needs), needing[i].line);
        cr_assert_eq(levels_of(path).engine_has, levels_of(path).engine_knows);
    }
}

Test(engine_upgrade, a_served_store_is_left_alone)
{
    autofree char *path = old_store();
    struct err err = {0};
    autofree char *copy = NULL;
    upgrade(path);
    dur_engine *engine = open_engine(path);
    pthread_t thread = serve_begin(engine);
    while (!dur_served_by(engine, NULL)) {
        clock_sleep_ms(1);
    }
    autostr struct str needs = {0};
    cr_assert_lt(upgrade_back(path, &(dur_options){0}, &needs, &copy, &err), 0);
    cr_assert_str_eq(err.name, "Served", "%s", err.text);
    dur_stop(engine);
    pthread_join(thread, NULL);
    dur_close(engine);
}
