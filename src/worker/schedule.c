/*
 * schedule.c - see schedule.h.
 *
 *     take      rows that are ripe or due; of each:
 *     review    runs that were open: has their chain ended? its result is kept; a failure may pause
 *     decide    every nominal time until now: missed, or one more start that waits
 *     process   waiting starts, oldest first, by their overlap policy: begin, keep, or leave out
 *     write     the row, what still waits, what began
 *
 * Bounds of one turn: TURN_SCHEDULES rows, TURN_TIMES decided times and TURN_BIRTHS runs of each;
 * what is left makes the next turn look again at once.
 * Tests: tests/unit/test_engine_schedule.c
 */
#include "worker/schedule.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "exec/options.h"
#include "history/attributes.h"
#include "history/attributes.h"
#include "history/failure.h"
#include "history/map.h"
#include "journal/event.h"
#include "worker/birth.h"
#include "worker/definition.h"

#define TURN_SCHEDULES 64
#define TURN_TIMES 10000
#define TURN_BIRTHS 64
#define RETRY_NS (10 * NS_PER_S)                  /* a schedule that could not start what is due */
#define CATCHUP_NS (365LL * 24 * 3600 * NS_PER_S) /* default window; as Temporal's */
#define ID_PREFIX_MAX 960                         /* a time is to follow, within 1000 bytes */

/* One schedule while a turn works on it. */
struct work {
    struct host *host;
    struct schedule_row row;
    dur_schedule definition;
    struct calendar *calendar;
    struct schedule_runs runs;     /* that were open when it began, and the latest */
    struct schedule_start *starts; /* that wait; number 0: new, not in the table yet */
    size_t start_count, start_cap;
    size_t open;    /* runs that are open */
    int births;     /* of this turn */
    bool unsettled; /* there is more to do than one turn takes */
};

void schedule_advance(struct schedule_row *row, const struct calendar *calendar, int64_t after_ns)
{
    int64_t next = CALENDAR_NEVER;
    row->cursor_ns = after_ns;
    if (!row->paused && !(row->limited && row->remaining == 0)) {
        next = calendar_next(calendar, after_ns);
    }
    row->has_next = next != CALENDAR_NEVER;
    row->nominal_ns = row->has_next ? next : 0;
    row->due_ns = row->has_next ? calendar_due(calendar, row->name, next) : 0;
}

/* --- review: what became of its runs ---------------------------------------------------------- */

static void pause_after(struct work *w, const struct execution_row *run)
{
    w->row.paused = true;
    w->row.note = arena_printf(w->host->arena, "paused because run %s %s", run->workflow_id,
                               run->status == EXECUTION_FAILED ? "failed" : "timed out");
    w->row.changed_ns = w->host->now_ns;
    host_log(w->host, HOST_LOG_WARN, "schedule %s: %s", w->row.name, w->row.note);
}

/* The chain ended with this run. */
static void keep_outcome(struct work *w, const struct execution_row *last)
{
    bool failed = last->status == EXECUTION_FAILED || last->status == EXECUTION_TIMED_OUT;
    if (last->status == EXECUTION_COMPLETED) {
        w->row.last_result = last->result;
        w->row.last_failure = NULL;
    } else if (failed) {
        w->row.last_failure = last->failure;
    }
    if (failed && w->definition.pause_on_failure) {
        pause_after(w, last);
    }
}

/* Is the chain that began with this run still open? Its open row in *ret then, else its last. */
static bool chain_is_open(struct work *w, const struct schedule_run *run, struct execution_row *ret)
{
    struct err err = {0};
    struct db *db = txn_db(w->host->txn);
    int rc = execution_find_newest(db, w->host->arena, run->workflow_id, ret, &err);
    if (rc < 0) {
        txn_fail(w->host->txn, &err);
    }
    const char *first = rc == 0 && ret->first_run_id ? ret->first_run_id : ret->run_id;
    if (rc != 0 || !str_eq(first, run->run_id)) {
        ret->status = 0; /* purged, or the id was used by somebody else since */
        return false;
    }
    return ret->status == EXECUTION_RUNNING;
}

static void review(struct work *w)
{
    struct err err = {0};
    bool any = false;
    struct txn *txn = w->host->txn;
    if (schedule_run_list(txn_db(txn), w->host->arena, w->row.id, &w->runs, &err) < 0) {
        txn_fail(txn, &err);
        return;
    }
    for (size_t i = 0; i < w->runs.count; i++) {
        struct schedule_run *run = &w->runs.rows[i];
        struct execution_row last = {0};
        if (run->closed) {
            continue;
        }
        if (chain_is_open(w, run, &last)) {
            w->open++;
            continue;
        }
        run->closed = any = true;
        schedule_run_close(txn, w->row.id, run->number);
        keep_outcome(w, &last);
    }
    if (any) {
        schedule_run_trim(txn, w->row.id, SCHEDULE_KEPT_RUNS);
    }
}

/* --- decide: which times are due -------------------------------------------------------------- */

static void add_start(struct work *w, struct schedule_start start)
{
    if (w->start_count == w->start_cap) {
        size_t cap = w->start_cap ? w->start_cap * 2 : 16;
        struct schedule_start *more = arena_array_of(w->host->arena, struct schedule_start, cap);
        if (w->start_count > 0) {
            memcpy(more, w->starts, w->start_count * sizeof(*more));
        }
        w->starts = more;
        w->start_cap = cap;
    }
    w->starts[w->start_count++] = start;
}

static void decide(struct work *w)
{
    struct schedule_starts waiting;
    struct err err = {0};
    struct schedule_row *row = &w->row;
    int64_t now = w->host->now_ns;
    int64_t window = w->definition.catchup_window_ms > 0
                         ? w->definition.catchup_window_ms * NS_PER_MS
                         : CATCHUP_NS;
    if (schedule_start_list(txn_db(w->host->txn), w->host->arena, row->id, &waiting, &err) < 0) {
        txn_fail(w->host->txn, &err);
        return;
    }
    for (size_t i = 0; i < waiting.count; i++) {
        add_start(w, waiting.rows[i]);
    }
    for (int i = 0; row->has_next && calendar_due(w->calendar, row->name, row->nominal_ns) <= now;
         i++) {
        if (i == TURN_TIMES || w->start_count > 2 * SCHEDULE_WAITING_MAX) {
            w->unsettled = true;
            return;
        }
        if (now - row->nominal_ns > window) {
            row->missed++;
        } else if (!row->paused) {
            add_start(w, (struct schedule_start){.nominal_ns = row->nominal_ns,
                                                 .overlap = w->definition.overlap});
        }
        schedule_advance(row, w->calendar, row->nominal_ns);
    }
}

/* --- process: starts by their overlap policy -------------------------------------------------- */

/* Ask an open run to end, or end it. */
static void stop_run(struct work *w, const struct execution_row *row, bool terminate)
{
    struct host *host = w->host;
    struct live *live;
    struct err err = {0};
    int64_t event_id;
    int type;
    const char *why = arena_printf(host->arena, "schedule %s starts its next run", w->row.name);
    int rc = live_get(host, row->id, &live, &err);
    if (rc == 0 && !terminate) { /* asked before? */
        live_write(host, live);
        rc = event_last(txn_db(host->txn), row->id, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
                        EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &event_id, &type, &err) <= 0;
    }
    if (rc != 0) {
        if (rc < 0) {
            txn_fail(host->txn, &err);
        }
        return;
    }
    if (!terminate) {
        struct ev_workflow_execution_cancel_requested *c = ev_workflow_execution_cancel_requested(
            live_append(host, live, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED));
        c->cause = why;
        c->identity = host->identity;
        live->wake = true;
        return;
    }
    autostr struct str failure = {0};
    struct ev_workflow_execution_terminated *t = ev_workflow_execution_terminated(
        live_append(host, live, EVENT_WORKFLOW_EXECUTION_TERMINATED));
    t->reason = why;
    t->identity = host->identity;
    store_failure_encode(failure_terminated(host->arena, why, host->identity), &failure);
    apply_close(host, live, EXECUTION_TERMINATED, NULL, arena_strdup(host->arena, str_c(&failure)));
}

static void stop_open_runs(struct work *w, bool terminate)
{
    for (size_t i = 0; i < w->runs.count; i++) {
        struct schedule_run *run = &w->runs.rows[i];
        struct execution_row row = {0};
        if (!run->closed && chain_is_open(w, run, &row)) {
            stop_run(w, &row, terminate);
            if (terminate) {
                run->closed = true;
                schedule_run_close(w->host->txn, w->row.id, run->number);
                w->open--;
            }
        }
    }
}

/* What says whose run it is and when it was due, then what its action says. */
static struct payload_map *attributes(struct work *w, int64_t nominal_ns)
{
    struct arena *arena = w->host->arena;
    struct payload_map *own = NULL;
    struct payload_map *given = NULL;
    autostr struct str text = {0};
    autostr struct str time = {0};
    struct json_out out = json_writer(&text, 0);
    time_format_rfc3339(&time, nominal_ns);
    json_begin_object(&out);
    json_kv_str(&out, "TemporalScheduledById", w->row.name);
    json_key(&out, "TemporalScheduledStartTime");
    json_begin_object(&out);
    json_kv_str(&out, "type", "Datetime");
    json_kv_str(&out, "value", str_c(&time));
    json_end_object(&out);
    json_end_object(&out);
    if (attributes_parse(arena, str_c(&text), &own, NULL) < 0 ||
        attributes_parse(arena, w->definition.search_attributes, &given, NULL) < 0) {
        return own; /* was checked when it was set */
    }
    for (size_t i = 0; given && i < given->count; i++) {
        if (!payload_map_get(own, given->items[i].key)) {
            payload_map_add(own, arena, given->items[i].key, &given->items[i].payload);
        }
    }
    return own;
}

static struct failure *last_failure(struct work *w)
{
    struct failure *failure = NULL;
    const char *text = w->row.last_failure;
    if (!text || store_failure_decode(w->host->arena, text, strlen(text), &failure, NULL) < 0) {
        return NULL;
    }
    return failure;
}

/* 0: begun, or there is nothing to begin; 1: not now (no room). */
static int begin(struct work *w, const struct schedule_start *start)
{
    struct host *host = w->host;
    const dur_schedule *d = &w->definition;
    struct execution_row row;
    struct err err = {0};
    autostr struct str id = {0};
    str_addf(&id, "%.*s-", ID_PREFIX_MAX, d->id_prefix ? d->id_prefix : w->row.name);
    time_format_rfc3339(&id, start->nominal_ns);
    int rc = execution_find_open(txn_db(host->txn), host->arena, str_c(&id), &row, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
        return 0;
    }
    if (rc == 0) { /* somebody else's, or a trigger within the same nanosecond */
        host_log(host, HOST_LOG_WARN, "schedule %s: a run with id %s is open", w->row.name,
                 str_c(&id));
        w->row.skipped++;
        return 0;
    }
    if (store_admits_new_runs(host->store, &err) < 0) {
        w->row.problem = arena_strdup(host->arena, err.text);
        return 1;
    }
    struct birth birth = {
        .workflow_id = arena_strdup(host->arena, str_c(&id)),
        .type = d->workflow_type,
        .task_queue = d->task_queue,
        .input = d->input ? payloads_json(host->arena, d->input) : NULL,
        .memo = map_parse(host->arena, d->memo),
        .search_attributes = attributes(w, start->nominal_ns),
        .execution_timeout_ns = d->execution_timeout_ms * NS_PER_MS,
        .run_timeout_ns = d->run_timeout_ms * NS_PER_MS,
        .task_timeout_ns = d->task_timeout_ms * NS_PER_MS,
        .retry = d->retry ? options_policy(host->arena, d->retry, 0) : NULL,
        .priority = d->priority,
        .last_completion_result =
            w->row.last_result ? payloads_json(host->arena, w->row.last_result) : NULL,
        .continued_failure = last_failure(w),
        .identity = host->identity,
    };
    birth_write(host->txn, host->arena, &birth, host->now_ns, &row);
    turn_born(host);
    schedule_run_put(host->txn, w->row.id,
                     &(struct schedule_run){.workflow_id = row.workflow_id,
                                            .run_id = row.run_id,
                                            .nominal_ns = start->nominal_ns,
                                            .started_ns = host->now_ns});
    w->row.started++;
    w->row.remaining -= w->row.limited && !start->manual;
    w->open++;
    w->births++;
    return 0;
}

/* Does a later start take this one's place (it would stop the run at once)? */
static bool is_superseded(const struct work *w, size_t at)
{
    for (size_t i = at + 1; i < w->start_count; i++) {
        int overlap = w->starts[i].overlap;
        if (overlap == DUR_OVERLAP_CANCEL_OTHER || overlap == DUR_OVERLAP_TERMINATE_OTHER) {
            return true;
        }
    }
    return false;
}

enum verdict { BEGIN, KEEP, LEAVE_OUT, DROP, FORGET };

/* kept: starts before it that go on waiting. */
static enum verdict judge(struct work *w, size_t at, size_t kept)
{
    const struct schedule_start *start = &w->starts[at];
    bool exhausted = w->row.limited && w->row.remaining == 0;
    if (!start->manual && (w->row.paused || exhausted)) {
        return FORGET;
    }
    switch ((dur_overlap)start->overlap) {
    case DUR_OVERLAP_ALLOW_ALL:
        return BEGIN;
    case DUR_OVERLAP_BUFFER_ONE:
        return w->open == 0 && kept == 0 ? BEGIN : kept == 0 ? KEEP : LEAVE_OUT;
    case DUR_OVERLAP_BUFFER_ALL:
        return w->open == 0 && kept == 0 ? BEGIN : kept < SCHEDULE_WAITING_MAX ? KEEP : DROP;
    case DUR_OVERLAP_CANCEL_OTHER:
        if (is_superseded(w, at)) {
            return LEAVE_OUT;
        }
        stop_open_runs(w, false);
        return w->open == 0 ? BEGIN : KEEP;
    case DUR_OVERLAP_TERMINATE_OTHER:
        if (is_superseded(w, at)) {
            return LEAVE_OUT;
        }
        stop_open_runs(w, true);
        return BEGIN;
    default:
        return w->open == 0 ? BEGIN : LEAVE_OUT;
    }
}

static void process(struct work *w)
{
    struct txn *txn = w->host->txn;
    size_t kept = 0;
    bool held_up = false; /* no room, or enough for this turn */
    for (size_t i = 0; i < w->start_count && !txn_failed(txn); i++) {
        struct schedule_start *start = &w->starts[i];
        enum verdict verdict = !held_up                                         ? judge(w, i, kept)
                               : w->row.problem && kept >= SCHEDULE_WAITING_MAX ? DROP
                                                                                : KEEP;
        if (verdict == BEGIN && w->births == TURN_BIRTHS) {
            w->unsettled = held_up = true;
            verdict = KEEP;
        } else if (verdict == BEGIN && begin(w, start) != 0) {
            held_up = true;
            verdict = KEEP;
        }
        w->row.skipped += verdict == LEAVE_OUT;
        w->row.dropped += verdict == DROP;
        if (verdict == KEEP) {
            kept++;
            if (start->number == 0) {
                schedule_start_put(txn, w->row.id, start);
            }
        } else if (start->number != 0) {
            schedule_start_drop(txn, w->row.id, start->number);
        }
    }
}

/* --- one schedule, all schedules -------------------------------------------------------------- */

/* It waits as it is, and is tried again in a while. */
static void postpone(struct work *w, const char *problem_before)
{
    w->row.due_ns = w->host->now_ns + RETRY_NS;
    if (!str_eq(problem_before, w->row.problem)) {
        host_log(w->host, HOST_LOG_WARN, "schedule %s: %s", w->row.name, w->row.problem);
    }
}

static void take_one(struct host *host, const struct schedule_row *row)
{
    struct work w = {.host = host, .row = *row};
    struct err err = {0};
    autocalendar struct calendar *calendar = NULL;
    w.row.ripe = false;
    w.row.problem = NULL;
    if (definition_read(host->arena, row->definition, &w.definition, &err) < 0 ||
        calendar_new(&w.definition, &calendar, &err) < 0) {
        w.row.problem = arena_strdup(host->arena, err.text);
        postpone(&w, row->problem);
        schedule_update(host->txn, &w.row);
        return;
    }
    w.calendar = calendar;
    w.row.due_ns = row->has_next ? calendar_due(calendar, row->name, row->nominal_ns) : 0;
    review(&w);
    decide(&w);
    process(&w);
    bool over = w.row.paused || (w.row.limited && w.row.remaining == 0);
    if (over && w.row.has_next) {
        schedule_advance(&w.row, calendar, host->now_ns);
    }
    w.row.ripe = w.unsettled;
    if (w.row.problem) {
        postpone(&w, row->problem);
    }
    schedule_update(host->txn, &w.row);
}

/* An entry of the heap says when to look. */
static void arm(struct host *host)
{
    int64_t at_ns = INT64_MAX;
    struct err err = {0};
    struct db *db = txn_db(host->txn);
    if (schedule_next_due(db, &at_ns, &err) < 0) {
        txn_fail(host->txn, &err);
        return;
    }
    host->has_schedules = schedule_any(db);
    if (at_ns != host->schedules_ns || at_ns <= host->now_ns) {
        host->schedules_ns = at_ns;
        if (at_ns != INT64_MAX) {
            heap_push(&host->wall, &(struct due){.at_ns = at_ns, .kind = DUE_SCHEDULE});
        }
    }
}

size_t schedule_take(struct host *host)
{
    struct schedule_list due;
    struct err err = {0};
    if (!host->look_schedules || txn_failed(host->txn)) {
        return 0;
    }
    host->look_schedules = false;
    if (schedule_list_due(txn_db(host->txn), host->arena, host->now_ns, TURN_SCHEDULES, &due,
                          &err) < 0) {
        txn_fail(host->txn, &err);
        return 0;
    }
    for (size_t i = 0; i < due.count && !txn_failed(host->txn); i++) {
        take_one(host, &due.rows[i]);
    }
    arm(host);
    return due.count;
}

void schedule_after_close(struct host *host)
{
    if (host->has_schedules) {
        host->look = true;
    }
}
