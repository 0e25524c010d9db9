/*
 * engine_paths.c - the engine's paths of nth.h: opening, recovering, clients, serving, upgrading,
 * histories that leave and come, retention.
 *
 * Every workflow here ends with a result that depends on nothing but its input, so that what a
 * second engine makes of it can be compared. Clients name what they ask (signal and update ids), so
 * that asking again is asking for the same.
 */
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "journal/store.h"
#include "selftest/script.h"
#include "tests/nth/nth.h"

#define LARGE_BYTES 300000
#define CLIENT_MS 400 /* patience with an engine that may be gone */
#define IDLE_MS 15000

enum ack {
    ACK_OPEN = 1,
    ACK_STARTED = 2,
    ACK_TOLD = 4,
    ACK_CANCELLED = 8,
    ACK_UPDATED = 16,
    ACK_IMPORTED = 32,
    ACK_SCHEDULE = 64,
    ACK_PURGED = 128,
};

/* --- activities ------------------------------------------------------------------------------- */

static const dur_activity_options quick = {
    .retry = {.initial_interval_ms = 1, .maximum_interval_ms = 5}};

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_heartbeat_sync(act, "{\"at\":1}");
    if (rc != DUR_OK && rc != DUR_IO && rc != DUR_CANCELLED) {
        return rc;
    }
    if (dur_activity_attempt(act) < 2) {
        return dur_fail(act, DUR_TRANSIENT, "Flaky", "try again");
    }
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int large(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = script_letters(act, LARGE_BYTES);
    return DUR_OK;
}

/* --- workflows -------------------------------------------------------------------------------- */

static int leaf(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "echo", input, result, &quick);
}

/* Sequences, a fan, retries with heartbeats, timers, a child, a local activity, a blob. */
static int everything(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *fan[3];
    const char *one = input, *text = NULL, *child = NULL;
    int64_t sum = 0;
    (void)user;
    int rc = dur_run(ctx, "flaky", input, &one, &quick);
    for (int i = 0; i < 3; i++) {
        fan[i] = dur_start_activity(ctx, "echo", dur_ctx_jsonf(ctx, "%d", i + 1), &quick);
    }
    for (int i = 0; i < 3 && rc == DUR_OK; i++) {
        const char *got;
        rc = dur_await(ctx, fan[i], &got);
        sum += rc == DUR_OK ? dur_json_int(got, "", 0) : 0;
    }
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 2);
    }
    if (rc == DUR_OK) {
        rc = dur_run_child(ctx, "leaf", "\"child\"", &child, NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_run_local(ctx, "echo", "5", &one, NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "large", NULL, &text, &quick);
    }
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "[%i64,%j,%j,%d]", sum, child, one, (int)strlen(text));
    }
    return rc;
}
#define EVERYTHING_IS "[6,\"child\",5,300002]"

struct kept {
    int64_t value;
};

static int ask_kept(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%i64", ((struct kept *)arg)->value);
    return DUR_OK;
}

static int set_kept(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct kept *kept = arg;
    kept->value = dur_json_int(input, "", -1);
    *result = dur_ctx_jsonf(ctx, "%i64", kept->value + 1);
    return DUR_OK;
}

static int waits(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct kept *kept = dur_ctx_alloc(ctx, sizeof(*kept));
    const char *go = NULL;
    (void)input;
    (void)user;
    dur_on_query(ctx, "kept", ask_kept, kept);
    dur_on_update(ctx, "set", NULL, set_kept, kept);
    int rc = dur_receive(ctx, "go", -1, &go);
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "[%j,%i64]", go, kept->value);
    }
    return rc;
}

static void quiet(void *user, int level, const char *line)
{
    (void)user;
    if (getenv("NTH_LOG")) {
        fprintf(stderr, "   %d %s\n", level, line);
    }
}

/* --- the watchdog ------------------------------------------------------------------------------
 */

#define PATIENCE_NS                                                                                \
    700000000 /* of a play with an engine that is patient with a store that fails                  \
               */

static dur_engine *watched;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    dur_stop(watched);
}

/* A store that fails for ever is tried again for ever: somebody says stop. NULL: nobody. */
static void stop_after_a_while(dur_engine *engine)
{
    static timer_t timer;
    struct sigevent tell = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec once = {.it_value = {.tv_nsec = engine ? PATIENCE_NS : 0}};
    watched = engine;
    signal(SIGUSR1, on_alarm);
    if (engine) {
        timer_create(CLOCK_MONOTONIC, &tell, &timer); /* forks have none of their parent's */
        timer_settime(timer, 0, &once, NULL);
    } else {
        timer_delete(timer);
    }
}

/* --- engines ---------------------------------------------------------------------------------- */

static char *store_of(const char *dir)
{
    return fs_join(dir, "e.db");
}

static int open_at(dur_engine **engine, const char *dir)
{
    autofree char *path = store_of(dir);
    int rc = dur_open(
        engine, path,
        &(dur_options){
            .reserve_bytes = 65536, .min_free_bytes = -1, .stop_grace_ms = 300, .on_log = quiet});
    dur_register_activity(*engine, "echo", echo, NULL);
    dur_register_activity(*engine, "flaky", flaky, NULL);
    dur_register_activity(*engine, "large", large, NULL);
    dur_register_workflow(*engine, "leaf", leaf, NULL);
    dur_register_workflow(*engine, "everything", everything, NULL);
    dur_register_workflow(*engine, "waits", waits, NULL);
    return rc;
}

/* Without faults: what fails here is the test's own trouble, or the judge's finding. */
static dur_engine *open_well(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    int rc = open_at(&engine, dir);
    if (rc != DUR_OK && report) {
        nth_complain(report, "afterwards the store does not open: %s", dur_error(engine));
    }
    return engine;
}

static int told(struct nth_report *report, const char *call, int rc, dur_engine *engine)
{
    nth_told(report, call, rc, dur_error(engine));
    return rc;
}

static bool opens(struct nth_report *report, dur_engine **engine, const char *dir)
{
    int rc = open_at(engine, dir);
    return told(report, "dur_open", rc, *engine) == DUR_OK;
}

static void ack(struct nth_report *report, unsigned what, const char *call, int rc,
                dur_engine *engine)
{
    if (told(report, call, rc, engine) == DUR_OK) {
        report->acks |= what;
    }
}

static void check_file(const char *dir, struct nth_report *report)
{
    autofree char *path = store_of(dir);
    struct err err = {0};
    struct store *store = NULL;
    if (store_open(path, &(struct store_options){.reserve_bytes = -1, .min_free_bytes = -1}, &store,
                   &err) < 0 ||
        store_check(store, &err) < 0) {
        nth_complain(report, "the store's check: %s", err.text);
    }
    store_close(store);
}

static void serve_to_end(dur_engine *engine, struct nth_report *report)
{
    int rc = dur_serve(engine, DUR_UNTIL_IDLE);
    if (rc != DUR_OK) {
        nth_complain(report, "a second engine cannot serve: %s", dur_error(engine));
    }
}

static void check_result(dur_engine *engine, const char *id, const char *expected,
                         struct nth_report *report)
{
    char *result = NULL;
    int rc = dur_result(engine, id, 0, &result);
    if (rc != DUR_OK || !result || strcmp(result, expected) != 0) {
        nth_complain(report, "run %s: code %d, %s instead of %s; %s", id, rc,
                     result ? result : "nothing", expected, dur_error(engine));
    }
    dur_free(result);
}

/* Starts it, if it is not there yet; then it must end as it should. */
static void finish_everything(dur_engine *engine, const char *id, struct nth_report *report)
{
    int rc = dur_start(engine, "everything", id, "1", NULL);
    if (rc != DUR_OK && rc != DUR_EXISTS) {
        nth_complain(report, "cannot start %s afterwards: %s", id, dur_error(engine));
    }
    serve_to_end(engine, report);
    check_result(engine, id, EVERYTHING_IS, report);
}

/* It was acknowledged, so it is there. */
static void must_exist(dur_engine *engine, const char *id, struct nth_report *report)
{
    dur_description *d = NULL;
    if (dur_describe(engine, id, &d) != DUR_OK) {
        nth_complain(report, "the acknowledged run %s is lost: %s", id, dur_error(engine));
    }
    dur_description_free(d);
}

/* --- a fresh store ---------------------------------------------------------------------------- */

static void play_fresh(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    if (opens(report, &engine, dir)) {
        ack(report, ACK_STARTED, "dur_start", dur_start(engine, "everything", "w", "1", NULL),
            engine);
    }
    dur_close(engine);
}

static void verify_started(const char *dir, struct nth_report *report)
{
    dur_engine *engine = open_well(dir, report);
    if (report->acks & ACK_STARTED) {
        must_exist(engine, "w", report);
    }
    finish_everything(engine, "w", report);
    dur_close(engine);
    check_file(dir, report);
}

/* --- serving ---------------------------------------------------------------------------------- */

static void make_started(const char *dir)
{
    dur_engine *engine = open_well(dir, NULL);
    dur_start(engine, "everything", "w", "1", NULL);
    dur_close(engine);
}

static int serve_a_while(dur_engine *engine)
{
    stop_after_a_while(engine);
    int rc = dur_serve(engine, DUR_UNTIL_IDLE);
    stop_after_a_while(NULL);
    return rc;
}

static void play_serve(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    if (opens(report, &engine, dir) &&
        told(report, "dur_serve", serve_a_while(engine), engine) == DUR_OK) {
        char *result = NULL;
        int rc = dur_result(engine, "w", 0, &result);
        told(report, "dur_result", rc, engine);
        if (rc == DUR_OK && strcmp(result, EVERYTHING_IS) != 0) {
            nth_complain(report, "the run ended with %s", result);
        }
        dur_free(result);
    }
    dur_close(engine);
}

/* --- recovering ------------------------------------------------------------------------------- */

/* An engine that was killed: runs wait, activities run, a signal lies there. */
static void make_broken_off(const char *dir)
{
    dur_engine *engine = open_well(dir, NULL);
    dur_start(engine, "everything", "w", "1", NULL);
    dur_start(engine, "waits", "v", NULL, NULL);
    for (int i = 0; i < 6; i++) {
        dur_step(engine, 1);
    }
    dur_signal_once(engine, "v", "go", "7", "s1");
    dur_close(engine);
}

static void play_recover(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    int rc = 0;
    if (opens(report, &engine, dir)) {
        for (int i = 0; i < 4 && rc >= 0; i++) {
            rc = dur_step(engine, 0);
            nth_told(report, "dur_step", rc < 0 ? rc : 0, dur_error(engine));
        }
    }
    dur_close(engine);
}

static void verify_recover(const char *dir, struct nth_report *report)
{
    dur_engine *engine = open_well(dir, report);
    serve_to_end(engine, report);
    check_result(engine, "v", "[7,0]", report);
    check_result(engine, "w", EVERYTHING_IS, report);
    dur_close(engine);
    check_file(dir, report);
}

/* --- clients ---------------------------------------------------------------------------------- */

static void make_waiting(const char *dir)
{
    dur_engine *engine = open_well(dir, NULL);
    dur_start(engine, "waits", "asked", NULL, NULL);
    dur_start(engine, "waits", "told", NULL, NULL);
    dur_start(engine, "waits", "victim", NULL, NULL);
    while (dur_step(engine, 0) > 0) {
    }
    dur_close(engine);
}

static void *serve_thread(void *engine)
{
    dur_serve(engine, DUR_UNTIL_STOPPED);
    return NULL;
}

static void play_client(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    char *text = NULL;
    if (opens(report, &engine, dir)) {
        ack(report, ACK_STARTED, "dur_start", dur_start(engine, "everything", "w", "1", NULL),
            engine);
        ack(report, ACK_TOLD, "dur_signal_once", dur_signal_once(engine, "told", "go", "7", "s1"),
            engine);
        ack(report, ACK_CANCELLED, "dur_cancel", dur_cancel(engine, "victim", "enough"), engine);
        int rc = dur_query(engine, "asked", "kept", NULL, CLIENT_MS, &text);
        told(report, "dur_query", rc, engine);
        if (rc == DUR_OK && strcmp(text, "0") != 0) {
            nth_complain(report, "the query answered %s", text);
        }
        dur_free(text);
        text = NULL;
        ack(report, ACK_UPDATED, "dur_update",
            dur_update(engine, "asked", "set", "3", &text,
                       &(dur_update_options){.update_id = "u1", .wait = DUR_WAIT_ADMITTED}),
            engine);
        dur_free(text);
        dur_schedule daily = {.workflow_type = "leaf",
                              .cron = (const char *const[]){"0 4 * * *", NULL}};
        ack(report, ACK_SCHEDULE, "dur_schedule_set", dur_schedule_set(engine, "daily", &daily),
            engine);
    }
    dur_close(engine);
}

static void check_cancelled(dur_engine *engine, const char *id, struct nth_report *report)
{
    int rc = dur_result(engine, id, 0, NULL);
    if (rc != DUR_CANCELLED) {
        nth_complain(report, "run %s: code %d, not cancelled", id, rc);
    }
}

static void verify_client(const char *dir, struct nth_report *report)
{
    dur_engine *engine = open_well(dir, report);
    if (report->acks & ACK_STARTED) {
        must_exist(engine, "w", report);
    }
    if (!(report->acks & ACK_TOLD)) {
        dur_signal_once(engine, "told", "go", "7", "s1");
    }
    if (!(report->acks & ACK_CANCELLED)) {
        dur_cancel(engine, "victim", "enough");
    }
    if (!(report->acks & ACK_UPDATED)) {
        dur_update(engine, "asked", "set", "3", NULL,
                   &(dur_update_options){.update_id = "u1", .wait = DUR_WAIT_ADMITTED});
    }
    if (report->acks & ACK_SCHEDULE) {
        dur_schedule_info *info = NULL;
        if (dur_schedule_describe(engine, "daily", &info) != DUR_OK) {
            nth_complain(report, "the acknowledged schedule is lost: %s", dur_error(engine));
        }
        dur_schedule_info_free(info);
    }
    dur_schedule_remove(engine, "daily");
    while (dur_step(engine, 0) > 0) { /* the update comes before the end */
    }
    dur_close(engine);
    engine = open_well(dir, report);
    dur_signal_once(engine, "asked", "go", "8", "s2");
    finish_everything(engine, "w", report);
    check_result(engine, "told", "[7,0]", report);
    check_result(engine, "asked", "[8,3]", report);
    check_cancelled(engine, "victim", report);
    dur_close(engine);
    check_file(dir, report);
}

/* A client and the engine that serves it, each with a handle of its own. */
static void play_talk(const char *dir, struct nth_report *report)
{
    dur_engine *server, *engine;
    pthread_t thread;
    char *text = NULL;
    if (opens(report, &server, dir)) {
        atomic_store(&nth_shared()->is_off, true);
        pthread_create(&thread, NULL, serve_thread, server);
        atomic_store(&nth_shared()->is_off, false);
        if (opens(report, &engine, dir)) {
            const dur_update_options wait = {.update_id = "u1", .timeout_ms = CLIENT_MS};
            ack(report, ACK_UPDATED, "dur_update",
                dur_update(engine, "asked", "set", "3", &text, &wait), engine);
            dur_free(text);
            text = NULL;
            ack(report, ACK_TOLD, "dur_signal_once",
                dur_signal_once(engine, "told", "go", "7", "s1"), engine);
            told(report, "dur_result", dur_result(engine, "told", CLIENT_MS, &text), engine);
            dur_free(text);
        }
        dur_close(engine);
        dur_stop(server);
        atomic_store(&nth_shared()->is_off, true);
        pthread_join(thread, NULL);
        atomic_store(&nth_shared()->is_off, false);
    }
    dur_close(server);
}

static void verify_talk(const char *dir, struct nth_report *report)
{
    report->acks |= ACK_CANCELLED;
    dur_engine *engine = open_well(dir, report);
    dur_cancel(engine, "victim", "enough");
    dur_close(engine);
    verify_client(dir, report);
}

/* --- upgrading -------------------------------------------------------------------------------- */

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "nth: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
    sqlite3_close(db);
}

static int64_t ask_version(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t version = -1;
    sqlite3_open(path, &db);
    sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL);
    if (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        version = sqlite3_column_int64(stmt, 0);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return version;
}

static void make_old(const char *dir)
{
    const char *top = getenv("abs_top_srcdir");
    autofree char *dump = mem_printf("%s/tests/golden/store-0001.dump", top ? top : ".");
    autofree char *path = store_of(dir);
    autostr struct str sql = {0};
    struct err err = {0};
    if (fs_read_file(dump, 1 << 20, &sql, &err) < 0) {
        fprintf(stderr, "nth: %s\n", err.text);
        exit(1);
    }
    run_sql(path, str_c(&sql));
    run_sql(path, "PRAGMA journal_mode = WAL");
}

static void play_upgrade(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    opens(report, &engine, dir);
    dur_close(engine);
}

static void verify_upgrade(const char *dir, struct nth_report *report)
{
    autofree char *copy = fs_join(dir, "e.db.before-1");
    dur_engine *engine = open_well(dir, report);
    dur_close(engine);
    check_file(dir, report);
    if (!fs_exists(copy)) {
        nth_complain(report, "no copy of the old store is there");
    } else if (ask_version(copy) != 1) {
        nth_complain(report, "the copy is none of the old store");
    }
}

/* --- histories -------------------------------------------------------------------------------- */

static void make_closed(const char *dir)
{
    dur_engine *engine = open_well(dir, NULL);
    dur_start(engine, "everything", "w", "1", NULL);
    dur_serve(engine, DUR_UNTIL_IDLE);
    dur_close(engine);
}

static int gather(void *user, const void *bytes, size_t len)
{
    str_addn(user, bytes, len);
    return 0;
}

static void play_histories(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    autostr struct str bytes = {0};
    char *json = NULL, *text = NULL;
    if (opens(report, &engine, dir)) {
        told(report, "dur_history", dur_history(engine, "w", &json), engine);
        if (json) {
            told(report, "dur_replay", dur_replay(engine, json, &text), engine);
        }
        dur_free(text);
        text = NULL;
        if (told(report, "dur_export", dur_export(engine, "w", DUR_FORM_PROTOBUF, gather, &bytes),
                 engine) == DUR_OK) {
            ack(report, ACK_IMPORTED, "dur_import",
                dur_import(engine, bytes.ptr, bytes.len, &text,
                           &(dur_import_options){.id = "twin"}),
                engine);
        }
        dur_free(text);
        dur_free(json);
    }
    dur_close(engine);
}

static void verify_histories(const char *dir, struct nth_report *report)
{
    dur_engine *engine = open_well(dir, report);
    check_result(engine, "w", EVERYTHING_IS, report);
    if (report->acks & ACK_IMPORTED) {
        check_result(engine, "twin", EVERYTHING_IS, report);
    }
    dur_close(engine);
    check_file(dir, report);
}

/* --- retention -------------------------------------------------------------------------------- */

#define LEAVES 6 /* they close one after another, so the last one is the newest */

static void make_many(const char *dir)
{
    dur_engine *engine = open_well(dir, NULL);
    dur_start(engine, "everything", "w", "1", NULL);
    dur_serve(engine, DUR_UNTIL_IDLE);
    for (int i = 0; i < LEAVES; i++) {
        autofree char *id = mem_printf("leaf-%d", i);
        dur_start(engine, "leaf", id, "4", NULL);
        dur_serve(engine, DUR_UNTIL_IDLE);
    }
    dur_close(engine);
    make_waiting(dir);
}

static void play_purge(const char *dir, struct nth_report *report)
{
    dur_engine *engine;
    dur_purged would, gone;
    if (opens(report, &engine, dir)) {
        told(report, "dur_purge of a dry run",
             dur_purge(engine, &would, &(dur_purge_options){.keep_runs = 2, .dry_run = 1}), engine);
        ack(report, ACK_PURGED, "dur_purge",
            dur_purge(engine, &gone, &(dur_purge_options){.keep_runs = 2}), engine);
    }
    dur_close(engine);
}

static int count_closed(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    *(int *)user += d->status != DUR_RUNNING;
    return 0;
}

/* What an interrupted purge left is whole, newest first; the next one brings it to its end. */
static void verify_purge(const char *dir, struct nth_report *report)
{
    dur_engine *engine = open_well(dir, report);
    int closed = 0, kept = 0;
    dur_list(engine, 0, 0, 1000, count_closed, &closed);
    if (closed < 2 || (report->acks & ACK_PURGED && closed != 2)) {
        nth_complain(report, "%d closed runs are left, and the newest 2 were to stay", closed);
    }
    if (dur_purge(engine, NULL, &(dur_purge_options){.keep_runs = 2}) != DUR_OK) {
        nth_complain(report, "a second purge fails: %s", dur_error(engine));
    }
    dur_list(engine, 0, 0, 1000, count_closed, &kept);
    if (kept != 2) {
        nth_complain(report, "a second purge leaves %d closed runs", kept);
    }
    check_result(engine, "leaf-4", "4", report);
    check_result(engine, "leaf-5", "4", report);
    dur_signal_once(engine, "told", "go", "7", "s1");
    while (dur_step(engine, 0) > 0) { /* open runs are as they were */
    }
    check_result(engine, "told", "[7,0]", report);
    dur_close(engine);
    check_file(dir, report);
}

const struct nth_path engine_paths[] = {
    {.name = "fresh",
     .about = "open a fresh store, start a run, close",
     .play = play_fresh,
     .verify = verify_started},
    {.name = "recover",
     .about = "open a store that was broken off, take some turns",
     .make = make_broken_off,
     .play = play_recover,
     .verify = verify_recover},
    {.name = "client",
     .about = "start, signal, cancel, query, update, schedule",
     .make = make_waiting,
     .play = play_client,
     .verify = verify_client},
    {.name = "talk",
     .about = "update, signal and wait for a result of a serving engine",
     .make = make_waiting,
     .play = play_talk,
     .verify = verify_talk},
    {.name = "serve",
     .about = "serve activities, heartbeats, timers, children, blobs",
     .make = make_started,
     .play = play_serve,
     .verify = verify_started},
    {.name = "upgrade",
     .about = "open a store of 0.1.0: migrate, with a copy",
     .make = make_old,
     .play = play_upgrade,
     .verify = verify_upgrade},
    {.name = "histories",
     .about = "history, replay, export, import",
     .make = make_closed,
     .play = play_histories,
     .verify = verify_histories},
    {.name = "purge",
     .about = "closed runs go",
     .make = make_many,
     .play = play_purge,
     .verify = verify_purge},
    {0},
};
