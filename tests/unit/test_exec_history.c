/*
 * test_exec_history.c - histories that others wrote or that are broken: accepted, or refused in
 * words, never an abort.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"
#include "exec_soup.h"
#include "history/builder.h"
#include "history/validate.h"

#define TEST(name) Test(exec_history, name, .timeout = 60)

static int greet(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *text;
    int rc = dur_run(ctx, "hello", input, &text, NULL);

    (void)user;
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 2000);
    }
    *result = text;
    return rc;
}

static int replay(const struct history *history, dur_workflow_fn fn, struct run **ret_run,
                  struct run_output *out, struct err *err)
{
    const struct event *events[64];
    struct run_spec spec = {.fn = fn, .type = "greet", .workflow_id = "g", .run_id = "r"};

    cr_assert_leq(history->count, 64);
    for (size_t i = 0; i < history->count; i++) {
        events[i] = &history->items[i];
    }
    *ret_run = run_new(&spec);
    return run_replay(*ret_run, events, history->count, out, err);
}

/* The history of 6.6 in the Temporal specification: an activity, then a timer. */
static void build_greet(struct builder *b, struct arena *arena, bool with_noise)
{
    builder_init(b, arena, "greet");
    if (with_noise) { /* a failed and a timed-out task do nothing */
        build_task_scheduled(b);
        build_task_started(b);
        build_task_failed(b, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, NULL);
        build_task_scheduled(b);
        build_task_timed_out(b, TIMEOUT_TYPE_SCHEDULE_TO_START);
        build_task_scheduled(b);
        build_signal(b, "between", "1"); /* between SCHEDULED and STARTED */
        build_task_started(b);
        build_task_completed(b);
    } else {
        build_task(b);
    }
    int64_t act = build_activity(b, "1", "hello", "\"ada\"");
    build_activity_done(b, act, "\"hi ada\"");
    build_task(b);
    int64_t timer = build_timer(b, "1", 2000000000LL);
    build_timer_fired(b, timer);
    build_task(b);
    build_completed(b, "\"hi ada\"");
}

TEST(a_foreign_history_replays)
{
    for (int noise = 0; noise < 2; noise++) {
        autoarena struct arena *arena = arena_new();
        struct builder b;
        struct run *run;
        struct run_output out;
        struct err err = {0};
        build_greet(&b, arena, noise);
        cr_assert_eq(replay(&b.history, greet, &run, &out, &err), 0, "%s %s", err.text,
                     out.message ? out.message : "");
        cr_expect_eq(run_status(run), RUN_COMPLETED);
        cr_expect_eq(run_processed(run), (int64_t)b.history.count);
        run_free(run);
    }
}

TEST(every_cut_of_a_history_replays)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    build_greet(&b, arena, true);
    for (size_t cut = 1; cut <= b.history.count; cut++) {
        struct history part = b.history;
        struct run *run;
        struct run_output out;
        struct err err = {0};
        part.count = cut;
        int rc = replay(&part, greet, &run, &out, &err);
        cr_expect_eq(rc, 0, "cut %zu: %d %s", cut, rc, err.text);
        run_free(run);
    }
}

/* Behind a COMPLETED of our own nothing is missing: we write it with its commands, or not at all.
 */
TEST(our_own_histories_do_not_break_off)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;
    struct run *run;
    struct run_output out;
    struct err err = {0};
    struct sdk_metadata sdk = {.sdk_name = RUN_SDK_NAME};

    build_greet(&b, arena, false);
    b.history.count = 4;
    cr_assert_eq(b.history.items[3].type, EVENT_WORKFLOW_TASK_COMPLETED);
    ev_workflow_task_completed(&b.history.items[3])->sdk_metadata = &sdk;
    cr_expect_eq(replay(&b.history, greet, &run, &out, &err), RUN_MISMATCH);
    cr_expect_eq(out.mismatch.kind, MISMATCH_EXTRA);
    run_free(run);
}

/* How much is compared depends on who wrote the history. */
static int compare_ids(const char *sdk_name, bool core_flag, const char *activity_id,
                       const char *timer_id)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;
    struct run *run;
    struct run_output out;
    struct err err = {0};
    uint32_t flag = 1;
    struct sdk_metadata sdk = {.sdk_name = sdk_name,
                               .core_used_flags = {.items = &flag, .count = core_flag}};

    build_greet(&b, arena, false);
    for (size_t i = 0; i < b.history.count; i++) {
        struct event *event = &b.history.items[i];
        if (event->type == EVENT_WORKFLOW_TASK_COMPLETED) {
            ev_workflow_task_completed(event)->sdk_metadata = &sdk;
        } else if (event->type == EVENT_ACTIVITY_TASK_SCHEDULED) {
            ev_activity_task_scheduled(event)->activity_id = activity_id;
        } else if (event->type == EVENT_TIMER_STARTED) {
            ev_timer_started(event)->timer_id = timer_id;
        }
    }
    int rc = replay(&b.history, greet, &run, &out, &err);
    run_free(run);
    return rc;
}

TEST(ids_are_compared_as_their_writer_would)
{
    cr_expect_eq(compare_ids(NULL, false, "9", "1"), 0, "no flags: any activity id");
    cr_expect_eq(compare_ids(NULL, true, "9", "1"), RUN_MISMATCH, "Core's flag 1");
    cr_expect_eq(compare_ids("temporal-go", false, "9", "1"), RUN_MISMATCH, "Go");
    cr_expect_eq(compare_ids(RUN_SDK_NAME, false, "9", "1"), RUN_MISMATCH, "ours");
    cr_expect_eq(compare_ids(NULL, true, "1", "9"), 0, "Core compares a timer at its end only");
    cr_expect_eq(compare_ids("temporal-go", false, "1", "9"), RUN_MISMATCH, "Go, at its start");
    cr_expect_eq(compare_ids(RUN_SDK_NAME, false, "1", "9"), RUN_MISMATCH, "ours, at its start");
    cr_expect_eq(compare_ids(RUN_SDK_NAME, false, "1", "1"), 0);
}

/* Old Go workers recorded a timer that was started and cancelled in one task. */
static int short_timer(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const int *leaves = user;
    dur_future *timer = dur_timer(ctx, 1000);

    (void)input;
    if (!*leaves) {
        dur_cancel_future(ctx, timer);
    }
    return dur_run(ctx, "hello", "1", result, NULL);
}

TEST(a_timer_of_one_task_leaves_no_trace)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        autoarena struct arena *arena = arena_new();
        struct builder b;
        struct run_spec spec = {
            .fn = short_timer, .user = &leaves, .workflow_id = "w", .run_id = "r"};
        struct run_output out;
        struct err err = {0};
        const struct event *events[32];

        builder_init(&b, arena, "greet");
        build_task(&b);
        build_timer_canceled(&b, build_timer(&b, "1", 1000000000LL));
        build_activity(&b, "1", "hello", "1");
        for (size_t i = 0; i < b.history.count; i++) {
            events[i] = &b.history.items[i];
        }
        struct run *run = run_new(&spec);
        cr_expect_eq(run_replay(run, events, b.history.count, &out, &err),
                     leaves ? RUN_MISMATCH : 0, "%s", out.message ? out.message : err.text);
        run_free(run);
    }
}

static void expect_bad(const struct builder *b, const char *words)
{
    struct run *run;
    struct run_output out;
    struct err err = {0};

    int rc = replay(&b->history, greet, &run, &out, &err);
    cr_expect_lt(rc, 0, "%s: outcome %d", words, rc);
    cr_expect_str_eq(err.name, "BadHistory");
    cr_expect(strstr(err.text, words), "%s is not in: %s", words, err.text);
    run_free(run);
}

TEST(broken_histories_are_refused_in_words)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    build_greet(&b, arena, false);
    b.history.items[6].id = 9;
    expect_bad(&b, "event 7 should come here");

    build_greet(&b, arena, false);
    ev_activity_task_completed(&b.history.items[6])->scheduled_event_id = 2;
    expect_bad(&b, "event 2 is no open activity");

    build_greet(&b, arena, false); /* COMPLETED without STARTED */
    event_init(&b.history.items[5], arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    b.history.items[5].id = 6;
    expect_bad(&b, "activity is SCHEDULED, it cannot become COMPLETED");

    build_greet(&b, arena, false);
    ev_timer_fired(&b.history.items[11])->timer_id = "7";
    expect_bad(&b, "timer id \"7\" is not the started one");

    build_greet(&b, arena, false);
    ev_timer_fired(&b.history.items[11])->started_event_id = 5;
    expect_bad(&b, "event 5 is no open timer");

    build_greet(&b, arena, false);
    event_init(&b.history.items[5], arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    b.history.items[5].id = 6;
    expect_bad(&b, "run is RUNNING, it cannot become RUNNING");

    build_greet(&b, arena, false);
    b.history.items[8].time_ns = 0;
    expect_bad(&b, "has no time");

    build_greet(&b, arena, false);
    event_init(&b.history.items[5], arena, EVENT_NEXUS_OPERATION_STARTED);
    b.history.items[5].id = 6;
    expect_bad(&b, "cannot run code against events of this type");
}

TEST(a_history_must_begin_at_its_beginning)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    build_greet(&b, arena, false);
    event_init(&b.history.items[0], arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
    b.history.items[0].id = 1;
    expect_bad(&b, "begins with WORKFLOW_EXECUTION_STARTED");
}

TEST(a_canceled_activity_needs_a_request)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    builder_init(&b, arena, "greet");
    build_task(&b);
    int64_t act = build_activity(&b, "1", "hello", "1");
    struct event *event = build_event(&b, EVENT_ACTIVITY_TASK_CANCELED);
    ev_activity_task_canceled(event)->scheduled_event_id = act;
    build_task(&b);
    expect_bad(&b, "nobody asked activity \"1\" to cancel");
}

TEST(ignorable_events_are_ignored)
{
    struct host h;

    host_init(&h, greet, NULL, "null");
    host_task(&h);
    host_append(&h, EVENT_WORKFLOW_EXECUTION_PAUSED);
    host_append(&h, EVENT_WORKFLOW_EXECUTION_OPTIONS_UPDATED);
    host_append(&h, EVENT_NEXUS_OPERATION_STARTED)->worker_may_ignore = true;
    host_done(&h, "1", "1");
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(a_newer_programs_flag_is_refused)
{
    struct host h;

    host_init(&h, greet, NULL, "null");
    host_task(&h);
    ev_workflow_task_completed(h.events[h.last])->sdk_metadata->lang_used_flags.items[0] = 99;
    cr_assert_eq(host_evict(&h), RUN_TASK_FAILED);
    cr_expect(strstr(h.out.message, "newer program"), "%s", h.out.message);
    ev_workflow_task_completed(h.events[h.last])->sdk_metadata->sdk_name = "temporal-go";
    cr_expect_eq(host_evict(&h), 0, "another SDK's flags mean nothing here");
    host_free(&h);
}

TEST(a_whole_history_may_be_given_to_run_task)
{
    struct host h;

    host_init(&h, greet, NULL, "null");
    host_task(&h);
    host_done(&h, "1", "\"x\"");
    run_free(h.run);
    h.run =
        run_new(&h.spec); /* knows nothing yet: the first task is replayed, the second is live */
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(host_commands(&h), "+T1");
    host_free(&h);
}

TEST(events_already_seen_are_skipped_and_gaps_refused)
{
    struct host h;
    struct run_output out;

    host_init(&h, greet, NULL, "null");
    host_task(&h);
    host_done(&h, "1", "\"x\"");
    struct event *started = host_append(&h, EVENT_WORKFLOW_TASK_STARTED);
    (void)started;
    cr_assert_eq(run_task(h.run, (const struct event *const *)h.events, h.count, &out, &h.err), 0);
    cr_expect_eq(out.count, 2);
    cr_expect_lt(run_task(h.run, (const struct event *const *)h.events, h.count, &out, &h.err), 0,
                 "nothing new, so no task starts");
    host_free(&h);

    host_init(&h, greet, NULL, "null");
    host_task(&h);
    host_done(&h, "1", "\"x\"");
    host_append(&h, EVENT_WORKFLOW_TASK_STARTED);
    cr_expect_lt(
        run_task(h.run, (const struct event *const *)h.events + 6, h.count - 6, &out, &h.err), 0);
    cr_expect(strstr(h.err.text, "event 6 should come here"), "%s", h.err.text);
    host_free(&h);
}

TEST(what_we_write_is_valid)
{
    struct host h;
    struct err err = {0};
    autovalidator struct validator *v = validator_new();

    host_init(&h, greet, NULL, "null");
    host_task(&h);
    host_done(&h, "1", "\"x\"");
    host_task(&h);
    host_fired(&h, "1");
    host_task(&h);
    for (size_t i = 0; i < h.count; i++) {
        cr_assert_eq(validator_add(v, h.events[i], &err), 0, "%s %s", err.text,
                     validator_warning(v));
    }
    host_free(&h);
}

/* Every event of a good history deleted, doubled or swapped with its neighbour: an outcome, never a
 * crash. */
TEST(damaged_histories_never_crash)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;

    build_greet(&b, arena, true);
    for (size_t i = 0; i < b.history.count; i++) {
        for (int how = 0; how < 4; how++) {
            struct builder d;
            struct run *run;
            struct run_output out;
            struct err err = {0};
            build_greet(&d, arena, true);
            struct event *e = d.history.items;
            size_t left = d.history.count - i - 1;
            if (how == 0) { /* deleted, ids made gap-free again */
                memmove(e + i, e + i + 1, left * sizeof(*e));
                d.history.count--;
            } else if (how == 1 && left > 0) {
                struct event kept = e[i];
                e[i] = e[i + 1];
                e[i + 1] = kept;
            } else if (how == 2 && left > 0) {
                e[i + 1] = e[i];
            } else {
                event_init(&e[i], arena, EVENT_ACTIVITY_TASK_COMPLETED);
            }
            for (size_t k = 0; k < d.history.count; k++) {
                e[k].id = (int64_t)k + 1;
            }
            int rc = replay(&d.history, greet, &run, &out, &err);
            cr_expect(rc >= 0 || *err.text, "%zu %d", i, how);
            run_free(run);
        }
    }
}

/* Random events, mostly in an order that gets somewhere. */
TEST(event_soup_never_crashes)
{
    static const uint8_t tame[] = {0, 0, 1, 0, 2, 0, 3, 0, 10, 0};
    uint64_t dice = 42;
    unsigned seen = 0;

    for (int round = 0; round < 20000; round++) {
        uint8_t data[2 * 40];
        memcpy(data, tame, sizeof(tame));
        for (size_t i = sizeof(tame); i < sizeof(data); i++) {
            dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
            data[i] = (uint8_t)(dice >> 56);
            if (i % 2 == 1 && dice >> 40 & 3) {
                data[i] = (uint8_t)(data[i] % 8); /* refer to what is open */
            }
        }
        seen |=
            soup_replay(data, sizeof(tame) + (size_t)(dice >> 33) % (sizeof(data) - sizeof(tame)));
    }
    cr_expect_eq(seen & 11, 11, "good, mismatching and bad histories: %x", seen);
}
