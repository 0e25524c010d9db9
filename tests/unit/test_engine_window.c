/*
 * test_engine_window.c - the batch window (worker/serve.c, gather): on a slow disk attempts that
 * come home together share a commit, and nobody waits for one that takes its time.
 */
#include "selftest/fault_disk.h"
#include "tests/lib/engine_fixture.h"

#define RUNS 16
#define STEPS 8
#define SYNC_MS 20

static atomic_int echoes;

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    atomic_fetch_add(&echoes, 1);
    *result = input;
    return DUR_OK;
}

/* Until all steps of the other runs are done. */
static int patient(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    while (atomic_load(&echoes) < RUNS * STEPS && !dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(1);
    }
    *result = input;
    return DUR_OK;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = DUR_OK;
    (void)user;
    for (int i = 0; i < STEPS && rc == DUR_OK; i++) {
        rc = dur_run(ctx, "echo", input, result, NULL);
    }
    return rc;
}

static int wait_long(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "patient", input, result, NULL);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_activity(engine, "patient", patient, NULL);
    dur_register_workflow(engine, "steps", steps, NULL);
    dur_register_workflow(engine, "wait_long", wait_long, NULL);
    dur_lane(engine, "default", RUNS + 1);
}

/* Serves so many runs of `steps`, and `others` runs of `wait_long`, on the slow disk. Returns how
 * many commits that took. */
static int64_t serve_slowly(int runs, int others)
{
    struct fault_counts counts;
    autofree char *path = temp_path("e.db");
    fault_disk_register();
    fault_disk_plan(NULL);
    dur_engine *engine = open_with(path, (dur_options){.vfs = "fault"});
    for (int i = 0; i < runs + others; i++) {
        autofree char *id = mem_printf("run-%d", i);
        cr_assert_eq(dur_start(engine, i < runs ? "steps" : "wait_long", id, "7", NULL), DUR_OK);
    }
    fault_disk_plan(&(struct fault_plan){.sync_ns = SYNC_MS * NS_PER_MS});
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(engine));
    fault_disk_counts(&counts);
    fault_disk_plan(NULL);
    for (int i = 0; i < runs + others; i++) {
        char *result = NULL;
        autofree char *id = mem_printf("run-%d", i);
        cr_assert_eq(dur_result(engine, id, 0, &result), DUR_OK, "%s", dur_error(engine));
        cr_assert_str_eq(result, "7");
        dur_free(result);
    }
    dur_close(engine);
    return counts.wal_syncs;
}

Test(engine_window, shares_the_commits_of_a_slow_disk, .timeout = 60)
{
    int64_t commits = serve_slowly(RUNS, 0);
    /* one commit a step is the ideal; each run for itself would need RUNS * STEPS */
    cr_assert_lt(commits, RUNS * STEPS / 2, "%lld", (long long)commits);
    cr_assert_geq(commits, STEPS);
}

Test(engine_window, waits_for_no_activity_that_takes_its_time, .timeout = 60)
{
    int64_t commits = serve_slowly(RUNS, 1); /* would never end if it did */
    cr_assert_lt(commits, RUNS * STEPS / 2, "%lld", (long long)commits);
}
