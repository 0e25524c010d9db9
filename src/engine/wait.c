/*
 * wait.c - how a client waits for what an engine does: deadlines, and the bell of news.
 * Owns: the bound on what a lost ring costs. Must not: look at the store; the caller does.
 * Tests: tests/unit/test_engine_look.c, tests/unit/test_engine_update.c,
 * tests/unit/test_engine_query.c
 */
#include "base/clock.h"
#include "engine/engine.h"
#include "journal/bell.h"

#define LOOK_MS 500 /* a lost ring costs at most this */

int64_t engine_deadline_ns(int64_t timeout_ms)
{
    int64_t ns;
    if (timeout_ms < 0 || __builtin_mul_overflow(timeout_ms, NS_PER_MS, &ns)) {
        return INT64_MAX;
    }
    return time_later(clock_mono_ns(), ns);
}

int engine_listen(dur_engine *engine, struct listener *ret)
{
    struct err err = {0};
    ret->engine = engine;
    pthread_mutex_lock(&engine->mutex);
    ret->bell = steal(&engine->spare_bell);
    pthread_mutex_unlock(&engine->mutex);
    if (!ret->bell && bell_open(engine->path, BELL_NEWS, &ret->bell, &err) < 0) {
        return engine_fail(engine, &err);
    }
    return DUR_OK;
}

void engine_unlisten(struct listener *listener)
{
    dur_engine *engine = listener->engine;
    if (!listener->bell) {
        return;
    }
    pthread_mutex_lock(&engine->mutex);
    if (!engine->spare_bell) {
        engine->spare_bell = steal(&listener->bell);
    }
    pthread_mutex_unlock(&engine->mutex);
    listener->bell = bell_close(listener->bell);
}

int engine_wait_news(dur_engine *engine, struct bell *bell, int64_t until_ns)
{
    struct err err = {0};
    int64_t left_ns = until_ns - clock_mono_ns();
    if (left_ns <= 0) {
        return 1;
    }
    int64_t left_ms = left_ns / NS_PER_MS + 1;
    return bell_wait(bell, left_ms < LOOK_MS ? left_ms : LOOK_MS, -1, &err) < 0
               ? engine_fail(engine, &err)
               : DUR_OK;
}
