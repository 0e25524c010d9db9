/*
 * test_temporal_local.c - local activities of a worker on a server: a run of exec/ and the threads
 * that run what it waits for, with a history in memory in the server's place.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "activity/registry.h"
#include "base/clock.h"
#include "base/mem.h"
#include "exec_host.h"
#include "temporal/local.h"

#define TEST(name) Test(temporal_local, name, .timeout = 60)

static atomic_int calls, told, released, running, most;
static char last_type[64];
static _Atomic(const char *) stop_reason; /* reasons are static texts */
static atomic_int wakes;
static struct str logged;

/* {"fail": n attempts, "kind": k} */
static int act(dur_activity *act, const char *input, const char **result, void *user)
{
    const dur_failure_info *last = dur_activity_last_failure(act);
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (last) {
        snprintf(last_type, sizeof(last_type), "%s", last->type);
    }
    cr_expect_null(dur_activity_token(act));
    cr_expect_eq(dur_heartbeat(act, "1"), DUR_OK);
    cr_expect_eq(dur_heartbeat_sync(act, "2"), DUR_OK);
    if (dur_activity_attempt(act) <= dur_json_int(input, "/fail", 0)) {
        return dur_fail(act, (dur_kind)dur_json_int(input, "/kind", DUR_TRANSIENT), "Broken",
                        "attempt %d", dur_activity_attempt(act));
    }
    *result = dur_jsonf(act, "{\"key\":%q,\"attempt\":%d}", dur_activity_key(act),
                        dur_activity_attempt(act));
    return DUR_OK;
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *reason = NULL;
    (void)input;
    (void)result;
    (void)user;
    atomic_fetch_add(&calls, 1);
    int now = atomic_fetch_add(&running, 1) + 1;
    if (now > atomic_load(&most)) {
        atomic_store(&most, now);
    }
    while (!dur_activity_cancelled(act, &reason) && !atomic_load(&released)) {
        clock_sleep_ms(1);
    }
    atomic_fetch_sub(&running, 1);
    if (!reason) {
        return DUR_OK;
    }
    atomic_store(&stop_reason, reason);
    atomic_fetch_add(&told, 1);
    return DUR_CANCELLED;
}

/* --- workflows --- */

static dur_local_options options_of(const char *input)
{
    return (dur_local_options){.start_to_close_ms = dur_json_int(input, "/start", 0),
                               .schedule_to_close_ms = dur_json_int(input, "/close", 0),
                               .max_attempts = (int)dur_json_int(input, "/max", 0),
                               .local_retry_threshold_ms = dur_json_int(input, "/threshold", 0),
                               .retry = {.initial_interval_ms = dur_json_int(input, "/initial", 1),
                                         .backoff_coefficient = 1.0},
                               .cancellation = (dur_cancellation)dur_json_int(input, "/cancel", 0)};
}

static const char *tell(dur_ctx *ctx, int rc, const char *value)
{
    const dur_failure_info *f = rc == DUR_FAILED ? dur_failure(ctx) : NULL;
    while (f && f->cause) {
        f = f->cause;
    }
    return f ? dur_ctx_jsonf(ctx, "[%d,%q,%q]", rc, f->type, f->timeout_type)
             : dur_ctx_jsonf(ctx, "[%d,%j]", rc, value);
}

static int one(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *value = NULL;
    dur_local_options options = options_of(input);
    int rc = dur_run_local(ctx, user ? user : "Act", input, &value, &options);
    *result = tell(ctx, rc, value);
    return rc == DUR_UNWIND ? rc : DUR_OK;
}

static int cancels(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_local_options options = options_of(input);
    const char *value = NULL;
    (void)user;
    dur_future *f = dur_start_local(ctx, "Hang", "{}", &options);
    int rc = dur_receive(ctx, "now", -1, NULL);
    if (rc == DUR_OK) {
        dur_cancel_future(ctx, f);
        rc = dur_await(ctx, f, &value);
    }
    *result = tell(ctx, rc, value);
    return rc == DUR_UNWIND ? rc : DUR_OK;
}

static int crowd(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *all[12];
    (void)input;
    (void)result;
    (void)user;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i] = dur_start_local(ctx, "Hang", NULL, NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int rc = dur_await(ctx, all[i], NULL);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

/* --- the worker --- */

static struct registry registry;
static struct locals *locals;

static void wake(void *user)
{
    (void)user;
    atomic_fetch_add(&wakes, 1);
}

static void log_line(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    str_addf(&logged, "%s\n", line);
}

static void begin(struct host *h, dur_workflow_fn fn, void *user, const char *input, int slots)
{
    host_init(h, fn, user, input);
    cr_assert_eq(registry_add_activity(&registry, "Act", act, NULL), DUR_OK);
    cr_assert_eq(registry_add_activity(&registry, "Hang", hang, NULL), DUR_OK);
    locals = locals_new(&(struct locals_spec){
        .registry = &registry, .slots = slots, .wake = wake, .log = log_line});
}

static void end(struct host *h)
{
    locals_end(locals);
    registry_free(&registry);
    str_free(&logged);
    host_free(h);
}

static int task(struct host *h)
{
    host_wake(h);
    locals_give(locals, h->run, "r");
    int rc = host_task(h);
    cr_assert_eq(rc, 0, "%s", h->out.message ? h->out.message : h->err.text);
    locals_sync(locals, h->run, "w", "r", h->now_ns);
    return rc;
}

/* Passes until an outcome is there. */
static void until_ended(void)
{
    while (!locals_have_ended(locals, "r")) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
}

static void until_called(int count)
{
    while (atomic_load(&calls) < count) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
}

static const char *run_one(struct host *h, void *type, const char *input)
{
    begin(h, one, type, input, 4);
    task(h);
    cr_assert_eq(locals_open(locals, "r"), 1);
    until_ended();
    cr_assert_eq(locals_open(locals, "r"), 0);
    task(h);
    cr_assert_eq(host_evict(h), 0, "%s", h->out.message);
    return host_commands(h);
}

TEST(a_result_is_a_marker_of_the_next_task)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, NULL, "{}"),
                     "!core_local_activity =done:[0,{\"key\":\"r/1\",\"attempt\":1}]");
    cr_expect_gt(atomic_load(&wakes), 0);
    cr_expect_not(locals_have_ended(locals, "r"));
    cr_expect_eq(locals_due_ns(locals), INT64_MAX);
    end(&h);
}

TEST(retries_in_memory_leave_one_marker)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, NULL, "{\"fail\":3}"),
                     "!core_local_activity =done:[0,{\"key\":\"r/1\",\"attempt\":4}]");
    cr_expect_eq(atomic_load(&calls), 4);
    cr_expect_str_eq(last_type, "Broken");
    end(&h);
}

TEST(the_last_failure_is_the_outcome)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, NULL, "{\"fail\":9,\"max\":3}"),
                     "!core_local_activity =done:[-1,\"Broken\",null]");
    cr_expect_eq(atomic_load(&calls), 3);
    end(&h);
}

TEST(permanent_failures_are_not_retried)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, NULL, "{\"fail\":9,\"kind\":1}"),
                     "!core_local_activity =done:[-1,\"Broken\",null]");
    cr_expect_eq(atomic_load(&calls), 1);
    end(&h);
}

TEST(a_long_backoff_is_a_timer)
{
    struct host h;
    begin(&h, one, NULL, "{\"fail\":1,\"initial\":5000,\"threshold\":100}", 4);
    task(&h);
    until_ended();
    task(&h);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity +T1");
    cr_expect_eq(locals_open(locals, "r"), 0);
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_fired(&h, host_open_timer(&h, 0));
    task(&h);
    cr_expect_eq(locals_open(locals, "r"), 1);
    until_ended();
    task(&h);
    cr_expect_str_eq(host_commands(&h),
                     "!core_local_activity =done:[0,{\"key\":\"r/2\",\"attempt\":2}]");
    end(&h);
}

TEST(timeouts)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, (void *)(uintptr_t) "Hang", "{\"start\":20,\"max\":2}"),
                     "!core_local_activity =done:[-1,\"Timeout\",\"StartToClose\"]");
    cr_expect_eq(atomic_load(&calls), 2);
    end(&h);
}

TEST(schedule_to_close_ends_all_attempts)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, (void *)(uintptr_t) "Hang", "{\"close\":30}"),
                     "!core_local_activity =done:[-1,\"Timeout\",\"ScheduleToClose\"]");
    cr_expect_eq(atomic_load(&calls), 1);
    end(&h);
}

TEST(a_type_that_is_not_here_is_tried_again_later)
{
    struct host h;
    cr_expect_str_eq(run_one(&h, (void *)(uintptr_t) "Nowhere", "{\"max\":3}"),
                     "!core_local_activity =done:[-1,\"ActivityNotRegistered\",null]");
    cr_expect_str_eq(str_c(&logged), "run w: local activity 1: this worker has no type Nowhere\n"
                                     "run w: local activity 1: this worker has no type Nowhere\n"
                                     "run w: local activity 1: this worker has no type Nowhere\n");
    end(&h);
}

static void cancel_it(struct host *h, const char *input, const char *expected, bool ends_itself)
{
    begin(h, cancels, NULL, input, 4);
    task(h);
    until_called(1);
    host_signal(h, "now", "1");
    task(h);
    if (ends_itself) {
        until_ended();
        task(h);
    }
    cr_expect_str_eq(host_commands(h), expected);
}

TEST(try_cancel_does_not_wait)
{
    struct host h;
    cancel_it(&h, "{}", "!core_local_activity =done:[-2,null]", false);
    while (!atomic_load(&told)) {
        clock_sleep_ms(1);
    }
    cr_expect_str_eq(atomic_load(&stop_reason), "cancelled");
    end(&h);
}

TEST(wait_cancel_waits)
{
    struct host h;
    char input[64];
    snprintf(input, sizeof(input), "{\"cancel\":%d}", DUR_WAIT_CANCEL);
    cancel_it(&h, input, "!core_local_activity =done:[-2,null]", true);
    cr_expect_eq(atomic_load(&told), 1);
    end(&h);
}

TEST(abandon_lets_it_run)
{
    struct host h;
    char input[64];
    snprintf(input, sizeof(input), "{\"cancel\":%d}", DUR_ABANDON);
    cancel_it(&h, input, "!core_local_activity =done:[-2,null]", false);
    clock_sleep_ms(10);
    locals_pass(locals);
    cr_expect_eq(atomic_load(&told), 0);
    cr_expect_not(locals_home(locals));
    atomic_store(&released, 1);
    while (!locals_home(locals)) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    end(&h);
}

TEST(never_more_than_slots)
{
    struct host h;
    begin(&h, crowd, NULL, "{}", 3);
    task(&h);
    cr_expect_eq(locals_open(locals, "r"), 12);
    until_called(3);
    clock_sleep_ms(10);
    locals_pass(locals);
    cr_expect_eq(atomic_load(&calls), 3);
    atomic_store(&released, 1);
    while (locals_open(locals, "r")) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    cr_expect_leq(atomic_load(&most), 3);
    task(&h);
    cr_expect(str_ends(host_commands(&h), "=done:null"), "%s", host_commands(&h));
    end(&h);
}

TEST(without_threads_the_loop_runs_them)
{
    struct host h;
    begin(&h, one, NULL, "{}", 0);
    task(&h);
    cr_expect_eq(atomic_load(&calls), 0);
    cr_expect_gt(atomic_load(&wakes), 0);
    cr_expect(locals_pass(locals));
    cr_expect_eq(atomic_load(&calls), 1);
    task(&h);
    cr_expect_str_eq(host_commands(&h),
                     "!core_local_activity =done:[0,{\"key\":\"r/1\",\"attempt\":1}]");
    end(&h);
}

TEST(a_run_that_comes_back_finds_its_attempts)
{
    struct host h;
    begin(&h, one, (void *)(uintptr_t) "Hang", "{}", 4);
    task(&h);
    until_called(1);
    locals_leave(locals, "r");
    cr_assert_eq(host_evict(&h), 0);
    locals_sync(locals, h.run, "w", "r", h.now_ns);
    cr_expect_eq(locals_open(locals, "r"), 1);
    atomic_store(&released, 1);
    until_ended();
    cr_expect_eq(atomic_load(&calls), 1);
    task(&h);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity =done:[0,null]");
    end(&h);
}

TEST(and_what_came_of_them_meanwhile)
{
    struct host h;
    begin(&h, crowd, NULL, "{}", 2);
    task(&h);
    until_called(2);
    locals_leave(locals, "r");
    cr_assert_eq(host_evict(&h), 0);
    atomic_store(&released, 1);
    while (!locals_home(locals)) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    cr_expect_eq(atomic_load(&calls), 2, "none begins while its run is away");
    locals_sync(locals, h.run, "w", "r", h.now_ns);
    cr_expect(locals_have_ended(locals, "r"));
    while (locals_open(locals, "r")) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    cr_expect_eq(atomic_load(&calls), 12);
    task(&h);
    cr_expect(str_ends(host_commands(&h), "=done:null"), "%s", host_commands(&h));
    end(&h);
}

static struct {
    int64_t ahead_ns;
} time_machine;

static int64_t later_wall(void *user)
{
    (void)user;
    return 1;
}

static int64_t later_mono(void *user)
{
    struct timespec ts;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NS_PER_S + ts.tv_nsec + time_machine.ahead_ns;
}

TEST(one_that_stays_away_is_forgotten)
{
    struct host h;
    clock_replace(&(struct clock_vtable){.wall_ns = later_wall, .mono_ns = later_mono});
    begin(&h, one, (void *)(uintptr_t) "Hang", "{\"start\":99999999}", 4);
    task(&h);
    until_called(1);
    locals_leave(locals, "r");
    locals_pass(locals);
    cr_expect_eq(locals_open(locals, "r"), 1);
    time_machine.ahead_ns = 601 * NS_PER_S;
    locals_pass(locals);
    cr_expect_eq(locals_open(locals, "r"), 0);
    while (!locals_home(locals)) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    cr_expect_str_eq(atomic_load(&stop_reason), "closed");
    end(&h);
}

TEST(a_closed_run_tells_its_attempts)
{
    struct host h;
    begin(&h, one, (void *)(uintptr_t) "Hang", "{}", 4);
    task(&h);
    until_called(1);
    locals_close(locals, "r");
    while (!locals_home(locals)) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    cr_expect_str_eq(atomic_load(&stop_reason), "closed");
    end(&h);
}

TEST(stopping_does_not_count)
{
    struct host h;
    begin(&h, crowd, NULL, "{}", 2);
    task(&h);
    until_called(2);
    locals_stop(locals);
    while (!locals_home(locals)) {
        locals_pass(locals);
        clock_sleep_ms(1);
    }
    cr_expect_str_eq(atomic_load(&stop_reason), "stopping");
    cr_expect_eq(atomic_load(&calls), 2);
    cr_expect_not(locals_have_ended(locals, "r"));
    cr_expect_eq(locals_open(locals, "r"), 12);
    end(&h);
}
