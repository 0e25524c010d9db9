/*
 * keep.c - see keep.h.
 * Tests: tests/temporal/t8200-worker.sh (small_cache)
 */
#include "temporal/keep.h"

#include "temporal/remote.h"
#include "temporal/rpc.h"
#include "temporal/serving.h"

void keep_release(struct remote_serving *s, struct cached *cached)
{
    if (cached->held) {
        cached->held = task_free(cached->held);
        s->held--;
    }
}

void keep_drop(struct remote_serving *s, struct cached *cached)
{
    keep_release(s, cached);
    locals_leave(s->locals, cached->run_id);
    cache_drop(&s->cache, cached);
}

struct reset {
    struct errand errand;
    struct arena *arena;
    Pb__WorkflowExecution execution;
};

static void go_reset(struct errand *errand, void *user)
{
    struct remote_serving *s = user;
    struct reset *reset = (struct reset *)errand;
    Pb__ResetStickyTaskQueueRequest request;
    struct err err = {0};

    pb__reset_sticky_task_queue_request__init(&request);
    request.namespace_ = s->remote->name_space;
    request.execution = &reset->execution;
    rpc_send(s->remote, &(struct rpc){.method = "ResetStickyTaskQueue", .kind = RPC_ONCE},
             &request.base, NULL, &s->answers, NULL, NULL, &err);
    arena_free(reset->arena); /* a wish only: a task that comes all the same fetches its history */
}

/* The next task of a run that is no longer here should come whole, to whichever worker asks. */
static void evict(struct remote_serving *s, struct cached *cached)
{
    struct arena *arena = arena_new();
    struct reset *reset = arena_new_of(arena, struct reset);

    reset->arena = arena;
    reset->errand.go = go_reset;
    pb__workflow_execution__init(&reset->execution);
    reset->execution.workflow_id = arena_strdup(arena, cached->workflow_id);
    reset->execution.run_id = arena_strdup(arena, cached->run_id);
    keep_drop(s, cached);
    if (!errand_offer(s->errands, &reset->errand)) { /* answers come first */
        arena_free(arena);
    }
}

void keep_at_most(struct remote_serving *s, size_t limit)
{
    struct cached *cached = s->cache.oldest;

    while (cached && s->cache.count > limit) {
        struct cached *newer = cached->newer;
        if (!cached->held) {
            evict(s, cached);
        }
        cached = newer;
    }
}

size_t keep_limit(const struct remote_serving *s)
{
    return s->worker->max_cached_runs > 0 ? (size_t)s->worker->max_cached_runs : 0;
}
