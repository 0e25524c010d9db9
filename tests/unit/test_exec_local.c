/*
 * test_exec_local.c - local activities and transactions in exec/: what is recorded, in which order,
 * what replay compares, and that histories of Temporal's Core replay.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "exec/local.h"
#include "exec_host.h"
#include "history/builder.h"
#include "history/failure.h"
#include "history/json.h"

#define TEST(name) Test(exec_local, name, .timeout = 30)

/* "1:A#1 2:B#1?" of those that wait: seq, type, attempt, and whether they shall stop. */
static const char *waiting(struct host *h)
{
    str_reset(&h->text);
    for (const struct run_local *l = run_next_local(h->run, NULL); l;
         l = run_next_local(h->run, l)) {
        str_addf(&h->text, "%s%d:%s#%d%s", h->text.len ? " " : "", (int)l->seq, l->type, l->attempt,
                 l->cancel_requested ? "?" : "");
    }
    return str_c(&h->text);
}

/* Runs a task with these outcomes. */
static int task_with(struct host *h, const struct run_local_end *ends, size_t count)
{
    host_wake(h);
    run_give_locals(h->run, ends, count);
    return host_task(h);
}

static struct run_local_end end_ok(uint64_t seq, const char *result)
{
    return (struct run_local_end){
        .seq = seq, .result = result, .attempt = 1, .ended_ns = 5, .backoff_ns = -1};
}

static struct run_local_end end_failed(struct host *h, uint64_t seq, int attempt,
                                       int64_t backoff_ns)
{
    return (struct run_local_end){.seq = seq,
                                  .code = DUR_FAILED,
                                  .failure =
                                      failure_application(h->arena, "Down", "no", false, NULL),
                                  .attempt = attempt,
                                  .ended_ns = 5,
                                  .backoff_ns = backoff_ns};
}

/* --- outcomes --- */

static int pair(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = NULL, *b = NULL;
    (void)input;
    (void)user;
    dur_future *one = dur_start_local(ctx, "A", "1", NULL);
    dur_future *two = dur_start_local(ctx, "B", "2", NULL);
    int rc = dur_await(ctx, one, &a);
    if (rc || (rc = dur_sleep(ctx, 5)) || (rc = dur_await(ctx, two, &b))) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return DUR_OK;
}

TEST(outcomes_of_a_task_are_one_batch)
{
    struct host h;
    host_init(&h, pair, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "");
    cr_expect_str_eq(waiting(&h), "1:A#1 2:B#1");
    struct run_local_end ends[] = {end_ok(2, "\"b\""), end_ok(1, "\"a\"")};
    cr_assert_eq(task_with(&h, ends, 2), 0);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity !core_local_activity +T1");
    cr_expect_str_eq(waiting(&h), "");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_fired(&h, "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:[\"a\",\"b\"]");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_free(&h);
}

TEST(they_wait_over_other_tasks_and_evictions)
{
    struct host h;
    host_init(&h, pair, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    host_signal(&h, "nothing", "1");
    cr_assert_eq(host_task(&h), 0);
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_str_eq(waiting(&h), "1:A#1 2:B#1");
    struct run_local_end one = end_ok(1, NULL), unknown = end_ok(77, NULL);
    cr_assert_eq(task_with(&h, &one, 1), 0);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity +T1");
    cr_assert_eq(host_evict(&h), 0);
    cr_expect_str_eq(waiting(&h), "2:B#1");
    cr_assert_eq(task_with(&h, &unknown, 1), 0);
    cr_expect_str_eq(host_commands(&h), "");
    host_fired(&h, "1");
    cr_assert_eq(host_task(&h), 0);
    struct run_local_end two = end_ok(2, "3");
    cr_assert_eq(task_with(&h, &two, 1), 0);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity =done:[null,3]");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_free(&h);
}

TEST(the_marker_is_cores)
{
    struct host h;
    struct local_mark mark;
    host_init(&h, pair, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    struct run_local_end end = end_ok(1, "{\"x\":1}");
    end.attempt = 3;
    end.ended_ns = 7 * NS_PER_S + 9;
    cr_assert_eq(task_with(&h, &end, 1), 0);
    const struct event *event = h.events[h.last + 1];
    const struct payloads_map *details = ev_marker_recorded(event)->details;
    const char *data = payloads_first_json(payloads_map_get(details, "data"), NULL);
    cr_expect(strstr(data, "{\"seq\":1,\"attempt\":3,\"activity_id\":\"1\",\"activity_type\":\"A\","
                           "\"complete_time\":{\"seconds\":7,\"nanos\":9},\"backoff\":null,"
                           "\"original_schedule_time\":{\"seconds\":") == data,
              "%s", data);
    cr_expect_str_eq(payloads_first_json(payloads_map_get(details, "result"), NULL), "{\"x\":1}");
    cr_assert(local_mark_read(h.arena, event, &mark));
    cr_expect_eq(mark.seq, 1);
    cr_expect_eq(mark.attempt, 3);
    cr_expect_eq(mark.completed_ns, 7 * NS_PER_S + 9);
    cr_expect_eq(mark.backoff_ns, -1);
    cr_expect_str_eq(mark.result, "{\"x\":1}");
    host_free(&h);
}

/* --- back-off --- */

static int patient(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run_local(ctx, "A", input, result, NULL);
    if (rc == DUR_FAILED) {
        const dur_failure_info *f = dur_failure(ctx);
        *result = dur_ctx_jsonf(ctx, "[%q,%q,%d]", f->activity_type, f->cause->type, f->attempt);
        return DUR_OK;
    }
    return rc;
}

TEST(a_long_back_off_is_a_timer_and_a_new_number)
{
    struct host h;
    host_init(&h, patient, NULL, "7");
    cr_assert_eq(host_task(&h), 0);
    struct run_local_end end = end_failed(&h, 1, 4, 1500 * NS_PER_US);
    cr_assert_eq(task_with(&h, &end, 1), 0);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity +T1");
    const struct ev_timer_started *t = ev_timer_started(h.events[h.count - 1]);
    cr_expect_eq(t->start_to_fire_timeout, 2 * NS_PER_MS, "rounded up");
    cr_expect_str_eq(waiting(&h), "");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_fired(&h, "1");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(waiting(&h), "2:A#5");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    cr_expect_str_eq(waiting(&h), "2:A#5");
    end = end_failed(&h, 2, 5, -1);
    cr_assert_eq(task_with(&h, &end, 1), 0);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity =done:[\"A\",\"Down\",5]");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_free(&h);
}

/* --- cancellation --- */

struct plan {
    dur_cancellation cancellation;
    bool early;
};

static int stopper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const struct plan *plan = user;
    dur_future *f =
        dur_start_local(ctx, "A", input, &(dur_local_options){.cancellation = plan->cancellation});
    if (!plan->early) {
        dur_receive(ctx, "now", -1, NULL);
    }
    dur_cancel_future(ctx, f);
    *result = dur_ctx_jsonf(ctx, "%d", dur_await(ctx, f, NULL));
    return DUR_OK;
}

TEST(cancelled_by_each_type)
{
    for (int type = DUR_TRY_CANCEL; type <= DUR_ABANDON; type++) {
        struct host h;
        struct plan plan = {.cancellation = (dur_cancellation)type};
        host_init(&h, stopper, &plan, "null");
        cr_assert_eq(host_task(&h), 0);
        cr_assert_eq(host_evict(&h), 0);
        host_signal(&h, "now", "1");
        cr_assert_eq(host_task(&h), 0);
        if (type == DUR_WAIT_CANCEL) {
            cr_expect_str_eq(host_commands(&h), "");
            cr_expect_str_eq(waiting(&h), "1:A#1?");
            cr_assert_eq(host_evict(&h), 0);
            cr_expect_str_eq(waiting(&h), "1:A#1?");
            struct run_local_end end = {
                .seq = 1, .code = DUR_CANCELLED, .attempt = 1, .ended_ns = 5, .backoff_ns = -1};
            cr_assert_eq(task_with(&h, &end, 1), 0);
        }
        cr_expect_str_eq(host_commands(&h), "!core_local_activity =done:-2");
        cr_expect_str_eq(waiting(&h), "");
        cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
        host_free(&h);
    }
}

TEST(a_completion_that_comes_first_wins_over_a_cancel_that_waits)
{
    struct host h;
    struct plan plan = {.cancellation = DUR_WAIT_CANCEL};
    host_init(&h, stopper, &plan, "null");
    cr_assert_eq(host_task(&h), 0);
    host_signal(&h, "now", "1");
    cr_assert_eq(host_task(&h), 0);
    struct run_local_end end = end_ok(1, "4");
    cr_assert_eq(task_with(&h, &end, 1), 0);
    cr_expect_str_eq(host_commands(&h), "!core_local_activity =done:0");
    cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
    host_free(&h);
}

TEST(cancelled_in_the_task_that_asks_leaves_no_trace)
{
    struct host h;
    struct plan plan = {.early = true};
    host_init(&h, stopper, &plan, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:-2");
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

/* --- what replay compares --- */

static void set_data(struct host *h, size_t at, const char *data)
{
    struct payloads_map *fresh = arena_new_of(h->arena, struct payloads_map);
    payloads_map_add(fresh, h->arena, "data", payloads_json(h->arena, data));
    payloads_map_add(fresh, h->arena, "result", payloads_json(h->arena, "1"));
    ev_marker_recorded(h->events[at])->details = fresh;
}

TEST(sequence_id_type_and_form_are_compared)
{
#define TIMES                                                                                      \
    ",\"complete_time\":{\"seconds\":1,\"nanos\":2},\"backoff\":null,"                             \
    "\"original_schedule_time\":null}"
    static const struct {
        const char *data;
        int outcome;
    } cases[] = {
        {"{\"seq\":1,\"attempt\":1,\"activity_id\":\"1\",\"activity_type\":\"A\"" TIMES, 0},
        {"{\"seq\":1,\"attempt\":9,\"activity_id\":\"1\",\"activity_type\":\"A\"}", 0},
        {"{\"seq\":2,\"attempt\":1,\"activity_id\":\"1\",\"activity_type\":\"A\"" TIMES,
         RUN_MISMATCH},
        {"{\"seq\":1,\"attempt\":1,\"activity_id\":\"7\",\"activity_type\":\"A\"" TIMES,
         RUN_MISMATCH},
        {"{\"seq\":1,\"attempt\":1,\"activity_id\":\"1\",\"activity_type\":\"zz\"" TIMES,
         RUN_MISMATCH},
        {"{\"seq\":1,\"attempt\":1,\"activity_id\":\"1\",\"activity_type\":\"A\","
         "\"complete_time\":\"2026-01-01T00:00:00Z\"}",
         RUN_MISMATCH},
        {"{\"seq\":1,\"attempt\":1,\"activity_id\":\"1\",\"activity_type\":\"A\","
         "\"complete_time\":{\"seconds\":9223372036854775807,\"nanos\":1}}",
         RUN_MISMATCH},
        {"{\"seq\":1,\"attempt\":2147483647,\"activity_id\":\"1\",\"activity_type\":\"A\"" TIMES,
         RUN_MISMATCH},
        {"{\"seq\":1}", RUN_MISMATCH},
        {"{", RUN_MISMATCH},
        {"[]", RUN_MISMATCH},
        {"null", RUN_MISMATCH},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct host h;
        host_init(&h, patient, NULL, "7");
        cr_assert_eq(host_task(&h), 0);
        struct run_local_end end = end_ok(1, "1");
        cr_assert_eq(task_with(&h, &end, 1), 0);
        set_data(&h, h.last + 1, cases[i].data);
        cr_expect_eq(host_evict(&h), cases[i].outcome, "%s", cases[i].data);
        host_free(&h);
    }
}

static int none(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)ctx;
    *result = input;
    return DUR_OK;
}

TEST(a_marker_that_nobody_asks_for_is_a_mismatch)
{
    struct host h;
    host_init(&h, patient, NULL, "7");
    cr_assert_eq(host_task(&h), 0);
    struct run_local_end end = end_ok(1, "1");
    cr_assert_eq(task_with(&h, &end, 1), 0);
    h.spec.fn = none;
    cr_expect_eq(host_evict(&h), RUN_MISMATCH);
    host_free(&h);
}

/* --- transactions --- */

struct bank {
    int calls;
    int fails;
};

static int on_transaction(void *user, const char *name, const char *input, struct arena *arena,
                          const char **ret_result, struct failure **ret_failure, struct err *err)
{
    struct bank *bank = user;
    if (strcmp(name, "Unknown") == 0) {
        return err_set(err, ERR_PERMANENT, "NoTransaction", "transaction Unknown is not here");
    }
    if (bank->calls++ < bank->fails) {
        *ret_failure = failure_application(arena, "Broke", "no money", true, NULL);
        return 1;
    }
    *ret_result = arena_printf(arena, "[%s,%d]", input, bank->calls);
    return 0;
}

static int transfer(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *a = "0";
    const char *b = NULL;
    (void)user;
    int rc = dur_run_transaction(ctx, "Move", input, &a);
    if (rc == DUR_FAILED) {
        a = dur_ctx_jsonf(ctx, "%q", dur_failure(ctx)->cause->type);
    }
    dur_future *timer = dur_timer(ctx, 5);
    rc = dur_run_transaction(ctx, "Move", "2", &b);
    if (rc || (rc = dur_await(ctx, timer, NULL))) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return DUR_OK;
}

TEST(a_transaction_is_done_within_the_task)
{
    for (int fails = 0; fails < 2; fails++) {
        struct host h;
        struct bank bank = {.fails = fails};
        host_init(&h, transfer, NULL, "1");
        run_free(h.run);
        h.spec.on_transaction = on_transaction;
        h.spec.on_transaction_user = &bank;
        h.run = run_new(&h.spec);
        cr_assert_eq(host_task(&h), 0, "%s", h.out.message);
        cr_expect_str_eq(host_commands(&h), "!core_local_activity +T1 !core_local_activity");
        cr_assert_eq(host_evict(&h), 0, "%s", h.out.message);
        cr_expect_eq(bank.calls, 2, "replay does nothing");
        host_fired(&h, "1");
        cr_assert_eq(host_task(&h), 0);
        cr_expect_str_eq(host_commands(&h),
                         fails ? "=done:[\"Broke\",[2,2]]" : "=done:[[1,1],[2,2]]");
        h.spec.fn = pair; /* other code */
        cr_expect_eq(host_evict(&h), RUN_MISMATCH);
        host_free(&h);
    }
}

static int unknown(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run_transaction(ctx, "Unknown", input, result);
}

TEST(a_transaction_needs_a_store)
{
    struct host h;
    struct bank bank = {0};
    host_init(&h, unknown, NULL, "1");
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_str_eq(h.out.message, "transaction Unknown: there is no store here");
    host_free(&h);
    host_init(&h, unknown, NULL, "1");
    run_free(h.run);
    h.spec.on_transaction = on_transaction;
    h.spec.on_transaction_user = &bank;
    h.run = run_new(&h.spec);
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_str_eq(h.out.message, "transaction Unknown is not here");
    host_free(&h);
}

TEST(a_transaction_without_its_marker_is_a_mismatch)
{
    struct host h;
    struct bank bank = {0};
    host_init(&h, none, NULL, "1");
    cr_assert_eq(host_task(&h), 0);
    h.spec.fn = transfer;
    h.spec.on_transaction = on_transaction;
    h.spec.on_transaction_user = &bank;
    cr_expect_eq(host_evict(&h), RUN_MISMATCH);
    cr_expect_eq(bank.calls, 0);
    host_free(&h);
}

/* --- limits and nonsense --- */

static int greedy(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    for (int i = 0; i <= RUN_MAX_OPEN; i++) {
        dur_start_local(ctx, "A", NULL, NULL);
    }
    return DUR_OK;
}

static int nonsense(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static const dur_local_options bad[] = {
        {.schedule_to_close_ms = -1},
        {.start_to_close_ms = -1},
        {.max_attempts = -1},
        {.local_retry_threshold_ms = -1},
        {.retry = {.backoff_coefficient = 0.5}},
        {.cancellation = (dur_cancellation)9},
    };
    int wrong = 0;
    (void)input;
    (void)user;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        wrong += dur_run_local(ctx, "A", NULL, NULL, &bad[i]) != DUR_INVALID;
    }
    wrong += dur_run_local(ctx, "", NULL, NULL, NULL) != DUR_INVALID;
    wrong += dur_run_local(ctx, NULL, NULL, NULL, NULL) != DUR_INVALID;
    wrong += dur_run_local(ctx, "A", "{", NULL, NULL) != DUR_INVALID;
    wrong += dur_run_transaction(ctx, "", NULL, NULL) != DUR_INVALID;
    wrong += dur_run_transaction(ctx, "T", "{", NULL) != DUR_INVALID;
    *result = dur_ctx_jsonf(ctx, "%d", wrong);
    return DUR_OK;
}

TEST(limits)
{
    struct host h;
    host_init(&h, greedy, NULL, "null");
    cr_expect_eq(host_task(&h), RUN_TASK_FAILED);
    cr_expect_eq(h.out.cause, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED);
    host_free(&h);
    host_init(&h, nonsense, NULL, "null");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=done:0");
    host_free(&h);
}

/* --- histories of Temporal's Core --- */

static int64_t pause_ms; /* of an update, as the recorded program had it */

static int counted(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    int *updates = arg;
    (void)input;
    (void)result;
    int rc = pause_ms ? dur_sleep(ctx, pause_ms) : DUR_OK;
    ++*updates;
    return rc;
}

/* A local activity of seconds, and updates meanwhile. */
static int long_with_updates(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    static int updates;
    (void)input;
    (void)user;
    updates = 1;
    dur_on_update(ctx, "update", NULL, counted, &updates);
    int rc = dur_run_local(ctx, "delay", "6", NULL, NULL);
    *result = dur_ctx_jsonf(ctx, "%d", updates);
    return rc;
}

/* A local activity, then an ordinary one. */
static int local_then_remote(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    int rc = dur_run_local(ctx, "delay", "15", NULL, NULL);
    return rc ? rc : dur_run(ctx, "delay", "15", result, NULL);
}

static int replay_file(const char *name, dur_workflow_fn fn, const char **ret_message)
{
    struct run_output out;
    const char *dir = getenv("FACTORY_HISTORIES");
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct history history = {0};
    struct err err = {0};
    autofree char *path =
        mem_printf("%s/_decoded_from_bin/sdk-core/crates/sdk-core/tests/histories/%s_history.bin."
                   "json",
                   dir ? dir : "", name);
    if (!dir || !fs_exists(path)) {
        cr_skip_test("skip: set FACTORY_HISTORIES to a directory of Temporal histories");
    }
    cr_assert_eq(fs_read_file(path, 1 << 24, &text, &err), 0, "%s", err.text);
    cr_assert_eq(history_from_json(arena, str_c(&text), text.len, &history, &err), 0, "%s",
                 err.text);
    const struct event **events = arena_array_of(arena, const struct event *, history.count);
    for (size_t i = 0; i < history.count; i++) {
        events[i] = &history.items[i];
    }
    struct run *run = run_new(&(struct run_spec){.fn = fn, .workflow_id = "w", .run_id = "r"});
    int rc = run_replay(run, events, history.count, &out, &err);
    static char text_of[512];
    snprintf(text_of, sizeof(text_of), "%s", rc < 0 ? err.text : rc > 0 ? out.message : "");
    *ret_message = text_of;
    run_free(run);
    return rc;
}

TEST(histories_of_core_replay)
{
    static const char *const names[] = {"long_local_activity_with_update-0",
                                        "long_local_activity_with_update-2",
                                        "long_local_activity_with_update-3"};
    const char *message;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        pause_ms = i == 2 ? 2000 : 0;
        int rc = replay_file(names[i], long_with_updates, &message);
        cr_expect_eq(rc, 0, "%s: %s", names[i], message);
        cr_expect_neq(replay_file(names[i], local_then_remote, &message), 0, "%s", names[i]);
    }
}

TEST(a_history_that_core_broke_replays_up_to_there)
{
    const char *message;
    /* Its second task runs an activity twice: Core found the mismatch too. */
    int rc = replay_file("evict_while_la_running_no_interference-23", local_then_remote, &message);
    cr_expect_eq(rc, RUN_MISMATCH);
}
