/*
 * test_engine_admin.c - the private door: pending activities, lanes, prefixes, histories for
 * people.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "engine/admin.h"
#include "tests/lib/temp_path.h"

#define WAIT_MS 20000

static int broken(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_fail(act, DUR_TRANSIENT, "Flaky", "the mirror is gone");
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(2);
    }
    return DUR_CANCELLED;
}

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "{\"got\":%j}", input);
    return DUR_OK;
}

static int run_named(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options options = {.task_queue = "narrow",
                                    .retry = {.initial_interval_ms = 3600 * 1000}};
    (void)user;
    return dur_run(ctx, dur_ctx_json_string(ctx, input, ""), input, result, &options);
}

static void *serve(void *engine)
{
    dur_serve(engine, DUR_UNTIL_STOPPED);
    return NULL;
}

static dur_engine *open_engine(const char *path)
{
    dur_engine *engine;
    cr_assert_eq(dur_open(&engine, path, NULL), DUR_OK, "%s", dur_error(engine));
    dur_register_activity(engine, "broken", broken, NULL);
    dur_register_activity(engine, "hang", hang, NULL);
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_workflow(engine, "run_named", run_named, NULL);
    dur_lane(engine, "narrow", 1);
    return engine;
}

static void wait_state(dur_engine *engine, const char *id, enum admin_state state,
                       struct arena *arena, struct admin_activities *ret)
{
    int64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    do {
        cr_assert_eq(admin_activities(engine, arena, id, ret), DUR_OK);
        if (ret->count == 1 && ret->rows[0].state == state) {
            return;
        }
        clock_sleep_ms(5);
    } while (clock_mono_ns() < until);
    cr_assert_fail("%s never got there", id);
}

Test(engine_admin, pending_activities, .timeout = 60)
{
    autofree char *path = temp_path("t.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    struct admin_activities a;
    struct admin_server server;
    pthread_t thread;
    cr_assert_eq(admin_server(engine, arena, &server), DUR_OK);
    cr_assert(!server.is_serving);
    cr_assert_eq(server.pid, 0);
    pthread_create(&thread, NULL, serve, engine);
    cr_assert_eq(dur_start(engine, "run_named", "b-1", "\"broken\"", NULL), DUR_OK);
    wait_state(engine, "b-1", ADMIN_BACKOFF, arena, &a);
    cr_assert_str_eq(a.rows[0].type, "broken");
    cr_assert_str_eq(a.rows[0].lane, "narrow");
    cr_assert_eq(a.rows[0].attempt, 2, "the attempt to come");
    cr_assert_gt(a.rows[0].next_attempt_ns, clock_wall_ns());
    cr_assert_str_eq(a.rows[0].last_failure, "the mirror is gone");

    cr_assert_eq(dur_start(engine, "run_named", "h-1", "\"hang\"", NULL), DUR_OK);
    wait_state(engine, "h-1", ADMIN_RUNNING, arena, &a);
    cr_assert_gt(a.rows[0].started_ns, 0);
    cr_assert_null(a.rows[0].last_failure);
    cr_assert_eq(admin_server(engine, arena, &server), DUR_OK);
    cr_assert(server.is_serving);
    cr_assert_eq(server.pid, getpid());
    cr_assert_eq(server.engines, 1);

    cr_assert_eq(dur_start(engine, "run_named", "h-2", "\"hang\"", NULL), DUR_OK);
    cr_assert_eq(dur_start(engine, "run_named", "h-3", "\"hang\"", NULL), DUR_OK);
    wait_state(engine, "h-3", ADMIN_WAITING, arena, &a);
    cr_assert_eq(a.rows[0].ahead, 1, "h-2 goes first");
    struct admin_lane lane;
    cr_assert_eq(admin_lane(engine, "narrow", &lane), DUR_OK);
    cr_assert_eq(lane.running, 1);
    cr_assert_eq(lane.waiting, 2);
    cr_assert_eq(lane.backoff, 1);
    cr_assert_eq(admin_activities(engine, arena, "nobody", &a), DUR_NOT_FOUND);
    dur_stop(engine);
    pthread_join(thread, NULL);
    dur_close(engine);
}

Test(engine_admin, ids_with_prefix, .timeout = 30)
{
    autofree char *path = temp_path("t.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    const char *ids[] = {"run-a1", "run-a2", "run-b", "run-", "rum", "run-a%", "run-A1"};
    struct admin_ids found;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        cr_assert_eq(dur_start(engine, "run_named", ids[i], "\"echo\"", NULL), DUR_OK);
    }
    cr_assert_eq(admin_ids_with_prefix(engine, arena, "run-a", 10, &found), DUR_OK);
    cr_assert_eq(found.count, 3);
    cr_assert_str_eq(found.ids[0], "run-a%", "newest first");
    cr_assert_eq(admin_ids_with_prefix(engine, arena, "run-a", 2, &found), DUR_OK);
    cr_assert_eq(found.count, 2);
    cr_assert_eq(admin_ids_with_prefix(engine, arena, "run-a%", 10, &found), DUR_OK);
    cr_assert_eq(found.count, 1, "no wildcards");
    cr_assert_eq(admin_ids_with_prefix(engine, arena, "x", 10, &found), DUR_OK);
    cr_assert_eq(found.count, 0);
    cr_assert_eq(admin_ids_with_prefix(engine, arena, "", 10, &found), DUR_OK);
    cr_assert_eq(found.count, 7);
    dur_close(engine);
}

Test(engine_admin, history_for_people, .timeout = 60)
{
    autofree char *path = temp_path("t.db");
    autoarena struct arena *arena = arena_new();
    dur_engine *engine = open_engine(path);
    struct admin_history h;
    cr_assert_eq(dur_start(engine, "run_named", "e-1", "\"echo\"", NULL), DUR_OK);
    cr_assert_eq(dur_serve(engine, DUR_UNTIL_IDLE), DUR_OK);
    cr_assert_eq(admin_history(engine, arena, "e-1", &h), DUR_OK);
    cr_assert_gt(h.bytes, 0);
    cr_assert_str_eq(h.events[0].type, "WorkflowExecutionStarted");
    cr_assert_str_eq(h.events[0].name, "run_named");
    cr_assert_str_eq(h.events[0].input, "\"echo\"");
    const struct admin_event *scheduled = NULL, *completed = NULL;
    for (size_t i = 0; i < h.count; i++) {
        cr_assert_eq(h.events[i].id, (int64_t)i + 1);
        if (str_eq(h.events[i].type, "ActivityTaskScheduled")) {
            scheduled = &h.events[i];
        } else if (str_eq(h.events[i].type, "ActivityTaskCompleted")) {
            completed = &h.events[i];
        }
    }
    cr_assert(scheduled && completed);
    cr_assert_str_eq(scheduled->name, "echo");
    cr_assert_eq(completed->scheduled_id, scheduled->id);
    cr_assert_str_eq(completed->result, "{\"got\":\"echo\"}");
    cr_assert_str_eq(h.events[h.count - 1].type, "WorkflowExecutionCompleted");
    dur_close(engine);
}

Test(engine_admin, a_clock_that_was_set_is_told, .timeout = 60)
{
    dur_engine *engine;
    struct admin_clock clock;
    autoarena struct arena *arena = arena_new();
    cr_assert_eq(dur_test_open(&engine, NULL), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, 1000), DUR_OK);
    cr_assert_eq(admin_clock(engine, arena, 0, &clock), DUR_OK);
    cr_assert_eq(clock.sets, 0);
    cr_assert_eq(dur_test_set_wall(engine, 3600 * 1000), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, 1000), DUR_OK);
    cr_assert_eq(dur_test_set_wall(engine, -7200 * 1000), DUR_OK);
    cr_assert_eq(dur_test_advance(engine, 1000), DUR_OK);
    cr_assert_eq(admin_clock(engine, arena, 0, &clock), DUR_OK);
    cr_assert_eq(clock.sets, 2);
    cr_assert_eq(clock.largest_ns, -7200 * NS_PER_S);
    cr_assert_gt(clock.last_ns, 0);
    cr_assert_eq(admin_clock(engine, arena, INT64_MAX, &clock), DUR_OK);
    cr_assert_eq(clock.sets, 0);
    dur_close(engine);
}
