/*
 * test_worker_calendar.c - worker/calendar and worker/definition: unions, exceptions, bounds, and a
 * definition that survives its way through JSON.
 */
#include "worker/calendar.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "base/tz.h"
#include "worker/definition.h"

#define T0 1767225600 /* 2026-01-01T00:00:00Z, a Thursday */

static struct calendar *make(const dur_schedule *schedule)
{
    struct calendar *calendar = NULL;
    struct err err = {0};
    cr_assert_eq(calendar_new(schedule, &calendar, &err), 0, "%s", err.text);
    return calendar;
}

/* Seconds since T0 of the times after `after`, one after the other. */
static void expect(const dur_schedule *schedule, int64_t after, const int64_t *want, size_t count)
{
    autocalendar struct calendar *calendar = make(schedule);
    int64_t at = (T0 + after) * NS_PER_S;
    for (size_t i = 0; i < count; i++) {
        at = calendar_next(calendar, at);
        int64_t got = at == CALENDAR_NEVER ? -1 : at / NS_PER_S - T0;
        cr_expect_eq(got, want[i], "number %zu is %lld, not %lld", i, (long long)got,
                     (long long)want[i]);
        if (got < 0) {
            break;
        }
    }
}
#define EXPECT(schedule, after, ...)                                                               \
    expect(schedule, after, (const int64_t[]){__VA_ARGS__},                                        \
           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

Test(calendar, rules_and_intervals_are_one_ascending_list)
{
    static const char *const cron[] = {"0 1 * * *", "30 0 * * *", "@every 45m", NULL};
    static const dur_interval intervals[] = {{3600000, 600000}, {0}};
    dur_schedule s = {.cron = cron, .intervals = intervals, .workflow_type = "W"};
    EXPECT(&s, 0, 600, 1800, 2700, 3600, 4200, 5400, 7800);
}

Test(calendar, exceptions_cover_whole_minutes)
{
    static const dur_interval intervals[] = {{30000, 0}, {0}};
    static const char *const except[] = {"1-2 * * * *", NULL};
    dur_schedule s = {.intervals = intervals, .except = except, .workflow_type = "W"};
    EXPECT(&s, 0, 30, 180, 210, 240);
}

Test(calendar, exceptions_know_the_time_zone_of_the_schedule)
{
    static const char *const cron[] = {"0 * * * *", NULL};
    static const char *const except[] = {"* 1-22 * * *", NULL};
    struct tz *tz = NULL;
    if (tz_load("Asia/Kolkata", &tz, NULL) < 0) {
        cr_skip_test("skip: install tzdata");
    }
    tz_free(tz);
    dur_schedule s = {
        .cron = cron, .except = except, .time_zone = "Asia/Kolkata", .workflow_type = "W"};
    EXPECT(&s, 0, 17 * 3600 + 1800, 18 * 3600 + 1800, 41 * 3600 + 1800);
}

Test(calendar, bounds_are_inclusive)
{
    static const char *const cron[] = {"* * * * *", NULL};
    dur_schedule s = {.cron = cron,
                      .start_ns = (T0 + 120) * NS_PER_S,
                      .end_ns = (T0 + 240) * NS_PER_S,
                      .workflow_type = "W"};
    EXPECT(&s, 0, 120, 180, 240, -1);
}

Test(calendar, what_is_left_out_for_ever_is_never)
{
    static const char *const cron[] = {"0 3 * * *", NULL};
    static const char *const except[] = {"* 3 * * *", NULL};
    dur_schedule s = {.cron = cron, .except = except, .workflow_type = "W"};
    EXPECT(&s, 0, -1);
    dur_schedule nothing = {.workflow_type = "W"};
    EXPECT(&nothing, 0, -1);
}

Test(calendar, a_definition_survives_its_way_through_json)
{
    static const char *const cron[] = {"0 3 * * mon", "@every 90s", NULL};
    static const char *const except[] = {"* * 24-26 12 *", NULL};
    static const char *const types[] = {"CardDeclined", NULL};
    static const dur_interval intervals[] = {{60000, 5000}, {3600000, 0}, {0}};
    static const dur_retry_policy retry = {.initial_interval_ms = 10,
                                           .backoff_coefficient = 1.5,
                                           .maximum_interval_ms = 70,
                                           .maximum_attempts = 3,
                                           .non_retryable_types = types};
    const dur_schedule s = {
        .cron = cron,
        .intervals = intervals,
        .except = except,
        .time_zone = "UTC",
        .start_ns = T0 * NS_PER_S,
        .end_ns = (T0 + 1) * NS_PER_S,
        .jitter_ms = 7,
        .workflow_type = "W \"quoted\"",
        .id_prefix = "p",
        .input = "[1, {\"a\": null}]",
        .task_queue = "q",
        .execution_timeout_ms = 1,
        .run_timeout_ms = 2,
        .task_timeout_ms = 3,
        .retry = &retry,
        .memo = "{\"m\":1}",
        .search_attributes = "{\"c\":\"d\"}",
        .priority = 2,
        .overlap = DUR_OVERLAP_CANCEL_OTHER,
        .catchup_window_ms = 60000,
        .pause_on_failure = 1,
    };
    autoarena struct arena *arena = arena_new();
    autostr struct str first = {0};
    autostr struct str second = {0};
    dur_schedule back;
    struct err err = {0};
    definition_print(&first, &s);
    cr_assert_eq(definition_read(arena, str_c(&first), &back, &err), 0, "%s", err.text);
    definition_print(&second, &back);
    cr_expect_str_eq(str_c(&first), str_c(&second));
    cr_expect_str_eq(back.cron[1], "@every 90s");
    cr_expect_eq(back.intervals[0].phase_ms, 5000);
    cr_expect_eq(back.intervals[2].every_ms, 0);
    cr_expect_eq(back.start_ns, s.start_ns);
    cr_expect_str_eq(back.input, s.input);
    cr_expect_eq(back.retry->maximum_attempts, 3);
    cr_expect_str_eq(back.retry->non_retryable_types[0], "CardDeclined");
    cr_expect_eq(back.overlap, DUR_OVERLAP_CANCEL_OTHER);
    cr_expect_lt(definition_read(arena, "{", &back, &err), 0);
    cr_expect_lt(definition_read(arena, "{\"spec\":{}}", &back, &err), 0);
}
