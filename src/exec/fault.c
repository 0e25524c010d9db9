/*
 * fault.c - when a workflow task cannot be completed: the two outcomes and their reports.
 *
 * Owns: the first fault of a run (later ones are consequences) and the words for it.
 * Must not: end the process; the run is parked by its host and nothing is lost.
 * Tests: tests/unit/test_exec_mismatch.c
 */
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "exec/state.h"

#define CUT_BYTES 96 /* of an id or name in a report */

const char *quoted(struct arena *arena, const char *text)
{
    autostr struct str out = {0};
    size_t len = text ? strlen(text) : 0;
    size_t shown = utf8_prefix(text ? text : "", len, CUT_BYTES);

    json_quote(&out, text ? text : "", shown);
    if (shown < len) {
        str_add(&out, "...");
    }
    return arena_strdup(arena, str_c(&out));
}

int fault_task(struct run *run, int cause, const char *fmt, ...)
{
    va_list ap;

    if (run->outcome) {
        return run->outcome;
    }
    va_start(ap, fmt);
    run->message = arena_vprintf(run->arena, fmt, ap);
    va_end(ap);
    struct run_site site = run_last_call(run);
    run->outcome = RUN_TASK_FAILED;
    run->cause = cause;
    run->report = arena_printf(
        run->arena,
        "Workflow %s (type %s) asked for something impossible:\n\n  %s\n\n"
        "  last durable call: %s:%d\n\n"
        "What to do: nothing is lost, the run waits as it was before this step. Correct the\n"
        "workflow function and start the new program; the run goes on from its history.\n",
        quoted(run->arena, run->spec.workflow_id), quoted(run->arena, run->spec.type), run->message,
        site.file ? site.file : "(none)", site.line);
    return run->outcome;
}

/* --- one line per event and command ------------------------------------------------------------
 */

static const char *bare_name(const struct event *event)
{
    const char *name = event_type_name(event->type);

    return str_starts(name, "EVENT_TYPE_") ? name + strlen("EVENT_TYPE_") : name;
}

static const char *target(struct arena *arena, const struct workflow_execution *execution)
{
    return quoted(arena, execution ? execution->workflow_id : NULL);
}

const char *describe_event(struct arena *arena, const struct event *event)
{
    const char *name = bare_name(event);

    switch (event->type) {
    case EVENT_ACTIVITY_TASK_SCHEDULED: {
        const struct ev_activity_task_scheduled *a = ev_activity_task_scheduled(event);
        return arena_printf(arena, "%s id %s type %s", name, quoted(arena, a->activity_id),
                            quoted(arena, a->activity_type));
    }
    case EVENT_ACTIVITY_TASK_CANCEL_REQUESTED:
        return arena_printf(arena, "%s of event %lld", name, (long long)event_scheduled_id(event));
    case EVENT_TIMER_STARTED:
        return arena_printf(
            arena, "%s id %s after %lld ms", name, quoted(arena, ev_timer_started(event)->timer_id),
            (long long)(ev_timer_started(event)->start_to_fire_timeout / NS_PER_MS));
    case EVENT_TIMER_CANCELED:
        return arena_printf(arena, "%s id %s", name,
                            quoted(arena, ev_timer_canceled(event)->timer_id));
    case EVENT_MARKER_RECORDED: {
        const char *ordinal = marker_detail(arena, event, "side-effect-id");
        return arena_printf(arena, "%s name %s%s%s", name,
                            quoted(arena, ev_marker_recorded(event)->marker_name),
                            ordinal ? " number " : "", ordinal ? ordinal : "");
    }
    case EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED: {
        const struct ev_start_child_workflow_execution_initiated *a =
            ev_start_child_workflow_execution_initiated(event);
        return arena_printf(arena, "%s id %s type %s", name, quoted(arena, a->workflow_id),
                            quoted(arena, a->workflow_type));
    }
    case EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED: {
        const struct ev_signal_external_workflow_execution_initiated *a =
            ev_signal_external_workflow_execution_initiated(event);
        return arena_printf(arena, "%s id %s name %s", name, target(arena, a->workflow_execution),
                            quoted(arena, a->signal_name));
    }
    case EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        return arena_printf(
            arena, "%s id %s", name,
            target(arena, ev_request_cancel_external_workflow_execution_initiated(event)
                              ->workflow_execution));
    case EVENT_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: {
        const struct ev_workflow_execution_update_accepted *a =
            ev_workflow_execution_update_accepted(event);
        const struct update_request *r = a->accepted_request;
        return arena_printf(arena, "%s id %s%s%s", name, quoted(arena, a->protocol_instance_id),
                            r && r->input ? " name " : "",
                            r && r->input ? quoted(arena, r->input->name) : "");
    }
    case EVENT_WORKFLOW_EXECUTION_UPDATE_COMPLETED: {
        const struct update_meta *meta = ev_workflow_execution_update_completed(event)->meta;
        return arena_printf(arena, "%s id %s", name, quoted(arena, meta ? meta->update_id : NULL));
    }
    default:
        return name;
    }
}

const char *describe_command(struct arena *arena, const struct command *c)
{
    return c->def->describe ? c->def->describe(arena, c) : c->def->name;
}

int fault_mismatch(struct run *run, enum mismatch_kind kind, const struct event *event,
                   const struct command *command)
{
    static const char *const summary[] = {
        [MISMATCH_DIFFERENT] = "code asks for something else than the history holds",
        [MISMATCH_MISSING] = "code does not ask for what the history holds",
        [MISMATCH_EXTRA] = "code asks for something that the history does not hold",
        [MISMATCH_VERSION] = "recorded code version is not supported any more",
    };
    autostr struct str report = {0};

    if (run->outcome) {
        return run->outcome;
    }
    struct mismatch *m = &run->mismatch;
    m->kind = kind;
    m->event_id = event ? event->id : 0;
    if (!m->expected) {
        m->expected = event && kind != MISMATCH_EXTRA ? describe_event(run->arena, event) : "";
    }
    if (!m->actual) {
        m->actual = command ? describe_command(run->arena, command) : "";
    }
    m->site = command ? command->site : run_last_call(run);
    m->workflow_type = run->spec.type;
    m->workflow_id = run->spec.workflow_id;
    mismatch_report(&report, m);
    run->outcome = RUN_MISMATCH;
    run->cause = WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR;
    run->report = arena_strdup(run->arena, str_c(&report));
    run->message = arena_printf(
        run->arena,
        "[TMPRL1100] nondeterminism at event %lld of %s: %s: history has %s, code has %s (%s:%d)",
        (long long)m->event_id, quoted(run->arena, m->workflow_type), summary[kind],
        *m->expected ? m->expected : "nothing", *m->actual ? m->actual : "nothing",
        m->site.file ? m->site.file : "?", m->site.line);
    return run->outcome;
}
