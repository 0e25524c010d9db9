/*
 * failure_info.c - failures between history and durable.h; see failure_info.h.
 *
 * Owns: the kinds and words that workflow code sees, and the wrapper of an activity's end.
 * Tests: tests/unit/test_exec_failure.c
 */
#include "exec/failure_info.h"

#include <assert.h>

#include "base/str.h"
#include "exec/state.h"

#define KIND_KEY "dur-kind"
#define KIND_AMBIGUOUS "ambiguous"

struct failure *failure_of_kind(struct arena *arena, dur_kind kind, const char *type,
                                const char *message, const char *details_json)
{
    struct payloads *details = NULL;

    if (details_json || kind == DUR_AMBIGUOUS) {
        details = payloads_json(arena, details_json);
    }
    if (kind == DUR_AMBIGUOUS) {
        struct payload_meta *meta = arena_new_of(arena, struct payload_meta);
        meta->key = KIND_KEY;
        meta->value = KIND_AMBIGUOUS;
        meta->len = sizeof(KIND_AMBIGUOUS) - 1;
        details->items[0].meta = meta;
    }
    return failure_application(arena, type, message, kind == DUR_PERMANENT, details);
}

static bool is_marked_ambiguous(const struct failure *failure)
{
    const struct payloads *details = failure->application_failure_info->details;

    for (size_t i = 0; details && i < details->count; i++) {
        for (const struct payload_meta *m = details->items[i].meta; m; m = m->next) {
            if (str_eq(m->key, KIND_KEY) && str_eq(m->value, KIND_AMBIGUOUS)) {
                return true;
            }
        }
    }
    return false;
}

dur_kind failure_dur_kind(const struct failure *failure)
{
    switch (failure_kind(failure)) {
    case FAILURE_APPLICATION:
        if (is_marked_ambiguous(failure)) {
            return DUR_AMBIGUOUS;
        }
        return failure->application_failure_info->non_retryable ? DUR_PERMANENT : DUR_TRANSIENT;
    case FAILURE_TIMEOUT: {
        enum timeout_type type = failure->timeout_failure_info->timeout_type;
        return type == TIMEOUT_TYPE_START_TO_CLOSE || type == TIMEOUT_TYPE_HEARTBEAT
                   ? DUR_AMBIGUOUS
                   : DUR_TRANSIENT;
    }
    case FAILURE_SERVER:
        return failure->server_failure_info->non_retryable ? DUR_PERMANENT : DUR_TRANSIENT;
    case FAILURE_CANCELED:
    case FAILURE_TERMINATED:
        return DUR_PERMANENT;
    case FAILURE_ACTIVITY:
    case FAILURE_CHILD:
    case FAILURE_NEXUS_OPERATION:
    case FAILURE_NEXUS_HANDLER:
    case FAILURE_RESET_WORKFLOW:
    case FAILURE_PLAIN:
        return failure->cause ? failure_dur_kind(failure->cause) : DUR_TRANSIENT;
    }
    return DUR_TRANSIENT;
}

static const char *timeout_name(enum timeout_type type)
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
    return "Unspecified";
}

static const char *kind_word(const struct failure *failure)
{
    switch (failure_kind(failure)) {
    case FAILURE_APPLICATION: {
        const char *type = failure->application_failure_info->type;
        return type ? type : "";
    }
    case FAILURE_TIMEOUT:
        return "Timeout";
    case FAILURE_CANCELED:
        return "Cancelled";
    case FAILURE_TERMINATED:
        return "Terminated";
    case FAILURE_SERVER:
        return "Server";
    case FAILURE_RESET_WORKFLOW:
        return "ResetWorkflow";
    case FAILURE_ACTIVITY:
        return "Activity";
    case FAILURE_CHILD:
        return "Child";
    case FAILURE_NEXUS_OPERATION:
    case FAILURE_NEXUS_HANDLER:
        return "Nexus";
    case FAILURE_PLAIN:
        break;
    }
    return "";
}

static void name_child(dur_failure_info *info, const struct child_failure_info *child)
{
    const struct workflow_execution *execution = child->workflow_execution;

    info->child_type = child->workflow_type;
    info->child_id = execution && execution->workflow_id ? execution->workflow_id : "";
    info->child_run_id = execution && execution->run_id ? execution->run_id : "";
}

const dur_failure_info *failure_info_new(struct arena *arena, const struct failure *failure,
                                         int attempt)
{
    const dur_failure_info *first = NULL;
    const dur_failure_info **at = &first;

    for (const struct failure *f = failure; f; f = f->cause) {
        dur_failure_info *info = arena_new_of(arena, dur_failure_info);
        info->type = kind_word(f);
        info->message = f->message ? f->message : "";
        info->kind = failure_dur_kind(f);
        if (f->timeout_failure_info) {
            info->timeout_type = timeout_name(f->timeout_failure_info->timeout_type);
            info->details =
                payloads_first_json(f->timeout_failure_info->last_heartbeat_details, NULL);
        } else if (f->application_failure_info) {
            info->details = payloads_first_json(f->application_failure_info->details, NULL);
        } else if (f->canceled_failure_info) {
            info->details = payloads_first_json(f->canceled_failure_info->details, NULL);
        } else if (f->activity_failure_info) {
            info->activity_type = f->activity_failure_info->activity_type;
            info->attempt = attempt;
        } else if (f->child_workflow_execution_failure_info) {
            name_child(info, f->child_workflow_execution_failure_info);
        }
        *at = info;
        at = &info->cause;
    }
    return first;
}

const struct failure *failure_of_activity(struct arena *arena, const struct activity *activity,
                                          const struct event *event)
{
    struct failure *cause = NULL;
    enum retry_state state = RETRY_STATE_UNSPECIFIED;
    const char *identity = NULL;

    if (event->type == EVENT_ACTIVITY_TASK_FAILED) {
        const struct ev_activity_task_failed *a = ev_activity_task_failed(event);
        cause = a->failure;
        state = a->retry_state;
        identity = a->identity;
    } else {
        assert(event->type == EVENT_ACTIVITY_TASK_TIMED_OUT);
        const struct ev_activity_task_timed_out *a = ev_activity_task_timed_out(event);
        cause = a->failure;
        state = a->retry_state;
    }
    return failure_activity(arena, activity->scheduled_id, activity->started_id, activity->id,
                            activity->type, identity, state,
                            cause ? failure_copy(cause, arena) : NULL);
}

const dur_failure_info *dur_failure(const dur_ctx *ctx)
{
    if (!ctx->failure) {
        return NULL;
    }
    if (!ctx->info) { /* made when asked for; a context in durable.h's const sense is unchanged */
        dur_ctx *cache = (dur_ctx *)(uintptr_t)ctx;
        cache->info = failure_info_new(ctx->run->arena, ctx->failure, ctx->attempt);
    }
    return ctx->info;
}

int dur_fail_run(dur_ctx *ctx, const char *type, const char *fmt, ...)
{
    struct run *run = ctx->run;
    const char *message = "";

    if ((!run->current && !run->aside) || run->unwinding) {
        return run->unwinding ? DUR_UNWIND : DUR_INVALID;
    }
    if (fmt) {
        va_list ap;
        va_start(ap, fmt);
        message = arena_vprintf(ctx_arena(ctx), fmt, ap);
        va_end(ap);
    }
    ctx->failure = ctx->fresh_failure = failure_application(
        ctx_arena(ctx), type && *type ? type : "Failed", message, !run->info.has_policy, NULL);
    ctx->attempt = 0;
    ctx->info = NULL;
    if (!run->aside) {
        run->current->failure = ctx->failure;
        run->current->attempt = 0;
    }
    return DUR_FAILED;
}
