/*
 * proctree.h - the host's processes as a tree, by /proc.
 *
 * Owns: one scan of /proc and questions about it. A process is known by pid AND start time, so that
 * a pid's reuser is never taken for it. Must not: signal anything outside the tree it was asked
 * about.
 */
#ifndef SANDBOX_PROCTREE_H
#define SANDBOX_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct proc_item {
    pid_t pid;
    pid_t parent;
    uint64_t ticks; /* start time */
    int64_t rss_bytes;
    int depth;  /* below the root: its children have 1 */
    char state; /* as in /proc/PID/stat */
};
struct proctree {
    struct proc_item *items; /* the descendants of root, not root itself; parents before children */
    size_t count;
};
void proctree_free(struct proctree *tree);
#define autoproctree cleanup_with(proctree_free)

/* Scan now. An unknown root gives an empty tree. */
void proctree_below(pid_t root, struct proctree *ret);

/* Does exactly this process live (zombies do not)? state may be NULL. */
bool proctree_alive(pid_t pid, uint64_t ticks, char *ret_state);
/* Signal it if it is still that process. */
void proctree_signal(pid_t pid, uint64_t ticks, int signal_number);
/* Proportional memory of one process from smaps_rollup; false when it cannot be read. */
bool proctree_pss(pid_t pid, int64_t *ret_bytes);

#endif
