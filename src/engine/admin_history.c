/*
 * admin_history.c - histories for people: shown, judged, compared and printed (admin.h).
 *
 * Owns: what is worth telling of each event, and the alignment of two histories. A history comes
 * from a run or from bytes; what is done with it does not know which.
 * Must not: decide about equality of events (history/diff.h does).
 * Tests: tests/unit/test_engine_admin.c, tests/cli/t0655-history-files.sh
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "engine/admin_rows.h"
#include "engine/engine.h"
#include "history/diff.h"
#include "history/json.h"
#include "history/proto.h"
#include "history/sealing.h"
#include "history/source.h"
#include "history/validate.h"

#define LOOK_AHEAD 64 /* events, to find where two histories meet again */

struct admin_loaded {
    struct arena *arena;
    struct history history;
    int64_t bytes; /* as stored, or as given */
    bool protobuf;
};

/* --- showing ---------------------------------------------------------------------------------- */

static const char *first_json(struct arena *arena, const struct payloads *payloads)
{
    size_t len = 0;
    const char *text = payloads ? payloads_first_json(payloads, &len) : NULL;
    const char *key_id = NULL;
    autostr struct str quoted = {0};
    if (payloads && payloads->count > 0 && payload_is_sealed(&payloads->items[0], &key_id)) {
        const char *shown = arena_printf(arena, "(sealed with the key %s)", key_id);
        json_quote(&quoted, shown, strlen(shown));
        return arena_strdup(arena, str_c(&quoted));
    }
    return text ? arena_strndup(arena, text, len) : NULL;
}

static void show_activity(struct arena *arena, const struct event *event, struct admin_event *to)
{
    to->scheduled_id = event_scheduled_id(event);
    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED: {
        const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
        to->name = a->activity_type;
        to->input = first_json(arena, a->input);
        to->scheduled_id = 0;
        break;
    }
    case EVENT_ACTIVITY_TASK_STARTED:
        to->attempt = (int)ev_activity_task_started(event)->attempt;
        to->failure = admin_failure_line(arena, ev_activity_task_started(event)->last_failure);
        break;
    case EVENT_ACTIVITY_TASK_COMPLETED:
        to->result = first_json(arena, ev_activity_task_completed(event)->result);
        break;
    case EVENT_ACTIVITY_TASK_FAILED:
        to->failure = admin_failure_line(arena, ev_activity_task_failed(event)->failure);
        break;
    case EVENT_ACTIVITY_TASK_TIMED_OUT:
        to->failure = admin_failure_line(arena, ev_activity_task_timed_out(event)->failure);
        break;
    default:
        break;
    }
}

static const char *workflow_id(const struct workflow_execution *execution)
{
    return execution ? execution->workflow_id : NULL;
}

/* Children, and what one run has to do with another. */
static void show_other(struct arena *arena, const struct event *event, struct admin_event *to)
{
    switch (event->type) {
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        to->name = ev_start_child_workflow_execution_initiated(event)->workflow_id;
        to->input = first_json(arena, ev_start_child_workflow_execution_initiated(event)->input);
        break;
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED:
        to->name = ev_start_child_workflow_execution_failed(event)->workflow_id;
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_STARTED:
        to->name = workflow_id(ev_child_workflow_execution_started(event)->workflow_execution);
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED:
        to->name = workflow_id(ev_child_workflow_execution_completed(event)->workflow_execution);
        to->result = first_json(arena, ev_child_workflow_execution_completed(event)->result);
        break;
    case EVENT_CHILD_WORKFLOW_EXECUTION_FAILED:
        to->name = workflow_id(ev_child_workflow_execution_failed(event)->workflow_execution);
        to->failure = admin_failure_line(arena, ev_child_workflow_execution_failed(event)->failure);
        break;
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        to->name = ev_signal_external_workflow_execution_initiated(event)->signal_name;
        to->input =
            first_json(arena, ev_signal_external_workflow_execution_initiated(event)->input);
        break;
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        to->name = workflow_id(
            ev_request_cancel_external_workflow_execution_initiated(event)->workflow_execution);
        break;
    case EVENT_WORKFLOW_EXECUTION_PAUSED:
        to->name = ev_workflow_execution_paused(event)->reason;
        break;
    case EVENT_WORKFLOW_EXECUTION_UNPAUSED:
        to->name = ev_workflow_execution_unpaused(event)->reason;
        break;
    default:
        break;
    }
}

static void show_update(struct arena *arena, const struct event *event, struct admin_event *to)
{
    const struct update_request *request;
    const struct ev_workflow_execution_update_completed *done;

    if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) {
        request = ev_workflow_execution_update_accepted(event)->accepted_request;
        to->name = request && request->input ? request->input->name : NULL;
        to->input = request && request->input ? first_json(arena, request->input->args) : NULL;
    } else if (event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED) {
        done = ev_workflow_execution_update_completed(event);
        to->name = done->meta ? done->meta->update_id : NULL;
        to->result = done->outcome ? first_json(arena, done->outcome->success) : NULL;
        to->failure = done->outcome ? admin_failure_line(arena, done->outcome->failure) : NULL;
    }
}

static void show_run(struct arena *arena, const struct event *event, struct admin_event *to)
{
    switch (event->type) {
    case EVENT_WORKFLOW_EXECUTION_STARTED:
        to->name = ev_workflow_execution_started(event)->workflow_type;
        to->input = first_json(arena, ev_workflow_execution_started(event)->input);
        break;
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        to->result = first_json(arena, ev_workflow_execution_completed(event)->result);
        break;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        to->failure = admin_failure_line(arena, ev_workflow_execution_failed(event)->failure);
        break;
    case EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        to->name = ev_workflow_execution_cancel_requested(event)->cause;
        break;
    case EVENT_WORKFLOW_EXECUTION_TERMINATED:
        to->name = ev_workflow_execution_terminated(event)->reason;
        break;
    case EVENT_WORKFLOW_EXECUTION_SIGNALED:
        to->name = ev_workflow_execution_signaled(event)->signal_name;
        to->input = first_json(arena, ev_workflow_execution_signaled(event)->input);
        break;
    case EVENT_WORKFLOW_TASK_FAILED:
        to->failure = admin_failure_line(arena, ev_workflow_task_failed(event)->failure);
        break;
    case EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        to->name = ev_workflow_execution_continued_as_new(event)->new_execution_run_id;
        to->input = first_json(arena, ev_workflow_execution_continued_as_new(event)->input);
        break;
    case EVENT_MARKER_RECORDED:
        to->name = ev_marker_recorded(event)->marker_name;
        break;
    case EVENT_TIMER_STARTED:
        to->name = ev_timer_started(event)->timer_id;
        break;
    case EVENT_TIMER_FIRED:
        to->name = ev_timer_fired(event)->timer_id;
        break;
    case EVENT_TIMER_CANCELED:
        to->name = ev_timer_canceled(event)->timer_id;
        break;
    default:
        show_other(arena, event, to);
        show_update(arena, event, to);
        break;
    }
}

static void show_event(struct arena *arena, const struct event *event, struct admin_event *to)
{
    *to = (struct admin_event){
        .id = event->id, .time_ns = event->time_ns, .type = event_type_title(event->type)};
    if (event->type >= EVENT_ACTIVITY_TASK_SCHEDULED &&
        event->type <= EVENT_ACTIVITY_TASK_CANCELED) {
        show_activity(arena, event, to);
    } else {
        show_run(arena, event, to);
    }
}

static void show(struct arena *arena, const struct history *history, int64_t bytes,
                 struct admin_history *ret)
{
    *ret = (struct admin_history){.bytes = bytes, .count = history->count};
    ret->events = arena_array_of(arena, struct admin_event, history->count + 1);
    for (size_t i = 0; i < history->count; i++) {
        show_event(arena, &history->items[i], &ret->events[i]);
    }
}

/* Of the run that the id means now, even if another takes its place meanwhile. */
static int read_remote(dur_engine *engine, struct arena *arena, const char *id, struct history *ret,
                       int64_t *ret_bytes)
{
    dur_description d = {0};
    int rc = engine_remote_describe(engine, arena, id, &d);
    if (rc == DUR_OK) {
        *ret_bytes = d.history_bytes;
        rc = engine_remote_history(engine, arena,
                                   arena_printf(arena, "%s@%s", d.workflow_id, d.run_id), ret);
    }
    return rc;
}

int admin_read(dur_engine *engine, struct arena *arena, const char *id, struct history *ret,
               int64_t *ret_bytes)
{
    struct err err = {0};
    struct execution_row row;
    if (engine_is_remote(engine)) {
        return read_remote(engine, arena, id, ret, ret_bytes);
    }
    int rc = admin_find(engine, arena, id, &row);
    if (rc == DUR_OK && engine_load_history(store_db(engine->store), arena, &row, ret, &err) < 0) {
        rc = engine_fail(engine, &err);
    }
    if (rc == DUR_OK) {
        *ret_bytes = row.history_bytes;
    }
    return rc;
}

int admin_history(dur_engine *engine, struct arena *arena, const char *id,
                  struct admin_history *ret)
{
    struct history history;
    int64_t bytes = 0;
    *ret = (struct admin_history){0};
    int rc = admin_read(engine, arena, id, &history, &bytes);
    if (rc == DUR_OK) {
        show(arena, &history, bytes, ret);
    }
    return rc;
}

/* --- loading ---------------------------------------------------------------------------------- */

static struct admin_loaded *loaded_new(void)
{
    struct admin_loaded *loaded = mem_alloc(sizeof(*loaded));
    loaded->arena = arena_new();
    return loaded;
}

struct admin_loaded *admin_loaded_free(struct admin_loaded *loaded)
{
    if (loaded) {
        arena_free(loaded->arena);
        free(loaded);
    }
    return NULL;
}

int admin_load_run(dur_engine *engine, const char *id, struct admin_loaded **ret)
{
    struct admin_loaded *loaded = loaded_new();
    int rc = admin_read(engine, loaded->arena, id, &loaded->history, &loaded->bytes);
    if (rc != DUR_OK) {
        admin_loaded_free(loaded);
        return rc;
    }
    *ret = loaded;
    return DUR_OK;
}

int admin_load_bytes(const void *bytes, size_t len, struct admin_loaded **ret, struct err *err)
{
    struct admin_loaded *loaded = loaded_new();
    if (history_from_bytes(loaded->arena, bytes, len, &loaded->history, err) < 0) {
        admin_loaded_free(loaded);
        return -1;
    }
    loaded->bytes = (int64_t)len;
    loaded->protobuf = bytes_are_proto(bytes, len);
    *ret = loaded;
    return 0;
}

void admin_loaded_show(struct admin_loaded *loaded, struct admin_history *ret)
{
    show(loaded->arena, &loaded->history, loaded->bytes, ret);
}

void admin_loaded_print(const struct admin_loaded *loaded, dur_form form, struct str *out)
{
    if (form == DUR_FORM_PROTOBUF) {
        history_to_proto(out, &loaded->history);
    } else {
        history_to_json(out, &loaded->history);
    }
}

/* --- judging ---------------------------------------------------------------------------------- */

void admin_loaded_judge(struct admin_loaded *loaded, struct admin_verdict *ret)
{
    autostr struct str warnings = {0};
    struct err err = {0};
    const struct history *history = &loaded->history;
    const struct event *last = history->count ? &history->items[history->count - 1] : NULL;

    *ret = (struct admin_verdict){.events = (int64_t)history->count, .protobuf = loaded->protobuf};
    if (!last) {
        ret->error = "there are no events";
        return;
    }
    ret->closed = event_is_close(last->type);
    if (history->items[0].type == EVENT_WORKFLOW_EXECUTION_STARTED) {
        const struct ev_workflow_execution_started *s =
            ev_workflow_execution_started(&history->items[0]);
        ret->workflow_type = s->workflow_type;
        ret->workflow_id = s->workflow_id;
    }
    if (history_validate(history, &warnings, &err) < 0) {
        ret->error = arena_strdup(loaded->arena, err.text);
    } else {
        ret->warnings = warnings.len ? arena_strdup(loaded->arena, str_c(&warnings)) : NULL;
    }
}

/* --- comparing -------------------------------------------------------------------------------- */

struct pair {
    struct arena *arena;
    const struct history *left;
    const struct history *right;
    unsigned ignore;
    struct admin_differences *ret;
    struct arena *scratch;
};

/* Events that may be the same one: of one type and with one name. */
static bool may_match(struct pair *p, size_t left, size_t right)
{
    const struct event *a = &p->left->items[left];
    const struct event *b = &p->right->items[right];
    struct admin_event x, y;
    if (a->type != b->type) {
        return false;
    }
    arena_reset(p->scratch);
    show_event(p->scratch, a, &x);
    show_event(p->scratch, b, &y);
    return str_eq(x.name, y.name);
}

static void add_difference(struct pair *p, const struct event *left, const struct event *right,
                           const char *what)
{
    struct admin_event shown;
    show_event(p->arena, left ? left : right, &shown);
    p->ret->rows[p->ret->count++] = (struct admin_difference){
        .left_id = left ? left->id : 0,
        .right_id = right ? right->id : 0,
        .type = shown.type,
        .name = shown.name,
        .what = what,
    };
}

static void compare_pair(struct pair *p, const struct event *left, const struct event *right)
{
    autostr struct str text = {0};
    if (event_equal(left, right, p->ignore, &text)) {
        return;
    }
    const char *colon = strstr(str_c(&text), ": "); /* behind "event 7 TimerFired" */
    add_difference(p, left, right, arena_strdup(p->arena, colon ? colon + 2 : str_c(&text)));
}

/* The nearest place where the two meet again; false: none near. */
static bool meet(struct pair *p, size_t i, size_t k, size_t *ret_left, size_t *ret_right)
{
    for (size_t sum = 1; sum < 2 * (size_t)LOOK_AHEAD; sum++) {
        for (size_t skip = 0; skip <= sum; skip++) {
            size_t a = i + skip, b = k + sum - skip;
            if (a < p->left->count && b < p->right->count && may_match(p, a, b)) {
                *ret_left = a;
                *ret_right = b;
                return true;
            }
        }
    }
    return false;
}

void admin_diff(const struct admin_loaded *left, const struct admin_loaded *right, bool all,
                struct arena *arena, struct admin_differences *ret)
{
    struct pair p = {.arena = arena,
                     .left = &left->history,
                     .right = &right->history,
                     .ignore = DIFF_DIGITS | (all ? 0U : (unsigned)(DIFF_NORMAL | DIFF_IDS)),
                     .scratch = arena_new(),
                     .ret = ret};
    size_t i = 0, k = 0;

    *ret = (struct admin_differences){0};
    ret->rows = arena_array_of(arena, struct admin_difference, p.left->count + p.right->count + 1);
    while (i < p.left->count && k < p.right->count) {
        size_t a = i, b = k;
        if (may_match(&p, i, k)) {
            compare_pair(&p, &p.left->items[i++], &p.right->items[k++]);
            continue;
        }
        if (!meet(&p, i, k, &a, &b)) {
            a = p.left->count;
            b = p.right->count;
        }
        for (; i < a; i++) {
            add_difference(&p, &p.left->items[i], NULL, NULL);
        }
        for (; k < b; k++) {
            add_difference(&p, NULL, &p.right->items[k], NULL);
        }
    }
    for (; i < p.left->count; i++) {
        add_difference(&p, &p.left->items[i], NULL, NULL);
    }
    for (; k < p.right->count; k++) {
        add_difference(&p, NULL, &p.right->items[k], NULL);
    }
    arena_free(p.scratch);
}
