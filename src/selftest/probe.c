/*
 * probe.c - see probe.h. Tests: tests/unit/test_selftest_probe.c
 *
 * Plausibility: a sync that reaches a disk takes a device's round trip, 10 us and more even where a
 * battery keeps its cache. One that costs hardly more than the write itself did not leave memory.
 */
#include "selftest/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "durable.h"

#define BLOCK_BYTES 4096
#define ROUNDS 400
#define FEWEST 5
#define FILE_BLOCKS 256
#define SWIFT_NS (8 * NS_PER_US) /* no device answers sooner */
#define SLOW_NS (20 * NS_PER_MS)
#define PLAIN_TIMES 3 /* a sync costs more than so many plain writes */
#define TEXT_BYTES (1U << 20)

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static struct probe_latency latency_of(int64_t *took, int64_t count)
{
    if (count == 0) {
        return (struct probe_latency){0};
    }
    qsort(took, (size_t)count, sizeof(took[0]), by_size);
    return (struct probe_latency){.count = count,
                                  .p50_ns = took[count / 2],
                                  .p99_ns = took[count * 99 / 100],
                                  .max_ns = took[count - 1]};
}

/* --- writes ----------------------------------------------------------------------------------- */

enum manner {
    PLAIN,
    OVERWRITE,
    APPEND,
};

static int measure(int fd, enum manner manner, int64_t limit_ns, struct probe_latency *ret,
                   struct err *err)
{
    static const char block[BLOCK_BYTES] = {1};
    int64_t took[ROUNDS];
    int64_t until = clock_mono_ns() + limit_ns;
    int count = 0;
    while (count < ROUNDS && (count < FEWEST || clock_mono_ns() < until)) {
        off_t at = manner == APPEND ? (off_t)(FILE_BLOCKS + count) : (off_t)(count % FILE_BLOCKS);
        int64_t from = clock_mono_ns();
        if (pwrite(fd, block, sizeof(block), at * BLOCK_BYTES) != (ssize_t)sizeof(block) ||
            (manner != PLAIN && fdatasync(fd) < 0)) {
            return err_sys(err, errno, "WriteFailed", "a file of 4 KiB blocks cannot be %s",
                           manner == PLAIN ? "written" : "synced");
        }
        took[count++] = clock_mono_ns() - from;
    }
    *ret = latency_of(took, count);
    return 0;
}

static int measure_writes(struct probe *probe, const char *dir, int64_t limit_ns, struct err *err)
{
    static const char blocks[(size_t)FILE_BLOCKS * BLOCK_BYTES] = {1};
    autofree char *path = fs_join(dir, "probe");
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_sys(err, errno, "OpenFailed", "cannot make %s", path);
    }
    int rc = fs_write_all(fd, blocks, sizeof(blocks), err);
    if (rc == 0 && fsync(fd) < 0) {
        rc = err_sys(err, errno, "WriteFailed", "%s cannot be synced", path);
    }
    if (rc == 0 && (measure(fd, PLAIN, limit_ns, &probe->plain, err) < 0 ||
                    measure(fd, OVERWRITE, limit_ns, &probe->overwrite, err) < 0 ||
                    measure(fd, APPEND, limit_ns, &probe->append, err) < 0)) {
        rc = -1;
    }
    unlink(path);
    return rc;
}

static void say_nothing(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

/* Runs started one after the other, in a store of its own: each is a commit. */
static int measure_commits(struct probe *probe, const char *dir, int64_t limit_ns, struct err *err)
{
    int64_t took[ROUNDS];
    int64_t until = clock_mono_ns() + limit_ns;
    int count = 0;
    dur_engine *engine = NULL;
    autofree char *path = fs_join(dir, "probe.db");
    int rc =
        dur_open(&engine, path,
                 &(dur_options){.reserve_bytes = -1, .min_free_bytes = -1, .on_log = say_nothing});
    while (rc == DUR_OK && count < ROUNDS && (count < FEWEST || clock_mono_ns() < until)) {
        autofree char *id = mem_printf("probe-%d", count);
        int64_t from = clock_mono_ns();
        rc = dur_start(engine, "Probe", id, "1", NULL);
        took[count++] = clock_mono_ns() - from;
    }
    if (rc != DUR_OK) {
        err_set(err, ERR_PERMANENT, "ProbeFailed", "%s", dur_error(engine));
    } else {
        probe->commit = latency_of(took, count);
        probe->commits_per_s = NS_PER_S / (probe->commit.p50_ns > 0 ? probe->commit.p50_ns : 1);
    }
    dur_close(engine);
    return rc == DUR_OK ? 0 : -1;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* Field `number` (from 1) of a line of blanks; its length. */
static size_t field(const char *line, int number, const char **ret)
{
    while (--number > 0) {
        line += strcspn(line, " \n");
        line += strspn(line, " ");
    }
    *ret = line;
    return strcspn(line, " \n");
}

/* /proc/self/mountinfo: ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS [FIELDS] - TYPE SOURCE SUPER */
static void read_mount(struct probe *probe, dev_t device)
{
    autostr struct str text = {0};
    char wanted[32];
    if (fs_read_file("/proc/self/mountinfo", TEXT_BYTES, &text, NULL) < 0) {
        return;
    }
    snprintf(wanted, sizeof(wanted), "%u:%u", major(device), minor(device));
    for (const char *line = str_c(&text); *line; line += strcspn(line, "\n") + 1) {
        const char *number, *options, *super;
        const char *dash = strstr(line, " - ");
        size_t len = field(line, 3, &number);
        if (!dash || len != strlen(wanted) || strncmp(number, wanted, len) != 0) {
            if (!strchr(line, '\n')) {
                break;
            }
            continue;
        }
        size_t mine = field(line, 6, &options), whole = field(dash + 3, 3, &super);
        snprintf(probe->mount_options, sizeof(probe->mount_options), "%.*s,%.*s", (int)mine,
                 options, (int)whole, super);
        return;
    }
}

static void read_cache(struct probe *probe, dev_t device)
{
    static const char *const places[] = {"queue/write_cache", "../queue/write_cache"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        autostr struct str text = {0};
        autofree char *path =
            mem_printf("/sys/dev/block/%u:%u/%s", major(device), minor(device), places[i]);
        if (fs_read_file(path, TEXT_BYTES, &text, NULL) == 0) {
            size_t len = strcspn(str_c(&text), "\n");
            snprintf(probe->write_cache, sizeof(probe->write_cache), "%.*s", (int)len,
                     str_c(&text));
            return;
        }
    }
}

static void read_facts(struct probe *probe, const char *dir)
{
    struct stat st;
    uint64_t free_bytes;
    const char *name = "";
    probe->class = fs_classify(dir, &name);
    snprintf(probe->fs_name, sizeof(probe->fs_name), "%s", name);
    probe->free_bytes = fs_free_bytes(dir, &free_bytes, NULL) == 0 ? (int64_t)free_bytes : -1;
    if (stat(dir, &st) == 0) {
        read_mount(probe, st.st_dev);
        read_cache(probe, st.st_dev);
    }
}

/* --- judging ---------------------------------------------------------------------------------- */

static void warn(struct probe *probe, const char *code, bool is_failure, const char *fmt, ...)
    printf_like(4, 5);
static void warn(struct probe *probe, const char *code, bool is_failure, const char *fmt, ...)
{
    va_list ap;
    if (probe->warning_count == PROBE_WARNINGS) {
        return;
    }
    struct probe_warning *warning = &probe->warnings[probe->warning_count++];
    warning->is_failure = is_failure;
    snprintf(warning->code, sizeof(warning->code), "%s", code);
    va_start(ap, fmt);
    vsnprintf(warning->text, sizeof(warning->text), fmt, ap);
    va_end(ap);
}

/* A whole word among options that commas part. */
static bool has_option(const char *options, const char *option)
{
    size_t len = strlen(option);
    for (const char *at = options; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        if (strcspn(at, ",") == len && strncmp(at, option, len) == 0) {
            return true;
        }
    }
    return false;
}

void probe_judge(struct probe *probe)
{
    double us = (double)probe->overwrite.p50_ns / (double)NS_PER_US;
    probe->warning_count = 0;
    if (probe->class == FS_NETWORK || probe->class == FS_FUSE) {
        warn(probe, "S-001", true,
             "this is %s, whose locks and syncs cannot be trusted: no store is opened on it",
             probe->fs_name);
        return;
    }
    if (probe->class == FS_MEMORY) {
        warn(probe, "S-002", false, "this is %s: nothing survives a reboot", probe->fs_name);
    } else if (probe->overwrite.p50_ns < SWIFT_NS) {
        warn(probe, "S-003", false,
             "a sync takes %.1f us, which is faster than any disk: something keeps it in memory",
             us);
    } else if (probe->overwrite.p50_ns < PLAIN_TIMES * probe->plain.p50_ns) {
        warn(probe, "S-003", false,
             "a synced write takes %.1f us and one without a sync %.1f us: the sync may do nothing",
             us, (double)probe->plain.p50_ns / (double)NS_PER_US);
    }
    if (has_option(probe->mount_options, "nobarrier") ||
        has_option(probe->mount_options, "barrier=0")) {
        warn(probe, "S-004", false,
             "the file system is mounted with nobarrier: the drive is never told to flush");
    }
    if (probe->free_bytes >= 0 && probe->free_bytes < PROBE_MIN_FREE_BYTES) {
        warn(probe, "S-005", false, "%lld MiB are free",
             (long long)(probe->free_bytes / 1024 / 1024));
    }
    if (probe->overwrite.p50_ns > SLOW_NS) {
        warn(probe, "S-006", false,
             "a sync takes %.0f ms: runs that are alone do at most %lld steps a second", us / 1000,
             (long long)(NS_PER_S / probe->overwrite.p50_ns));
    }
}

bool probe_failed(const struct probe *probe)
{
    for (int i = 0; i < probe->warning_count; i++) {
        if (probe->warnings[i].is_failure) {
            return true;
        }
    }
    return false;
}

int probe_run(const char *dir, int64_t limit_ms, struct probe *ret, struct err *err)
{
    int64_t limit_ns = limit_ms * NS_PER_MS / 4;
    *ret = (struct probe){0};
    read_facts(ret, dir);
    if (measure_writes(ret, dir, limit_ns, err) < 0) {
        return -1;
    }
    probe_judge(ret);
    return probe_failed(ret) ? 0 : measure_commits(ret, dir, limit_ns, err);
}
