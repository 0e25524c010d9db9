/*
 * retry.c - see retry.h. Owns the arithmetic; no state.
 * Tests: tests/unit/test_activity_retry.c
 */
#include "activity/retry.h"

#include <math.h>

#include "base/clock.h"
#include "base/str.h"

int64_t retry_interval_ns(const struct retry_rule *rule, int32_t attempt)
{
    int64_t initial = rule->initial_ns > 0 ? rule->initial_ns : NS_PER_S;
    double coefficient = rule->coefficient >= 1.0 ? rule->coefficient : 2.0;
    int64_t cap = rule->maximum_ns;
    if (cap <= 0 && __builtin_mul_overflow(initial, (int64_t)100, &cap)) {
        cap = INT64_MAX;
    }
    double interval = (double)initial * pow(coefficient, (double)(attempt - 1));
    if (!(interval > 0.0) || interval >= (double)cap) {
        return cap;
    }
    return (int64_t)interval;
}

void retry_rule_copy(struct retry_rule *rule, struct arena *arena,
                     const struct retry_policy *policy)
{
    *rule = (struct retry_rule){0};
    if (!policy) {
        return;
    }
    rule->initial_ns = policy->initial_interval;
    rule->coefficient = policy->backoff_coefficient;
    rule->maximum_ns = policy->maximum_interval;
    rule->maximum_attempts = policy->maximum_attempts;
    size_t count = policy->non_retryable_error_types.count;
    if (count > 0) {
        const char **names = arena_array_of(arena, const char *, count + 1);
        for (size_t i = 0; i < count; i++) {
            names[i] = arena_strdup(arena, policy->non_retryable_error_types.items[i]);
        }
        rule->non_retryable = names;
    }
}

static bool listed(const struct retry_rule *rule, const char *type)
{
    if (!type || !rule->non_retryable) {
        return false;
    }
    for (const char *const *name = rule->non_retryable; *name; name++) {
        if (str_eq(*name, type)) {
            return true;
        }
    }
    return false;
}

enum retry_state retry_decide(const struct retry_rule *rule, const struct retry_case *now,
                              int64_t *ret_delay_ns)
{
    if (now->cancel_requested) {
        return RETRY_STATE_CANCEL_REQUESTED;
    }
    if (now->schedule_timeout) {
        return RETRY_STATE_TIMEOUT;
    }
    if (now->non_retryable || listed(rule, now->type)) {
        return RETRY_STATE_NON_RETRYABLE_FAILURE;
    }
    if (rule->maximum_attempts > 0 && now->attempt >= rule->maximum_attempts) {
        return RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED;
    }
    int64_t delay =
        now->next_delay_ns > 0 ? now->next_delay_ns : retry_interval_ns(rule, now->attempt);
    int64_t when;
    if (__builtin_add_overflow(now->now_ns, delay, &when)) {
        when = INT64_MAX;
    }
    if (now->expires_ns > 0 && when > now->expires_ns) {
        return RETRY_STATE_TIMEOUT;
    }
    *ret_delay_ns = delay;
    return RETRY_STATE_IN_PROGRESS;
}
