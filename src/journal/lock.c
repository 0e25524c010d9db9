/*
 * lock.c - see lock.h. Open-file-description lock on DBPATH.lock.
 *
 * A standby blocks in F_OFD_SETLKW on a helper thread (fcntl is a cancellation point), while the
 * caller polls the helper's eventfd and the stop descriptor. If the lock arrives in the instant of
 * the stop, it is simply given back.
 * Format of the file: "PID TICKS\n", padded with blanks to LOCK_TEXT_BYTES, written by the holder.
 * Must not: decide anything by that text. Tests: tests/unit/test_journal_lock.c
 */
#include "journal/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "journal/companion.h"

#define LOCK_TEXT_BYTES 64

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

/* What the helper thread and its caller share. */
struct wait {
    int lock_fd;
    int done_fd; /* eventfd: written when fcntl returned */
    int failure; /* its errno, 0 when the lock is ours */
};

static void *block(void *user)
{
    struct wait *wait = user;
    struct flock want = whole_file(F_WRLCK);
    int rc;
    do {
        rc = fcntl(wait->lock_fd, F_OFD_SETLKW, &want);
    } while (rc < 0 && errno == EINTR);
    wait->failure = rc < 0 ? errno : 0;
    eventfd_write(wait->done_fd, 1);
    return NULL;
}

/* 0: the helper is done. 1: stop_fd is readable. */
static int wait_for_either(int done_fd, int stop_fd)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = done_fd, .events = POLLIN},
                                {.fd = stop_fd, .events = POLLIN}};
        int n = poll(fds, 2, -1);
        if (n > 0 && fds[0].revents) {
            return 0;
        }
        if (n > 0 && fds[1].revents) {
            return 1;
        }
    }
}

int lock_wait(struct lock *lock, int stop_fd, struct err *err)
{
    int rc = lock_try(lock, err);
    if (rc <= 0) {
        return rc;
    }
    struct wait wait = {.lock_fd = lock->fd, .done_fd = eventfd(0, EFD_CLOEXEC)};
    pthread_t helper;
    if (wait.done_fd < 0) {
        return err_sys(err, errno, "LockFile", "waiting for %s", lock->path);
    }
    int failure = pthread_create(&helper, NULL, block, &wait);
    if (failure) {
        close(wait.done_fd);
        return err_sys(err, failure, "LockFile", "waiting for %s", lock->path);
    }
    rc = wait_for_either(wait.done_fd, stop_fd);
    if (rc == 1) {
        pthread_cancel(helper);
    }
    pthread_join(helper, NULL);
    close(wait.done_fd);
    if (rc == 1) {
        struct flock none = whole_file(F_UNLCK); /* it may have come just now */
        fcntl(lock->fd, F_OFD_SETLK, &none);
        return 1;
    }
    if (wait.failure) {
        return err_sys(err, wait.failure, "LockFile", "waiting for %s", lock->path);
    }
    return taken(lock);
}

void lock_release(struct lock *lock)
{
    if (lock->held) {
        struct flock none = whole_file(F_UNLCK);
        lock->held = false;
        fcntl(lock->fd, F_OFD_SETLK, &none);
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
