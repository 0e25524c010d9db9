/*
 * options.h - what callers give as plain C, as the messages that histories hold.
 *
 * Owns: the checks of retry policies, names and durations, used by every call that has such
 * options, inside workflows and by clients. Must not: know runs.
 * Everything made is in the arena given and shares nothing with the caller's memory.
 */
#ifndef EXEC_OPTIONS_H
#define EXEC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "durable.h"
#include "history/event.h"

#define OPTIONS_MAX_MS (100LL * 365 * DUR_DAYS) /* Temporal's cap on durations: 100 years */

bool options_is_name(const char *text); /* 1..RUN_MAX_ID_BYTES bytes */
/* A workflow id, or "ID@RUN" with a run id behind it. */
bool options_is_target(const char *text);
bool options_is_duration(int64_t ms); /* 0..OPTIONS_MAX_MS */
/* May this policy be used? All zero means Temporal's defaults. */
bool options_is_policy(const dur_retry_policy *policy);
/* With Temporal's defaults filled in; max_attempts, if not 0, is the one that counts. */
struct retry_policy *options_policy(struct arena *arena, const dur_retry_policy *policy,
                                    int max_attempts);
#endif
