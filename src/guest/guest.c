/*
 * guest.c - guest_main(): the signals and the one loop.
 *
 *   epoll: the listener | libmicrohttpd's own epoll set | signalfd | pipes of the processes
 *   each turn: serve what is ready -> keepalives, deadlines -> housekeeping -> MHD_run -> listener
 *
 * Everything runs in this one thread, so nothing is locked. The daemon wakes only for events and
 * timers that are really due.
 * Tests: tests/unit/test_guest_daemon.c
 */
#include "guest/guest.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "guest/listener.h"
#include "guest/process.h"
#include "guest/server.h"
#include "guest/spawn.h"
#include "guest/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define STOP_NS (5 * NS_PER_S) /* how long trees may take to die at the end */

struct daemon {
    struct guest guest;
    struct MHD_Daemon *http;
    struct watch http_watch;
    struct listener listener;
    struct watch signals;
    int64_t idle_ns;
    bool told_to_stop;
};

/* --- life of the process itself --- */

static int open_log(const struct guest_options *options, struct err *err)
{
    int fd = options->log_fd;
    if (options->log_path) {
        fd = open(options->log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) {
            return err_sys(err, errno, "LogFailed", "guest: cannot write %s", options->log_path);
        }
    }
    if (fd > 0) {
        log_set_fd(fd);
    }
    log_set_level(LOG_LEVEL_INFO);
    return 0;
}

/* Nothing that the starter's terminal or end does may reach us. */
static void detach(bool log_elsewhere)
{
    setsid(); /* fails where we lead one already */
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0); /* what runs inside may not trace us: it shares our user */
    umask(022);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
        if (log_elsewhere) {
            dup2(null, 2);
        }
        close(null);
    }
}

static void signal_ready(struct watch *watch, uint32_t events is_unused)
{
    struct daemon *d = watch->user;
    struct signalfd_siginfo info;
    while (read(watch->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        d->told_to_stop = d->told_to_stop || info.ssi_signo != SIGCHLD;
    }
    process_reap(&d->guest);
}

static int watch_signals(struct daemon *d)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    d->signals = (struct watch){
        .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signal_ready, .user = d};
    loop_set(d->guest.loop_fd, &d->signals, EPOLLIN);
    return d->signals.fd;
}

static void http_ready(struct watch *watch is_unused, uint32_t events is_unused)
{
    /* MHD_run follows each turn anyway. */
}

static int start_http(struct daemon *d, int listen_fd, struct err *err)
{
    d->http = server_start(&d->guest);
    const union MHD_DaemonInfo *info =
        d->http ? MHD_get_daemon_info(d->http, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        return err_set(err, ERR_PERMANENT, "HttpFailed", "guest: the HTTP server did not start");
    }
    d->http_watch = (struct watch){.fd = info->epoll_fd, .ready = http_ready, .user = d};
    loop_set(d->guest.loop_fd, &d->http_watch, EPOLLIN);
    listener_start(&d->listener, d->guest.loop_fd, listen_fd, d->http);
    return 0;
}

static void tell_ready(int fd)
{
    if (fd > 0) {
        if (write(fd, "\n", 1) < 0) {
            log_warn("guest", "nobody waits for readiness");
        }
        close(fd);
    }
}

static int start(struct daemon *d, const struct guest_options *options, struct err *err)
{
    int listen_fd = options->listen_fd;
    guest_state_init(&d->guest, options);
    d->idle_ns = options->idle_ms * NS_PER_MS;
    if (open_log(options, err) < 0) {
        return -1;
    }
    if (access("/proc/self/stat", R_OK) < 0) {
        return err_set(err, ERR_PERMANENT, "ProcMissing",
                       "guest: /proc is not mounted; process trees could not be found");
    }
    detach(options->log_path || options->log_fd > 2);
    spawn_init();
    d->guest.loop_fd = loop_open();
    if (d->guest.loop_fd < 0 || watch_signals(d) < 0) {
        return err_sys(err, errno, "LoopFailed", "guest: cannot wait for events");
    }
    if (listen_fd <= 0 && listener_open(options->socket_path, &listen_fd, err) < 0) {
        return -1;
    }
    if (start_http(d, listen_fd, err) < 0) {
        return -1;
    }
    log_info("guest", "listening pid=%d at %s", getpid(),
             options->socket_path ? options->socket_path : "an inherited socket");
    tell_ready(options->ready_fd);
    return 0;
}

/* --- the loop --- */

static int64_t idle_due(const struct daemon *d)
{
    bool busy = d->idle_ns <= 0 || d->guest.requests > 0 || process_alive(&d->guest) > 0;
    return busy ? INT64_MAX : d->guest.active_mono_ns + d->idle_ns;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Milliseconds until something is due, rounded up; -1: only events. */
static int timeout(const struct daemon *d)
{
    MHD_UNSIGNED_LONG_LONG http_ms = 0;
    int64_t now = clock_mono_ns();
    int64_t due = earlier(process_due(&d->guest), stream_due(&d->guest));
    due = earlier(due, idle_due(d));
    due = earlier(due, listener_due(&d->listener));
    if (MHD_get_timeout(d->http, &http_ms) == MHD_YES) {
        due = earlier(due, now + (int64_t)(http_ms < 60000 ? http_ms : 60000) * NS_PER_MS);
    }
    if (due == INT64_MAX) {
        return -1;
    }
    int64_t ms = due <= now ? 0 : (due - now + NS_PER_MS - 1) / NS_PER_MS;
    return (int)(ms < 60000 ? ms : 60000);
}

static void turn(struct daemon *d, int timeout_ms)
{
    loop_turn(d->guest.loop_fd, timeout_ms);
    process_housekeep(&d->guest);
    stream_tick(&d->guest);
    MHD_run(d->http);
    listener_tick(&d->listener, d->guest.loop_fd);
}

static void serve(struct daemon *d)
{
    while (!d->told_to_stop) {
        if (clock_mono_ns() >= idle_due(d)) {
            log_info("guest", "idle for %lld ms: leaving", (long long)(d->idle_ns / NS_PER_MS));
            return;
        }
        turn(d, timeout(d));
    }
    log_info("guest", "told to stop");
}

/* Kill all trees, let the last answers out, close. */
static void stop(struct daemon *d)
{
    int64_t deadline = clock_mono_ns() + STOP_NS;
    process_kill_all(&d->guest);
    while (process_alive(&d->guest) > 0 && clock_mono_ns() < deadline) {
        turn(d, 5);
    }
    d->guest.closing = true;
    process_abandon_all(&d->guest);
    stream_wake_all(&d->guest);
    turn(d, 0);
    listener_stop(&d->listener, d->guest.loop_fd);
    loop_set(d->guest.loop_fd, &d->http_watch, 0);
    MHD_stop_daemon(d->http);
    process_free_all(&d->guest);
}

int guest_main(const struct guest_options *options)
{
    struct daemon d = {.signals.fd = -1, .http_watch.fd = -1};
    struct err err = {0};
    mem_refill();
    int rc = start(&d, options, &err);
    if (rc < 0) {
        log_error("guest", "%s", err.text);
    } else {
        serve(&d);
        stop(&d);
        if (options->socket_path && options->listen_fd <= 0) {
            unlink(options->socket_path);
        }
    }
    if (d.signals.fd >= 0) {
        close(d.signals.fd);
    }
    if (d.guest.loop_fd >= 0) {
        close(d.guest.loop_fd);
    }
    guest_state_free(&d.guest);
    return rc < 0 ? 1 : 0;
}
