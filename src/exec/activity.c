/*
 * activity.c - dur_run, dur_start_activity: from options to a complete ACTIVITY_TASK_SCHEDULED.
 *
 * Owns: validation and normalisation of what the caller asks for (Temporal's rules: timeouts cap
 * each other and are capped by the run timeout; the retry policy gets its defaults), so that the
 * event carries the final values and no host needs to touch them.
 * Tests: tests/unit/test_exec_activity.c
 */
#include <string.h>

#include "base/clock.h"
#include "exec/options.h"
#include "exec/state.h"

#define DEFAULT_START_TO_CLOSE_MS (10 * DUR_MINUTES)
#define DEFAULT_QUEUE "default"
#define PRIORITY_LAST 5
#define KEY_BYTES 64 /* Temporal's limit for fairness keys */

static int check_options(const dur_activity_options *o)
{
    if (!options_is_duration(o->schedule_to_close_ms) ||
        !options_is_duration(o->schedule_to_start_ms) ||
        !options_is_duration(o->start_to_close_ms) || !options_is_duration(o->heartbeat_ms) ||
        !options_is_policy(&o->retry)) {
        return DUR_INVALID;
    }
    if ((o->task_queue && !options_is_name(o->task_queue)) ||
        (o->activity_id && !options_is_name(o->activity_id)) || o->max_attempts < 0) {
        return DUR_INVALID;
    }
    if ((unsigned)o->priority > PRIORITY_LAST ||
        (o->concurrency_key && (!*o->concurrency_key || strlen(o->concurrency_key) > KEY_BYTES))) {
        return DUR_INVALID;
    }
    return (unsigned)o->cancellation > DUR_ABANDON ? DUR_INVALID : DUR_OK;
}

/* Text of an activity or timer that is still open under this id: ids must differ among those. */
static bool id_is_open(const struct run *run, const char *id)
{
    for (size_t i = 0; i < run->open_count; i++) {
        const dur_future *f = run->open[i].future;
        if (f && f->kind == FUTURE_ACTIVITY && strcmp(f->activity.id, id) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < run->command_count; i++) {
        const struct command *c = &run->commands[i];
        if (command_is(c, &command_schedule_activity) && !c->dropped &&
            strcmp(c->future->activity.id, id) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_timeouts(const struct run *run, const dur_activity_options *o,
                         struct ev_activity_task_scheduled *a)
{
    int64_t whole = o->schedule_to_close_ms * NS_PER_MS;
    int64_t wait = o->schedule_to_start_ms * NS_PER_MS;
    int64_t once = o->start_to_close_ms * NS_PER_MS;
    int64_t run_timeout = run->run_timeout_ns;

    if (whole == 0 && once == 0) {
        once = DEFAULT_START_TO_CLOSE_MS * NS_PER_MS;
    }
    if (whole > 0) {
        wait = wait > 0 ? smaller(wait, whole) : whole;
        once = once > 0 ? smaller(once, whole) : whole;
    } else {
        whole = run_timeout;
        wait = wait > 0 ? wait : run_timeout;
    }
    if (run_timeout > 0) {
        whole = smaller(whole, run_timeout);
        wait = smaller(wait, run_timeout);
        once = smaller(once, run_timeout);
    }
    a->schedule_to_close_timeout = whole;
    a->schedule_to_start_timeout = wait;
    a->start_to_close_timeout = once;
    a->heartbeat_timeout = smaller(o->heartbeat_ms * NS_PER_MS, once);
}

static struct event *scheduled_event(struct run *run, const struct activity *activity,
                                     const char *input, const dur_activity_options *o)
{
    struct arena *arena = run->task_arena;
    struct event *event = event_new(arena, EVENT_ACTIVITY_TASK_SCHEDULED);
    struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);

    a->activity_id = activity->id;
    a->activity_type = activity->type;
    a->task_queue = task_queue_new(arena, o->task_queue ? o->task_queue : DEFAULT_QUEUE);
    a->input = payloads_json(arena, input);
    set_timeouts(run, o, a);
    a->retry_policy = options_policy(arena, &o->retry, o->max_attempts);
    if (o->priority || o->concurrency_key) {
        a->priority = arena_new_of(arena, struct priority);
        a->priority->priority_key = o->priority;
        a->priority->fairness_key = arena_strdup(arena, o->concurrency_key);
    }
    return event;
}

/* The future of a new activity, or *ret_code says why there is none. */
static dur_future *schedule(dur_ctx *ctx, const char *type, const char *input,
                            const dur_activity_options *o, int *ret_code)
{
    struct run *run = ctx->run;

    if (ctx->scope->cancelled) {
        *ret_code = DUR_CANCELLED;
        return NULL;
    }
    *ret_code = options_is_name(type) ? check_options(o) : DUR_INVALID;
    if (*ret_code == DUR_OK) {
        *ret_code = payload_check(input);
    }
    run->custom_ids |= o->activity_id != NULL;
    if (*ret_code == DUR_OK && o->activity_id && id_is_open(run, o->activity_id)) {
        *ret_code = DUR_INVALID;
    }
    if (*ret_code != DUR_OK) {
        return NULL;
    }
    if (run->open_activities >= RUN_MAX_OPEN) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED,
                   "more than %d activities are open at once", RUN_MAX_OPEN);
        *ret_code = call_park(run);
        return NULL;
    }
    struct command *c = command_add(run, &command_schedule_activity);
    if (!c) {
        *ret_code = call_park(run);
        return NULL;
    }
    dur_future *f = future_new(run, FUTURE_ACTIVITY, ctx->scope);
    c->future = f;
    if (o->activity_id) {
        f->activity.id = run_strdup(run, o->activity_id);
    } else { /* a counter; it skips ids that the code took for itself */
        do {
            counter_print(f->id_text, ++run->next_activity);
            f->activity.id = f->id_text;
        } while (run->custom_ids && (c->dropped = true, id_is_open(run, f->id_text)));
        c->dropped = false;
    }
    f->activity.type = run_intern(run, type);
    f->activity.cancellation = o->cancellation;
    run->open_activities++;
    if (!run->replaying) {
        f->activity.command = scheduled_event(run, &f->activity, input, o);
    }
    return f;
}

static dur_activity_options sized_options(const dur_activity_options *options, size_t bytes)
{
    dur_activity_options o = {0};

    if (options) {
        memcpy(&o, options, bytes < sizeof(o) ? bytes : sizeof(o));
    }
    return o;
}

int dur_run_at(dur_ctx *ctx, const char *type, const char *input, const char **result,
               const dur_activity_options *options, size_t options_size, const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    dur_activity_options o = sized_options(options, options_size);
    dur_future *f = schedule(ctx, type, input, &o, &code);
    if (!f) {
        return code;
    }
    code = future_wait(ctx, f, result);
    future_recycle(ctx->run, f);
    return code;
}

dur_future *dur_start_activity_at(dur_ctx *ctx, const char *type, const char *input,
                                  const dur_activity_options *options, size_t options_size,
                                  const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return future_dead(ctx->run, code);
    }
    dur_activity_options o = sized_options(options, options_size);
    dur_future *f = schedule(ctx, type, input, &o, &code);
    return f ? f : future_dead(ctx->run, code);
}
