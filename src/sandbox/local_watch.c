/*
 * local_watch.c - see local_watch.h.
 *
 * Owns: walking the sandbox's writable tree, summing its processes' memory, choosing what dies.
 * Tests: tests/unit/test_sandbox_contract.c
 */
#include "sandbox/local_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/proctree.h"

#define MEMORY_STEP_MS 50
#define DISK_STEP_MS 200
#define DISK_SHARE 20 /* measuring may take a twentieth of the time */
#define DEPTH_MAX 200 /* deeper trees count as over any limit */
#define OVER_ANY (INT64_MAX / 4)
/* Depth below the supervisor: 1 bubblewrap, 2 its init, 3 the guest, 4 the guest's small
 * supervisors. */
#define VICTIM_DEPTH 5

/* --- disk ------------------------------------------------------------------------------------ */

/* The owner may have locked itself out of a directory to hide what is in it: undo that. By
 * descriptor: the name may be a symbolic link to somewhere else by now. */
static int open_dir(int at, const char *name)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, O_RDONLY | flags);

    if (fd < 0 && errno == EACCES) {
        autoclose int held = openat(at, name, O_PATH | flags);
        autofree char *path = mem_printf("/proc/self/fd/%d", held);
        if (held >= 0 && chmod(path, 0700) == 0) {
            fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
    }
    return fd;
}

static int64_t walk(int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    int64_t bytes = 0;

    if (!dir) {
        close(fd);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(dir)) && bytes < OVER_ANY;) {
        struct stat facts;
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
            fstatat(dirfd(dir), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW)) {
            continue;
        }
        bytes += facts.st_blocks * 512 /
                 (S_ISDIR(facts.st_mode) || !facts.st_nlink ? 1 : (int64_t)facts.st_nlink);
        if (S_ISDIR(facts.st_mode)) {
            int below = depth < DEPTH_MAX ? open_dir(dirfd(dir), entry->d_name) : -1;
            bytes += depth >= DEPTH_MAX ? OVER_ANY : below < 0 ? 0 : walk(below, depth + 1);
        }
    }
    closedir(dir);
    return bytes;
}

int64_t local_disk_bytes(const char *dir)
{
    int fd = open_dir(AT_FDCWD, dir);

    return fd < 0 ? 0 : walk(fd, 0);
}

/* --- victims --------------------------------------------------------------------------------- */

static void kill_all(const struct proctree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->items[i].depth >= VICTIM_DEPTH) {
            proctree_signal(tree->items[i].pid, tree->items[i].ticks, SIGKILL);
        }
    }
}

static void watch_disk(struct local_watch *watch)
{
    int64_t now = clock_mono_ns();

    if (now < watch->disk_next_ns) {
        return;
    }
    autofree char *fs = fs_join(watch->record->dir, "fs");
    int64_t bytes = local_disk_bytes(fs);
    int64_t took = clock_mono_ns() - now;
    int64_t pause = took * DISK_SHARE;

    watch->disk_next_ns =
        now + (pause > DISK_STEP_MS * NS_PER_MS ? pause : DISK_STEP_MS * NS_PER_MS);
    watch->changed = watch->changed || bytes != watch->disk_bytes;
    watch->disk_bytes = bytes;
    if (bytes > watch->record->limits.disk_bytes) {
        autoproctree struct proctree tree = {0};
        proctree_below(watch->supervisor, &tree);
        bool any = tree.count > 0 && tree.items[tree.count - 1].depth >= VICTIM_DEPTH;
        kill_all(&tree);
        watch->disk_hits += any;
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

static int64_t memory_of(const struct proc_item *item, bool exact)
{
    int64_t bytes = item->rss_bytes;

    if (exact) { /* shared pages are counted once over all */
        proctree_pss(item->pid, &bytes);
    }
    return bytes;
}

static int64_t sum_memory(const struct proctree *tree, bool exact, size_t *ret_biggest)
{
    int64_t sum = 0;
    int64_t most = -1;

    *ret_biggest = SIZE_MAX;
    for (size_t i = 0; i < tree->count; i++) {
        int64_t bytes = memory_of(&tree->items[i], exact);
        sum += bytes;
        if (tree->items[i].depth >= VICTIM_DEPTH && bytes > most) {
            most = bytes;
            *ret_biggest = i;
        }
    }
    return sum;
}

static void watch_memory(struct local_watch *watch)
{
    autoproctree struct proctree tree = {0};
    size_t biggest = SIZE_MAX;

    proctree_below(watch->supervisor, &tree);
    int64_t sum = sum_memory(&tree, false, &biggest);
    if (sum > watch->record->limits.memory_bytes) {
        sum = sum_memory(&tree, true, &biggest);
    }
    watch->memory_bytes = sum;
    if (sum > watch->memory_peak) {
        watch->memory_peak = sum;
        watch->changed = true;
    }
    if (sum > watch->record->limits.memory_bytes && biggest != SIZE_MAX) {
        proctree_signal(tree.items[biggest].pid, tree.items[biggest].ticks, SIGKILL);
        watch->memory_hits++;
        watch->changed = true;
    }
}

/* --- the tick -------------------------------------------------------------------------------- */

int local_watch_interval_ms(const struct local_record *record)
{
    if (str_eq(record->enforced.memory, "watch")) {
        return MEMORY_STEP_MS;
    }
    return str_eq(record->enforced.disk, "watch") ? DISK_STEP_MS : -1;
}

static void save(struct local_watch *watch)
{
    int64_t now = clock_mono_ns();

    if (!watch->changed || now - watch->saved_ns < NS_PER_S / 4) {
        return;
    }
    autofree char *text = mem_printf(
        "disk_bytes %lld\ndisk_hits %lld\nmemory_bytes %lld\nmemory_peak %lld\n"
        "memory_hits %lld\n",
        (long long)watch->disk_bytes, (long long)watch->disk_hits, (long long)watch->memory_bytes,
        (long long)watch->memory_peak, (long long)watch->memory_hits);
    local_put_mark(watch->record->dir, "usage", text, NULL); /* a full disk: next time */
    watch->saved_ns = now;
    watch->changed = false;
}

void local_watch_tick(struct local_watch *watch)
{
    if (str_eq(watch->record->enforced.disk, "watch")) {
        watch_disk(watch);
    }
    if (str_eq(watch->record->enforced.memory, "watch")) {
        watch_memory(watch);
    }
    save(watch);
}

void local_watch_read(const struct local_record *record, struct sandbox_usage *ret)
{
    autofree char *path = fs_join(record->dir, "usage");
    autostr struct str text = {0};
    long long v[5] = {0};

    if (fs_read_file(path, 4096, &text, NULL) ||
        sscanf(str_c(&text),
               "disk_bytes %lld disk_hits %lld memory_bytes %lld memory_peak %lld memory_hits %lld",
               &v[0], &v[1], &v[2], &v[3], &v[4]) != 5) {
        return;
    }
    if (str_eq(record->enforced.disk, "watch")) {
        ret->disk_hits = v[1];
    }
    if (str_eq(record->enforced.memory, "watch")) {
        ret->memory_bytes = v[2];
        ret->memory_peak_bytes = v[3];
        ret->memory_hits = v[4];
    }
}
