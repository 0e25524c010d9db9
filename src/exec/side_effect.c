/*
 * side_effect.c - dur_side_effect: a value made once and recorded.
 *
 * Owns: the marker "SideEffect" in Go's form: details {"side-effect-id": [ordinal from 1],
 * "data": [JSON result]}. In replay the recorded value is given out by ordinal and fn is not run.
 * A failing fn leaves no marker: its code is returned and it may be run again in replay.
 * Tests: tests/unit/test_exec_marker.c
 */
#include "exec/state.h"

#include <string.h>

#define MARKER "SideEffect"

static struct command *record(struct run *run, const char *value)
{
    struct command *c = command_add(run, &command_side_effect);

    if (!c) {
        return NULL;
    }
    c->marker = arena_new_of(run->task_arena, struct marker);
    c->marker->name = MARKER;
    c->marker->key =
        arena_printf(run->task_arena, "%llu", (unsigned long long)run->next_side_effect);
    if (!run->replaying) {
        struct arena *arena = run->task_arena;
        c->event = event_new(arena, EVENT_MARKER_RECORDED);
        struct ev_marker_recorded *a = ev_marker_recorded(c->event);
        a->marker_name = MARKER;
        a->details = arena_new_of(arena, struct payloads_map);
        payloads_map_add(a->details, arena, "side-effect-id", payloads_json(arena, c->marker->key));
        payloads_map_add(a->details, arena, "data", payloads_json(arena, value));
    }
    return c;
}

/* The next recorded side effect of this task, or NULL. */
static const struct event *next_marker(struct run *run)
{
    while (run->side_effect_at < run->recorded_count) {
        const struct event *event = run->recorded[run->side_effect_at++];
        if (event->type == EVENT_MARKER_RECORDED && ev_marker_recorded(event)->marker_name &&
            strcmp(ev_marker_recorded(event)->marker_name, MARKER) == 0) {
            return event;
        }
    }
    return NULL;
}

static int replayed(struct run *run, const char **result)
{
    const struct event *event = next_marker(run);
    struct command *c = record(run, NULL);

    if (c && !event) {
        fault_mismatch(run, MISMATCH_EXTRA, run->completed, c);
    }
    if (!c || !event) {
        return call_park(run);
    }
    size_t len = 0;
    const struct payloads_map *details = ev_marker_recorded(event)->details;
    const char *json =
        details ? payloads_first_json(payloads_map_get(details, "data"), &len) : NULL;
    *result = json ? arena_strndup(run->arena, json, len) : "null";
    return DUR_OK;
}

static int made(struct run *run, dur_side_effect_fn fn, void *arg, const char **result)
{
    const char *value = NULL;

    run->in_callback = true;
    int code = fn(arg, &value);
    run->in_callback = false;
    if (code == DUR_OK) {
        code = payload_check(value);
    }
    if (code != DUR_OK) {
        run->next_side_effect--;
        return code;
    }
    *result = value ? run_strdup(run, value) : "null";
    return record(run, *result) ? DUR_OK : call_park(run);
}

int dur_side_effect_at(dur_ctx *ctx, dur_side_effect_fn fn, void *arg, const char **result,
                       const char *file, int line)
{
    struct run *run = ctx->run;
    const char *ignored;
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (!fn) {
        return DUR_INVALID;
    }
    run->next_side_effect++;
    return run->replaying ? replayed(run, result ? result : &ignored)
                          : made(run, fn, arg, result ? result : &ignored);
}

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    if (event->type != EVENT_MARKER_RECORDED ||
        !same_text(ev_marker_recorded(event)->marker_name, MARKER)) {
        return false;
    }
    const char *ordinal = marker_detail(run->task_arena, event, "side-effect-id");
    return !ordinal || same_text(ordinal, c->marker->key); /* Java records none */
}

static const char *describe(struct arena *arena, const struct command *c)
{
    return arena_printf(arena, "record side effect number %s", c->marker->key);
}

const struct command_def command_side_effect = {
    .name = "record side effect", .fits = fits, .bind = marker_bind, .describe = describe};
