/*
 * sweep_table.h - sweeps of tests: where, how many points, and the table that must be all good.
 *
 * Owns: what the environment says: SWEEP=1 (make sweep) for all points and tables on standard
 * output, SWEEP_JOBS, SWEEP_DIR; CHECK_LONG=1 for a large sample.
 */
#ifndef TESTS_SWEEP_TABLE_H
#define TESTS_SWEEP_TABLE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "selftest/sweep.h"

static inline const char *sweep_table_env(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && value[0] ? value : otherwise;
}

static inline bool sweep_table_all(void)
{
    return str_eq(sweep_table_env("SWEEP", ""), "1");
}

static char *sweep_dir; /* of the test that runs */

/* .init and .fini of a suite: a fresh directory, in memory when there is one: what is unsynced is
 * the model's to know, not the disk's. */
static inline void sweep_table_set_up(void)
{
    struct err err = {0};
    const char *memory = "/dev/shm";
    const char *above = sweep_table_env("SWEEP_DIR", sweep_table_env("TMPDIR", "/tmp"));
    if (!getenv("SWEEP_DIR") && access(memory, W_OK | X_OK) == 0) {
        above = memory;
    }
    autofree char *prefix = fs_join(above, "factory-sweep");
    cr_assert_eq(fs_make_temp_dir(prefix, &sweep_dir, &err), 0, "%s", err.text);
}

static inline void sweep_table_tear_down(void)
{
    fs_remove_tree(sweep_dir, NULL);
    free(sweep_dir);
}

static inline int64_t sweep_table_points(int64_t in_check, int64_t in_check_long)
{
    bool is_long = str_eq(sweep_table_env("CHECK_LONG", ""), "1");
    return sweep_table_all() ? 0 : is_long ? in_check_long : in_check;
}

static inline bool sweep_table_progress(void *user, const struct sweep_table *so_far)
{
    int64_t *next = user;
    struct sweep_row sum = sweep_sum(so_far);
    if (sum.points >= *next) {
        fprintf(stderr, "  %lld of %lld points\n", (long long)sum.points, (long long)so_far->total);
        *next += 500;
    }
    return false;
}

static inline void sweep_table_expect_good(const char *what, const struct sweep_subject *subject,
                                           struct sweep_options *options)
{
    struct err err = {0};
    struct sweep_table table;
    autostr struct str text = {0};
    int64_t next = 500;
    options->jobs = (int)strtol(sweep_table_env("SWEEP_JOBS", "0"), NULL, 10);
    if (sweep_table_all()) {
        options->progress = sweep_table_progress;
        options->progress_user = &next;
    }
    cr_assert_eq(sweep_run(subject, options, &table, &err), 0, "%s: %s", what, err.text);
    sweep_print(&text, &table);
    if (sweep_table_all()) {
        printf("\n%s: %lld operations, %lld commits; %.1f s\n%s", what, (long long)table.operations,
               (long long)table.commits, (double)table.elapsed_ns / 1e9, str_c(&text));
        fflush(stdout);
    }
    cr_expect_eq(sweep_harmed(&table), 0, "%s:\n%s", what, str_c(&text));
    cr_expect_gt(sweep_sum(&table).points, 0, "%s: nothing was tried", what);
}

#endif
