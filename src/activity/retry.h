/*
 * retry.h - may this attempt be followed by another, and when?
 *
 * Owns: Temporal's retry arithmetic and its order of checks (spec: activity semantics, sections on
 * retry policy and "retryable?"). Pure. Must not: read a clock or a store.
 */
#ifndef ACTIVITY_RETRY_H
#define ACTIVITY_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "history/event.h"

struct retry_rule {
    int64_t initial_ns;
    double coefficient;
    int64_t maximum_ns;               /* 0: 100 x initial */
    int32_t maximum_attempts;         /* 0: no limit */
    const char *const *non_retryable; /* type names, exact; NULL-terminated or NULL */
};

/* Texts are copied into arena; policy NULL: all defaults. */
void retry_rule_copy(struct retry_rule *rule, struct arena *arena,
                     const struct retry_policy *policy);

/* What an attempt ended with. */
struct retry_case {
    int32_t attempt;       /* that just ended, from 1 */
    const char *type;      /* application failure type, or "TemporalTimeout:StartToClose" etc. */
    bool non_retryable;    /* the failure itself says so */
    bool schedule_timeout; /* ScheduleToStart or ScheduleToClose: never retried */
    bool cancel_requested;
    int64_t now_ns;
    int64_t expires_ns;    /* first scheduled + schedule-to-close; 0: never */
    int64_t next_delay_ns; /* the failure's own wish, 0: none */
};

/* RETRY_STATE_IN_PROGRESS with *ret_delay_ns >= 0, or the reason to stop. */
enum retry_state retry_decide(const struct retry_rule *rule, const struct retry_case *now,
                              int64_t *ret_delay_ns);

/* initial x coefficient^(attempt-1), saturating, capped. attempt counts from 1. */
int64_t retry_interval_ns(const struct retry_rule *rule, int32_t attempt);

#endif
