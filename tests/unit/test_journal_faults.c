/*
 * test_journal_faults.c - the journal on a failing disk: at every write, sync, truncation, deletion
 * and creation of a scripted workload, in every mode of selftest/fault_disk.
 *
 * The script is a list of numbered steps, one commit each, which use every table. A run of the
 * script on a good disk records the digest of the whole content after each step. Then a child runs
 * it on the failing disk and tells in shared memory which step was acknowledged last. Afterwards
 * the file, opened on a good disk, must hold exactly the content after step k, where k is the
 * acknowledged step or the one that was in flight; the full check must find nothing; opening it
 * again must change nothing; and the script must be able to go on from there to the end. make check
 * takes a sample of the operations, make check-long (CHECK_LONG=1) all of them.
 */
#include "selftest/fault_disk.h"
#include "../lib/journal_fixture.h"
#include "journal/purge.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "journal/blob.h"
#include "journal/epoch.h"

#define STEPS 24
#define STRIDE_IN_CHECK 61 /* prime: the sample does not keep step with the script */

struct board {
    int acked;   /* last step that txn_commit acknowledged */
    int gave_up; /* the child ended by itself, after errors */
    char why[ERR_TEXT_BYTES];
};

static struct board *board;
static char digests[STEPS + 1][SHA256_HEX_BYTES];
static int64_t operations; /* of the whole script on a good disk */

/* --- the script
 * ------------------------------------------------------------------------------------ */

static void append(struct txn *txn, int64_t run, int64_t id, const char *text, size_t len)
{
    struct event_row row = {
        .event_id = id, .type = 26, .time_ns = id, .attributes = text, .attributes_len = len};
    event_append(txn, run, &row, 1, id * 10);
}

/* Runs 1 and 2 last; run 2 is started by step 2 and gets a large event at steps 2, 8, 14, 20. */
static void do_step(struct txn *txn, int step)
{
    static char large[60000];
    if (step == 1) {
        put_run(txn, 1);
        epoch_bump(txn, 1, "host", 5);
        append(txn, 1, 1, "{}", 2);
        return;
    }
    append(txn, 1, step, "{\"step\":true}", 13);
    switch (step % 6) {
    case 0: { /* a group commit */
        for (int i = 0; i < 20; i++) {
            int64_t id = put_run(txn, step * 100 + i);
            append(txn, id, 1, "{\"group\":1}", 11);
            task_put(txn, id, TASK_START, step);
        }
        break;
    }
    case 1: {
        struct activity_row activity = some_activity(1, step);
        activity_insert(txn, &activity);
        activity_start(txn, 1, step, 1, 10, 20, 1);
        timer_insert(txn, &(struct timer_row){1, step, "t", step * 100});
        break;
    }
    case 2: /* large attributes become a blob */
        memset(large, 'a' + step, sizeof(large));
        for (size_t i = 0; i < sizeof(large); i += 7) {
            large[i] = (char)('0' + (i / 7 + (size_t)step) % 64);
        }
        put_run(txn, step * 100);
        append(txn, 2, step / 6 + 1, large, sizeof(large));
        break;
    case 3: {
        autoarena struct arena *arena = arena_new();
        struct task_list tasks;
        task_take(txn, arena, 10, &tasks);
        activity_backoff(txn, 1, step - 2, 2, 500, 0, "{\"message\":\"down\"}");
        activity_heartbeat(txn, 1, step - 2, 2, 5, 6, "{}");
        break;
    }
    case 4: {
        autoarena struct arena *arena = arena_new();
        struct execution_list list;
        if (execution_list_open(txn_db(txn), arena, 2, 8, &list, NULL) == 0) {
            for (size_t i = 0; i < list.count; i++) {
                execution_close(txn, list.rows[i].id, EXECUTION_COMPLETED, step, "{\"ok\":1}",
                                NULL);
            }
        }
        timer_remove(txn, 1, step - 3);
        break;
    }
    case 5: {
        struct purge_count gone = {0};
        purge_slice(txn, &(struct purge_policy){INT64_MAX, -1}, 5, INT64_MAX, &gone);
        activity_delete(txn, 1, step - 4);
        break;
    }
    }
}

/* Each step appends one event to run 1. -1: the store cannot be read. */
static int64_t steps_done(struct store *store)
{
    autoarena struct arena *arena = arena_new();
    struct execution_row row;
    int rc = execution_get(store_db(store), arena, 1, &row, NULL);
    return rc == 0 ? row.next_event_id - 1 : rc > 0 ? 0 : -1;
}

/* Upkeep between the steps: what an engine does when it is idle. */
static void upkeep(struct store *store, int step)
{
    if (step % 4 == 0) {
        store_checkpoint(store, NULL);
    }
    if (step % 8 == 7) {
        store_shrink(store, 10, NULL);
    }
}

static struct store *open_on(const char *vfs)
{
    struct store *store = NULL;
    struct err err = {0};
    struct store_options options = {.vfs = vfs, .reserve_bytes = -1, .busy_timeout_ms = 2000};
    for (int attempt = 0; attempt < 3 && !store; attempt++) {
        if (store_open(scratch_db, &options, &store, &err) < 0) {
            str_copy(board->why, sizeof(board->why), err.text);
        }
    }
    return store;
}

/* Goes on from where the file is. Errors: look what is there (ambiguous commits), try again. */
static void run_script(const char *vfs)
{
    struct store *store = open_on(vfs);
    int failures = 0;
    while (store && failures < 5) {
        int64_t done = steps_done(store);
        if (done > board->acked) {
            board->acked = (int)done; /* found durable: as good as acknowledged */
        }
        if (done >= STEPS) {
            break;
        }
        struct err err = {0};
        struct txn *txn = txn_begin(store);
        if (done >= 0) {
            do_step(txn, (int)done + 1);
        }
        if (done < 0 || txn_failed(txn)) {
            err = *txn_error(txn);
            txn_rollback(txn);
            failures++;
        } else if (txn_commit(txn, &err) < 0) {
            failures++;
        } else {
            board->acked = (int)done + 1;
            upkeep(store, (int)done + 1);
            if (done + 1 == STEPS / 2) {
                store_close(store);
                store = open_on(vfs);
            }
        }
        if (err.kind != ERR_NONE) {
            str_copy(board->why, sizeof(board->why), err.text);
        }
    }
    board->gave_up = !store || failures >= 5;
    store_close(store);
}

/* --- judging
 * --------------------------------------------------------------------------------------- */

/* SHA-256 over every row of every table of the engine. */
static void digest_of(const char *path, char ret[SHA256_HEX_BYTES])
{
    static const char *const tables[] = {"execution", "event", "activity", "timer",          "task",
                                         "blob_ref",  "blob",  "engine",   "execution_count"};
    sqlite3 *db = NULL;
    uint8_t sum[SHA256_BYTES];
    struct sha256 *ctx = sha256_begin();
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        char sql[64];
        sqlite3_stmt *stmt = NULL;
        snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", tables[i]);
        cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s",
                     sqlite3_errmsg(db));
        int rc;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            for (int c = 0; c < sqlite3_column_count(stmt); c++) {
                const void *bytes = sqlite3_column_blob(stmt, c);
                int len = sqlite3_column_bytes(stmt, c);
                sha256_update(ctx, &len, sizeof(len));
                sha256_update(ctx, bytes ? bytes : "", (size_t)len);
            }
        }
        cr_assert_eq(rc, SQLITE_DONE, "%s", sqlite3_errmsg(db));
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    sha256_finish(ctx, sum);
    hex_encode(sum, sizeof(sum), ret);
}

static void remove_files(void)
{
    static const char *const suffixes[] = {"",         "-wal",        "-shm",
                                           "-journal", "-wal.undead", "-journal.undead"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        autofree char *path = mem_printf("%s%s", scratch_db, suffixes[i]);
        unlink(path);
    }
}

/* The good run: what the content must be after each step, and how many operations there are. */
static void learn(void)
{
    struct fault_counts counts;
    fault_disk_plan(NULL);
    *board = (struct board){0};
    run_script("fault");
    cr_assert_eq(board->acked, STEPS, "%s", board->why);
    fault_disk_counts(&counts);
    operations = counts.operations;
    remove_files();
    struct store *store = open_on(NULL);
    digest_of(scratch_db, digests[0]);
    for (int step = 1; step <= STEPS; step++) {
        struct txn *txn = txn_begin(store);
        do_step(txn, step);
        commit(txn);
        check_store(store);
        digest_of(scratch_db, digests[step]);
    }
    store_close(store);
    remove_files();
}

/* What the file holds now: the number of a step, exactly. */
static int judge_content(const char *where)
{
    char digest[SHA256_HEX_BYTES];
    struct err err = {0};
    struct store *store = NULL;
    cr_assert_eq(store_open(scratch_db, &(struct store_options){.reserve_bytes = -1}, &store, &err),
                 0, "%s: %s", where, err.text);
    cr_assert_eq(store_check(store, &err), 0, "%s: %s", where, err.text);
    int64_t done = steps_done(store);
    store_close(store);
    cr_assert(done >= 0 && done <= STEPS);
    digest_of(scratch_db, digest);
    cr_assert_str_eq(digest, digests[done], "%s: the content is not that after step %d", where,
                     (int)done);
    return (int)done;
}

static void try_point(const struct fault_plan *plan)
{
    char where[128];
    snprintf(where, sizeof(where), "%s%s at operation %lld", fault_disk_mode_name(plan->mode),
             plan->is_lasting ? " for good" : "", (long long)plan->at);
    *board = (struct board){0};
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fault_disk_plan(plan);
        run_script("fault");
        _exit(0);
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    cr_assert(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0), "%s: status %x", where,
              status);
    if (!was_killed && !plan->is_lasting) {
        cr_assert(!board->gave_up, "%s: one error must not end it: %s", where, board->why);
        cr_assert_eq(board->acked, STEPS, "%s", where);
    }
    if (!was_killed && plan->is_lasting && !fs_exists(scratch_db)) {
        return; /* failed before there was a file */
    }
    int acked = board->acked;
    int done = judge_content(where);
    cr_assert(done == acked || done == acked + 1, "%s: acknowledged %d, found %d", where, acked,
              done);
    cr_assert_eq(judge_content(where), done, "%s: opening it again changed it", where);
    fault_disk_plan(NULL);
    *board = (struct board){0};
    run_script("fault");
    cr_assert_eq(board->acked, STEPS, "%s: it cannot go on: %s", where, board->why);
    cr_assert_eq(judge_content(where), STEPS);
}

static void sweep(enum fault_mode mode, bool is_lasting)
{
    const char *is_long = getenv("CHECK_LONG");
    int64_t stride = is_long && str_eq(is_long, "1") ? 1 : STRIDE_IN_CHECK;
    int64_t points = 0;
    learn();
    for (int64_t at = 1 + (int64_t)mode % stride; at <= operations; at += stride) {
        try_point(&(struct fault_plan){
            .mode = mode, .at = at, .is_lasting = is_lasting, .seed = (uint64_t)at * 77 + 1});
        remove_files();
        points++;
    }
    cr_assert_gt(points, operations / stride - 1);
    cr_log_info("%s: %lld of %lld operations", fault_disk_mode_name(mode), (long long)points,
                (long long)operations);
}

static void set_up(void)
{
    scratch_make();
    fault_disk_register();
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(board, MAP_FAILED);
}

static void tear_down(void)
{
    munmap(board, sizeof(*board));
    scratch_remove();
}

TestSuite(journal_faults, .init = set_up, .fini = tear_down, .timeout = 3000);

Test(journal_faults, killed_before)
{
    sweep(FAULT_KILL_BEFORE, false);
}

Test(journal_faults, killed_after)
{
    sweep(FAULT_KILL_AFTER, false);
}

Test(journal_faults, torn_writes)
{
    sweep(FAULT_KILL_TORN, false);
}

Test(journal_faults, power_cut_loses_all_unsynced)
{
    sweep(FAULT_POWER_ALL, false);
}

Test(journal_faults, power_cut_loses_half_of_the_unsynced)
{
    sweep(FAULT_POWER_HALF, false);
}

Test(journal_faults, one_io_error)
{
    sweep(FAULT_EIO, false);
}

Test(journal_faults, io_errors_for_good)
{
    sweep(FAULT_EIO, true);
}

Test(journal_faults, disk_full_once)
{
    sweep(FAULT_FULL, false);
}

Test(journal_faults, disk_full_for_good)
{
    sweep(FAULT_FULL, true);
}

/* The model itself: a write that was never synced is gone, one that was is there. */
Test(journal_faults, the_power_cut_is_real)
{
    pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *db = NULL;
        fault_disk_plan(&(struct fault_plan){.mode = FAULT_POWER_ALL, .at = 1000000});
        sqlite3_open_v2(scratch_db, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "fault");
        sqlite3_exec(db,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "CREATE TABLE t (x); INSERT INTO t VALUES (1);"
                     "PRAGMA synchronous = NORMAL; INSERT INTO t VALUES (2);",
                     NULL, NULL, NULL);
        struct fault_counts counts;
        fault_disk_counts(&counts);
        fault_disk_plan(&(struct fault_plan){.mode = FAULT_POWER_ALL, .at = 1});
        sqlite3_exec(db, "INSERT INTO t VALUES (3)", NULL, NULL, NULL);
        _exit(1);
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status), "it must have died at the cut");
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_open(scratch_db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT max(x) FROM t", -1, &stmt, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    cr_assert_eq(sqlite3_column_int(stmt, 0), 1, "synchronous=NORMAL loses the second row");
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

Test(journal_faults, a_commit_is_one_wal_sync)
{
    struct fault_counts counts;
    struct store *store = open_on("fault");
    cr_assert_not_null(store, "%s", board->why);
    new_run(store, 1);
    fault_disk_plan(NULL);
    for (int i = 0; i < 50; i++) {
        struct txn *txn = txn_begin(store);
        put_events(txn, 1, 1 + i * 6, 6);
        commit(txn);
    }
    fault_disk_counts(&counts);
    cr_assert_eq(counts.syncs, 50);
    cr_assert_eq(counts.wal_syncs, 50);
    cr_assert_leq(counts.wal_frames, 50 * 3);
    store_close(store);
}
