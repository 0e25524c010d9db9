/*
 * selftest.h - the front door: an operator's own disk on trial.
 *
 * Owns: the order of probe and sweep, and the private directory in which both happen. Must not:
 * touch a real store, print, or leave anything behind, also when it is stopped.
 * Call from a process with one thread: it forks.
 */
#ifndef SELFTEST_SELFTEST_H
#define SELFTEST_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "selftest/probe.h"
#include "selftest/sweep.h"

struct selftest_options {
    const char *dir;  /* an existing, writable directory on the disk in question */
    bool power_loss;  /* also cut the power, in the model of fault_disk.h */
    bool full;        /* every point, however long it takes; else a sample of limit_ms */
    int64_t limit_ms; /* of the sweep; 0: 12 s */
    int jobs;         /* 0: two for each processor */
    uint64_t seed;    /* which points the sample has; what the power cut forgets */
    /* Now and then, from the calling thread, with what is done so far; true: stop. */
    bool (*progress)(void *user, const struct sweep_table *so_far);
    void *progress_user;
};

struct selftest_report {
    struct probe probe;
    bool is_swept; /* false: the file system is refused, or it was stopped before */
    struct sweep_table table;
};

/* 0: *ret says what was found. <0: it could not be done (no right to write, no room ...). */
int selftest_run(const struct selftest_options *options, struct selftest_report *ret,
                 struct err *err);
/* Nothing lost, nothing corrupt, nothing else wrong, no failure of the probe; warnings may stand.
 */
bool selftest_passed(const struct selftest_report *report);

#endif
