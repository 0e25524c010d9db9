/*
 * options.c - see options.h. Owns: the defaults of a retry policy (1 s, doubling, at most a hundred
 * times as long) and its limits.
 * Tests: tests/unit/test_exec_activity.c, tests/unit/test_exec_child.c
 */
#include "exec/options.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "exec/state.h"

#define INITIAL_MS 1000
#define UUID_CHARS 36

bool options_is_name(const char *text)
{
    return text && *text && strnlen(text, RUN_MAX_ID_BYTES + 1) <= RUN_MAX_ID_BYTES;
}

bool options_is_target(const char *text)
{
    size_t most = RUN_MAX_ID_BYTES + 1 + UUID_CHARS;
    return text && *text && strnlen(text, most + 1) <= most;
}

bool options_is_duration(int64_t ms)
{
    return ms >= 0 && ms <= OPTIONS_MAX_MS;
}

/* "TemporalTimeout:Heartbeat" and the like must name a timeout. */
static bool are_types(const char *const *types)
{
    static const char prefix[] = "TemporalTimeout:";
    static const char *const known[] = {"StartToClose", "ScheduleToStart", "ScheduleToClose",
                                        "Heartbeat"};

    for (; types && *types; types++) {
        if (!options_is_name(*types)) {
            return false;
        }
        if (strncmp(*types, prefix, sizeof(prefix) - 1) == 0) {
            bool found = false;
            for (size_t i = 0; i < ARRAY_LEN(known); i++) {
                found |= strcmp(*types + sizeof(prefix) - 1, known[i]) == 0;
            }
            if (!found) {
                return false;
            }
        }
    }
    return true;
}

bool options_is_policy(const dur_retry_policy *p)
{
    int64_t initial = p->initial_interval_ms ? p->initial_interval_ms : INITIAL_MS;

    if (!options_is_duration(p->initial_interval_ms) ||
        !options_is_duration(p->maximum_interval_ms) || p->maximum_attempts < 0) {
        return false;
    }
    if (!(p->backoff_coefficient == 0.0 || p->backoff_coefficient >= 1.0)) { /* NaN too */
        return false;
    }
    return (p->maximum_interval_ms == 0 || p->maximum_interval_ms >= initial) &&
           are_types(p->non_retryable_types);
}

struct retry_policy *options_policy(struct arena *arena, const dur_retry_policy *given,
                                    int max_attempts)
{
    struct retry_policy *p = arena_new_of(arena, struct retry_policy);
    int64_t initial = given->initial_interval_ms ? given->initial_interval_ms : INITIAL_MS;
    int64_t longest = given->maximum_interval_ms ? given->maximum_interval_ms : initial * 100;
    size_t count = 0;

    p->initial_interval = initial * NS_PER_MS;
    p->backoff_coefficient = given->backoff_coefficient == 0.0 ? 2.0 : given->backoff_coefficient;
    p->maximum_interval = (longest < OPTIONS_MAX_MS ? longest : OPTIONS_MAX_MS) * NS_PER_MS;
    p->maximum_attempts = max_attempts ? max_attempts : given->maximum_attempts;
    while (given->non_retryable_types && given->non_retryable_types[count]) {
        count++;
    }
    if (count > 0) {
        p->non_retryable_error_types.items = arena_array_of(arena, const char *, count);
        p->non_retryable_error_types.count = count;
        for (size_t i = 0; i < count; i++) {
            p->non_retryable_error_types.items[i] =
                arena_strdup(arena, given->non_retryable_types[i]);
        }
    }
    return p;
}
