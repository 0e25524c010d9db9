/*
 * test_crash_clients.c - clients of several processes race with each other, with an engine that
 * keeps few runs in memory, and with its death.
 *
 * Three processes start, signal, cancel, terminate and describe the same dozen ids for a bounded
 * time while the engine is killed and followed by another again and again. Every signal carries a
 * number of its own. Afterwards: the full check finds nothing, each acknowledged signal is in a
 * history once, no call was refused for a reason of its own making, every run can be brought to its
 * end, and each history validates and replays.
 */
#include <criterion/criterion.h>
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
#include "base/mem.h"
#include "durable.h"
#include "history/json.h"
#include "history/validate.h"
#include "journal/store.h"
#include "tests/lib/temp_path.h"

#define CLIENTS 3
#define IDS 12
#define SIGNALS_MAX 4000 /* of one client */
#define ENGINES 6        /* lives of an engine */
#define ENGINE_MS 350    /* of each */
#define CACHED_RUNS 3

struct board {
    atomic_int acked[CLIENTS][SIGNALS_MAX];
    atomic_int stop;
    char why[256]; /* a refusal that nothing explains */
};

static struct board *board;
static char *path;

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

/* Takes signals until it is cancelled; every third costs an activity and a short sleep. */
static int collect(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *got;
    int rc = DUR_OK;
    (void)input;
    (void)result;
    (void)user;
    for (int i = 1; rc == DUR_OK; i++) {
        rc = dur_receive(ctx, "n", -1, &got);
        if (rc == DUR_OK && i % 3 == 0) {
            rc = dur_run(ctx, "echo", got, NULL, NULL);
        }
        if (rc == DUR_OK && i % 5 == 0) {
            rc = dur_sleep(ctx, 2);
        }
    }
    dur_run(dur_disconnected(ctx), "echo", "\"bye\"", NULL, NULL);
    return rc;
}

static void quiet(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static dur_engine *open_engine(void)
{
    dur_engine *engine;
    dur_options options = {
        .max_cached_runs = CACHED_RUNS, .reserve_bytes = -1, .min_free_bytes = -1, .on_log = quiet};
    int rc = dur_open(&engine, path, &options);
    if (rc != DUR_OK) {
        snprintf(board->why, sizeof(board->why), "open: %s", dur_error(engine));
    }
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "collect", collect, NULL);
    return engine;
}

/* xorshift: each client has its own sequence, the same in each run of the test. */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void play_client(int client)
{
    dur_engine *engine = open_engine();
    uint64_t state = 0x9E3779B97F4A7C15u + (uint64_t)client * 77;
    int sent = 0;
    while (!atomic_load(&board->stop) && sent < SIGNALS_MAX) {
        char id[16], input[32];
        const char *what = "signal";
        dur_description *d = NULL;
        uint64_t dice = next(&state) % 100;
        int rc;
        snprintf(id, sizeof(id), "w%d", (int)(next(&state) % IDS));
        snprintf(input, sizeof(input), "\"s-%d-%d-\"", client, sent);
        if (dice < 60) {
            rc = dur_signal(engine, id, "n", input);
            atomic_store(&board->acked[client][sent++], rc == DUR_OK);
        } else if (dice < 80) {
            what = "start";
            rc = dur_start(engine, "collect", id, NULL, NULL);
        } else if (dice < 87) {
            what = "cancel";
            rc = dur_cancel(engine, id, "chaos");
        } else if (dice < 92) {
            what = "terminate";
            rc = dur_terminate(engine, id, "chaos");
        } else {
            what = "describe";
            rc = dur_describe(engine, id, &d);
            dur_description_free(d);
        }
        if (rc != DUR_OK && rc != DUR_NOT_FOUND && rc != DUR_EXISTS) {
            snprintf(board->why, sizeof(board->why), "%s: %s", what, dur_error(engine));
        }
        clock_sleep_ms((int64_t)(next(&state) % 3));
    }
    dur_close(engine);
}

static pid_t start_child(int client)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (client >= 0) {
            play_client(client);
        } else {
            dur_serve(open_engine(), DUR_UNTIL_STOPPED);
        }
        _exit(0);
    }
    return pid;
}

/* How often each signal is in a history. */
static void count_signals(int (*seen)[SIGNALS_MAX])
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(
        sqlite3_prepare_v2(db, "SELECT attributes FROM event WHERE type = 26", -1, &stmt, NULL),
        SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *text = strstr((const char *)sqlite3_column_text(stmt, 0), "s-");
        char *end;
        cr_assert_not_null(text);
        long client = strtol(text + 2, &end, 10);
        long number = strtol(end + 1, NULL, 10);
        cr_assert(client >= 0 && client < CLIENTS && number >= 0 && number < SIGNALS_MAX);
        seen[client][number]++;
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

struct look {
    dur_engine *engine;
    int runs;
    int64_t last;
};

static int look_at(void *user, int64_t token, const dur_description *d)
{
    struct look *look = user;
    char *json = NULL, *report = NULL;
    struct err err;
    struct history history;
    autoarena struct arena *arena = arena_new();
    autostr struct str warnings = {0};
    autofree char *id = mem_printf("%s@%s", d->workflow_id, d->run_id);
    cr_assert_neq(d->status, DUR_RUNNING, "%s", id);
    cr_assert_null(d->parked, "%s", d->parked);
    cr_assert_eq(dur_history(look->engine, id, &json), DUR_OK, "%s", dur_error(look->engine));
    cr_assert_eq(history_from_json(arena, json, strlen(json), &history, &err), 0, "%s", err.text);
    cr_assert_eq(history_validate(&history, &warnings, &err), 0, "%s: %s\n%s", id, err.text, json);
    cr_assert_eq(dur_replay(look->engine, json, &report), DUR_OK, "%s\n%s", report ? report : "",
                 json);
    dur_free(json);
    dur_free(report);
    look->runs++;
    look->last = token;
    return 0;
}

static void look_at_all(dur_engine *engine)
{
    struct look look = {.engine = engine};
    int before;
    do {
        before = look.runs;
        cr_assert_eq(dur_list(engine, 0, look.last, 100, look_at, &look), DUR_OK);
    } while (look.runs > before);
    cr_assert_geq(look.runs, IDS);
    cr_log_info("%d runs", look.runs);
}

Test(crash_clients, race_with_turns_and_with_the_death_of_engines, .timeout = 120)
{
    static int seen[CLIENTS][SIGNALS_MAX];
    struct err err = {0};
    struct store *store = NULL;
    pid_t clients[CLIENTS];
    int acked = 0;
    path = temp_path("clients.db");
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(board, MAP_FAILED);
    dur_close(open_engine());
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = start_child(i);
    }
    for (int life = 0; life < ENGINES; life++) {
        pid_t engine = start_child(-1);
        clock_sleep_ms(ENGINE_MS);
        kill(engine, SIGKILL);
        waitpid(engine, NULL, 0);
    }
    atomic_store(&board->stop, 1);
    for (int i = 0; i < CLIENTS; i++) {
        int status = 1;
        cr_assert_eq(waitpid(clients[i], &status, 0), clients[i]);
        cr_assert_eq(status, 0);
    }
    cr_assert_str_eq(board->why, "");
    dur_engine *engine = open_engine();
    for (int i = 0; i < IDS; i++) {
        char id[16];
        snprintf(id, sizeof(id), "w%d", i);
        dur_start(engine, "collect", id, NULL, NULL);
        cr_assert_eq(dur_cancel(engine, id, "the end"), DUR_OK, "%s", dur_error(engine));
    }
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(engine));
    look_at_all(engine);
    dur_close(engine);
    cr_assert_eq(store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err), 0,
                 "%s", err.text);
    cr_assert_eq(store_check(store, &err), 0, "%s", err.text);
    store_close(store);
    count_signals(seen);
    for (int i = 0; i < CLIENTS; i++) {
        for (int n = 0; n < SIGNALS_MAX; n++) {
            cr_assert_eq(seen[i][n], atomic_load(&board->acked[i][n]), "signal %d of client %d", n,
                         i);
            acked += seen[i][n];
        }
    }
    cr_assert_gt(acked, 100);
    cr_log_info("%d signals were acknowledged", acked);
    munmap(board, sizeof(*board));
    free(path);
}
