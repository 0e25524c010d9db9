/*
 * turn.c - the turn: everything that happened since the last one becomes ONE transaction.
 *
 *     collect    finished attempts, heartbeats, due deadlines, marks that clients left
 *     begin
 *     append     their events (settle.c, due.c), in every run they concern
 *     advance    each run that must see something: WORKFLOW_TASK_SCHEDULED, _STARTED, its fibers to
 *                the next block, _COMPLETED and the commands' events; pending rows, timers, close
 *     commit     one fsync for all runs of the turn
 *     dispatch   claimed attempts to their lanes; watchers are rung
 *
 * Crash points and what recovers each:
 *   - before the commit: nothing of the turn exists. Finished attempts: their rows still say
 *     STARTED by a dead epoch, so they are failed over; an activity is at least once by contract
 *     and has its idempotency key. Deadlines and client marks are still in the journal.
 *   - within the commit: SQLite's: all or nothing.
 *   - after the commit, before dispatch: rows say STARTED by a dead epoch: failed over at once.
 *   - after dispatch: the same; a callback that left something running finds it again through its
 *     heartbeat details.
 *   - after the commit, before the ring: watchers find out by their slow poll.
 *   - runs that concern each other have no crash point between them: a child and its parent's
 *     CHILD_STARTED, a child's end and what the parent reads of it, the end of a parent and what
 *     becomes of its children, a signal to another run and its answer are one commit each
 *     (family.c). A run that a client closed alone has left a mark for the first turn that comes.
 *
 * A commit that fails without a crash (disk full, I/O error): memory of every touched run is
 * dropped and read again, claims are undone, finished attempts and deadlines are kept for the next
 * turn, and no attempt hears of a cancel or time-out that is not in the journal.
 *
 * Tests: tests/unit/test_engine_run.c, tests/crash/test_crash_engine.c
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "history/failure.h"
#include "journal/task.h"
#include "worker/host.h"
#include "worker/schedule.h"
#include "worker/record.h"

/* --- collect and append ------------------------------------------------------------------------
 */

static void take_done(struct host *host, struct dur_activity *attempt)
{
    struct live *live;
    struct err err;
    if (attempt->fenced) {
        return;
    }
    int rc = live_get(host, attempt->execution, &live, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
    } else if (rc == 0 && attempt->is_local) {
        local_done(host, attempt, live);
    } else if (rc == 0) {
        settle_done(host, attempt, live);
    }
}

static void take_mark(struct host *host, const struct task_row *mark)
{
    struct err err;
    struct live *live = live_peek(host, mark->execution);
    if (mark->kind == TASK_TERMINATE) { /* closed by a client */
        live_fence(host, mark->execution);
        if (live) {
            live_drop(host, live);
        }
        family_gone(host, mark->execution);
        return;
    }
    int rc = 0;
    if (live && live->damaged) {
        task_put(host->txn, live->id, TASK_WAKE, host->now_ns);
        return;
    }
    if (live) { /* known: only what is new */
        live_touch(host, live);
        rc = live_read_foreign(host, live, &err);
    } else {
        rc = live_get(host, mark->execution, &live, &err);
    }
    if (rc < 0) {
        txn_fail(host->txn, &err);
    } else if (rc == 0 && mark->kind == TASK_START) {
        due_arm_run(host, live);
    } else if (rc == 0 && (mark->kind == TASK_REPORT || mark->kind == TASK_WAKE)) {
        report_settle(host, live);
    } else if (rc > 0) { /* closed: its parent could not be read then */
        family_gone(host, mark->execution);
    }
    if (rc == 0 && mark->kind == TASK_UPDATE) {
        updates_note(live);
    }
}

static size_t take_marks(struct host *host)
{
    struct task_list marks;
    if (host->first_look) { /* a new engine also looks at what the last one could not run */
        task_take(host->txn, host->arena, 0, &marks);
    } else {
        task_take_new(host->txn, host->arena, HOST_TURN_INPUTS, &marks);
        host->marks_left = marks.count == HOST_TURN_INPUTS;
    }
    for (size_t i = 0; i < marks.count; i++) {
        take_mark(host, &marks.rows[i]);
    }
    family_settle(host); /* not before all runs were brought up to what clients wrote to them */
    host->look = host->marks_left;
    return marks.count;
}

static size_t take_due(struct host *host)
{
    struct due due;
    size_t count = 0;
    while (count < HOST_TURN_INPUTS && (heap_pop_due(&host->wall, host->now_ns, &due) ||
                                        heap_pop_due(&host->mono, host->mono_ns, &due))) {
        mem_reserve(host->taken, &host->taken_cap, count + 1);
        host->taken[count++] = due;
        host->taken_count = count;
        due_take(host, &due);
    }
    return count;
}

/* --- advance -------------------------------------------------------------------------------------
 */

static void add_reason(struct host *host, struct ev_workflow_task_started *a, int32_t reason)
{
    struct enum_list *list = &a->suggest_continue_as_new_reasons;
    if (!list->items) {
        list->items = arena_array_of(host->arena, int32_t, 2);
    }
    list->items[list->count++] = reason;
    a->suggest_continue_as_new = true;
}

/* The history's size, now and then, and whether to continue as new: recorded, so that a replay
 * answers the same. */
static void note_size(struct host *host, struct live *live, struct ev_workflow_task_started *a)
{
    if (live->history_bytes >= host->suggest_bytes) {
        add_reason(host, a, SUGGEST_CONTINUE_AS_NEW_REASON_HISTORY_SIZE_TOO_LARGE);
    }
    if (live->next_event_id - 1 >= host->suggest_events) {
        add_reason(host, a, SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_HISTORY_EVENTS);
    }
    if (a->suggest_continue_as_new || live->history_bytes - live->bytes_told >= HOST_BYTES_STEP) {
        a->history_size_bytes = live->bytes_told = live->history_bytes;
    }
}

static void append_task_start(struct host *host, struct live *live)
{
    if (!live->task_open) {
        bool is_again = live->last_type == EVENT_WORKFLOW_TASK_FAILED;
        struct event *event = live_append(host, live, EVENT_WORKFLOW_TASK_SCHEDULED);
        record_task_scheduled(host->arena, event, live->task_queue, live->task_timeout_ns,
                              is_again ? 2 : 1);
    }
    int64_t scheduled = live->codec.task_scheduled;
    if (!live->task_open) {
        scheduled = live->next_event_id - 1;
    }
    struct ev_workflow_task_started *a =
        ev_workflow_task_started(live_append(host, live, EVENT_WORKFLOW_TASK_STARTED));
    a->scheduled_event_id = scheduled;
    a->identity = host->identity;
    note_size(host, live, a);
    live->task_open = false;
}

/* WORKFLOW_TASK_FAILED for the task whose start was appended last. */
static void append_task_failed(struct host *host, struct live *live, int cause, const char *message)
{
    live_record(host, live);
    struct ev_workflow_task_failed *a =
        ev_workflow_task_failed(live_append(host, live, EVENT_WORKFLOW_TASK_FAILED));
    a->scheduled_event_id = live->codec.task_scheduled;
    a->started_event_id = live->codec.task_started;
    a->cause = (enum workflow_task_failed_cause)cause;
    a->identity = host->identity;
    a->failure = failure_application(host->arena, "WorkflowTaskFailed", message, false, NULL);
    live_record(host, live);
}

/* A task that could not be completed leaves no trace: take its start back. */
static void take_back(struct live *live, const struct live *before)
{
    live->fresh_count = before->fresh_count;
    live->next_event_id = before->next_event_id;
    live->last_type = before->last_type;
    live->bytes_told = before->bytes_told;
    live->task_open = before->task_open;
}

/* The run waits as it was before this task until other code looks at it. */
static void park(struct host *host, struct live *live, const char *message, const char *report)
{
    host_log(host, HOST_LOG_WARN, "run %s parked: %s", live->workflow_id, message);
    execution_set_parked(host->txn, live->id, report ? report : message);
    task_put(host->txn, live->id, TASK_WAKE, host->now_ns);
    live->parked = live->parked_here = true;
    live->wake = false;
}

static void run_one_task(struct host *host, struct live *live)
{
    struct run_output out = {0};
    struct err err;
    struct live before = *live;
    bool is_again = !live->task_open && live->last_type == EVENT_WORKFLOW_TASK_FAILED;
    updates_offer(host, live);
    append_task_start(host, live);
    local_give(host, live);
    host->task_live = live;
    int rc = run_task(live->run, (const struct event *const *)live->fresh, live->fresh_count, &out,
                      &err);
    transact_end(host, rc == 0);
    live->wake = false;
    if (txn_failed(host->txn)) { /* by SQL within the task: all of the turn comes again */
        return;
    }
    if (rc < 0 && err.kind == ERR_TRANSIENT) { /* no stack for a fiber: not the run's fault */
        host->max_cached_runs = host->max_cached_runs > 32 ? host->max_cached_runs / 2 : 16;
        txn_fail(host->txn, &err);
        return;
    }
    if (rc == 0 && out.no_trace && before.fresh_count == 0 && !before.task_open) {
        run_undo_task(live->run);
        take_back(live, &before);
        updates_settle(host, live, &out);
    } else if (rc == 0) {
        struct chain next;
        live_record(host, live);
        live->fresh_count = live->fresh_written = 0;
        chain_plan_output(host, live, &out, &next);
        live_record_output(host, live, &out);
        updates_settle(host, live, &out);
        apply_output(host, live, &out);
        chain_follow(host, live, &next);
        if (!live->closed) {
            local_sync(host, live);
        }
    } else {
        const char *message = rc > 0 ? out.message : err.text;
        if (is_again) { /* Temporal writes the first failure only */
            take_back(live, &before);
        } else {
            append_task_failed(
                host, live,
                rc > 0 ? out.cause : WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
                message);
        }
        park(host, live, message, rc > 0 ? out.report : NULL);
        live_drop_run(host, live);
    }
}

/* Nobody here can run it: a later engine looks again. */
static void leave_to_others(struct host *host, struct live *live)
{
    if (live->mismatch && (live->task_open || live->last_type != EVENT_WORKFLOW_TASK_FAILED)) {
        append_task_start(host, live);
        append_task_failed(host, live, live->mismatch_cause, live->mismatch);
    }
    live->mismatch = NULL;
    task_put(host->txn, live->id, TASK_WAKE, host->now_ns);
    live->wake = false;
}

/* Its code may not run now, whatever has happened. */
static bool is_held(const struct live *live)
{
    return live->first_task_ns > 0 || live->paused;
}

/* Runs that keep signalling each other would make a turn without end: this one goes on in the next.
 */
static void put_off(struct host *host, struct live *live)
{
    task_put(host->txn, live->id, TASK_SIGNAL, host->now_ns);
    host->look = true;
}

static void advance(struct host *host, struct live *live)
{
    struct err err;
    while (live->wake && !is_held(live) && !live->closed && !txn_failed(host->txn)) {
        if (live->tasks++ >= HOST_TURN_TASKS) {
            put_off(host, live);
            return;
        }
        int rc = live_ensure_run(host, live, &err);
        if (rc == 0) {
            run_one_task(host, live);
        } else if (rc == 1) {
            leave_to_others(host, live);
        } else {
            txn_fail(host->txn, &err);
        }
        if (rc != 0 || !live->run) {
            return;
        }
    }
}

/* What one run does may concern others (a parent, a child, whom it signals): those are touched and
 * come up behind it, until nothing is left to do. */
static void advance_all(struct host *host)
{
    while (host->work_first) {
        struct live *live = host->work_first;
        host->work_first = live->next_work;
        host->work_last = host->work_first ? host->work_last : NULL;
        live->queued = false;
        advance(host, live);
        live_write(host, live);
        if (live->next_event_id != live->head_written) {
            if (live->head_written <= HOST_WARN_EVENTS && live->next_event_id > HOST_WARN_EVENTS) {
                host_log(host, HOST_LOG_WARN,
                         "run %s (%s): its history has %lld events, and every replay reads them: "
                         "the code should continue as new",
                         live->workflow_id, live->type, (long long)live->next_event_id - 1);
            }
            live->head_written = live->next_event_id;
        }
        family_settle(host); /* of its end, if it ended: may touch others */
    }
}

void turn_born(struct host *host)
{
    host->look = true;
}

/* --- after
 * ---------------------------------------------------------------------------------------- */

static void end_touched(struct host *host)
{
    while (host->touched) {
        struct live *live = host->touched;
        host->touched = live->next_touched;
        live->touched = false;
        live->tasks = 0;
        if (live->fresh_count > 0) { /* what it has not seen is in the journal alone from now on */
            live_drop_run(host, live);
        }
        live->next_touched = NULL;
        live->fresh_count = live->fresh_written = live->row_count = 0;
        if (live->closed) {
            host->has_closed = true;
            live_drop(host, live);
        }
    }
}

static void finish(struct host *host, struct dur_activity *done)
{
    while (host->flushed) {
        struct dur_activity *attempt = host->flushed;
        host->flushed = attempt->next_flushed;
        attempt->flush_listed = false;
        attempt_details_committed(attempt, attempt->flush_seq);
    }
    claim_tell_now(host);
    claim_dispatch(host);
    while (done) {
        struct dur_activity *next = done->next_done;
        host_give_arena(host, attempt_end(done));
        done = next;
    }
    end_touched(host);
    live_evict_excess(host);
    due_compact(host);
    if (host->has_closed) {
        schedule_after_close(host);
        purge_closed(host);
    }
    host->owes_ring = true;
    if (host->has_closed || host->mono_ns - host->rang_ns >= HOST_NEWS_NS) {
        host_ring(host);
    }
    host->has_closed = false;
}

static void put_back(struct host *host, struct dur_activity *done)
{
    while (host->flushed) {
        host->flushed->flush_listed = false;
        host->flushed = host->flushed->next_flushed;
    }
    claim_untell(host);
    claim_undo(host);
    for (struct dur_activity *attempt = host->running; attempt; attempt = attempt->next_running) {
        inbox_put_beat(host->inbox, attempt); /* its details may have been in this turn */
    }
    for (struct dur_activity *attempt = done; attempt; attempt = attempt->next_done) {
        claim_take_out(host, attempt); /* not home yet: its slot stays taken */
    }
    host->again = done;
    for (size_t i = 0; i < host->taken_count; i++) {
        enum due_kind kind = host->taken[i].kind;
        bool is_mono = kind == DUE_ATTEMPT_TIMEOUT || kind == DUE_HEARTBEAT || kind == DUE_FLUSH;
        heap_push(is_mono ? &host->mono : &host->wall, &host->taken[i]);
    }
    while (host->touched) { /* whatever it waits for finds it in memory only */
        heap_push(&host->wall,
                  &(struct due){.kind = DUE_LOOK_AGAIN, .execution = host->touched->id});
        live_drop(host, host->touched);
    }
    live_evict_excess(host);
}

/* Finished attempts: those of a failed turn first, then what the inbox holds. */
static struct dur_activity *collect(struct host *host, struct dur_activity **ret_beats)
{
    struct dur_activity *fresh;
    inbox_take(host->inbox, &fresh, ret_beats);
    struct dur_activity *done = host->again;
    struct dur_activity **link = &done;
    while (*link) {
        link = &(*link)->next_done;
    }
    *link = fresh;
    host->again = NULL;
    return host->pace ? pace_sort(done) : done;
}

/* The turn's time. True: the clock was set, or the machine slept. */
static bool read_clock(struct host *host, struct clock_reading *ret)
{
    *ret = clock_read_of(host->clock);
    host->now_ns = ret->wall_ns;
    host->mono_ns = ret->mono_ns;
    return jump_notice(host, ret);
}

int turn_take(struct host *host, struct err *err)
{
    struct dur_activity *beats;
    struct dur_activity *done = collect(host, &beats);
    struct clock_reading now;
    bool jumped = read_clock(host, &now);
    bool due =
        heap_next_ns(&host->wall) <= host->now_ns || heap_next_ns(&host->mono) <= host->mono_ns;
    if (!done && !beats && !due && !host->look && !jumped) {
        return 0;
    }
    host->marks_left = false;
    host->taken_count = 0;
    host->looked_ns = clock_mono_ns();
    host->has_looked |= host->look;
    arena_reset(host->arena);
    host->gone = host->gone_last = NULL;
    host->txn = registry_has_transactions(host->registry) ? txn_begin_alone(host->store)
                                                          : txn_begin(host->store);
    /* after the wait for other writers: their events came before */
    jumped = read_clock(host, &now);
    jump_settle(host, &now);
    host->look_schedules |= host->look;
    size_t inputs = take_marks(host) + (jumped ? 1 : 0);
    struct dur_activity *beat;
    while ((beat = inbox_next_beat(host->inbox, &beats)) != NULL) {
        due_beat(host, beat);
    }
    for (struct dur_activity *attempt = done; attempt; attempt = attempt->next_done) {
        take_done(host, attempt); /* before: a run that is loaded for it must find it running */
        claim_give_back(host, attempt);
        inputs++;
    }
    inputs += take_due(host);
    inputs += schedule_take(host);
    claim_fill(host);
    do {
        advance_all(host);
    } while (admit_fill(host));
    if (inputs == 0 && !host->flushed && !host->dispatch_first && !txn_failed(host->txn)) {
        txn_rollback(host->txn);
        host->txn = NULL;
        claim_untell(host);
        end_touched(host);
        return 0;
    }
    int64_t since_ns = clock_mono_ns();
    int rc = txn_commit(host->txn, err);
    host->commit_ns += (clock_mono_ns() - since_ns - host->commit_ns) / HOST_COMMIT_SHARE;
    host->txn = NULL;
    if (rc < 0) {
        put_back(host, done);
        return -1;
    }
    host->first_look = false;
    jump_settled(host, &now);
    finish(host, done);
    return 1;
}
