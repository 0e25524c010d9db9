/*
 * test_crash_schedule.c - a schedule under a disk that kills, tears, fails and loses power: every
 * time that is due starts one run, never two, never none.
 *
 * A process drives an engine on the fault disk through five minutes of a clock of its own, and dies
 * at the Nth operation, the making of the store included; then one without faults goes through the
 * same minutes again. make check takes a sample of the points, make sweep all of them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "engine/engine.h"
#include "journal/store.h"
#include "selftest/sweep.h"
#include "tests/lib/sweep_table.h"

#define T0 1767225600 /* 2026-01-01T00:00:00Z */
#define MINUTES 5

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

struct seen {
    int minutes; /* a bit for each */
    int strange; /* runs that nobody asked for, or of a minute that had one */
    int open;
};

static int count_run(void *user, int64_t token, const dur_description *d)
{
    struct seen *seen = user;
    int bit = 0;
    (void)token;
    for (int minute = 1; minute <= MINUTES; minute++) {
        autofree char *id = mem_printf("s-2026-01-01T00:%02d:00Z", minute);
        bit |= str_eq(id, d->workflow_id) ? 1 << minute : 0;
    }
    seen->strange += bit == 0 || (seen->minutes & bit);
    seen->open += d->status != DUR_COMPLETED;
    seen->minutes |= bit;
    return 0;
}

static enum sweep_harm judge_runs(const struct sweep_stage *stage, dur_engine *engine)
{
    struct seen seen = {0};
    dur_schedule_info *info = NULL;
    if (dur_list(engine, 0, 0, 100, count_run, &seen) != DUR_OK ||
        dur_schedule_describe(engine, "s", &info) != DUR_OK) {
        sweep_say(stage, "%s", dur_error(engine));
        return SWEEP_LOST;
    }
    enum sweep_harm harm = SWEEP_GOOD;
    if (seen.strange || seen.open || seen.minutes != (2 << MINUTES) - 2) {
        sweep_say(stage, "minutes %x, %d runs too many, %d open", (unsigned)seen.minutes,
                  seen.strange, seen.open);
        harm = SWEEP_BROKEN;
    } else if (info->started != MINUTES || info->skipped + info->missed + info->dropped != 0) {
        sweep_say(stage, "the schedule says that it started %lld", (long long)info->started);
        harm = SWEEP_BROKEN;
    }
    dur_schedule_info_free(info);
    return harm;
}

/* --- the subject ------------------------------------------------------------------------------ */

static int play(const struct sweep_stage *stage)
{
    autofree char *path = fs_join(stage->dir, "e.db");
    int rc = live(path, stage->vfs);
    if (rc != DUR_OK) {
        sweep_say(stage, "%s", dur_code_name(rc));
    }
    /* An error while the store is opened or the schedule set is told to the caller: it may end. */
    return stage->vfs && (rc == DUR_IO || rc == DUR_FULL) ? 0 : rc;
}

static enum sweep_harm judge(const struct sweep_stage *stage)
{
    struct err err = {0};
    struct store *store = NULL;
    dur_engine *engine = NULL;
    autofree char *path = fs_join(stage->dir, "e.db");
    if (play(stage) != 0) {
        return SWEEP_STUCK;
    }
    if (store_open(path, &(struct store_options){.reserve_bytes = -1}, &store, &err) < 0 ||
        store_check(store, &err) < 0) {
        sweep_say(stage, "%s", err.text);
        store_close(store);
        return SWEEP_CORRUPT;
    }
    store_close(store);
    enum sweep_harm harm = SWEEP_CORRUPT;
    if (dur_open(&engine, path, &(dur_options){.read_only = 1}) == DUR_OK) {
        harm = judge_runs(stage, engine);
    }
    dur_close(engine);
    return harm;
}

static int learn(const struct sweep_stage *stage)
{
    struct sweep_stage good = *stage;
    good.vfs = NULL;
    autofree char *path = fs_join(stage->dir, "e.db");
    return live(path, stage->vfs) == DUR_OK && judge(&good) == SWEEP_GOOD ? 0 : -1;
}

TestSuite(crash_schedule, .init = sweep_table_set_up, .fini = sweep_table_tear_down,
          .timeout = 600);

Test(crash_schedule, every_fault)
{
    struct sweep_subject subject = {.learn = learn, .play = play, .judge = judge};
    struct sweep_options options = {
        .dir = sweep_dir, .faults = SWEEP_ALL_FAULTS, .points = sweep_table_points(24, 480)};
    sweep_table_expect_good("a schedule", &subject, &options);
}
