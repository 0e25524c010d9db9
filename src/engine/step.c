/*
 * step.c - dur_fd() and dur_step(): an engine in somebody else's event loop.
 *
 * Owns: one epoll descriptor over everything that can give the engine work, and the passes that
 * dur_step() makes of the loop (worker/serve.c).
 *
 *     dur_fd() --+-- inbox.wake_fd   an activity ended, dur_stop() was called
 *                +-- bell            a client, of this process or another, left something
 *                +-- lock watch      standing by: the engine that serves let go
 *                +-- timer_fd        the next deadline; at once while work is left
 *                +-- serving_fd      of a connected engine, in place of bell, lock and deadlines
 *
 * Invariant: when dur_step() returns, the descriptor is readable or becomes so as soon as another
 * call would do something. Between two calls the loop counts as asleep (inbox.h).
 * Threads: one, the same for all calls of a host's life (fibers belong to it).
 * Tests: tests/unit/test_engine_step.c
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine.h"

static int watch(dur_engine *engine, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    int rc = fd < 0 ? 0 : epoll_ctl(engine->step_fd, EPOLL_CTL_ADD, fd, &event);
    return rc < 0 && errno != EEXIST ? -1 : 0;
}

static void unwatch(dur_engine *engine, int fd)
{
    if (fd >= 0) { /* closing alone is not enough: a forked child may hold a copy */
        epoll_ctl(engine->step_fd, EPOLL_CTL_DEL, fd, NULL);
    }
}

/* Readable after that long; 0: at once; < 0: not by itself. */
static void set_timer(dur_engine *engine, int64_t ms)
{
    struct itimerspec at = {0};
    if (ms >= 0) {
        at.it_value.tv_sec = (time_t)(ms / 1000);
        at.it_value.tv_nsec = (long)(ms % 1000 * NS_PER_MS) + 1; /* all zero would disarm it */
    }
    timerfd_settime(engine->timer_fd, 0, &at, NULL);
}

static int make_fds(dur_engine *engine)
{
    struct err err = {0};
    if (engine->step_fd > 0) {
        return DUR_OK;
    }
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    engine->step_fd = epoll_fd;
    engine->timer_fd = timer_fd;
    if (epoll_fd < 0 || timer_fd < 0 || watch(engine, timer_fd) < 0 ||
        watch(engine, engine->inbox.wake_fd) < 0) {
        err_sys(&err, errno, "EventFd", "cannot make a descriptor for the event loop");
        engine->step_fd = engine->timer_fd = 0;
        if (epoll_fd >= 0) {
            close(epoll_fd);
        }
        if (timer_fd >= 0) {
            close(timer_fd);
        }
        return engine_fail(engine, &err);
    }
    set_timer(engine, 0); /* the first step is due */
    return DUR_OK;
}

int dur_fd(dur_engine *engine)
{
    int rc = engine_ready(engine, true);
    if (rc) {
        return rc;
    }
    pthread_mutex_lock(&engine->mutex);
    rc = make_fds(engine);
    int fd = engine->step_fd;
    pthread_mutex_unlock(&engine->mutex);
    return rc ? rc : fd;
}

/* The lock, if it is free. 0: this engine serves; 1: another does, look again in *ret_wait_ms. */
static int take_lock(dur_engine *engine, int64_t *ret_wait_ms, struct err *err)
{
    struct host *host = engine->host;
    if (!host->lock && lock_open(engine->path, &host->lock, err) < 0) {
        return -1;
    }
    unwatch(engine, lock_watch_fd(host->lock));
    int rc = lock_stand_by(host->lock, ret_wait_ms, err);
    if (rc == 1 && watch(engine, lock_watch_fd(host->lock)) < 0) {
        return err_sys(err, errno, "EventFd", "cannot watch the lock file");
    }
    if (rc != 0) {
        return rc;
    }
    rc = host_begin(host, err);
    if (rc == 0 && watch(engine, bell_fd(host->bell)) < 0) {
        rc = err_sys(err, errno, "EventFd", "cannot watch the doorbell");
    }
    if (rc < 0) {
        host_end(host);
    }
    return rc;
}

int step_pass(dur_engine *engine, int64_t *ret_wait_ms, struct err *err)
{
    struct host *host = engine->host;
    if (!host->lock || !lock_held(host->lock)) {
        if (atomic_load(&engine->stop)) {
            return HOST_OVER;
        }
        int rc = take_lock(engine, ret_wait_ms, err);
        return rc < 0 ? -1 : rc == 1 ? HOST_QUIET : HOST_BUSY;
    }
    struct pollfd bell = {.fd = bell_fd(host->bell), .events = POLLIN};
    if (poll(&bell, 1, 0) > 0) {
        host_hear(host);
    }
    int rc = host_pass(host, ret_wait_ms, err);
    if (rc == HOST_OVER || rc < 0) {
        unwatch(engine, bell.fd);
        host_end(host);
    }
    return rc;
}

/* Nothing more in this call: see that the descriptor says when there is. */
static void fall_asleep(dur_engine *engine, int rc, int64_t wait_ms)
{
    struct host *host = engine->host;
    if (rc == HOST_QUIET && !host->retry_ns && !inbox_begin_sleep(host->inbox)) {
        rc = HOST_BUSY; /* an activity ended meanwhile */
    }
    if (rc == HOST_QUIET && host->bell) {
        live_trim_idle(host);
        if (host->owes_ring) {
            host_ring(host);
        }
    }
    set_timer(engine, rc == HOST_QUIET ? wait_ms : 0);
}

static int64_t left_ms(int64_t max_ms, int64_t since_ns)
{
    int64_t gone = (clock_mono_ns() - since_ns) / NS_PER_MS;
    return max_ms < 0 ? INT32_MAX : gone < max_ms ? max_ms - gone : 0;
}

/* The passes of one dur_step(). Its code; *ret_is_over: the host has ended. */
static int step_store(dur_engine *engine, int64_t max_ms, bool *ret_is_over)
{
    struct err err = {0};
    int64_t since = clock_mono_ns();
    int64_t wait_ms = 0;
    int rc;
    for (;;) {
        inbox_end_sleep(&engine->inbox);
        rc = step_pass(engine, &wait_ms, &err);
        if (rc == HOST_OVER || rc < 0) {
            break;
        }
        fall_asleep(engine, rc, wait_ms);
        int64_t left = left_ms(max_ms, since);
        if (rc == HOST_BUSY || left == 0) {
            break;
        }
        struct pollfd fd = {.fd = engine->step_fd, .events = POLLIN};
        poll(&fd, 1, (int)(left < INT32_MAX ? left : INT32_MAX));
    }
    *ret_is_over = rc == HOST_OVER || rc < 0;
    return rc < 0 ? engine_fail(engine, &err) : rc == HOST_OVER ? DUR_CANCELLED : rc;
}

static int step_remote(dur_engine *engine, int64_t max_ms, bool *ret_is_over)
{
    struct err err = {0};
    int rc = remote_host_pass(engine, max_ms, &err);
    if (rc >= 0 && watch(engine, remote_host_fd(engine)) < 0) {
        rc = DUR_IO;
        err_sys(&err, errno, "EventFd", "cannot watch the connection");
    }
    *ret_is_over = rc < 0;
    if (rc < 0) {
        unwatch(engine, remote_host_fd(engine));
        return engine_remote_told(engine, rc, &err);
    }
    set_timer(engine, rc > 0 ? 0 : -1);
    return rc;
}

/* dur_step() of an engine that has its descriptors. */
static int step(dur_engine *engine, int64_t max_ms)
{
    bool is_over;
    int rc = engine_enter(engine, true, DUR_UNTIL_STOPPED);
    if (rc) {
        return rc;
    }
    int code = engine_is_remote(engine) ? step_remote(engine, max_ms, &is_over)
                                        : step_store(engine, max_ms, &is_over);
    if (is_over) {
        set_timer(engine, -1);
    }
    engine_leave(engine, is_over);
    return code;
}

int dur_step(dur_engine *engine, int64_t max_ms)
{
    int rc = dur_fd(engine);
    return rc < 0 ? rc : step(engine, max_ms);
}

/* Whatever state the store is in: dur_step() would look at that first. */
void step_close(dur_engine *engine)
{
    while (engine_is_hosted(engine)) { /* the stop flag is set: each pass brings it nearer */
        if (step(engine, -1) < 0) {
            return;
        }
    }
}
