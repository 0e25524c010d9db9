/*
 * bench-journal.c - what a commit of the journal costs against the raw limits of the same disk.
 *
 * Owns: the figures of DESIGN section 8 that belong to the store. Prints `figure NAME VALUE UNIT`,
 * one a line; ratios are against baselines measured in the same run, interleaved in rounds,
 * medians. A step is what one activity costs in the steady state: 6 events, one activity row
 * deleted, one inserted, one head update. The raw step is 2 rows of 100 bytes and one head update.
 * Usage: bench-journal [DIR] [SECONDS]  (default: $TMPDIR or /tmp, 0.4 s per measurement)
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "journal/activity.h"
#include "journal/event.h"
#include "journal/execution.h"

#define RUNS 128
#define ROUNDS 5

static int64_t slice_ns = 400 * NS_PER_MS;

no_return static void die(const char *what)
{
    fprintf(stderr, "bench-journal: %s\n", what);
    exit(1);
}

static void figure(const char *name, double value, const char *unit)
{
    printf("figure %s %.3f %s\n", name, value, unit);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

/* --- the raw limits ------------------------------------------------------------------------- */

struct raw {
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *insert;
    sqlite3_stmt *head;
    sqlite3_stmt *commit;
    int64_t seq;
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        die(sqlite3_errmsg(db));
    }
    return stmt;
}

static void step(sqlite3_stmt *stmt)
{
    if (sqlite3_step(stmt) != SQLITE_DONE) {
        die(sqlite3_errmsg(sqlite3_db_handle(stmt)));
    }
    sqlite3_reset(stmt);
}

static void raw_open(struct raw *raw, const char *path)
{
    if (sqlite3_open(path, &raw->db) != SQLITE_OK ||
        sqlite3_exec(raw->db,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "CREATE TABLE j (run INTEGER, seq INTEGER, body TEXT, PRIMARY KEY (run, seq))"
                     " STRICT, WITHOUT ROWID;"
                     "CREATE TABLE head (run INTEGER PRIMARY KEY, seq INTEGER);",
                     NULL, NULL, NULL) != SQLITE_OK) {
        die(sqlite3_errmsg(raw->db));
    }
    raw->begin = prepare(raw->db, "BEGIN IMMEDIATE");
    raw->insert = prepare(raw->db, "INSERT INTO j VALUES (?1, ?2, ?3)");
    raw->head = prepare(raw->db, "INSERT INTO head VALUES (?1, ?2) "
                                 "ON CONFLICT DO UPDATE SET seq = excluded.seq");
    raw->commit = prepare(raw->db, "COMMIT");
}

static void raw_close(struct raw *raw)
{
    sqlite3_finalize(raw->begin);
    sqlite3_finalize(raw->insert);
    sqlite3_finalize(raw->head);
    sqlite3_finalize(raw->commit);
    sqlite3_close(raw->db);
}

/* Steps per second; one row and no head when is_one_row. */
static double raw_rate(struct raw *raw, int runs, bool is_one_row)
{
    static const char BODY[] = "{\"result\":{\"value\":\"0123456789012345678901234567890123456789"
                               "012345678901234567890123456789012345678\"}}";
    int64_t start = clock_mono_ns();
    int64_t steps = 0;
    while (clock_mono_ns() - start < slice_ns) {
        step(raw->begin);
        for (int run = 1; run <= runs; run++) {
            for (int row = 0; row < (is_one_row ? 1 : 2); row++) {
                sqlite3_bind_int64(raw->insert, 1, run);
                sqlite3_bind_int64(raw->insert, 2, ++raw->seq);
                sqlite3_bind_text(raw->insert, 3, BODY, 100, SQLITE_STATIC);
                step(raw->insert);
            }
            if (!is_one_row) {
                sqlite3_bind_int64(raw->head, 1, run);
                sqlite3_bind_int64(raw->head, 2, raw->seq);
                step(raw->head);
            }
            steps++;
        }
        step(raw->commit);
    }
    return (double)steps * 1e9 / (double)(clock_mono_ns() - start);
}

/* --- the journal ------------------------------------------------------------------------------ */

struct run {
    int64_t id;
    int64_t next_event_id;
    int64_t bytes;
};

struct journal {
    struct store *store;
    struct run runs[RUNS];
    int64_t steps;
};

static void check(int rc, const struct err *err)
{
    if (rc < 0) {
        die(err->text);
    }
}

static void journal_open(struct journal *journal, const char *path)
{
    struct err err;
    check(store_open(path, NULL, &journal->store, &err), &err);
    struct txn *txn = txn_begin(journal->store);
    for (int i = 0; i < RUNS; i++) {
        char id[32];
        char run_id[64];
        snprintf(id, sizeof(id), "order-%d", i);
        snprintf(run_id, sizeof(run_id), "0197a3b4-0000-7000-8000-%012d", i);
        journal->runs[i].next_event_id = 1;
        journal->runs[i].id =
            execution_insert(txn, &(struct execution_row){.workflow_id = id,
                                                          .run_id = run_id,
                                                          .type = "Order",
                                                          .task_queue = "default",
                                                          .status = EXECUTION_RUNNING,
                                                          .next_event_id = 1,
                                                          .started_ns = clock_wall_ns(),
                                                          .memo = "{\"customer\":\"c-1\"}"});
    }
    check(txn_commit(txn, &err), &err);
}

static void journal_step(struct txn *txn, struct run *run, int64_t now)
{
    int64_t next = run->next_event_id;
    int64_t scheduled = next + 5; /* the activity that this step schedules */
#define EVENT(offset, kind, text)                                                                  \
    {                                                                                              \
        .event_id = next + (offset), .type = (kind), .time_ns = now, .attributes = (text),         \
        .attributes_len = sizeof(text) - 1                                                         \
    }
    struct event_row events[] = {
        {.event_id = next, .type = 11, .time_ns = now},
        EVENT(1, 12, "{\"result\":{\"receipt\":\"r-0123456789\",\"cents\":4200}}"),
        {.event_id = next + 2, .type = 5, .time_ns = now},
        {.event_id = next + 3, .type = 6, .time_ns = now},
        {.event_id = next + 4, .type = 7, .time_ns = now},
        EVENT(
            5, 10,
            "{\"activityId\":\"17\",\"activityType\":\"Charge\",\"input\":{\"card\":\"4111-1111\","
            "\"cents\":4200},\"startToClose\":30000}"),
    };
#undef EVENT
    if (next > 1) {
        activity_delete(txn, run->id, next - 1);
    }
    run->bytes += 300;
    event_append(txn, run->id, events, ARRAY_LEN(events), run->bytes);
    activity_insert(txn, &(struct activity_row){.execution = run->id,
                                                .scheduled_event_id = scheduled,
                                                .activity_id = "17",
                                                .type = "Charge",
                                                .task_queue = "default",
                                                .attempt = 1,
                                                .state = ACTIVITY_STARTED,
                                                .epoch = 1,
                                                .scheduled_ns = now,
                                                .started_ns = now,
                                                .deadline_ns = now + 30 * NS_PER_S});
    run->next_event_id = next + 6;
}

static double journal_rate(struct journal *journal, int runs)
{
    struct err err;
    int64_t start = clock_mono_ns();
    int64_t steps = 0;
    while (clock_mono_ns() - start < slice_ns) {
        struct txn *txn = txn_begin(journal->store);
        int64_t now = clock_wall_ns();
        for (int i = 0; i < runs; i++) {
            journal_step(txn, &journal->runs[i], now);
            steps++;
        }
        check(txn_commit(txn, &err), &err);
    }
    journal->steps += steps;
    return (double)steps * 1e9 / (double)(clock_mono_ns() - start);
}

static int64_t journal_bytes(struct journal *journal)
{
    struct err err;
    struct store_facts facts;
    check(store_facts(journal->store, &facts, &err), &err);
    return facts.db_bytes - facts.free_db_bytes;
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    autofree char *dir = mem_printf("%s/bench-journal-XXXXXX", argc > 1 ? argv[1]
                                                               : tmp    ? tmp
                                                                        : "/tmp");
    if (argc > 2) {
        slice_ns = (int64_t)(strtod(argv[2], NULL) * 1e9);
    }
    if (!mkdtemp(dir)) {
        die("cannot make a directory");
    }
    autofree char *raw_path = fs_join(dir, "raw.db");
    autofree char *path = fs_join(dir, "journal.db");
    struct raw raw = {0};
    struct journal journal = {0};
    raw_open(&raw, raw_path);
    journal_open(&journal, path);
    int64_t empty_bytes = journal_bytes(&journal);
    double one[ROUNDS];
    double ceiling[ROUNDS];
    double single[ROUNDS];
    double group[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        one[i] = raw_rate(&raw, 1, true);
        single[i] = journal_rate(&journal, 1);
        ceiling[i] = raw_rate(&raw, RUNS, false);
        group[i] = journal_rate(&journal, RUNS);
    }
    double bytes = (double)(journal_bytes(&journal) - empty_bytes) / (double)journal.steps;
    double m_one = median(one, ROUNDS);
    double m_single = median(single, ROUNDS);
    double m_ceiling = median(ceiling, ROUNDS);
    double m_group = median(group, ROUNDS);
    figure("raw_one_row_commits", m_one, "per_s");
    figure("journal_single_steps", m_single, "per_s");
    figure("journal_single_ratio", m_single / m_one, "ratio");
    figure("raw_group_128_steps", m_ceiling, "per_s");
    figure("journal_group_128_steps", m_group, "per_s");
    figure("journal_group_128_ratio", m_group / m_ceiling, "ratio");
    figure("journal_bytes_per_activity", bytes, "bytes");
    raw_close(&raw);
    journal.store = store_close(journal.store);
    fs_remove_tree(dir, NULL);
    return 0;
}
