/*
 * test_history_failure.c - history/failure: wording, questions, the retry test.
 */
#include "history/failure.h"

#include <criterion/criterion.h>

#include "history/diff.h"
#include "history/json.h"

static bool retries(const struct failure *failure, const char *listed)
{
    const char *items[] = {listed};
    struct retry_policy policy = {.non_retryable_error_types = {items, listed ? 1 : 0}};

    return failure_is_retryable(failure, &policy);
}

Test(failure, the_retry_test_is_temporals)
{
    autoarena struct arena *a = arena_new();
    struct failure *plain = failure_application(a, "Busy", "m", false, NULL);
    struct failure server = {.server_failure_info =
                                 &(struct server_failure_info){.non_retryable = true}};

    cr_assert(failure_is_retryable(NULL, NULL));
    cr_assert(failure_is_retryable(plain, NULL));
    cr_assert(retries(plain, "busy"), "types are case-sensitive");
    cr_assert_not(retries(plain, "Busy"));
    cr_assert_not(retries(failure_application(a, "Busy", "m", true, NULL), NULL));
    cr_assert_not(retries(failure_canceled(a, NULL), NULL));
    cr_assert_not(retries(failure_terminated(a, "r", "i"), NULL));
    cr_assert_not(retries(&server, NULL));
    cr_assert(retries(failure_activity(a, 1, 2, "1", "t", "i", RETRY_STATE_TIMEOUT, plain), NULL));
    struct failure *close = failure_timeout(a, TIMEOUT_TYPE_START_TO_CLOSE, NULL, NULL, NULL);
    struct failure *beat = failure_timeout(a, TIMEOUT_TYPE_HEARTBEAT, NULL, NULL, NULL);
    cr_assert(retries(close, NULL));
    cr_assert_not(retries(close, "TemporalTimeout:StartToClose"));
    cr_assert(retries(beat, "TemporalTimeout:StartToClose"));
    cr_assert_not(retries(beat, "TemporalTimeout:Heartbeat"));
    cr_assert_not(
        retries(failure_timeout(a, TIMEOUT_TYPE_SCHEDULE_TO_START, NULL, NULL, NULL), NULL));
    cr_assert_not(
        retries(failure_timeout(a, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, NULL, NULL, NULL), NULL));
}

Test(failure, a_chain_reads_from_the_outside_in)
{
    autoarena struct arena *a = arena_new();
    autostr struct str out = {0};
    struct failure *root =
        failure_application(a, "RevisionNotFound", "no such commit", false, NULL);
    struct failure *late = failure_timeout(a, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, NULL, NULL, root);
    struct failure *outer =
        failure_activity(a, 5, 6, "1", "fetch", "w@h", RETRY_STATE_TIMEOUT, late);

    failure_describe(outer, &out);
    cr_assert_str_eq(str_c(&out),
                     "activity fetch: Activity task failed <- timeout ScheduleToClose: activity "
                     "ScheduleToClose timeout <- application RevisionNotFound: no such commit");
    cr_assert_eq(failure_root(outer), root);
    cr_assert_str_eq(failure_type(failure_root(outer)), "RevisionNotFound");
    cr_assert_str_eq(failure_type(outer), "");
    cr_assert_str_eq(failure_type(NULL), "");
    cr_assert_eq(failure_kind(outer), FAILURE_ACTIVITY);
    cr_assert_eq(failure_kind(late), FAILURE_TIMEOUT);
    cr_assert_str_eq(failure_kind_name(FAILURE_NEXUS_HANDLER), "nexus handler");
    cr_assert_str_eq(outer->source, "CSDK");
}

Test(failure, a_child_names_its_run)
{
    autoarena struct arena *a = arena_new();
    autostr struct str out = {0};

    failure_to_json(&out, failure_child(a, "kid", "r", "k", 5, 6, RETRY_STATE_TIMEOUT, NULL));
    cr_assert_str_eq(
        str_c(&out),
        "{\"message\":\"Child Workflow execution failed\",\"source\":\"CSDK\","
        "\"childWorkflowExecutionFailureInfo\":{\"workflowExecution\":{\"workflowId\":"
        "\"kid\",\"runId\":\"r\"},\"workflowType\":{\"name\":\"k\"},\"initiatedEventId\":"
        "\"5\",\"startedEventId\":\"6\",\"retryState\":\"RETRY_STATE_TIMEOUT\"}}");
}

Test(failure, copies_outlive_their_arena)
{
    autoarena struct arena *keep = arena_new();
    struct arena *gone = arena_new();
    struct failure *failure = failure_timeout(
        gone, TIMEOUT_TYPE_HEARTBEAT, "late", payloads_json(gone, "[1]"),
        failure_application(gone, "T", "m", true, payloads_json(gone, "{\"a\":1}")));
    struct failure *copy = failure_copy(failure, keep);
    cr_assert(failure_equal(failure, copy, DIFF_EXACT, NULL));
    arena_free(gone);
    cr_assert_str_eq(copy->message, "late");
    cr_assert_str_eq(copy->cause->application_failure_info->details->items[0].data, "{\"a\":1}");
    cr_assert_null(failure_copy(NULL, keep));
}
