/*
 * slot_task.c - see slot_task.h.
 * Tests: tests/unit/test_temporal_answer.c, tests/temporal/t8300-activities.sh
 */
#include "temporal/slot_task.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "temporal/remote.h"
#include "temporal/token.h"

#define LATE_MS 2000 /* for an answer after the grace of a stop */

/* --- from a task ---------------------------------------------------------------------------------
 */

int64_t slot_task_left_ns(const Pb__PollActivityTaskQueueResponse *task)
{
    int64_t left_ns = value_span_ns(task->start_to_close_timeout);
    int64_t whole_ns = value_span_ns(task->schedule_to_close_timeout);
    if (whole_ns > 0) { /* how old it is by the server's clock: ours may differ from it */
        int64_t age_ns = value_ns(task->started_time) - value_ns(task->scheduled_time);
        whole_ns -= age_ns > 0 ? age_ns : 0;
        whole_ns = whole_ns > 0 ? whole_ns : 1;
        left_ns = left_ns > 0 && left_ns < whole_ns ? left_ns : whole_ns;
    }
    return left_ns > 0 ? left_ns : 0;
}

static const char *type_of(const struct slot *slot)
{
    return slot->task->activity_type ? slot->task->activity_type->name : "";
}

static void fill(struct slot *slot, struct dur_activity *attempt)
{
    const Pb__PollActivityTaskQueueResponse *task = slot->task;
    const Pb__WorkflowExecution *run = task->workflow_execution;
    struct arena *arena = attempt->arena;
    int64_t left_ns = slot_task_left_ns(task);
    attempt->attempt = task->attempt;
    attempt->heartbeat_ns = value_span_ns(task->heartbeat_timeout);
    attempt->deadline_ns = left_ns > 0 ? time_later(clock_mono_ns(), left_ns) : 0;
    attempt->type = arena_strdup(arena, type_of(slot));
    attempt->task_queue = slot->task_queue;
    attempt->activity_id = arena_strdup(arena, task->activity_id);
    attempt->workflow_id = arena_strdup(arena, run ? run->workflow_id : "");
    attempt->run_id = arena_strdup(arena, run ? run->run_id : "");
    attempt->key = arena_printf(arena, "%s/%s", attempt->run_id, attempt->activity_id);
    attempt->started_ns = clock_wall_ns();
    attempt->token = token_text(arena, &(struct token){.task_token = task->task_token,
                                                       .workflow_id = attempt->workflow_id,
                                                       .run_id = attempt->run_id,
                                                       .activity_id = attempt->activity_id,
                                                       .attempt = attempt->attempt});
}

static bool read_values(struct slot *slot, struct dur_activity *attempt)
{
    const Pb__PollActivityTaskQueueResponse *task = slot->task;
    struct err err = {0};
    if (value_read_json(slot->remote, attempt->arena, task->input, &attempt->input, &err) == 0 &&
        value_read_json(slot->remote, attempt->arena, task->heartbeat_details,
                        &attempt->details_before, &err) == 0) {
        return true;
    }
    slot->answer = answer_unreadable(attempt->arena, attempt->type, &err);
    return false;
}

bool slot_task_begin(struct slot *slot, const struct registry *registry)
{
    const struct registered *activity = registry_activity(registry, type_of(slot));
    struct dur_activity *attempt = attempt_new(arena_new(), &pulse_host, NULL);
    slot->attempt = attempt;
    slot->beat = (struct beat){.attempt = attempt, .owner = slot};
    attempt->host_data = &slot->beat;
    fill(slot, attempt);
    if (!activity) {
        slot->answer = answer_unregistered(attempt->arena, attempt->type, slot->task_queue);
        remote_say(slot->remote, 1, "run %s: activity %s: %s", attempt->workflow_id,
                   attempt->activity_id, slot->answer.failure->message);
        return false;
    }
    attempt->fn = activity->activity;
    attempt->user = activity->user;
    return read_values(slot, attempt);
}

void slot_task_end(struct slot *slot)
{
    attempt_free(slot->attempt);
}

/* --- to the server
 * --------------------------------------------------------------------------------
 */

static struct report_target target_of(const struct slot *slot)
{
    return (struct report_target){.task_token = slot->task->task_token};
}

enum pulse_result slot_task_beat(struct slot *slot, const char *details, int64_t timeout_ms,
                                 struct server_word *ret)
{
    autorpcfailure struct rpc_failure failure = {0};
    struct report_target target = target_of(slot);
    struct report_way way = {RPC_ONCE, timeout_ms, &slot->beats};
    struct err err = {0};
    int rc = report_beat(slot->remote, &target, &way, details, ret, &failure, &err);
    if (rc == DUR_OK) {
        slot->beats_fail = false;
        return PULSE_TAKEN;
    }
    if (rc == DUR_NOT_FOUND && failure.detail != DETAIL_NAMESPACE_NOT_FOUND) {
        return PULSE_GONE;
    }
    if (rc != DUR_CANCELLED && !slot->beats_fail) {
        slot->beats_fail = true;
        remote_say(slot->remote, 1, "run %s: activity %s: heartbeats do not arrive; trying on: %s",
                   slot->attempt->workflow_id, slot->attempt->activity_id, err.text);
    }
    return PULSE_LATER;
}

/* Tried for as long as the attempt may last by the server's own count. */
static struct report_way way_of(const struct slot *slot, struct rpc_cancel *cancel, bool is_late)
{
    int64_t deadline_ns = slot->attempt->deadline_ns;
    int64_t left_ms = RPC_TIMEOUT_MS;
    if (is_late) {
        return (struct report_way){RPC_ONCE, LATE_MS, NULL};
    }
    if (deadline_ns) {
        left_ms = (deadline_ns - clock_mono_ns()) / NS_PER_MS;
    }
    return (struct report_way){RPC_REPLY, left_ms > RPC_TIMEOUT_MS ? left_ms : RPC_TIMEOUT_MS,
                               cancel};
}

static void say(const struct slot *slot, int level, const char *what, const char *why)
{
    const struct dur_activity *a = slot->attempt;
    remote_say(slot->remote, level, "run %s: attempt %d of activity %s (%s) %s: %s", a->workflow_id,
               (int)a->attempt, a->activity_id, a->type, what, why);
}

/* What heartbeats did not get through, for whom the attempt waits on or who tries it again. */
static void flush(struct slot *slot, const struct report_way *way, const char *details)
{
    struct report_target target = target_of(slot);
    struct server_word word;
    struct err err = {0};
    int rc = report_beat(slot->remote, &target, way, details, &word, NULL, &err);
    if (rc != DUR_OK && rc != DUR_NOT_FOUND) {
        say(slot, 1, "leaves without its last details", err.text);
    }
}

/* The server takes no such answer, ever: then that is the outcome. */
static int answer_refused(struct slot *slot, const struct report_target *target,
                          const struct report_way *way, struct err *err)
{
    struct arena *arena = slot->attempt->arena;
    struct answer answer = answer_not_taken(arena, slot->attempt->type, err);
    say(slot, 1, "fails, for the server refused its outcome", err->text);
    return report_answer(slot->remote, target, way, &answer, NULL, err);
}

void slot_task_answer(struct slot *slot, struct rpc_cancel *cancel, bool is_late)
{
    struct dur_activity *attempt = slot->attempt;
    struct report_target target = target_of(slot);
    struct report_way way = way_of(slot, cancel, is_late);
    struct err err = {0};
    char *details = NULL;
    uint64_t seq;
    if (slot->answer.kind == ANSWER_NONE) {
        slot->answer = answer_of(attempt->arena, attempt, &slot->beat.word);
    }
    attempt_take_details(attempt, &details, &seq);
    if (slot->answer.kind == ANSWER_NONE) {
        if (attempt->outcome.code != DUR_PENDING) {
            say(slot, 2, "is over without an answer", slot->answer.why_none);
        } else if (details) {
            flush(slot, &way, details);
        }
        free(details);
        return;
    }
    int rc = report_answer(slot->remote, &target, &way, &slot->answer, details, &err);
    if (rc == DUR_LIMIT || rc == DUR_INVALID) {
        rc = answer_refused(slot, &target, &way, &err);
    }
    if (rc == DUR_NOT_FOUND) {
        say(slot, 2, "ended, but nobody awaits that any more", err.text);
    } else if (rc != DUR_OK) {
        say(slot, 1, "ended, but the server could not be told", err.text);
    }
    free(details);
}
