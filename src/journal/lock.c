/*
 * lock.c - see lock.h. Open-file-description lock on DBPATH.lock.
 *
 * A standby sleeps in poll() on an inotify watch of the lock file and on the stop descriptor, since
 * F_OFD_SETLKW could only be interrupted by a signal of ours. The holder's death or release closes
 * or writes the file; the kernel tells so a moment before the lock is free, so a hint is followed
 * by tries after 1, 2, 4 ... ms. A slow try now and then is the net below. Format of the file: "PID
 * TICKS\n", padded with blanks to LOCK_TEXT_BYTES, written by the holder. Must not: decide anything
 * by that text. Tests: tests/unit/test_journal_lock.c
 */
#include "journal/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "journal/companion.h"

#define LOCK_TEXT_BYTES 64
#define STANDBY_IDLE_MS 5000 /* with a watch: only the net */
#define STANDBY_BLIND_MS 100 /* without */

struct lock {
    char *path;
    int fd;
    bool held;
};

int lock_open(const char *db_path, struct lock **ret, struct err *err)
{
    *ret = NULL;
    autofree char *path = NULL;
    if (companion_path(db_path, ".lock", &path, err) < 0) {
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return err_sys(err, errno, "LockFile", "cannot open %s", path);
    }
    struct lock *lock = mem_alloc(sizeof(*lock));
    *lock = (struct lock){.path = steal(&path), .fd = fd};
    *ret = lock;
    return 0;
}

struct lock *lock_close(struct lock *lock)
{
    if (lock) {
        lock_release(lock);
        close(lock->fd);
        free(lock->path);
        free(lock);
    }
    return NULL;
}

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* For people and dur_served_by only; a failure to write it changes nothing. */
static void sign(const struct lock *lock)
{
    char text[LOCK_TEXT_BYTES + 1];
    uint64_t ticks = 0;
    if (!proc_start_ticks(getpid(), &ticks)) {
        ticks = 0;
    }
    int len = snprintf(text, sizeof(text), "%lld %" PRIu64, (long long)getpid(), ticks);
    memset(text + len, ' ', LOCK_TEXT_BYTES - (size_t)len);
    text[LOCK_TEXT_BYTES - 1] = '\n';
    ssize_t written = pwrite(lock->fd, text, LOCK_TEXT_BYTES, 0);
    (void)written;
}

static int taken(struct lock *lock)
{
    lock->held = true;
    sign(lock);
    return 0;
}

int lock_try(struct lock *lock, struct err *err)
{
    struct flock want = whole_file(F_WRLCK);
    if (lock->held) {
        return 0;
    }
    if (fcntl(lock->fd, F_OFD_SETLK, &want) == 0) {
        return taken(lock);
    }
    if (errno == EAGAIN || errno == EACCES) {
        return 1;
    }
    return err_sys(err, errno, "LockFile", "cannot lock %s", lock->path);
}

/* inotify on the lock file: the holder's descriptor is closed at its death or release. -1: the
 * limits of this machine forbid it, then only the clock drives the tries. */
static int watch(const struct lock *lock)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && inotify_add_watch(fd, lock->path, IN_CLOSE_WRITE | IN_MODIFY) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Waits for a hint, the stop or the time. 1: stop_fd is readable; 2: a hint came; 0: time is up. */
static int wait_for_hint(int watch_fd, int stop_fd, int timeout_ms)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct pollfd fds[2] = {{.fd = watch_fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
    if (poll(fds, 2, timeout_ms) <= 0) {
        return 0;
    }
    while (watch_fd >= 0 && read(watch_fd, events, sizeof(events)) > 0) {
    }
    return fds[1].revents ? 1 : 2;
}

int lock_wait(struct lock *lock, int stop_fd, struct err *err)
{
    int watch_fd = watch(lock);
    int longest_ms = watch_fd < 0 ? STANDBY_BLIND_MS : STANDBY_IDLE_MS;
    int pause_ms = longest_ms;
    int rc;
    while ((rc = lock_try(lock, err)) == 1) {
        int hint = wait_for_hint(watch_fd, stop_fd, pause_ms);
        if (hint == 1) {
            break;
        }
        pause_ms = hint == 2 ? 1 : pause_ms * 2 < longest_ms ? pause_ms * 2 : longest_ms;
    }
    if (watch_fd >= 0) {
        close(watch_fd);
    }
    return rc;
}

void lock_release(struct lock *lock)
{
    if (lock->held) {
        struct flock none = whole_file(F_UNLCK);
        lock->held = false;
        fcntl(lock->fd, F_OFD_SETLK, &none);
        ssize_t written = pwrite(lock->fd, " ", 1, LOCK_TEXT_BYTES - 2); /* wakes the standbys */
        (void)written;
    }
}

bool lock_held(const struct lock *lock)
{
    return lock->held;
}

/* Reads "PID TICKS" and compares with the process table. */
static void read_holder(int fd, struct lock_holder *ret)
{
    char text[LOCK_TEXT_BYTES + 1];
    ssize_t n = pread(fd, text, LOCK_TEXT_BYTES, 0);
    long long pid = 0;
    uint64_t ticks = 0;
    uint64_t now_ticks = 0;
    *ret = (struct lock_holder){0};
    if (n <= 0) {
        return;
    }
    text[n] = '\0';
    if (sscanf(text, "%19lld %20" SCNu64, &pid, &ticks) == 2 && pid > 0) {
        ret->pid = pid;
        ret->is_alive = proc_start_ticks((pid_t)pid, &now_ticks) && now_ticks == ticks;
    }
}

int lock_query(const char *db_path, struct lock_holder *ret, struct err *err)
{
    autofree char *path = NULL;
    *ret = (struct lock_holder){0};
    if (companion_path(db_path, ".lock", &path, err) < 0) {
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 1 : err_sys(err, errno, "LockFile", "cannot open %s", path);
    }
    struct flock probe = whole_file(F_WRLCK);
    int rc = fcntl(fd, F_OFD_GETLK, &probe);
    int failure = errno;
    if (rc == 0 && probe.l_type != F_UNLCK) {
        read_holder(fd, ret);
    }
    close(fd);
    if (rc < 0) {
        return err_sys(err, failure, "LockFile", "cannot ask for the holder of %s", path);
    }
    return probe.l_type == F_UNLCK ? 1 : 0;
}
