/*
 * proctree.c - scan /proc, find descendants.
 *
 * Owns: parsing /proc/PID/stat. Invariant: a scan never invents a process; one that dies or forks
 * during it may be missed, so callers that must be sure scan again until nothing changes.
 * Tests: tests/unit/test_sandbox_host.c
 */
#include "sandbox/proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define STAT_MAX 4096

/* The command name may hold anything, ")" included: the last one ends it. */
static bool parse_stat(const char *text, struct proc_item *ret)
{
    const char *rest = strrchr(text, ')');
    long long parent = 0;
    unsigned long long ticks = 0;
    long long pages = 0;
    char state = 0;

    ret->pid = (pid_t)strtol(text, NULL, 10);
    if (!rest || ret->pid <= 0 ||
        sscanf(rest + 1,
               " %c %lld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu "
               "%*s %lld",
               &state, &parent, &ticks, &pages) != 4) {
        return false;
    }
    ret->state = state;
    ret->parent = (pid_t)parent;
    ret->ticks = ticks;
    ret->rss_bytes = pages * sysconf(_SC_PAGESIZE);
    return true;
}

/* Files of /proc have no size: read them to their end. */
static bool read_proc(const char *path, struct str *ret)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && fs_read_fd(fd, STAT_MAX, ret, NULL) == 0;
}

static bool read_stat(pid_t pid, struct proc_item *ret)
{
    autofree char *path = mem_printf("/proc/%d/stat", (int)pid);
    autostr struct str text = {0};

    *ret = (struct proc_item){0};
    return read_proc(path, &text) && parse_stat(str_c(&text), ret);
}

bool proctree_alive(pid_t pid, uint64_t ticks, char *ret_state)
{
    struct proc_item item = {0};

    if (pid <= 0 || !read_stat(pid, &item) || item.ticks != ticks || item.state == 'Z' ||
        item.state == 'X') {
        return false;
    }
    if (ret_state) {
        *ret_state = item.state;
    }
    return true;
}

void proctree_signal(pid_t pid, uint64_t ticks, int signal_number)
{
    if (proctree_alive(pid, ticks, NULL)) {
        kill(pid, signal_number);
    }
}

void proctree_free(struct proctree *tree)
{
    free(tree->items);
    *tree = (struct proctree){0};
}

static struct proc_item *scan_all(size_t *ret_count)
{
    struct proc_item *items = NULL;
    size_t cap = 0;
    size_t count = 0;
    DIR *dir = opendir("/proc");

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct proc_item item;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && read_stat(pid, &item)) {
            mem_reserve(items, &cap, count + 1);
            items[count++] = item;
        }
    }
    if (dir) {
        closedir(dir);
    }
    *ret_count = count;
    return items;
}

void proctree_below(pid_t root, struct proctree *ret)
{
    size_t count = 0;
    autofree struct proc_item *all = scan_all(&count);
    size_t cap = 0;

    *ret = (struct proctree){0};
    /* Breadth first: item -1 is the root, then every item found so far is asked for its children.
     */
    for (size_t at = 0; at <= ret->count; at++) {
        pid_t parent = at == 0 ? root : ret->items[at - 1].pid;
        int depth = at == 0 ? 1 : ret->items[at - 1].depth + 1;
        for (size_t i = 0; i < count; i++) {
            if (all[i].parent == parent && all[i].pid != root) {
                mem_reserve(ret->items, &cap, ret->count + 1);
                all[i].depth = depth;
                ret->items[ret->count++] = all[i];
            }
        }
    }
}

bool proctree_pss(pid_t pid, int64_t *ret_bytes)
{
    autofree char *path = mem_printf("/proc/%d/smaps_rollup", (int)pid);
    autostr struct str text = {0};

    if (!read_proc(path, &text)) {
        return false;
    }
    const char *line = strstr(str_c(&text), "\nPss:");
    if (!line) {
        return false;
    }
    *ret_bytes = strtoll(line + 5, NULL, 10) * 1024;
    return true;
}
