/*
 * match.c - does the replayed code ask for what the history recorded?
 *
 * Owns: the lockstep comparison of one task's commands with its command events (what each kind
 * compares is its command_def's affair). Compared is what
 * Temporal's Core and Go SDKs compare: kind and order; activity id and type (after the last dot);
 * the activity of a cancel request; timer id; marker name, and ordinal of a side effect; the kind
 * of the closing command. Not compared: inputs, timeouts, durations, task queues, results, memo
 * values. Version markers and the TemporalChangeVersion upsert right behind one are skipped on both
 * sides, as Go does: removing a dur_code_version() call is allowed.
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
    return map && payload_map_get(map, "TemporalChangeVersion");
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

/* Steps over recorded events that carry no weight here. */
static size_t next_recorded(const struct run *run, size_t at)
{
    while (at < run->recorded_count) {
        const struct event *event = run->recorded[at];
        bool behind_version = at > 0 && is_version_marker(run->recorded[at - 1]);
        if (!is_version_marker(event) && !(behind_version && is_version_attribute(event)) &&
            !event->worker_may_ignore) {
            break;
        }
        at++;
    }
    return at;
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
        at = next_recorded(run, at);
        if (at == run->recorded_count) {
            return fault_mismatch(run, MISMATCH_EXTRA, completed, c);
        }
        const struct event *event = run->recorded[at];
        if (!c->def->fits(run, c, event)) {
            return fault_mismatch(run, MISMATCH_DIFFERENT, event, c);
        }
        command_bind(run, c, event->id);
        at++;
    }
    at = next_recorded(run, at);
    if (at < run->recorded_count) {
        return fault_mismatch(run, MISMATCH_MISSING, run->recorded[at], NULL);
    }
    return 0;
}
