/*
 * answer.c - see answer.h. No state.
 * Tests: tests/unit/test_temporal_answer.c
 */
#include "temporal/answer.h"

#include "base/clock.h"
#include "base/str.h"
#include "exec/failure_info.h"

/* Not after the policy's wait, for nothing has failed; but when this worker polls no more (slot.c).
 */
#define STOPPING_RETRY_NS (2 * NS_PER_S)

static struct answer failed(struct arena *arena, const char *type, const char *message)
{
    return (struct answer){.kind = ANSWER_FAILED,
                           .failure = failure_of_kind(arena, DUR_TRANSIENT, type, message, NULL)};
}

static struct answer none(const char *why)
{
    return (struct answer){.kind = ANSWER_NONE, .why_none = why};
}

static struct answer stopped(struct arena *arena)
{
    struct answer answer =
        failed(arena, "WorkerStopping", "the worker stopped before the activity had ended");
    answer.failure->application_failure_info->next_retry_delay = STOPPING_RETRY_NS;
    return answer;
}

/* The callback returned DUR_CANCELLED. */
static struct answer cancelled(struct arena *arena, struct dur_activity *attempt,
                               const struct server_word *word)
{
    const char *reason = "";
    dur_activity_cancelled(attempt, &reason);
    if (word->cancel_requested) {
        return (struct answer){.kind = ANSWER_CANCELED};
    }
    if (str_eq(reason, "timed out")) {
        return none("it has timed out");
    }
    if (word->is_paused) {
        return failed(arena, "ActivityPause", "the activity was paused");
    }
    if (word->is_reset) {
        return failed(arena, "ActivityReset", "the activity was reset");
    }
    return stopped(arena);
}

struct answer answer_of(struct arena *arena, struct dur_activity *attempt,
                        const struct server_word *word)
{
    const struct attempt_outcome *o = &attempt->outcome;
    if (word->is_gone) {
        return none("nobody awaits it any more");
    }
    switch (o->code) {
    case DUR_OK:
        return (struct answer){.kind = ANSWER_COMPLETED, .result = o->result};
    case DUR_PENDING:
        return none("it is completed by token");
    case DUR_CANCELLED:
        return cancelled(arena, attempt, word);
    default: {
        struct failure *failure = failure_of_kind(arena, o->kind, o->type, o->message, o->details);
        failure->application_failure_info->next_retry_delay = o->next_delay_ns;
        return (struct answer){.kind = ANSWER_FAILED, .failure = failure};
    }
    }
}

struct answer answer_unregistered(struct arena *arena, const char *type, const char *task_queue)
{
    return failed(arena, "ActivityNotRegistered",
                  arena_printf(arena,
                               "this worker of task queue %s has no activity type %s: register it, "
                               "or poll another task queue",
                               task_queue, type));
}

struct answer answer_unreadable(struct arena *arena, const char *type, const struct err *err)
{
    return failed(
        arena, "InputUnreadable",
        arena_printf(arena, "the input of activity %s cannot be read: %s", type, err->text));
}

struct answer answer_not_taken(struct arena *arena, const char *type, const struct err *err)
{
    struct answer answer = failed(
        arena, "OutcomeRefused",
        arena_printf(arena, "the server refused the outcome of activity %s: %s", type, err->text));
    answer.failure->application_failure_info->non_retryable = true;
    return answer;
}
