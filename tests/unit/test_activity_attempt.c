/*
 * test_activity_attempt.c - the activity side of durable.h, one attempt at a time.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "durable.h"
#include "tests/lib/attempt_fixture.h"

TestSuite(attempt, .init = inbox_make, .fini = inbox_end, .timeout = 60);

/* What the callback does, by its input. */
static int play(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (str_eq(input, "null result")) {
        return DUR_OK;
    }
    if (str_eq(input, "json")) {
        *result = dur_jsonf(act, "{\"a\":%q,\"b\":%d,\"c\":%j,\"d\":%b,\"e\":%i64,\"f\":\"%%\"}",
                            "x\"y", 7, "[1]", 1, INT64_MAX);
        return DUR_OK;
    }
    if (str_eq(input, "bad json")) {
        *result = "{";
        return DUR_OK;
    }
    if (str_eq(input, "failed, then mended")) {
        dur_fail(act, DUR_TRANSIENT, "T", "no");
        *result = "1";
        return DUR_OK;
    }
    if (str_eq(input, "fail")) {
        return dur_fail(act, DUR_AMBIGUOUS, NULL, "%s %d", "text", 5);
    }
    return (int)strtol(input, NULL, 10);
}

static struct attempt_outcome outcome_of(const char *input, bool cancelled)
{
    static struct dur_activity *last;
    attempt_free(last); /* its outcome was looked at */
    last = make_attempt(play, input);
    if (cancelled) {
        attempt_cancel(last, "cancelled");
    }
    attempt_run(last);
    return last->outcome;
}

Test(attempt, results_are_checked_and_copied)
{
    cr_assert_eq(outcome_of("null result", false).code, DUR_OK);
    cr_assert_null(outcome_of("null result", false).result);
    cr_assert_str_eq(outcome_of("json", false).result,
                     "{\"a\":\"x\\\"y\",\"b\":7,\"c\":[1],\"d\":true,"
                     "\"e\":9223372036854775807,\"f\":\"%\"}");
    struct attempt_outcome o = outcome_of("bad json", false);
    cr_assert_eq(o.code, DUR_FAILED);
    cr_assert_eq(o.kind, DUR_PERMANENT);
    cr_assert_str_eq(o.type, "BadResult");
    o = outcome_of("failed, then mended", false);
    cr_assert_eq(o.code, DUR_OK);
    cr_assert_str_eq(o.result, "1");
}

Test(attempt, codes_without_a_failure_become_one)
{
    struct attempt_outcome o = outcome_of("fail", false);
    cr_assert_eq(o.code, DUR_FAILED);
    cr_assert_eq(o.kind, DUR_AMBIGUOUS);
    cr_assert_str_eq(o.type, "Error");
    cr_assert_str_eq(o.message, "text 5");
    o = outcome_of("-9", false);
    cr_assert_eq(o.kind, DUR_TRANSIENT);
    cr_assert_str_eq(o.type, "ActivityError");
    o = outcome_of("-5", false);
    cr_assert_eq(o.kind, DUR_PERMANENT);
    o = outcome_of("17", false);
    cr_assert_eq(o.code, DUR_FAILED);
    cr_assert_eq(outcome_of("-2", false).code, DUR_FAILED, "nobody had asked it to stop");
    cr_assert_eq(outcome_of("-2", true).code, DUR_CANCELLED);
}

Test(attempt, the_first_reason_to_stop_stays)
{
    struct dur_activity *a = make_attempt(play, "");
    const char *reason = "untouched";
    cr_assert_eq(dur_activity_cancelled(a, &reason), 0);
    cr_assert_str_eq(reason, "untouched");
    int fd = dur_activity_cancel_fd(a);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    cr_assert_eq(poll(&poller, 1, 0), 0);
    attempt_cancel(a, "cancelled");
    attempt_cancel(a, "stopping");
    cr_assert_eq(dur_activity_cancelled(a, &reason), 1);
    cr_assert_str_eq(reason, "cancelled");
    cr_assert_eq(dur_activity_cancelled(a, NULL), 1);
    cr_assert_eq(poll(&poller, 1, 0), 1);
    cr_assert_eq(dur_activity_cancel_fd(a), fd);
    cr_assert_eq(dur_heartbeat(a, NULL), DUR_CANCELLED);
    cr_assert_eq(dur_heartbeat_sync(a, "1"), DUR_CANCELLED);
    attempt_free(a);
    a = make_attempt(play, "");
    attempt_cancel(a, "closed");
    poller.fd = dur_activity_cancel_fd(a); /* asked for only now */
    cr_assert_eq(poll(&poller, 1, 0), 1);
    attempt_free(a);
}

Test(attempt, changed_details_are_offered_once)
{
    struct dur_activity *a = make_attempt(play, "");
    char *details = NULL;
    uint64_t seq = 0;
    cr_assert_not(attempt_take_details(a, &details, &seq));
    cr_assert_eq(dur_heartbeat(a, NULL), DUR_OK);
    cr_assert(inbox_is_empty(&inbox));
    cr_assert_eq(dur_heartbeat(a, "{\"n\":1}"), DUR_OK);
    cr_assert_eq(dur_heartbeat(a, "{\"n\":2}"), DUR_OK);
    cr_assert_not(inbox_is_empty(&inbox));
    cr_assert(attempt_take_details(a, &details, &seq));
    cr_assert_str_eq(details, "{\"n\":2}");
    free(details);
    cr_assert_eq(attempt_flush_after_ns(a), 0, "the first details go at once");
    attempt_details_committed(a, seq);
    cr_assert_gt(attempt_flush_after_ns(a), clock_mono_ns());
    cr_assert_not(attempt_take_details(a, &details, &seq));
    cr_assert_eq(dur_heartbeat(a, "{\"n\":2}"), DUR_OK); /* nothing new */
    cr_assert_not(attempt_take_details(a, &details, &seq));
    cr_assert_eq(dur_heartbeat(a, "{\"n\":"), DUR_INVALID);
    cr_assert_eq(dur_heartbeat_sync(a, ""), DUR_INVALID);
    cr_assert_not(attempt_take_details(a, &details, &seq));
    attempt_free(a);
}

static void *commit_beat(void *arg)
{
    struct dur_activity *done, *beats, *beat;
    int64_t until = clock_mono_ns() + 20 * NS_PER_S;
    (void)arg;
    do {
        clock_sleep_ms(1);
        inbox_take(&inbox, &done, &beats);
        beat = inbox_next_beat(&inbox, &beats);
    } while (!beat && clock_mono_ns() < until);
    char *details = NULL;
    uint64_t seq;
    cr_assert(attempt_take_details(beat, &details, &seq));
    cr_assert_str_eq(details, "\"pid 4711\"");
    free(details);
    attempt_details_committed(beat, seq);
    return NULL;
}

Test(attempt, a_synchronous_beat_waits_for_its_commit)
{
    struct dur_activity *a = make_attempt(play, "");
    pthread_t thread;
    pthread_create(&thread, NULL, commit_beat, NULL);
    cr_assert_eq(dur_heartbeat_sync(a, "\"pid 4711\""), DUR_OK);
    pthread_join(thread, NULL);
    cr_assert_eq(a->details_committed, 1);
    attempt_free(a);
}

static void *cancel_soon(void *attempt)
{
    clock_sleep_ms(10);
    attempt_cancel(attempt, "stopping");
    return NULL;
}

Test(attempt, a_cancel_ends_the_wait_for_a_commit)
{
    struct dur_activity *a = make_attempt(play, "");
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, a);
    cr_assert_eq(dur_heartbeat_sync(a, "1"), DUR_CANCELLED);
    pthread_join(thread, NULL);
    attempt_free(a);
}
