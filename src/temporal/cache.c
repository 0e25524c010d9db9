/*
 * cache.c - see cache.h.
 * Tests: tests/unit/test_temporal_cache.c
 */
#include "temporal/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t bucket_of(const char *run_id)
{
    uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a */

    for (const char *at = run_id; *at; at++) {
        hash = (hash ^ (uint8_t)*at) * 0x100000001b3ULL;
    }
    return (size_t)(hash % CACHE_BUCKETS);
}

struct cached *cache_find(struct cache *cache, const char *run_id)
{
    struct cached *cached = cache->buckets[bucket_of(run_id)];

    while (cached && strcmp(cached->run_id, run_id) != 0) {
        cached = cached->hash_next;
    }
    return cached;
}

static void unlink_use(struct cache *cache, struct cached *cached)
{
    *(cached->newer ? &cached->newer->older : &cache->newest) = cached->older;
    *(cached->older ? &cached->older->newer : &cache->oldest) = cached->newer;
    cached->newer = cached->older = NULL;
}

static void link_use(struct cache *cache, struct cached *cached)
{
    cached->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = cached;
    cache->newest = cached;
}

void cache_touch(struct cache *cache, struct cached *cached)
{
    if (cache->newest != cached) {
        unlink_use(cache, cached);
        link_use(cache, cached);
    }
}

/* A copy that the run's successor needs, without what may be large and is told elsewhere. */
static const struct ev_workflow_execution_started *passed_on(struct arena *arena,
                                                             const struct event *first)
{
    struct ev_workflow_execution_started slim = *ev_workflow_execution_started(first);
    struct event from = *first;
    struct event *to = arena_new_of(arena, struct event);

    slim.input = NULL;
    slim.memo = NULL;
    from.attributes = &slim;
    event_copy(to, &from, arena);
    return ev_workflow_execution_started(to);
}

struct cached *cache_add(struct cache *cache, struct run *run, const char *workflow_id,
                         const char *run_id, const char *type, const char *queue,
                         const struct event *first)
{
    struct arena *arena = arena_new();
    struct cached *cached = arena_new_of(arena, struct cached);

    cached->arena = arena;
    cached->run = run;
    cached->workflow_id = arena_strdup(arena, workflow_id);
    cached->run_id = arena_strdup(arena, run_id);
    cached->type = arena_strdup(arena, type);
    cached->queue = arena_strdup(arena, queue);
    cached->started = passed_on(arena, first);
    cached->serial = ++cache->next_serial;
    struct cached **bucket = &cache->buckets[bucket_of(run_id)];
    cached->hash_next = *bucket;
    *bucket = cached;
    link_use(cache, cached);
    cache->count++;
    return cached;
}

void cache_drop(struct cache *cache, struct cached *cached)
{
    struct cached **at = &cache->buckets[bucket_of(cached->run_id)];

    while (*at != cached) {
        at = &(*at)->hash_next;
    }
    *at = cached->hash_next;
    unlink_use(cache, cached);
    cache->count--;
    run_free(cached->run);
    free(cached->predicted);
    arena_free(cached->arena);
}

void cached_advance(struct cached *cached, const struct event *started,
                    const struct run_output *out)
{
    cached->undone_started = cached->last_started;
    cached->last_started = started->id;
    cached->now_ns = started->time_ns;
    cached->predicted_id = out->count ? out->events[0]->id : 0;
    cached->predicted_count = 0;
    mem_reserve(cached->predicted, &cached->predicted_cap, out->count);
    for (size_t i = 0; i < out->count; i++) {
        cached->predicted[cached->predicted_count++] = (uint8_t)out->events[i]->type;
    }
}

void cached_undo(struct cached *cached)
{
    cached->last_started = cached->undone_started;
    cached->predicted_count = 0;
}

bool cached_fits(const struct cached *cached, int64_t previous_started, const struct event *events,
                 size_t count)
{
    if (cached->last_started != previous_started || count == 0 ||
        events[0].id > run_processed(cached->run) + 1) {
        return false;
    }
    for (size_t i = 0; i < cached->predicted_count; i++) {
        int64_t at = cached->predicted_id + (int64_t)i - events[0].id;
        if (at >= (int64_t)count || (at >= 0 && events[at].type != cached->predicted[i])) {
            return false;
        }
    }
    return true;
}
