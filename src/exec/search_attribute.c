/*
 * search_attribute.c - dur_upsert_search_attributes and dur_search_attributes.
 *
 * Owns: the search attributes of a run as its code sees them (those of its start, put over by its
 * own upserts, and TemporalChangeVersion), and the command UPSERT_WORKFLOW_SEARCH_ATTRIBUTES.
 * Tests: tests/unit/test_exec_search.c
 */
#include "exec/state.h"

#include <string.h>

#include "history/attributes.h"

void search_attributes_put(struct run *run, const struct payload_map *fresh)
{
    if (fresh && fresh->count > 0) {
        run->search_attributes = attributes_merge(run->arena, run->search_attributes, fresh);
    }
}

const char *dur_search_attributes(const dur_ctx *ctx)
{
    return ctx->run->search_attributes ? ctx->run->search_attributes : "{}";
}

int dur_upsert_search_attributes_at(dur_ctx *ctx, const char *attributes, const char *file,
                                    int line)
{
    struct run *run = ctx->run;
    struct payload_map *map;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (attributes && strlen(attributes) > ATTRIBUTES_BYTES_MAX) {
        return DUR_LIMIT;
    }
    if (attributes_parse(run->task_arena, attributes, &map, NULL) < 0) {
        return DUR_INVALID;
    }
    if (!map || map->count == 0 || payload_map_get(map, VERSION_ATTRIBUTE)) {
        return DUR_INVALID; /* nothing to write; or what dur_patched writes */
    }
    const char *merged = attributes_merge(run->task_arena, run->search_attributes, map);
    if (merged && strlen(merged) > ATTRIBUTES_BYTES_MAX) {
        return DUR_LIMIT;
    }
    struct command *c = command_add(run, &command_search_attributes);
    if (!c) {
        return call_park(run);
    }
    run->search_attributes = run_strdup(run, merged);
    if (!run->replaying) {
        c->event = event_new(run->task_arena, EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES);
        ev_upsert_workflow_search_attributes(c->event)->search_attributes = map;
    }
    return DUR_OK;
}

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES && !is_version_attribute(event);
}

const struct command_def command_search_attributes = {.name = "change search attributes",
                                                      .fits = fits};
