/*
 * schedule.c - a schedule: every night at half past two in Berlin, one run that goes on where the
 * last one stopped. The test engine skips the nights.
 */
#include "example.h"

/* Cleans ten more files; what it returns is where the next run goes on. */
static int clean(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t cleaned = dur_json_int(dur_last_result(ctx), "/cleaned", 0);
    (void)input;
    (void)user;
    *result = dur_ctx_jsonf(ctx, "{\"cleaned\":%i64}", cleaned + 10);
    return DUR_OK;
}

static int show(void *user, const dur_schedule_time *time)
{
    int *gaps = user;
    *gaps += time->edge == DUR_EDGE_GAP;
    return 0;
}

/* At half past two there is no time on the last Sunday of March: it runs at three then. */
static void look_ahead(dur_engine *engine, const dur_schedule *schedule)
{
    int gaps = 0;
    OK(engine,
       dur_schedule_preview(engine, "cleaner", schedule, dur_test_now(engine), 365, show, &gaps));
    CHECK(gaps == 1);
}

int main(void)
{
    static const char *const nightly[] = {"30 2 * * *", NULL};
    static const char *const holidays[] = {"* * 2 1 *", NULL};
    dur_schedule schedule = {0};
    dur_schedule_info *info = NULL;
    dur_engine *engine;
    char *result = NULL;
    OK(engine, dur_test_open(&engine, NULL)); /* it is 2026-01-01T00:00:00Z */
    dur_register_workflow(engine, "Clean", clean, NULL);

    schedule.cron = nightly;
    schedule.except = holidays;
    schedule.time_zone =
        access("/usr/share/zoneinfo/Europe/Berlin", R_OK) ? "UTC" : "Europe/Berlin";
    schedule.workflow_type = "Clean";
    schedule.overlap = DUR_OVERLAP_BUFFER_ONE;
    OK(engine, dur_schedule_set(engine, "cleaner", &schedule));
    if (strcmp(schedule.time_zone, "UTC") != 0) {
        look_ahead(engine, &schedule);
    }

    OK(engine, dur_test_advance(engine, 4 * DUR_DAYS));
    OK(engine, dur_schedule_describe(engine, "cleaner", &info));
    CHECK(info->started == 3); /* the second of January is a holiday */
    OK(engine, dur_result(engine, info->actions[2].workflow_id, 0, &result));
    CHECK(strcmp(result, "{\"cleaned\":30}") == 0);
    dur_free(result);
    dur_schedule_info_free(info);

    OK(engine, dur_schedule_trigger(engine, "cleaner", DUR_OVERLAP_OWN)); /* one by hand */
    OK(engine, dur_test_advance(engine, 0));
    OK(engine, dur_schedule_describe(engine, "cleaner", &info));
    CHECK(info->started == 4);
    dur_schedule_info_free(info);
    dur_close(engine);
    printf("schedule: three nights and one by hand\n");
    return 0;
}
