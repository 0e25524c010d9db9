/*
 * sweep.h - one fault at every operation of a workload, and a table of what came of it.
 *
 * Owns: which points are tried and in what order, the processes that try them, the time they may
 * take, and the table. Must not: know the workload: a subject plays and judges.
 *
 *   sweep_run ─┬─ learn     the undisturbed play: how many operations there are, how it ends
 *              ├─ shard 1 ─ point: play (dies by the fault), then judge (on a good disk)
 *              └─ shard 2 ─ ...
 * Learning, every play and every judgement are processes of their own: what ends them is seen, and
 * nothing of them is left. All die with their parent. Invariant: a point is one fault of one mode
 * at one operation; the same seed tries the same points in the same order.
 * Call from a process with one thread; fault_disk_register() is done here.
 */
#ifndef SELFTEST_SWEEP_H
#define SELFTEST_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "selftest/fault_disk.h"

/* What a judge may find, worst first. */
enum sweep_harm {
    SWEEP_GOOD,
    SWEEP_LOST,    /* something was acknowledged and is not there */
    SWEEP_CORRUPT, /* the file does not stand SQLite's full check, or cannot be opened */
    SWEEP_BROKEN,  /* an invariant of the engine does not hold */
    SWEEP_DIFFERS, /* it ends otherwise than undisturbed */
    SWEEP_STUCK,   /* an error that passes ended it, or it cannot go on to its end */
    SWEEP_HARMS
};
const char *sweep_harm_name(enum sweep_harm harm); /* "lost", ...; a word that never changes */

#define SWEEP_WHY_BYTES 400

struct sweep_stage {
    const char *base; /* directory that all points share: what learn() leaves there */
    const char *dir;  /* of this point, empty at first */
    const char *vfs;  /* to play on; NULL: the good disk */
    void *known;      /* subject->known_bytes, zeroed; written by learn() */
    void *board;      /* subject->board_bytes, zeroed for each point; of its play and its judge */
    char *why;        /* SWEEP_WHY_BYTES for what went wrong */
    const void *user;
};
void sweep_say(const struct sweep_stage *stage, const char *fmt, ...) printf_like(2, 3);

struct sweep_subject {
    size_t known_bytes, board_bytes; /* of shared memory */
    /* Play undisturbed on stage->vfs, note in `known` how it ends. 0 good; else `why` says it. */
    int (*learn)(const struct sweep_stage *stage);
    /* Play on stage->vfs; note in `board` what is acknowledged. 0: it came to its end. */
    int (*play)(const struct sweep_stage *stage);
    /* On a good disk: is all there, does it go on, does it end well? */
    enum sweep_harm (*judge)(const struct sweep_stage *stage);
    const void *user;
};

#define SWEEP_PROCESS_FAULTS                                                                       \
    (1U << FAULT_KILL_BEFORE | 1U << FAULT_KILL_AFTER | 1U << FAULT_KILL_TORN | 1U << FAULT_EIO |  \
     1U << FAULT_FULL)
#define SWEEP_POWER_FAULTS (1U << FAULT_POWER_ALL | 1U << FAULT_POWER_HALF)
#define SWEEP_ALL_FAULTS (SWEEP_PROCESS_FAULTS | SWEEP_POWER_FAULTS)

struct sweep_table; /* below */
struct sweep_options {
    const char *dir;  /* an existing directory; what is made in it is removed again */
    unsigned faults;  /* bits 1 << enum fault_mode */
    int64_t points;   /* try so many, spread evenly; 0: all */
    int64_t limit_ms; /* begin no further point after this time (each process one at least); 0: no
                         limit */
    int64_t play_ms;  /* a play or judgement that takes longer is stuck; 0: a minute */
    int jobs;         /* processes at once; 0: two for each processor, as they often wait */
    uint64_t seed;    /* which points come first, and what the power cut forgets */
    enum fault_plant plant; /* of tests */
    /* Now and then, from the calling thread; true: stop, the table has what was tried. */
    bool (*progress)(void *user, const struct sweep_table *so_far);
    void *progress_user;
};

struct sweep_row {
    int64_t points;            /* tried */
    int64_t died;              /* the fault ended the process: the next one had to go on */
    int64_t unreached;         /* this play had fewer operations than the undisturbed one */
    int64_t harm[SWEEP_HARMS]; /* by kind; [SWEEP_GOOD]: without harm */
};

struct sweep_finding {
    enum fault_mode mode;
    int64_t at; /* operation */
    uint64_t seed;
    enum sweep_harm harm;
    char why[SWEEP_WHY_BYTES];
};
#define SWEEP_FINDINGS 20 /* the first ones; the table counts all */

struct sweep_table {
    int64_t operations; /* of the undisturbed play */
    int64_t syncs, commits;
    int64_t total; /* points that there are: operations x faults */
    struct sweep_row rows[FAULT_MODES];
    struct sweep_finding findings[SWEEP_FINDINGS];
    int finding_count;
    int64_t elapsed_ns;
    bool stopped; /* progress() said so */
};

/* 0: *table is filled, whatever the harm. <0: the sweep itself could not be done: the undisturbed
 * play did not end well ("SweepPlay"), a directory, a process that was killed from outside. */
int sweep_run(const struct sweep_subject *subject, const struct sweep_options *options,
              struct sweep_table *table, struct err *err);

struct sweep_row sweep_sum(const struct sweep_table *table); /* over all faults */
int64_t sweep_harmed(const struct sweep_table *table);       /* points with harm of any kind */
/* Rows by fault with a head and a sum, at most 60 columns; then the findings, a line or two each.
 */
void sweep_print(struct str *out, const struct sweep_table *table);

#endif
