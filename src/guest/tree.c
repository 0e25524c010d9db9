/*
 * tree.c - see tree.h. One thread; a snapshot is two numbers a process, so thousands are cheap.
 * Tests: tests/unit/test_guest_kill.c
 */
#include "guest/tree.h"

#include "base/attr.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 100000 /* a snapshot is not atomic: never walk in circles */

struct entry {
    pid_t pid;
    pid_t parent;
};

struct snapshot {
    struct entry *entries; /* by pid */
    size_t count;
    size_t cap;
};

static int by_pid(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Parent from /proc/PID/stat; the name in parentheses may hold anything. False for zombies: they
 * cannot be signalled and only wait for their reaper. */
static bool read_parent(int proc_fd, const char *name, pid_t *ret)
{
    char path[32];
    char text[512];
    snprintf(path, sizeof(path), "%.16s/stat", name);
    autoclose int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t len = read(fd, text, sizeof(text) - 1);
    if (len <= 0) {
        return false;
    }
    text[len] = '\0';
    const char *end = strrchr(text, ')');
    char state;
    return end && sscanf(end + 1, " %c %d", &state, ret) == 2 && state != 'Z' && state != 'X';
}

static int take(struct snapshot *snapshot)
{
    DIR *dir = opendir("/proc");
    if (!dir) {
        return -1;
    }
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        pid_t parent;
        if (d->d_name[0] < '0' || d->d_name[0] > '9' ||
            !read_parent(dirfd(dir), d->d_name, &parent)) {
            continue;
        }
        mem_reserve(snapshot->entries, &snapshot->cap, snapshot->count + 1);
        snapshot->entries[snapshot->count++] =
            (struct entry){(pid_t)strtol(d->d_name, NULL, 10), parent};
    }
    closedir(dir);
    if (snapshot->count > 0) {
        qsort(snapshot->entries, snapshot->count, sizeof(*snapshot->entries), by_pid);
    }
    return 0;
}

static pid_t parent_of(const struct snapshot *snapshot, pid_t pid)
{
    const struct entry key = {.pid = pid};
    const struct entry *found =
        snapshot->count > 0 ? bsearch(&key, snapshot->entries, snapshot->count, sizeof(key), by_pid)
                            : NULL;
    return found ? found->parent : 0;
}

static struct tree_root *root_at(struct tree_root *roots, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++) {
        if (roots[i].pid == pid) {
            return &roots[i];
        }
    }
    return NULL;
}

/* The nearest root above; *ret_ours: the walk met our own process before any root. */
static struct tree_root *root_above(const struct snapshot *snapshot, struct tree_root *roots,
                                    size_t count, pid_t pid, bool *ret_ours)
{
    pid_t self = getpid();
    *ret_ours = false;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        pid = parent_of(snapshot, pid);
        if (pid <= 0 || pid == self) {
            *ret_ours = pid == self;
            return NULL;
        }
        struct tree_root *root = root_at(roots, count, pid);
        if (root) {
            return root;
        }
    }
    return NULL;
}

int tree_signal(struct tree_root *roots, size_t count, bool strays, int signal)
{
    struct snapshot snapshot = {0};
    if (take(&snapshot) < 0) {
        return -1;
    }
    int reached = 0;
    for (size_t i = 0; i < snapshot.count; i++) {
        pid_t pid = snapshot.entries[i].pid;
        if (root_at(roots, count, pid)) {
            continue;
        }
        bool ours;
        struct tree_root *root = root_above(&snapshot, roots, count, pid, &ours);
        if (!(root ? root->wanted : strays && ours)) {
            continue;
        }
        if (kill(pid, signal) == 0) {
            reached++;
            if (root) {
                root->reached++;
            }
        }
    }
    free(snapshot.entries);
    return reached;
}

int tree_count(pid_t pid)
{
    struct snapshot snapshot = {0};
    if (take(&snapshot) < 0) {
        return -1;
    }
    struct tree_root root = {.pid = pid};
    int below = 0;
    for (size_t i = 0; i < snapshot.count; i++) {
        bool ours;
        below += root_above(&snapshot, &root, 1, snapshot.entries[i].pid, &ours) != NULL;
    }
    free(snapshot.entries);
    return below;
}
