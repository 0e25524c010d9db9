/*
 * exec_host.c - the in-memory host of the exec tests; see exec_host.h.
 *
 * Tests: it is part of tests/unit/test_exec_run.c and its neighbours.
 */
#include "exec_host.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "history/failure.h"

#define START_NS 1767323045000000000LL /* 2026-01-02T03:04:05Z */

void host_init(struct host *h, dur_workflow_fn fn, void *user, const char *input)
{
    memset(h, 0, sizeof(*h));
    h->arena = arena_new();
    h->now_ns = START_NS;
    h->spec = (struct run_spec){
        .fn = fn,
        .user = user,
        .workflow_id = "order-42",
        .run_id = "0198c504-e431-787f-a871-2bf426943d58",
        .type = "Order",
        .task_queue = "default",
        .identity = "test@host",
    };
    struct ev_workflow_execution_started *a =
        ev_workflow_execution_started(host_append(h, EVENT_WORKFLOW_EXECUTION_STARTED));
    a->workflow_type = "Order";
    a->input = payloads_json(h->arena, input);
    a->original_execution_run_id = h->spec.run_id;
    a->task_queue = task_queue_new(h->arena, "default");
    host_wake(h);
    h->run = run_new(&h->spec);
}

void host_free(struct host *h)
{
    run_free(h->run);
    free(h->events);
    str_free(&h->text);
    arena_free(h->arena);
}

struct event *host_append(struct host *h, enum event_type type)
{
    struct event *event = event_new(h->arena, type);

    mem_reserve(h->events, &h->cap, h->count + 1);
    h->events[h->count++] = event;
    event->id = (int64_t)h->count;
    h->now_ns += 10 * NS_PER_MS;
    event->time_ns = h->now_ns;
    return event;
}

void host_wake(struct host *h)
{
    if (!h->task_pending) {
        h->task_pending = true;
        host_append(h, EVENT_WORKFLOW_TASK_SCHEDULED);
    }
}

int host_task(struct host *h)
{
    host_wake(h);
    h->task_pending = false;
    int64_t scheduled = (int64_t)h->count;
    while (h->events[scheduled - 1]->type != EVENT_WORKFLOW_TASK_SCHEDULED) {
        scheduled--;
    }
    struct event *started = host_append(h, EVENT_WORKFLOW_TASK_STARTED);
    ev_workflow_task_started(started)->scheduled_event_id = scheduled;
    size_t from = (size_t)run_processed(h->run);
    run_give_updates(h->run, h->updates, h->update_count);
    h->update_count = 0;
    int rc = run_task(h->run, (const struct event *const *)h->events + from, h->count - from,
                      &h->out, &h->err);
    h->last = h->count;
    if (rc == 0 && h->out.no_trace) {
        run_undo_task(h->run);
        h->count = from;
        h->last = h->count - 1;
        return 0;
    }
    for (size_t i = 0; rc == 0 && i < h->out.count; i++) {
        const struct event *made = h->out.events[i];
        cr_assert_eq(made->id, (int64_t)h->count + 1, "ids follow the started event");
        cr_assert(i == 0 ? made->type == EVENT_WORKFLOW_TASK_COMPLETED
                         : event_is_command(made->type));
        if (i > 0) {
            bool is_update = made->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED ||
                             made->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED;
            cr_assert_eq(event_completed_id(made), is_update ? 0 : started->id + 1);
        }
        struct event *mine = host_append(h, made->type);
        int64_t time_ns = mine->time_ns;
        event_copy(mine, made, h->arena);
        mine->time_ns = time_ns;
    }
    if (rc == 0) {
        cr_assert_eq(run_processed(h->run), (int64_t)h->count);
    }
    return rc;
}

int host_evict(struct host *h)
{
    struct run_output out;

    run_free(h->run);
    h->run = run_new(&h->spec);
    int rc = run_replay(h->run, (const struct event *const *)h->events, h->count, &out, &h->err);
    h->out = out;
    return rc;
}

/* --- what is open ------------------------------------------------------------------------------
 */

/* The open child or request with this workflow id: where it was initiated. */
static const struct event *initiated_event(const struct host *h, const char *id,
                                           enum event_type type)
{
    for (size_t i = h->count; i-- > 0;) {
        const struct event *e = h->events[i];
        const char *text = e->type != type ? NULL
                           : type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED
                               ? ev_start_child_workflow_execution_initiated(e)->workflow_id
                           : type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED
                               ? ev_signal_external_workflow_execution_initiated(e)
                                     ->workflow_execution->workflow_id
                               : ev_request_cancel_external_workflow_execution_initiated(e)
                                     ->workflow_execution->workflow_id;
        if (text && strcmp(text, id) == 0) {
            return e;
        }
    }
    cr_assert_fail("nothing initiated for %s", id);
    return NULL;
}

static struct workflow_execution *child_name(struct host *h, const char *id)
{
    struct workflow_execution *name = arena_new_of(h->arena, struct workflow_execution);

    name->workflow_id = arena_strdup(h->arena, id);
    name->run_id = "0198c504-e431-787f-a871-2bf426943d59";
    return name;
}

void host_child_started(struct host *h, const char *id)
{
    const struct event *initiated =
        initiated_event(h, id, EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED);
    struct ev_child_workflow_execution_started *a =
        ev_child_workflow_execution_started(host_append(h, EVENT_CHILD_WORKFLOW_EXECUTION_STARTED));

    a->initiated_event_id = initiated->id;
    a->workflow_execution = child_name(h, id);
    a->workflow_type = ev_start_child_workflow_execution_initiated(initiated)->workflow_type;
    host_wake(h);
}

void host_child_ended(struct host *h, const char *id, enum event_type type)
{
    int64_t initiated = initiated_event(h, id, EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED)->id;
    int64_t started = 0;

    for (size_t i = 0; i < h->count; i++) {
        if (h->events[i]->type == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED &&
            event_initiated_id(h->events[i]) == initiated) {
            started = h->events[i]->id;
        }
    }
    struct event *e = host_append(h, type);
    switch (type) {
    case EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED:
        *ev_child_workflow_execution_completed(e) =
            (struct ev_child_workflow_execution_completed){.result = payloads_json(h->arena, "[7]"),
                                                           .initiated_event_id = initiated,
                                                           .started_event_id = started};
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_FAILED:
        *ev_child_workflow_execution_failed(e) = (struct ev_child_workflow_execution_failed){
            .failure = failure_of_kind(h->arena, DUR_PERMANENT, "Broken", "it broke", NULL),
            .initiated_event_id = initiated,
            .started_event_id = started,
            .retry_state = RETRY_STATE_RETRY_POLICY_NOT_SET};
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED:
        ev_child_workflow_execution_canceled(e)->initiated_event_id = initiated;
        ev_child_workflow_execution_canceled(e)->started_event_id = started;
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
        ev_child_workflow_execution_timed_out(e)->initiated_event_id = initiated;
        ev_child_workflow_execution_timed_out(e)->started_event_id = started;
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED:
        ev_child_workflow_execution_terminated(e)->initiated_event_id = initiated;
        ev_child_workflow_execution_terminated(e)->started_event_id = started;
        break;
    default:
        ev_start_child_workflow_execution_failed(e)->initiated_event_id = initiated;
        ev_start_child_workflow_execution_failed(e)->cause =
            START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS;
    }
    host_wake(h);
}

void host_set_initiated(struct event *answer, int64_t id)
{
    switch (answer->type) {
    case EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
        ev_external_workflow_execution_signaled(answer)->initiated_event_id = id;
        break;
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
        ev_signal_external_workflow_execution_failed(answer)->initiated_event_id = id;
        break;
    case EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        ev_external_workflow_execution_cancel_requested(answer)->initiated_event_id = id;
        break;
    default:
        ev_request_cancel_external_workflow_execution_failed(answer)->initiated_event_id = id;
    }
}

void host_answered(struct host *h, const char *id, enum event_type type)
{
    bool signal = type == EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED ||
                  type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED;
    int64_t initiated =
        initiated_event(h, id,
                        signal ? EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED
                               : EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED)
            ->id;
    host_set_initiated(host_append(h, type), initiated);
    host_wake(h);
}

static bool is_end_of(const struct event *event, int64_t opened, bool timer)
{
    switch (event->type) {
    case EVENT_TIMER_FIRED:
    case EVENT_TIMER_CANCELED:
        return timer && event_started_id(event) == opened;
    case EVENT_ACTIVITY_TASK_COMPLETED:
    case EVENT_ACTIVITY_TASK_FAILED:
    case EVENT_ACTIVITY_TASK_TIMED_OUT:
    case EVENT_ACTIVITY_TASK_CANCELED:
        return !timer && event_scheduled_id(event) == opened;
    default:
        return false;
    }
}

static const struct event *open_event(const struct host *h, size_t index, bool timer)
{
    enum event_type type = timer ? EVENT_TIMER_STARTED : EVENT_ACTIVITY_TASK_SCHEDULED;

    for (size_t i = 0; i < h->count; i++) {
        bool open = h->events[i]->type == type;
        for (size_t k = i + 1; open && k < h->count; k++) {
            open = !is_end_of(h->events[k], h->events[i]->id, timer);
        }
        if (open && index-- == 0) {
            return h->events[i];
        }
    }
    return NULL;
}

const char *host_open_activity(const struct host *h, size_t index, bool *ret_cancel_requested)
{
    const struct event *event = open_event(h, index, false);

    if (event && ret_cancel_requested) {
        *ret_cancel_requested = false;
        for (size_t i = 0; i < h->count; i++) {
            *ret_cancel_requested |= h->events[i]->type == EVENT_ACTIVITY_TASK_CANCEL_REQUESTED &&
                                     event_scheduled_id(h->events[i]) == event->id;
        }
    }
    return event ? ev_activity_task_scheduled(event)->activity_id : NULL;
}

const char *host_open_timer(const struct host *h, size_t index)
{
    const struct event *event = open_event(h, index, true);

    return event ? ev_timer_started(event)->timer_id : NULL;
}

static int64_t activity_event(const struct host *h, const char *id)
{
    const char *open;

    for (size_t i = 0; (open = host_open_activity(h, i, NULL)); i++) {
        if (strcmp(open, id) == 0) {
            return open_event(h, i, false)->id;
        }
    }
    cr_assert_fail("no open activity %s", id);
    return 0;
}

/* --- things that happen ------------------------------------------------------------------------
 */

static int64_t begin_activity(struct host *h, const char *id, int64_t *ret_scheduled)
{
    *ret_scheduled = activity_event(h, id);
    struct event *event = host_append(h, EVENT_ACTIVITY_TASK_STARTED);
    ev_activity_task_started(event)->scheduled_event_id = *ret_scheduled;
    ev_activity_task_started(event)->attempt = 3;
    return event->id;
}

void host_done(struct host *h, const char *activity_id, const char *result)
{
    int64_t scheduled;
    int64_t started = begin_activity(h, activity_id, &scheduled);
    struct event *event = host_append(h, EVENT_ACTIVITY_TASK_COMPLETED);

    ev_activity_task_completed(event)->scheduled_event_id = scheduled;
    ev_activity_task_completed(event)->started_event_id = started;
    ev_activity_task_completed(event)->result = payloads_json(h->arena, result);
    host_wake(h);
}

void host_failed(struct host *h, const char *activity_id, dur_kind kind, const char *type,
                 const char *message)
{
    int64_t scheduled;
    int64_t started = begin_activity(h, activity_id, &scheduled);
    struct ev_activity_task_failed *a =
        ev_activity_task_failed(host_append(h, EVENT_ACTIVITY_TASK_FAILED));

    a->scheduled_event_id = scheduled;
    a->started_event_id = started;
    a->failure = failure_of_kind(h->arena, kind, type, message, NULL);
    a->retry_state = kind == DUR_PERMANENT ? RETRY_STATE_NON_RETRYABLE_FAILURE
                                           : RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED;
    a->identity = "test@host";
    host_wake(h);
}

void host_timed_out(struct host *h, const char *activity_id, enum timeout_type type)
{
    int64_t scheduled;
    int64_t started = 0;

    if (type == TIMEOUT_TYPE_SCHEDULE_TO_START) {
        scheduled = activity_event(h, activity_id);
    } else {
        started = begin_activity(h, activity_id, &scheduled);
    }
    struct ev_activity_task_timed_out *a =
        ev_activity_task_timed_out(host_append(h, EVENT_ACTIVITY_TASK_TIMED_OUT));
    a->scheduled_event_id = scheduled;
    a->started_event_id = started;
    a->failure = failure_timeout(
        h->arena, type, NULL, payloads_json(h->arena, "{\"pid\":7}"),
        failure_of_kind(h->arena, DUR_TRANSIENT, "BankDown", "bank does not answer", NULL));
    a->retry_state = RETRY_STATE_TIMEOUT;
    host_wake(h);
}

void host_canceled(struct host *h, const char *activity_id)
{
    int64_t scheduled;
    int64_t started = begin_activity(h, activity_id, &scheduled);
    struct ev_activity_task_canceled *a =
        ev_activity_task_canceled(host_append(h, EVENT_ACTIVITY_TASK_CANCELED));

    a->scheduled_event_id = scheduled;
    a->started_event_id = started;
    host_wake(h);
}

void host_canceled_waiting(struct host *h, const char *activity_id)
{
    int64_t scheduled = activity_event(h, activity_id);

    ev_activity_task_canceled(host_append(h, EVENT_ACTIVITY_TASK_CANCELED))->scheduled_event_id =
        scheduled;
    host_wake(h);
}

void host_fired(struct host *h, const char *timer_id)
{
    const char *open;

    for (size_t i = 0; (open = host_open_timer(h, i)); i++) {
        if (strcmp(open, timer_id) == 0) {
            int64_t started = open_event(h, i, true)->id;
            struct event *event = host_append(h, EVENT_TIMER_FIRED);
            ev_timer_fired(event)->timer_id = arena_strdup(h->arena, timer_id);
            ev_timer_fired(event)->started_event_id = started;
            host_wake(h);
            return;
        }
    }
    cr_assert_fail("no open timer %s", timer_id);
}

void host_signal(struct host *h, const char *name, const char *input)
{
    struct event *event = host_append(h, EVENT_WORKFLOW_EXECUTION_SIGNALED);

    ev_workflow_execution_signaled(event)->signal_name = arena_strdup(h->arena, name);
    ev_workflow_execution_signaled(event)->input = payloads_json(h->arena, input);
    host_wake(h);
}

void host_cancel(struct host *h, const char *reason)
{
    struct event *event = host_append(h, EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED);

    ev_workflow_execution_cancel_requested(event)->cause = arena_strdup(h->arena, reason);
    host_wake(h);
}

void host_update(struct host *h, const char *id, const char *name, const char *input)
{
    cr_assert(h->update_count < sizeof(h->updates) / sizeof(h->updates[0]));
    h->updates[h->update_count++] =
        (struct run_update){.update_id = id, .name = name, .input = input, .identity = "me"};
}

const char *host_rejections(struct host *h)
{
    str_reset(&h->text);
    for (size_t i = 0; i < h->out.rejection_count; i++) {
        const struct run_rejection *r = &h->out.rejections[i];
        str_addf(&h->text, "%s%s:%s: %s", i ? ", " : "", r->update_id, failure_type(r->failure),
                 r->failure->message);
    }
    return str_c(&h->text);
}

/* --- notation ----------------------------------------------------------------------------------
 */

static const char *activity_of(const struct host *h, const struct event *event)
{
    return ev_activity_task_scheduled(h->events[event_scheduled_id(event) - 1])->activity_id;
}

static void note_update(struct str *s, const struct event *e)
{
    const struct ev_workflow_execution_update_completed *a =
        ev_workflow_execution_update_completed(e);
    const struct failure *f = a->outcome->failure;

    str_addf(s, "=U%s", a->meta->update_id);
    if (f) {
        str_addf(s, "!%s", failure_kind(f) == FAILURE_CANCELED ? "Canceled" : failure_type(f));
    } else {
        str_addf(s, ":%s", payloads_first_json(a->outcome->success, NULL));
    }
}

static void note(struct host *h, const struct event *e)
{
    struct str *s = &h->text;

    str_add(s, s->len ? " " : "");
    switch (e->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED:
        str_addf(s, "+A%s:%s", ev_activity_task_scheduled(e)->activity_id,
                 ev_activity_task_scheduled(e)->activity_type);
        return;
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
        str_addf(s, "?A%s", activity_of(h, e));
        return;
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        str_addf(s, "+C%s:%s", ev_start_child_workflow_execution_initiated(e)->workflow_id,
                 ev_start_child_workflow_execution_initiated(e)->workflow_type);
        return;
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        str_addf(
            s, "+S%s:%s",
            ev_signal_external_workflow_execution_initiated(e)->workflow_execution->workflow_id,
            ev_signal_external_workflow_execution_initiated(e)->signal_name);
        return;
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        str_addf(s, "?C%s",
                 ev_request_cancel_external_workflow_execution_initiated(e)
                     ->workflow_execution->workflow_id);
        return;
    case EVENT_TIMER_STARTED:
        str_addf(s, "+T%s", ev_timer_started(e)->timer_id);
        return;
    case EVENT_TIMER_CANCELED:
        str_addf(s, "-T%s", ev_timer_canceled(e)->timer_id);
        return;
    case EVENT_MARKER_RECORDED:
        str_addf(s, "!%s", ev_marker_recorded(e)->marker_name);
        return;
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        str_add(s, "attr");
        return;
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED:
        str_add(s, "memo");
        return;
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
        str_addf(s, "+U%s", ev_workflow_execution_update_accepted(e)->protocol_instance_id);
        return;
    case EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
        note_update(s, e);
        return;
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        str_addf(s, "=done:%s",
                 payloads_first_json(ev_workflow_execution_completed(e)->result, NULL));
        return;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        str_add(s, "=failed");
        return;
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
        str_add(s, "=canceled");
        return;
    default:
        str_add(s, event_type_title(e->type));
    }
}

const char *host_commands(struct host *h)
{
    str_reset(&h->text);
    for (size_t i = h->last + 1; i < h->count; i++) {
        note(h, h->events[i]);
    }
    return str_c(&h->text);
}

const char *host_trace(struct host *h)
{
    str_reset(&h->text);
    for (size_t i = 0; i < h->count; i++) {
        note(h, h->events[i]);
    }
    return str_c(&h->text);
}
