/*
 * cgroup.h - control groups, version 1 and 2, where they can be had.
 *
 * Owns: finding a place where this process may make groups, one group per sandbox and resource,
 * limits, freezing, facts, removal. Must not: be required: every caller has another answer for a
 * machine without. "" = no group for that resource.
 *
 * Version 2 needs a directory above or at our own group that is writable, whose cgroup.procs is
 * writable too (moving a process needs that of the common ancestor) and which hands the controller
 * down (cgroup.subtree_control). Version 1 needs a writable directory in the resource's hierarchy.
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "sandbox/provider.h"

enum cgroup_resource { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_FREEZER, CGROUP_COUNT };

struct cgroup_set {
    const char *dir[CGROUP_COUNT]; /* absolute; "" none. Version 2: the same one for several */
    bool v2[CGROUP_COUNT];
};
const char *cgroup_resource_name(enum cgroup_resource resource);

/* Where groups named `name` would be. Makes nothing. */
void cgroup_plan(struct arena *arena, const char *name, struct cgroup_set *ret);
/* Make the groups and set the limits (0: none). <0: transient, everything made is removed again. */
int cgroup_make(const struct cgroup_set *set, const struct sandbox_limits *limits, struct err *err);
/* Move the calling process in. For a child between fork and exec. */
int cgroup_join(const struct cgroup_set *set);
/* Freeze or thaw and wait until it holds. */
int cgroup_freeze(const struct cgroup_set *set, bool freeze, struct err *err);
bool cgroup_is_frozen(const struct cgroup_set *set);
/* Kill what is still in it, thaw, and remove the groups; absent ones are fine. */
int cgroup_remove(const struct cgroup_set *set, struct err *err);
/* Fill what is known (others stay as they are). */
void cgroup_usage(const struct cgroup_set *set, struct sandbox_usage *usage);

#endif
