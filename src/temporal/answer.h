/*
 * answer.h - what the end of an attempt is told the server as. Pure.
 *
 * Owns: the step from an outcome (activity/attempt.h) and what the server said meanwhile to one of
 * Temporal's three answers, or to none:
 *
 *     DUR_OK                         Completed
 *     DUR_FAILED                     Failed: the failure that a store would record
 *     DUR_PENDING                    none: somebody else answers, by token
 *     DUR_CANCELLED  cancel asked    Canceled
 *                    "closed",
 *                    "timed out"     none: the server has ended the attempt itself
 *                    "stopping"      Failed, retried soon, elsewhere: a server cannot take an
 *                                    attempt back as a store does, so this one counts
 *                    paused, reset   the same, with the types that Temporal's SDKs use
 */
#ifndef TEMPORAL_ANSWER_H
#define TEMPORAL_ANSWER_H

#include "activity/attempt.h"
#include "base/err.h"
#include "history/failure.h"

enum answer_kind { ANSWER_NONE, ANSWER_COMPLETED, ANSWER_FAILED, ANSWER_CANCELED };

/* What heartbeats brought back. */
struct server_word {
    bool cancel_requested;
    bool is_gone; /* nobody awaits the attempt any more */
    bool is_paused;
    bool is_reset;
};

struct answer {
    enum answer_kind kind;
    const char *result; /* of ANSWER_COMPLETED: JSON or NULL; the attempt's */
    struct failure *failure;
    const char *why_none; /* of ANSWER_NONE: static text, "its run is over" */
};

/* After attempt_run. The failure is made in arena. */
struct answer answer_of(struct arena *arena, struct dur_activity *attempt,
                        const struct server_word *word);
/* Of a task that this worker cannot run: retried, another worker may have the type. */
struct answer answer_unregistered(struct arena *arena, const char *type, const char *task_queue);
/* Input or details that cannot be read: sealed with a key that this worker has not, and so retried,
 * or no history's value. */
struct answer answer_unreadable(struct arena *arena, const char *type, const struct err *err);
/* The server refuses what the attempt ended with (too large, for one): never retried. */
struct answer answer_not_taken(struct arena *arena, const char *type, const struct err *err);

#endif
