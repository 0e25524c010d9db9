/*
 * test_selftest_sweep.c - selftest/sweep: every point once, in the same order for a seed; harm of
 * each kind is counted and told; nothing outlives a sweep that is stopped.
 *
 * The subject is a toy: a table of SQLite with a row for each acknowledged step.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "selftest/sweep.h"
#include "tests/lib/temp_path.h"

#define STEPS 4

/* What the toy's judge is to say, whatever it finds; or how the toy itself fails. */
enum toy {
    HONEST,
    SAYS_LOST,
    SAYS_CORRUPT,
    SAYS_BROKEN,
    SAYS_DIFFERS,
    SAYS_STUCK,
    JUDGE_CRASHES,
    JUDGE_EXITS,
    JUDGE_HANGS,
    PLAY_GIVES_UP,
    LEARN_FAILS,
};

struct board {
    int acked;
};

static int play(const struct sweep_stage *stage)
{
    struct board *board = stage->board;
    sqlite3 *db = NULL;
    int rc = SQLITE_ERROR;
    autofree char *path = fs_join(stage->dir, "toy.db");
    for (int tries = 0; tries < 5; tries++) { /* an error that passes must not end it */
        sqlite3_close(db);
        rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, stage->vfs);
        if (rc != SQLITE_OK) {
            continue;
        }
        rc = sqlite3_exec(db,
                          "PRAGMA synchronous = EXTRA;"
                          "CREATE TABLE IF NOT EXISTS t (i INTEGER PRIMARY KEY)",
                          NULL, NULL, NULL);
        if (rc == SQLITE_OK) {
            break;
        }
    }
    for (int step = 1; step <= STEPS && rc == SQLITE_OK; step++) {
        char sql[64];
        snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO t VALUES (%d)", step);
        for (int tries = 0; tries < 5; tries++) {
            rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
            if (rc == SQLITE_OK) {
                break;
            }
        }
        board->acked = rc == SQLITE_OK ? step : board->acked;
    }
    sqlite3_close(db);
    sweep_say(stage, "SQLite says %d", rc);
    return rc == SQLITE_OK && *(const enum toy *)stage->user != PLAY_GIVES_UP ? 0 : -1;
}

static int learn(const struct sweep_stage *stage)
{
    enum toy toy = *(const enum toy *)stage->user;
    enum toy honest = HONEST;
    struct sweep_stage good = *stage;
    good.user = &honest;
    return toy == LEARN_FAILS ? -1 : play(&good);
}

static enum sweep_harm judge(const struct sweep_stage *stage)
{
    enum toy toy = *(const enum toy *)stage->user;
    const struct board *board = stage->board;
    int acked = board->acked;
    if (toy == JUDGE_CRASHES) {
        raise(SIGKILL);
    } else if (toy == JUDGE_EXITS) {
        _exit(1);
    } else if (toy == JUDGE_HANGS) {
        clock_sleep_ms(60000);
    } else if (toy >= SAYS_LOST && toy <= SAYS_STUCK) {
        sweep_say(stage, "as told");
        return (enum sweep_harm)(SWEEP_LOST + (toy - SAYS_LOST));
    }
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    autofree char *path = fs_join(stage->dir, "toy.db");
    int rows = 0;
    sqlite3_open(path, &db);
    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        rows = sqlite3_column_int(stmt, 0);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    sweep_say(stage, "%d of %d", rows, acked);
    return rows >= acked ? SWEEP_GOOD : SWEEP_LOST;
}

static char *dir;

static void set_up(void)
{
    autofree char *path = temp_path("x");
    dir = fs_dirname(path);
}

static void tear_down(void)
{
    cr_expect_eq(rmdir(dir), 0, "something was left in %s", dir);
    fs_remove_tree(dir, NULL);
    free(dir);
}

TestSuite(selftest_sweep, .init = set_up, .fini = tear_down, .timeout = 300);

static int sweep(enum toy toy, struct sweep_options options, struct sweep_table *table,
                 struct err *err)
{
    struct sweep_subject subject = {.board_bytes = sizeof(struct board),
                                    .learn = learn,
                                    .play = play,
                                    .judge = judge,
                                    .user = &toy};
    options.dir = dir;
    return sweep_run(&subject, &options, table, err);
}

Test(selftest_sweep, every_point_is_tried_once)
{
    struct err err = {0};
    struct sweep_table table;
    cr_assert_eq(sweep(HONEST, (struct sweep_options){.faults = SWEEP_ALL_FAULTS}, &table, &err), 0,
                 "%s", err.text);
    struct sweep_row sum = sweep_sum(&table);
    autostr struct str text = {0};
    sweep_print(&text, &table);
    cr_expect_eq(sum.points, table.operations * (FAULT_MODES - 1));
    cr_expect_eq(sum.points, table.total);
    cr_expect_eq(sum.unreached, 0);
    cr_expect_eq(sweep_harmed(&table), 0, "%s", str_c(&text));
    for (int mode = FAULT_NONE + 1; mode < FAULT_MODES; mode++) {
        cr_expect_eq(table.rows[mode].points, table.operations);
        bool kills = mode != FAULT_EIO && mode != FAULT_FULL;
        cr_expect_eq(table.rows[mode].died, kills ? table.operations : 0, "%s",
                     fault_disk_mode_name((enum fault_mode)mode));
    }
}

Test(selftest_sweep, a_sample_has_its_size_and_spreads)
{
    struct err err = {0};
    struct sweep_table table;
    struct sweep_options options = {.faults = SWEEP_PROCESS_FAULTS, .points = 15, .seed = 4};
    cr_assert_eq(sweep(HONEST, options, &table, &err), 0, "%s", err.text);
    cr_expect_eq(sweep_sum(&table).points, 15);
    for (int mode = FAULT_KILL_BEFORE; mode <= FAULT_FULL; mode++) {
        cr_expect_eq(table.rows[mode].points, 3, "%s", fault_disk_mode_name((enum fault_mode)mode));
    }
}

Test(selftest_sweep, harm_is_counted_and_told)
{
    for (int toy = SAYS_LOST; toy <= SAYS_STUCK; toy++) {
        struct err err = {0};
        struct sweep_table table;
        struct sweep_options options = {.faults = 1U << FAULT_KILL_AFTER, .points = 2};
        autostr struct str text = {0};
        int harm = SWEEP_LOST + (toy - SAYS_LOST);
        cr_assert_eq(sweep((enum toy)toy, options, &table, &err), 0, "%s", err.text);
        cr_expect_eq(sweep_sum(&table).harm[harm], 2);
        cr_expect_eq(sweep_harmed(&table), 2);
        sweep_print(&text, &table);
        cr_expect(strstr(str_c(&text), "as told"), "%s", str_c(&text));
        cr_expect(strstr(str_c(&text), sweep_harm_name((enum sweep_harm)harm)));
    }
}

Test(selftest_sweep, processes_that_fail_are_harm_too)
{
    static const struct {
        enum toy toy;
        enum fault_mode mode;
        enum sweep_harm harm;
    } cases[] = {{JUDGE_CRASHES, FAULT_KILL_AFTER, SWEEP_BROKEN},
                 {JUDGE_EXITS, FAULT_KILL_AFTER, SWEEP_BROKEN},
                 {JUDGE_HANGS, FAULT_KILL_AFTER, SWEEP_STUCK},
                 {PLAY_GIVES_UP, FAULT_EIO, SWEEP_STUCK}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct sweep_table table;
        struct sweep_options options = {.faults = 1U << cases[i].mode, .points = 2, .play_ms = 300};
        cr_assert_eq(sweep(cases[i].toy, options, &table, &err), 0, "%s", err.text);
        cr_expect_eq(sweep_sum(&table).harm[cases[i].harm], 2, "case %zu", i);
        cr_expect_neq(table.findings[0].why[0], '\0');
    }
}

Test(selftest_sweep, an_undisturbed_play_must_end_well)
{
    struct err err = {0};
    struct sweep_table table;
    cr_assert_lt(sweep(LEARN_FAILS, (struct sweep_options){.faults = 2}, &table, &err), 0);
    cr_expect_str_eq(err.name, "SweepPlay");
}

static bool stop_soon(void *user, const struct sweep_table *so_far)
{
    (void)user;
    return sweep_sum(so_far).points > 3;
}

Test(selftest_sweep, it_stops_when_told)
{
    struct err err = {0};
    struct sweep_table table;
    struct sweep_options options = {.faults = SWEEP_ALL_FAULTS, .progress = stop_soon};
    cr_assert_eq(sweep(HONEST, options, &table, &err), 0, "%s", err.text);
    cr_expect(table.stopped);
    cr_expect_lt(sweep_sum(&table).points, table.total);
}
