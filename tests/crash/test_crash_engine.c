/*
 * test_crash_engine.c - the engine on a failing disk: at every write, sync, truncation, deletion
 * and creation of a scripted workload, in every mode of selftest/fault_disk.
 *
 * The script starts nine runs that use what the engine has (sequences, fan-out, timers, signals,
 * cancel with cleanup, retries, heartbeat details, memo, payloads that become blobs) and serves
 * them. It is idempotent, as a client should be. A child plays it on the failing disk and notes in
 * shared memory what was acknowledged to it. Then, on a good disk: the full check finds nothing;
 * every acknowledged start, signal, cancel, result and heartbeat is there; the script, played
 * again, ends with the outcome of the undisturbed play; every history validates and replays;
 * serving once more changes nothing. Errors that pass (EIO, disk full) must not end the engine.
 * make check takes a sample of the operations, make check-long (CHECK_LONG=1) all of them. Part of
 * it is played with sealed payloads.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "history/json.h"
#include "history/validate.h"
#include "journal/store.h"
#include "selftest/fault_disk.h"
#include "tests/lib/temp_path.h"

#define STRIDE_IN_CHECK 97 /* prime: the sample does not keep step with the script */
#ifndef PLAY_MS
#define PLAY_MS 60000 /* a play that takes longer hangs */
#endif
#define LARGE_BYTES 300000

enum run_id {
    CHAIN,
    SLEEPER,
    WAITER,
    POKER,
    VICTIM,
    FLAKY,
    BEATEN,
    LARGE,
    FAN,
    FAMILY,
    RELAY,
    RUNS
};
static const char *const names[RUNS] = {"chain",  "sleeper", "waiter", "poker",  "victim", "flaky",
                                        "beaten", "large",   "fan",    "family", "relay"};
#define RELAY_RUNS 3 /* it continues as new twice; the others are one run each */

/* What the child was told; shared with the parent. */
struct board {
    atomic_int started[RUNS];
    atomic_int finished[RUNS]; /* dur_result answered */
    atomic_int go, poked, cancelled;
    atomic_int beaten;    /* details acknowledged to an attempt */
    atomic_int forgotten; /* a later attempt did not get them */
    atomic_int done;      /* the script came to its end */
    char why[256];
};

static struct board *board;
static char *path, *template;
static int64_t operations;
static int64_t sample = STRIDE_IN_CHECK; /* every so manieth operation in make check */
static char *ring;                       /* the keyring that payloads are sealed with, or NULL */
static char *outcomes[RUNS];             /* of the undisturbed play */

/* --- activities --- */

static const dur_activity_options quick = {
    .retry = {.initial_interval_ms = 1, .maximum_interval_ms = 5}};

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int third_time(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) < 3) {
        return dur_fail(act, DUR_TRANSIENT, "Flaky", "not yet");
    }
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int large(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    char *text = dur_activity_alloc(act, LARGE_BYTES + 3);
    for (int i = 1; i <= LARGE_BYTES; i++) {
        text[i] = (char)('a' + i % 26);
    }
    text[0] = text[LARGE_BYTES + 1] = '"';
    *result = text;
    return DUR_OK;
}

static int beat(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    const char *before = dur_heartbeat_details(act);
    if (atomic_load(&board->beaten) && !before) {
        atomic_store(&board->forgotten, 1);
    }
    if (dur_heartbeat_sync(act, "{\"pid\":4711}") == DUR_OK) {
        atomic_store(&board->beaten, 1);
    }
    *result = "{\"pid\":4711}";
    return DUR_OK;
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(1);
    }
    return DUR_CANCELLED;
}

static int note(dur_activity *act, atomic_int *told, int rc, dur_engine *engine)
{
    if (rc != DUR_OK && rc != DUR_NOT_FOUND) { /* not found: it ended already, by an earlier call */
        return dur_fail(act, DUR_TRANSIENT, "Store", "%s", dur_error(engine));
    }
    if (rc == DUR_OK) {
        atomic_store(told, 1);
    }
    return DUR_OK;
}

static int poke(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    return note(act, &board->poked, dur_signal(user, "waiter", "poke", "2"), user);
}

static int cancel_victim(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    return note(act, &board->cancelled, dur_cancel(user, "victim", "enough"), user);
}

/* --- workflows --- */

static int wf_chain(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    for (int i = 0; i < 6; i++) {
        int rc = dur_run(ctx, "echo", dur_ctx_jsonf(ctx, "[%j]", *result), result, &quick);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    return DUR_OK;
}

static int wf_sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_sleep(ctx, 3);
    if (rc == DUR_OK) {
        dur_future *both[] = {dur_start_activity(ctx, "echo", input, &quick),
                              dur_timer(ctx, 3600000)};
        rc = dur_select(ctx, both, 2);
        if (rc == 0) {
            dur_cancel_future(ctx, both[1]);
            rc = dur_await(ctx, both[0], result);
        }
    }
    return rc == DUR_OK ? dur_sleep(ctx, 2) : rc;
}

static int wf_waiter(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *go, *poked;
    (void)input;
    (void)user;
    dur_upsert_memo(ctx, "{\"step\":\"waiting\"}");
    int rc = dur_receive(ctx, "go", -1, &go);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "poke", -1, &poked);
    }
    if (rc == DUR_OK) {
        dur_upsert_memo(ctx, "{\"step\":\"told\",\"n\":3}");
        *result = dur_ctx_jsonf(ctx, "[%j,%j]", go, poked);
    }
    return rc;
}

static int wf_poker(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    int rc = dur_run(ctx, "poke", NULL, NULL, &quick);
    return rc == DUR_OK ? dur_run(ctx, "cancel_victim", NULL, NULL, &quick) : rc;
}

static int wf_victim(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    dur_activity_options o = quick;
    o.cancellation = DUR_WAIT_CANCEL;
    int rc = dur_run(ctx, "hang", NULL, NULL, &o);
    dur_run(dur_disconnected(ctx), "echo", "\"bye\"", NULL, &quick);
    dur_upsert_memo(dur_disconnected(ctx), "{\"cleaned\":true}");
    return rc;
}

static int wf_flaky(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "third_time", input, result, &quick);
}

static int wf_beaten(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    dur_activity_options o = quick;
    o.heartbeat_ms = 30000;
    return dur_run(ctx, "beat", input, result, &o);
}

static int wf_large(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *text;
    (void)user;
    int rc = dur_run(ctx, "large", input, &text, &quick);
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "echo", text, &text, &quick);
    }
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "%d", (int)strlen(text));
    }
    return rc;
}

static int wf_fan(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *futures[12];
    int sum = 0;
    (void)input;
    (void)user;
    for (int i = 0; i < 12; i++) {
        futures[i] = dur_start_activity(ctx, "echo", dur_ctx_jsonf(ctx, "%d", i), &quick);
    }
    for (int i = 0; i < 12; i++) {
        const char *one;
        int rc = dur_await(ctx, futures[i], &one);
        if (rc != DUR_OK) {
            return rc;
        }
        sum += (int)dur_json_int(one, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%d", sum);
    return DUR_OK;
}

static int wf_worker_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "echo", input, result, &quick);
    dur_signal_external(ctx, "family", "done", "1"); /* in its last step */
    return rc;
}

static int wf_waiting_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "never", -1, result);
}

/* One child works, tells and ends; the other is taken down with its parent. */
static int wf_family(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *works = dur_start_child(ctx, "worker_child", input,
                                        &(dur_child_options){.workflow_id = "worker_child"});
    dur_future *waits = dur_start_child(ctx, "waiting_child", input,
                                        &(dur_child_options){.workflow_id = "waiting_child"});
    (void)user;
    int rc = dur_child_started(ctx, waits, NULL);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "done", -1, NULL);
    }
    return rc == DUR_OK ? dur_await(ctx, works, result) : rc;
}

static int wf_relay(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t leg = dur_json_int(input, "", 0);
    (void)user;
    int rc = dur_run(ctx, "echo", input, result, &quick);
    if (rc == DUR_OK && leg < 7 + RELAY_RUNS - 1) {
        dur_upsert_memo(ctx, dur_ctx_jsonf(ctx, "{\"leg\":%i64}", leg));
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", leg + 1), NULL);
    }
    return rc;
}

/* --- the script --- */

static void quiet(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    if (getenv("CRASH_VERBOSE")) {
        fprintf(stderr, "%d %s\n", (int)getpid(), line);
    }
    str_copy(board->why, sizeof(board->why), line);
}

static dur_engine *open_on(const char *vfs)
{
    static const struct {
        const char *name;
        dur_workflow_fn fn;
    } workflows[] = {{"chain", wf_chain},   {"sleeper", wf_sleeper}, {"waiter", wf_waiter},
                     {"poker", wf_poker},   {"victim", wf_victim},   {"flaky", wf_flaky},
                     {"beaten", wf_beaten}, {"large", wf_large},     {"fan", wf_fan},
                     {"family", wf_family}, {"relay", wf_relay}};
    dur_engine *engine = NULL;
    dur_options options = {.vfs = vfs,
                           .reserve_bytes = -1,
                           .min_free_bytes = -1,
                           .chain_spacing_ms = -1,
                           .keyring_file = ring,
                           .on_log = quiet};
    for (int tries = 0; tries < 5; tries++) {
        if (dur_open(&engine, path, &options) == DUR_OK) {
            break;
        }
        str_copy(board->why, sizeof(board->why), dur_error(engine));
        dur_close(engine);
        engine = NULL;
    }
    if (!engine) {
        return NULL;
    }
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_activity(engine, "third_time", third_time, NULL);
    dur_register_activity(engine, "large", large, NULL);
    dur_register_activity(engine, "beat", beat, NULL);
    dur_register_activity(engine, "hang", hang, NULL);
    dur_register_activity(engine, "poke", poke, engine);
    dur_register_activity(engine, "cancel_victim", cancel_victim, engine);
    for (size_t i = 0; i < RUNS; i++) {
        dur_register_workflow(engine, workflows[i].name, workflows[i].fn, NULL);
    }
    dur_register_workflow(engine, "worker_child", wf_worker_child, NULL);
    dur_register_workflow(engine, "waiting_child", wf_waiting_child, NULL);
    dur_lane(engine, "default", 6);
    return engine;
}

/* Client calls are repeated until they are acknowledged; false: never. */
static bool start_all(dur_engine *engine)
{
    for (int i = 0; i < RUNS; i++) {
        dur_start_options o = {.reuse = DUR_REUSE_REJECT,
                               .request_id = names[i],
                               .memo = i == WAITER ? "{\"kept\":1}" : NULL};
        for (int tries = 0; tries < 50 && !atomic_load(&board->started[i]); tries++) {
            if (dur_start(engine, names[i], names[i], "7", &o) == DUR_OK) {
                atomic_store(&board->started[i], 1);
            } else {
                str_copy(board->why, sizeof(board->why), dur_error(engine));
                clock_sleep_ms(tries);
            }
        }
        if (!atomic_load(&board->started[i])) {
            return false;
        }
    }
    for (int tries = 0; tries < 50 && !atomic_load(&board->go); tries++) {
        int rc = dur_signal(engine, "waiter", "go", "1");
        atomic_store(&board->go, rc == DUR_OK || rc == DUR_NOT_FOUND);
    }
    return atomic_load(&board->go) != 0;
}

static void *serve(void *engine)
{
    int rc = dur_serve(engine, DUR_UNTIL_STOPPED);
    if (rc != DUR_OK) {
        str_copy(board->why, sizeof(board->why), dur_error(engine));
    }
    return rc == DUR_OK ? NULL : board;
}

/* True when all runs came to their end and the engine with them. */
static bool play(const char *vfs)
{
    pthread_t thread;
    void *failed;
    dur_engine *engine = open_on(vfs);
    bool is_good = engine && start_all(engine);
    if (is_good) {
        pthread_create(&thread, NULL, serve, engine);
        int64_t until = clock_mono_ns() + PLAY_MS * NS_PER_MS;
        for (int i = 0; i < RUNS && is_good; i++) {
            int rc = DUR_TIMED_OUT;
            while ((rc == DUR_TIMED_OUT || rc == DUR_IO) && clock_mono_ns() < until) {
                rc = dur_result(engine, names[i], 1000, NULL);
            }
            atomic_store(&board->finished[i], rc == DUR_OK || rc == DUR_CANCELLED);
            is_good = atomic_load(&board->finished[i]) != 0;
            if (!is_good) {
                snprintf(board->why, sizeof(board->why), "%s did not end: %s", names[i],
                         dur_code_name(rc));
            }
        }
        dur_stop(engine);
        pthread_join(thread, &failed);
        is_good = is_good && !failed;
    }
    dur_close(engine);
    atomic_store(&board->done, is_good);
    return is_good;
}

/* --- judging --- */

static void check_not_early(const struct history *history, const struct event *fired)
{
    const struct event *started = &history->items[ev_timer_fired(fired)->started_event_id - 1];
    cr_assert_geq(fired->time_ns - started->time_ns,
                  ev_timer_started(started)->start_to_fire_timeout);
}

/* What must be the same after every crash: the run's end, its memo, its closed activities. */
static char *outcome_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    char *json = NULL, *report = NULL;
    struct err err;
    struct history history;
    autoarena struct arena *arena = arena_new();
    autostr struct str warnings = {0};
    int completed = 0, cancelled = 0, open = 0;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s: %s", id, dur_error(engine));
    cr_assert_eq(dur_history(engine, id, &json), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(history_from_json(arena, json, strlen(json), &history, &err), 0, "%s", err.text);
    cr_assert_eq(history_validate(&history, &warnings, &err), 0, "%s\n%s", err.text, json);
    cr_assert_eq(warnings.len, 0, "%s", str_c(&warnings));
    cr_assert_eq(dur_replay(engine, json, &report), DUR_OK, "%s\n%s", report ? report : "", json);
    for (size_t i = 0; i < history.count; i++) {
        completed += history.items[i].type == EVENT_ACTIVITY_TASK_COMPLETED;
        cancelled += history.items[i].type == EVENT_ACTIVITY_TASK_CANCELED;
        open += history.items[i].type == EVENT_ACTIVITY_TASK_SCHEDULED;
        if (history.items[i].type == EVENT_TIMER_FIRED) {
            check_not_early(&history, &history.items[i]);
        }
    }
    open -= completed + cancelled;
    char *text =
        mem_printf("%s %s %s completed=%d cancelled=%d open=%d", dur_status_name(d->status),
                   d->result ? d->result : "-", d->memo, completed, cancelled, open);
    dur_description_free(d);
    dur_free(json);
    dur_free(report);
    return text;
}

/* SHA-256 over every row of every table of the engine but its epoch. */
static void digest_of(char ret[SHA256_HEX_BYTES])
{
    static const char *const tables[] = {"execution", "event", "activity", "timer",
                                         "task",      "blob",  "blob_ref", "execution_count",
                                         "child"};
    sqlite3 *db = NULL;
    uint8_t sum[SHA256_BYTES];
    struct sha256 *ctx = sha256_begin();
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        char sql[64];
        sqlite3_stmt *stmt = NULL;
        snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", tables[i]);
        cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            for (int c = 0; c < sqlite3_column_count(stmt); c++) {
                const void *bytes = sqlite3_column_blob(stmt, c);
                int len = sqlite3_column_bytes(stmt, c);
                sha256_update(ctx, &len, sizeof(len));
                sha256_update(ctx, bytes ? bytes : "", (size_t)len);
            }
        }
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    sha256_finish(ctx, sum);
    hex_encode(sum, sizeof(sum), ret);
}

static int count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW);
    int n = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

/* Nothing that was acknowledged is missing. */
static void judge_acknowledged(const char *where)
{
    struct err err = {0};
    struct store *store = NULL;
    sqlite3 *db = NULL;
    cr_assert_eq(store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err), 0,
                 "%s: %s", where, err.text);
    cr_assert_eq(store_check(store, &err), 0, "%s: %s", where, err.text);
    store_close(store);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    for (int i = 0; i < RUNS; i++) {
        char sql[160];
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM execution WHERE workflow_id = '%s'",
                 names[i]);
        int n = count(db, sql);
        cr_assert(n <= (i == RELAY ? RELAY_RUNS : 1) && n >= atomic_load(&board->started[i]),
                  "%s: %s: %d runs", where, names[i], n);
        snprintf(sql, sizeof(sql),
                 "SELECT count(*) FROM execution WHERE workflow_id = '%s' "
                 "AND status <> 1",
                 names[i]);
        cr_assert_geq(count(db, sql), atomic_load(&board->finished[i]), "%s: %s is open again",
                      where, names[i]);
    }
    cr_assert_geq(
        count(db, "SELECT count(*) FROM event WHERE type = 26 AND attributes LIKE '%go%'"),
        atomic_load(&board->go), "%s: a signal is gone", where);
    cr_assert_geq(
        count(db, "SELECT count(*) FROM event WHERE type = 26 AND attributes LIKE '%poke%'"),
        atomic_load(&board->poked), "%s: a signal is gone", where);
    cr_assert_geq(count(db, "SELECT count(*) FROM event WHERE type = 20"),
                  atomic_load(&board->cancelled), "%s: a cancel request is gone", where);
    sqlite3_close(db);
}

static void remove_files(void)
{
    static const char *const suffixes[] = {"",      "-wal",        "-shm",           "-journal",
                                           ".lock", "-wal.undead", "-journal.undead"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        autofree char *file = mem_printf("%s%s", path, suffixes[i]);
        unlink(file);
    }
}

/* An empty store, so that the sweep is the engine's and not that of the migrations. */
static void fresh_store(void)
{
    autostr struct str bytes = {0};
    struct err err;
    remove_files();
    cr_assert_eq(fs_read_file(template, 64 << 20, &bytes, &err), 0, "%s", err.text);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes.ptr, 1, bytes.len, file) == bytes.len && fclose(file) == 0);
    memset(board, 0, sizeof(*board));
}

/* Play the rest on a good disk; the end must be that of the undisturbed play. */
static void judge_end(const char *where)
{
    char before[SHA256_HEX_BYTES], after[SHA256_HEX_BYTES];
    for (int i = 0; i < RUNS; i++) { /* acknowledged calls are not repeated, the others are */
        atomic_store(&board->finished[i], 0);
    }
    cr_assert(play(NULL), "%s: it cannot go on: %s", where, board->why);
    cr_assert_not(atomic_load(&board->forgotten), "%s: heartbeat details are gone", where);
    dur_engine *engine = open_on(NULL);
    for (int i = 0; i < RUNS; i++) {
        autofree char *outcome = outcome_of(engine, names[i]);
        cr_assert_str_eq(outcome, outcomes[i], "%s: %s", where, names[i]);
    }
    dur_close(engine);
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(count(db,
                       "SELECT (SELECT count(*) FROM activity) + (SELECT count(*) FROM timer) + "
                       "(SELECT count(*) FROM task) + (SELECT count(*) FROM child) + "
                       "(SELECT count(*) FROM execution WHERE status = 1)"),
                 0, "%s: something waits for nobody", where);
    sqlite3_close(db);
    digest_of(before);
    engine = open_on(NULL);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK);
    dur_close(engine);
    digest_of(after);
    cr_assert_str_eq(before, after, "%s: serving again changed the store", where);
}

static void learn(void)
{
    struct fault_counts counts;
    fresh_store();
    fault_disk_plan(NULL);
    cr_assert(play("fault"), "%s", board->why);
    fault_disk_counts(&counts);
    operations = counts.operations;
    dur_engine *engine = open_on(NULL);
    for (int i = 0; i < RUNS; i++) {
        free(outcomes[i]);
        outcomes[i] = outcome_of(engine, names[i]);
        cr_log_info("%s: %s", names[i], outcomes[i]);
    }
    dur_close(engine);
}

static void try_point(const struct fault_plan *plan)
{
    char where[128];
    snprintf(where, sizeof(where), "%s%s at operation %lld", fault_disk_mode_name(plan->mode),
             plan->is_lasting ? " for good" : "", (long long)plan->at);
    fresh_store();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fault_disk_plan(plan);
        _exit(play("fault") ? 0 : 3);
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    cr_assert(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0), "%s: status %x: %s",
              where, (unsigned)status, board->why);
    judge_acknowledged(where);
    fault_disk_plan(NULL);
    judge_end(where);
}

static void sweep(enum fault_mode mode)
{
    const char *is_long = getenv("CHECK_LONG");
    int64_t stride = is_long && str_eq(is_long, "1") ? 1 : sample;
    learn();
    for (int64_t at = 1 + (int64_t)mode * 11 % stride; at <= operations; at += stride) {
        try_point(&(struct fault_plan){.mode = mode, .at = at, .seed = (uint64_t)at * 77 + 1});
    }
    cr_log_info("%s: every %lldth of %lld operations", fault_disk_mode_name(mode),
                (long long)stride, (long long)operations);
}

static void set_up(void)
{
    path = temp_path("engine.db");
    template = mem_printf("%s.template", path);
    fault_disk_register();
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(board, MAP_FAILED);
    dur_engine *engine = open_on(NULL);
    cr_assert_not_null(engine, "%s", board->why);
    dur_close(engine);
    cr_assert_eq(rename(path, template), 0);
}

static void tear_down(void)
{
    autofree char *dir = fs_dirname(path);
    for (int i = 0; i < RUNS; i++) {
        free(outcomes[i]);
        outcomes[i] = NULL;
    }
    fs_remove_tree(dir, NULL);
    munmap(board, sizeof(*board));
    free(template);
    free(path);
    free(ring);
}

TestSuite(crash_engine, .init = set_up, .fini = tear_down, .timeout = 3000);

Test(crash_engine, killed_before)
{
    sweep(FAULT_KILL_BEFORE);
}

Test(crash_engine, killed_after)
{
    sweep(FAULT_KILL_AFTER);
}

Test(crash_engine, torn_writes)
{
    sweep(FAULT_KILL_TORN);
}

Test(crash_engine, power_cut_loses_all_unsynced)
{
    sweep(FAULT_POWER_ALL);
}

Test(crash_engine, power_cut_loses_half_of_the_unsynced)
{
    sweep(FAULT_POWER_HALF);
}

Test(crash_engine, one_io_error)
{
    sweep(FAULT_EIO);
}

Test(crash_engine, disk_full_once)
{
    sweep(FAULT_FULL);
}

/* The store is one without keys at first, so the entry of the key is among the operations. */
Test(crash_engine, with_payloads_that_are_sealed)
{
    static const char keys[] =
        "{\"active\":\"a\",\"keys\":{\"a\":\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\"}}";
    struct err err = {0};
    autofree char *dir = fs_dirname(path);
    ring = fs_join(dir, "ring.json");
    cr_assert_eq(fs_write_file(ring, keys, sizeof(keys) - 1, 0600, &err), 0, "%s", err.text);
    sample = 5 * STRIDE_IN_CHECK;
    sweep(FAULT_KILL_AFTER);
    sweep(FAULT_POWER_ALL);
    try_point(&(struct fault_plan){.mode = FAULT_KILL_AFTER, .at = 3, .seed = 1});
}
