/*
 * test_activity_retry.c - the retry arithmetic against Temporal's rules.
 */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "activity/retry.h"

static const struct retry_rule DEFAULTS = {.initial_ns = NS_PER_S, .coefficient = 2.0};

Test(retry, intervals_double_and_stop_at_hundred_times_the_first)
{
    cr_assert_eq(retry_interval_ns(&DEFAULTS, 1), NS_PER_S);
    cr_assert_eq(retry_interval_ns(&DEFAULTS, 2), 2 * NS_PER_S);
    cr_assert_eq(retry_interval_ns(&DEFAULTS, 7), 64 * NS_PER_S);
    cr_assert_eq(retry_interval_ns(&DEFAULTS, 8), 100 * NS_PER_S);
    cr_assert_eq(retry_interval_ns(&DEFAULTS, 2000), 100 * NS_PER_S);
}

Test(retry, interval_saturates_instead_of_overflowing)
{
    struct retry_rule rule = {.initial_ns = INT64_MAX / 2, .coefficient = 10};
    cr_assert_eq(retry_interval_ns(&rule, 30), INT64_MAX);
}

Test(retry, checks_come_in_temporals_order)
{
    int64_t delay = -1;
    struct retry_rule rule = DEFAULTS;
    rule.maximum_attempts = 3;
    struct retry_case now = {.attempt = 3,
                             .type = "X",
                             .non_retryable = true,
                             .schedule_timeout = true,
                             .cancel_requested = true};
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_CANCEL_REQUESTED);
    now.cancel_requested = false;
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_TIMEOUT);
    now.schedule_timeout = false;
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_NON_RETRYABLE_FAILURE);
    now.non_retryable = false;
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    now.attempt = 2;
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_IN_PROGRESS);
    cr_assert_eq(delay, 2 * NS_PER_S);
}

Test(retry, listed_types_match_exactly)
{
    int64_t delay;
    struct retry_rule rule = DEFAULTS;
    rule.non_retryable = (const char *const[]){"Card", "TemporalTimeout:Heartbeat", NULL};
    struct retry_case now = {.attempt = 1, .type = "card"};
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_IN_PROGRESS);
    now.type = "Card";
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_NON_RETRYABLE_FAILURE);
    now.type = "TemporalTimeout:Heartbeat";
    cr_assert_eq(retry_decide(&rule, &now, &delay), RETRY_STATE_NON_RETRYABLE_FAILURE);
}

Test(retry, no_attempt_beyond_the_expiry)
{
    int64_t delay;
    struct retry_case now = {.attempt = 1, .now_ns = 100, .expires_ns = 100 + NS_PER_S};
    cr_assert_eq(retry_decide(&DEFAULTS, &now, &delay), RETRY_STATE_IN_PROGRESS);
    now.expires_ns--;
    cr_assert_eq(retry_decide(&DEFAULTS, &now, &delay), RETRY_STATE_TIMEOUT);
}

Test(retry, the_failures_own_delay_wins)
{
    int64_t delay;
    struct retry_case now = {.attempt = 9, .next_delay_ns = 7};
    cr_assert_eq(retry_decide(&DEFAULTS, &now, &delay), RETRY_STATE_IN_PROGRESS);
    cr_assert_eq(delay, 7);
}
