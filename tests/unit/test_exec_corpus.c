/*
 * test_exec_corpus.c - real Temporal histories drive the machines: a workflow that asks for exactly
 * what each history recorded must replay it without a mismatch.
 *
 * FACTORY_HISTORIES names a directory of histories in Temporal's JSON form (else
 * ../shared/histories beside the source tree); without it the corpus test skips. The driver reads
 * the recorded commands of the current task (exec/state.h) and issues them through durable.h.
 * Histories that use what the driver does not know (updates, other markers,
 * ...) are counted and left out.
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "durable.h"
#include "exec/local.h"
#include "exec/state.h"
#include "history/builder.h"
#include "history/json.h"
#include "history_files.h"

#define MAX_OPEN 256

struct driver {
    const struct history *history;
    dur_future *f[MAX_OPEN]; /* activities and timers, by order of asking; signals in front */
    int64_t id[MAX_OPEN];    /* their event */
    size_t count;
    size_t tasks; /* the task's started event: a new one has new commands */
    const char *path;
    struct run *run;
    size_t at;    /* the recorded command that comes next */
    size_t taken; /* the acceptance whose handler was registered last */
    bool has_updates;
};

/* --- what code can ask for
 * ------------------------------------------------------------------------ */

static bool is_supported(const struct event *event)
{
    switch (event->type) {
    case EVENT_WORKFLOW_EXECUTION_STARTED:
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
    case EVENT_WORKFLOW_EXECUTION_FAILED:
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
    case EVENT_WORKFLOW_EXECUTION_TERMINATED:
    case EVENT_WORKFLOW_EXECUTION_TIMED_OUT:
    case EVENT_WORKFLOW_EXECUTION_SIGNALED:
    case EVENT_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED:
    case EVENT_WORKFLOW_TASK_SCHEDULED:
    case EVENT_WORKFLOW_TASK_STARTED:
    case EVENT_WORKFLOW_TASK_COMPLETED:
    case EVENT_WORKFLOW_TASK_FAILED:
    case EVENT_WORKFLOW_TASK_TIMED_OUT:
    case EVENT_ACTIVITY_TASK_SCHEDULED:
    case EVENT_ACTIVITY_TASK_STARTED:
    case EVENT_ACTIVITY_TASK_COMPLETED:
    case EVENT_ACTIVITY_TASK_FAILED:
    case EVENT_ACTIVITY_TASK_TIMED_OUT:
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
    case EVENT_ACTIVITY_TASK_CANCELED:
    case EVENT_TIMER_STARTED:
    case EVENT_TIMER_FIRED:
    case EVENT_TIMER_CANCELED:
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED:
    case EVENT_CHILD_WORKFLOW_EXECUTION_STARTED:
    case EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED:
    case EVENT_CHILD_WORKFLOW_EXECUTION_FAILED:
    case EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED:
    case EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
    case EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED:
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
    case EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
    case EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ADMITTED:
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
    case EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
    case EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return true;
    case EVENT_MARKER_RECORDED: {
        const char *name = ev_marker_recorded(event)->marker_name;
        return str_eq(name, "SideEffect") || str_eq(name, "Version") ||
               str_eq(name, "core_patch") || str_eq(name, "MutableSideEffect") ||
               local_is_marker(event);
    }
    default:
        return event->worker_may_ignore;
    }
}

/* "" when the history can be driven, else why not. */
static const char *refusal(const struct history *history)
{
    bool locals = false;
    bool updates = false;

    for (size_t i = 0; i < history->count; i++) {
        const struct event *event = &history->items[i];
        if (event->id != (int64_t)i + 1) {
            return "gap";
        }
        locals |= local_is_marker(event);
        updates |= event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED;
        if (!is_supported(event)) {
            return event->type == EVENT_MARKER_RECORDED ? ev_marker_recorded(event)->marker_name
                                                        : event_type_title(event->type);
        }
    }
    return locals && updates ? "updates that wait for local activities" : "";
}

/* --- the workflow
 * ----------------------------------------------------------------------------------- */

static dur_future *future_of(const struct driver *d, int64_t id)
{
    for (size_t i = 0; i < d->count; i++) {
        if (d->id[i] == id) {
            return d->f[i];
        }
    }
    return NULL;
}

static void add(struct driver *d, dur_future *f, int64_t id)
{
    cr_assert_lt(d->count, MAX_OPEN);
    d->f[d->count] = f;
    d->id[d->count++] = id;
}

static int effect(void *arg, const char **result)
{
    (void)arg;
    *result = "1";
    return DUR_OK;
}

static dur_future *child_of(const struct driver *d, const char *id)
{
    for (size_t i = d->count; i-- > 0;) {
        if (dur_child_id(d->f[i]) && str_eq(dur_child_id(d->f[i]), id) && !dur_done(d->f[i])) {
            return d->f[i];
        }
    }
    return NULL;
}

static int until_started(dur_ctx *ctx, void *arg, const char **result)
{
    (void)result;
    return dur_child_started(ctx, arg, NULL);
}

/* Children, and requests to other runs. */
static void ask_other_run(dur_ctx *aside, struct driver *d, const struct event *event)
{
    if (event->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
        const struct ev_start_child_workflow_execution_initiated *a =
            ev_start_child_workflow_execution_initiated(event);
        add(d,
            dur_start_child(aside, a->workflow_type, "1",
                            &(dur_child_options){.workflow_id = a->workflow_id,
                                                 .cancellation = DUR_WAIT_CANCEL}),
            event->id);
        add(d, dur_go(aside, until_started, d->f[d->count - 1]),
            -event->id); /* tasks that it wakes */
    } else if (event->type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED) {
        const struct ev_signal_external_workflow_execution_initiated *a =
            ev_signal_external_workflow_execution_initiated(event);
        add(d, dur_signal_external(aside, a->workflow_execution->workflow_id, a->signal_name, NULL),
            event->id);
    } else {
        const struct ev_request_cancel_external_workflow_execution_initiated *a =
            ev_request_cancel_external_workflow_execution_initiated(event);
        dur_future *child = child_of(d, a->workflow_execution->workflow_id);
        if (child) {
            dur_cancel_future(aside, child);
        } else {
            add(d, dur_cancel_external(aside, a->workflow_execution->workflow_id, NULL), event->id);
        }
    }
}

/* Ask for one recorded command. 1: the run ends with *ret_code. */
static int ask(dur_ctx *ctx, struct driver *d, const struct event *event, int *ret_code)
{
    dur_ctx *aside = dur_disconnected(ctx);
    dur_future *f;
    const char *patch;
    bool deprecated;
    struct local_mark mark;

    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED: {
        const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
        add(d,
            dur_start_activity(aside, a->activity_type, "1",
                               &(dur_activity_options){.activity_id = a->activity_id,
                                                       .cancellation = DUR_WAIT_CANCEL}),
            event->id);
        return 0;
    }
    case EVENT_TIMER_STARTED:
        f = dur_timer(aside, 1000);
        f->timer.id =
            ev_timer_started(event)->timer_id; /* each SDK numbers its timers in its way */
        add(d, f, event->id);
        return 0;
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
    case EVENT_TIMER_CANCELED:
        f = future_of(d, event->type == EVENT_TIMER_CANCELED ? event_started_id(event)
                                                             : event_scheduled_id(event));
        dur_cancel_future(aside, f);
        return 0;
    case EVENT_MARKER_RECORDED:
        if (patch_marker_read(ctx->run->arena, event, &patch, &deprecated)) {
            dur_patched(aside, patch);
        } else if (str_eq(ev_marker_recorded(event)->marker_name, "SideEffect")) {
            dur_side_effect(aside, effect, NULL, NULL);
        } else if (is_version_marker(event) && marker_detail(ctx->run->arena, event, "change-id")) {
            dur_code_version(aside, marker_detail(ctx->run->arena, event, "change-id"), -1, 9999);
        } else if (local_mark_read(ctx->run->arena, event, &mark)) {
            ctx->run->next_activity = mark.seq - 1; /* each SDK numbers them in its way */
            dur_run_local(aside, mark.type, "1", NULL, NULL);
        }
        return 0;
    case EVENT_WORKFLOW_PROPERTIES_MODIFIED:
        dur_upsert_memo(aside, "{}");
        return 0;
    case EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        if (!is_version_attribute(event)) { /* those come with their version or patch */
            dur_upsert_search_attributes(aside, "{\"A\":1}");
        }
        return 0;
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        ask_other_run(aside, d, event);
        return 0;
    case EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        *ret_code = dur_continue_as_new(ctx, NULL, NULL);
        return 1;
    case EVENT_WORKFLOW_EXECUTION_COMPLETED:
        *ret_code = DUR_OK;
        return 1;
    case EVENT_WORKFLOW_EXECUTION_FAILED:
        *ret_code = DUR_FAILED;
        return 1;
    case EVENT_WORKFLOW_EXECUTION_CANCELED:
        *ret_code = DUR_CANCELLED;
        return 1;
    default:
        return 0;
    }
}

/* --- updates: their handlers ask for what stands behind the acceptance -------------------------
 */

static const struct event *next_command(const struct driver *d)
{
    return d->at < d->run->recorded_count ? d->run->recorded[d->at] : NULL;
}

static bool is_acceptance(const struct event *event)
{
    return event && event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED;
}

static bool is_completion(const struct event *event)
{
    return event && event->type == EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED;
}

struct turn {
    struct driver *d;
    const char *update_id;
};

static int is_mine(void *arg)
{
    const struct turn *t = arg;
    const struct event *event = next_command(t->d);

    return is_completion(event) &&
           str_eq(ev_workflow_execution_update_completed(event)->meta->update_id, t->update_id);
}

static int handles(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct driver *d = arg;
    const struct event *event = next_command(d);
    struct turn t = {.d = d};
    int code;

    (void)input;
    (void)result;
    cr_assert(is_acceptance(event), "an acceptance out of turn");
    t.update_id =
        run_strdup(d->run, ev_workflow_execution_update_accepted(event)->protocol_instance_id);
    for (d->at++; (event = next_command(d)); d->at++) {
        if (is_acceptance(event) || is_completion(event) || event_is_close(event->type)) {
            break;
        }
        ask(ctx, d, event, &code);
    }
    int rc = dur_wait(dur_disconnected(ctx), is_mine, &t, -1);
    d->at += rc == DUR_OK;
    return rc;
}

/* The name that an acceptance's request has, there or in its admission. */
static const char *update_name(const struct driver *d, const struct event *accepted)
{
    const struct ev_workflow_execution_update_accepted *a =
        ev_workflow_execution_update_accepted(accepted);

    if (a->accepted_request) {
        return a->accepted_request->input->name;
    }
    return ev_workflow_execution_update_admitted(
               &d->history->items[a->accepted_request_sequencing_event_id - 1])
        ->request->input->name;
}

static int is_for_main(void *arg)
{
    struct driver *d = arg;

    return (size_t)d->run->task.started_id != d->tasks ||
           (next_command(d) && !is_completion(next_command(d)) && d->at != d->taken);
}

/* Everything that this task recorded. 1: the run ends with *ret_code. */
static int ask_all(dur_ctx *ctx, struct driver *d, int *ret_code)
{
    while (next_command(d)) {
        const struct event *event = next_command(d);
        d->taken = is_acceptance(event) ? d->at : SIZE_MAX;
        if (is_acceptance(event)) {
            dur_on_update(ctx, update_name(d, event), NULL, handles, d);
        } else if (!is_completion(event)) {
            d->at++;
            if (ask(ctx, d, event, ret_code)) {
                return 1;
            }
            continue;
        }
        size_t at = d->at;
        if (dur_wait(dur_disconnected(ctx), is_for_main, d, -1) == DUR_UNWIND) {
            *ret_code = DUR_UNWIND;
            return 1;
        }
        if (is_acceptance(event)) {
            dur_on_update(ctx, update_name(d, event), NULL, NULL, NULL);
            cr_assert_gt(d->at, at, "%s: nobody took the update", d->path);
        }
    }
    return 0;
}

/* Wait until anything at all arrives. */
static int wait_any(dur_ctx *ctx, struct driver *d, bool *cancelled)
{
    dur_future *open[MAX_OPEN];
    size_t count = 0;

    for (size_t i = 0; i < d->count; i++) {
        bool is_signal = d->id[i] == 0;
        if (is_signal && dur_done(d->f[i])) {
            dur_receive(dur_disconnected(ctx), d->f[i]->channel->name, 0, NULL);
        }
        if (!dur_done(d->f[i])) {
            open[count++] = d->f[i];
        }
    }
    int rc = dur_select(*cancelled ? dur_disconnected(ctx) : ctx, open, count);
    *cancelled |= rc == DUR_CANCELLED;
    return rc;
}

static int follows(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct driver *d = user;
    bool cancelled = false;

    (void)input;
    (void)result;
    d->run = ctx->run;
    add(d, dur_signal_future(ctx, "no such signal"), 0);
    for (size_t i = 0; i < d->history->count; i++) {
        const struct event *event = &d->history->items[i];
        if (event->type == EVENT_WORKFLOW_EXECUTION_SIGNALED) {
            add(d, dur_signal_future(ctx, ev_workflow_execution_signaled(event)->signal_name), 0);
        }
        d->has_updates |= is_acceptance(event);
    }
    d->tasks = (size_t)ctx->run->task.started_id;
    for (;;) {
        int code;
        d->at = 0;
        if (ask_all(ctx, d, &code)) {
            return code;
        }
        size_t tasks = d->tasks;
        while (d->tasks == tasks) {
            int rc = d->has_updates ? dur_wait(dur_disconnected(ctx), is_for_main, d, -1)
                                    : wait_any(ctx, d, &cancelled);
            if (rc == DUR_UNWIND) {
                return DUR_UNWIND;
            }
            d->tasks = (size_t)ctx->run->task.started_id;
        }
    }
}

static int drive(const struct history *history, const char *path, char *why, size_t why_bytes)
{
    struct driver d = {.history = history, .path = path, .taken = SIZE_MAX};
    struct run_spec spec = {.fn = follows, .user = &d, .workflow_id = "w", .run_id = "r"};
    struct run_output out;
    struct err err = {0};
    const struct event **events = mem_array(history->count + 1, sizeof(*events));

    for (size_t i = 0; i < history->count; i++) {
        events[i] = &history->items[i];
    }
    struct run *run = run_new(&spec);
    int rc = run_replay(run, events, history->count, &out, &err);
    snprintf(why, why_bytes, "%s", rc < 0 ? err.text : rc > 0 ? out.message : "");
    run_free(run);
    free(events);
    return rc;
}

/* --- the corpus
 * ---------------------------------------------------------------------------------------- */

static size_t driven, refused;

static int one_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    autoarena struct arena *arena = arena_new();
    autostr struct str text = {0};
    struct history history = {0};
    char why[512];

    (void)st;
    (void)ftw;
    if (type != FTW_F || !str_ends(path, ".json") || strstr(path, "/composed/") ||
        fs_read_file(path, 64 << 20, &text, NULL) != 0 ||
        history_from_json(arena, str_c(&text), text.len, &history, NULL) != 0) {
        return 0;
    }
    const char *reason = refusal(&history);
    if (*reason) {
        refused++;
        return 0;
    }
    driven++;
    cr_expect_eq(drive(&history, path, why, sizeof(why)), 0, "%s: %s", path, why);
    return 0;
}

Test(exec_corpus, real_histories_replay, .timeout = 120)
{
    autofree char *dir = collection_dir();

    if (access(dir, R_OK) != 0) {
        cr_skip_test("skip: no collection of Temporal histories (FACTORY_HISTORIES)");
    }
    cr_assert_eq(nftw(dir, one_file, 16, FTW_PHYS), 0);
    fprintf(stderr, "%zu histories driven, %zu use more than code can ask for\n", driven, refused);
    cr_expect_gt(driven, 0);
}

/* The same driver on a built history, so that it is exercised everywhere. */
Test(exec_corpus, a_built_history_replays, .timeout = 30)
{
    autoarena struct arena *arena = arena_new();
    struct builder b;
    char why[512];

    builder_init(&b, arena, "greet");
    build_task(&b);
    int64_t a = build_activity(&b, "17", "pkg.hello", "1");
    int64_t t = build_timer(&b, "19", 5000000000LL);
    build_signal(&b, "go", "1");
    build_cancel_requested(&b, "stop");
    build_task(&b);
    build_activity_cancel(&b, a);
    build_timer_canceled(&b, t);
    build_marker(&b, "SideEffect", "data", "7");
    build_memo(&b, "k", "1");
    build_activity_canceled(&b, a);
    build_task(&b);
    build_canceled(&b);
    cr_expect_eq(drive(&b.history, "built", why, sizeof(why)), 0, "%s", why);
}
