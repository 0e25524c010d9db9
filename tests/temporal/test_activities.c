/*
 * test_activities.c - activity slots on a real server: outcomes, retries, time-outs, heartbeats,
 * cancellation, lanes, a worker that is killed, one that stops, a server that is restarted.
 * Run by t8300-activities.sh, which starts the server.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "exec/failure_info.h"
#include "temporal/slot.h"
#include "tests/temporal/hand.h"

#define TEST(name) Test(activities, name, .timeout = 40)

static atomic_int calls, running, most, told, released, wakes;
static _Atomic(const char *) reason_told; /* reasons are static texts */

/* --- activities --- */

static int tell(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    cr_expect_not_null(dur_activity_token(act));
    cr_expect_null(dur_activity_last_failure(act));
    *result = dur_jsonf(act, "{\"input\":%j,\"attempt\":%d,\"key\":%q,\"workflow\":%q,\"run\":%q}",
                        input, dur_activity_attempt(act), dur_activity_key(act),
                        dur_activity_workflow_id(act), dur_activity_run_id(act));
    return DUR_OK;
}

/* {"fail": n attempts, "kind": k, "delay": ms} */
static int fail(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (dur_activity_attempt(act) > dur_json_int(input, "/fail", 0)) {
        *result = dur_jsonf(act, "%d", dur_activity_attempt(act));
        return DUR_OK;
    }
    return dur_fail_with(
        act, &(dur_failure_options){.kind = (dur_kind)dur_json_int(input, "/kind", DUR_TRANSIENT),
                                    .type = "Broken",
                                    .message = "it broke",
                                    .details = "{\"part\":7}",
                                    .next_retry_delay_ms = dur_json_int(input, "/delay", 0)});
}

/* {"fails": n attempts}, then until it is told to stop; beats every 10 ms for {"beat":true}. */
static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *reason = NULL;
    (void)user;
    (void)result;
    atomic_fetch_add(&calls, 1);
    if (dur_activity_attempt(act) <= dur_json_int(input, "/fails", 0)) {
        return dur_fail(act, DUR_TRANSIENT, "Broken", "at first");
    }
    while (!dur_activity_cancelled(act, &reason) && !atomic_load(&released)) {
        if (dur_json_bool(input, "/beat", 0)) {
            dur_heartbeat(act, NULL);
        }
        clock_sleep_ms(10);
    }
    if (!reason) {
        return DUR_OK;
    }
    atomic_store(&reason_told, reason);
    atomic_fetch_add(&told, 1);
    if (dur_json_bool(input, "/fail", 0)) {
        return dur_fail(act, DUR_TRANSIENT, "Broken", "while it stopped");
    }
    if (dur_json_bool(input, "/finish", 0)) {
        return DUR_OK;
    }
    clock_sleep_ms(dur_json_int(input, "/cleanup", 0));
    return DUR_CANCELLED;
}

/* The first attempt leaves details and falls silent, fails or dies; the next tells them. */
static int resume(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (dur_activity_attempt(act) > 1) {
        *result = dur_heartbeat_details(act);
        return DUR_OK;
    }
    cr_expect_null(dur_heartbeat_details(act));
    dur_heartbeat_sync(act, "{\"at\":1}");
    dur_heartbeat(act, "{\"at\":2}"); /* throttled */
    dur_heartbeat(act, "{\"at\":3}");
    if (dur_json_bool(input, "/fail", 0)) {
        return dur_fail(act, DUR_TRANSIENT, "Broken", "later");
    }
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(5);
    }
    atomic_fetch_add(&told, 1);
    return DUR_CANCELLED;
}

static int crowd(dur_activity *act, const char *input, const char **result, void *user)
{
    atomic_int *count = user;
    int now = atomic_fetch_add(count, 1) + 1;
    (void)act;
    if (now > atomic_load(&most)) {
        atomic_store(&most, now);
    }
    clock_sleep_ms(5);
    atomic_fetch_sub(count, 1);
    *result = input;
    return DUR_OK;
}

/* --- the worker --- */

struct worker {
    struct registry registry;
    struct remote_lane lanes[4];
    struct remote_worker spec;
    struct slots *slots;
    double rate_per_s; /* of the lane that worker_begin adds */
};

static void wake(void *user)
{
    (void)user;
    atomic_fetch_add(&wakes, 1);
}

static void worker_begin(struct worker *w, struct remote *remote, const char *queue, int slots)
{
    static const struct {
        const char *name;
        dur_activity_fn fn;
        void *user;
    } all[] = {{"Tell", tell, NULL},
               {"Fail", fail, NULL},
               {"Hang", hang, NULL},
               {"Resume", resume, NULL},
               {"Crowd", crowd, &running}};
    for (size_t i = 0; !w->spec.registry && i < ARRAY_LEN(all); i++) {
        cr_assert_eq(registry_add_activity(&w->registry, all[i].name, all[i].fn, all[i].user), 0);
    }
    w->lanes[w->spec.lane_count++] =
        (struct remote_lane){.task_queue = queue, .slots = slots, .rate_per_s = w->rate_per_s};
    w->spec.registry = &w->registry;
    w->spec.lanes = w->lanes;
    w->spec.stop_grace_ms = w->spec.stop_grace_ms ? w->spec.stop_grace_ms : 30000;
    w->slots = slots_begin(remote, &w->spec, wake, NULL);
}

static void worker_end(struct worker *w)
{
    slots_end(w->slots);
    registry_free(&w->registry);
}

static void until(atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted) {
        clock_sleep_ms(2);
    }
}

/* A run, a worker on its queue, one activity; the event that closed it. */
static const struct event *one(struct hand *h, struct worker *w, const struct hand_activity *a)
{
    hand_begin(h, "one");
    worker_begin(w, h->remote, h->queue, 4);
    hand_schedule(h, a, 1);
    return hand_closed(h);
}

static void end(struct hand *h, struct worker *w)
{
    worker_end(w);
    hand_terminate(h);
    hand_end(h);
}

static const struct failure *failure_of(const struct event *event)
{
    cr_assert_eq(event->type, EVENT_ACTIVITY_TASK_FAILED, "event %d", (int)event->type);
    return ev_activity_task_failed(event)->failure;
}

static const struct failure *timeout_of(const struct event *event, enum timeout_type type)
{
    cr_assert_eq(event->type, EVENT_ACTIVITY_TASK_TIMED_OUT, "event %d", (int)event->type);
    const struct failure *failure = ev_activity_task_timed_out(event)->failure;
    cr_assert_not_null(failure->timeout_failure_info);
    cr_expect_eq((int)failure->timeout_failure_info->timeout_type, (int)type);
    return failure;
}

/* --- outcomes --- */

TEST(a_result)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w, &(struct hand_activity){"Tell", "[1]", .start_to_close_ms = 9000});
    autostr struct str wanted = {0};
    str_addf(&wanted,
             "{\"input\":[1],\"attempt\":1,\"key\":\"%s/1\",\"workflow\":\"%s\",\"run\":\"%s\"}",
             h.run_id, h.workflow_id, h.run_id);
    cr_expect_str_eq(hand_result(&h, event), str_c(&wanted));
    end(&h, &w);
}

TEST(retries)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w, &(struct hand_activity){"Fail", "{\"fail\":3}", .start_to_close_ms = 9000});
    cr_expect_str_eq(hand_result(&h, event), "4");
    cr_expect_eq(atomic_load(&calls), 4);
    end(&h, &w);
}

TEST(the_last_failure_is_as_a_store_records_it)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = one(
        &h, &w,
        &(struct hand_activity){"Fail", "{\"fail\":9}", .start_to_close_ms = 9000, .attempts = 2});
    const struct failure *failure = failure_of(event);
    cr_expect_str_eq(failure->message, "it broke");
    cr_expect_str_eq(failure->source, "CSDK");
    cr_expect_str_eq(failure_type(failure), "Broken");
    cr_expect_not(failure->application_failure_info->non_retryable);
    cr_expect_str_eq(value_text(h.arena, failure->application_failure_info->details),
                     "{\"part\":7}");
    cr_expect_eq((int)ev_activity_task_failed(event)->retry_state,
                 (int)RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    end(&h, &w);
}

TEST(permanent_and_ambiguous)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w,
            &(struct hand_activity){"Fail", "{\"fail\":9,\"kind\":1}", .start_to_close_ms = 9000});
    cr_expect_eq(failure_dur_kind(failure_of(event)), DUR_PERMANENT);
    cr_expect_eq((int)ev_activity_task_failed(event)->retry_state,
                 (int)RETRY_STATE_NON_RETRYABLE_FAILURE);
    hand_schedule(&h,
                  &(struct hand_activity){"Fail", "{\"fail\":9,\"kind\":3}",
                                          .start_to_close_ms = 9000, .attempts = 1},
                  1);
    cr_expect_eq(failure_dur_kind(failure_of(hand_closed(&h))), DUR_AMBIGUOUS);
    end(&h, &w);
}

TEST(its_own_wish_for_the_next_attempt)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w,
            &(struct hand_activity){"Fail", "{\"fail\":1,\"delay\":50}", .start_to_close_ms = 9000,
                                    .initial_ms = 600000});
    cr_expect_str_eq(hand_result(&h, event), "2");
    end(&h, &w);
}

TEST(a_type_that_is_not_here)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = one(
        &h, &w, &(struct hand_activity){"Nowhere", "1", .start_to_close_ms = 9000, .attempts = 2});
    cr_expect_str_eq(failure_type(failure_of(event)), "ActivityNotRegistered");
    cr_expect_eq((int)ev_activity_task_failed(event)->retry_state,
                 (int)RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    cr_expect(strstr(hand_log(), "has no activity type Nowhere"), "%s", hand_log());
    end(&h, &w);
}

/* --- time-outs --- */

TEST(start_to_close)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w, &(struct hand_activity){"Hang", "{}", .start_to_close_ms = 300, .attempts = 2});
    timeout_of(event, TIMEOUT_TYPE_START_TO_CLOSE);
    until(&told, 2);
    cr_expect_str_eq(atomic_load(&reason_told), "timed out");
    end(&h, &w);
}

TEST(schedule_to_close)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w,
            &(struct hand_activity){"Hang", "{\"fails\":1}", .schedule_to_close_ms = 2500,
                                    .initial_ms = 700});
    const struct failure *failure = timeout_of(event, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE);
    cr_assert_not_null(failure->cause);
    cr_expect_str_eq(failure_type(failure->cause), "Broken");
    until(&told, 1); /* by its own clock: as much as was left of the whole */
    cr_expect_str_eq(atomic_load(&reason_told), "timed out");
    end(&h, &w);
}

TEST(no_time_for_another_attempt)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w,
            &(struct hand_activity){"Fail", "{\"fail\":9}", .schedule_to_close_ms = 9000,
                                    .initial_ms = 600000});
    cr_expect_str_eq(failure_type(failure_of(event)), "Broken");
    cr_expect_eq((int)ev_activity_task_failed(event)->retry_state, (int)RETRY_STATE_TIMEOUT);
    cr_expect_eq(atomic_load(&calls), 1);
    end(&h, &w);
}

TEST(schedule_to_start)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w,
            &(struct hand_activity){"Tell", "{}", .queue = "nobody-polls",
                                    .start_to_close_ms = 9000, .schedule_to_start_ms = 200});
    timeout_of(event, TIMEOUT_TYPE_SCHEDULE_TO_START);
    end(&h, &w);
}

TEST(heartbeat_and_the_next_attempt_knows_the_details)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = one(
        &h, &w,
        &(struct hand_activity){"Resume", "{}", .start_to_close_ms = 60000, .heartbeat_ms = 1500});
    cr_expect_str_eq(hand_result(&h, event), "{\"at\":3}");
    until(&told, 1); /* the silent one learned of it by its own clock or by the server's answer */
    end(&h, &w);
}

TEST(heartbeat_at_last)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event =
        one(&h, &w,
            &(struct hand_activity){"Resume", "{}", .start_to_close_ms = 60000,
                                    .heartbeat_ms = 1200, .attempts = 1});
    const struct failure *failure = timeout_of(event, TIMEOUT_TYPE_HEARTBEAT);
    cr_expect_str_eq(value_text(h.arena, failure->timeout_failure_info->last_heartbeat_details),
                     "{\"at\":3}");
    end(&h, &w);
}

TEST(a_beating_one_does_not_time_out)
{
    struct hand h;
    struct worker w = {0};
    hand_begin(&h, "one");
    worker_begin(&w, h.remote, h.queue, 4);
    hand_schedule(&h,
                  &(struct hand_activity){"Hang", "{\"beat\":true}", .start_to_close_ms = 60000,
                                          .heartbeat_ms = 400},
                  1);
    until(&calls, 1);
    clock_sleep_ms(1500);
    atomic_store(&released, 1);
    cr_expect_str_eq(hand_result(&h, hand_closed(&h)), "null");
    cr_expect_eq(atomic_load(&calls), 1);
    end(&h, &w);
}

TEST(details_said_just_before_a_failure_are_not_lost)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = one(
        &h, &w, &(struct hand_activity){"Resume", "{\"fail\":true}", .start_to_close_ms = 9000});
    cr_expect_str_eq(hand_result(&h, event), "{\"at\":3}");
    end(&h, &w);
}

/* --- cancellation --- */

static const struct event *cancelled(struct hand *h, struct worker *w, const char *input,
                                     int64_t heartbeat_ms)
{
    hand_begin(h, "cancel");
    worker_begin(w, h->remote, h->queue, 4);
    hand_schedule(h,
                  &(struct hand_activity){"Hang", input, .start_to_close_ms = 60000,
                                          .heartbeat_ms = heartbeat_ms},
                  1);
    until(&calls, 1);
    hand_cancel(h, "1");
    return hand_closed(h);
}

TEST(a_cancel_request_comes_with_a_heartbeat)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = cancelled(&h, &w, "{\"beat\":true}", 1000);
    cr_expect_eq((int)event->type, (int)EVENT_ACTIVITY_TASK_CANCELED);
    cr_expect_str_eq(atomic_load(&reason_told), "cancelled");
    end(&h, &w);
}

TEST(a_cancel_request_comes_without_any)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = cancelled(&h, &w, "{}", 0);
    cr_expect_eq((int)event->type, (int)EVENT_ACTIVITY_TASK_CANCELED);
    cr_expect_str_eq(atomic_load(&reason_told), "cancelled");
    end(&h, &w);
}

TEST(one_may_finish_all_the_same)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = cancelled(&h, &w, "{\"beat\":true,\"finish\":true}", 1000);
    cr_expect_eq((int)event->type, (int)EVENT_ACTIVITY_TASK_COMPLETED);
    end(&h, &w);
}

TEST(one_that_fails_is_not_tried_again)
{
    struct hand h;
    struct worker w = {0};
    const struct event *event = cancelled(&h, &w, "{\"beat\":true,\"fail\":true}", 1000);
    cr_expect_str_eq(failure_type(failure_of(event)), "Broken");
    cr_expect_eq((int)ev_activity_task_failed(event)->retry_state,
                 (int)RETRY_STATE_CANCEL_REQUESTED);
    end(&h, &w);
}

TEST(the_run_is_over)
{
    struct hand h;
    struct worker w = {0};
    hand_begin(&h, "closed");
    worker_begin(&w, h.remote, h.queue, 4);
    hand_schedule(
        &h, &(struct hand_activity){"Hang", "{\"beat\":true}", .start_to_close_ms = 60000}, 1);
    until(&calls, 1);
    hand_terminate(&h);
    until(&told, 1);
    cr_expect_str_eq(atomic_load(&reason_told), "closed");
    worker_end(&w);
    cr_expect(strstr(hand_log(), "nobody awaits it any more"), "%s", hand_log());
    hand_end(&h);
}

/* --- lanes --- */

TEST(a_hundred_over_few_slots)
{
    struct hand h;
    struct worker w = {0};
    struct hand_activity all[100];
    char queues[2][80];
    hand_begin(&h, "crowd");
    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        snprintf(queues[i], sizeof(queues[i]), "%s-%zu", h.queue, i);
        w.lanes[w.spec.lane_count++] = (struct remote_lane){.task_queue = queues[i], .slots = 2};
    }
    worker_begin(&w, h.remote, h.queue, 3);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i] = (struct hand_activity){"Crowd", arena_printf(h.arena, "%zu", i),
                                        .queue = i % 3 ? queues[i % 2] : NULL,
                                        .start_to_close_ms = 60000};
    }
    hand_schedule(&h, all, ARRAY_LEN(all));
    int sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        sum += (int)strtol(hand_result(&h, hand_closed(&h)), NULL, 10);
    }
    cr_expect_eq(sum, 99 * 100 / 2);
    cr_expect_leq(atomic_load(&most), 7);
    end(&h, &w);
}

TEST(a_full_lane_holds_up_no_other)
{
    struct hand h;
    struct worker w = {0};
    char other[80];
    hand_begin(&h, "full");
    snprintf(other, sizeof(other), "%s-other", h.queue);
    w.lanes[w.spec.lane_count++] = (struct remote_lane){.task_queue = other, .slots = 1};
    worker_begin(&w, h.remote, h.queue, 2);
    struct hand_activity all[] = {{"Hang", "{}", .start_to_close_ms = 60000},
                                  {"Hang", "{}", .start_to_close_ms = 60000},
                                  {"Hang", "{}", .start_to_close_ms = 60000},
                                  {"Tell", "{}", other, .start_to_close_ms = 60000},
                                  {"Tell", "{}", other, .start_to_close_ms = 60000}};
    hand_schedule(&h, all, ARRAY_LEN(all));
    hand_result(&h, hand_closed(&h));
    hand_result(&h, hand_closed(&h));
    until(&calls, 2);
    clock_sleep_ms(100);
    cr_expect_eq(atomic_load(&calls), 2, "no third one while two slots are taken");
    atomic_store(&released, 1);
    for (int i = 0; i < 3; i++) {
        hand_result(&h, hand_closed(&h));
    }
    end(&h, &w);
}

TEST(a_rate_is_the_queue_s)
{
    struct hand h;
    struct worker w = {0};
    struct hand_activity all[12];
    hand_begin(&h, "rate");
    w.rate_per_s = 4;
    worker_begin(&w, h.remote, h.queue, 4);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i] = (struct hand_activity){"Crowd", "1", .start_to_close_ms = 60000};
    }
    clock_sleep_ms(100); /* the server has been told by a poll */
    int64_t since = clock_mono_ns();
    hand_schedule(&h, all, ARRAY_LEN(all));
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        hand_result(&h, hand_closed(&h));
    }
    cr_expect_geq(clock_mono_ns() - since, NS_PER_S, "12 at 4 a second");
    end(&h, &w);
}

TEST(a_lane_without_threads)
{
    struct hand h;
    struct worker w = {0};
    hand_begin(&h, "inline");
    worker_begin(&w, h.remote, h.queue, 0);
    hand_schedule(&h, &(struct hand_activity){"Fail", "{}", .start_to_close_ms = 60000}, 1);
    while (!slots_pass(w.slots)) {
        cr_expect_eq(atomic_load(&calls), 0);
        clock_sleep_ms(2);
    }
    cr_expect_eq(atomic_load(&calls), 1);
    cr_expect_gt(atomic_load(&wakes), 0);
    cr_expect_str_eq(hand_result(&h, hand_closed(&h)), "1");
    end(&h, &w);
}

/* --- ends of workers and servers --- */

TEST(stopping_is_quick_and_graceful)
{
    struct hand h;
    struct worker w = {0};
    hand_begin(&h, "stop");
    worker_begin(&w, h.remote, h.queue, 4);
    hand_schedule(
        &h, &(struct hand_activity){"Hang", "{}", .start_to_close_ms = 60000, .initial_ms = 600000},
        1);
    until(&calls, 1);
    cr_expect_not(slots_home(w.slots));
    slots_stop(w.slots);
    while (!slots_home(w.slots)) {
        clock_sleep_ms(2);
    }
    cr_expect_str_eq(atomic_load(&reason_told), "stopping");
    slots_end(w.slots);
    atomic_store(&released, 1);
    w.spec.lane_count = 0;
    worker_begin(&w, h.remote, h.queue, 4); /* does not wait for the policy's ten minutes */
    cr_expect_str_eq(hand_result(&h, hand_closed(&h)), "null");
    cr_expect_eq(atomic_load(&calls), 2);
    end(&h, &w);
}

/* A poll that ends may have a task on its way. */
TEST(stops_lose_no_task)
{
    struct hand h;
    struct worker w = {0};
    hand_begin(&h, "stops");
    worker_begin(&w, h.remote, h.queue, 4);
    for (int i = 0; i < 16; i++) {
        hand_schedule(
            &h, &(struct hand_activity){"Fail", "{}", .start_to_close_ms = 6000, .attempts = 9}, 1);
        clock_sleep_ms(i % 4 * 2);
        slots_end(w.slots);
        w.spec.lane_count = 0;
        worker_begin(&w, h.remote, h.queue, 4);
        cr_expect_str_eq(hand_result(&h, hand_closed(&h)), "1", "round %d", i);
    }
    end(&h, &w);
}

TEST(late_ones_are_named_and_waited_for)
{
    struct hand h;
    struct worker w = {.spec = {.stop_grace_ms = 50}};
    hand_begin(&h, "late");
    worker_begin(&w, h.remote, h.queue, 4);
    hand_schedule(
        &h, &(struct hand_activity){"Hang", "{\"cleanup\":300}", .start_to_close_ms = 60000}, 1);
    until(&calls, 1);
    worker_end(&w);
    cr_expect_eq(atomic_load(&told), 1);
    cr_expect(strstr(hand_log(), "activity 1 (Hang) was told to stop 50 ms ago"), "%s", hand_log());
    const Pb__PendingActivityInfo *pending = hand_pending(&h); /* and its answer was sent */
    cr_assert_not_null(pending);
    cr_expect_eq(pending->attempt, 2);
    hand_terminate(&h);
    hand_end(&h);
}

/* The other process: a worker that is killed in the midst of an activity. */
static pid_t doomed_worker(char *queue, size_t len, atomic_int *ready)
{
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    struct worker w = {0};
    struct remote *remote = hand_connect();
    while (atomic_load(&ready[0]) == 0) {
        clock_sleep_ms(2);
    }
    queue[len - 1] = '\0';
    worker_begin(&w, remote, queue, 4);
    until(&calls, 1);
    atomic_store(&ready[1], 1);
    for (;;) {
        pause();
    }
}

TEST(a_killed_worker_is_noticed_by_its_silence)
{
    struct hand h;
    struct worker w = {0};
    struct shared {
        atomic_int ready[2];
        char queue[64];
    } *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
    hand_needs("killed");
    pid_t pid = doomed_worker(shared->queue, sizeof(shared->queue), shared->ready);
    hand_begin(&h, "killed");
    str_copy(shared->queue, sizeof(shared->queue), h.queue);
    atomic_store(&shared->ready[0], 1);
    hand_schedule(
        &h,
        &(struct hand_activity){"Resume", "{}", .start_to_close_ms = 60000, .heartbeat_ms = 2000},
        1);
    while (!atomic_load(&shared->ready[1])) {
        clock_sleep_ms(2);
    }
    const Pb__PendingActivityInfo *pending;
    do { /* it has told where it is */
        clock_sleep_ms(20);
        pending = hand_pending(&h);
    } while (!pending || pending->heartbeat_details.len == 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    worker_begin(&w, h.remote, h.queue, 4);
    const char *result = hand_result(&h, hand_closed(&h));
    cr_expect(str_starts(result, "{\"at\":"), "%s", result);
    cr_expect_eq(atomic_load(&calls), 1);
    end(&h, &w);
}

/* The script restarts the server when the file appears, and takes it away then. */
TEST(a_server_is_restarted_meanwhile)
{
    struct hand h;
    struct worker w = {0};
    const char *file = getenv("TEST_RESTART_FILE");
    if (!file) {
        cr_skip_test("skip: run tests/temporal/t8300-activities.sh");
    }
    hand_begin(&h, "restart");
    worker_begin(&w, h.remote, h.queue, 4);
    hand_schedule(&h,
                  (struct hand_activity[]){{"Hang", "{\"beat\":true}", .start_to_close_ms = 60000,
                                            .heartbeat_ms = 30000},
                                           {"Hang", "{}", .start_to_close_ms = 60000}},
                  2);
    until(&calls, 2);
    struct err err = {0};
    cr_assert_eq(fs_write_file(file, "", 0, 0600, &err), 0, "%s", err.text);
    clock_sleep_ms(600);
    atomic_store(&released, 1); /* the answers meet a server that is down, or coming up */
    while (access(file, F_OK) == 0) {
        clock_sleep_ms(10);
    }
    cr_expect_str_eq(hand_result(&h, hand_closed(&h)), "null");
    cr_expect_str_eq(hand_result(&h, hand_closed(&h)), "null");
    cr_expect_eq(atomic_load(&calls), 2);
    cr_expect_eq(atomic_load(&told), 0, "no false cancel: %s", atomic_load(&reason_told));
    end(&h, &w);
}
