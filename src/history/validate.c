/*
 * validate.c - the rules of validate.h, each checked before anything is changed.
 *
 * Owns: the state of one run as far as order is concerned: the workflow task, whether commands may
 * come, and what is open (open_set.h). Structure: validator_add = general rules, then check() by
 * type, then apply() by type; apply cannot fail, so a refused event leaves no trace.
 *
 *   task:  NONE --SCHEDULED--> SCHEDULED --STARTED--> STARTED --COMPLETED/FAILED/TIMED_OUT--> NONE
 *                                  '--TIMED_OUT (schedule-to-start)--> NONE
 * Tests: tests/unit/test_history_validate.c
 */
#include "history/validate.h"

#include <string.h>

#include "base/mem.h"
#include "history/field.h"
#include "history/open_set.h"

#define WARNINGS_MAX 20

enum task_state { TASK_NONE, TASK_SCHEDULED, TASK_STARTED };

struct validator {
    struct open_set open;
    struct str warning;
    int64_t last_id;
    enum task_state task;
    int64_t task_scheduled;
    int64_t task_started;
    int64_t task_completed; /* of the last COMPLETED */
    bool in_commands;       /* the last event was COMPLETED or a command behind it */
    bool closed;
    /* between check and apply */
    struct open_item *item;
};

struct validator *validator_new(void)
{
    return mem_alloc(sizeof(struct validator));
}

struct validator *validator_free(struct validator *v)
{
    if (v) {
        open_set_free(&v->open);
        str_free(&v->warning);
        free(v);
    }
    return NULL;
}

static int broken(const struct event *event, struct err *err, const char *rule, const char *fmt,
                  ...) printf_like(4, 5);

static int broken(const struct event *event, struct err *err, const char *rule, const char *fmt,
                  ...)
{
    autostr struct str what = {0};
    va_list ap;

    va_start(ap, fmt);
    str_addv(&what, fmt, ap);
    va_end(ap);
    return err_set(err, ERR_PERMANENT, "HistoryInvalid", "event %lld %s breaks %s: %s",
                   (long long)event->id, event_type_title(event->type), rule, str_c(&what));
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* --- workflow task (H3) --- */

static void warn(struct validator *v, const struct event *event, const char *fmt, ...)
    printf_like(3, 4);

static void warn(struct validator *v, const struct event *event, const char *fmt, ...)
{
    va_list ap;

    str_addf(&v->warning, "%sevent %lld %s: ", v->warning.len > 0 ? "; " : "", (long long)event->id,
             event_type_title(event->type));
    va_start(ap, fmt);
    str_addv(&v->warning, fmt, ap);
    va_end(ap);
}

static int check_task_ids(struct validator *v, const struct event *event, struct err *err)
{
    if (event_scheduled_id(event) != v->task_scheduled) {
        return broken(event, err, "H6",
                      "scheduled event id is %lld, the task was scheduled at %lld",
                      (long long)event_scheduled_id(event), (long long)v->task_scheduled);
    }
    if (event->type == EVENT_WORKFLOW_TASK_COMPLETED && event_started_id(event) == 0) {
        warn(v, event, "H6: the started event id is missing, expected %lld",
             (long long)v->task_started);
        return 0;
    }
    if (event->type != EVENT_WORKFLOW_TASK_STARTED && event_started_id(event) != v->task_started) {
        return broken(event, err, "H6", "started event id is %lld, the task was started at %lld",
                      (long long)event_started_id(event), (long long)v->task_started);
    }
    return 0;
}

static int check_task(struct validator *v, const struct event *event, struct err *err)
{
    if (event->type == EVENT_WORKFLOW_TASK_SCHEDULED) {
        return v->task == TASK_NONE
                   ? 0
                   : broken(event, err, "H3", "the task scheduled at event %lld is still open",
                            (long long)v->task_scheduled);
    }
    if (event->type == EVENT_WORKFLOW_TASK_STARTED) {
        if (v->task != TASK_SCHEDULED) {
            return broken(event, err, "H3", "expected a task that is scheduled and not started");
        }
        if (event->no_time) {
            return broken(event, err, "H13", "the time is missing; it is the workflow's clock");
        }
        return check_task_ids(v, event, err);
    }
    if (v->task == TASK_SCHEDULED && event->type == EVENT_WORKFLOW_TASK_TIMED_OUT) {
        return check_task_ids(v, event, err); /* unstarted: started id 0 */
    }
    if (v->task != TASK_STARTED) {
        return broken(event, err, "H3", "expected a started workflow task");
    }
    return check_task_ids(v, event, err);
}

static void apply_task(struct validator *v, const struct event *event)
{
    if (event->type == EVENT_WORKFLOW_TASK_SCHEDULED) {
        v->task = TASK_SCHEDULED;
        v->task_scheduled = event->id;
        v->task_started = 0;
    } else if (event->type == EVENT_WORKFLOW_TASK_STARTED) {
        v->task = TASK_STARTED;
        v->task_started = event->id;
    } else {
        v->task = TASK_NONE;
        if (event->type == EVENT_WORKFLOW_TASK_COMPLETED) {
            v->task_completed = event->id;
        }
    }
}

/* --- things that open and close (H6..H11) --- */

enum role { ROLE_NONE, ROLE_OPEN, ROLE_START, ROLE_CLOSE, ROLE_CANCEL };

/* What each type does to which kind of open item. */
static const struct {
    uint8_t role;
    uint8_t kind;
    bool needs_start; /* ROLE_CLOSE: only after a STARTED */
    bool unstarted;   /* ROLE_CLOSE: only before a STARTED */
} roles[EVENT_TYPE_MAX + 1] = {
    [EVENT_ACTIVITY_TASK_SCHEDULED] = {ROLE_OPEN, OPEN_ACTIVITY, false, false},
    [EVENT_ACTIVITY_TASK_STARTED] = {ROLE_START, OPEN_ACTIVITY, false, false},
    [EVENT_ACTIVITY_TASK_COMPLETED] = {ROLE_CLOSE, OPEN_ACTIVITY, true, false},
    [EVENT_ACTIVITY_TASK_FAILED] = {ROLE_CLOSE, OPEN_ACTIVITY, true, false},
    [EVENT_ACTIVITY_TASK_TIMED_OUT] = {ROLE_CLOSE, OPEN_ACTIVITY, false, false},
    [EVENT_ACTIVITY_TASK_CANCELED] = {ROLE_CLOSE, OPEN_ACTIVITY, false, false},
    [EVENT_ACTIVITY_TASK_CANCEL_REQUESTED] = {ROLE_CANCEL, OPEN_ACTIVITY, false, false},
    [EVENT_TIMER_STARTED] = {ROLE_OPEN, OPEN_TIMER, false, false},
    [EVENT_TIMER_FIRED] = {ROLE_CLOSE, OPEN_TIMER, false, false},
    [EVENT_TIMER_CANCELED] = {ROLE_CLOSE, OPEN_TIMER, false, false},
    [EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED] = {ROLE_OPEN, OPEN_CHILD, false, false},
    [EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED] = {ROLE_CLOSE, OPEN_CHILD, false, true},
    [EVENT_CHILD_WORKFLOW_EXECUTION_STARTED] = {ROLE_START, OPEN_CHILD, false, false},
    [EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED] = {ROLE_CLOSE, OPEN_CHILD, true, false},
    [EVENT_CHILD_WORKFLOW_EXECUTION_FAILED] = {ROLE_CLOSE, OPEN_CHILD, true, false},
    [EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED] = {ROLE_CLOSE, OPEN_CHILD, true, false},
    [EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT] = {ROLE_CLOSE, OPEN_CHILD, true, false},
    [EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED] = {ROLE_CLOSE, OPEN_CHILD, true, false},
    [EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED] = {ROLE_OPEN, OPEN_REQUEST, false, false},
    [EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED] = {ROLE_CLOSE, OPEN_REQUEST, false, false},
    [EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED] = {ROLE_CLOSE, OPEN_REQUEST, false, false},
    [EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED] = {ROLE_OPEN, OPEN_REQUEST, false,
                                                                    false},
    [EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED] = {ROLE_CLOSE, OPEN_REQUEST, false,
                                                                 false},
    [EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED] = {ROLE_CLOSE, OPEN_REQUEST, false, false},
    [EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED] = {ROLE_OPEN, OPEN_UPDATE, false, false},
    [EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED] = {ROLE_CLOSE, OPEN_UPDATE, false, false},
    [EVENT_NEXUS_OPERATION_SCHEDULED] = {ROLE_OPEN, OPEN_NEXUS, false, false},
    [EVENT_NEXUS_OPERATION_STARTED] = {ROLE_START, OPEN_NEXUS, false, false},
    [EVENT_NEXUS_OPERATION_COMPLETED] = {ROLE_CLOSE, OPEN_NEXUS, false, false},
    [EVENT_NEXUS_OPERATION_FAILED] = {ROLE_CLOSE, OPEN_NEXUS, false, false},
    [EVENT_NEXUS_OPERATION_CANCELED] = {ROLE_CLOSE, OPEN_NEXUS, false, false},
    [EVENT_NEXUS_OPERATION_TIMED_OUT] = {ROLE_CLOSE, OPEN_NEXUS, false, false},
    [EVENT_NEXUS_OPERATION_CANCEL_REQUESTED] = {ROLE_CANCEL, OPEN_NEXUS, false, false},
};

static const char *const kind_names[OPEN_KINDS] = {
    "activity", "timer", "child workflow", "external request", "update", "nexus operation",
};
static const char *const kind_rules[OPEN_KINDS] = {"H7", "H8", "H9", "H10", "H11", "H6"};

/* The id text that must be unique among what is open; NULL when the kind has none. */
static const char *own_name(const struct event *event)
{
    if (event->type == EVENT_ACTIVITY_TASK_SCHEDULED) {
        return or_empty(ev_activity_task_scheduled(event)->activity_id);
    }
    if (event->type == EVENT_TIMER_STARTED) {
        return or_empty(ev_timer_started(event)->timer_id);
    }
    if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
        return or_empty(ev_workflow_execution_update_accepted(event)->protocol_instance_id);
    }
    return NULL;
}

/* Which opening event this one names. */
static int64_t opener_id(const struct event *event, enum open_kind kind)
{
    switch (kind) {
    case OPEN_ACTIVITY:
    case OPEN_NEXUS:
        return event_scheduled_id(event);
    case OPEN_TIMER:
        return event_started_id(event);
    case OPEN_CHILD:
    case OPEN_REQUEST:
        return event_initiated_id(event);
    case OPEN_UPDATE:
        return ev_workflow_execution_update_completed(event)->accepted_event_id;
    }
    return 0;
}

/* The item that the event starts, closes or cancels; NULL when there is none. */
static struct open_item *find_item(struct validator *v, const struct event *event,
                                   enum open_kind kind, int64_t id)
{
    if (kind != OPEN_UPDATE || id != 0) {
        return open_set_find(&v->open, kind, id);
    }
    const struct update_meta *meta = ev_workflow_execution_update_completed(event)->meta;
    struct open_item *item =
        meta && meta->update_id ? open_set_find_name(&v->open, kind, meta->update_id) : NULL;
    if (item) {
        warn(v, event, "H11: the accepted event id is missing, expected %lld", (long long)item->id);
    }
    return item;
}

static int check_open(const struct validator *v, const struct event *event, enum open_kind kind,
                      struct err *err)
{
    const char *name = own_name(event);
    const struct open_item *other = name ? open_set_find_name(&v->open, kind, name) : NULL;

    if (other) {
        return broken(event, err, kind_rules[kind], "%s id \"%s\" is in use since event %lld",
                      kind_names[kind], name, (long long)other->id);
    }
    return 0;
}

/* Does the closing event name the STARTED event of its item? */
static int check_started(const struct event *event, const struct open_item *item, bool needs_start,
                         struct err *err)
{
    const char *rule = kind_rules[item->kind];
    int64_t started = event_started_id(event);

    if (needs_start && item->started == 0) {
        return broken(event, err, rule, "the %s of event %lld has no STARTED event",
                      kind_names[item->kind], (long long)item->id);
    }
    if (started != item->started) {
        return broken(event, err, "H6", "started event id is %lld, expected %lld",
                      (long long)started, (long long)item->started);
    }
    return 0;
}

static void warn_timer(struct validator *v, const struct event *event)
{
    const char *name = event->type == EVENT_TIMER_FIRED ? ev_timer_fired(event)->timer_id
                                                        : ev_timer_canceled(event)->timer_id;

    if (strcmp(or_empty(name), v->item->name) != 0) {
        warn(v, event, "H8: timer id is \"%s\", but event %lld started \"%s\"", or_empty(name),
             (long long)v->item->id, v->item->name);
    }
}

static int check_request(const struct event *event, const struct open_item *item, struct err *err)
{
    bool answers_signal = event->type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED ||
                          event->type == EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED;
    bool is_signal = item->type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED;

    if (answers_signal != is_signal) {
        return broken(event, err, "H10", "event %lld is a %s", (long long)item->id,
                      event_type_title(item->type));
    }
    return 0;
}

static int check_close(const struct event *event, const struct open_item *item, struct err *err)
{
    if (roles[event->type].unstarted && item->started != 0) {
        return broken(event, err, kind_rules[item->kind], "it was started at event %lld",
                      (long long)item->started);
    }
    if (event->type == EVENT_ACTIVITY_TASK_CANCELED && item->cancel == 0) {
        return broken(event, err, "H7", "nobody asked to cancel the activity of event %lld",
                      (long long)item->id);
    }
    if (item->kind == OPEN_REQUEST) {
        return check_request(event, item, err);
    }
    if (item->kind == OPEN_ACTIVITY || roles[event->type].needs_start) {
        return check_started(event, item, roles[event->type].needs_start, err);
    }
    return 0;
}

static int check_item(struct validator *v, const struct event *event, struct err *err)
{
    enum role role = roles[event->type].role;
    enum open_kind kind = roles[event->type].kind;

    if (role == ROLE_OPEN) {
        return check_open(v, event, kind, err);
    }
    int64_t id = opener_id(event, kind);
    v->item = find_item(v, event, kind, id);
    if (!v->item) {
        /* Asking to cancel what has just ended is legal and has no effect. */
        if (role == ROLE_CANCEL && id > 0 && id < event->id) {
            return 0;
        }
        return broken(event, err, "H6", "expected an open %s, event %lld began none",
                      kind_names[kind], (long long)id);
    }
    if (role == ROLE_START && v->item->started != 0) {
        return broken(event, err, kind_rules[kind], "started before, at event %lld",
                      (long long)v->item->started);
    }
    return role == ROLE_CLOSE ? check_close(event, v->item, err) : 0;
}

static void apply_item(struct validator *v, const struct event *event)
{
    enum role role = roles[event->type].role;
    enum open_kind kind = roles[event->type].kind;

    if (role == ROLE_OPEN) {
        open_set_add(&v->open, kind, event->type, event->id, own_name(event));
    } else if (role == ROLE_START) {
        v->item->started = event->id;
    } else if (role == ROLE_CANCEL && v->item) {
        v->item->cancel = event->id;
    } else if (role == ROLE_CLOSE && kind != OPEN_UPDATE) {
        open_set_remove(&v->open, v->item);
    } else if (role == ROLE_CLOSE) {
        v->item->started = event->id; /* an update id stays taken for the run's life */
    }
    v->item = NULL;
}

static int check_update(const struct validator *v, const struct event *event, struct err *err)
{
    if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED && v->item->started != 0) {
        return broken(event, err, "H11", "the update was completed at event %lld",
                      (long long)v->item->started);
    }
    return 0;
}

/* --- general rules --- */

static bool closes_from_outside(enum event_type type)
{
    return type == EVENT_WORKFLOW_EXECUTION_TERMINATED ||
           type == EVENT_WORKFLOW_EXECUTION_TIMED_OUT;
}

static int check_place(const struct validator *v, const struct event *event, struct err *err)
{
    if (event->id != v->last_id + 1) {
        return broken(event, err, "H2", "expected event id %lld", (long long)v->last_id + 1);
    }
    if ((event->type == EVENT_WORKFLOW_EXECUTION_STARTED) != (event->id == 1)) {
        return broken(event, err, "H1",
                      event->id == 1 ? "a run begins with WorkflowExecutionStarted"
                                     : "only event 1 starts a run");
    }
    if (v->closed) {
        return broken(event, err, "H12", "the run was closed at event %lld", (long long)v->last_id);
    }
    if (event->type == EVENT_UNKNOWN) {
        return event->worker_may_ignore
                   ? 0
                   : broken(event, err, "H13", "the type is not known and must not be ignored");
    }
    if (event->no_attributes && !event->worker_may_ignore) {
        return broken(event, err, "H13", "%s is missing", event_desc(event->type)->attributes);
    }
    if (event_is_command(event->type) && !v->in_commands) {
        return broken(event, err, "H5",
                      "a command's event must follow WorkflowTaskCompleted directly");
    }
    if (v->task == TASK_STARTED && !event_is_workflow_task(event->type) &&
        !closes_from_outside(event->type)) {
        return broken(event, err, "H4", "the workflow task started at event %lld must end first",
                      (long long)v->task_started);
    }
    return 0;
}

static int check(struct validator *v, const struct event *event, struct err *err)
{
    if (check_place(v, event, err) < 0) {
        return -1;
    }
    if (event_is_workflow_task(event->type)) {
        return check_task(v, event, err);
    }
    if (roles[event->type].role == ROLE_NONE) {
        return 0;
    }
    if (check_item(v, event, err) < 0) {
        return -1;
    }
    return check_update(v, event, err);
}

static void warn_backref(struct validator *v, const struct event *event)
{
    int64_t completed = event_completed_id(event);

    if (!event_is_command(event->type) || completed == v->task_completed ||
        event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED ||
        event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_REJECTED ||
        event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
        return;
    }
    warn(v, event, "H14: workflow task completed event id is %lld, expected %lld",
         (long long)completed, (long long)v->task_completed);
}

int validator_add(struct validator *v, const struct event *event, struct err *err)
{
    str_reset(&v->warning);
    v->item = NULL;
    if (check(v, event, err) < 0) {
        str_reset(&v->warning);
        return -1;
    }
    warn_backref(v, event);
    if (v->item && v->item->kind == OPEN_TIMER) {
        warn_timer(v, event);
    }
    if (event_is_workflow_task(event->type)) {
        apply_task(v, event);
    } else if (roles[event->type].role != ROLE_NONE) {
        apply_item(v, event);
    }
    v->in_commands = event->type == EVENT_WORKFLOW_TASK_COMPLETED ||
                     (v->in_commands && event_is_command(event->type));
    v->closed = event_is_close(event->type);
    v->last_id = event->id;
    return v->warning.len > 0 ? 1 : 0;
}

const char *validator_warning(const struct validator *v)
{
    return str_c(&v->warning);
}

bool validator_is_closed(const struct validator *v)
{
    return v->closed;
}

bool validator_task_scheduled(const struct validator *v)
{
    return v->task != TASK_NONE;
}

bool validator_task_started(const struct validator *v)
{
    return v->task == TASK_STARTED;
}

size_t validator_open_activities(const struct validator *v)
{
    return v->open.counts[OPEN_ACTIVITY];
}

size_t validator_open_timers(const struct validator *v)
{
    return v->open.counts[OPEN_TIMER];
}

size_t validator_open_children(const struct validator *v)
{
    return v->open.counts[OPEN_CHILD];
}

int history_validate(const struct history *history, struct str *warnings, struct err *err)
{
    autovalidator struct validator *v = validator_new();
    size_t count = 0;

    if (history->count == 0) {
        return err_set(err, ERR_PERMANENT, "HistoryInvalid",
                       "H1: a history has at least one event");
    }
    for (size_t i = 0; i < history->count; i++) {
        int rc = validator_add(v, &history->items[i], err);
        if (rc < 0) {
            return rc;
        }
        if (rc > 0 && warnings && count < WARNINGS_MAX) {
            str_addf(warnings, "%s\n", validator_warning(v));
        }
        count += rc > 0;
    }
    if (warnings && count > WARNINGS_MAX) {
        str_addf(warnings, "and %zu more\n", count - WARNINGS_MAX);
    }
    return count > 0 ? 1 : 0;
}
