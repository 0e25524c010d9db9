/*
 * tree.h - whole process trees, found through /proc.
 *
 * Owns: one snapshot of (pid, parent) pairs and signalling by ancestry. A process belongs to the
 * tree of the nearest ancestor that is one of the roots given; because every root is a child
 * subreaper, daemonising and setsid do not lead out of it.
 * Pids are the only names here: a snapshot is used at once and thrown away.
 */
#ifndef GUEST_TREE_H
#define GUEST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tree_root {
    pid_t pid;      /* never signalled itself */
    bool wanted;    /* signal what is below it */
    size_t reached; /* filled: processes below it that were signalled */
};

/* Send `signal` to everything below the wanted roots; with strays true also to everything below our
 * own process that is below no root. Returns how many were reached; -1: /proc cannot be read. */
int tree_signal(struct tree_root *roots, size_t count, bool strays, int signal);
/* Processes below `pid`, not counting itself; -1: /proc cannot be read. */
int tree_count(pid_t pid);

#endif
