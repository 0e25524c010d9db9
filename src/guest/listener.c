/*
 * listener.c - see listener.h.
 *
 *   watched --no descriptor, no memory--> resting, REST_NS --> watched
 *   watched --CONNECTIONS_MAX--> not watched --one has ended--> watched
 *
 * Who waits meanwhile waits in the socket's backlog.
 * Tests: tests/unit/test_guest_daemon.c, tests/nth/guest_paths.c
 */
#include "guest/listener.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REST_NS (50 * NS_PER_MS)
#define BATCH 64 /* connections accepted per turn */

/* Does somebody listen at this address? */
static bool is_served(const struct sockaddr_un *address)
{
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

int listener_open(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (strlen(path) >= sizeof(address.sun_path)) {
        return err_set(err, ERR_PERMANENT, "SocketPathTooLong",
                       "guest: socket path %s is longer than %zu bytes", path,
                       sizeof(address.sun_path) - 1);
    }
    str_copy(address.sun_path, sizeof(address.sun_path), path);
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode)) {
            return err_set(err, ERR_PERMANENT, "SocketPathTaken",
                           "guest: %s exists and is no socket", path);
        }
        if (is_served(&address)) {
            return err_set(err, ERR_PERMANENT, "SocketBusy", "guest: %s is served already", path);
        }
        unlink(path);
    }
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    umask(mask);
    if (!bound || listen(fd, SOMAXCONN) < 0) {
        return err_sys(err, errno, "SocketFailed", "guest: cannot listen at %s", path);
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

static bool has_room(const struct listener *listener)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->http, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info && info->num_connections < CONNECTIONS_MAX;
}

/* False: nobody is waiting, or nobody can be let in now. */
static bool accept_one(struct listener *listener)
{
    struct sockaddr_un address = {0};
    socklen_t len = sizeof(address);
    int fd = accept4(listener->watch.fd, (struct sockaddr *)&address, &len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        listener->is_short = false;
        /* It owns the socket, and closes it when it has no memory for a connection. */
        MHD_add_connection(listener->http, fd, (const struct sockaddr *)&address, len);
        return true;
    }
    if (errno == EINTR || errno == ECONNABORTED) {
        return true;
    }
    if (errno != EAGAIN) {
        if (!listener->is_short) {
            log_warn("guest", "cannot accept a connection: %s; trying again",
                     strerrorname_np(errno));
        }
        listener->is_short = true;
        listener->rest_until_ns = clock_mono_ns() + REST_NS;
    }
    return false;
}

static void ready(struct watch *watch, uint32_t events is_unused)
{
    struct listener *listener = watch->user;
    for (int i = 0; i < BATCH && has_room(listener) && accept_one(listener); i++) {
    }
}

void listener_start(struct listener *listener, int loop_fd, int listen_fd, struct MHD_Daemon *http)
{
    *listener = (struct listener){
        .watch = {.fd = listen_fd, .ready = ready, .user = listener},
        .http = http,
    };
    fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK); /* an inherited one */
    listener_tick(listener, loop_fd);
}

void listener_tick(struct listener *listener, int loop_fd)
{
    if (listener->rest_until_ns && clock_mono_ns() >= listener->rest_until_ns) {
        listener->rest_until_ns = 0;
    }
    bool is_open = listener->rest_until_ns == 0 && has_room(listener);
    loop_set(loop_fd, &listener->watch, is_open ? EPOLLIN : 0);
}

int64_t listener_due(const struct listener *listener)
{
    return listener->rest_until_ns ? listener->rest_until_ns : INT64_MAX;
}

void listener_stop(struct listener *listener, int loop_fd)
{
    if (listener->http) {
        loop_close(loop_fd, &listener->watch);
        listener->http = NULL;
    }
}
