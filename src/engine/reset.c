/*
 * reset.c - dur_reset: a run is taken back to a point of its history and goes on from there.
 *
 * Owns: which points there are, and the new run's history, as Temporal's server writes it:
 *
 *   1 .. N-1   copies of the old run's events, up to a WORKFLOW_TASK_STARTED
 *   N          WORKFLOW_TASK_FAILED, cause RESET_WORKFLOW
 *   ..         what came later from outside: signals, the cancel request, updates (as admitted
 *              ones), of the old run and of those that followed it
 *   last       WORKFLOW_TASK_SCHEDULED
 *
 * The open run of the id, the old one or a later one, is terminated in the same commit. Must not:
 * execute anything.
 * Tests: tests/unit/test_engine_reset.c
 */
#include "engine/reset.h"

#include <string.h>

#include "base/mem.h"
#include "history/validate.h"
#include "worker/birth.h"
#include "worker/record.h"

/* --- the point ---------------------------------------------------------------------------------
 */

/* May the reset be recorded in the place of event n? */
static bool is_point(const struct history *h, int64_t n)
{
    return n >= 3 && n <= (int64_t)h->count + 1 &&
           h->items[n - 2].type == EVENT_WORKFLOW_TASK_STARTED;
}

static int find_point(struct reset *r)
{
    const struct history *h = &r->old;
    int64_t before = 0, after = 0, last = 0;
    if (is_point(h, r->o.event_id)) {
        r->point = r->o.event_id;
        return DUR_OK;
    }
    for (int64_t n = 3; n <= (int64_t)h->count; n++) {
        if (is_point(h, n)) {
            before = n < r->o.event_id ? n : before;
            after = n > r->o.event_id && after == 0 ? n : after;
            last = h->items[n - 1].type == EVENT_WORKFLOW_TASK_COMPLETED ? n : last;
        }
    }
    if (r->o.event_id == 0 && last > 0) {
        r->point = last;
        return DUR_OK;
    }
    if (before == 0 && after == 0) {
        return engine_refuse(r->a.engine, DUR_INVALID,
                             "run %s has not run its code yet: there is nothing to take back",
                             r->base.workflow_id);
    }
    return engine_refuse(r->a.engine, DUR_INVALID,
                         "event %lld of run %s does not end a workflow task: the nearest that do "
                         "are %lld and %lld",
                         (long long)r->o.event_id, r->base.workflow_id,
                         (long long)(before ? before : after), (long long)(after ? after : before));
}

/* --- the history -------------------------------------------------------------------------------
 */

static struct event *add(struct reset *r, enum event_type type)
{
    struct event *event = history_append(&r->fresh, r->a.arena, type);
    event->time_ns = r->a.now_ns;
    return event;
}

/* A copy of another run's event, with the next id. */
static void add_copy(struct reset *r, const struct event *event)
{
    struct event *copy = add(r, event->type);
    int64_t id = copy->id;
    event_copy(copy, event, r->a.arena);
    copy->id = id;
}

static struct failure *reset_failure(struct reset *r)
{
    struct failure *failure = arena_new_of(r->a.arena, struct failure);
    failure->message = r->o.reason ? r->o.reason : "";
    failure->source = "Server";
    failure->reset_workflow_failure_info =
        arena_new_of(r->a.arena, struct reset_workflow_failure_info);
    return failure;
}

static void add_failed(struct reset *r)
{
    const struct ev_workflow_task_started *started =
        ev_workflow_task_started(&r->old.items[r->point - 2]);
    struct ev_workflow_task_failed *f = ev_workflow_task_failed(add(r, EVENT_WORKFLOW_TASK_FAILED));
    f->scheduled_event_id = started->scheduled_event_id;
    f->started_event_id = r->point - 1;
    f->cause = WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;
    f->failure = reset_failure(r);
    f->identity = r->a.engine->identity;
    f->base_run_id = r->base.run_id;
    f->new_run_id = r->row.run_id;
}

static bool has(const struct history *h, enum event_type type)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->items[i].type == type) {
            return true;
        }
    }
    return false;
}

/* An update that was accepted or admitted later is admitted anew, unless it came before too. */
static void add_update(struct reset *r, const struct update_request *request)
{
    if (!request || !request->meta || !request->meta->update_id || r->o.drop_updates) {
        return;
    }
    struct ev_workflow_execution_update_admitted *a =
        ev_workflow_execution_update_admitted(add(r, EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED));
    a->request = (struct update_request *)(uintptr_t)request;
    a->origin = UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY;
}

/* One later event of the old run or of one that followed it. */
static void reapply(struct reset *r, const struct event *event)
{
    switch (event->type) {
    case EVENT_WORKFLOW_EXECUTION_SIGNALED:
        if (!r->o.drop_signals) {
            add_copy(r, event);
        }
        break;
    case EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        if (!has(&r->fresh, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED)) {
            add_copy(r, event);
        }
        break;
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED:
        add_update(r, ev_workflow_execution_update_admitted(event)->request);
        break;
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: /* without a request: admitted before */
        add_update(r, ev_workflow_execution_update_accepted(event)->accepted_request);
        break;
    default:
        break;
    }
}

/* What came to the runs that followed. Signals that a run was born with had reached the one before
 * it (or came with its start). */
static int reapply_followers(struct reset *r)
{
    struct err err = {0};
    const char *next = r->base.next_run_id;
    while (next) {
        struct execution_row row;
        struct history h;
        struct db *db = txn_db(r->a.txn);
        int rc = execution_find_run(db, r->a.arena, next, &row, &err);
        if (rc == 0) {
            rc = engine_load_history(db, r->a.arena, &row, &h, &err);
        }
        if (rc != 0) {
            return rc < 0 ? engine_fail(r->a.engine, &err) : DUR_OK; /* the rest was deleted */
        }
        for (size_t i = 1; i < h.count; i++) {
            if (h.items[i].time_ns > h.items[0].time_ns) {
                reapply(r, &h.items[i]);
            }
        }
        next = row.next_run_id;
    }
    return DUR_OK;
}

static int compose(struct reset *r)
{
    struct err err = {0};
    for (int64_t id = 1; id < r->point; id++) {
        add_copy(r, &r->old.items[id - 1]);
    }
    add_failed(r);
    for (size_t i = (size_t)r->point - 1; i < r->old.count; i++) {
        reapply(r, &r->old.items[i]);
    }
    int rc = reapply_followers(r);
    if (rc) {
        return rc;
    }
    record_task_scheduled(r->a.arena, add(r, EVENT_WORKFLOW_TASK_SCHEDULED), r->base.task_queue,
                          birth_row_task_timeout_ns(&r->base), 1);
    return history_validate(&r->fresh, NULL, &err) < 0 ? engine_fail(r->a.engine, &err) : DUR_OK;
}

/* --- the call ----------------------------------------------------------------------------------
 */

/* The run to take back, and the open one, which has to go. */
static int find_runs(struct reset *r, const char *id)
{
    struct err err = {0};
    struct db *db = txn_db(r->a.txn);
    int rc = engine_find(r->a.engine, db, r->a.arena, id, &r->base, &err);
    if (rc != 0) {
        return rc < 0 ? engine_fail(r->a.engine, &err)
                      : engine_refuse(r->a.engine, DUR_NOT_FOUND, "no run has the id %s",
                                      id ? id : "");
    }
    rc = execution_find_open(db, r->a.arena, r->base.workflow_id, &r->a.row, &err);
    r->a.row.id = rc == 0 ? r->a.row.id : 0;
    if (rc < 0 || engine_load_history(db, r->a.arena, &r->base, &r->old, &err) < 0) {
        return engine_fail(r->a.engine, &err);
    }
    return DUR_OK;
}

static int act(struct reset *r, const char *id)
{
    int rc = find_runs(r, id);
    if (rc || (rc = find_point(r))) {
        return rc;
    }
    r->row.run_id = birth_run_id(r->a.arena);
    if ((rc = compose(r))) {
        return rc;
    }
    if (r->a.row.id) {
        append_terminated(&r->a, r->o.reason, NULL);
        execution_set_next(r->a.txn, r->a.row.id, r->row.run_id);
    }
    reset_write(r);
    return DUR_OK;
}

int dur_reset_at(dur_engine *engine, const char *id, char **run_id,
                 const dur_reset_options *options, size_t options_size)
{
    autoarena struct arena *arena = arena_new();
    struct reset r = {0};
    if (run_id) {
        *run_id = NULL;
    }
    if (options) {
        memcpy(&r.o, options, options_size < sizeof(r.o) ? options_size : sizeof(r.o));
    }
    int rc = check_reason(engine, r.o.reason);
    if (rc == DUR_OK && engine_is_remote(engine)) {
        autofree char *ignored = NULL;
        return engine_remote_run(engine, true, reset, id, &r.o, run_id ? run_id : &ignored);
    }
    if (rc || (rc = append_begin(&r.a, engine, arena))) {
        return rc;
    }
    if ((rc = act(&r, id)) != DUR_OK) {
        return append_rollback(&r.a, rc);
    }
    if ((rc = append_commit(&r.a)) == DUR_OK && run_id) {
        *run_id = mem_strdup(r.row.run_id);
    }
    return rc;
}
