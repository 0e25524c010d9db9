/*
 * serve.c - registration, lanes and serving: durable.h's life cycle calls.
 * Owns: building the host from the handle and tearing it down. The host of a connected engine is
 * remote_serve.c's; who may drive an engine is decided here for both.
 * Tests: tests/unit/test_engine_serve.c
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"

#define LANE_NAME_MAX 1000 /* Temporal's limit for names */
#define RATE_MAX 1e6       /* starts per second */
#define SIGNATURE_MS 20    /* patience with a holder that has not written its pid yet */

static int refuse_name(dur_engine *engine, int rc, const char *what, const char *name)
{
    if (rc == DUR_EXISTS) {
        return engine_refuse(engine, DUR_INVALID, "%s %s is registered already", what, name);
    }
    return engine_refuse(engine, DUR_INVALID, "%s needs a function and a name of 1 to 1000 bytes",
                         what);
}

/* The loop reads the registry without a lock: it is complete before serving begins. */
static int add(dur_engine *engine, const char *name, const struct registered *entry)
{
    static const char *const whats[] = {"workflow", "activity", "transaction"};
    int what = entry->transaction ? 2 : entry->activity ? 1 : 0;
    int rc = engine_mine(engine);
    if (rc) {
        return rc;
    }
    struct registry *registry = &engine->registry;
    pthread_mutex_lock(&engine->mutex);
    rc = engine_is_hosted(engine) ? 1
         : what == 2 ? registry_add_transaction(registry, name, entry->transaction, entry->user)
         : what == 1 ? registry_add_activity(registry, name, entry->activity, entry->user)
                     : registry_add_workflow(registry, name, entry->workflow, entry->user);
    pthread_mutex_unlock(&engine->mutex);
    if (rc > 0) {
        return engine_refuse(engine, DUR_INVALID, "register %s before serving", name ? name : "it");
    }
    return rc < 0 ? refuse_name(engine, rc, whats[what], name) : DUR_OK;
}

int dur_register_workflow(dur_engine *engine, const char *name, dur_workflow_fn fn, void *user)
{
    return add(engine, name, &(struct registered){.workflow = fn, .user = user});
}

int dur_register_activity(dur_engine *engine, const char *name, dur_activity_fn fn, void *user)
{
    return add(engine, name, &(struct registered){.activity = fn, .user = user});
}

int dur_register_transaction(dur_engine *engine, const char *name, dur_transaction_fn fn,
                             void *user)
{
    return add(engine, name, &(struct registered){.transaction = fn, .user = user});
}

/* The wish for this task queue, made when new. Under the mutex. */
static struct lane_wish *wish_for(dur_engine *engine, const char *task_queue)
{
    struct lane_wish *wish = engine->lanes;
    while (wish && !str_eq(wish->task_queue, task_queue)) {
        wish = wish->next;
    }
    if (!wish) {
        wish = mem_alloc(sizeof(*wish));
        wish->task_queue = mem_strdup(task_queue);
        wish->next = engine->lanes;
        engine->lanes = wish;
    }
    return wish;
}

static bool is_lane(const char *task_queue, int slots)
{
    return task_queue && *task_queue && strlen(task_queue) <= LANE_NAME_MAX && slots >= 0 &&
           slots <= LANE_SLOTS_MAX;
}

int dur_lane(dur_engine *engine, const char *task_queue, int slots)
{
    int rc = engine_mine(engine);
    if (rc) {
        return rc;
    }
    if (!is_lane(task_queue, slots)) {
        return engine_refuse(engine, DUR_INVALID,
                             "a lane needs a name of 1 to 1000 bytes and 0 to %d slots",
                             LANE_SLOTS_MAX);
    }
    pthread_mutex_lock(&engine->mutex);
    struct lane_wish *wish = wish_for(engine, task_queue);
    wish->slots = slots;
    wish->limits.slots = slots ? slots : 1;
    pthread_mutex_unlock(&engine->mutex);
    return DUR_OK;
}

int dur_queue_at(dur_engine *engine, const char *task_queue, const dur_queue_options *options,
                 size_t options_size)
{
    dur_queue_options o = {0};
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    int rc = engine_mine(engine);
    if (rc) {
        return rc;
    }
    o.slots = o.slots ? o.slots : LANE_SLOTS_DEFAULT;
    if (!is_lane(task_queue, o.slots)) {
        return engine_refuse(engine, DUR_INVALID,
                             "a task queue needs a name of 1 to 1000 bytes and 1 to %d slots",
                             LANE_SLOTS_MAX);
    }
    if (!(o.rate_per_s >= 0.0 && o.rate_per_s <= RATE_MAX) || o.burst < 0 || o.per_key < 0) {
        return engine_refuse(engine, DUR_INVALID,
                             "limits of task queue %s: at most %g starts per second, none negative",
                             task_queue, RATE_MAX);
    }
    if (engine_is_remote(engine) && o.per_key > 0) {
        return engine_refuse(engine, DUR_INVALID,
                             "the server at %s has no limit per key for task queue %s: give its "
                             "keys queues of their own",
                             engine->path, task_queue);
    }
    pthread_mutex_lock(&engine->mutex);
    struct lane_wish *wish = wish_for(engine, task_queue);
    wish->slots = o.slots;
    wish->has_limits = o.rate_per_s > 0.0 || o.per_key > 0;
    wish->limits = (struct queue_row){.name = wish->task_queue,
                                      .slots = o.slots,
                                      .rate_per_s = o.rate_per_s,
                                      .burst = o.burst             ? o.burst
                                               : o.rate_per_s >= 1 ? (int)o.rate_per_s
                                                                   : 1,
                                      .per_key = o.per_key};
    pthread_mutex_unlock(&engine->mutex);
    return DUR_OK;
}

/* Under the mutex. */
static struct host *make_host(dur_engine *engine, dur_until until)
{
    struct host *host = mem_alloc(sizeof(*host));
    host->path = engine->path;
    host->store = engine->store;
    host->registry = &engine->registry;
    host->identity = engine->identity;
    host->clock = engine->clock;
    host->pace = engine->pace;
    host->max_cached_runs = engine->options.max_cached_runs;
    host->idle_exit_ms = engine->is_stepped ? 0 : engine->options.idle_exit_ms;
    host->stop_grace_ms = engine->options.stop_grace_ms;
    host->keep_closed_ns = engine->options.keep_closed_ms * NS_PER_MS;
    host->keep_closed_runs = engine->options.keep_closed_runs;
    host->chain_spacing_ns = engine->options.chain_spacing_ms * NS_PER_MS;
    host->suggest_events = engine->options.suggest_events;
    host->suggest_bytes = engine->options.suggest_bytes;
    host->until_idle = until == DUR_UNTIL_IDLE;
    host->on_log = engine->options.on_log;
    host->on_log_user = engine->options.on_log_user;
    host->stop = &engine->stop;
    host->inbox = &engine->inbox;
    for (struct lane_wish *wish = engine->lanes; wish; wish = wish->next) {
        claim_lane_slots(host, wish->task_queue, wish->slots);
        if (wish->has_limits) {
            admit_limit(host, wish->task_queue, &wish->limits);
        }
    }
    return host;
}

int engine_enter(dur_engine *engine, bool is_stepped, dur_until until)
{
    int rc = DUR_OK;
    pthread_mutex_lock(&engine->mutex);
    while (engine->is_asking && !pthread_equal(engine->asker, pthread_self())) {
        pthread_cond_wait(&engine->at_rest, &engine->mutex);
    }
    if (engine->is_asking) {
        rc = engine_refuse(engine, DUR_INVALID, "workflow code must not call the engine");
    } else if (engine->serving || (engine_is_hosted(engine) && !is_stepped)) {
        rc = engine_refuse(engine, DUR_BUSY, "this engine is driven by another call already");
    } else if (engine_is_hosted(engine) && !pthread_equal(engine->server, pthread_self())) {
        rc = engine_refuse(engine, DUR_INVALID, "dur_step belongs to the thread that called first");
    } else {
        engine->serving = true;
        engine->is_stepped = is_stepped;
        engine->server = pthread_self();
        if (engine->remote && !engine->remote_host) {
            engine->remote_host = remote_host_new(engine, until);
        } else if (!engine->remote && !engine->host) {
            engine->host = make_host(engine, until);
        }
    }
    pthread_mutex_unlock(&engine->mutex);
    return rc;
}

void engine_leave(dur_engine *engine, bool is_over)
{
    if (is_over && engine->host) {
        lock_close(engine->host->lock);
    }
    if (is_over && engine->remote_host) {
        remote_host_end(engine);
    }
    pthread_mutex_lock(&engine->mutex);
    if (is_over) {
        free(engine->host);
        remote_host_free(engine->remote_host);
        engine->host = NULL;
        engine->remote_host = NULL;
        atomic_store(&engine->stop, false);
    }
    engine->serving = false;
    pthread_cond_broadcast(&engine->at_rest);
    pthread_mutex_unlock(&engine->mutex); /* the handle may be closed from here on */
}

static int serve_store(dur_engine *engine)
{
    struct err err = {0};
    struct host *host = engine->host;
    int rc = lock_open(engine->path, &host->lock, &err);
    if (rc == 0) {
        rc = host_serve(host, &err);
    }
    return rc < 0 ? engine_fail(engine, &err) : DUR_OK;
}

static int serve_remote(dur_engine *engine)
{
    struct err err = {0};
    int rc;
    do {
        rc = remote_host_pass(engine, -1, &err);
    } while (rc >= 0);
    return rc == DUR_CANCELLED ? DUR_OK : engine_remote_told(engine, rc, &err);
}

int dur_serve(dur_engine *engine, dur_until until)
{
    int rc = engine_ready(engine, true);
    if (rc || (rc = engine_enter(engine, false, until))) {
        return rc;
    }
    rc = engine_is_remote(engine) ? serve_remote(engine) : serve_store(engine);
    engine_leave(engine, true);
    return rc;
}

void dur_stop(dur_engine *engine)
{
    if (engine && engine->pid == getpid()) {
        atomic_store(&engine->stop, true);
        inbox_wake(&engine->inbox);
    }
}

static int served_by_remote(dur_engine *engine, int64_t *pid)
{
    autoarena struct arena *arena = arena_new();
    int64_t found_pid = 0;
    size_t count = 0;
    int rc = remote_pollers_count(engine, arena, &count, &found_pid);
    if (rc == DUR_OK && count > 0 && pid) {
        *pid = found_pid;
    }
    return rc != DUR_OK ? rc : count > 0 ? 1 : 0;
}

int dur_served_by(dur_engine *engine, int64_t *pid)
{
    struct lock_holder holder = {0};
    struct err err = {0};
    int rc = engine_ready(engine, false);
    if (rc) {
        return rc;
    }
    if (engine_is_remote(engine)) {
        return served_by_remote(engine, pid);
    }
    rc = lock_query(engine->path, &holder, &err);
    for (int i = 0; i < SIGNATURE_MS && rc == 0 && !holder.is_alive; i++) {
        clock_sleep_ms(1); /* just taken: the new holder is about to sign */
        rc = lock_query(engine->path, &holder, &err);
    }
    if (rc < 0) {
        return engine_fail(engine, &err);
    }
    if (rc == 0 && pid) {
        *pid = holder.pid;
    }
    return rc == 0 ? 1 : 0;
}
