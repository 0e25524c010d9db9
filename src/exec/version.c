/*
 * version.c - dur_code_version: which way a changed workflow goes.
 *
 * Owns: the list TemporalChangeVersion of a run (patch.c adds to it too), and the marker "Version"
 * in Go's form: details {"change-id": [string], "version": [number]},
 * followed by an upsert of the keyword list TemporalChangeVersion ("<change>-<version>", ...). When
 * that list would grow beyond 2048 bytes the upsert is left out and the marker says so
 * ("version-search-attribute-updated": false).
 *
 *   asked before in this run      the same answer
 *   live                          max, recorded
 *   replay, marker in this task   the marker's version (looked up ahead of the code)
 *   replay, no marker             -1, nothing recorded, and -1 for the rest of the run
 *
 * The call never blocks. A value outside [min, max] stops the task with MISMATCH_VERSION.
 * Tests: tests/unit/test_exec_marker.c
 */
#include "exec/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

#define MARKER "Version"
#define ATTRIBUTE_MAX_BYTES 2048

static const struct version *find_known(const struct run *run, const char *change)
{
    for (const struct version *v = run->versions; v; v = v->next) {
        if (strcmp(v->change, change) == 0) {
            return v;
        }
    }
    return NULL;
}

static int remember(struct run *run, const char *change, int value)
{
    struct version *v = arena_new_of(run->arena, struct version);

    v->change = run_strdup(run, change);
    v->value = value;
    v->next = run->versions;
    run->versions = v;
    return value;
}

static struct payload_map *list_map(struct run *run)
{
    struct arena *arena = run->task_arena;
    struct payload payload = {0};
    struct payload_meta *meta = arena_new_of(arena, struct payload_meta);
    struct payload_map *map = arena_new_of(arena, struct payload_map);
    const char *list = arena_printf(arena, "%s]", run->version_list);

    payload_set(&payload, arena, "json/plain", list, strlen(list));
    meta->key = "type";
    meta->value = "KeywordList";
    meta->len = strlen(meta->value);
    payload.meta = meta;
    payload_map_add(map, arena, VERSION_ATTRIBUTE, &payload);
    return map;
}

bool version_list_add(struct run *run, const char *entry)
{
    autostr struct str list = {0};

    str_add(&list, run->version_list ? run->version_list : "[");
    if (run->version_list) {
        str_addc(&list, ',');
    }
    json_quote(&list, entry, strlen(entry));
    if (list.len + 1 > ATTRIBUTE_MAX_BYTES) {
        return false;
    }
    run->version_list = run_strdup(run, str_c(&list));
    search_attributes_put(run, list_map(run));
    return true;
}

static struct event *marker_event(struct run *run, const char *change, int value, bool listed)
{
    struct arena *arena = run->task_arena;
    struct event *event = event_new(arena, EVENT_MARKER_RECORDED);
    struct ev_marker_recorded *a = ev_marker_recorded(event);
    autostr struct str name = {0};

    json_quote(&name, change, strlen(change));
    a->marker_name = MARKER;
    a->details = arena_new_of(arena, struct payloads_map);
    payloads_map_add(a->details, arena, "change-id", payloads_json(arena, str_c(&name)));
    payloads_map_add(a->details, arena, "version",
                     payloads_json(arena, arena_printf(arena, "%d", value)));
    if (!listed) {
        payloads_map_add(a->details, arena, "version-search-attribute-updated",
                         payloads_json(arena, "false"));
    }
    return event;
}

struct event *version_list_event(struct run *run)
{
    struct event *event = event_new(run->task_arena, EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES);

    ev_upsert_workflow_search_attributes(event)->search_attributes = list_map(run);
    return event;
}

static struct marker *marker_new(struct run *run, const char *change)
{
    struct marker *m = arena_new_of(run->task_arena, struct marker);

    m->name = MARKER;
    m->key = arena_strdup(run->task_arena, change);
    return m;
}

/* The marker and, when the list has room, its upsert. false: too many commands. */
static bool record(struct run *run, const char *change, int value)
{
    struct command *c = command_add(run, &command_version);

    if (!c) {
        return false;
    }
    c->marker = marker_new(run, change);
    bool listed = version_list_add(run, arena_printf(run->task_arena, "%s-%d", change, value));
    if (run->replaying) { /* version commands are never compared: the marker itself was the source
                           */
        return true;
    }
    c->event = marker_event(run, change, value, listed);
    if (!listed) {
        return true;
    }
    c = command_add(run, &command_version_attribute);
    if (!c) {
        return false;
    }
    c->event = version_list_event(run);
    return true;
}

/* The version that this task's recorded commands hold for change. */
static const struct event *find_marker(struct run *run, const char *change, int *ret_value)
{
    for (size_t i = 0; i < run->recorded_count; i++) {
        const struct event *event = run->recorded[i];
        if (!is_version_marker(event)) {
            continue;
        }
        const char *id = marker_detail(run->task_arena, event, "change-id");
        const char *value = marker_detail(run->task_arena, event, "version");
        if (!id) { /* Java's spelling */
            id = marker_detail(run->task_arena, event, "changeId");
        }
        if (id && value && strcmp(id, change) == 0) {
            *ret_value = (int)strtol(value, NULL, 10);
            return event;
        }
    }
    return NULL;
}

static int unsupported(struct run *run, const struct event *event, const char *change, int value,
                       int min, int max)
{
    autostr struct str name = {0};

    json_quote(&name, change, utf8_prefix(change, strlen(change), 96));
    run->mismatch.expected =
        arena_printf(run->arena, "version %d of change %s", value, str_c(&name));
    run->mismatch.actual = arena_printf(run->arena, "versions %d to %d of it", min, max);
    fault_mismatch(run, MISMATCH_VERSION, event, NULL);
    return call_park(run);
}

int dur_code_version_at(dur_ctx *ctx, const char *change, int min, int max, const char *file,
                        int line)
{
    struct run *run = ctx->run;
    const struct event *event = NULL;
    int code = call_enter(run, file, line);
    int value = max;

    if (code != DUR_OK) {
        return code;
    }
    if (!change || !*change || strlen(change) > RUN_MAX_ID_BYTES || min > max || max < 0 ||
        min < -1) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES,
                   "dur_code_version needs a name and -1 <= min <= max, max >= 0");
        return call_park(run);
    }
    const struct version *known = find_known(run, change);
    if (known) {
        value = known->value;
    } else if (run->replaying) {
        event = find_marker(run, change, &value);
        if (event && !record(run, change, value)) {
            return call_park(run);
        }
        value = remember(run, change, event ? value : -1);
    } else {
        if (!record(run, change, max)) {
            return call_park(run);
        }
        value = remember(run, change, max);
    }
    if (value < min || value > max) {
        return unsupported(run, event, change, value, min, max);
    }
    return value;
}

static const char *describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "record code version of %s", quoted(arena, c->marker->key));
}

/* Never compared: the marker itself is the source of the answer (match.c). */
const struct command_def command_version = {
    .name = "record code version", .bind = marker_bind, .describe = describe};
const struct command_def command_version_attribute = {
    .name = "record code versions in search attributes"};
