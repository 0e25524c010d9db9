/*
 * retry_policy.c - see retry_policy.h. Owns nothing but the rules.
 * Tests: tests/unit/test_exec_continue.c
 */
#include "exec/retry_policy.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"

#define INTERVAL_MS_MAX (100LL * 365 * DUR_DAYS) /* Temporal's cap: 100 years */
#define NAME_BYTES_MAX 1000
#define INITIAL_MS 1000

/* "TemporalTimeout:Heartbeat" and the like must name a timeout. */
static bool is_type(const char *type)
{
    static const char prefix[] = "TemporalTimeout:";
    static const char *const known[] = {"StartToClose", "ScheduleToStart", "ScheduleToClose",
                                        "Heartbeat"};
    if (!*type || strlen(type) > NAME_BYTES_MAX) {
        return false;
    }
    if (!str_starts(type, prefix)) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(type + sizeof(prefix) - 1, known[i])) {
            return true;
        }
    }
    return false;
}

int retry_policy_check(const dur_retry_policy *p)
{
    if (!p) {
        return DUR_OK;
    }
    int64_t initial = p->initial_interval_ms ? p->initial_interval_ms : INITIAL_MS;
    if (initial < 0 || initial > INTERVAL_MS_MAX || p->maximum_interval_ms < 0 ||
        p->maximum_interval_ms > INTERVAL_MS_MAX || p->maximum_attempts < 0 ||
        (p->maximum_interval_ms != 0 && p->maximum_interval_ms < initial)) {
        return DUR_INVALID;
    }
    if (!(p->backoff_coefficient == 0.0 || p->backoff_coefficient >= 1.0)) { /* NaN too */
        return DUR_INVALID;
    }
    for (const char *const *type = p->non_retryable_types; type && *type; type++) {
        if (!is_type(*type)) {
            return DUR_INVALID;
        }
    }
    return DUR_OK;
}

struct retry_policy *retry_policy_new(struct arena *arena, const dur_retry_policy *p)
{
    size_t count = 0;
    if (!p) {
        return NULL;
    }
    struct retry_policy *made = arena_new_of(arena, struct retry_policy);
    int64_t initial = p->initial_interval_ms ? p->initial_interval_ms : INITIAL_MS;
    int64_t maximum = initial > INTERVAL_MS_MAX / 100 ? INTERVAL_MS_MAX : initial * 100;
    made->initial_interval = initial * NS_PER_MS;
    made->backoff_coefficient = p->backoff_coefficient == 0.0 ? 2.0 : p->backoff_coefficient;
    made->maximum_interval =
        (p->maximum_interval_ms ? p->maximum_interval_ms : maximum) * NS_PER_MS;
    made->maximum_attempts = p->maximum_attempts;
    while (p->non_retryable_types && p->non_retryable_types[count]) {
        count++;
    }
    if (count > 0) {
        made->non_retryable_error_types.items = arena_array_of(arena, const char *, count);
        made->non_retryable_error_types.count = count;
        for (size_t i = 0; i < count; i++) {
            made->non_retryable_error_types.items[i] =
                arena_strdup(arena, p->non_retryable_types[i]);
        }
    }
    return made;
}
