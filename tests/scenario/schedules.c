/*
 * schedules.c - the scenario of a run that a schedule starts.
 *
 * Owns: it. Its nominal time is in the past, started by a backfill: so its id and search attributes
 * are the same in every play. Tests: tests/scenario/scenario.c plays it.
 */
#include "scenario.h"

#define NOMINAL_NS 1767323045000000000LL /* 2026-01-02T03:04:05Z */

static int clean(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_sleep(ctx, 10);
    return rc ? rc : dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int clean_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int clean_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Clean", changed ? clean_changed : clean);
}

/* Once: a crash may come between any two of these calls. */
static int clean_drive(dur_engine *engine)
{
    static const dur_interval every_second[] = {{.every_ms = 1000}, {0}};
    dur_schedule_info *info = NULL;
    dur_schedule schedule = {.intervals = every_second,
                             .workflow_type = "Clean",
                             .id_prefix = "clean",
                             .input = "\"done\"",
                             .paused = 1};
    int rc = dur_schedule_describe(engine, "cleaner", &info);
    if (rc == DUR_NOT_FOUND) {
        rc = dur_schedule_set(engine, "cleaner", &schedule);
        return rc ? rc : clean_drive(engine);
    }
    if (rc) {
        return rc;
    }
    bool begun = info->started + info->waiting > 0;
    dur_schedule_info_free(info);
    rc = begun ? 1
               : dur_schedule_backfill(engine, "cleaner", NOMINAL_NS, NOMINAL_NS, DUR_OVERLAP_OWN);
    return rc == 1 ? DUR_OK : rc;
}

static struct scenario clean_scenario = {.name = "schedule",
                                         .primitive = "Schedules: a run that one starts",
                                         .type = "Clean",
                                         .id = "clean-2026-01-02T03:04:05Z",
                                         .result = "\"done\"",
                                         .setup = clean_setup,
                                         .no_server = "schedules are SQLite's (dur_schedule_*)",
                                         .drive = clean_drive};
SCENARIO(clean_scenario)
