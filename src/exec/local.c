/*
 * local.c - dur_run_local, dur_start_local: activities that only leave a marker.
 *
 * Owns: what waits for an outcome from the host, and the order in which outcomes come.
 *
 *   asked (no command, no event) --host runs it--> outcome --next task--> marker, future done
 *                                                     `--long back-off--> marker, timer, asked
 * again
 *
 * The outcomes that the host gives for a task are one batch: all their markers first, in order,
 * then code goes on. In replay a batch is what lies side by side. Until its marker is recorded a
 * crash runs the activity again.
 *
 *   cancelled   at once       in the task that asked: no trace
 *               TRY_CANCEL    marker with a cancel, done at once; the host asks it to stop
 *               WAIT_CANCEL   the host asks it to stop; done when it ended
 *               ABANDON       marker with a cancel, done at once; it runs on, unheard
 *
 * Must not: run anything. Tests: tests/unit/test_exec_local.c
 */
#include "exec/local.h"

#include <string.h>

#include "base/clock.h"
#include "exec/options.h"
#include "history/failure.h"

#define DEFAULT_START_TO_CLOSE_MS (10 * DUR_MINUTES)
#define DEFAULT_THRESHOLD_MS                                                                       \
    DUR_MINUTES /* Temporal's default is a task time-out's worth; Core: 1m */

/* --- those that wait ----------------------------------------------------------------------------
 */

static void link_local(struct run *run, struct local *l)
{
    struct local **at = &run->locals;

    while (*at) {
        at = &(*at)->next;
    }
    l->next = NULL;
    *at = l;
    run->open_locals++;
}

static void unlink_local(struct run *run, struct local *l)
{
    struct local **at = &run->locals;

    while (*at != l) {
        at = &(*at)->next;
    }
    *at = l->next;
    run->open_locals--;
}

static struct local *find_local(struct run *run, uint64_t seq)
{
    struct local *l = run->locals;

    while (l && (l->ask.seq != seq || l->state != LOCAL_WAITING)) {
        l = l->next;
    }
    return l;
}

const struct run_local *run_next_local(const struct run *run, const struct run_local *before)
{
    struct local *l = run->locals;

    if (before) {
        while (l && &l->ask != before) {
            l = l->next;
        }
        l = l ? l->next : NULL;
    }
    while (l && l->state != LOCAL_WAITING) {
        l = l->next;
    }
    return l ? &l->ask : NULL;
}

void run_give_locals(struct run *run, const struct run_local_end *ends, size_t count)
{
    run->local_ends = ends;
    run->local_end_count = count;
}

/* A new place in the run's numbering: ids are those of activities, as in Temporal's TypeScript. */
static void number(struct run *run, struct local *l)
{
    char text[ID_TEXT_BYTES];

    l->ask.seq = ++run->next_activity;
    counter_print(text, l->ask.seq);
    l->ask.id = run_strdup(run, text);
    l->asked_in = run->task.started_id;
    l->state = LOCAL_WAITING;
}

/* --- outcomes -----------------------------------------------------------------------------------
 */

static struct local_mark mark_of(const struct local *l)
{
    return (struct local_mark){.seq = l->ask.seq,
                               .attempt = l->ask.attempt,
                               .id = l->ask.id,
                               .type = l->ask.type,
                               .scheduled_ns = l->ask.scheduled_ns,
                               .backoff_ns = -1};
}

static void finish(struct run *run, struct local *l, int code, const struct local_mark *mark)
{
    dur_future *f = l->future;

    l->state = LOCAL_DONE;
    unlink_local(run, l);
    if (code == DUR_FAILED) {
        f->failure = local_failure(run->arena, mark);
        f->attempt = mark->attempt;
    }
    future_resolve(f, code, code == DUR_OK ? run_strdup(run, mark->result) : NULL);
}

/* Its marker is recorded now, or was. False: the task has failed. */
static bool settle(struct run *run, struct local *l, const struct local_mark *mark)
{
    if (!local_mark_add(run, mark)) {
        return false;
    }
    run->stepped = true;
    if (mark->completed_ns > run->now_ns) {
        run->now_ns = mark->completed_ns;
    }
    if (mark->backoff_ns >= 0) {
        l->state = LOCAL_BACKOFF;
        l->ask.attempt = mark->attempt + 1;
        l->backoff_ms = mark->backoff_ns / NS_PER_MS + (mark->backoff_ns % NS_PER_MS != 0);
        return true;
    }
    int code = DUR_OK;
    if (mark->failure) {
        const struct failure *cause = mark->failure->cause; /* Core wraps a cancel, or does not */
        bool is_cancel =
            mark->failure->canceled_failure_info || (cause && cause->canceled_failure_info);
        code = is_cancel ? DUR_CANCELLED : DUR_FAILED;
    }
    finish(run, l, code, mark);
    return true;
}

/* Those that this batch put off: their timers, in order. */
static bool start_timers(struct run *run)
{
    for (struct local *l = run->locals; l; l = l->next) {
        if (l->state == LOCAL_BACKOFF && !l->timer) {
            l->timer = timer_start_for(run, l->backoff_ms > 0 ? l->backoff_ms : 1, l);
            if (!l->timer) {
                return false;
            }
        }
    }
    return true;
}

void local_timer_fired(struct run *run, struct local *l)
{
    l->timer = NULL;
    number(run, l);
}

static bool give_live(struct run *run)
{
    bool any = false;

    for (size_t i = 0; i < run->local_end_count; i++) {
        const struct run_local_end *end = &run->local_ends[i];
        struct local *l = find_local(run, end->seq);
        if (!l) {
            continue; /* cancelled by what this task brought */
        }
        struct local_mark mark = mark_of(l);
        mark.attempt = end->attempt;
        mark.completed_ns = end->ended_ns;
        mark.backoff_ns = end->backoff_ns;
        mark.result = end->result ? end->result : "null";
        mark.failure = end->code == DUR_FAILED      ? end->failure
                       : end->code == DUR_CANCELLED ? failure_canceled(run->task_arena, NULL)
                                                    : NULL;
        any |= settle(run, l, &mark);
    }
    run->local_end_count = 0;
    return any;
}

/* A cancel that the code makes by itself comes with the code, not before it. */
static bool is_own_cancel(const struct local *l, const struct local_mark *mark)
{
    return mark->failure && mark->failure->canceled_failure_info && !l->ask.cancel_requested;
}

static bool give_recorded(struct run *run)
{
    bool any = false;

    while (run->local_at < run->recorded_count) {
        const struct event *event = run->recorded[run->local_at];
        struct local_mark mark;
        struct local *l = NULL;
        if (local_mark_read(run->task_arena, event, &mark)) {
            l = find_local(run, mark.seq);
        }
        if (l && !is_own_cancel(l, &mark) && same_text(mark.id, l->ask.id) &&
            same_text(mark.type, l->ask.type)) {
            any |= settle(run, l, &mark);
        } else if (any) {
            break; /* the batch ends; code goes on before what follows */
        }
        run->local_at++;
    }
    return any;
}

void locals_deliver(struct run *run)
{
    while (!run->finished && !run->outcome &&
           (run->replaying ? give_recorded(run) : give_live(run)) && start_timers(run)) {
        schedule_run(run);
    }
}

/* --- asking -------------------------------------------------------------------------------------
 */

static int check(const char *type, const char *input, const dur_local_options *o)
{
    if (!options_is_name(type) || !options_is_duration(o->schedule_to_close_ms) ||
        !options_is_duration(o->start_to_close_ms) ||
        !options_is_duration(o->local_retry_threshold_ms) || !options_is_policy(&o->retry) ||
        o->max_attempts < 0 || (unsigned)o->cancellation > DUR_ABANDON) {
        return DUR_INVALID;
    }
    return payload_check(input);
}

static dur_future *ask(dur_ctx *ctx, const char *type, const char *input,
                       const dur_local_options *o, int *ret_code)
{
    struct run *run = ctx->run;

    *ret_code = ctx->scope->cancelled ? DUR_CANCELLED : check(type, input, o);
    if (*ret_code != DUR_OK) {
        return NULL;
    }
    if (run->open_locals >= RUN_MAX_OPEN) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED,
                   "more than %d local activities are open at once", RUN_MAX_OPEN);
        *ret_code = call_park(run);
        return NULL;
    }
    int64_t once = o->start_to_close_ms;
    if (once == 0 && o->schedule_to_close_ms == 0) {
        once = DEFAULT_START_TO_CLOSE_MS;
    }
    int64_t threshold =
        o->local_retry_threshold_ms ? o->local_retry_threshold_ms : DEFAULT_THRESHOLD_MS;
    struct local *l = arena_new_of(run->arena, struct local);
    l->ask = (struct run_local){.type = run_intern(run, type),
                                .input = run_strdup(run, input),
                                .attempt = 1,
                                .scheduled_ns = run->now_ns,
                                .schedule_to_close_ns = o->schedule_to_close_ms * NS_PER_MS,
                                .start_to_close_ns = once * NS_PER_MS,
                                .threshold_ns = threshold * NS_PER_MS,
                                .policy = options_policy(run->arena, &o->retry, o->max_attempts),
                                .cancellation = o->cancellation};
    number(run, l);
    dur_future *f = future_new(run, FUTURE_LOCAL, ctx->scope);
    f->local = l;
    l->future = f;
    link_local(run, l);
    return f;
}

static dur_local_options sized(const dur_local_options *options, size_t bytes)
{
    dur_local_options o = {0};

    if (options) {
        memcpy(&o, options, bytes < sizeof(o) ? bytes : sizeof(o));
    }
    return o;
}

int dur_run_local_at(dur_ctx *ctx, const char *type, const char *input, const char **result,
                     const dur_local_options *options, size_t options_size, const char *file,
                     int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    dur_local_options o = sized(options, options_size);
    dur_future *f = ask(ctx, type, input, &o, &code);
    if (!f) {
        return code;
    }
    code = future_wait(ctx, f, result);
    future_recycle(ctx->run, f);
    return code;
}

dur_future *dur_start_local_at(dur_ctx *ctx, const char *type, const char *input,
                               const dur_local_options *options, size_t options_size,
                               const char *file, int line)
{
    int code = call_enter(ctx->run, file, line);

    if (code != DUR_OK) {
        return future_dead(ctx->run, code);
    }
    dur_local_options o = sized(options, options_size);
    dur_future *f = ask(ctx, type, input, &o, &code);
    return f ? f : future_dead(ctx->run, code);
}

/* --- cancelling ---------------------------------------------------------------------------------
 */

static bool is_closed(const dur_future *f)
{
    return f->local->state == LOCAL_DONE;
}

static void cancel(struct run *run, dur_future *f)
{
    struct local *l = f->local;

    if (l->state == LOCAL_BACKOFF) {
        if (l->timer) {
            dur_future *timer = l->timer;
            l->timer = NULL;
            timer->timer.owner = NULL;
            future_cancel(run, timer);
            future_recycle(run, timer);
        }
        finish(run, l, DUR_CANCELLED, NULL);
        return;
    }
    if (l->asked_in == run->task.started_id) { /* nobody has heard of it */
        finish(run, l, DUR_CANCELLED, NULL);
        return;
    }
    if (l->ask.cancellation == DUR_WAIT_CANCEL) {
        l->ask.cancel_requested = true;
        return;
    }
    struct local_mark mark = mark_of(l);
    mark.completed_ns = run->now_ns;
    mark.failure = failure_canceled(run->task_arena, NULL);
    if (local_mark_add(run, &mark)) {
        finish(run, l, DUR_CANCELLED, &mark);
    }
}

const struct future_def future_local = {.closed = is_closed, .cancel = cancel};

void run_local_copy(struct run_local *to, const struct run_local *from, struct arena *arena)
{
    *to = *from;
    to->id = arena_strdup(arena, from->id);
    to->type = arena_strdup(arena, from->type);
    to->input = arena_strdup(arena, from->input);
    to->policy = NULL;
}
