/*
 * sim.h - the simulator: the whole engine from one seed.
 *
 * Owns: what its files share. A seed makes random workflow programs, clients that start them and
 * talk to them, the clock with its jumps, the disk with its failures, and the instants at which the
 * process dies. The seed is played twice: undisturbed, and with crashes. The programs' results must
 * be the same, and after every crash the store must hold the twelve invariants (invariant.c).
 *
 *     simulate.c   the command: seeds, generations of processes, verdicts, plants
 *     world.c      one generation: an engine under a virtual clock, a client, what they do
 *     client.c     what the clients of a seed do, and when
 *     program.c    the workflow programs and their activities
 *     invariant.c  what must hold after a crash
 *
 * Each generation is a process of its own over the fault disk (selftest/fault_disk.h) in a
 * directory in memory: what a SIGKILL or a power cut leaves is what the next one finds. What a
 * client was told, and what activities saw, stands on the board, a mapping that all generations
 * share. Invariant: everything that happens is a function of the seed. Time is the engine's virtual
 * clock, randomness is the seed's, and the loop waits for activities before each turn, so neither
 * threads nor the speed of the machine matter; a hash over the disk's operations and all histories
 * says so.
 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "durable.h"
#include "selftest/fault_disk.h"

#define SIM_RUNS_MAX 4
#define SIM_ACTIONS_MAX 64
#define SIM_SLOTS 4096 /* of what activities note; a power of two */
#define SIM_WHY_BYTES 1024
#define SIM_TEXT_BYTES 128

/* --- dice ------------------------------------------------------------------------------------- */

struct dice {
    uint64_t state;
};
static inline uint64_t sim_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
static inline uint64_t dice_next(struct dice *dice)
{
    return sim_mix(dice->state += 0x9E3779B97F4A7C15u);
}
static inline int dice_roll(struct dice *dice, int sides) /* 0 .. sides - 1 */
{
    return (int)(dice_next(dice) % (uint64_t)sides);
}
static inline struct dice dice_of(uint64_t seed, uint64_t what)
{
    return (struct dice){sim_mix(seed * 0x9E3779B97F4A7C15u + sim_mix(what + 1))};
}

/* --- the invariants of the survey's section F1 --- */

enum invariant {
    INV_NONE,
    INV_ACKNOWLEDGED, /*  1 what a client was told is there */
    INV_UNCHANGED,    /*  2 what was recorded does not change */
    INV_ONCE,         /*  3 at most one end of a step; what runs at most once is not run twice */
    INV_DERIVED,      /*  4 what is pending is what the histories say */
    INV_ALIVE,        /*  5 who is said to run does run */
    INV_SLOTS,        /*  6 slots taken = attempts that live */
    INV_ORPHANS,      /*  7 no row without its parent, no blob without its reference */
    INV_CHAIN,        /*  8 histories go on from where they were, without a gap */
    INV_TIMERS,       /*  9 not early, not late */
    INV_SIZE,         /* 10 the file is small again after a purge */
    INV_IDEMPOTENT,   /* 11 recovering twice is recovering once */
    INV_NEWER,        /* 12 an older program refuses, and touches nothing */
    INV_OUTCOME,      /* the results of the undisturbed play */
    INV_STUCK,        /* it goes on to its end */
    INVARIANTS
};
const char *invariant_name(enum invariant invariant);

/* --- what clients do -------------------------------------------------------------------------- */

enum action_kind {
    ACT_START,
    ACT_SIGNAL,
    ACT_UPDATE,
    ACT_QUERY,
    ACT_PAUSE,
    ACT_RESUME,
    ACT_CANCEL,
    ACT_TERMINATE,
    ACT_RESULT,   /* only looks */
    ACT_LIST,     /* the same */
    ACT_SET_WALL, /* not a client's: somebody sets the clock */
    ACT_SUSPEND   /* the machine sleeps */
};

struct action {
    int64_t at_ms; /* after the beginning, by the time that really passes */
    enum action_kind kind;
    int run;
    int number;    /* signals and updates of a run: which; clock: milliseconds */
    bool by_other; /* by a handle of another program, not by the one that serves */
};

struct plan {
    uint64_t seed;
    int runs;
    int signals[SIM_RUNS_MAX], updates[SIM_RUNS_MAX], laps[SIM_RUNS_MAX];
    bool is_victim[SIM_RUNS_MAX]; /* cancelled or terminated: its result is left open */
    struct action actions[SIM_ACTIONS_MAX];
    int count;
};

void plan_make(uint64_t seed, struct plan *ret); /* client.c */

/* --- the board --- */

enum { TOLD_NOTHING, TOLD_DONE, TOLD_GONE };

/* What activities note, by a number of the step that is unique in the seed. */
struct slot {
    _Atomic uint64_t key;               /* 0: free */
    _Atomic int64_t begun_ns, ended_ns; /* boot time; of a timer: between the steps around it */
    _Atomic int starts;
};

struct board {
    _Atomic int64_t boot_ns, wall_offset_ns; /* when the generation died */
    _Atomic int64_t lost_ns; /* time that passed while no engine ran or the machine slept */
    _Atomic int next;        /* action that comes next */
    _Atomic int told[SIM_ACTIONS_MAX];
    char result[SIM_RUNS_MAX][SIM_TEXT_BYTES];  /* as dur_result said it; "": not asked yet */
    char outcome[SIM_RUNS_MAX][SIM_TEXT_BYTES]; /* when all are at their end */
    _Atomic int finished;                       /* all runs are at their end */
    _Atomic int broken;                         /* enum invariant, first come */
    char why[SIM_WHY_BYTES];
    struct slot slots[SIM_SLOTS];
};

/* Notes the first violation. */
void board_break(struct board *board, enum invariant invariant, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct slot *board_slot(struct board *board, uint64_t key); /* made if need be */

/* --- plants: an engine or a disk that is wrong on purpose --------------------------------------
 */

struct plant {
    const char *name;
    enum invariant finds;
    enum fault_plant disk; /* the disk lies */
    const char *sql;       /* what the bug has done to the store by the next start; or NULL */
    bool at_end;           /* when all runs have ended, instead of after a crash */
    bool in_life;          /* while the engine serves */
    bool is_ours;          /* what the simulator does itself (world.c) */
    int64_t seed;          /* one that finds it */
};
extern const struct plant sim_plants[]; /* ends with a NULL name */

/* --- one generation --------------------------------------------------------------------------- */

struct world {
    const struct plan *plan;
    struct board *board;
    const struct plant *plant; /* or NULL */
    char *path;                /* of the store */
    uint64_t generation;
    dur_engine *engine, *other;
    struct sqlite3 *watcher; /* invariant_live() looks through it */
};

extern const dur_migration sim_schema[]; /* program.c: a table that transactions write */
void program_register(dur_engine *engine, struct world *world);
/* In a process of its own; ends it by _exit(0), or the disk does. */
void world_live(struct world *world) __attribute__((noreturn));
/* Opens the store under the virtual clock, with the code registered. NULL: the disk failed. */
dur_engine *world_open(struct world *world, const char *vfs);
void world_close(struct world *world);

/* --- after a generation ------------------------------------------------------------------------
 */

/* In a process of its own, on the plain disk. `kept` is a directory for what the next check
 * compares with. *ret_trace: what the histories say, for the hash. */
void invariant_check(struct world *world, const char *kept, _Atomic uint64_t *ret_trace);
/* When all has ended: 10, 11, 12 and the outcome. outcome[r]: of the undisturbed play, or NULL. */
void invariant_end(struct world *world, const char *const outcome[SIM_RUNS_MAX]);
/* Removes most closed runs, on the disk that fails. Then, in a process of its own: what is left is
 * whole, and when all is removed the file is as small as a new one (10). */
void world_purge(struct world *world) __attribute__((noreturn));
void invariant_purged(struct world *world, const char *kept, int64_t new_bytes);
/* While it serves, between two turns: 5 and 6. */
void invariant_live(struct world *world);
void invariant_look_away(struct world *world);
/* "Completed 1234", "Failed ..." of the newest run of each id; dur_free-less: malloced. */
char *invariant_outcome(dur_engine *engine, int run);

#endif
