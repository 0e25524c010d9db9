/*
 * failure_info.h - Temporal's failures as durable.h shows them.
 *
 * Owns: the one translation struct failure -> dur_failure_info (workflows and activities see the
 * same), and how an ambiguous failure is recorded: Temporal has no such kind, so the details
 * payload of the application failure carries the metadata entry "dur-kind": "ambiguous" (details
 * may be null otherwise).
 */
#ifndef EXEC_FAILURE_INFO_H
#define EXEC_FAILURE_INFO_H

#include "base/arena.h"
#include "durable.h"
#include "history/failure.h"

/* What an activity's `dur_fail(act, kind, ...)` becomes. details: JSON or NULL. In arena. */
struct failure *failure_of_kind(struct arena *arena, dur_kind kind, const char *type,
                                const char *message, const char *details_json);
/* DUR_AMBIGUOUS for marked failures, start-to-close and heartbeat timeouts; DUR_PERMANENT when a
 * retry could not have helped; else DUR_TRANSIENT. Wrappers are what their cause is. */
dur_kind failure_dur_kind(const struct failure *failure);
/* attempt: of the outermost activity wrapper. Texts are shared with failure, which must live as
 * long. NULL gives NULL. */
const dur_failure_info *failure_info_new(struct arena *arena, const struct failure *failure,
                                         int attempt);

#endif
