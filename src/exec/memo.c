/*
 * memo.c - dur_upsert_memo.
 *
 * Owns: WORKFLOW_PROPERTIES_MODIFIED from a JSON object: one payload per key, null removes a key
 * (an empty binary/null payload, as Temporal removes keys).
 * Tests: tests/unit/test_exec_marker.c
 */
#include "base/json.h"

#include <string.h>

#include "exec/state.h"

static struct event *memo_event(struct arena *arena, const struct json *memo)
{
    struct event *event = event_new(arena, EVENT_WORKFLOW_PROPERTIES_MODIFIED);
    struct payload_map *map = arena_new_of(arena, struct payload_map);

    json_each (value, memo) {
        struct payload payload = {0};
        if (value->type == JSON_NULL) {
            payload_set(&payload, arena, "binary/null", NULL, 0);
        } else {
            payload_set(&payload, arena, "json/plain", value->raw, value->raw_len);
        }
        payload_map_add(map, arena, arena_strndup(arena, value->key, value->key_len), &payload);
    }
    ev_workflow_properties_modified(event)->upserted_memo = map;
    return event;
}

int dur_upsert_memo_at(dur_ctx *ctx, const char *memo, const char *file, int line)
{
    struct run *run = ctx->run;
    const struct json *root;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    code = memo ? payload_check(memo) : DUR_INVALID;
    if (code != DUR_OK) {
        return code;
    }
    if (json_parse(run->task_arena, memo, strlen(memo), &root, NULL) != 0 ||
        root->type != JSON_OBJECT) {
        return DUR_INVALID;
    }
    struct command *c = command_add(run, &command_memo);
    if (!c) {
        return call_park(run);
    }
    if (!run->replaying) {
        c->event = memo_event(run->task_arena, root);
    }
    return DUR_OK;
}

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_WORKFLOW_PROPERTIES_MODIFIED;
}

const struct command_def command_memo = {.name = "change the memo", .fits = fits};
