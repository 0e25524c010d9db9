/*
 * fault_disk.h - a SQLite VFS whose disk fails on purpose.
 *
 * Owns: the VFS "fault" over the system's one. It counts the operations that change the disk and,
 * at the Nth, kills the process, tears the write, reports an error, or cuts the power: everything
 * that was not synced since (or a seeded random half of it) is taken back from the files before the
 * process dies. Use it through dur_options.vfs or store_options.vfs = "fault".
 * Model of the power cut: a write is safe after xSync of its file; a new file is there only after
 * its directory was synced, which SQLite does with the first sync of a WAL or journal; a deletion
 * is safe after a directory sync or the next sync of any file; of a write of several sectors, each
 * sector holds the old or the new content.
 * State lives in shared memory: what a forked child counts, the parent reads. The power cut knows
 * only the writes of its own process. Thread-safe.
 */
#ifndef SELFTEST_FAULT_DISK_H
#define SELFTEST_FAULT_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum fault_mode {
    FAULT_NONE,        /* only count */
    FAULT_KILL_BEFORE, /* SIGKILL instead of the operation */
    FAULT_KILL_AFTER,  /* SIGKILL right after it */
    FAULT_KILL_TORN,   /* SIGKILL with half of the write done; other operations: like BEFORE */
    FAULT_EIO,         /* the operation fails with an I/O error */
    FAULT_FULL,        /* a write fails because the disk is full; other operations succeed */
    FAULT_POWER_ALL,   /* power cut before the operation: all that is unsynced is lost */
    FAULT_POWER_HALF,  /* ... a random half of it is lost */
    FAULT_MODES
};

/* A disk or a database that is broken on purpose: what tests plant to see that it is found. */
enum fault_plant {
    FAULT_PLANT_NONE,
    FAULT_PLANT_WAL_UNSYNCED, /* a commit is not synced: what synchronous = NORMAL means */
    FAULT_PLANT_UNSYNCED,     /* nothing is: synchronous = OFF, or a cache that lies */
    FAULT_PLANT_DIR_UNSYNCED, /* new files are, but not the directory that names them */
    /* KILL_TORN: half of a page goes into the main file and the WAL that could repair it is gone.
     * Only writes to the main file are hit. */
    FAULT_PLANT_TORN_PAGE,
};

struct fault_plan {
    enum fault_mode mode;
    int64_t at;      /* number of the operation, from 1; 0: never */
    bool is_lasting; /* EIO, FULL: every operation from there on fails */
    /* FULL: lasts as long as this file exists ("the reserve frees the room"); NULL: not used. */
    const char *full_while_exists;
    uint64_t seed;          /* of POWER_HALF */
    int64_t sync_ns;        /* a slow disk: every sync takes so much longer, whatever the mode */
    int64_t after_commit;   /* SIGKILL right after so many WAL syncs, whatever the mode; 0: never */
    enum fault_plant plant; /* of tests */
};

/* Operations seen since fault_disk_plan(). */
struct fault_counts {
    int64_t operations; /* xWrite, xTruncate, xSync, xDelete, xOpen that creates: all together */
    int64_t writes;
    int64_t written_bytes;
    int64_t syncs;
    int64_t wal_syncs;  /* with synchronous=FULL: one for each commit */
    int64_t wal_frames; /* pages written to the WAL */
    uint64_t trace;     /* hash over all of them: what, where and how much, not the bytes */
};

void fault_disk_register(void); /* the VFS "fault"; call before fork to share the counts */
/* In a process that was forked and has no file open: plan and counts of its own from now on. */
void fault_disk_detach(void);
void fault_disk_plan(const struct fault_plan *plan); /* NULL: no fault; resets the counts */
void fault_disk_counts(struct fault_counts *ret);
/* Called in this process before the disk kills it; NULL: nothing is. Must not use the disk. */
void fault_disk_on_death(void (*last_words)(void));
const char *fault_disk_mode_name(enum fault_mode mode);

#endif
