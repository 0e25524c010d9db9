/*
 * test_temporal_cache.c - runs in a worker's memory, and whether the server's events fit them.
 */
#include "temporal/cache.h"

#include <criterion/criterion.h>
#include <string.h>

#include "durable.h"

static int sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, 1000);
}

static struct event *first_event(struct arena *arena)
{
    struct event *event = event_new(arena, EVENT_WORKFLOW_EXECUTION_STARTED);
    struct ev_workflow_execution_started *a = ev_workflow_execution_started(event);

    event->id = 1;
    a->workflow_type = "T";
    a->cron_schedule = "@hourly";
    a->attempt = 1;
    a->input = payloads_json(arena, "\"large\"");
    a->original_execution_run_id = a->first_execution_run_id = "r";
    return event;
}

static struct cached *add(struct cache *cache, struct arena *arena, const char *run_id)
{
    struct run_spec spec = {.fn = sleeper, .workflow_id = "w", .run_id = run_id, .type = "T"};

    return cache_add(cache, run_new(&spec), "w", run_id, "T", "q", first_event(arena));
}

Test(cache, finds_touches_and_drops)
{
    autoarena struct arena *arena = arena_new();
    static struct cache cache;
    char id[3] = "a0";

    for (int i = 0; i < 10; i++) {
        id[1] = (char)('0' + i);
        add(&cache, arena, id);
    }
    cr_assert_eq(cache.count, 10);
    cr_assert_null(cache_find(&cache, "b0"));
    cr_assert_str_eq(cache.oldest->run_id, "a0");
    cache_touch(&cache, cache_find(&cache, "a0"));
    cr_assert_str_eq(cache.newest->run_id, "a0");
    cr_assert_str_eq(cache.oldest->run_id, "a1");
    cr_assert_str_eq(cache.newest->started->cron_schedule, "@hourly");
    cr_assert_null(cache.newest->started->input);
    cr_assert_neq(cache.newest->serial, cache.oldest->serial);
    cache_drop(&cache, cache_find(&cache, "a5"));
    cr_assert_null(cache_find(&cache, "a5"));
    while (cache.newest) {
        cache_drop(&cache, cache.newest);
    }
    cr_assert_eq(cache.count, 0);
    cr_assert_null(cache.oldest);
}

/* Runs the first task of a run: SCHEDULED 2, STARTED 3, then COMPLETED 4 and TIMER_STARTED 5. */
static void run_first(struct cached *cached, struct arena *arena, struct run_output *out)
{
    struct event *events[3] = {first_event(arena), event_new(arena, EVENT_WORKFLOW_TASK_SCHEDULED),
                               event_new(arena, EVENT_WORKFLOW_TASK_STARTED)};
    struct err err = {0};

    events[1]->id = 2;
    events[2]->id = 3;
    events[2]->time_ns = 1;
    ev_workflow_task_started(events[2])->scheduled_event_id = 2;
    cr_assert_eq(run_task(cached->run, (const struct event *const *)events, 3, out, &err), 0, "%s",
                 err.text);
    cr_assert_eq(out->count, 2);
    cached_advance(cached, events[2], out);
}

static size_t make_events(struct event *events, struct arena *arena, int64_t from,
                          const enum event_type *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        event_init(&events[i], arena, types[i]);
        events[i].id = from + (int64_t)i;
    }
    return count;
}

Test(cache, believes_only_what_was_predicted)
{
    autoarena struct arena *arena = arena_new();
    static struct cache cache;
    struct cached *cached = add(&cache, arena, "r");
    struct run_output out;
    struct event e[8];
    static const enum event_type good[] = {
        EVENT_WORKFLOW_TASK_COMPLETED, EVENT_TIMER_STARTED,         EVENT_TIMER_FIRED,
        EVENT_WORKFLOW_TASK_SCHEDULED, EVENT_WORKFLOW_TASK_STARTED,
    };
    static const enum event_type other[] = {
        EVENT_WORKFLOW_TASK_COMPLETED,
        EVENT_ACTIVITY_TASK_SCHEDULED,
        EVENT_TIMER_FIRED,
    };

    run_first(cached, arena, &out);
    size_t n = make_events(e, arena, 4, good, ARRAY_LEN(good));
    cr_assert(cached_fits(cached, 3, e, n));
    cr_assert_not(cached_fits(cached, 7, e, n), "another task came in between");
    cr_assert_not(cached_fits(cached, 0, e, n));
    cr_assert_not(cached_fits(cached, 3, e, 1), "the timer is missing");
    cr_assert_not(cached_fits(cached, 3, e, 0));
    n = make_events(e, arena, 4, other, ARRAY_LEN(other));
    cr_assert_not(cached_fits(cached, 3, e, n), "an activity where the timer should be");
    n = make_events(e, arena, 6, good + 2, 3);
    cr_assert(cached_fits(cached, 3, e, n), "what is left out cannot contradict");
    n = make_events(e, arena, 7, good + 3, 2);
    cr_assert_not(cached_fits(cached, 3, e, n), "a gap");
    cached_undo(cached);
    n = make_events(e, arena, 6, good + 2, 3);
    cr_assert_not(cached_fits(cached, 3, e, n), "that task left no trace");
    cr_assert(cached_fits(cached, 0, e, n));
    cache_drop(&cache, cached);
}
