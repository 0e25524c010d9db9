/*
 * scenario.h - one workflow that shows one primitive, from which the harness makes every proof.
 *
 * A scenario is a file of this directory with one or more `struct scenario`, each declared by
 * SCENARIO(variable); list the file in tests/scenario/Makefile.inc. For each the harness
 * (scenario.c) does, in processes and directories of its own:
 *
 *   run      drive() and serve until idle; the run ends with `status` and `result`
 *   golden   the histories of all runs, oldest first, equal NAME-1.json, NAME-2.json ... in
 *            tests/golden/scenario (run ids, times, identities apart), validate without a
 *            warning, and are replayed by the code
 *   changed  setup(engine, true) registers code that asks for something else: replaying the
 *            golden histories with it must report a mismatch
 *   crash    for every commit k: SIGKILL right after it, then another process drives and
 *            serves; it ends with the same status and result; every history validates and
 *            replays
 *   cancel   the same, and the run is cancelled before it goes on: it ends, as cancelled for at
 *            least one k unless ignores_cancel says why not
 *
 * make check takes a sample of the commits, make check-long all of them.
 * UPDATE_GOLDEN=1 in the environment writes the golden files anew. `scenarios --list` names them,
 * `scenarios NAME...` plays some, `scenarios --export DIR [NAME...]` writes their histories,
 * `scenarios --judge DIR [NAME...]` replays those that are there (judge.c),
 * `scenarios --server ADDRESS NAMESPACE DIR [NAME...]` plays some on a Temporal server (server.c);
 * DIR kill: a worker is killed on the way; cancel: the run is cancelled.
 *
 * Rules for a scenario: deterministic (whatever drive() sends is sent before the engine serves, or
 * by during() at a point that the history cannot tell); quick (timers of milliseconds; nothing
 * sleeps longer than 0.2 s); drive() and during() may be called again after a crash and must then
 * do no harm (scenario_start); DUR_EXISTS and DUR_NOT_FOUND are fine answers there.
 */
#ifndef TESTS_SCENARIO_H
#define TESTS_SCENARIO_H

#include <stdbool.h>

#include "durable.h"

struct scenario {
    const char *name;      /* "activity-retry": of files and reports */
    const char *primitive; /* "Activities: retry policy", for the table */
    const char *type;      /* of the main run, which drive() starts */
    const char *id;
    const char *input;  /* JSON or NULL */
    const char *result; /* of a completed run; NULL: not looked at */
    dur_status status;  /* 0: DUR_COMPLETED */
    /* Registers workflows and activities. changed: the main workflow's code asks for something
     * else. 0 good. */
    int (*setup)(dur_engine *engine, bool changed);
    /* Starts it and tells it what it needs. NULL: scenario_start(type, id, input). 0 good. */
    int (*drive)(dur_engine *engine);
    /* In a thread of its own while the engine serves: queries, updates. NULL: nothing. */
    void (*during)(dur_engine *engine);
    bool is_slow; /* it waits for whole seconds: make check takes one commit of each sweep */
    const char *ignores_cancel;  /* why a cancel request does not end it, or NULL */
    const char *varies;          /* why histories differ from play to play (parallel work), or NULL:
                                  * the golden ones are then replayed, not compared */
    const dur_migration *schema; /* tables of its own in the store, or NULL */
    const char *no_change;       /* why no change of code can mismatch, or NULL */
    const char *no_golden; /* why it has no golden histories, or NULL; it is then only run, and
                            * exported by its name alone */
    const char *no_server; /* why it cannot be played on a Temporal server, or NULL */
    struct scenario *next; /* the harness's */
};

void scenario_add(struct scenario *scenario);
#define SCENARIO(variable)                                                                         \
    __attribute__((constructor)) static void add_##variable(void)                                  \
    {                                                                                              \
        scenario_add(&(variable));                                                                 \
    }

/* An activity that returns its input. */
int scenario_echo(dur_activity *act, const char *input, const char **result, void *user);
/* setup() of workflows that need "Echo" only: `return scenario_register(engine, type, fn);` */
int scenario_register(dur_engine *engine, const char *type, dur_workflow_fn fn);
/* dur_start that may be repeated after a crash: the same call does not start a second run. */
int scenario_start(dur_engine *engine, const char *type, const char *id, const char *input);
/* An update, sent before the engine serves; in drive(). Its outcome is nobody's. */
int scenario_update(dur_engine *engine, const char *id, const char *update_id, const char *name,
                    const char *input);
/* The engine's runs live on a Temporal server. */
bool scenario_on_server(void);
/* Options of activities in scenarios: short retries. */
extern const dur_activity_options scenario_quick;

#endif
