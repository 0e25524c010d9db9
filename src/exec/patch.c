/*
 * patch.c - dur_patched and dur_deprecate_patch: a change of the code in Core's form.
 *
 * Owns: the marker "core_patch", details {"patch-data": [{"id": ..., "deprecated": ...}]}, and the
 * upsert of the keyword list TemporalChangeVersion behind it (version.c keeps the list; without
 * room for the id it is left out, as Core does). Markers of old Core versions ("patch_id",
 * "deprecated" as bytes) are read too.
 *
 *   history          code calls          code does not call (match.c)
 *   no marker        0, for the run      nothing
 *   marker           1                   mismatch
 *   deprecated one   1                   skipped, with its upsert if there is one
 *
 * Live, the first call of an id writes the marker and answers 1. An id has one marker in a run. The
 * calls never block.
 * Tests: tests/unit/test_exec_patch.c
 */
#include "exec/state.h"

#include <string.h>

#include "base/json.h"

#define MARKER "core_patch"

bool patch_marker_read(struct arena *arena, const struct event *event, const char **ret_id,
                       bool *ret_deprecated)
{
    size_t len = 0;
    const struct json *root;

    if (event->type != EVENT_MARKER_RECORDED ||
        !same_text(ev_marker_recorded(event)->marker_name, MARKER)) {
        return false;
    }
    *ret_id = "";
    *ret_deprecated = false;
    const struct payloads_map *details = ev_marker_recorded(event)->details;
    const struct payloads *old = details ? payloads_map_get(details, "patch_id") : NULL;
    if (old && old->count > 0) {
        const struct payloads *flag = payloads_map_get(details, "deprecated");
        *ret_id =
            arena_strndup(arena, old->items[0].data ? old->items[0].data : "", old->items[0].len);
        *ret_deprecated =
            flag && flag->count > 0 && flag->items[0].len > 0 && flag->items[0].data[0] == 1;
        return true;
    }
    const char *json =
        details ? payloads_first_json(payloads_map_get(details, "patch-data"), &len) : NULL;
    if (json && json_parse(arena, json, len, &root, NULL) == 0) {
        const char *id = json_get_str(root, "id");
        *ret_id = id ? id : "";
        json_get_bool(root, "deprecated", ret_deprecated);
    }
    return true;
}

static const struct patch *find_known(const struct run *run, const char *id)
{
    for (const struct patch *p = run->patches; p; p = p->next) {
        if (strcmp(p->id, id) == 0) {
            return p;
        }
    }
    return NULL;
}

static void remember(struct run *run, const char *id, bool answer)
{
    struct patch *p = arena_new_of(run->arena, struct patch);

    p->id = run_strdup(run, id);
    p->answer = answer;
    p->next = run->patches;
    run->patches = p;
}

/* Is there a marker of this id among the recorded commands of this task? */
static bool is_recorded(struct run *run, const char *id)
{
    const char *other;
    bool deprecated;

    for (size_t i = 0; i < run->recorded_count; i++) {
        if (patch_marker_read(run->task_arena, run->recorded[i], &other, &deprecated) &&
            strcmp(other, id) == 0) {
            return true;
        }
    }
    return false;
}

static struct event *marker_event(struct arena *arena, const char *id, bool deprecated)
{
    struct event *event = event_new(arena, EVENT_MARKER_RECORDED);
    struct ev_marker_recorded *a = ev_marker_recorded(event);
    autostr struct str data = {0};

    str_add(&data, "{\"id\":");
    json_quote(&data, id, strlen(id));
    str_addf(&data, ",\"deprecated\":%s}", deprecated ? "true" : "false");
    a->marker_name = MARKER;
    a->details = arena_new_of(arena, struct payloads_map);
    payloads_map_add(a->details, arena, "patch-data", payloads_json(arena, str_c(&data)));
    return event;
}

/* The marker and its upsert. false: too many commands. */
static bool record(struct run *run, const char *id, bool deprecated)
{
    struct command *c = command_add(run, &command_patch);

    if (!c) {
        return false;
    }
    c->marker = arena_new_of(run->task_arena, struct marker);
    c->marker->name = MARKER;
    c->marker->key = arena_strdup(run->task_arena, id);
    if (!run->replaying) {
        c->event = marker_event(run->task_arena, id, deprecated);
    }
    /* Core before its flag 2 wrote no upserts. */
    bool upserts = !run->replaying || (run->core_flags & RUN_CORE_FLAG_PATCH_UPSERT) != 0;
    if (!upserts || !version_list_add(run, id)) {
        return true;
    }
    c = command_add(run, &command_patch_attribute);
    if (c && !run->replaying) {
        c->event = version_list_event(run);
    }
    return c != NULL;
}

/* 1, 0, or a code to return from workflow code. */
static int ask(dur_ctx *ctx, const char *id, bool deprecated, const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!id || !*id || strlen(id) > RUN_MAX_ID_BYTES) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES,
                   "a patch needs a name of at most %d bytes", RUN_MAX_ID_BYTES);
        return call_park(run);
    }
    const struct patch *known = find_known(run, id);
    if (known) {
        return known->answer;
    }
    bool answer = !run->replaying || is_recorded(run, id);
    remember(run, id, answer);
    if (answer && !record(run, id, deprecated)) {
        return call_park(run);
    }
    return answer;
}

int dur_patched_at(dur_ctx *ctx, const char *patch, const char *file, int line)
{
    return ask(ctx, patch, false, file, line);
}

void dur_deprecate_patch_at(dur_ctx *ctx, const char *patch, const char *file, int line)
{
    ask(ctx, patch, true, file, line);
}

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    const char *id;
    bool deprecated;

    return patch_marker_read(run->task_arena, event, &id, &deprecated) &&
           same_text(id, c->marker->key);
}

static const char *describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "record patch %s", quoted(arena, c->marker->key));
}

const struct command_def command_patch = {
    .name = "record patch", .fits = fits, .bind = marker_bind, .describe = describe};

static bool attribute_fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return is_version_attribute(event);
}

const struct command_def command_patch_attribute = {.name = "record patches in search attributes",
                                                    .fits = attribute_fits};
