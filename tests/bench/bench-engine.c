/*
 * bench-engine.c - how near the engine comes to the disk: figures against baselines of the same
 * run.
 *
 *   raw_commits            one-row fsynced commits per second, plain SQLite, same pragmas
 *   sequential             activities per second of one run, one after the other
 *   sequential_ratio       the two divided
 *   commits_per_activity   of one run, counted at the VFS, start and end of the run included
 *   wal_frames_per_activity      pages of 4 KiB that one activity writes to the WAL
 *   journal_bytes_per_activity   what the database grew by, divided by the activities of one run
 *   group_N, ceiling_N     N concurrent runs, against N steps of 2 rows + head update a commit
 *   group_10k, ceiling_10k 32 runs, the same with 10 kB to each activity and 10 kB back
 *   slow_Nms_128, slow_Nms_ceiling   128 runs on a disk whose every sync takes N ms longer, against
 *                          one commit of 128 steps at a time there
 *   slow_Nms_p50_ms, _p99_ms   from one activity of such a run to its next, start to start
 *   slow_Nms_lone, slow_Nms_raw      one run alone there, against one-row commits: it never waits
 *                          for others
 *   at_N_rate, at_N_p50_ms, at_N_p99_ms, at_N_rss_mib   of N concurrent runs, 1 to 10000, only when
 *                          asked for: GROUP "curve" (`make bench-plots`)
 * Every figure is the median of five rounds (of three on slow disks), baseline and engine in turns.
 * Usage: bench-engine [DIRECTORY [GROUP]]; default: a directory of its own in the current one (real
 * disk). GROUP: only the figures of so many concurrent runs, or "10k", "5ms", "150ms"; for a
 * profiler.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "selftest/fault_disk.h"

#define RAW_COMMITS 1500
#define SEQUENTIAL 1500
#define ROUNDS 5
#define SLOW_ROUNDS 3
#define COUNTED 500
#define PAYLOAD_BYTES 100
#define BIG_PAYLOAD_BYTES 10000
#define BIG_RUNS 32
#define SLOW_RUNS 128
#define MOST_RUNS 10000
#define MOST_SLOTS 1024

static char payload[BIG_PAYLOAD_BYTES + 3];

static void set_payload(size_t bytes)
{
    memset(payload, 'x', bytes + 1);
    payload[0] = payload[bytes + 1] = '"';
    payload[bytes + 2] = '\0';
}

/* --- baselines --- */

static void must(int rc, sqlite3 *db)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW) {
        fprintf(stderr, "bench-engine: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

static sqlite3 *open_raw(const char *path, const char *vfs)
{
    sqlite3 *db = NULL;
    must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs), db);
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

static double raw_commits(const char *path, const char *vfs, int count)
{
    sqlite3_stmt *insert;
    sqlite3 *db = open_raw(path, vfs);
    must(sqlite3_prepare_v2(db, "INSERT INTO event VALUES (?,?,?)", -1, &insert, NULL), db);
    int64_t start = clock_mono_ns();
    for (int i = 0; i < count; i++) {
        must(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), db);
        put_row(insert, 1, i);
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
    }
    double rate = per_second(count, start);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return rate;
}

static double group_ceiling(const char *path, const char *vfs, int runs, int steps)
{
    sqlite3_stmt *insert, *head;
    sqlite3 *db = open_raw(path, vfs);
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

/* When each run began an activity; a run has one thread at a time. */
struct latencies {
    int64_t began_ns[MOST_RUNS];
    double *ms; /* runs x steps, in any order */
    _Atomic int count;
    int cap;
};

struct load {
    int runs, steps;
    const char *vfs;
    int64_t sync_ns;
    struct latencies *latencies;
};

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    struct latencies *latencies = user;
    (void)input;
    *result = payload;
    if (latencies) {
        long run = strtol(dur_activity_workflow_id(act) + strlen("run-"), NULL, 10);
        int64_t now = clock_mono_ns();
        int64_t since = latencies->began_ns[run];
        latencies->began_ns[run] = now;
        int at = since ? latencies->count++ : latencies->cap;
        if (at < latencies->cap) {
            latencies->ms[at] = (double)(now - since) / 1e6;
        }
    }
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

/* Activities a second. sync_ns: on the VFS "fault", how much longer a sync takes; not while the
 * runs are started. */
static double engine_rate(const char *path, const struct load *load)
{
    int runs = load->runs;
    dur_engine *engine;
    char input[32];
    snprintf(input, sizeof(input), "%d", load->steps);
    dur_options options = {.reserve_bytes = -1, .vfs = load->vfs, .max_cached_runs = 2 * MOST_RUNS};
    int rc = dur_open(&engine, path, &options);
    dur_register_activity(engine, "echo", echo, load->latencies);
    dur_register_workflow(engine, "steps", steps, NULL);
    dur_lane(engine, "default", runs < MOST_SLOTS ? runs : MOST_SLOTS);
    for (int i = 0; i < runs && rc == DUR_OK; i++) {
        char id[32];
        snprintf(id, sizeof(id), "run-%d", i);
        rc = dur_start(engine, "steps", id, input, NULL);
    }
    if (load->sync_ns > 0) {
        fault_disk_plan(&(struct fault_plan){.sync_ns = load->sync_ns});
    }
    int64_t start = clock_mono_ns();
    if (rc == DUR_OK) {
        rc = dur_serve(engine, DUR_UNTIL_IDLE);
    }
    double rate = per_second((long long)runs * load->steps, start);
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
    int count;
    double base[ROUNDS], ours[ROUNDS], ratio[ROUNDS];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts them. */
static double quantile(double *values, int count, double part)
{
    qsort(values, (size_t)count, sizeof(values[0]), by_value);
    return count ? values[(int)(part * (count - 1))] : 0;
}

static void print_rounds(struct rounds *r, const char *base, const char *ours, const char *ratio,
                         const char *unit)
{
    for (int i = 0; i < r->count; i++) {
        r->ratio[i] = r->ours[i] / r->base[i];
    }
    printf("figure %s %.0f %s/s\n", base, quantile(r->base, r->count, 0.5), unit);
    printf("figure %s %.0f activities/s\n", ours, quantile(r->ours, r->count, 0.5));
    printf("figure %s %.3f ratio\n", ratio, quantile(r->ratio, r->count, 0.5));
}

static void group_figures(const char *root, int runs, int most, const char *name)
{
    struct rounds r = {.count = ROUNDS};
    char names[3][32];
    int count = 8000 / runs < most ? 8000 / runs : most;
    for (int i = 0; i < ROUNDS; i++) {
        autofree char *ceiling_path = mem_printf("%s/ceiling-%s-%d.db", root, name, i);
        autofree char *group_path = mem_printf("%s/group-%s-%d.db", root, name, i);
        r.base[i] = group_ceiling(ceiling_path, NULL, runs, count);
        r.ours[i] = engine_rate(group_path, &(struct load){.runs = runs, .steps = count});
    }
    snprintf(names[0], sizeof(names[0]), "ceiling_%s", name);
    snprintf(names[1], sizeof(names[1]), "group_%s", name);
    snprintf(names[2], sizeof(names[2]), "group_ratio_%s", name);
    print_rounds(&r, names[0], names[1], names[2], "steps");
}

static void big_figures(const char *root)
{
    set_payload(BIG_PAYLOAD_BYTES);
    group_figures(root, BIG_RUNS, 40, "10k");
    set_payload(PAYLOAD_BYTES);
}

/* A disk whose syncs take so much longer. */
static void slow_figures(const char *root, int sync_ms, int count)
{
    struct rounds many = {.count = SLOW_ROUNDS}, lone = {.count = SLOW_ROUNDS};
    static struct latencies latencies;
    latencies.cap = SLOW_RUNS * count * SLOW_ROUNDS;
    latencies.count = 0;
    latencies.ms = mem_alloc(sizeof(double) * (size_t)latencies.cap);
    char names[3][32];
    struct load many_load = {SLOW_RUNS, count, "fault", sync_ms * NS_PER_MS, &latencies};
    struct load lone_load = {1, count, "fault", sync_ms * NS_PER_MS, NULL};
    fault_disk_register();
    for (int i = 0; i < SLOW_ROUNDS; i++) {
        autofree char *stem = mem_printf("%s/slow-%d-%d", root, sync_ms, i);
        autofree char *ceiling_path = mem_printf("%s-ceiling.db", stem);
        autofree char *many_path = mem_printf("%s-many.db", stem);
        autofree char *raw_path = mem_printf("%s-raw.db", stem);
        autofree char *lone_path = mem_printf("%s-lone.db", stem);
        fault_disk_plan(&(struct fault_plan){.sync_ns = sync_ms * NS_PER_MS});
        many.base[i] = group_ceiling(ceiling_path, "fault", SLOW_RUNS, count);
        lone.base[i] = raw_commits(raw_path, "fault", count);
        fault_disk_plan(NULL);
        memset(latencies.began_ns, 0, sizeof(latencies.began_ns));
        many.ours[i] = engine_rate(many_path, &many_load);
        fault_disk_plan(NULL);
        lone.ours[i] = engine_rate(lone_path, &lone_load);
    }
    fault_disk_plan(NULL);
    snprintf(names[0], sizeof(names[0]), "slow_%dms_ceiling", sync_ms);
    snprintf(names[1], sizeof(names[1]), "slow_%dms_128", sync_ms);
    snprintf(names[2], sizeof(names[2]), "slow_%dms_ratio", sync_ms);
    print_rounds(&many, names[0], names[1], names[2], "steps");
    printf("figure slow_%dms_p50_ms %.1f ms\n", sync_ms,
           quantile(latencies.ms, latencies.count, 0.5));
    printf("figure slow_%dms_p99_ms %.1f ms\n", sync_ms,
           quantile(latencies.ms, latencies.count, 0.99));
    snprintf(names[0], sizeof(names[0]), "slow_%dms_raw", sync_ms);
    snprintf(names[1], sizeof(names[1]), "slow_%dms_lone", sync_ms);
    snprintf(names[2], sizeof(names[2]), "slow_%dms_lone_ratio", sync_ms);
    print_rounds(&lone, names[0], names[1], names[2], "commits");
    free(latencies.ms);
}

static double resident_mib(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*d %lld", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return (double)pages * 4096 / (1 << 20);
}

/* What one point of the curve costs; in a process of its own for the sake of the memory. */
static void curve_point(const char *root, int runs)
{
    int steps = 20000 / runs < 1000 ? 20000 / runs : 1000;
    steps = steps < 5 ? 5 : steps;
    struct latencies *latencies = mem_alloc(sizeof(*latencies));
    struct load load = {runs, steps, NULL, 0, latencies};
    autofree char *path = mem_printf("%s/curve-%d.db", root, runs);
    latencies->cap = runs * steps;
    latencies->ms = mem_alloc(sizeof(double) * (size_t)latencies->cap);
    double rate = engine_rate(path, &load);
    int count = latencies->count < latencies->cap ? latencies->count : latencies->cap;
    printf("figure at_%d_rate %.0f activities/s\n", runs, rate);
    printf("figure at_%d_p50_ms %.3f ms\n", runs, quantile(latencies->ms, count, 0.5));
    printf("figure at_%d_p99_ms %.3f ms\n", runs, quantile(latencies->ms, count, 0.99));
    printf("figure at_%d_rss_mib %.1f MiB\n", runs, resident_mib());
    fflush(stdout);
    free(latencies->ms);
    free(latencies);
}

static void curve_figures(const char *root)
{
    static const int points[] = {1, 3, 10, 30, 100, 300, 1000, 3000, 10000};
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            curve_point(root, points[i]);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static int64_t bytes_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : 0;
}

/* Of one run, start and end included: at the VFS, and in the file. */
static void count_commits(const char *root)
{
    struct fault_counts counts;
    dur_engine *engine;
    dur_options options = {.reserve_bytes = -1};
    autofree char *path = mem_printf("%s/counted.db", root);
    fault_disk_register();
    dur_open(&engine, path, &options);
    dur_close(engine);
    int64_t before_bytes = bytes_of(path);
    fault_disk_plan(NULL);
    engine_rate(path, &(struct load){.runs = 1, .steps = COUNTED, .vfs = "fault"});
    fault_disk_counts(&counts);
    printf("figure commits_per_activity %.3f commits\n", (double)counts.wal_syncs / COUNTED);
    printf("figure wal_frames_per_activity %.2f pages\n", (double)counts.wal_frames / COUNTED);
    printf("figure journal_bytes_per_activity %.0f bytes\n",
           (double)(bytes_of(path) - before_bytes) / COUNTED);
}

static void sequential_figures(const char *root)
{
    struct rounds r = {.count = ROUNDS};
    for (int i = 0; i < ROUNDS; i++) {
        autofree char *raw_path = mem_printf("%s/raw-%d.db", root, i);
        autofree char *engine_path = mem_printf("%s/engine-%d.db", root, i);
        r.base[i] = raw_commits(raw_path, NULL, RAW_COMMITS);
        r.ours[i] = engine_rate(engine_path, &(struct load){.runs = 1, .steps = SEQUENTIAL});
    }
    print_rounds(&r, "raw_commits", "sequential", "sequential_ratio", "commits");
}

static bool is_wanted(const char *only, const char *name)
{
    return !only || strcmp(only, name) == 0;
}

int main(int argc, char **argv)
{
    static const char *const GROUPS[] = {"1", "8", "32", "128"};
    char dir[] = "bench-XXXXXX";
    const char *root = argc > 1 ? argv[1] : mkdtemp(dir);
    const char *only = argc > 2 ? argv[2] : NULL;
    set_payload(PAYLOAD_BYTES);
    if (is_wanted(only, "1")) {
        sequential_figures(root);
        count_commits(root);
    }
    for (size_t i = 0; i < sizeof(GROUPS) / sizeof(GROUPS[0]); i++) {
        if (is_wanted(only, GROUPS[i])) {
            group_figures(root, (int)strtol(GROUPS[i], NULL, 10), 500, GROUPS[i]);
        }
    }
    if (is_wanted(only, "10k")) {
        big_figures(root);
    }
    if (is_wanted(only, "5ms")) {
        slow_figures(root, 5, 40);
    }
    if (is_wanted(only, "150ms")) {
        slow_figures(root, 150, 20);
    }
    if (only && strcmp(only, "curve") == 0) {
        curve_figures(root);
    }
    if (argc <= 1) {
        fs_remove_tree(root, NULL);
    }
    return 0;
}
