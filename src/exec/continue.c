/*
 * continue.c - dur_continue_as_new: the run ends and another one of its id takes over.
 *
 * Owns: what was asked for until the workflow function returns, and the closing command that it
 * becomes. The event leaves empty what is as in this run (memo, header, time-outs ...), and the new
 * run's id: the host knows them. Signals that nobody received go along (signals_left).
 * Must not: refuse the call: what cannot be is said when the function returns, as for its result,
 * so that the run is parked and not lost.
 * Tests: tests/unit/test_exec_continue.c
 */
#include "exec/state.h"

#include <string.h>

#include "base/clock.h"
#include "exec/options.h"
#include "history/attributes.h"
#include "history/map.h"

static bool fits(struct run *run, const struct command *c, const struct event *event)
{
    (void)run;
    (void)c;
    return event->type == EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW;
}

static void bind(struct run *run, const struct command *c, int64_t event_id)
{
    (void)c;
    (void)event_id;
    must_move(&run_machine, &run->state, RUN_STATE_CONTINUED, run);
}

const struct command_def command_continue = {
    .name = "continue the run as new", .fits = fits, .bind = bind};

/* Why the new run cannot be as asked for, or NULL. */
static const char *fault_in(struct run *run, const char *input, const dur_continue_options *o)
{
    if (payload_check(input) != DUR_OK) {
        return "the input is not JSON, or too long";
    }
    if ((o->type && !options_is_name(o->type)) ||
        (o->task_queue && !options_is_name(o->task_queue))) {
        return "type and task queue have 1 to 1000 bytes";
    }
    if (!options_is_duration(o->run_timeout_ms) || !options_is_duration(o->task_timeout_ms) ||
        !options_is_duration(o->backoff_ms)) {
        return "times lie between 0 and 100 years";
    }
    if (o->retry && !options_is_policy(o->retry)) {
        return "there is no such retry policy";
    }
    if (o->memo && (payload_check(o->memo) != DUR_OK || !map_parse(run->task_arena, o->memo))) {
        return "the memo must be a JSON object";
    }
    struct payload_map *map;
    struct err err = {0};
    if (payload_check(o->search_attributes) != DUR_OK ||
        attributes_parse(run->task_arena, o->search_attributes, &map, &err) < 0) {
        return err.text[0] ? run_strdup(run, err.text) : "the search attributes are too long";
    }
    return NULL;
}

int dur_continue_as_new_at(dur_ctx *ctx, const char *input, const dur_continue_options *options,
                           size_t options_size, const char *file, int line)
{
    struct run *run = ctx->run;
    dur_continue_options o = {0};
    int code = call_enter(run, file, line);

    if (code != DUR_OK) {
        return code;
    }
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    run->next = (struct succession){
        .asked = true,
        .fault = fault_in(run, input, &o),
        .file = file,
        .line = line,
    };
    if (!run->next.fault) {
        run->next.input = run_strdup(run, input);
        run->next.type = run_strdup(run, o.type);
        run->next.task_queue = run_strdup(run, o.task_queue);
        run->next.memo = run_strdup(run, o.memo);
        run->next.search_attributes = run_strdup(run, o.search_attributes);
        run->next.run_timeout_ns = o.run_timeout_ms * NS_PER_MS;
        run->next.task_timeout_ns = o.task_timeout_ms * NS_PER_MS;
        run->next.backoff_ns = o.backoff_ms * NS_PER_MS;
        run->next.retry = o.retry ? options_policy(run->arena, o.retry, 0) : NULL;
    }
    return DUR_CONTINUE;
}

/* Versions of code begin anew with the next run. */
static struct payload_map *next_attributes(struct arena *arena, const char *json)
{
    struct payload_map *all;

    if (attributes_parse(arena, json, &all, NULL) < 0 || !all) { /* checked before */
        return NULL;
    }
    struct payload_map *kept = arena_new_of(arena, struct payload_map);
    for (size_t i = 0; i < all->count; i++) {
        if (!str_eq(all->items[i].key, VERSION_ATTRIBUTE)) {
            payload_map_add(kept, arena, all->items[i].key, &all->items[i].payload);
        }
    }
    return kept->count > 0 ? kept : NULL;
}

static struct event *continued_event(struct run *run)
{
    const struct succession *next = &run->next;
    struct arena *arena = run->task_arena;
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_CONTINUED_AS_NEW);
    struct ev_workflow_execution_continued_as_new *a =
        ev_workflow_execution_continued_as_new(event);

    a->workflow_type = next->type ? next->type : run->spec.type;
    a->task_queue =
        task_queue_new(arena, next->task_queue ? next->task_queue : run->spec.task_queue);
    a->input = next->input ? payloads_json(arena, next->input) : NULL;
    a->workflow_run_timeout = next->run_timeout_ns;
    a->workflow_task_timeout = next->task_timeout_ns;
    a->backoff_start_interval = next->backoff_ns;
    a->initiator = CONTINUE_AS_NEW_INITIATOR_WORKFLOW;
    a->memo = map_parse(arena, next->memo ? next->memo : run->info.memo);
    a->search_attributes = next_attributes(
        arena, next->search_attributes ? next->search_attributes : run->search_attributes);
    return event;
}

void continue_finish(struct run *run)
{
    if (run->next.fault) {
        fault_task(run, WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES,
                   "the run cannot continue as new: %s", run->next.fault);
        return;
    }
    struct command *c = command_add(run, &command_continue);
    if (c) {
        c->site = (struct run_site){.file = run->next.file, .line = run->next.line};
        if (!run->replaying) {
            c->event = continued_event(run);
        }
    }
}
