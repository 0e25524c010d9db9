/*
 * due.c - deadlines that fell due (host.h).
 *
 * Owns: arming and answering them. An entry only names what it was armed for; here its object is
 * looked up and the entry dropped when the object has moved on (closed, other attempt, later
 * deadline). Two heaps: persisted times on the wall clock, time-outs of attempts in this process on
 * the monotonic one, so that a stepped wall clock kills no attempt.
 * Tests: tests/unit/test_worker_due.c, tests/unit/test_engine_activity.c
 */
#include <stdlib.h>

#include "base/clock.h"
#include "history/failure.h"
#include "journal/timer.h"
#include "worker/host.h"

#define WALL_MARK 4096 /* entries that are never worth a look */

static void arm(struct heap *heap, const struct pending *p, enum due_kind kind, int64_t at_ns)
{
    heap_push(heap, &(struct due){.at_ns = at_ns,
                                  .kind = kind,
                                  .execution = p->live->id,
                                  .event = p->scheduled_id,
                                  .stamp = p->attempt});
}

void due_arm_waiting(struct host *host, const struct pending *p)
{
    if (p->schedule_to_start_ns > 0) {
        arm(&host->wall, p, DUE_START_TIMEOUT, p->queued_ns + p->schedule_to_start_ns);
    }
}

void due_arm_pending(struct host *host, const struct pending *p)
{
    if (p->schedule_to_close_ns > 0) {
        arm(&host->wall, p, DUE_CLOSE_TIMEOUT, p->scheduled_ns + p->schedule_to_close_ns);
    }
    if (p->state == ACTIVITY_SCHEDULED) {
        due_arm_waiting(host, p);
    }
}

void due_arm_attempt(struct host *host, const struct pending *p)
{
    if (p->start_to_close_ns > 0) {
        p->running->deadline_ns = host->mono_ns + p->start_to_close_ns;
        arm(&host->mono, p, DUE_ATTEMPT_TIMEOUT, p->running->deadline_ns);
    }
    if (p->heartbeat_ns > 0) {
        arm(&host->mono, p, DUE_HEARTBEAT, host->mono_ns + p->heartbeat_ns);
    }
}

int64_t due_async_ns(const struct pending *p)
{
    int64_t due = INT64_MAX;
    int64_t times[] = {
        p->schedule_to_close_ns > 0 ? p->scheduled_ns + p->schedule_to_close_ns : INT64_MAX,
        p->start_to_close_ns > 0 ? p->started_ns + p->start_to_close_ns : INT64_MAX,
        p->heartbeat_ns > 0 ? p->beat_ns + p->heartbeat_ns : INT64_MAX,
    };
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        due = times[i] < due ? times[i] : due;
    }
    return due == INT64_MAX ? 0 : due;
}

/* The same kind as schedule-to-close, because recovery arms it from the row's deadline without
 * knowing which of the three it is. */
void due_arm_async(struct host *host, const struct pending *p)
{
    int64_t due = due_async_ns(p);
    if (due > 0) {
        arm(&host->wall, p, DUE_CLOSE_TIMEOUT, due);
    }
}

static void async_due(struct host *host, struct pending *p)
{
    if (p->start_to_close_ns > 0 && p->started_ns + p->start_to_close_ns <= host->now_ns) {
        settle_timeout(host, p, TIMEOUT_TYPE_START_TO_CLOSE);
    } else if (p->heartbeat_ns > 0 && p->beat_ns + p->heartbeat_ns <= host->now_ns) {
        settle_timeout(host, p, TIMEOUT_TYPE_HEARTBEAT);
    } else {
        due_arm_async(host, p);
    }
}

static void fire_timer(struct host *host, struct live *live, int64_t started_id)
{
    for (struct open_timer **link = &live->timers; *link; link = &(*link)->next) {
        struct open_timer *timer = *link;
        if (timer->started_id != started_id) {
            continue;
        }
        if (timer->due_ns > host->now_ns) {
            return; /* an entry of a turn that failed; its own is still to come */
        }
        struct ev_timer_fired *a = ev_timer_fired(live_append(host, live, EVENT_TIMER_FIRED));
        a->timer_id = arena_strdup(host->arena, timer->timer_id);
        a->started_event_id = started_id;
        timer_remove(host->txn, live->id, started_id);
        live->wake = true;
        *link = timer->next;
        free(timer->timer_id);
        free(timer);
        return;
    }
}

static void heartbeat_due(struct host *host, struct pending *p)
{
    if (!p->running) {
        return;
    }
    int64_t next = atomic_load(&p->running->beat_ns) + p->heartbeat_ns;
    if (next > host->mono_ns) {
        arm(&host->mono, p, DUE_HEARTBEAT, next);
    } else {
        settle_timeout(host, p, TIMEOUT_TYPE_HEARTBEAT);
    }
}

static void flush_due(struct host *host, struct pending *p)
{
    if (p->running) {
        atomic_store(&p->running->flush_armed, false);
        settle_details(host, p);
    }
}

static void retry_due(struct host *host, struct pending *p)
{
    if (p->state == ACTIVITY_STARTED && p->epoch != host->epoch && !p->is_async) {
        settle_lost(host, p);
    } else if (p->state == ACTIVITY_BACKOFF && p->queued_ns <= host->now_ns) {
        p->state = ACTIVITY_SCHEDULED;
        claim_enqueue(host, p);
        due_arm_waiting(host, p);
    }
}

/* What a run may be born with when a reset made it. */
static void arm_inherited(struct host *host, const struct live *live)
{
    for (const struct open_timer *timer = live->timers; timer; timer = timer->next) {
        heap_push(&host->wall, &(struct due){.at_ns = timer->due_ns,
                                             .kind = DUE_TIMER,
                                             .execution = live->id,
                                             .event = timer->started_id});
    }
    for (const struct pending *p = live->pending; p; p = p->next) {
        due_arm_pending(host, p);
    }
}

void due_arm_run(struct host *host, const struct live *live)
{
    arm_inherited(host, live);
    if (live->run_deadline_ns > 0) {
        heap_push(&host->wall, &(struct due){.at_ns = live->run_deadline_ns,
                                             .kind = DUE_RUN_TIMEOUT,
                                             .execution = live->id});
    }
    if (live->first_task_ns > 0) {
        heap_push(&host->wall, &(struct due){.at_ns = live->first_task_ns,
                                             .kind = DUE_FIRST_TASK,
                                             .execution = live->id});
    }
}

static void time_out_run(struct host *host, struct live *live)
{
    struct chain next;
    autostr struct str text = {0};
    if (live->run_deadline_ns == 0 || live->run_deadline_ns > host->now_ns) {
        return;
    }
    struct failure *failure = failure_timeout(host->arena, TIMEOUT_TYPE_START_TO_CLOSE,
                                              "workflow run timeout", NULL, NULL);
    enum retry_state state = chain_plan_timeout(host, live, failure, &next);
    struct ev_workflow_execution_timed_out *a = ev_workflow_execution_timed_out(
        live_append(host, live, EVENT_WORKFLOW_EXECUTION_TIMED_OUT));
    a->retry_state = state;
    a->new_execution_run_id = live->next_run_id;
    store_failure_encode(failure, &text);
    apply_close(host, live, EXECUTION_TIMED_OUT, NULL, str_c(&text));
    chain_follow(host, live, &next);
}

/* A delayed run begins: its first task is owed. */
static void begin_run(struct host *host, struct live *live)
{
    if (live->first_task_ns > 0 && live->first_task_ns <= host->now_ns) {
        live->first_task_ns = 0;
        execution_set_begun(host->txn, live->id);
        live->wake = true;
    } else if (live->first_task_ns > 0) { /* the clock was set meanwhile */
        heap_push(&host->wall, &(struct due){.at_ns = live->first_task_ns,
                                             .kind = DUE_FIRST_TASK,
                                             .execution = live->id});
    }
}

static void pending_due(struct host *host, struct pending *p, const struct due *due)
{
    switch (due->kind) {
    case DUE_RETRY:
        retry_due(host, p);
        break;
    case DUE_START_TIMEOUT:
        if (p->state == ACTIVITY_SCHEDULED &&
            p->queued_ns + p->schedule_to_start_ns <= host->now_ns) {
            settle_timeout(host, p, TIMEOUT_TYPE_SCHEDULE_TO_START);
        }
        break;
    case DUE_CLOSE_TIMEOUT:
        if (p->schedule_to_close_ns > 0 &&
            p->scheduled_ns + p->schedule_to_close_ns <= host->now_ns) {
            settle_timeout(host, p, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE);
        } else if (p->is_async) {
            async_due(host, p);
        }
        break;
    case DUE_ATTEMPT_TIMEOUT:
        if (p->running && p->running->deadline_ns <= host->mono_ns) {
            settle_timeout(host, p, TIMEOUT_TYPE_START_TO_CLOSE);
        }
        break;
    case DUE_HEARTBEAT:
        heartbeat_due(host, p);
        break;
    case DUE_FLUSH:
        flush_due(host, p);
        break;
    case DUE_TIMER:
    case DUE_RUN_TIMEOUT:
    case DUE_QUEUE:
    case DUE_FIRST_TASK:
    case DUE_SCHEDULE:
    case DUE_PURGE:
    case DUE_LOOK_AGAIN:
        break;
    }
}

void due_take(struct host *host, const struct due *due)
{
    struct live *live;
    struct err err;
    if (due->kind == DUE_QUEUE) {
        admit_stir_all(host);
        return;
    }
    if (due->kind == DUE_PURGE) {
        purge_due(host);
        return;
    }
    if (due->kind == DUE_SCHEDULE) {
        host->look_schedules = true;
        return;
    }
    int rc = live_get(host, due->execution, &live, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
    }
    if (rc != 0) {
        return;
    }
    if (due->kind == DUE_TIMER) {
        fire_timer(host, live, due->event);
    } else if (due->kind == DUE_RUN_TIMEOUT) {
        time_out_run(host, live);
    } else if (due->kind == DUE_FIRST_TASK) {
        begin_run(host, live);
    } else if (due->event < 0) {
        local_due(host, live, due);
    } else if (due->kind != DUE_LOOK_AGAIN) { /* that one is answered by the loading */
        struct pending *p = live_pending(live, due->event);
        if (p && (p->attempt == due->stamp || due->kind == DUE_CLOSE_TIMEOUT)) {
            pending_due(host, p, due);
        }
    }
}

void due_beat(struct host *host, struct dur_activity *attempt)
{
    struct due due = {.kind = DUE_FLUSH,
                      .execution = attempt->execution,
                      .event = attempt->scheduled_event_id,
                      .stamp = attempt->attempt,
                      .at_ns = attempt_flush_after_ns(attempt)};
    if (attempt->fenced) {
        return;
    }
    if (due.at_ns <= host->mono_ns) {
        due_take(host, &due);
    } else {
        atomic_store(&attempt->flush_armed, true);
        heap_push(&host->mono, &due);
    }
}

/* Entries of attempts that came home stay until they are due, which may be hours: when they are the
 * most by far, the heap is built anew from the attempts that are out. */
static void compact_mono(struct host *host)
{
    if (host->mono.count < 64 + 8 * host->running_count) {
        return;
    }
    host->mono.count = 0;
    for (struct dur_activity *attempt = host->running; attempt; attempt = attempt->next_running) {
        struct due due = {.execution = attempt->execution,
                          .event = attempt->scheduled_event_id,
                          .stamp = attempt->attempt};
        if (attempt->deadline_ns > 0) {
            due.kind = DUE_ATTEMPT_TIMEOUT;
            due.at_ns = attempt->deadline_ns;
            heap_push(&host->mono, &due);
        }
        if (attempt->heartbeat_ns > 0) {
            due.kind = DUE_HEARTBEAT;
            due.at_ns = atomic_load(&attempt->beat_ns) + attempt->heartbeat_ns;
            heap_push(&host->mono, &due);
        }
        if (atomic_load(&attempt->flush_armed)) {
            due.kind = DUE_FLUSH;
            due.at_ns = attempt_flush_after_ns(attempt);
            heap_push(&host->mono, &due);
        }
    }
}

static bool has_timer(const struct live *live, int64_t started_id)
{
    const struct open_timer *timer = live->timers;
    while (timer && timer->started_id != started_id) {
        timer = timer->next;
    }
    return timer != NULL;
}

/* Does anything wait for this entry still? */
static bool is_awaited(struct host *host, const struct due *due)
{
    struct live *live = live_peek(host, due->execution);
    if (due->kind == DUE_SCHEDULE) {
        return due->at_ns == host->schedules_ns;
    }
    if (!live) { /* evicted, or closed */
        struct execution_row row;
        arena_reset(host->arena);
        return execution_get(store_db(host->store), host->arena, due->execution, &row, NULL) != 0 ||
               row.status == EXECUTION_RUNNING;
    }
    const struct pending *p = live_pending(live, due->event);
    if (due->event < 0) { /* of a local activity */
        return true;
    }
    switch (due->kind) {
    case DUE_TIMER:
        return has_timer(live, due->event);
    case DUE_START_TIMEOUT:
        return p && p->attempt == due->stamp && p->state == ACTIVITY_SCHEDULED;
    case DUE_RETRY:
        return p && p->attempt == due->stamp;
    case DUE_CLOSE_TIMEOUT:
        return p != NULL;
    case DUE_ATTEMPT_TIMEOUT:
    case DUE_HEARTBEAT:
    case DUE_FLUSH:
        return p && p->running && p->attempt == due->stamp;
    default:
        return true;
    }
}

/* The same for timers that were cancelled, activities and runs that closed: looked at when the heap
 * has doubled since the last time, so that each entry costs a constant. */
static void compact_wall(struct host *host)
{
    size_t count = host->wall.count;
    size_t mark = host->wall_mark > WALL_MARK ? host->wall_mark : WALL_MARK;
    if (count < mark) {
        return;
    }
    struct due *items = host->wall.items;
    host->wall = (struct heap){0};
    for (size_t i = 0; i < count; i++) {
        if (is_awaited(host, &items[i])) {
            heap_push(&host->wall, &items[i]);
        }
    }
    free(items);
    host->wall_mark = 2 * host->wall.count;
}

static int64_t next_awaited_ns(struct host *host, struct heap *heap)
{
    struct due stale;
    while (heap->count > 0 && !is_awaited(host, &heap->items[0])) {
        heap_pop_due(heap, INT64_MAX, &stale);
    }
    return heap_next_ns(heap);
}

int64_t due_next_in_ns(struct host *host)
{
    int64_t wall = next_awaited_ns(host, &host->wall);
    int64_t mono = next_awaited_ns(host, &host->mono);
    wall -= wall == INT64_MAX ? 0 : host_wall_ns(host);
    mono -= mono == INT64_MAX ? 0 : host_mono_ns(host);
    return wall < mono ? wall : mono;
}

void due_compact(struct host *host)
{
    compact_mono(host);
    compact_wall(host);
}
