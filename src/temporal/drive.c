/*
 * drive.c - see drive.h.
 * Tests: tests/temporal/t8200-worker.sh
 */
#include "temporal/drive.h"

#include <string.h>

#include "base/clock.h"
#include "durable.h"
#include "temporal/ask.h"
#include "temporal/keep.h"
#include "temporal/message.h"
#include "temporal/remote.h"
#include "temporal/reply.h"
#include "temporal/serving.h"

#define HELD_PART 0.8 /* of a task's time, for local activities */

static const char *type_of(const struct task *task)
{
    return task->from->workflow_type->name;
}

static const char *workflow_id_of(const struct task *task)
{
    return task->from->workflow_execution->workflow_id;
}

static const char *run_id_of(const struct task *task)
{
    return task->from->workflow_execution->run_id;
}

/* --- to the threads --------------------------------------------------------------------------- */

static void go_fetch(struct errand *errand, void *user)
{
    struct remote_serving *s = user;
    struct task *task = (struct task *)errand;

    task_read_whole(s->remote, task, &s->answers);
    serving_hand(s, task);
}

static void go_send(struct errand *errand, void *user)
{
    struct remote_serving *s = user;
    struct task *task = (struct task *)errand;

    task_send(s->remote, task, &s->answers);
    task->stage = TASK_ANSWERED;
    serving_hand(s, task);
}

static void give(struct remote_serving *s, struct task *task, void (*go)(struct errand *, void *))
{
    task->errand.go = go;
    errand_give(s->errands, &task->errand);
}

/* Nothing is sent back: the server finds out when the task's time is over. */
static void leave(struct remote_serving *s, struct task *task)
{
    task_free(task);
    serving_count(s, -1);
}

static void on_log(void *remote, const char *line)
{
    remote_say(remote, 2, "%s", line);
}

static struct cached *make_run(struct remote_serving *s, const struct task *task,
                               const struct registered *workflow)
{
    const Pb__TaskQueue *given = task->from->workflow_execution_task_queue;
    const struct event *first = &task->history.items[0];
    const struct task_queue *recorded = ev_workflow_execution_started(first)->task_queue;
    const char *queue = given && *given->name        ? given->name
                        : recorded && recorded->name ? recorded->name
                                                     : "";
    struct run_spec spec = {.fn = workflow->workflow,
                            .user = workflow->user,
                            .workflow_id = workflow_id_of(task),
                            .run_id = run_id_of(task),
                            .type = type_of(task),
                            .task_queue = remote_queue_shown(s->remote, queue),
                            .identity = s->remote->identity,
                            .pool = s->fibers,
                            .on_log = on_log,
                            .on_log_user = s->remote};

    return cache_add(&s->cache, run_new(&spec), workflow_id_of(task), run_id_of(task),
                     type_of(task), queue, first);
}

/* --- failing ---------------------------------------------------------------------------------- */

/* A later attempt is left to time out (drive.h). */
static void fail(struct remote_serving *s, struct task *task, int cause, const char *message)
{
    if (task_is_query(task)) {
        ask_refuse(s->remote, task, "WorkflowTaskFailed", message, cause);
    } else if (task->from->attempt > 1) {
        leave(s, task);
        return;
    } else {
        remote_say(s->remote, 1, "run %s (%s): its task failed: %s", workflow_id_of(task),
                   type_of(task), message);
        task_set_failed(s->remote, task, cause, message);
    }
    give(s, task, go_send);
}

/* It could not be read. */
static void fail_unread(struct remote_serving *s, struct task *task)
{
    if (task->fault == DUR_NOT_FOUND || task->fault == DUR_CANCELLED ||
        task->err.kind != ERR_PERMANENT) { /* gone, or comes again */
        if (task->fault != DUR_CANCELLED) {
            remote_say(s->remote, 2, "run %s: its history was not to be had: %s",
                       workflow_id_of(task), task->err.text);
        }
        leave(s, task);
        return;
    }
    fail(s, task, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, task->err.text);
}

static void fail_run(struct remote_serving *s, struct task *task, struct cached *cached, int rc,
                     const struct run_output *out, const struct err *err)
{
    int cause = rc > 0 ? out->cause : WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE;
    const char *message = arena_strdup(task->arena, rc > 0 ? out->message : err->text);

    if (rc > 0 && out->report && task->from->attempt <= 1) {
        remote_say(s->remote, 1, "run %s (%s) cannot go on:\n%s", cached->workflow_id, cached->type,
                   out->report);
    }
    keep_drop(s, cached);
    fail(s, task, cause, message);
}

/* --- one workflow task ------------------------------------------------------------------------ */

static const struct event **event_list(struct task *task)
{
    const struct event **list =
        arena_array_of(task->arena, const struct event *, task->history.count + 1);

    for (size_t i = 0; i < task->history.count; i++) {
        list[i] = &task->history.items[i];
    }
    return list;
}

/* Is there more in it than the outcome of the task before? */
static bool has_news(const struct cached *cached, const struct task *task)
{
    for (size_t i = task->history.count; i-- > 0;) {
        const struct event *event = &task->history.items[i];
        if (event->id > run_processed(cached->run) && !event_is_workflow_task(event->type)) {
            return true;
        }
    }
    return task->from->n_messages > 0 || task->from->n_queries > 0;
}

static bool must_wait(struct remote_serving *s, const struct cached *cached,
                      const struct task *task)
{
    return locals_open(s->locals, cached->run_id) > 0 &&
           !locals_have_ended(s->locals, cached->run_id) && !has_news(cached, task) &&
           !atomic_load(&s->stopping);
}

static void hold(struct remote_serving *s, struct cached *cached, struct task *task)
{
    int64_t now = clock_mono_ns();

    cached->held = task;
    cached->held_until_ns = now + (int64_t)((double)(task->expires_ns - now) * HELD_PART);
    s->held++;
    serving_count(s, -1); /* others may come meanwhile */
}

static void give_updates(struct remote_serving *s, struct task *task, struct cached *cached)
{
    struct run_update *updates;
    struct err err = {0};
    size_t skipped;
    size_t count = messages_read(s->remote, task->arena, task->from, &updates, &skipped, &err);

    run_give_updates(cached->run, updates, count);
    if (skipped > 0) {
        remote_say(s->remote, 1, "run %s: %zu of its messages are left out: %s",
                   cached->workflow_id, skipped, err.text);
    }
}

static void finish_run(struct remote_serving *s, struct cached *cached,
                       const struct run_output *out)
{
    if (out->unfinished) {
        remote_say(s->remote, 1,
                   "run %s (%s) ended while %d handlers of its signals and updates ran: they are "
                   "cut off (dur_all_handlers_finished() tells)",
                   cached->workflow_id, cached->type, out->unfinished);
    }
    locals_close(s->locals, cached->run_id);
    cache_drop(&s->cache, cached);
}

/* No stack for a fiber: half of the runs here give theirs back, and the task is tried once more. */
static bool make_room(struct remote_serving *s, struct task *task, struct cached *cached, int rc,
                      const struct err *err)
{
    if (rc >= 0 || err->kind != ERR_TRANSIENT || task->is_again || !task->is_whole) {
        return false;
    }
    task->is_again = true;
    keep_drop(s, cached);
    keep_at_most(s, s->cache.count / 2);
    drive_task(s, task);
    return true;
}

static void run_it(struct remote_serving *s, struct task *task, struct cached *cached)
{
    struct run_output out = {0};
    struct err err = {0};
    const struct event **events = event_list(task);

    give_updates(s, task, cached);
    locals_give(s->locals, cached->run, cached->run_id);
    int rc = run_task(cached->run, events, task->history.count, &out, &err);
    if (rc != 0) {
        if (!make_room(s, task, cached, rc, &err)) {
            fail_run(s, task, cached, rc, &out, &err);
        }
        return;
    }
    const struct event *started = events[task->history.count - 1];
    cached_advance(cached, started, &out);
    if (out.status == RUN_RUNNING) {
        locals_sync(s->locals, cached->run, cached->workflow_id, cached->run_id, started->time_ns);
    }
    reply_complete(s, task, cached, &out);
    if (out.no_trace) {
        run_undo_task(cached->run);
        cached_undo(cached);
    }
    if (out.status != RUN_RUNNING) {
        finish_run(s, cached, &out);
    }
    give(s, task, go_send);
    keep_at_most(s, keep_limit(s));
}

/* --- the ways of a task ----------------------------------------------------------------------- */

/* The run as it stands before this task, or NULL: the task was taken over. */
static struct cached *find_run(struct remote_serving *s, struct task *task,
                               const struct registered *workflow)
{
    struct cached *cached = cache_find(&s->cache, run_id_of(task));
    bool is_query = task_is_query(task);
    int64_t previous = task->from->previous_started_event_id;

    if (cached && !is_query) {
        keep_release(s, cached); /* superseded: its time was over */
    }
    if (cached && (is_query && !task->is_whole
                       ? cached->last_started == previous
                       : cached_fits(cached, previous, task->history.items, task->history.count))) {
        cache_touch(&s->cache, cached);
        return cached;
    }
    if (cached) {
        keep_drop(s, cached);
    }
    if (!task->is_whole) {
        give(s, task, go_fetch);
        return NULL;
    }
    if (task->history.count == 0 ||
        task->history.items[0].type != EVENT_WORKFLOW_EXECUTION_STARTED) {
        fail(s, task, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
             "its history does not begin with WORKFLOW_EXECUTION_STARTED");
        return NULL;
    }
    return make_run(s, task, workflow);
}

static void drive_query(struct remote_serving *s, struct task *task, struct cached *cached)
{
    struct run_output out = {0};
    struct err err = {0};

    if (cached->last_started == 0 && run_processed(cached->run) == 0) {
        int rc = run_replay(cached->run, event_list(task), task->history.count, &out, &err);
        if (rc != 0) {
            fail_run(s, task, cached, rc, &out, &err);
            return;
        }
        cached->last_started = task->from->previous_started_event_id;
    }
    ask_answer(s->remote, task, cached->run);
    if (run_status(cached->run) != RUN_RUNNING) {
        keep_drop(s, cached);
    }
    give(s, task, go_send);
    keep_at_most(s, keep_limit(s));
}

static void drive_arrived(struct remote_serving *s, struct task *task)
{
    const struct registered *workflow = registry_workflow(s->worker->registry, type_of(task));
    const Pb__TaskQueue *queue = task->from->workflow_execution_task_queue;

    if (queue && !atomic_load(&s->stopping)) {
        pollers_more(s->pollers, queue->name);
    }
    if (task->fault != DUR_OK) {
        fail_unread(s, task);
        return;
    }
    if (!workflow) {
        fail(s, task, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
             arena_printf(task->arena, "worker %s has no workflow of type %s: register it",
                          s->remote->identity, type_of(task)));
        return;
    }
    struct cached *cached = find_run(s, task, workflow);
    if (!cached) {
        return;
    }
    if (task_is_query(task)) {
        drive_query(s, task, cached);
    } else if (must_wait(s, cached, task)) {
        hold(s, cached, task);
    } else {
        run_it(s, task, cached);
    }
}

/* A run that cannot close because something came meanwhile is told so: nothing of note. */
static void say_refused(struct remote_serving *s, const struct task *task)
{
    if (task->code != DUR_NOT_FOUND && task->code != DUR_CANCELLED) {
        remote_say(s->remote, task->closes && task->code == DUR_INVALID ? 2 : 1,
                   "run %s (%s): the server did not take an answer: %s", workflow_id_of(task),
                   type_of(task), task->err.text);
    }
}

/* The server has taken the answer, or not. */
static void settle(struct remote_serving *s, struct task *task)
{
    struct task *following = task->following;
    struct cached *cached = cache_find(&s->cache, run_id_of(task));

    task->following = NULL;
    if (task->code != DUR_OK) {
        if (cached && cached->serial == task->serial) {
            keep_drop(s, cached); /* it is ahead of its history */
        }
        say_refused(s, task);
    }
    task_free(task);
    if (following) { /* takes its place in the count */
        drive_task(s, following);
    } else {
        serving_count(s, -1);
    }
}

void drive_task(struct remote_serving *s, struct task *task)
{
    s->task_ns = clock_mono_ns();
    if (task->stage == TASK_ANSWERED) {
        settle(s, task);
    } else {
        drive_arrived(s, task);
    }
}

/* --- held tasks ------------------------------------------------------------------------------- */

bool drive_held(struct remote_serving *s)
{
    int64_t now = s->held > 0 ? clock_mono_ns() : 0;
    bool any = false;

    for (struct cached *cached = s->held > 0 ? s->cache.newest : NULL, *older; cached;
         cached = older) {
        older = cached->older;
        if (cached->held && (now >= cached->held_until_ns || atomic_load(&s->stopping) ||
                             locals_have_ended(s->locals, cached->run_id))) {
            struct task *task = cached->held;
            cached->held = NULL;
            s->held--;
            serving_count(s, 1);
            run_it(s, task, cached);
            return true; /* the list may be another one now */
        }
    }
    return any;
}

int64_t drive_held_due_ns(const struct remote_serving *s)
{
    int64_t due = INT64_MAX;

    for (struct cached *cached = s->held > 0 ? s->cache.newest : NULL; cached;
         cached = cached->older) {
        if (cached->held && cached->held_until_ns < due) {
            due = cached->held_until_ns;
        }
    }
    return due;
}

void drive_drop_all(struct remote_serving *s)
{
    while (s->cache.newest) {
        keep_drop(s, s->cache.newest);
    }
}
