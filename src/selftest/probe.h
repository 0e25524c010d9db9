/*
 * probe.h - how long a sync takes on a disk, and whether that can be true.
 *
 * Owns: the measurements and the words about them. Must not: leave anything, or touch any file but
 * its own in the directory it is given.
 * What it cannot know: a drive or hypervisor that keeps what it was told to flush in memory, and is
 * as slow as an honest one.
 */
#ifndef SELFTEST_PROBE_H
#define SELFTEST_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/fs.h"

struct probe_latency {
    int64_t count;
    int64_t p50_ns, p99_ns, max_ns;
};

struct probe_warning {
    char code[8]; /* "S-001": never renumbered; factory-selftest(1) lists them */
    bool is_failure;
    char text[320];
};
#define PROBE_WARNINGS 8

struct probe {
    enum fs_class class;
    char fs_name[32];
    char mount_options[256];    /* "" when unknown */
    char write_cache[32];       /* of the block device: "write back", "write through"; "" unknown */
    int64_t free_bytes;         /* -1 unknown */
    struct probe_latency plain; /* overwriting 4 KiB, not synced */
    struct probe_latency overwrite; /* 4 KiB in place and fdatasync: as most commits do */
    struct probe_latency append;    /* 4 KiB at the end and fdatasync: as a growing file does */
    struct probe_latency commit;    /* starting a run, acknowledged: one commit of the engine */
    int64_t commits_per_s;          /* one after the other, from the median; 0: not measured */
    struct probe_warning warnings[PROBE_WARNINGS];
    int warning_count;
};

#define PROBE_MIN_FREE_BYTES (256LL * 1024 * 1024)

/* Measures in `dir` (private, on the disk in question) for about limit_ms at most. A file system
 * that the engine refuses is no error but a warning with is_failure, and no commit is measured. */
int probe_run(const char *dir, int64_t limit_ms, struct probe *ret, struct err *err);
/* The words about what was measured: fills warnings anew. */
void probe_judge(struct probe *probe);
bool probe_failed(const struct probe *probe);

#endif
