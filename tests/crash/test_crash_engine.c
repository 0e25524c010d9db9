/*
 * test_crash_engine.c - the engine on a failing disk: eleven runs (selftest/script.h), one fault at
 * every operation that changes the disk, in every mode of selftest/fault_disk.h; and plants, which
 * show that each kind of harm is found.
 *
 * make check takes a sample of the points, make check-long (CHECK_LONG=1) more of them, make sweep
 * (SWEEP=1) all: the tables go to standard output. Part of it is played with sealed payloads.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "selftest/script.h"
#include "tests/lib/sweep_table.h"

#define POINTS_IN_CHECK 25 /* the simulator and make sweep try the rest */
#define POINTS_IN_CHECK_LONG 1000
#define PLANTED_PATIENCE_MS 1500 /* of a play that will not end */

TestSuite(crash_engine, .init = sweep_table_set_up, .fini = sweep_table_tear_down, .timeout = 3000);

Test(crash_engine, every_fault)
{
    static const struct script script = {0};
    struct sweep_subject subject = script_subject(&script);
    struct sweep_options options = {.dir = sweep_dir,
                                    .faults = SWEEP_ALL_FAULTS,
                                    .points =
                                        sweep_table_points(POINTS_IN_CHECK, POINTS_IN_CHECK_LONG),
                                    .seed = 1};
    sweep_table_expect_good("eleven runs", &subject, &options);
}

/* The store is one without keys at first, so the entry of the key is among the operations. */
Test(crash_engine, every_fault_with_sealed_payloads)
{
    static const char keys[] =
        "{\"active\":\"a\",\"keys\":{\"a\":\"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\"}}";
    struct err err = {0};
    autofree char *ring = fs_join(sweep_dir, "ring.json");
    cr_assert_eq(fs_write_file(ring, keys, sizeof(keys) - 1, 0600, &err), 0, "%s", err.text);
    struct script script = {.keyring_file = ring};
    struct sweep_subject subject = script_subject(&script);
    struct sweep_options options = {
        .dir = sweep_dir,
        .faults = SWEEP_ALL_FAULTS,
        .points = sweep_table_points(POINTS_IN_CHECK / 4, POINTS_IN_CHECK_LONG / 4),
        .seed = 2};
    sweep_table_expect_good("eleven runs, sealed", &subject, &options);
}

/* --- plants: each is found, and as what it is ------------------------------------------------- */

/* Sweeps until a kind of harm is found; other kinds may be found besides. */
static void expect_harm(const struct script *script, struct sweep_options options,
                        enum sweep_harm harm)
{
    struct err err = {0};
    struct sweep_table table;
    struct sweep_subject subject = script_subject(script);
    options.dir = sweep_dir;
    options.seed = 3;
    cr_assert_eq(sweep_run(&subject, &options, &table, &err), 0, "%s", err.text);
    struct sweep_row sum = sweep_sum(&table);
    autostr struct str text = {0};
    sweep_print(&text, &table);
    cr_expect_gt(sum.harm[harm], 0, "nothing is %s:\n%s", sweep_harm_name(harm), str_c(&text));
}

static const struct script honest = {0};

Test(crash_engine, finds_commits_that_are_not_synced)
{
    expect_harm(&honest,
                (struct sweep_options){.faults = 1U << FAULT_POWER_ALL,
                                       .points = 6,
                                       .plant = FAULT_PLANT_WAL_UNSYNCED},
                SWEEP_LOST);
}

Test(crash_engine, finds_a_disk_that_syncs_nothing)
{
    expect_harm(&honest,
                (struct sweep_options){
                    .faults = SWEEP_POWER_FAULTS, .points = 6, .plant = FAULT_PLANT_UNSYNCED},
                SWEEP_LOST);
}

Test(crash_engine, finds_a_directory_that_is_not_synced)
{
    expect_harm(&honest,
                (struct sweep_options){.faults = 1U << FAULT_POWER_ALL,
                                       .points = 6,
                                       .plant = FAULT_PLANT_DIR_UNSYNCED},
                SWEEP_LOST);
}

Test(crash_engine, finds_a_torn_page)
{
    expect_harm(&honest,
                (struct sweep_options){
                    .faults = 1U << FAULT_KILL_TORN, .points = 3, .plant = FAULT_PLANT_TORN_PAGE},
                SWEEP_CORRUPT);
}

/* The operations of the start are the first: enough of them are tried. */
Test(crash_engine, finds_an_acknowledgement_before_its_commit)
{
    expect_harm(&(struct script){.plant = SCRIPT_ACKS_EARLY},
                (struct sweep_options){.faults = 1U << FAULT_KILL_BEFORE, .points = 16},
                SWEEP_LOST);
}

Test(crash_engine, finds_what_is_started_twice)
{
    expect_harm(&(struct script){.plant = SCRIPT_STARTS_TWICE},
                (struct sweep_options){.faults = 1U << FAULT_KILL_AFTER, .points = 8},
                SWEEP_BROKEN);
}

Test(crash_engine, finds_results_that_are_other_ones)
{
    expect_harm(&(struct script){.plant = SCRIPT_UNSTABLE},
                (struct sweep_options){.faults = 1U << FAULT_KILL_AFTER, .points = 4},
                SWEEP_DIFFERS);
}

Test(crash_engine, finds_a_run_that_cannot_go_on)
{
    expect_harm(&(struct script){.plant = SCRIPT_FORGETS, .patience_ms = PLANTED_PATIENCE_MS},
                (struct sweep_options){.faults = 1U << FAULT_KILL_AFTER, .points = 4}, SWEEP_STUCK);
}

Test(crash_engine, finds_an_engine_that_crashes)
{
    expect_harm(&(struct script){.plant = SCRIPT_CRASHES},
                (struct sweep_options){.faults = 1U << FAULT_KILL_AFTER, .points = 2},
                SWEEP_BROKEN);
}
