/*
 * script.h - the workload that the sweep disturbs: eleven runs that use what the engine has.
 *
 * Owns: the runs (sequences, fan-out, timers, signals, cancel with cleanup, retries, heartbeat
 * details, memo, payloads that become blobs, children, a chain), the client that starts them and
 * waits for them, and what must hold after a crash: nothing that was acknowledged is missing, the
 * file is whole, the script goes on to the outcome of the undisturbed play, every history validates
 * and replays, nothing is left that waits for nobody, serving again changes nothing.
 * The client is idempotent, as a client should be. Errors that pass must not end it.
 * Used through script_subject() alone; flows.c has the runs' code, script.c plays, judge.c judges.
 */
#ifndef SELFTEST_SCRIPT_H
#define SELFTEST_SCRIPT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "durable.h"
#include "selftest/sweep.h"

enum script_run {
    SCRIPT_CHAIN,
    SCRIPT_SLEEPER,
    SCRIPT_WAITER,
    SCRIPT_POKER,
    SCRIPT_VICTIM,
    SCRIPT_FLAKY,
    SCRIPT_BEATEN,
    SCRIPT_LARGE,
    SCRIPT_FAN,
    SCRIPT_FAMILY,
    SCRIPT_RELAY,
    SCRIPT_RUNS
};
#define SCRIPT_RELAY_RUNS 3 /* the relay continues as new twice; the others are one run each */
const char *script_run_name(enum script_run run);
/* A JSON string of so many letters, in the attempt's memory. */
const char *script_letters(dur_activity *act, int bytes);

/* A client or program that is wrong on purpose: what tests plant to see that it is found. */
enum script_plant {
    SCRIPT_HONEST,
    SCRIPT_ACKS_EARLY,   /* says that a run is started before it is */
    SCRIPT_STARTS_TWICE, /* starts anew what it started already */
    SCRIPT_UNSTABLE,     /* results that are other ones after a crash */
    SCRIPT_FORGETS,      /* after a crash, does not send what a run waits for */
    SCRIPT_CRASHES,      /* after a crash, the next engine crashes too */
};

/* What the sweep's user pointer is. */
struct script {
    const char *keyring_file; /* payloads are sealed with it; NULL: not at all */
    enum script_plant plant;
    int64_t patience_ms; /* a play that takes longer hangs; 0: 50 s */
};

/* What the client was told; shared by the play and its judge. */
struct script_board {
    atomic_int started[SCRIPT_RUNS];
    atomic_int finished[SCRIPT_RUNS]; /* dur_result answered */
    atomic_int go, poked, cancelled;
    atomic_int beaten;    /* heartbeat details acknowledged to an attempt */
    atomic_int forgotten; /* a later attempt did not get them */
    atomic_int plays;
};

#define SCRIPT_OUTCOME_BYTES 256

/* How it ends undisturbed. */
struct script_known {
    char outcome[SCRIPT_RUNS][SCRIPT_OUTCOME_BYTES];
};

struct sweep_subject script_subject(const struct script *script);

/* --- between the three files ------------------------------------------------------------------ */

struct script_engine {
    dur_engine *engine;
    struct script_board *board;
    const struct script *script;
    const struct sweep_stage *stage;
    char *path;
};
/* On stage->vfs. False: `why` says it. Close in any case. */
bool script_open(const struct sweep_stage *stage, struct script_engine *ret);
void script_close(struct script_engine *engine);
void script_register(struct script_engine *engine); /* flows.c */
/* The client's part and the engine's. True: all runs came to their end and the engine with them. */
bool script_play(const struct sweep_stage *stage);

enum sweep_harm script_judge(const struct sweep_stage *stage);
/* Write into known how all runs ended. SWEEP_GOOD, or what is wrong with them. */
enum sweep_harm script_outcomes(const struct sweep_stage *stage, struct script_known *ret);

#endif
