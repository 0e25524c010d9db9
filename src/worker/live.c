/*
 * live.c - open runs in memory (host.h: struct live).
 *
 * Owns: the cache (hash by execution id, least recently used list), loading by reading and
 * replaying the history, appending events to it, and giving memory back. Must not: decide what an
 * event means. Invariant: after a turn, a live's next_event_id and codec are exactly those of the
 * journal.
 * Tests: tests/unit/test_engine_evict.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "journal/task.h"
#include "journal/timer.h"
#include "worker/birth.h"
#include "worker/host.h"
#include "worker/record.h"

static size_t bucket_of(int64_t execution)
{
    return (size_t)((uint64_t)execution * 0x9e3779b97f4a7c15ULL >> 52) % HOST_LIVE_BUCKETS;
}

struct live *live_peek(struct host *host, int64_t execution)
{
    struct live *live = host->buckets[bucket_of(execution)];
    while (live && live->id != execution) {
        live = live->hash_next;
    }
    return live;
}

static void lru_unlink(struct host *host, struct live *live)
{
    *(live->newer ? &live->newer->older : &host->newest) = live->older;
    *(live->older ? &live->older->newer : &host->oldest) = live->newer;
    live->newer = live->older = NULL;
}

static void lru_push(struct host *host, struct live *live)
{
    live->older = host->newest;
    live->newer = NULL;
    *(host->newest ? &host->newest->newer : &host->oldest) = live;
    host->newest = live;
}

void live_touch(struct host *host, struct live *live)
{
    if (host->newest != live) {
        lru_unlink(host, live);
        lru_push(host, live);
    }
    live->touched_ns = host->mono_ns;
    live->trimmed = false;
    if (!live->touched) {
        live->touched = true;
        live->next_touched = host->touched;
        host->touched = live;
    }
    if (!live->queued) {
        live->queued = true;
        live->next_work = NULL;
        *(host->work_last ? &host->work_last->next_work : &host->work_first) = live;
        host->work_last = live;
    }
}

static void leave_work(struct host *host, struct live *live)
{
    struct live *before = NULL;
    if (!live->queued) {
        return;
    }
    for (struct live *at = host->work_first; at != live; at = at->next_work) {
        before = at;
    }
    *(before ? &before->next_work : &host->work_first) = live->next_work;
    if (host->work_last == live) {
        host->work_last = before;
    }
    live->queued = false;
}

static struct live *live_new(struct host *host, const struct execution_row *row)
{
    struct arena *arena = arena_new();
    struct live *live = arena_new_of(arena, struct live);
    live->arena = arena;
    live->id = row->id;
    live->workflow_id = arena_strdup(arena, row->workflow_id);
    live->run_id = arena_strdup(arena, row->run_id);
    live->root_workflow_id = live->workflow_id;
    live->root_run_id = live->run_id;
    live->type = arena_strdup(arena, row->type);
    live->task_queue = arena_strdup(arena, row->task_queue);
    live->memo = mem_strdup(row->memo);
    live->next_event_id = 1;
    live->head_written = row->next_event_id;
    live->run_deadline_ns = row->run_deadline_ns;
    live->expires_ns = row->expires_ns;
    live->task_timeout_ns = birth_row_task_timeout_ns(row);
    live->started_ns = row->started_ns;
    live->search_attributes = mem_strdup(row->search_attributes);
    live->first_task_ns = row->first_task_ns;
    live->first_task_by_wall = row->first_task_by_wall;
    live->paused = row->paused != NULL;
    live->parked = row->parked != NULL;
    store_context_init(&live->codec, host_sealer(host), live->task_queue, NULL, live->workflow_id,
                       live->run_id);
    live->hash_next = host->buckets[bucket_of(live->id)];
    host->buckets[bucket_of(live->id)] = live;
    lru_push(host, live);
    host->live_count++;
    return live;
}

static void unhash(struct host *host, struct live *live)
{
    struct live **link = &host->buckets[bucket_of(live->id)];
    while (*link != live) {
        link = &(*link)->hash_next;
    }
    *link = live->hash_next;
    lru_unlink(host, live);
    host->live_count--;
}

void live_drop_run(struct host *host, struct live *live)
{
    if (live->run) {
        live->run = run_free(live->run);
        host->run_count--;
    }
}

void live_drop(struct host *host, struct live *live)
{
    for (struct live **link = &host->touched; *link; link = &(*link)->next_touched) {
        if (*link == live) {
            *link = live->next_touched;
            break;
        }
    }
    leave_work(host, live);
    live_drop_run(host, live);
    local_drop_all(host, live);
    while (live->pending) {
        live->pending->running = NULL; /* goes on; whoever loads the run again finds it */
        pending_remove(host, live->pending);
    }
    for (struct open_timer *timer = live->timers, *next; timer; timer = next) {
        next = timer->next;
        free(timer->timer_id);
        free(timer);
    }
    unhash(host, live);
    free(live->fresh);
    free(live->rows);
    free(live->memo);
    free(live->search_attributes);
    arena_free(live->arena);
}

void live_fence(struct host *host, int64_t execution)
{
    struct live *live = live_peek(host, execution);
    for (struct pending *p = live ? live->pending : NULL; p; p = p->next) {
        p->running = NULL;
    }
    for (struct dur_activity *attempt = host->running; attempt; attempt = attempt->next_running) {
        if (attempt->execution == execution) {
            claim_tell(host, attempt, "closed", true);
        }
    }
}

void live_log_line(void *host, const char *line)
{
    host_log(host, HOST_LOG_INFO, "%s", line);
}

/* --- events ---------------------------------------------------------------------------------- */

static void keep_fresh(struct live *live, struct event *event)
{
    mem_reserve(live->fresh, &live->fresh_cap, live->fresh_count + 1);
    live->fresh[live->fresh_count++] = event;
}

struct event *live_append(struct host *host, struct live *live, enum event_type type)
{
    struct event *event = event_new(host->arena, type);
    event->id = live->next_event_id++;
    event->time_ns = host->now_ns;
    live->last_type = type;
    keep_fresh(live, event);
    return event;
}

/* The row of an event; its text lives in the turn's arena. */
static void record(struct host *host, struct live *live, const struct event *event, int64_t time_ns)
{
    mem_reserve(live->rows, &live->row_cap, live->row_count + 1);
    live->history_bytes +=
        record_event(&live->codec, host->arena, event, time_ns, &live->rows[live->row_count++]);
}

void live_record(struct host *host, struct live *live)
{
    while (live->fresh_written < live->fresh_count) {
        const struct event *event = live->fresh[live->fresh_written++];
        record(host, live, event, event->time_ns);
    }
}

void live_record_output(struct host *host, struct live *live, const struct run_output *out)
{
    for (size_t i = 0; i < out->count; i++) {
        record(host, live, out->events[i], host->now_ns);
    }
    if (out->count > 0) {
        live->next_event_id = out->events[out->count - 1]->id + 1;
        live->last_type = out->events[out->count - 1]->type;
    }
}

void live_write(struct host *host, struct live *live)
{
    live_record(host, live);
    event_append(host->txn, live->id, live->rows, live->row_count, live->history_bytes);
    live->row_count = 0;
}

/* What an event from outside means for the run's readiness. */
static void note_event(struct live *live, const struct event *event)
{
    switch (event->type) {
    case EVENT_WORKFLOW_EXECUTION_STARTED: {
        const struct ev_workflow_execution_started *a = ev_workflow_execution_started(event);
        live->is_chained = a->retry_policy || (a->cron_schedule && *a->cron_schedule);
        break;
    }
    case EVENT_WORKFLOW_TASK_SCHEDULED:
        live->task_open = live->wake = true;
        break;
    case EVENT_WORKFLOW_TASK_STARTED: {
        int64_t bytes = ev_workflow_task_started(event)->history_size_bytes;
        live->bytes_told = bytes > live->bytes_told ? bytes : live->bytes_told;
        live->task_open = false;
        break;
    }
    case EVENT_WORKFLOW_TASK_COMPLETED:
    case EVENT_WORKFLOW_TASK_TIMED_OUT:
        live->wake = false;
        break;
    case EVENT_WORKFLOW_EXECUTION_PAUSED:
    case EVENT_WORKFLOW_EXECUTION_UNPAUSED:
        live->paused = event->type == EVENT_WORKFLOW_EXECUTION_PAUSED;
        break;
    case EVENT_WORKFLOW_TASK_FAILED: /* the task is still owed */
        live->wake = true;
        break;
    default:
        if (event_is_buffered(event->type) && event->type != EVENT_ACTIVITY_TASK_STARTED) {
            live->wake = true;
        }
        break;
    }
}

/* Rows from next_event_id on, decoded into arena; *ret_events points at them. */
static int read_events(struct host *host, struct live *live, struct db *db, struct arena *arena,
                       struct event **ret_events, size_t *ret_count, struct err *err)
{
    struct event_list rows;
    if (event_read(db, arena, live->id, live->next_event_id, 0, &rows, err) < 0) {
        return -1;
    }
    struct event *events = arena_array_of(arena, struct event, rows.count ? rows.count : 1);
    for (size_t i = 0; i < rows.count; i++) {
        const struct event_row *row = &rows.rows[i];
        if (store_decode(&live->codec, arena, row->event_id, row->type, row->time_ns,
                         row->attributes, row->attributes_len, &events[i], err) < 0) {
            return err_wrap(err, "run %s", live->workflow_id);
        }
        live->history_bytes += (int64_t)row->attributes_len + EVENT_ROW_BYTES;
        live->next_event_id = row->event_id + 1;
        live->last_type = (enum event_type)row->type;
    }
    (void)host;
    *ret_events = events;
    *ret_count = rows.count;
    return 0;
}

int live_read_foreign(struct host *host, struct live *live, struct err *err)
{
    struct event *events;
    size_t count;
    if (read_events(host, live, txn_db(host->txn), host->arena, &events, &count, err) < 0) {
        return -1;
    }
    bool was_paused = live->paused;
    for (size_t i = 0; i < count; i++) {
        keep_fresh(live, &events[i]);
        note_event(live, &events[i]);
    }
    live->fresh_written = live->fresh_count;
    if (live->paused != was_paused) {
        claim_pause(host, live);
    }
    return 0;
}

/* --- loading --------------------------------------------------------------------------------- */

/* The attempt of the row that runs here. An older one of the same activity (a commit said to have
 * failed came back after all) has no business any more. */
static struct dur_activity *find_running(struct host *host, const struct activity_row *row)
{
    struct dur_activity *found = NULL;
    for (struct dur_activity *attempt = host->running; attempt; attempt = attempt->next_running) {
        if (attempt->execution != row->execution || attempt->fenced ||
            attempt->scheduled_event_id != row->scheduled_event_id) {
            continue;
        }
        if (row->state == ACTIVITY_STARTED && attempt->attempt == row->attempt) {
            found = attempt;
        } else {
            claim_tell(host, attempt, "timed out", true);
        }
    }
    return found;
}

/* The pending activities of the journal, joined with their scheduled events. */
static int load_pending(struct host *host, struct live *live, struct db *db, struct arena *arena,
                        const struct event *events, size_t count, struct err *err)
{
    struct activity_list rows;
    if (activity_list(db, arena, live->id, &rows, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct activity_row *row = &rows.rows[i];
        if (row->scheduled_event_id < 1 || (size_t)row->scheduled_event_id > count ||
            events[row->scheduled_event_id - 1].type != EVENT_ACTIVITY_TASK_SCHEDULED) {
            return err_set(err, ERR_PERMANENT, "StoreCorrupt",
                           "run %s: pending activity %lld has no scheduled event",
                           live->workflow_id, (long long)row->scheduled_event_id);
        }
        struct pending *p = pending_new(live, &events[row->scheduled_event_id - 1], host);
        p->attempt = row->attempt;
        p->state = row->state;
        p->scheduled_ns = row->scheduled_ns;
        p->queued_ns = row->next_attempt_ns ? row->next_attempt_ns : row->scheduled_ns;
        p->started_ns = row->started_ns;
        p->cancel_event_id = row->cancel_event_id;
        p->epoch = row->epoch;
        p->is_async = row->is_async;
        p->beat_ns = row->heartbeat_ns ? row->heartbeat_ns : row->started_ns;
        p->last_failure = mem_strdup(row->last_failure);
        p->details = mem_strdup(row->heartbeat_details);
        p->running = find_running(host, row);
        if (p->is_async) {
            due_arm_async(host, p);
        } else if (p->state == ACTIVITY_STARTED && p->epoch == host->epoch && !p->running) {
            /* Claimed by a turn whose commit came back after all: it was never dispatched. */
            p->state = ACTIVITY_SCHEDULED;
        }
        if (p->state == ACTIVITY_SCHEDULED && !p->running) {
            claim_enqueue(host, p);
            due_arm_waiting(host, p);
        }
        if (p->state == ACTIVITY_BACKOFF) {
            /* Its deadline may have been taken by a turn that only put it in line: the row still
             * says BACKOFF, and a line is forgotten with its run. Twice armed is harmless. */
            heap_push(&host->wall, &(struct due){.at_ns = p->queued_ns,
                                                 .kind = DUE_RETRY,
                                                 .execution = live->id,
                                                 .event = p->scheduled_id,
                                                 .stamp = p->attempt});
        }
    }
    return 0;
}

static int load_timers(struct live *live, struct db *db, struct arena *arena, struct err *err)
{
    struct timer_list rows;
    if (timer_list(db, arena, live->id, &rows, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < rows.count; i++) {
        struct open_timer *timer = mem_alloc(sizeof(*timer));
        timer->started_id = rows.rows[i].started_event_id;
        timer->timer_id = mem_strdup(rows.rows[i].timer_id);
        timer->due_ns = rows.rows[i].due_ns;
        timer->next = live->timers;
        live->timers = timer;
    }
    return 0;
}

static void complain(struct host *host, struct live *live, const char *what, const char *text)
{
    host_log(host, 1, "run %s (%s): %s: %s", live->workflow_id, live->type, what, text);
}

/* Replays all events; those that the run has not processed become fresh (and count as written). */
static int replay(struct host *host, struct live *live, struct event *events, size_t count,
                  struct err *err)
{
    const struct registered *workflow = registry_workflow(host->registry, live->type);
    if (!workflow) {
        complain(host, live, "waits", "no workflow of this type is registered here");
        return 1;
    }
    struct run_spec spec = {.fn = workflow->workflow,
                            .user = workflow->user,
                            .workflow_id = live->workflow_id,
                            .run_id = live->run_id,
                            .type = live->type,
                            .task_queue = live->task_queue,
                            .identity = host->identity,
                            .pool = host->fibers,
                            .on_log = live_log_line,
                            .on_log_user = host,
                            .on_transaction = transact_call,
                            .on_transaction_user = host};
    live->run = run_new(&spec);
    host->run_count++;
    const struct event **list = arena_array_of(host->arena, const struct event *, count + 1);
    for (size_t i = 0; i < count; i++) {
        list[i] = &events[i];
    }
    struct run_output out = {0};
    int rc = run_replay(live->run, list, count, &out, err);
    if (rc < 0 && err->kind == ERR_TRANSIENT) { /* no stack for a fiber: the turn fails */
        live_drop_run(host, live);
        return -1;
    }
    if (rc != 0) {
        const char *report = rc > 0 ? out.report : err->text;
        complain(host, live, "parked", rc > 0 ? out.message : report);
        execution_set_parked(host->txn, live->id, report);
        live->parked = live->parked_here = true;
        live->mismatch = rc > 0 ? arena_strdup(live->arena, out.message) : NULL;
        live->mismatch_cause = out.cause;
        live_drop_run(host, live);
        return 1;
    }
    if (live->parked) { /* this code fits; should the task that is owed fail, it says so anew */
        execution_set_parked(host->txn, live->id, NULL);
        live->parked = false;
        host_log(host, HOST_LOG_INFO, "run %s goes on", live->workflow_id);
    }
    return 0;
}

/* Events behind the last recorded task: the run sees them with its next task. */
static void keep_unprocessed(struct live *live, struct event *events, size_t count)
{
    for (size_t i = (size_t)run_processed(live->run); i < count; i++) {
        keep_fresh(live, &events[i]);
    }
    live->fresh_written = live->fresh_count;
}

int live_ensure_run(struct host *host, struct live *live, struct err *err)
{
    if (live->run) {
        return 0;
    }
    if (live->parked_here) {
        return 1;
    }
    /* A private codec and head: the live's own stand at the end of the journal already. */
    struct live shadow = *live;
    store_context_init(&shadow.codec, host_sealer(host), live->task_queue, NULL, live->workflow_id,
                       live->run_id);
    shadow.next_event_id = 1;
    struct event *events;
    size_t count;
    live_write(host, live);
    if (read_events(host, &shadow, txn_db(host->txn), host->arena, &events, &count, err) < 0) {
        return -1;
    }
    int rc = replay(host, live, events, count, err);
    if (rc == 0) {
        live->fresh_count = 0;
        keep_unprocessed(live, events, count);
        local_sync(host, live);
    }
    return rc;
}

/* A child's family has its root elsewhere. */
static void note_root(struct live *live, const struct event *first)
{
    const struct workflow_execution *root =
        first->type == EVENT_WORKFLOW_EXECUTION_STARTED
            ? ev_workflow_execution_started(first)->root_workflow_execution
            : NULL;
    if (root && root->workflow_id && root->run_id) {
        live->root_workflow_id = arena_strdup(live->arena, root->workflow_id);
        live->root_run_id = arena_strdup(live->arena, root->run_id);
    }
}

static int load_into(struct host *host, struct live *live, struct err *err)
{
    struct db *db = txn_db(host->txn);
    struct event *events;
    size_t count;
    if (read_events(host, live, db, host->arena, &events, &count, err) < 0 ||
        load_pending(host, live, db, host->arena, events, count, err) < 0 ||
        load_timers(live, db, host->arena, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        note_event(live, &events[i]);
    }
    if (live->codec.task_scheduled == 0 && live->first_task_ns == 0) {
        live->wake = true; /* it was delayed, and has had no task yet */
    }
    if (count > 0) {
        note_root(live, &events[0]);
    }
    if (updates_load(host, live, err) < 0) {
        return -1;
    }
    int rc = replay(host, live, events, count, err);
    if (rc == 0) {
        keep_unprocessed(live, events, count);
        local_sync(host, live);
    }
    return rc < 0 ? -1 : 0;
}

/* A cached run that clients may have written to. 0; 1: one has closed it; <0 error. */
static int catch_up(struct host *host, struct live *live, struct err *err)
{
    struct execution_row row;
    int rc = execution_get(txn_db(host->txn), host->arena, live->id, &row, err);
    if (rc < 0) {
        return rc;
    }
    if (rc > 0 || row.status != EXECUTION_RUNNING) {
        live_fence(host, live->id);
        live_drop(host, live);
        return 1;
    }
    live_touch(host, live);
    return row.next_event_id == live->next_event_id ? 0 : live_read_foreign(host, live, err);
}

/* Its history cannot be read, though the store can: this run is parked and nothing is appended to
 * it; the others go on. Later engines look again. */
static struct live *set_aside(struct host *host, const struct execution_row *row,
                              const struct err *err)
{
    struct live *live = live_new(host, row);
    live->next_event_id = live->head_written;
    live->damaged = live->parked = live->parked_here = true;
    complain(host, live, "parked", err->text);
    execution_set_parked(host->txn, live->id, err->text);
    task_put(host->txn, live->id, TASK_WAKE, host->now_ns);
    return live;
}

int live_get(struct host *host, int64_t execution, struct live **ret, struct err *err)
{
    struct live *live = live_peek(host, execution);
    if (live && host->marks_left && !live->touched && !live->damaged) {
        int rc = catch_up(host, live, err);
        if (rc != 0) {
            return rc;
        }
    }
    if (!live) {
        struct execution_row row;
        int rc = execution_get(txn_db(host->txn), host->arena, execution, &row, err);
        if (rc != 0 || row.status != EXECUTION_RUNNING) {
            return rc < 0 ? rc : 1;
        }
        live = live_new(host, &row);
        if (load_into(host, live, err) < 0) {
            live_drop(host, live);
            if (txn_failed(host->txn) || err->kind != ERR_PERMANENT) {
                return -1;
            }
            live = set_aside(host, &row, err);
        }
    }
    live_touch(host, live);
    *ret = live;
    return live->closed || live->damaged ? 1 : 0;
}

/* --- pending activities ------------------------------------------------------------------------
 */

struct pending *live_pending(struct live *live, int64_t scheduled_id)
{
    struct pending *p = live->pending;
    while (p && p->scheduled_id != scheduled_id) {
        p = p->next;
    }
    return p;
}

struct pending *pending_new(struct live *live, const struct event *scheduled, struct host *host)
{
    const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(scheduled);
    struct arena *arena = host_arena(host);
    struct pending *p = arena_new_of(arena, struct pending);
    p->arena = arena;
    p->live = live;
    p->scheduled_id = scheduled->id;
    p->activity_id = arena_strdup(arena, a->activity_id ? a->activity_id : "");
    p->type = arena_strdup(arena, a->activity_type ? a->activity_type : "");
    p->input = arena_strdup(arena, payloads_first_json(a->input, NULL));
    p->lane = claim_lane(host, a->task_queue && a->task_queue->name ? a->task_queue->name
                                                                    : live->task_queue);
    p->schedule_to_close_ns = a->schedule_to_close_timeout;
    p->schedule_to_start_ns = a->schedule_to_start_timeout;
    p->start_to_close_ns = a->start_to_close_timeout;
    p->heartbeat_ns = a->heartbeat_timeout;
    retry_rule_copy(&p->rule, arena, a->retry_policy);
    p->priority = a->priority && a->priority->priority_key > 0 ? a->priority->priority_key
                                                               : ACTIVITY_PRIORITY_DEFAULT;
    p->concurrency_key = a->priority ? arena_strdup(arena, a->priority->fairness_key) : NULL;
    p->attempt = 1;
    p->state = ACTIVITY_SCHEDULED;
    p->scheduled_ns = p->queued_ns = host->now_ns;
    struct pending **link = &live->pending;
    while (*link) {
        link = &(*link)->next;
    }
    *link = p;
    return p;
}

void pending_remove(struct host *host, struct pending *p)
{
    struct pending **link = &p->live->pending;
    while (*link != p) {
        link = &(*link)->next;
    }
    *link = p->next;
    claim_leave(host, p);
    admit_stir(host, p->lane);
    if (p->running) {
        claim_tell(host, p->running, "closed", true);
    }
    free(p->last_failure);
    free(p->details);
    host_give_arena(host, p->arena);
}

/* --- memory ------------------------------------------------------------------------------------
 */

static bool is_busy(const struct live *live)
{
    for (const struct pending *p = live->pending; p; p = p->next) {
        if (p->running || p->state == ACTIVITY_SCHEDULED) {
            return true;
        }
    }
    return live->locals != NULL;
}

void live_trim_idle(struct host *host)
{
    int64_t now = clock_mono_ns();
    if (now - host->trimmed_ns < HOST_TRIM_AFTER_NS) {
        return;
    }
    host->trimmed_ns = now;
    for (struct live *live = host->oldest; live && now - live->touched_ns > HOST_TRIM_AFTER_NS;
         live = live->newer) {
        if (live->run && !live->trimmed) {
            run_trim(live->run);
        }
        live->trimmed = true;
    }
}

void live_evict_excess(struct host *host)
{
    struct live *live = host->oldest;
    size_t limit = mem_is_short() ? 0 : (size_t)host->max_cached_runs;
    while (live && host->run_count > limit) {
        struct live *newer = live->newer;
        if (!is_busy(live)) {
            live_drop(host, live);
        } else {
            live_drop_run(host, live);
        }
        live = newer;
    }
}
