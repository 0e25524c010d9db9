/*
 * failure.c - see failure.h. Owns the wording of standard failures and the retry test.
 *
 * Must not: know attempts, clocks or policies beyond the list of types.
 * Tests: tests/unit/test_history_failure.c
 */
#include "history/failure.h"

#include <string.h>

#include "history/codec.h"

static struct failure *new_failure(struct arena *arena, const char *message)
{
    struct failure *failure = arena_new_of(arena, struct failure);

    failure->message = arena_strdup(arena, message);
    failure->source = FAILURE_SOURCE;
    return failure;
}

struct failure *failure_application(struct arena *arena, const char *type, const char *message,
                                    bool non_retryable, struct payloads *details)
{
    struct failure *failure = new_failure(arena, message);
    struct application_failure_info *info = arena_new_of(arena, struct application_failure_info);

    info->type = arena_strdup(arena, type);
    info->non_retryable = non_retryable;
    info->details = details;
    failure->application_failure_info = info;
    return failure;
}

/* "StartToClose"; "" for an unspecified type. */
static const char *timeout_title(enum timeout_type type)
{
    switch (type) {
    case TIMEOUT_TYPE_START_TO_CLOSE:
        return "StartToClose";
    case TIMEOUT_TYPE_SCHEDULE_TO_START:
        return "ScheduleToStart";
    case TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
        return "ScheduleToClose";
    case TIMEOUT_TYPE_HEARTBEAT:
        return "Heartbeat";
    case TIMEOUT_TYPE_UNSPECIFIED:
        break;
    }
    return "";
}

struct failure *failure_timeout(struct arena *arena, enum timeout_type type, const char *message,
                                struct payloads *details, struct failure *cause)
{
    struct failure *failure = new_failure(arena, message);
    struct timeout_failure_info *info = arena_new_of(arena, struct timeout_failure_info);

    if (!message) {
        failure->message = arena_printf(arena, "activity %s timeout", timeout_title(type));
    }
    info->timeout_type = type;
    info->last_heartbeat_details = details;
    failure->timeout_failure_info = info;
    failure->cause = cause;
    return failure;
}

struct failure *failure_canceled(struct arena *arena, struct payloads *details)
{
    struct failure *failure = new_failure(arena, "canceled");

    failure->canceled_failure_info = arena_new_of(arena, struct canceled_failure_info);
    failure->canceled_failure_info->details = details;
    return failure;
}

struct failure *failure_terminated(struct arena *arena, const char *reason, const char *identity)
{
    struct failure *failure = new_failure(arena, reason);

    failure->terminated_failure_info = arena_new_of(arena, struct terminated_failure_info);
    failure->terminated_failure_info->identity = arena_strdup(arena, identity);
    return failure;
}

struct failure *failure_activity(struct arena *arena, int64_t scheduled_id, int64_t started_id,
                                 const char *activity_id, const char *activity_type,
                                 const char *identity, enum retry_state state,
                                 struct failure *cause)
{
    struct failure *failure = new_failure(arena, "Activity task failed");
    struct activity_failure_info *info = arena_new_of(arena, struct activity_failure_info);

    info->scheduled_event_id = scheduled_id;
    info->started_event_id = started_id;
    info->activity_id = arena_strdup(arena, activity_id);
    info->activity_type = arena_strdup(arena, activity_type);
    info->identity = arena_strdup(arena, identity);
    info->retry_state = state;
    failure->activity_failure_info = info;
    failure->cause = cause;
    return failure;
}

struct failure *failure_child(struct arena *arena, const char *workflow_id, const char *run_id,
                              const char *workflow_type, int64_t initiated_id, int64_t started_id,
                              enum retry_state state, struct failure *cause)
{
    struct failure *failure = new_failure(arena, "Child Workflow execution failed");
    struct child_failure_info *info = arena_new_of(arena, struct child_failure_info);

    info->workflow_execution = arena_new_of(arena, struct workflow_execution);
    info->workflow_execution->workflow_id = arena_strdup(arena, workflow_id);
    info->workflow_execution->run_id = arena_strdup(arena, run_id);
    info->workflow_type = arena_strdup(arena, workflow_type);
    info->initiated_event_id = initiated_id;
    info->started_event_id = started_id;
    info->retry_state = state;
    failure->child_workflow_execution_failure_info = info;
    failure->cause = cause;
    return failure;
}

enum failure_kind failure_kind(const struct failure *failure)
{
    const void *const infos[] = {
        [FAILURE_PLAIN] = NULL,
        [FAILURE_APPLICATION] = failure->application_failure_info,
        [FAILURE_TIMEOUT] = failure->timeout_failure_info,
        [FAILURE_CANCELED] = failure->canceled_failure_info,
        [FAILURE_TERMINATED] = failure->terminated_failure_info,
        [FAILURE_SERVER] = failure->server_failure_info,
        [FAILURE_RESET_WORKFLOW] = failure->reset_workflow_failure_info,
        [FAILURE_ACTIVITY] = failure->activity_failure_info,
        [FAILURE_CHILD] = failure->child_workflow_execution_failure_info,
        [FAILURE_NEXUS_OPERATION] = failure->nexus_operation_execution_failure_info,
        [FAILURE_NEXUS_HANDLER] = failure->nexus_handler_failure_info,
    };

    for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
        if (infos[i]) {
            return (enum failure_kind)i;
        }
    }
    return FAILURE_PLAIN;
}

const char *failure_kind_name(enum failure_kind kind)
{
    static const char *const names[] = {
        [FAILURE_PLAIN] = "plain",
        [FAILURE_APPLICATION] = "application",
        [FAILURE_TIMEOUT] = "timeout",
        [FAILURE_CANCELED] = "canceled",
        [FAILURE_TERMINATED] = "terminated",
        [FAILURE_SERVER] = "server",
        [FAILURE_RESET_WORKFLOW] = "reset",
        [FAILURE_ACTIVITY] = "activity",
        [FAILURE_CHILD] = "child",
        [FAILURE_NEXUS_OPERATION] = "nexus operation",
        [FAILURE_NEXUS_HANDLER] = "nexus handler",
    };

    return names[kind];
}

const struct failure *failure_root(const struct failure *failure)
{
    while (failure && failure->cause) {
        failure = failure->cause;
    }
    return failure;
}

const char *failure_type(const struct failure *failure)
{
    if (!failure || !failure->application_failure_info ||
        !failure->application_failure_info->type) {
        return "";
    }
    return failure->application_failure_info->type;
}

static bool is_listed(const struct retry_policy *policy, const char *type)
{
    for (size_t i = 0; policy && i < policy->non_retryable_error_types.count; i++) {
        if (str_eq(policy->non_retryable_error_types.items[i], type)) {
            return true;
        }
    }
    return false;
}

static bool timeout_is_retryable(enum timeout_type type, const struct retry_policy *policy)
{
    if (type == TIMEOUT_TYPE_START_TO_CLOSE) {
        return !is_listed(policy, "TemporalTimeout:StartToClose");
    }
    return type == TIMEOUT_TYPE_HEARTBEAT && !is_listed(policy, "TemporalTimeout:Heartbeat");
}

bool failure_is_retryable(const struct failure *failure, const struct retry_policy *policy)
{
    if (!failure) {
        return true;
    }
    switch (failure_kind(failure)) {
    case FAILURE_CANCELED:
    case FAILURE_TERMINATED:
        return false;
    case FAILURE_TIMEOUT:
        return timeout_is_retryable(failure->timeout_failure_info->timeout_type, policy);
    case FAILURE_SERVER:
        return !failure->server_failure_info->non_retryable;
    case FAILURE_APPLICATION:
        return !failure->application_failure_info->non_retryable &&
               !is_listed(policy, failure_type(failure));
    case FAILURE_PLAIN:
    case FAILURE_RESET_WORKFLOW:
    case FAILURE_ACTIVITY:
    case FAILURE_CHILD:
    case FAILURE_NEXUS_OPERATION:
    case FAILURE_NEXUS_HANDLER:
        break;
    }
    return true;
}

struct failure *failure_copy(const struct failure *failure, struct arena *arena)
{
    return message_copy(&message_desc_failure, failure, arena);
}

void failure_describe(const struct failure *failure, struct str *out)
{
    for (const struct failure *f = failure; f; f = f->cause) {
        enum failure_kind kind = failure_kind(f);
        if (f != failure) {
            str_add(out, " <- ");
        }
        str_add(out, failure_kind_name(kind));
        if (kind == FAILURE_APPLICATION && failure_type(f)[0]) {
            str_addf(out, " %s", failure_type(f));
        } else if (kind == FAILURE_TIMEOUT) {
            str_addf(out, " %s", timeout_title(f->timeout_failure_info->timeout_type));
        } else if (kind == FAILURE_ACTIVITY && f->activity_failure_info->activity_type) {
            str_addf(out, " %s", f->activity_failure_info->activity_type);
        }
        if (f->message && f->message[0]) {
            str_addf(out, ": %s", f->message);
        }
    }
}
