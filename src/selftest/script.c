/*
 * script.c - see script.h. The client that starts the runs and waits for them, beside the engine
 * that serves them. Tests: tests/crash/test_crash_engine.c
 */
#include "selftest/script.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#define PATIENCE_MS 50000
#define TRIES 50
#define STORE_MAX_BYTES (64U << 20)

const char *script_run_name(enum script_run run)
{
    static const char *const names[SCRIPT_RUNS] = {"chain",  "sleeper", "waiter", "poker",
                                                   "victim", "flaky",   "beaten", "large",
                                                   "fan",    "family",  "relay"};
    return names[run];
}

/* The last words of an engine are why it did not end well, unless somebody knows better. */
static void hear(void *user, int level, const char *line)
{
    (void)level;
    const struct script_engine *engine = user;
    sweep_say(engine->stage, "%s", line);
}

bool script_open(const struct sweep_stage *stage, struct script_engine *ret)
{
    const struct script *script = stage->user;
    dur_options options = {.vfs = stage->vfs,
                           .reserve_bytes = -1,
                           .min_free_bytes = -1,
                           .chain_spacing_ms = -1,
                           .keyring_file = script->keyring_file,
                           .on_log = hear,
                           .on_log_user = ret};
    *ret = (struct script_engine){.board = stage->board,
                                  .script = script,
                                  .stage = stage,
                                  .path = fs_join(stage->dir, "store.db")};
    for (int tries = 0; tries < 5; tries++) {
        if (dur_open(&ret->engine, ret->path, &options) == DUR_OK) {
            script_register(ret);
            return true;
        }
        sweep_say(stage, "%s", dur_error(ret->engine));
        dur_close(ret->engine);
        ret->engine = NULL;
    }
    return false;
}

void script_close(struct script_engine *engine)
{
    dur_close(engine->engine);
    free(engine->path);
    engine->engine = NULL;
    engine->path = NULL;
}

/* --- the client ------------------------------------------------------------------------------- */

/* Repeated until it is acknowledged; false: never. */
static bool start_run(struct script_engine *engine, enum script_run run)
{
    struct script_board *board = engine->board;
    const char *name = script_run_name(run);
    bool is_careless = engine->script->plant == SCRIPT_STARTS_TWICE && run == SCRIPT_FAN;
    dur_start_options options = {.reuse = is_careless ? DUR_REUSE_ALLOW : DUR_REUSE_REJECT,
                                 .conflict =
                                     is_careless ? DUR_CONFLICT_USE_EXISTING : DUR_CONFLICT_FAIL,
                                 .request_id = is_careless ? NULL : name,
                                 .memo = run == SCRIPT_WAITER ? "{\"kept\":1}" : NULL};
    if (engine->script->plant == SCRIPT_ACKS_EARLY) {
        atomic_store(&board->started[run], 1);
    }
    for (int tries = 0; tries < TRIES; tries++) {
        if (dur_start(engine->engine, name, name, "7", &options) == DUR_OK) {
            atomic_store(&board->started[run], 1);
            return true;
        }
        sweep_say(engine->stage, "%s", dur_error(engine->engine));
        clock_sleep_ms(tries);
    }
    return false;
}

static bool send_go(struct script_engine *engine)
{
    if (engine->script->plant == SCRIPT_FORGETS && engine->board->plays > 1) {
        return true;
    }
    for (int tries = 0; tries < TRIES; tries++) {
        int rc = dur_signal(engine->engine, "waiter", "go", "1");
        if (rc == DUR_OK || rc == DUR_NOT_FOUND) { /* it ended: it had one */
            atomic_store(&engine->board->go, 1);
            return true;
        }
        sweep_say(engine->stage, "%s", dur_error(engine->engine));
    }
    return false;
}

/* What was acknowledged is not asked again. */
static bool ask_all(struct script_engine *engine)
{
    struct script_board *board = engine->board;
    for (int run = 0; run < SCRIPT_RUNS; run++) {
        bool is_there = atomic_load(&board->started[run]) &&
                        (engine->script->plant != SCRIPT_STARTS_TWICE || run != SCRIPT_FAN);
        if (!is_there && !start_run(engine, (enum script_run)run)) {
            return false;
        }
    }
    return atomic_load(&board->go) || send_go(engine);
}

static bool await_all(struct script_engine *engine)
{
    int64_t patience_ms = engine->script->patience_ms;
    int64_t until = clock_mono_ns() + (patience_ms > 0 ? patience_ms : PATIENCE_MS) * NS_PER_MS;
    for (int run = 0; run < SCRIPT_RUNS; run++) {
        int rc = DUR_TIMED_OUT;
        while ((rc == DUR_TIMED_OUT || rc == DUR_IO) && clock_mono_ns() < until) {
            rc = dur_result(engine->engine, script_run_name((enum script_run)run), 1000, NULL);
        }
        if (rc != DUR_OK && rc != DUR_CANCELLED) {
            sweep_say(engine->stage, "%s did not end: %s", script_run_name((enum script_run)run),
                      dur_code_name(rc));
            return false;
        }
        atomic_store(&engine->board->finished[run], 1);
    }
    return true;
}

static void *serve(void *user)
{
    struct script_engine *engine = user;
    int rc = dur_serve(engine->engine, DUR_UNTIL_STOPPED);
    if (rc != DUR_OK) {
        sweep_say(engine->stage, "%s", dur_error(engine->engine));
    }
    return rc == DUR_OK ? NULL : engine;
}

bool script_play(const struct sweep_stage *stage)
{
    pthread_t thread;
    void *failed = NULL;
    struct script_engine engine;
    struct script_board *board = stage->board;
    bool is_good = script_open(stage, &engine);
    if (atomic_fetch_add(&board->plays, 1) > 0 && engine.script->plant == SCRIPT_CRASHES) {
        raise(SIGABRT);
    }
    is_good = is_good && ask_all(&engine);
    if (is_good) {
        pthread_create(&thread, NULL, serve, &engine);
        is_good = await_all(&engine);
        dur_stop(engine.engine);
        pthread_join(thread, &failed);
    }
    script_close(&engine);
    return is_good && !failed;
}

/* --- the subject ------------------------------------------------------------------------------ */

static char *template_path(const struct sweep_stage *stage)
{
    return fs_join(stage->base, "template.db");
}

/* An empty store, so that the sweep is the engine's and not that of the migrations. */
static bool make_template(const struct sweep_stage *stage)
{
    struct sweep_stage good = *stage;
    struct script keyless = *(const struct script *)stage->user;
    struct script_engine engine;
    autofree char *template = template_path(stage);
    good.vfs = NULL;
    good.user = &keyless;
    keyless.keyring_file = NULL;
    bool is_good = script_open(&good, &engine);
    autofree char *path = mem_strdup(engine.path);
    script_close(&engine);
    if (is_good && rename(path, template) < 0) {
        sweep_say(stage, "%s cannot be renamed", path);
        is_good = false;
    }
    return is_good;
}

static bool copy_template(const struct sweep_stage *stage)
{
    autostr struct str bytes = {0};
    struct err err = {0};
    autofree char *template = template_path(stage);
    autofree char *path = fs_join(stage->dir, "store.db");
    if (fs_read_file(template, STORE_MAX_BYTES, &bytes, &err) < 0 ||
        fs_write_file(path, bytes.ptr, bytes.len, 0600, &err) < 0) {
        sweep_say(stage, "%s", err.text);
        return false;
    }
    return true;
}

static int play(const struct sweep_stage *stage)
{
    return copy_template(stage) && script_play(stage) ? 0 : -1;
}

static int learn(const struct sweep_stage *stage)
{
    struct sweep_stage good = *stage;
    good.vfs = NULL;
    return make_template(stage) && play(stage) == 0 &&
                   script_outcomes(&good, stage->known) == SWEEP_GOOD
               ? 0
               : -1;
}

struct sweep_subject script_subject(const struct script *script)
{
    return (struct sweep_subject){.known_bytes = sizeof(struct script_known),
                                  .board_bytes = sizeof(struct script_board),
                                  .learn = learn,
                                  .play = play,
                                  .judge = script_judge,
                                  .user = script};
}
