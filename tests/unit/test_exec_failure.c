/*
 * test_exec_failure.c - failures: what workflow code sees and what the closing event records.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"

#define TEST(name) Test(exec_failure, name, .timeout = 30)

struct seen {
    int code;
    dur_failure_info outer, inner, last;
    bool has_last;
};

static int forwards(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct seen *s = user;

    s->code = dur_run(ctx, "Charge", input, result, NULL);
    const dur_failure_info *info = dur_failure(ctx);
    if (info) {
        s->outer = *info;
        s->inner = *info->cause;
        s->has_last = info->cause->cause != NULL;
        if (s->has_last) {
            s->last = *info->cause->cause;
        }
    }
    return s->code;
}

TEST(an_activity_failure_is_forwarded_whole)
{
    struct host h;
    struct seen s = {0};

    host_init(&h, forwards, &s, "null");
    host_task(&h);
    host_failed(&h, "1", DUR_PERMANENT, "CardDeclined", "card declined");
    cr_assert_eq(host_task(&h), 0);
    cr_expect_str_eq(host_commands(&h), "=failed");
    cr_expect_eq(s.code, DUR_FAILED);
    cr_expect_str_eq(s.outer.type, "Activity");
    cr_expect_str_eq(s.outer.activity_type, "Charge");
    cr_expect_eq(s.outer.attempt, 3);
    cr_expect_eq(s.outer.kind, DUR_PERMANENT);
    cr_expect_str_eq(s.inner.type, "CardDeclined");
    cr_expect_str_eq(s.inner.message, "card declined");
    cr_expect_eq(s.inner.attempt, 0);

    const struct ev_workflow_execution_failed *a =
        ev_workflow_execution_failed(h.events[h.count - 1]);
    const struct failure *f = a->failure;
    cr_expect_eq(a->retry_state, RETRY_STATE_RETRY_POLICY_NOT_SET);
    cr_expect_str_eq(f->message, "Activity task failed");
    cr_expect_str_eq(f->source, RUN_FAILURE_SOURCE);
    cr_expect_str_eq(f->activity_failure_info->activity_id, "1");
    cr_expect_str_eq(f->activity_failure_info->activity_type, "Charge");
    cr_expect_eq(f->activity_failure_info->scheduled_event_id, 5);
    cr_expect_eq(f->activity_failure_info->started_event_id, 6);
    cr_expect_eq(f->activity_failure_info->retry_state, RETRY_STATE_NON_RETRYABLE_FAILURE);
    cr_expect_str_eq(f->cause->application_failure_info->type, "CardDeclined");
    cr_expect(f->cause->application_failure_info->non_retryable);
    cr_assert_eq(host_evict(&h), 0);
    host_free(&h);
}

TEST(a_timeout_shows_type_details_and_last_failure)
{
    struct host h;
    struct seen s = {0};

    host_init(&h, forwards, &s, "null");
    host_task(&h);
    host_timed_out(&h, "1", TIMEOUT_TYPE_HEARTBEAT);
    host_task(&h);
    cr_expect_str_eq(s.inner.type, "Timeout");
    cr_expect_str_eq(s.inner.timeout_type, "Heartbeat");
    cr_expect_str_eq(s.inner.details, "{\"pid\":7}");
    cr_expect_eq(s.inner.kind, DUR_AMBIGUOUS);
    cr_expect_eq(s.outer.kind, DUR_AMBIGUOUS);
    cr_assert(s.has_last);
    cr_expect_str_eq(s.last.type, "BankDown");
    host_free(&h);
}

TEST(a_timeout_before_the_start_has_no_attempt)
{
    struct host h;
    struct seen s = {0};

    host_init(&h, forwards, &s, "null");
    host_task(&h);
    host_timed_out(&h, "1", TIMEOUT_TYPE_SCHEDULE_TO_START);
    cr_assert_eq(host_task(&h), 0, "%s", h.err.text);
    cr_expect_str_eq(s.inner.timeout_type, "ScheduleToStart");
    cr_expect_eq(s.inner.kind, DUR_TRANSIENT);
    cr_expect_eq(s.outer.attempt, 0);
    host_free(&h);
}

static int own_failure(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    (void)result;
    int rc = dur_run(ctx, "Charge", input, NULL, NULL);
    if (rc == DUR_FAILED) {
        rc = dur_fail_run(ctx, "TooLate", "no parcel after %d days", 14);
        dur_run(dur_disconnected(ctx), "Undo", input, NULL, NULL); /* its end must not hide ours */
    }
    return rc;
}

TEST(a_run_fails_with_its_own_words)
{
    struct host h;

    host_init(&h, own_failure, NULL, "null");
    host_task(&h);
    host_failed(&h, "1", DUR_TRANSIENT, "BankDown", "no answer");
    host_task(&h);
    host_failed(&h, "2", DUR_TRANSIENT, "AlsoDown", "no answer");
    host_task(&h);
    cr_assert_str_eq(host_commands(&h), "=failed");
    const struct failure *f = ev_workflow_execution_failed(h.events[h.count - 1])->failure;
    cr_expect_str_eq(f->application_failure_info->type, "TooLate");
    cr_expect_str_eq(f->message, "no parcel after 14 days");
    host_free(&h);
}

static int handled(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int first = dur_run(ctx, "A", input, NULL, NULL);
    int second = dur_run(ctx, "B", input, NULL, NULL);
    *result = dur_ctx_jsonf(ctx, "[%d,%d,%q]", first, second, dur_failure(ctx)->cause->type);
    return DUR_OK;
}

TEST(a_handled_failure_stays_readable)
{
    struct host h;

    host_init(&h, handled, NULL, "null");
    host_task(&h);
    host_failed(&h, "1", DUR_TRANSIENT, "BankDown", "no answer");
    host_task(&h);
    host_done(&h, "2", "1");
    host_task(&h);
    cr_expect_str_eq(host_commands(&h), "=done:[-1,0,\"BankDown\"]");
    host_free(&h);
}

TEST(kinds_survive_the_record)
{
    autoarena struct arena *arena = arena_new();
    static const dur_kind kinds[] = {DUR_PERMANENT, DUR_TRANSIENT, DUR_AMBIGUOUS};

    for (int i = 0; i < 3; i++) {
        for (int with_details = 0; with_details < 2; with_details++) {
            const struct failure *f =
                failure_of_kind(arena, kinds[i], "Type", "text", with_details ? "{\"a\":1}" : NULL);
            const dur_failure_info *info = failure_info_new(arena, f, 0);
            cr_expect_eq(info->kind, kinds[i]);
            cr_expect_str_eq(info->type, "Type");
            cr_expect_eq(failure_is_retryable(f, NULL), kinds[i] != DUR_PERMANENT);
            if (with_details) {
                cr_expect_str_eq(info->details, "{\"a\":1}");
            }
        }
    }
    cr_expect_null(failure_info_new(arena, NULL, 0));
    cr_expect_eq(failure_dur_kind(failure_canceled(arena, NULL)), DUR_PERMANENT);
    cr_expect_str_eq(failure_info_new(arena, failure_canceled(arena, NULL), 0)->type, "Cancelled");
    cr_expect_str_eq(failure_info_new(arena, failure_terminated(arena, "x", "y"), 0)->type,
                     "Terminated");
}
