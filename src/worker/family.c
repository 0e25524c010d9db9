/*
 * family.c - parents and children, and runs that speak to each other (host.h).
 *
 * Owns: what START_CHILD_WORKFLOW_EXECUTION, SIGNAL_EXTERNAL_ and REQUEST_CANCEL_EXTERNAL_ mean for
 * the other run, and what a run's end means for its parent and its children. All of it happens in
 * the transaction of the event that asks for it (stronger than Temporal, where it follows later):
 *
 *   child      born, CHILD_STARTED in the parent; it runs from the next turn on, by its mark
 *   request    the event in the other run's history, the answer in the asker's
 *   end        CHILD_COMPLETED and so on in the parent, unless another run of the chain follows;
 *              then the parent-close policy of every child that the ended run has left
 *
 * A step that ends its own run: signals and requests of that step are delivered, but nobody hears
 * the answer; a child that would be terminated or asked to cancel is not born, an abandoned one is.
 * Ends queue up (host->gone), so that a tree of any depth is taken down without recursion. A client
 * that terminates a run only leaves its mark: the mark brings it here. A parent whose history
 * cannot be read is told later: the child's mark stays for the next engine.
 * Tests: tests/unit/test_engine_child.c, tests/unit/test_engine_external.c
 */
#include <string.h>

#include "base/cron.h"
#include "journal/child.h"
#include "journal/task.h"
#include "worker/birth.h"
#include "worker/host.h"
#include "worker/record.h"

#define SIGNAL_FINDS_NOBODY                                                                        \
    SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND
#define CANCEL_FINDS_NOBODY                                                                        \
    CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND

static struct db *db_of(struct host *host)
{
    return txn_db(host->txn);
}

static struct workflow_execution *name_run(struct arena *arena, const char *workflow_id,
                                           const char *run_id)
{
    struct workflow_execution *name = arena_new_of(arena, struct workflow_execution);
    name->workflow_id = arena_strdup(arena, workflow_id);
    name->run_id = arena_strdup(arena, run_id);
    return name;
}

/* A copy of its own of an event that borrows from elsewhere: appended to a run, it lives until the
 * turn ends, and workflow code may run meanwhile. */
static void append_copy(struct host *host, struct live *live, const struct event *event)
{
    struct event *to = live_append(host, live, event->type);
    int64_t id = to->id;
    event_copy(to, event, host->arena);
    to->id = id;
    to->time_ns = host->now_ns;
}

/* --- runs that are not in memory, or cannot be ------------------------------------------------ */

void family_append_outside(struct host *host, struct execution_row *row, struct event *event,
                           bool with_task)
{
    struct event_row rows[2];
    struct event *events[] = {event, event_new(host->arena, EVENT_WORKFLOW_TASK_SCHEDULED)};
    size_t count = 1;
    struct store_context codec;
    struct err err;
    int needs = with_task ? record_needs_task(db_of(host), row, &err) : 0;
    if (needs < 0 && err.kind == ERR_PERMANENT && !txn_failed(host->txn)) {
        needs = 0; /* its history is damaged: whoever mends it runs its code again anyway */
    }
    if (needs < 0) {
        txn_fail(host->txn, &err);
        return;
    }
    if (needs) {
        record_task_scheduled(host->arena, events[count++], row->task_queue,
                              birth_row_task_timeout_ns(row), 1);
    }
    store_context_init(&codec, host_sealer(host), row->task_queue, NULL, row->workflow_id,
                       row->run_id);
    for (size_t i = 0; i < count; i++) {
        events[i]->id = row->next_event_id + (int64_t)i;
        row->history_bytes += record_event(&codec, host->arena, events[i], host->now_ns, &rows[i]);
    }
    event_append(host->txn, row->id, rows, count, row->history_bytes);
    row->next_event_id += (int64_t)count;
}

/* It cannot be loaded; its stand-in is behind now. */
static void forget(struct host *host, int64_t execution)
{
    struct live *live = live_peek(host, execution);
    live_fence(host, execution);
    if (live) {
        live_drop(host, live);
    }
}

/* The event is appended, the run advances in this turn (or, if it cannot be read, is marked). */
static void deliver(struct host *host, struct execution_row *row, struct event *event,
                    enum task_kind mark)
{
    struct live *live;
    struct err err;
    int rc = live_get(host, row->id, &live, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
    } else if (rc == 0) {
        append_copy(host, live, event);
        live->wake = true;
    } else {
        family_append_outside(host, row, event, true);
        task_put(host->txn, row->id, mark, host->now_ns);
        forget(host, row->id);
        host->look = true;
    }
}

/* --- starting a child ------------------------------------------------------------------------- */

/* 0: the id may be used; 1: it may not; <0 error. */
static int check_id(struct host *host, const struct ev_start_child_workflow_execution_initiated *a,
                    struct err *err)
{
    struct execution_row old;
    int rc = execution_find_newest(db_of(host), host->arena, a->workflow_id, &old, err);
    if (rc != 0) {
        return rc < 0 ? rc : 0;
    }
    if (old.status == EXECUTION_RUNNING) {
        return 1;
    }
    switch (a->workflow_id_reuse_policy) {
    case WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE:
        return 1;
    case WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY:
        return old.status == EXECUTION_COMPLETED ? 1 : 0;
    default:
        return 0;
    }
}

static void append_start_failed(struct host *host, struct live *live, const struct event *initiated)
{
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(initiated);
    struct ev_start_child_workflow_execution_failed *f = ev_start_child_workflow_execution_failed(
        live_append(host, live, EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED));
    f->namespace = RUN_NAMESPACE;
    f->workflow_id = arena_strdup(host->arena, a->workflow_id);
    f->workflow_type = arena_strdup(host->arena, a->workflow_type);
    f->cause = START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS;
    f->initiated_event_id = initiated->id;
    live->wake = true;
}

/* A child that runs by cron begins with the first point. (Its text was checked when asked for.) */
static int64_t cron_backoff_ns(const char *text, int64_t now_ns)
{
    struct cron *cron autocron = NULL;
    if (!text || cron_parse(text, NULL, &cron, NULL) < 0) {
        return 0;
    }
    int64_t at_ns = cron_next(cron, now_ns);
    return at_ns == CRON_NEVER ? 0 : at_ns - now_ns;
}

static int give_birth(struct host *host, const struct live *live, const struct event *initiated,
                      struct execution_row *ret)
{
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(initiated);
    struct birth birth = {
        .workflow_id = a->workflow_id,
        .type = a->workflow_type,
        .task_queue = a->task_queue ? a->task_queue->name : live->task_queue,
        .input = a->input,
        .memo = a->memo,
        .search_attributes = a->search_attributes,
        .header = a->header,
        .execution_timeout_ns = a->workflow_execution_timeout,
        .run_timeout_ns = a->workflow_run_timeout,
        .task_timeout_ns = a->workflow_task_timeout,
        .retry = a->retry_policy,
        .cron = a->cron_schedule && *a->cron_schedule ? a->cron_schedule : NULL,
        .priority = a->priority ? a->priority->priority_key : 0,
        .parent = live->id,
        .parent_namespace = RUN_NAMESPACE,
        .parent_workflow_id = live->workflow_id,
        .parent_run_id = live->run_id,
        .parent_event_id = initiated->id,
        .root_workflow_id = live->root_workflow_id,
        .root_run_id = live->root_run_id,
    };
    birth.first_task_backoff_ns = cron_backoff_ns(birth.cron, host->now_ns);
    int rc = birth_write(host->txn, host->arena, &birth, host->now_ns, ret);
    if (rc == 0) {
        turn_born(host);
    }
    return rc;
}

static void append_started(struct host *host, struct live *live, const struct event *initiated,
                           const struct execution_row *row)
{
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(initiated);
    struct ev_child_workflow_execution_started started = {
        .namespace = RUN_NAMESPACE,
        .initiated_event_id = initiated->id,
        .workflow_execution = name_run(host->arena, row->workflow_id, row->run_id),
        .workflow_type = a->workflow_type,
        .header = a->header,
    };
    append_copy(
        host, live,
        &(struct event){.type = EVENT_CHILD_WORKFLOW_EXECUTION_STARTED, .attributes = &started});
    live->wake = true;
    child_insert(host->txn, &(struct child_row){.execution = live->id,
                                                .initiated_event_id = initiated->id,
                                                .started_event_id = live->next_event_id - 1,
                                                .close_policy = (int)a->parent_close_policy,
                                                .workflow_id = row->workflow_id,
                                                .run_id = row->run_id});
}

void family_start_child(struct host *host, struct live *live, const struct event *initiated,
                        bool closing)
{
    const struct ev_start_child_workflow_execution_initiated *a =
        ev_start_child_workflow_execution_initiated(initiated);
    struct execution_row row;
    struct err err;
    if (closing && a->parent_close_policy != PARENT_CLOSE_POLICY_ABANDON) {
        return;
    }
    int rc = check_id(host, a, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
    } else if (rc > 0) {
        if (!closing) {
            append_start_failed(host, live, initiated);
        }
    } else if (give_birth(host, live, initiated, &row) == 0 && !closing) {
        append_started(host, live, initiated, &row);
    }
}

/* --- requests to other runs ------------------------------------------------------------------- */

/* The run that is meant, open or closed. 0; 1: nobody; <0 error. */
static int find_target(struct host *host, const struct live *live,
                       const struct workflow_execution *target, bool child_only,
                       struct execution_row *ret, struct err *err)
{
    const char *id = target && target->workflow_id ? target->workflow_id : "";
    bool names_run = target && target->run_id && *target->run_id;
    if (str_eq(id, live->workflow_id)) {
        return 1; /* nobody asks itself, says Temporal */
    }
    int rc = names_run ? execution_find_run(db_of(host), host->arena, target->run_id, ret, err)
                       : execution_find_newest(db_of(host), host->arena, id, ret, err);
    if (rc != 0) {
        return rc;
    }
    bool fits = str_eq(ret->workflow_id, id) && (!child_only || ret->parent == live->id);
    return fits ? 0 : 1;
}

void family_signal(struct host *host, struct live *live, const struct event *initiated,
                   bool closing)
{
    const struct ev_signal_external_workflow_execution_initiated *a =
        ev_signal_external_workflow_execution_initiated(initiated);
    struct execution_row row;
    struct err err;
    int rc = find_target(host, live, a->workflow_execution, a->child_workflow_only, &row, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
        return;
    }
    bool found = rc == 0 && row.status == EXECUTION_RUNNING;
    if (found) {
        struct event *event = event_new(host->arena, EVENT_WORKFLOW_EXECUTION_SIGNALED);
        struct ev_workflow_execution_signaled *s = ev_workflow_execution_signaled(event);
        s->signal_name = a->signal_name;
        s->input = a->input;
        s->identity = FAMILY_SERVICE;
        s->header = a->header;
        s->external_workflow_execution = name_run(host->arena, live->workflow_id, live->run_id);
        deliver(host, &row, event, TASK_SIGNAL);
    }
    if (closing) {
        return;
    }
    if (found) {
        struct ev_external_workflow_execution_signaled e = {.initiated_event_id = initiated->id,
                                                            .namespace = RUN_NAMESPACE,
                                                            .workflow_execution =
                                                                a->workflow_execution};
        append_copy(
            host, live,
            &(struct event){.type = EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, .attributes = &e});
    } else {
        struct ev_signal_external_workflow_execution_failed f = {
            .cause = SIGNAL_FINDS_NOBODY,
            .namespace = RUN_NAMESPACE,
            .workflow_execution = a->workflow_execution,
            .initiated_event_id = initiated->id};
        append_copy(host, live,
                    &(struct event){.type = EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED,
                                    .attributes = &f});
    }
    live->wake = true;
}

void family_request_cancel(struct host *host, struct execution_row *row, const char *cause,
                           struct workflow_execution *asker, int64_t initiated_id)
{
    struct live *live = live_peek(host, row->id);
    int64_t id;
    int type;
    struct err err;
    if (live && !live->damaged) {
        live_write(host, live); /* it may have been asked in this very turn */
    }
    int rc = event_last(db_of(host), row->id, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
                        EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &id, &type, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
    }
    if (rc != 1) {
        return;
    }
    struct event *event = event_new(host->arena, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    struct ev_workflow_execution_cancel_requested *c =
        ev_workflow_execution_cancel_requested(event);
    c->cause = cause;
    c->external_initiated_event_id = initiated_id;
    c->external_workflow_execution = asker;
    c->identity = FAMILY_SERVICE;
    deliver(host, row, event, TASK_CANCEL);
}

void family_cancel(struct host *host, struct live *live, const struct event *initiated,
                   bool closing)
{
    const struct ev_request_cancel_external_workflow_execution_initiated *a =
        ev_request_cancel_external_workflow_execution_initiated(initiated);
    struct execution_row row;
    struct err err;
    int rc = find_target(host, live, a->workflow_execution, a->child_workflow_only, &row, &err);
    if (rc < 0) {
        txn_fail(host->txn, &err);
        return;
    }
    if (rc == 0 && row.status == EXECUTION_RUNNING) {
        family_request_cancel(host, &row, a->reason,
                              name_run(host->arena, live->workflow_id, live->run_id),
                              initiated->id);
    }
    if (closing) {
        return;
    }
    if (rc == 0) { /* what is closed already needs no asking */
        struct ev_external_workflow_execution_cancel_requested e = {
            .initiated_event_id = initiated->id,
            .namespace = RUN_NAMESPACE,
            .workflow_execution = a->workflow_execution};
        append_copy(host, live,
                    &(struct event){.type = EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
                                    .attributes = &e});
    } else {
        struct ev_request_cancel_external_workflow_execution_failed f = {
            .cause = CANCEL_FINDS_NOBODY,
            .namespace = RUN_NAMESPACE,
            .workflow_execution = a->workflow_execution,
            .initiated_event_id = initiated->id};
        append_copy(host, live,
                    &(struct event){.type = EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED,
                                    .attributes = &f});
    }
    live->wake = true;
}
