/*
 * test_crash_schedule.c - a schedule under a disk that kills, tears, fails and loses power: every
 * time that is due starts one run, never two, never none.
 *
 * A child drives an engine on a fault VFS through five minutes of a clock of its own, and dies at
 * the Nth operation; then one without faults goes through the same minutes again. make check takes
 * a sample of the operations, make check-long all of them.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "engine/engine.h"
#include "selftest/fault_disk.h"
#include "tests/lib/temp_path.h"

#define T0 1767225600 /* 2026-01-01T00:00:00Z */
#define MINUTES 5
#define SAMPLES 12

static int64_t wall_ns;

static int64_t test_clock_ns(void *user)
{
    (void)user;
    return wall_ns;
}

static const struct clock_vtable test_clock = {.wall_ns = test_clock_ns, .mono_ns = test_clock_ns};

static int quick(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)user;
    *result = input;
    return DUR_OK;
}

static void say_nothing(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

/* Sets the schedule unless it is there, and lives through the minutes. 0 good; a negative code. */
static int live(const char *path, const char *vfs)
{
    static const char *const every_minute[] = {"* * * * *", NULL};
    dur_schedule schedule = {
        .cron = every_minute, .workflow_type = "Quick", .overlap = DUR_OVERLAP_ALLOW_ALL};
    dur_schedule_info *info = NULL;
    dur_engine *engine = NULL;
    wall_ns = T0 * NS_PER_S;
    int rc = dur_open(&engine, path,
                      &(dur_options){.vfs = vfs, .reserve_bytes = -1, .on_log = say_nothing});
    if (rc == DUR_OK) {
        engine->clock = &test_clock;
        dur_register_workflow(engine, "Quick", quick, NULL);
        rc = dur_schedule_describe(engine, "s", &info);
        dur_schedule_info_free(info);
        rc = rc == DUR_NOT_FOUND ? dur_schedule_set(engine, "s", &schedule) : rc;
    }
    for (int minute = 0; minute <= MINUTES && rc == DUR_OK; minute++) {
        int idle = 0;
        wall_ns = (T0 + 60 * minute) * NS_PER_S;
        while (idle < 3 && rc >= 0) { /* a turn that failed is tried again */
            rc = dur_step(engine, 0);
            idle = rc > 0 ? 0 : idle + 1;
        }
    }
    dur_close(engine);
    return rc;
}

static int count_run(void *user, int64_t token, const dur_description *d)
{
    int *seen = user; /* a bit for each minute; twice is the sign */
    (void)token;
    for (int minute = 1; minute <= MINUTES; minute++) {
        autofree char *id = mem_printf("s-2026-01-01T00:%02d:00Z", minute);
        if (str_eq(id, d->workflow_id)) {
            *seen = *seen & 1 << minute ? -1 : *seen | 1 << minute;
            cr_expect_eq(d->status, DUR_COMPLETED, "%s", id);
            return *seen < 0;
        }
    }
    cr_expect(false, "a run %s that nobody asked for", d->workflow_id);
    return 1;
}

static void check(const char *path, const char *where)
{
    int seen = 0;
    dur_engine *engine = NULL;
    dur_schedule_info *info = NULL;
    cr_assert_eq(live(path, NULL), DUR_OK, "%s", where);
    cr_assert_eq(dur_open(&engine, path, &(dur_options){.read_only = 1}), DUR_OK, "%s: %s", where,
                 dur_error(engine));
    cr_assert_eq(dur_list(engine, 0, 0, 100, count_run, &seen), DUR_OK);
    cr_assert_eq(dur_schedule_describe(engine, "s", &info), DUR_OK);
    cr_expect_eq(seen, (2 << MINUTES) - 2, "%s: runs %x", where, (unsigned)seen);
    cr_expect_eq(info->started, MINUTES, "%s: %lld started", where, (long long)info->started);
    cr_expect_eq(info->skipped + info->missed + info->dropped, 0, "%s", where);
    dur_schedule_info_free(info);
    dur_close(engine);
}

/* In a child, which may be killed. */
static void live_and_die(const char *path, const struct fault_plan *plan)
{
    pid_t pid = fork();
    if (pid == 0) {
        fault_disk_plan(plan);
        _exit(live(path, "fault") == DUR_OK ? 0 : 1);
    }
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static void sweep(enum fault_mode mode)
{
    struct fault_counts counts;
    fault_disk_register();
    autofree char *whole = temp_path("e.db");
    live_and_die(whole, NULL);
    fault_disk_counts(&counts);
    cr_assert_gt(counts.operations, MINUTES);
    int64_t stride = getenv("CHECK_LONG") ? 1 : counts.operations / SAMPLES + 1;
    for (int64_t at = 1; at <= counts.operations; at += stride) {
        autofree char *path = temp_path("e.db");
        autofree char *where =
            mem_printf("%s at operation %lld", fault_disk_mode_name(mode), (long long)at);
        live_and_die(path, &(struct fault_plan){.mode = mode, .at = at, .seed = (uint64_t)at});
        check(path, where);
    }
}

TestSuite(crash_schedule, .timeout = 600);

Test(crash_schedule, killed_after)
{
    sweep(FAULT_KILL_AFTER);
}

Test(crash_schedule, power_cut_loses_all_unsynced)
{
    sweep(FAULT_POWER_ALL);
}

Test(crash_schedule, power_cut_loses_half_of_the_unsynced)
{
    sweep(FAULT_POWER_HALF);
}

Test(crash_schedule, one_io_error)
{
    sweep(FAULT_EIO);
}
