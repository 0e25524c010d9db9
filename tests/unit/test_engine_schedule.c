/*
 * test_engine_schedule.c - schedules: due, overlap, catch-up, pausing, by hand, across engines.
 *
 * The engine gets a clock of the test's own and is driven step by step, so an hour takes no time.
 */
#include "tests/lib/engine_fixture.h"

#include "base/clock.h"
#include "engine/engine.h"

#define T0 1767225600 /* 2026-01-01T00:00:00Z */
#define MINUTE (60 * NS_PER_S)

static int64_t wall_ns = T0 * NS_PER_S;

static int64_t test_wall(void *user)
{
    (void)user;
    return wall_ns;
}

static int64_t test_mono(void *user)
{
    (void)user;
    return wall_ns;
}

static const struct clock_vtable test_clock = {.wall_ns = test_wall, .mono_ns = test_mono};

/* Ends when told "end"; its result is the signal's input. */
static int wait_for_end(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "end", -1, result);
}

static int quick(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)ctx;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int fail(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail_run(ctx, "Broken", "it does not work");
}

static void fixture_register(dur_engine *engine)
{
    engine->clock = &test_clock;
    dur_register_workflow(engine, "Wait", wait_for_end, NULL);
    dur_register_workflow(engine, "Quick", quick, NULL);
    dur_register_workflow(engine, "Fail", fail, NULL);
}

static void step(dur_engine *engine)
{
    int rc;
    for (int i = 0; (rc = dur_step(engine, 0)) > 0; i++) {
        cr_assert_lt(i, 10000, "no end of steps");
    }
    cr_assert_eq(rc, DUR_OK, "%s", dur_error(engine));
}

static void step_until(dur_engine *engine, int64_t seconds)
{
    wall_ns = (T0 + seconds) * NS_PER_S;
    step(engine);
}

static const char *const every_minute[] = {"* * * * *", NULL};

static dur_schedule minutely(const char *type)
{
    return (dur_schedule){.cron = every_minute, .workflow_type = type};
}

static void set(dur_engine *engine, const dur_schedule *schedule)
{
    cr_assert_eq(dur_schedule_set(engine, "s", schedule), DUR_OK, "%s", dur_error(engine));
}

struct facts {
    int64_t started, skipped, missed, dropped, waiting, remaining, next_s;
    int open, paused;
    char note[128];
    char last_id[128];
};

static struct facts look(dur_engine *engine)
{
    dur_schedule_info *info = NULL;
    cr_assert_eq(dur_schedule_describe(engine, "s", &info), DUR_OK, "%s", dur_error(engine));
    struct facts f = {
        .started = info->started,
        .skipped = info->skipped,
        .missed = info->missed,
        .dropped = info->dropped,
        .waiting = info->waiting,
        .remaining = info->remaining,
        .paused = info->paused,
        .next_s = info->next_ns[0] ? info->next_ns[0] / NS_PER_S - T0 : -1,
    };
    str_copy(f.note, sizeof(f.note), info->note);
    for (size_t i = 0; i < info->action_count; i++) {
        f.open += info->actions[i].open;
        str_copy(f.last_id, sizeof(f.last_id), info->actions[i].workflow_id);
    }
    dur_schedule_info_free(info);
    return f;
}

static dur_status status_of(dur_engine *engine, const char *id)
{
    dur_description *d;
    cr_assert_eq(dur_describe(engine, id, &d), DUR_OK, "%s", dur_error(engine));
    dur_status status = d->status;
    dur_description_free(d);
    return status;
}

static void end_run(dur_engine *engine, const char *id, const char *result)
{
    cr_assert_eq(dur_signal(engine, id, "end", result), DUR_OK, "%s", dur_error(engine));
    step(engine);
}

#define ID_AT(time) "s-2026-01-01T00:" time "Z"

/* --- due -------------------------------------------------------------------------------------- */

Test(engine_schedule, a_due_time_starts_one_run_that_says_so, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    s.input = "{\"n\":1}";
    s.memo = "{\"who\":\"test\"}";
    s.search_attributes = "{\"Amount\":7,\"TemporalScheduledById\":\"forged\"}";
    set(engine, &s);
    cr_expect_eq(look(engine).next_s, 60);
    step_until(engine, 59);
    cr_expect_eq(look(engine).started, 0);
    step_until(engine, 60);
    step_until(engine, 61);
    struct facts f = look(engine);
    cr_expect_eq(f.started, 1);
    cr_expect_eq(f.open, 0);
    cr_expect_eq(f.next_s, 120);
    cr_expect_str_eq(f.last_id, ID_AT("01:00"));
    cr_expect_eq(status_of(engine, ID_AT("01:00")), DUR_COMPLETED);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, ID_AT("01:00"));
    const struct ev_workflow_execution_started *a =
        ev_workflow_execution_started(find_event(&history, EVENT_WORKFLOW_EXECUTION_STARTED));
    const struct payload *by = payload_map_get(a->search_attributes, "TemporalScheduledById");
    const struct payload *at = payload_map_get(a->search_attributes, "TemporalScheduledStartTime");
    cr_expect_str_eq(by->data, "\"s\"");
    cr_expect_str_eq(by->meta->value, "Keyword");
    cr_expect(str_starts(at->data, "\"2026-01-01T00:01:00"), "%s", at->data);
    cr_expect_str_eq(at->meta->value, "Datetime");
    cr_expect_str_eq(payload_map_get(a->search_attributes, "Amount")->data, "7");
    cr_expect_str_eq(payload_map_get(a->memo, "who")->data, "\"test\"");
    cr_expect_str_eq(payloads_first_json(a->input, NULL), "{\"n\":1}");
    check_history(engine, ID_AT("01:00"));
    dur_close(engine);
}

static int count_run(void *user, int64_t token, const dur_description *d)
{
    (void)token;
    (void)d;
    *(int *)user += 1;
    return 0;
}

Test(engine_schedule, its_runs_are_found_by_its_name_and_by_when_they_were_due, .timeout = 60)
{
    int by_name = 0;
    int by_time = 0;
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    set(engine, &s);
    for (int64_t at = 60; at <= 300; at += 60) {
        step_until(engine, at);
    }
    cr_assert_eq(dur_list_where(engine, "TemporalScheduledById = 's'", 0, 100, count_run, &by_name),
                 DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(by_name, 5);
    cr_assert_eq(dur_list_where(engine, "TemporalScheduledStartTime > '2026-01-01T00:03:00Z'", 0,
                                100, count_run, &by_time),
                 DUR_OK, "%s", dur_error(engine));
    cr_expect_eq(by_time, 2);
    dur_close(engine);
}

Test(engine_schedule, intervals_and_exceptions, .timeout = 60)
{
    static const dur_interval intervals[] = {{.every_ms = 600000, .phase_ms = 120000}, {0}};
    static const char *const except[] = {"20-29 0 * * *", NULL};
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = {.intervals = intervals, .except = except, .workflow_type = "Quick"};
    set(engine, &s);
    cr_expect_eq(look(engine).next_s, 120);
    for (int64_t at = 0; at <= 3600; at += 60) {
        step_until(engine, at);
    }
    cr_expect_eq(look(engine).started, 5); /* 02 12 32 42 52 */
    cr_expect_str_eq(look(engine).last_id, ID_AT("52:00"));
    dur_close(engine);
}

/* --- overlap ---------------------------------------------------------------------------------- */

static dur_engine *with_overlap(const char *path, dur_overlap overlap)
{
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Wait");
    s.overlap = overlap;
    set(engine, &s);
    step_until(engine, 60);
    cr_assert_eq(look(engine).open, 1);
    return engine;
}

Test(engine_schedule, skip_leaves_out_what_is_due_meanwhile, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_SKIP);
    step_until(engine, 120);
    step_until(engine, 180);
    cr_expect_eq(look(engine).started, 1);
    cr_expect_eq(look(engine).skipped, 2);
    end_run(engine, ID_AT("01:00"), "1");
    cr_expect_eq(look(engine).open, 0);
    step_until(engine, 240);
    cr_expect_eq(look(engine).started, 2);
    dur_close(engine);
}

Test(engine_schedule, buffer_one_keeps_one, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_BUFFER_ONE);
    step_until(engine, 120);
    step_until(engine, 180);
    cr_expect_eq(look(engine).waiting, 1);
    cr_expect_eq(look(engine).skipped, 1);
    end_run(engine, ID_AT("01:00"), "1");
    cr_expect_eq(look(engine).started, 2);
    cr_expect_eq(look(engine).waiting, 0);
    cr_expect_str_eq(look(engine).last_id, ID_AT("02:00"));
    dur_close(engine);
}

Test(engine_schedule, buffer_all_keeps_all_in_order, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_BUFFER_ALL);
    step_until(engine, 120);
    step_until(engine, 180);
    cr_expect_eq(look(engine).waiting, 2);
    end_run(engine, ID_AT("01:00"), "1");
    cr_expect_str_eq(look(engine).last_id, ID_AT("02:00"));
    end_run(engine, ID_AT("02:00"), "2");
    cr_expect_str_eq(look(engine).last_id, ID_AT("03:00"));
    cr_expect_eq(look(engine).started, 3);
    dur_close(engine);
}

Test(engine_schedule, more_than_a_thousand_do_not_wait, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_BUFFER_ALL);
    step_until(engine, 60 * 1500);
    struct facts f = look(engine);
    cr_expect_eq(f.waiting, 1000);
    cr_expect_eq(f.dropped, 499);
    cr_expect_eq(f.started, 1);
    cr_expect_eq(f.next_s, 60 * 1501);
    dur_close(engine);
}

Test(engine_schedule, cancel_other_waits_for_the_end, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_CANCEL_OTHER);
    step_until(engine, 120);
    cr_expect_eq(status_of(engine, ID_AT("01:00")), DUR_CANCELED);
    cr_expect_eq(look(engine).started, 2);
    cr_expect_eq(look(engine).open, 1);
    check_history(engine, ID_AT("01:00"));
    dur_close(engine);
}

Test(engine_schedule, terminate_other_does_not_wait, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_TERMINATE_OTHER);
    step_until(engine, 300); /* four at once: the last one counts */
    cr_expect_eq(status_of(engine, ID_AT("01:00")), DUR_TERMINATED);
    struct facts f = look(engine);
    cr_expect_eq(f.started, 2);
    cr_expect_eq(f.skipped, 3);
    cr_expect_str_eq(f.last_id, ID_AT("05:00"));
    check_history(engine, ID_AT("01:00"));
    dur_close(engine);
}

Test(engine_schedule, allow_all_runs_side_by_side, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_ALLOW_ALL);
    step_until(engine, 60 * 200); /* more than one turn may make */
    cr_expect_eq(look(engine).started, 200);
    cr_expect_eq(look(engine).open, 200);
    dur_close(engine);
}

/* --- while no engine ran ---------------------------------------------------------------------- */

Test(engine_schedule, missed_times_are_made_up_for_within_the_window, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    s.overlap = DUR_OVERLAP_ALLOW_ALL;
    s.catchup_window_ms = 5 * DUR_MINUTES;
    set(engine, &s);
    dur_close(engine);
    wall_ns = (T0 + 3630) * NS_PER_S; /* an hour later */
    engine = open_engine(path);
    step(engine);
    struct facts f = look(engine);
    cr_expect_eq(f.missed, 55);
    cr_expect_eq(f.started, 5);
    cr_expect_eq(f.next_s, 3660);
    dur_close(engine);
}

Test(engine_schedule, a_clock_that_is_put_back_starts_nothing_twice, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    set(engine, &s);
    step_until(engine, 180); /* three at once: one run at a time */
    int64_t before = look(engine).started;
    step_until(engine, 30);
    step_until(engine, 90);
    step_until(engine, 185);
    cr_expect_eq(look(engine).started, before);
    cr_expect_eq(look(engine).next_s, 240);
    step_until(engine, 240);
    cr_expect_eq(look(engine).started, before + 1);
    dur_close(engine);
}

/* --- pausing, ending -------------------------------------------------------------------------- */

Test(engine_schedule, paused_times_are_left_out, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    s.paused = 1;
    set(engine, &s);
    step_until(engine, 300);
    cr_expect_eq(look(engine).started, 0);
    cr_expect_eq(look(engine).next_s, -1);
    cr_assert_eq(dur_schedule_resume(engine, "s", "go on"), DUR_OK);
    cr_expect_eq(look(engine).next_s, 360);
    cr_expect_str_eq(look(engine).note, "go on");
    step_until(engine, 360);
    cr_expect_eq(look(engine).started, 1);
    cr_assert_eq(dur_schedule_pause(engine, "s", NULL), DUR_OK);
    step_until(engine, 600);
    cr_expect_eq(look(engine).started, 1);
    cr_expect_eq(look(engine).missed, 0);
    cr_expect_str_eq(look(engine).note, "go on");
    dur_close(engine);
}

Test(engine_schedule, a_failure_may_pause_it, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Fail");
    s.pause_on_failure = 1;
    set(engine, &s);
    step_until(engine, 60);
    step_until(engine, 240);
    struct facts f = look(engine);
    cr_expect_eq(f.started, 1);
    cr_expect_eq(f.paused, 1);
    cr_expect_str_eq(f.note, "paused because run " ID_AT("01:00") " failed");
    dur_close(engine);
}

Test(engine_schedule, it_ends_after_its_last_action, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    s.remaining_actions = 2;
    set(engine, &s);
    for (int64_t at = 60; at < 600; at += 60) {
        step_until(engine, at);
    }
    cr_expect_eq(look(engine).started, 2);
    cr_expect_eq(look(engine).remaining, 0);
    cr_expect_eq(look(engine).next_s, -1);
    cr_assert_eq(dur_schedule_trigger(engine, "s", DUR_OVERLAP_OWN), DUR_OK);
    step(engine);
    cr_expect_eq(look(engine).started, 3, "a trigger is not a scheduled action");
    cr_expect_eq(look(engine).remaining, 0);
    dur_close(engine);
}

/* --- by hand ---------------------------------------------------------------------------------- */

Test(engine_schedule, triggers_and_backfills, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Quick");
    s.paused = 1;
    set(engine, &s);
    wall_ns = (T0 + 30) * NS_PER_S + 250 * NS_PER_MS;
    cr_assert_eq(dur_schedule_trigger(engine, "s", DUR_OVERLAP_OWN), DUR_OK);
    cr_expect_eq(look(engine).waiting, 1);
    step(engine);
    cr_expect_str_eq(look(engine).last_id, ID_AT("00:30.250"));
    int count = dur_schedule_backfill(engine, "s", (T0 + 60) * NS_PER_S, (T0 + 300) * NS_PER_S,
                                      DUR_OVERLAP_BUFFER_ALL);
    cr_expect_eq(count, 5);
    step(engine);
    cr_expect_eq(look(engine).started, 6);
    cr_expect_str_eq(look(engine).last_id, ID_AT("05:00"));
    cr_expect_eq(dur_schedule_backfill(engine, "s", T0 * NS_PER_S, (T0 + 86400) * NS_PER_S,
                                       DUR_OVERLAP_ALLOW_ALL),
                 DUR_LIMIT);
    cr_expect_eq(look(engine).waiting, 0);
    dur_close(engine);
}

static int count_row(void *user, const dur_schedule_info *info)
{
    char *names = user;
    size_t at = strlen(names);
    snprintf(names + at, 64 - at, "%s ", info->name);
    return 0;
}

Test(engine_schedule, set_again_list_and_remove, .timeout = 60)
{
    char names[64] = "";
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Wait");
    set(engine, &s);
    cr_assert_eq(dur_schedule_set(engine, "a", &s), DUR_OK);
    step_until(engine, 60);
    s.workflow_type = "Quick";
    set(engine, &s);
    cr_expect_eq(look(engine).started, 1);
    cr_expect_eq(look(engine).open, 1);
    cr_assert_eq(dur_schedule_list(engine, NULL, 0, count_row, names), DUR_OK);
    cr_expect_str_eq(names, "a s ");
    names[0] = '\0';
    cr_assert_eq(dur_schedule_list(engine, "a", 0, count_row, names), DUR_OK);
    cr_expect_str_eq(names, "s ");
    cr_assert_eq(dur_schedule_remove(engine, "s"), DUR_OK);
    cr_expect_eq(dur_schedule_remove(engine, "s"), DUR_NOT_FOUND);
    cr_expect_eq(dur_schedule_trigger(engine, "s", DUR_OVERLAP_OWN), DUR_NOT_FOUND);
    step_until(engine, 120);
    cr_expect_eq(status_of(engine, ID_AT("01:00")), DUR_RUNNING, "its run goes on");
    dur_close(engine);
}

Test(engine_schedule, nonsense_is_refused_with_a_reason, .timeout = 60)
{
    static const char *const bad_cron[] = {"61 * * * *", NULL};
    static const char *const all[] = {"* * * * *", NULL};
    static const dur_interval quick_interval[] = {{.every_ms = 10}, {0}};
    const struct {
        dur_schedule s;
        const char *why;
    } cases[] = {
        {{.cron = bad_cron, .workflow_type = "Quick"}, "column 1"},
        {{.cron = every_minute}, "workflow type"},
        {{.cron = every_minute, .workflow_type = "Quick", .time_zone = "Mars/Olympus"}, "Mars"},
        {{.cron = every_minute, .workflow_type = "Quick", .input = "{"}, "input"},
        {{.cron = every_minute, .workflow_type = "Quick", .memo = "[]"}, "memo"},
        {{.cron = every_minute, .workflow_type = "Quick", .search_attributes = "7"}, "attributes"},
        {{.cron = every_minute, .workflow_type = "Quick", .except = all}, "never fire"},
        {{.cron = every_minute, .workflow_type = "Quick", .end_ns = 1}, "never fire"},
        {{.cron = every_minute, .workflow_type = "Quick", .overlap = (dur_overlap)9}, "overlap"},
        {{.cron = every_minute, .workflow_type = "Quick", .catchup_window_ms = 5}, "catch-up"},
        {{.cron = every_minute, .workflow_type = "Quick", .jitter_ms = -1}, "jitter"},
        {{.intervals = quick_interval, .workflow_type = "Quick"}, "interval"},
    };
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cr_expect_eq(dur_schedule_set(engine, "s", &cases[i].s), DUR_INVALID, "%zu", i);
        cr_expect(strstr(dur_error(engine), cases[i].why), "%zu: %s", i, dur_error(engine));
    }
    dur_schedule s = minutely("Quick");
    cr_expect_eq(dur_schedule_set(engine, "", &s), DUR_INVALID);
    cr_expect_eq(dur_schedule_set(engine, "s", NULL), DUR_INVALID);
    dur_close(engine);
}

/* --- what a run hands on, and who is watched -------------------------------------------------- */

Test(engine_schedule, the_last_result_goes_to_the_next_run, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    dur_schedule s = minutely("Wait");
    set(engine, &s);
    step_until(engine, 60);
    end_run(engine, ID_AT("01:00"), "{\"cursor\":7}");
    step_until(engine, 120);
    autoarena struct arena *arena = arena_new();
    struct history history = read_history(engine, arena, ID_AT("02:00"));
    const struct ev_workflow_execution_started *a =
        ev_workflow_execution_started(find_event(&history, EVENT_WORKFLOW_EXECUTION_STARTED));
    cr_expect_str_eq(payloads_first_json(a->last_completion_result, NULL), "{\"cursor\":7}");
    dur_close(engine);
}

Test(engine_schedule, a_run_that_a_client_terminates_makes_room, .timeout = 60)
{
    autofree char *path = temp_path("e.db");
    dur_engine *engine = with_overlap(path, DUR_OVERLAP_BUFFER_ONE);
    step_until(engine, 120);
    cr_assert_eq(dur_terminate(engine, ID_AT("01:00"), "enough"), DUR_OK);
    step(engine);
    cr_expect_eq(look(engine).started, 2);
    dur_close(engine);
}

Test(engine_schedule, a_definition_that_cannot_be_read_is_a_problem_not_a_loss, .timeout = 60)
{
    static const char *const rules[] = {"CRON_TZ=Europe/Berlin * * * * *", NULL};
    autofree char *path = temp_path("e.db");
    if (!fs_is_dir("/usr/share/zoneinfo/Europe")) {
        cr_skip_test("skip: install tzdata");
    }
    dur_engine *engine = open_engine(path);
    dur_schedule s = {.cron = rules, .workflow_type = "Quick"};
    set(engine, &s);
    setenv("TZDIR", "/nonexistent/zoneinfo", 1);
    step_until(engine, 60);
    dur_schedule_info *info = NULL;
    cr_assert_eq(dur_schedule_describe(engine, "s", &info), DUR_OK);
    cr_expect(info->problem && strstr(info->problem, "tzdata"), "%s", info->problem);
    dur_schedule_info_free(info);
    unsetenv("TZDIR");
    step_until(engine, 75);
    cr_expect_eq(look(engine).started, 1);
    dur_close(engine);
}

/* --- preview ---------------------------------------------------------------------------------- */

struct seen {
    char text[1024];
};

static int see(void *user, const dur_schedule_time *time)
{
    struct seen *seen = user;
    autostr struct str at = {0};
    time_format_rfc3339(&at, time->nominal_ns);
    size_t len = strlen(seen->text);
    snprintf(seen->text + len, sizeof(seen->text) - len, "%s %s %d\n", str_c(&at),
             time->abbreviation, (int)time->edge);
    return 0;
}

Test(engine_schedule, a_preview_shows_the_edges_of_summer_time)
{
    static const char *const daily[] = {"30 2 * * *", NULL};
    static const char *const hourly[] = {"30 * * * *", NULL};
    struct seen seen = {0};
    if (!fs_is_dir("/usr/share/zoneinfo/Europe")) {
        cr_skip_test("skip: install tzdata");
    }
    dur_schedule s = {.cron = daily, .time_zone = "Europe/Berlin", .workflow_type = "Quick"};
    int64_t march = 1774656000 * NS_PER_S; /* 2026-03-28 */
    cr_assert_eq(dur_schedule_preview(NULL, NULL, &s, march, 3, see, &seen), DUR_OK);
    cr_expect_str_eq(seen.text, "2026-03-28T01:30:00Z CET 0\n2026-03-29T01:00:00Z CEST 1\n"
                                "2026-03-30T00:30:00Z CEST 0\n");
    seen.text[0] = '\0';
    s.cron = hourly;
    int64_t october = 1792882800 * NS_PER_S; /* 2026-10-24T23:00:00Z */
    cr_assert_eq(dur_schedule_preview(NULL, NULL, &s, october, 4, see, &seen), DUR_OK);
    cr_expect_str_eq(seen.text, "2026-10-24T23:30:00Z CEST 0\n2026-10-25T00:30:00Z CEST 2\n"
                                "2026-10-25T01:30:00Z CET 3\n2026-10-25T02:30:00Z CET 0\n");
}

static int spread(void *user, const dur_schedule_time *time)
{
    int64_t *most = user;
    int64_t delay = time->due_ns - time->nominal_ns;
    cr_expect(delay >= 0 && delay < MINUTE, "%lld", (long long)delay);
    *most = delay > *most ? delay : *most;
    return 0;
}

Test(engine_schedule, jitter_delays_by_less_than_the_time_until_the_next)
{
    dur_schedule s = minutely("Quick");
    int64_t most = 0;
    int64_t again = 0;
    s.jitter_ms = 10 * DUR_MINUTES;
    cr_assert_eq(dur_schedule_preview(NULL, "s", &s, wall_ns, 100, spread, &most), DUR_OK);
    cr_assert_eq(dur_schedule_preview(NULL, "s", &s, wall_ns, 100, spread, &again), DUR_OK);
    cr_expect_gt(most, 30 * NS_PER_S);
    cr_expect_eq(most, again);
}
