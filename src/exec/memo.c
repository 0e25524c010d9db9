/*
 * memo.c - dur_upsert_memo.
 *
 * Owns: WORKFLOW_PROPERTIES_MODIFIED from a JSON object (history/map.h), and what dur_memo() says.
 * Tests: tests/unit/test_exec_marker.c
 */
#include "exec/state.h"
#include "history/map.h"

int dur_upsert_memo_at(dur_ctx *ctx, const char *memo, const char *file, int line)
{
    struct run *run = ctx->run;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    code = memo ? payload_check(memo) : DUR_INVALID;
    if (code != DUR_OK) {
        return code;
    }
    struct payload_map *map = map_parse(run->task_arena, memo);
    if (!map) {
        return DUR_INVALID;
    }
    struct command *c = command_add(run, &command_memo);
    if (!c) {
        return call_park(run);
    }
    if (!run->replaying) {
        c->event = event_new(run->task_arena, EVENT_WORKFLOW_PROPERTIES_MODIFIED);
        ev_workflow_properties_modified(c->event)->upserted_memo = map;
    }
    run->info.memo = map_merge(run->arena, run->info.memo, map);
    return DUR_OK;
}

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_WORKFLOW_PROPERTIES_MODIFIED;
}

const struct command_def command_memo = {.name = "change the memo", .fits = fits};
