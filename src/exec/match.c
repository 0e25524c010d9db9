/*
 * match.c - does the replayed code ask for what the history recorded?
 *
 * Owns: the lockstep comparison of one task's commands with its command events (what each kind
 * compares is its command_def's affair). Compared is what
 * Temporal's Core and Go SDKs compare: kind and order; activity id and type (after the last dot);
 * the activity of a cancel request; timer id; marker name, and ordinal of a side effect; the kind
 * of the closing command. Not compared: inputs, timeouts, durations, task queues, results, memo
 * values. Version markers and the TemporalChangeVersion upsert right behind one are skipped on both
 * sides, as Go does: removing a dur_code_version() call is allowed. So are mutable side effects;
 * and deprecated patch markers whose call is gone, as Core does.
 * Whose history it is decides how much is compared (state.h: compares_ids, compares_timers): never
 * more than the writer's own SDK would; docs/histories.md.
 * Tests: tests/unit/test_exec_mismatch.c
 */
#include "exec/state.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"

bool is_version_marker(const struct event *event)
{
    return event->type == EVENT_MARKER_RECORDED &&
           str_eq(ev_marker_recorded(event)->marker_name, "Version");
}

bool is_version_attribute(const struct event *event)
{
    if (event->type != EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES) {
        return false;
    }
    const struct payload_map *map = ev_upsert_workflow_search_attributes(event)->search_attributes;
    return map && payload_map_get(map, VERSION_ATTRIBUTE);
}

const char *marker_detail(struct arena *arena, const struct event *event, const char *key)
{
    const struct payloads_map *details = ev_marker_recorded(event)->details;
    size_t len = 0;
    const char *json = details ? payloads_first_json(payloads_map_get(details, key), &len) : NULL;
    const struct json *root;

    if (!json || json_parse(arena, json, len, &root, NULL) != 0) {
        return NULL;
    }
    return root->type == JSON_STRING || root->type == JSON_NUMBER
               ? arena_strndup(arena, root->text, root->text_len)
               : NULL;
}

bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool same_type(const char *a, const char *b)
{
    if (same_text(a, b)) {
        return true;
    }
    const char *dot_a = a ? strrchr(a, '.') : NULL;
    const char *dot_b = b ? strrchr(b, '.') : NULL;
    return same_text(dot_a ? dot_a + 1 : a, dot_b ? dot_b + 1 : b);
}

/* Does the event at this place end what an event of the same task began, or the other way round? */
static bool is_short(const struct run *run, size_t at, enum event_type begin, enum event_type end,
                     int64_t (*begun_by)(const struct event *event))
{
    const struct event *event = run->recorded[at];

    if (event->type == end) {
        return begun_by(event) >= run->recorded[0]->id;
    }
    for (size_t i = at + 1; event->type == begin && i < run->recorded_count; i++) {
        if (run->recorded[i]->type == end && begun_by(run->recorded[i]) == event->id) {
            return true;
        }
    }
    return false;
}

/* Old Go workers wrote both commands of a timer or activity that was begun and cancelled in one
 * task. Here (and in Core) it leaves no trace, and nobody ever learns of it. */
static bool is_short_lived(const struct run *run, size_t at)
{
    return is_short(run, at, EVENT_TIMER_STARTED, EVENT_TIMER_CANCELED, event_started_id) ||
           (!run->own && is_short(run, at, EVENT_ACTIVITY_TASK_SCHEDULED,
                                  EVENT_ACTIVITY_TASK_CANCEL_REQUESTED, event_scheduled_id));
}

/* A patch that the code may have left behind: the marker says so itself. */
static bool is_deprecated_patch(struct run *run, const struct event *event)
{
    const char *id;
    bool deprecated;

    return patch_marker_read(run->task_arena, event, &id, &deprecated) && deprecated;
}

/* Does the event at this place carry no weight, whatever command comes (NULL: none)? */
static bool is_skipped(struct run *run, size_t at, const struct command *c)
{
    const struct event *event = run->recorded[at];
    const struct event *before = at > 0 ? run->recorded[at - 1] : NULL;

    if (is_deprecated_patch(run, event)) {
        return !c || !c->def->fits(run, c, event);
    }
    if (is_version_attribute(event)) {
        return before &&
               (is_version_marker(before) || (is_deprecated_patch(run, before) &&
                                              (!c || !command_is(c, &command_patch_attribute))));
    }
    return is_version_marker(event) || is_mutable_side_effect(event) || event->worker_may_ignore ||
           is_short_lived(run, at);
}

static size_t next_recorded(struct run *run, size_t at, const struct command *c)
{
    while (at < run->recorded_count && is_skipped(run, at, c)) {
        at++;
    }
    return at;
}

/* Others' histories may have been taken while a task's commands were not there yet. */
static bool breaks_off(const struct run *run)
{
    return run->last_task && run->recorded_count == 0 && !run->own;
}

int commands_match(struct run *run, const struct event *completed)
{
    size_t at = 0;

    for (size_t i = 0; i < run->command_count; i++) {
        const struct command *c = &run->commands[i];
        if (c->dropped) {
            continue;
        }
        if (!c->def->fits) {
            command_bind(run, c, 0);
            continue;
        }
        at = next_recorded(run, at, c);
        if (at == run->recorded_count) {
            return breaks_off(run) ? 0 : fault_mismatch(run, MISMATCH_EXTRA, completed, c);
        }
        const struct event *event = run->recorded[at];
        if (!c->def->fits(run, c, event)) {
            return fault_mismatch(run, MISMATCH_DIFFERENT, event, c);
        }
        command_bind(run, c, event->id);
        at++;
    }
    at = next_recorded(run, at, NULL);
    if (at < run->recorded_count) {
        return fault_mismatch(run, MISMATCH_MISSING, run->recorded[at], NULL);
    }
    return 0;
}
