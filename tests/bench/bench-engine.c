/*
 * bench-engine.c - how near the engine comes to the disk: figures against baselines of the same
 * run.
 *
 *   raw_commits            one-row fsynced commits per second, plain SQLite, same pragmas
 *   sequential             activities per second of one run, one after the other
 *   sequential_ratio       the two divided
 *   commits_per_activity   of one run, counted at the VFS, start and end of the run included
 *   group_N, ceiling_N     N concurrent runs, against N steps of 2 rows + head update a commit
 * Every figure is the median of five rounds, baseline and engine in turns.
 * Usage: bench-engine [DIRECTORY [GROUP]]; default: a directory of its own in the current one (real
 * disk). GROUP: only the figures of so many concurrent runs, for a profiler.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "selftest/fault_disk.h"

#define RAW_COMMITS 1500
#define SEQUENTIAL 1500
#define ROUNDS 5
#define COUNTED 500
#define PAYLOAD_BYTES 100

static char payload[PAYLOAD_BYTES + 3];

/* --- baselines --- */

static void must(int rc, sqlite3 *db)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW) {
        fprintf(stderr, "bench-engine: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

static sqlite3 *open_raw(const char *path)
{
    sqlite3 *db = NULL;
    must(sqlite3_open(path, &db), db);
    must(sqlite3_exec(db,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                      "CREATE TABLE event (run INTEGER, id INTEGER, data TEXT,"
                      " PRIMARY KEY (run, id)) STRICT, WITHOUT ROWID;"
                      "CREATE TABLE head (run INTEGER PRIMARY KEY, id INTEGER) STRICT;",
                      NULL, NULL, NULL),
         db);
    return db;
}

static void put_row(sqlite3_stmt *stmt, long long run, long long id)
{
    sqlite3_bind_int64(stmt, 1, run);
    sqlite3_bind_int64(stmt, 2, id);
    sqlite3_bind_text(stmt, 3, payload, -1, SQLITE_STATIC);
    must(sqlite3_step(stmt), sqlite3_db_handle(stmt));
    sqlite3_reset(stmt);
}

static double per_second(long long count, int64_t since_ns)
{
    return (double)count * 1e9 / (double)(clock_mono_ns() - since_ns);
}

static double raw_commits(const char *path)
{
    sqlite3_stmt *insert;
    sqlite3 *db = open_raw(path);
    must(sqlite3_prepare_v2(db, "INSERT INTO event VALUES (?,?,?)", -1, &insert, NULL), db);
    int64_t start = clock_mono_ns();
    for (int i = 0; i < RAW_COMMITS; i++) {
        must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), db);
        put_row(insert, 1, i);
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
    }
    double rate = per_second(RAW_COMMITS, start);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return rate;
}

static double group_ceiling(const char *path, int runs, int steps)
{
    sqlite3_stmt *insert, *head;
    sqlite3 *db = open_raw(path);
    must(sqlite3_prepare_v2(db, "INSERT INTO event VALUES (?,?,?)", -1, &insert, NULL), db);
    must(sqlite3_prepare_v2(db, "INSERT INTO head VALUES (?,?) ON CONFLICT DO UPDATE SET id=?2", -1,
                            &head, NULL),
         db);
    int64_t start = clock_mono_ns();
    for (int step = 0; step < steps; step++) {
        must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), db);
        for (int run = 0; run < runs; run++) {
            put_row(insert, run, 2 * step);
            put_row(insert, run, 2 * step + 1);
            sqlite3_bind_int64(head, 1, run);
            sqlite3_bind_int64(head, 2, step);
            must(sqlite3_step(head), db);
            sqlite3_reset(head);
        }
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
    }
    double rate = per_second((long long)runs * steps, start);
    sqlite3_finalize(insert);
    sqlite3_finalize(head);
    sqlite3_close(db);
    return rate;
}

/* --- the engine --- */

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)user;
    *result = payload;
    return DUR_OK;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t count = dur_json_int(input, "", 0);
    (void)result;
    (void)user;
    for (int64_t i = 0; i < count; i++) {
        int rc = dur_run(ctx, "echo", payload, NULL, NULL);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    return DUR_OK;
}

static double engine_rate(const char *path, const char *vfs, int runs, int count)
{
    dur_engine *engine;
    char input[32];
    snprintf(input, sizeof(input), "%d", count);
    dur_options options = {.reserve_bytes = -1, .vfs = vfs};
    int rc = dur_open(&engine, path, &options);
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "steps", steps, NULL);
    dur_lane(engine, "default", runs);
    for (int i = 0; i < runs && rc == DUR_OK; i++) {
        char id[32];
        snprintf(id, sizeof(id), "run-%d", i);
        rc = dur_start(engine, "steps", id, input, NULL);
    }
    int64_t start = clock_mono_ns();
    if (rc == DUR_OK) {
        rc = dur_serve(engine, DUR_UNTIL_IDLE);
    }
    double rate = per_second((long long)runs * count, start);
    if (rc != DUR_OK) {
        fprintf(stderr, "bench-engine: %s\n", dur_error(engine));
        exit(1);
    }
    dur_close(engine);
    return rate;
}

/* --- rounds: baseline and engine in turns, so that a noisy neighbour hits both -------------------
 */

struct rounds {
    double base[ROUNDS], ours[ROUNDS], ratio[ROUNDS];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof(values[0]), by_value);
    return values[ROUNDS / 2];
}

static void print_rounds(struct rounds *r, const char *base, const char *ours, const char *ratio,
                         const char *unit)
{
    for (int i = 0; i < ROUNDS; i++) {
        r->ratio[i] = r->ours[i] / r->base[i];
    }
    printf("figure %s %.0f %s/s\n", base, median(r->base), unit);
    printf("figure %s %.0f activities/s\n", ours, median(r->ours));
    printf("figure %s %.3f ratio\n", ratio, median(r->ratio));
}

static void group_figures(const char *root, int runs)
{
    struct rounds r;
    char names[3][32];
    int count = 8000 / runs < 500 ? 8000 / runs : 500;
    for (int i = 0; i < ROUNDS; i++) {
        autofree char *ceiling_path = mem_printf("%s/ceiling-%d-%d.db", root, runs, i);
        autofree char *group_path = mem_printf("%s/group-%d-%d.db", root, runs, i);
        r.base[i] = group_ceiling(ceiling_path, runs, count);
        r.ours[i] = engine_rate(group_path, NULL, runs, count);
    }
    snprintf(names[0], sizeof(names[0]), "ceiling_%d", runs);
    snprintf(names[1], sizeof(names[1]), "group_%d", runs);
    snprintf(names[2], sizeof(names[2]), "group_ratio_%d", runs);
    print_rounds(&r, names[0], names[1], names[2], "steps");
}

static void sequential_figures(const char *root)
{
    struct fault_counts counts;
    struct rounds r;
    autofree char *counted_path = mem_printf("%s/counted.db", root);
    for (int i = 0; i < ROUNDS; i++) {
        autofree char *raw_path = mem_printf("%s/raw-%d.db", root, i);
        autofree char *engine_path = mem_printf("%s/engine-%d.db", root, i);
        r.base[i] = raw_commits(raw_path);
        r.ours[i] = engine_rate(engine_path, NULL, 1, SEQUENTIAL);
    }
    print_rounds(&r, "raw_commits", "sequential", "sequential_ratio", "commits");
    fault_disk_register();
    dur_engine *engine;
    dur_options options = {.reserve_bytes = -1};
    dur_open(&engine, counted_path, &options);
    dur_close(engine);
    fault_disk_plan(NULL);
    engine_rate(counted_path, "fault", 1, COUNTED);
    fault_disk_counts(&counts);
    printf("figure commits_per_activity %.3f commits\n", (double)counts.wal_syncs / COUNTED);
}

int main(int argc, char **argv)
{
    static const int groups[] = {1, 8, 32, 128};
    char dir[] = "bench-XXXXXX";
    const char *root = argc > 1 ? argv[1] : mkdtemp(dir);
    memset(payload, 'x', sizeof(payload) - 1);
    payload[0] = payload[PAYLOAD_BYTES + 1] = '"';
    int only = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (!only) {
        sequential_figures(root);
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (!only) {
            group_figures(root, groups[i]);
        }
    }
    if (only) {
        group_figures(root, only);
    }
    if (argc <= 1) {
        fs_remove_tree(root, NULL);
    }
    return 0;
}
