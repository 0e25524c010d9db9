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
#include <pthread.h>
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
    int fd;       /* -1 in a forked child */
    int watch_fd; /* inotify while standing by; -1: not, or this machine's limits forbid it */
    bool is_watched;
    bool held;
    int64_t pause_ms; /* of the standby, until the next try */
    struct lock *next;
};

/* All locks of the process. A lock belongs to the open file description, which a forked child
 * shares: a child that lives on would keep the store locked after its parent's death, and one that
 * unlocks would unlock the parent. So the child's copies are closed at the fork. */
static struct lock *locks;
static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    pthread_mutex_lock(&locks_mutex);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&locks_mutex);
}

static void after_fork_in_child(void)
{
    for (struct lock *lock = locks; lock; lock = lock->next) {
        close(lock->fd);
        lock->fd = -1;
        lock->held = false;
    }
    locks = NULL;
    pthread_mutex_unlock(&locks_mutex);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void list_lock(struct lock *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&locks_mutex);
    lock->next = locks;
    locks = lock;
    pthread_mutex_unlock(&locks_mutex);
}

static void unlist_lock(struct lock *lock)
{
    pthread_mutex_lock(&locks_mutex);
    struct lock **link = &locks;
    while (*link && *link != lock) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = lock->next;
    }
    pthread_mutex_unlock(&locks_mutex);
}

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
    *lock = (struct lock){.path = steal(&path), .fd = fd, .watch_fd = -1};
    list_lock(lock);
    *ret = lock;
    return 0;
}

static void unwatch(struct lock *lock)
{
    if (lock->watch_fd >= 0) {
        close(lock->watch_fd);
    }
    lock->watch_fd = -1;
    lock->is_watched = false;
}

struct lock *lock_close(struct lock *lock)
{
    if (lock) {
        lock_release(lock);
        unwatch(lock);
        unlist_lock(lock);
        if (lock->fd >= 0) {
            close(lock->fd);
        }
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
static void watch(struct lock *lock)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && inotify_add_watch(fd, lock->path, IN_CLOSE_WRITE | IN_MODIFY) < 0) {
        close(fd);
        fd = -1;
    }
    lock->watch_fd = fd;
    lock->is_watched = true;
    lock->pause_ms = fd < 0 ? STANDBY_BLIND_MS : STANDBY_IDLE_MS;
}

/* True when the holder did something since the last look. */
static bool take_hints(const struct lock *lock)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool any = false;
    while (lock->watch_fd >= 0 && read(lock->watch_fd, events, sizeof(events)) > 0) {
        any = true;
    }
    return any;
}

int lock_stand_by(struct lock *lock, int64_t *ret_pause_ms, struct err *err)
{
    if (!lock->is_watched) {
        watch(lock);
    }
    int64_t longest_ms = lock->watch_fd < 0 ? STANDBY_BLIND_MS : STANDBY_IDLE_MS;
    if (take_hints(lock)) {
        lock->pause_ms = 1;
    } else {
        lock->pause_ms = lock->pause_ms * 2 < longest_ms ? lock->pause_ms * 2 : longest_ms;
    }
    *ret_pause_ms = lock->pause_ms;
    int rc = lock_try(lock, err);
    if (rc != 1) {
        unwatch(lock);
    }
    return rc;
}

int lock_watch_fd(const struct lock *lock)
{
    return lock->watch_fd;
}

int lock_wait(struct lock *lock, int stop_fd, struct err *err)
{
    int64_t pause_ms;
    int rc;
    while ((rc = lock_stand_by(lock, &pause_ms, err)) == 1) {
        struct pollfd fds[2] = {{.fd = lock->watch_fd, .events = POLLIN},
                                {.fd = stop_fd, .events = POLLIN}};
        if (poll(fds, 2, (int)pause_ms) > 0 && fds[1].revents) {
            break;
        }
    }
    unwatch(lock);
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
