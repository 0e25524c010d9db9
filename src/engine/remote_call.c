/*
 * remote_call.c - what the calls on a connected engine have in common.
 *
 * Owns: the check of a run's id, the way that a module's answer becomes durable.h's, the count of
 * calls that are under way, and the answers that need memory: a description, a history as a whole.
 * Must not: know what travels.
 * Tests: tests/unit/test_engine_remote.c
 */
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"

#define RUN_BYTES_MAX 1100 /* a workflow id, "@" and a run id */

int engine_remote_ready(dur_engine *engine, bool is_writer, const char *id)
{
    int rc = engine_ready(engine, is_writer);
    if (rc != DUR_OK) {
        return rc;
    }
    size_t len = id ? strlen(id) : 0;
    if (len == 0 || len > RUN_BYTES_MAX || !utf8_valid(id, len)) {
        return engine_refuse(engine, DUR_NOT_FOUND, "no run has the id %s",
                             len && utf8_valid(id, len) ? id : "");
    }
    return DUR_OK;
}

int engine_remote_told(dur_engine *engine, int rc, const struct err *err)
{
    return rc == DUR_OK ? rc : engine_refuse(engine, rc, "%s", err->text);
}

void engine_remote_enter(dur_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->remote_calls++;
    pthread_mutex_unlock(&engine->mutex);
}

int engine_remote_leave(dur_engine *engine, int rc, const struct err *err)
{
    rc = engine_remote_told(engine, rc, err);
    pthread_mutex_lock(&engine->mutex);
    if (--engine->remote_calls == 0) {
        pthread_cond_broadcast(&engine->at_rest);
    }
    pthread_mutex_unlock(&engine->mutex); /* the handle may be closed from here on */
    return rc;
}

void engine_remote_close(dur_engine *engine)
{
    engine->module->interrupt(engine->remote);
    pthread_mutex_lock(&engine->mutex);
    while (engine->remote_calls > 0) {
        pthread_cond_wait(&engine->at_rest, &engine->mutex);
    }
    pthread_mutex_unlock(&engine->mutex);
    engine->module->close(engine->remote);
}

static const char *text_or(const char *text, const char *other)
{
    return text ? text : other;
}

int engine_remote_describe(dur_engine *engine, struct arena *arena, const char *id,
                           dur_description *ret)
{
    int rc =
        engine_remote_if(engine_remote_ready(engine, false, id), engine, describe, arena, id, ret);
    if (rc != DUR_OK) {
        return rc;
    }
    ret->memo = text_or(ret->memo, "{}");
    ret->search_attributes = text_or(ret->search_attributes, "{}");
    ret->first_run_id = text_or(ret->first_run_id, ret->run_id);
    return DUR_OK;
}

/* --- a history as a whole ----------------------------------------------------------------------
 */

struct copying {
    struct arena *arena;
    struct history *to;
};

/* A remote_events_fn. */
static int copy_events(void *user, const struct event *events, size_t count)
{
    struct copying *c = user;
    for (size_t i = 0; i < count; i++) {
        event_copy(history_append(c->to, c->arena, events[i].type), &events[i], c->arena);
    }
    return 0;
}

int engine_remote_history(dur_engine *engine, struct arena *arena, const char *id,
                          struct history *ret)
{
    struct copying copying = {.arena = arena, .to = ret};
    *ret = (struct history){0};
    return engine_remote_run(engine, false, history, id, copy_events, &copying);
}
