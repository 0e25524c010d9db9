/*
 * retry_policy.h - dur_retry_policy, checked and as Temporal records it.
 *
 * Owns: the rules for what a caller may ask for, and the defaults that Temporal's server fills in.
 * Must not: decide about retries.
 */
#ifndef EXEC_RETRY_POLICY_H
#define EXEC_RETRY_POLICY_H

#include "base/arena.h"
#include "durable.h"
#include "history/event.h"

/* DUR_OK or DUR_INVALID. NULL is fine. */
int retry_policy_check(const dur_retry_policy *policy);
/* With every default filled in; texts copied. NULL gives NULL. */
struct retry_policy *retry_policy_new(struct arena *arena, const dur_retry_policy *policy);

#endif
