/*
 * glob.h - wildcard patterns over paths, in bounded time.
 *
 * Owns: `*` `?` `[...]` within a component, `**` as a whole component, `\` quoting: the meaning of
 * git's wildmatch for paths. Time is O(pattern x path) for every input (one point of backtracking
 * per level), since both may be hostile. Pure functions, any thread.
 */
#ifndef REPO_GLOB_H
#define REPO_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* One component against one component (no "/" in either). */
bool glob_part(const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/* Whole path against whole pattern; len bytes of each. A last "**" needs at least one component. */
bool glob_path(const char *pattern, size_t pattern_len, const char *path, size_t path_len);
/* NULL, or what is wrong: an open set, a "\" at the end. */
const char *glob_fault(const char *pattern);

#endif
