/*
 * family_end.c - what a run's end means for its parent and its children (family.c says how it fits
 * together).
 *
 * Owns: host->gone, the ends of this turn that were not looked at yet, and what follows from each:
 * the child's closing event in its parent's history, told by the last run of the child's chain; the
 * parent-close policy, for every way in which a run may end (continue-as-new included).
 * Tests: tests/unit/test_engine_child.c
 */
#include <limits.h>

#include "history/failure.h"
#include "journal/child.h"
#include "journal/task.h"
#include "worker/host.h"

struct gone {
    struct gone *next;
    int64_t execution;
};

void family_gone(struct host *host, int64_t execution)
{
    struct gone *gone = arena_new_of(host->arena, struct gone);
    gone->execution = execution;
    *(host->gone_last ? &host->gone_last->next : &host->gone) = gone;
    host->gone_last = gone;
}

/* --- the parent learns of it ------------------------------------------------------------------ */

/* The event that closed the run. What its stored form takes from the events before it is of no use
 * here, so a fresh context does. */
static int closing_event(struct host *host, const struct execution_row *row, struct event *ret,
                         struct err *err)
{
    struct event_list list;
    struct store_context codec;
    int64_t id = 0;
    int type = 0;
    struct db *db = txn_db(host->txn);
    if (event_last(db, row->id, 0, INT_MAX, &id, &type, err) != 0 ||
        event_read(db, host->arena, row->id, id, 1, &list, err) < 0 || list.count == 0) {
        return -1;
    }
    const struct event_row *e = &list.rows[0];
    store_context_init(&codec, host_sealer(host), row->task_queue, NULL, row->workflow_id,
                       row->run_id);
    return store_decode(&codec, host->arena, e->event_id, e->type, e->time_ns, e->attributes,
                        e->attributes_len, ret, err);
}

static struct workflow_execution *name_of(struct host *host, const struct execution_row *row)
{
    struct workflow_execution *name = arena_new_of(host->arena, struct workflow_execution);
    name->workflow_id = row->workflow_id;
    name->run_id = row->run_id;
    return name;
}

static void append_completed(struct host *host, struct live *parent, const struct child_row *child,
                             const struct execution_row *row, const struct event *closing)
{
    struct ev_child_workflow_execution_completed *c = ev_child_workflow_execution_completed(
        live_append(host, parent, EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED));
    c->result = ev_workflow_execution_completed(closing)->result;
    c->namespace = RUN_NAMESPACE;
    c->workflow_execution = name_of(host, row);
    c->workflow_type = row->type;
    c->initiated_event_id = child->initiated_event_id;
    c->started_event_id = child->started_event_id;
}

static void append_failed(struct host *host, struct live *parent, const struct child_row *child,
                          const struct execution_row *row, const struct event *closing)
{
    struct ev_child_workflow_execution_failed *f = ev_child_workflow_execution_failed(
        live_append(host, parent, EVENT_CHILD_WORKFLOW_EXECUTION_FAILED));
    f->failure = ev_workflow_execution_failed(closing)->failure;
    f->namespace = RUN_NAMESPACE;
    f->workflow_execution = name_of(host, row);
    f->workflow_type = row->type;
    f->initiated_event_id = child->initiated_event_id;
    f->started_event_id = child->started_event_id;
    f->retry_state = ev_workflow_execution_failed(closing)->retry_state;
}

static void append_canceled(struct host *host, struct live *parent, const struct child_row *child,
                            const struct execution_row *row, const struct event *closing)
{
    struct ev_child_workflow_execution_canceled *c = ev_child_workflow_execution_canceled(
        live_append(host, parent, EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED));
    c->details = ev_workflow_execution_canceled(closing)->details;
    c->namespace = RUN_NAMESPACE;
    c->workflow_execution = name_of(host, row);
    c->workflow_type = row->type;
    c->initiated_event_id = child->initiated_event_id;
    c->started_event_id = child->started_event_id;
}

static void append_timed_out(struct host *host, struct live *parent, const struct child_row *child,
                             const struct execution_row *row, const struct event *closing)
{
    struct ev_child_workflow_execution_timed_out *t = ev_child_workflow_execution_timed_out(
        live_append(host, parent, EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT));
    t->namespace = RUN_NAMESPACE;
    t->workflow_execution = name_of(host, row);
    t->workflow_type = row->type;
    t->initiated_event_id = child->initiated_event_id;
    t->started_event_id = child->started_event_id;
    t->retry_state = ev_workflow_execution_timed_out(closing)->retry_state;
}

static void append_terminated(struct host *host, struct live *parent, const struct child_row *child,
                              const struct execution_row *row)
{
    struct ev_child_workflow_execution_terminated *t = ev_child_workflow_execution_terminated(
        live_append(host, parent, EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED));
    t->namespace = RUN_NAMESPACE;
    t->workflow_execution = name_of(host, row);
    t->workflow_type = row->type;
    t->initiated_event_id = child->initiated_event_id;
    t->started_event_id = child->started_event_id;
}

static void append_end(struct host *host, struct live *parent, const struct child_row *child,
                       const struct execution_row *row, const struct event *closing)
{
    switch (closing->type) {
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        append_completed(host, parent, child, row, closing);
        break;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        append_failed(host, parent, child, row, closing);
        break;
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
        append_canceled(host, parent, child, row, closing);
        break;
    case EVENT_WORKFLOW_EXECUTION_TIMED_OUT:
        append_timed_out(host, parent, child, row, closing);
        break;
    default:
        append_terminated(host, parent, child, row);
        break;
    }
    parent->wake = true;
}

static int tell_parent(struct host *host, const struct execution_row *row, struct err *err)
{
    struct child_row child;
    struct execution_row parent;
    struct event closing;
    struct live *live;
    struct db *db = txn_db(host->txn);
    if (!row->parent || row->next_run_id) {
        return 0; /* nobody's; or the next run of its chain will tell */
    }
    int rc = child_get(db, host->arena, row->parent, row->parent_event_id, &child, err);
    if (rc == 0) {
        rc = execution_get(db, host->arena, row->parent, &parent, err);
    }
    if (rc != 0 || parent.status != EXECUTION_RUNNING) {
        return rc < 0 ? rc : 0; /* told before, or the parent is gone as well */
    }
    if ((rc = live_get(host, row->parent, &live, err)) < 0) {
        return rc;
    }
    if (rc > 0) { /* it cannot be read here: the next engine tries */
        task_put(host->txn, row->id, TASK_WAKE, host->now_ns);
        return 0;
    }
    if (closing_event(host, row, &closing, err) < 0) {
        return -1;
    }
    append_end(host, live, &child, row, &closing);
    child_remove(host->txn, child.execution, child.initiated_event_id);
    return 0;
}

/* --- what it leaves behind -------------------------------------------------------------------- */

static void terminate(struct host *host, struct execution_row *row)
{
    autostr struct str failure = {0};
    struct live *live = live_peek(host, row->id);
    struct err err;
    bool in_memory = live && !live->damaged;
    if (in_memory) {
        int rc = live_get(host, row->id, &live, &err);
        if (rc < 0) {
            txn_fail(host->txn, &err);
            return;
        }
        in_memory = rc == 0;
    }
    struct event *event = event_new(host->arena, EVENT_WORKFLOW_EXECUTION_TERMINATED);
    struct ev_workflow_execution_terminated *t = ev_workflow_execution_terminated(event);
    t->reason = FAMILY_BY_POLICY;
    t->identity = FAMILY_SERVICE;
    store_failure_encode(failure_terminated(host->arena, t->reason, t->identity), &failure);
    if (in_memory) {
        *ev_workflow_execution_terminated(
            live_append(host, live, EVENT_WORKFLOW_EXECUTION_TERMINATED)) = *t;
        apply_close(host, live, EXECUTION_TERMINATED, NULL, str_c(&failure));
        return;
    }
    family_append_outside(host, row, event, false); /* its code has nothing to say, so no loading */
    execution_close(host->txn, row->id, EXECUTION_TERMINATED, host->now_ns, NULL, str_c(&failure));
    family_gone(host, row->id);
}

static int follow_policy(struct host *host, const struct execution_row *parent,
                         const struct child_row *child, struct err *err)
{
    struct execution_row row;
    int rc = execution_find_open(txn_db(host->txn), host->arena, child->workflow_id, &row, err);
    if (rc != 0 || row.parent != parent->id || row.parent_event_id != child->initiated_event_id) {
        return rc < 0 ? rc : 0; /* it has ended, and another has its id */
    }
    if (child->close_policy == CHILD_CLOSE_TERMINATE) {
        terminate(host, &row);
    } else if (child->close_policy == CHILD_CLOSE_REQUEST_CANCEL) {
        family_request_cancel(host, &row, NULL, name_of(host, parent), 0);
    }
    return 0;
}

static int leave_children(struct host *host, const struct execution_row *row, struct err *err)
{
    struct child_list children;
    if (child_list(txn_db(host->txn), host->arena, row->id, &children, err) < 0) {
        return -1;
    }
    if (children.count > 0) { /* first: an end that follows from this one finds nobody to tell */
        child_remove_all(host->txn, row->id);
    }
    for (size_t i = 0; i < children.count; i++) {
        if (follow_policy(host, row, &children.rows[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

void family_settle(struct host *host)
{
    while (host->gone && !txn_failed(host->txn)) {
        int64_t id = host->gone->execution;
        struct execution_row row;
        struct err err;
        host->gone = host->gone->next;
        host->gone_last = host->gone ? host->gone_last : NULL;
        int rc = execution_get(txn_db(host->txn), host->arena, id, &row, &err);
        if (rc == 0 && row.status != EXECUTION_RUNNING) {
            rc = tell_parent(host, &row, &err);
            rc = rc < 0 ? rc : leave_children(host, &row, &err);
        }
        if (rc < 0) {
            txn_fail(host->txn, &err);
        }
    }
}
