/*
 * killsync.c - a preloaded library that kills its process at the Nth commit of its database.
 *
 * Owns: the count of commits of files named *-wal: with synchronous=FULL each commit ends with one
 * sync of the log. KILLSYNC=WHEN:N, where WHEN is "write" (SIGKILL before commit N writes its first
 * byte: nothing of it is on disk), "sync" (written, not synced: after a crash of the process alone
 * it may come back) or "after" (durable, but nobody was told). "count:0" only counts.
 * KILLSYNC_COUNT names a file that always holds the number of commits so far. It takes itself out
 * of the environment, so only the program that is started with it is meant, not its children. The
 * product knows nothing of it. Thread rule: the counter is atomic; one store per process is meant.
 * Tests: tests/crash/run-killed.sh
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static enum { ONLY_COUNT, AT_WRITE, AT_SYNC, AFTER_SYNC } when;
static long at;
static atomic_long commits;
static int count_fd = -1;

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        die();
    }
    return found;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const words[] = {"count", "write", "sync", "after"};
    const char *text = getenv("KILLSYNC");
    const char *file = getenv("KILLSYNC_COUNT");
    for (int i = 0; text && i < 4; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(text, words[i], len) == 0 && text[len] == ':') {
            when = i;
            at = strtol(text + len + 1, NULL, 10);
        }
    }
    if (file) {
        count_fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    unsetenv("KILLSYNC");
    unsetenv("KILLSYNC_COUNT");
    unsetenv("LD_PRELOAD");
}

static bool is_wal(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len < 4) {
        return false;
    }
    path[len] = '\0';
    return strcmp(path + len - 4, "-wal") == 0;
}

static void before_write(int fd)
{
    if (when == AT_WRITE && is_wal(fd) && atomic_load(&commits) + 1 >= at) {
        die();
    }
}

static int sync_with(int (*sync_real)(int), int fd)
{
    if (!is_wal(fd)) {
        return sync_real(fd);
    }
    long number = atomic_fetch_add(&commits, 1) + 1;
    if (count_fd >= 0) {
        char text[32];
        int len = snprintf(text, sizeof(text), "%ld\n", number);
        ssize_t n = pwrite(count_fd, text, (size_t)len, 0);
        (void)n; /* the reader sees a smaller number */
    }
    if (when == AT_SYNC && number == at) {
        die();
    }
    int rc = sync_real(fd);
    if (when == AFTER_SYNC && number == at) {
        die();
    }
    return rc;
}

EXPORT int fdatasync(int fd)
{
    int (*sync_real)(int) = (int (*)(int))real("fdatasync");
    return sync_with(sync_real, fd);
}

EXPORT int fsync(int fd)
{
    int (*sync_real)(int) = (int (*)(int))real("fsync");
    return sync_with(sync_real, fd);
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t offset)
{
    ssize_t (*write_real)(int, const void *, size_t, off64_t) =
        (ssize_t(*)(int, const void *, size_t, off64_t))real("pwrite64");
    before_write(fd);
    return write_real(fd, bytes, len, offset);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t len)
{
    ssize_t (*write_real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))real("write");
    before_write(fd);
    return write_real(fd, bytes, len);
}
