/*
 * bell.c - see bell.h. inotify on DBPATH.bell.
 * WORK is a one-byte pwrite (IN_MODIFY), NEWS a futimens (IN_ATTRIB): different events of one
 * inode, so that each listener hears only its own. Must not: be the only way to learn of a commit.
 * Tests: tests/unit/test_journal_bell.c
 */
#include "journal/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "journal/companion.h"

struct bell {
    int fd;     /* the file, for ringing; -1 when we may only listen */
    int listen; /* inotify, or -1 */
};

static int hear(const char *path, int sounds, int *ret, struct err *err)
{
    uint32_t mask = 0;
    mask |= sounds & BELL_WORK ? IN_MODIFY : 0;
    mask |= sounds & BELL_NEWS ? IN_ATTRIB : 0;
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0) {
        return err_sys(err, errno, "Bell", "cannot watch %s", path);
    }
    if (inotify_add_watch(fd, path, mask) < 0) {
        int failure = errno;
        close(fd);
        return err_sys(err, failure, "Bell", "cannot watch %s", path);
    }
    *ret = fd;
    return 0;
}

int bell_open(const char *db_path, int listen, struct bell **ret, struct err *err)
{
    autofree char *path = NULL;
    *ret = NULL;
    if (companion_path(db_path, ".bell", &path, err) < 0) {
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0 && !(listen && (errno == EACCES || errno == EROFS))) {
        return err_sys(err, errno, "Bell", "cannot open %s", path);
    }
    autobell struct bell *bell = mem_alloc(sizeof(*bell));
    *bell = (struct bell){.fd = fd, .listen = -1};
    if (listen && hear(path, listen, &bell->listen, err) < 0) {
        return -1;
    }
    *ret = steal(&bell);
    return 0;
}

struct bell *bell_close(struct bell *bell)
{
    if (bell) {
        if (bell->fd >= 0) {
            close(bell->fd);
        }
        if (bell->listen >= 0) {
            close(bell->listen);
        }
        free(bell);
    }
    return NULL;
}

void bell_ring(struct bell *bell, enum bell_sound sound)
{
    if (bell->fd < 0) {
        return;
    }
    if (sound == BELL_WORK) {
        ssize_t written = pwrite(bell->fd, "!", 1, 0);
        (void)written;
    } else {
        futimens(bell->fd, NULL);
    }
}

int bell_fd(const struct bell *bell)
{
    return bell->listen;
}

void bell_drain(struct bell *bell)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    while (bell->listen >= 0 && read(bell->listen, events, sizeof(events)) > 0) {
    }
}

int bell_wait(struct bell *bell, int64_t timeout_ms, int stop_fd, struct err *err)
{
    int64_t deadline = clock_mono_ns() + (timeout_ms < 0 ? 0 : timeout_ms * NS_PER_MS);
    for (;;) {
        struct pollfd fds[2] = {{.fd = bell->listen, .events = POLLIN},
                                {.fd = stop_fd, .events = POLLIN}};
        int64_t left_ms = (deadline - clock_mono_ns() + NS_PER_MS - 1) / NS_PER_MS;
        left_ms = left_ms < 0 ? 0 : left_ms > 1000000000 ? 1000000000 : left_ms;
        int n = poll(fds, 2, timeout_ms < 0 ? -1 : (int)left_ms);
        if (n > 0) {
            bool has_rung = fds[0].revents != 0;
            bell_drain(bell);
            return has_rung ? 0 : 1;
        }
        if (n == 0) {
            return 1;
        }
        if (errno != EINTR) {
            return err_sys(err, errno, "Bell", "waiting for the doorbell");
        }
    }
}
