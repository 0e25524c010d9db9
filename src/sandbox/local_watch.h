/*
 * local_watch.h - limits that the kernel does not enforce for us: disk always, memory without
 * cgroups.
 *
 * Owns: measuring and killing, several times a second, in the supervisor. Must not: touch
 * bubblewrap's init, the guest daemon or its small supervisors: a sandbox over its limit stays
 * inspectable, what ran in it is killed, as the kernel's out-of-memory killer does.
 * Single-threaded.
 *
 * Honest bounds: what is written between two looks is not prevented. One file cannot grow beyond
 * the disk limit (RLIMIT_FSIZE). Space of files that are open but no longer named is not seen.
 */
#ifndef SANDBOX_LOCAL_WATCH_H
#define SANDBOX_LOCAL_WATCH_H

#include "sandbox/local_record.h"

struct local_watch {
    const struct local_record *record;
    pid_t supervisor;
    int64_t disk_next_ns; /* when to measure again */
    int64_t saved_ns;
    int64_t disk_bytes;
    int64_t memory_bytes;
    int64_t memory_peak;
    int64_t disk_hits;
    int64_t memory_hits;
    bool changed;
};

/* How long to sleep between two calls of tick; -1: nothing to watch. */
int local_watch_interval_ms(const struct local_record *record);
void local_watch_tick(struct local_watch *watch);
/* Bytes on disk below a directory (blocks really used; hard links once per name's share). */
int64_t local_disk_bytes(const char *dir);
/* The file `usage` of the record into *ret, for what no cgroup knows. */
void local_watch_read(const struct local_record *record, struct sandbox_usage *ret);

#endif
