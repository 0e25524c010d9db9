/*
 * test_engine_views.c - the SQL view activity_log against the exported history: the same
 * activities, ends and attempts, also when many of them interleave. Asked with the plain sqlite3
 * shell.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/proc.h"
#include "durable.h"
#include "tests/lib/temp_path.h"

#define TOGETHER 12

/* Ends in another order than it began; some fail at first, some for good. */
static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    int64_t n = dur_json_int(input, "/n", 0);
    (void)user;
    clock_sleep_ms((n * 7) % 11);
    if (n % 5 == 3 && dur_activity_attempt(act) < 3) {
        return dur_fail(act, DUR_TRANSIENT, "Flaky", "not yet");
    }
    if (n % 5 == 4) {
        return dur_fail(act, DUR_PERMANENT, "Refused", "never %d", (int)n);
    }
    *result = dur_jsonf(act, "%i64", n);
    return DUR_OK;
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    while (dur_heartbeat(act, NULL) != DUR_CANCELLED) {
        clock_sleep_ms(2);
    }
    return DUR_CANCELLED;
}

static int mixed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *futures[TOGETHER];
    const dur_activity_options options = {.retry = {.initial_interval_ms = 1}};
    dur_future *hanging = dur_start_activity(
        ctx, "Hang", "{}",
        &(dur_activity_options){.cancellation = DUR_WAIT_CANCEL, .heartbeat_ms = 5000});
    (void)input;
    (void)result;
    (void)user;
    for (int round = 0; round < 2; round++) {
        for (int n = 0; n < TOGETHER; n++) {
            futures[n] =
                dur_start_activity(ctx, "Work", dur_ctx_jsonf(ctx, "{\"n\":%d}", n), &options);
        }
        for (int n = 0; n < TOGETHER; n++) {
            if (dur_await(ctx, futures[n], NULL) == DUR_UNWIND) {
                return DUR_UNWIND;
            }
        }
    }
    dur_cancel_future(ctx, hanging);
    int rc = dur_await(ctx, hanging, NULL);
    return rc == DUR_CANCELLED ? DUR_OK : rc;
}

struct entry {
    const char *type, *state;
    int64_t attempt;
};

static void read_event(const struct json *event, struct entry *entries, size_t max)
{
    static const char *const closes[][3] = {
        {"EVENT_TYPE_ACTIVITY_TASK_COMPLETED", "activityTaskCompletedEventAttributes", "Completed"},
        {"EVENT_TYPE_ACTIVITY_TASK_FAILED", "activityTaskFailedEventAttributes", "Failed"},
        {"EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT", "activityTaskTimedOutEventAttributes", "TimedOut"},
        {"EVENT_TYPE_ACTIVITY_TASK_CANCELED", "activityTaskCanceledEventAttributes", "Canceled"},
    };
    const char *type = json_get_str(event, "eventType");
    int64_t id = 0;
    cr_assert(json_get_i64(event, "eventId", &id) && id > 0 && (size_t)id < max);
    const struct json *scheduled = json_get(event, "activityTaskScheduledEventAttributes");
    const struct json *started = json_get(event, "activityTaskStartedEventAttributes");
    if (scheduled) {
        entries[id].type = json_get_str(json_get(scheduled, "activityType"), "name");
    }
    if (started) {
        cr_assert(json_get_i64(started, "scheduledEventId", &id));
        cr_assert(json_get_i64(started, "attempt", &entries[id].attempt));
    }
    for (size_t i = 0; i < ARRAY_LEN(closes); i++) {
        if (str_eq(type, closes[i][0])) {
            cr_assert(json_get_i64(json_get(event, closes[i][1]), "scheduledEventId", &id));
            entries[id].state = closes[i][2];
        }
    }
}

/* What the view should say, from Temporal's own form. */
static void expect_from_history(struct str *out, const char *history)
{
    autoarena struct arena *arena = arena_new();
    const struct json *root;
    struct err err = {0};
    cr_assert_eq(json_parse(arena, history, strlen(history), &root, &err), 0, "%s", err.text);
    const struct json *events = json_get(root, "events");
    size_t max = events->count + 1;
    struct entry *entries = arena_array_of(arena, struct entry, max);
    json_each (event, events) {
        read_event(event, entries, max);
    }
    for (size_t id = 1; id < max; id++) {
        if (entries[id].type) {
            str_addf(out, "%zu|%s|%s|%lld\n", id, entries[id].type, entries[id].state,
                     (long long)entries[id].attempt);
        }
    }
}

Test(engine_views, activity_log_agrees_with_the_history, .timeout = 120)
{
    autofree char *path = temp_path("views.db");
    autostr struct str wanted = {0};
    autoproc struct proc_result got = {0};
    struct err err = {0};
    char *history = NULL;
    dur_engine *engine;
    const char *sql = "SELECT scheduled_event_id, type, state, attempt FROM activity_log"
                      " WHERE workflow_id = 'mixed' ORDER BY scheduled_event_id";
    const char *argv[] = {"sqlite3", "-readonly", path, sql, NULL};
    if (!proc_in_path("sqlite3", NULL)) {
        cr_skip_test("skip: install sqlite3");
    }
    cr_assert_eq(dur_open(&engine, path, NULL), DUR_OK, "%s", dur_error(engine));
    dur_register_workflow(engine, "Mixed", mixed, NULL);
    dur_register_activity(engine, "Work", work, NULL);
    dur_register_activity(engine, "Hang", hang, NULL);
    cr_assert_eq(dur_start(engine, "Mixed", "mixed", "{}", NULL), DUR_OK);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK, "%s", dur_error(engine));
    cr_assert_eq(dur_history(engine, "mixed", &history), DUR_OK);
    expect_from_history(&wanted, history);
    cr_assert(strstr(str_c(&wanted), "|Work|Completed|3\n"), "%s", str_c(&wanted));
    cr_assert(strstr(str_c(&wanted), "|Work|Failed|1\n"), "%s", str_c(&wanted));
    cr_assert(strstr(str_c(&wanted), "|Hang|Canceled|1\n"), "%s", str_c(&wanted));
    cr_assert_eq(proc_run(&(struct proc_spec){.argv = argv}, NULL, 0, 1 << 20, 60000, &got, &err),
                 0, "%s", err.text);
    cr_assert_str_eq(str_c(&got.out), str_c(&wanted));
    dur_free(history);
    dur_close(engine);
}
