/*
 * test_temporal_answer.c - what the end of an attempt is told a server as.
 */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "exec/failure_info.h"
#include "history/event.h"
#include "temporal/answer.h"

#define TEST(name) Test(temporal_answer, name, .timeout = 30)

static const struct attempt_host no_host;

static int play(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    switch (*input) {
    case 'o':
        *result = "{\"a\":1}";
        return DUR_OK;
    case 'p':
        return DUR_PENDING;
    case 'c':
        return DUR_CANCELLED;
    case 'P':
        return dur_fail(act, DUR_PERMANENT, "Declined", "no %d", 1);
    case 'A':
        return dur_fail(act, DUR_AMBIGUOUS, "Lost", "who knows");
    default:
        return dur_fail_with(act, &(dur_failure_options){.type = "Busy",
                                                         .message = "later",
                                                         .details = "[1]",
                                                         .next_retry_delay_ms = 1500});
    }
}

/* The answer to such an attempt, which was told to stop for this reason (or not). */
static struct answer answer(struct arena *arena, const char *input, const char *reason,
                            struct server_word word)
{
    struct dur_activity *attempt = attempt_new(arena_new(), &no_host, NULL);
    attempt->fn = play;
    attempt->type = "Act";
    attempt->input = input;
    attempt->attempt = 1;
    if (reason) {
        attempt_cancel(attempt, reason);
    }
    attempt_run(attempt);
    struct answer answer = answer_of(arena, attempt, &word);
    answer.result = arena_strdup(arena, answer.result);
    attempt_free(attempt);
    return answer;
}

TEST(results_and_pending)
{
    autoarena struct arena *arena = arena_new();
    struct answer a = answer(arena, "ok", NULL, (struct server_word){0});
    cr_expect_eq(a.kind, ANSWER_COMPLETED);
    cr_expect_str_eq(a.result, "{\"a\":1}");
    a = answer(arena, "ok", "cancelled", (struct server_word){.cancel_requested = true});
    cr_expect_eq(a.kind, ANSWER_COMPLETED);
    a = answer(arena, "ok", "timed out", (struct server_word){0});
    cr_expect_eq(a.kind, ANSWER_COMPLETED, "the server decides whether it was in time");
    a = answer(arena, "pending", NULL, (struct server_word){0});
    cr_expect_eq(a.kind, ANSWER_NONE);
}

TEST(failures_are_those_of_a_store)
{
    autoarena struct arena *arena = arena_new();
    struct answer a = answer(arena, "Permanent", NULL, (struct server_word){0});
    cr_assert_eq(a.kind, ANSWER_FAILED);
    cr_expect_str_eq(failure_type(a.failure), "Declined");
    cr_expect_str_eq(a.failure->message, "no 1");
    cr_expect_str_eq(a.failure->source, "CSDK");
    cr_expect(a.failure->application_failure_info->non_retryable);
    a = answer(arena, "Ambiguous", NULL, (struct server_word){0});
    cr_expect_eq(failure_dur_kind(a.failure), DUR_AMBIGUOUS);
    a = answer(arena, "Transient", NULL, (struct server_word){0});
    cr_expect_eq(failure_dur_kind(a.failure), DUR_TRANSIENT);
    cr_expect_eq(a.failure->application_failure_info->next_retry_delay, 1500 * NS_PER_MS);
    cr_expect_eq(a.failure->application_failure_info->details->count, 1);
}

TEST(a_cancel_is_answered_by_what_was_asked_for)
{
    autoarena struct arena *arena = arena_new();
    struct answer a =
        answer(arena, "cancel", "cancelled", (struct server_word){.cancel_requested = true});
    cr_expect_eq(a.kind, ANSWER_CANCELED);
    a = answer(arena, "cancel", "stopping", (struct server_word){.cancel_requested = true});
    cr_expect_eq(a.kind, ANSWER_CANCELED, "the request is what the server knows of");
    a = answer(arena, "cancel", "timed out", (struct server_word){0});
    cr_expect_eq(a.kind, ANSWER_NONE);
    a = answer(arena, "cancel", "closed", (struct server_word){.is_gone = true});
    cr_expect_eq(a.kind, ANSWER_NONE);
    a = answer(arena, "ok", "closed", (struct server_word){.is_gone = true});
    cr_expect_eq(a.kind, ANSWER_NONE);
}

TEST(stopping_makes_way_for_the_next_attempt)
{
    autoarena struct arena *arena = arena_new();
    struct answer a = answer(arena, "cancel", "stopping", (struct server_word){0});
    cr_assert_eq(a.kind, ANSWER_FAILED);
    cr_expect_str_eq(failure_type(a.failure), "WorkerStopping");
    cr_expect(failure_is_retryable(a.failure, NULL));
    cr_expect_gt(a.failure->application_failure_info->next_retry_delay, 0);
    a = answer(arena, "cancel", "stopping", (struct server_word){.is_paused = true});
    cr_expect_str_eq(failure_type(a.failure), "ActivityPause");
    cr_expect(failure_is_retryable(a.failure, NULL));
    a = answer(arena, "cancel", "stopping", (struct server_word){.is_reset = true});
    cr_expect_str_eq(failure_type(a.failure), "ActivityReset");
    cr_expect(failure_is_retryable(a.failure, NULL));
}

TEST(what_cannot_run_here_may_run_elsewhere)
{
    autoarena struct arena *arena = arena_new();
    struct err err;
    struct answer a = answer_unregistered(arena, "Act", "q");
    cr_expect_eq(a.kind, ANSWER_FAILED);
    cr_expect(failure_is_retryable(a.failure, NULL));
    cr_expect_str_eq(a.failure->message, "this worker of task queue q has no activity type Act: "
                                         "register it, or poll another task queue");
    err_set(&err, ERR_PERMANENT, "NoKey", "no key k1");
    a = answer_unreadable(arena, "Act", &err);
    cr_expect(failure_is_retryable(a.failure, NULL));
    a = answer_not_taken(arena, "Act", &err);
    cr_expect_not(failure_is_retryable(a.failure, NULL));
    cr_expect_str_eq(a.failure->message,
                     "the server refused the outcome of activity Act: no key k1");
}
