/*
 * ignore.h - .gitignore rules as plain data.
 *
 * Owns: parsing .gitignore text and deciding a path, with git's precedence (deeper files before
 * shallower, later lines before earlier; below an ignored directory everything is ignored). Must
 * not: read any file itself; info/exclude and core.excludesFile do not exist here. Thread rule: a
 * set belongs to one thread at a time.
 */
#ifndef REPO_IGNORE_H
#define REPO_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define IGNORE_FILE_MAX_BYTES (1024 * 1024) /* larger .gitignore files are not rules */

struct ignore_set; /* opaque; lives in its arena */

struct ignore_set *ignore_new(struct arena *arena);
/* Rules of one file that lies in directory dir ("" for the root, else without "/" at the end). Add
 * shallower directories before deeper ones. text is copied. */
void ignore_add(struct ignore_set *set, const char *dir, const char *text, size_t len);
bool ignore_match(struct ignore_set *set, const char *path, bool is_dir);

#endif
