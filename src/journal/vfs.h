/*
 * vfs.h - a thin SQLite VFS that knows about the disk reserve (private).
 *
 * Owns: forwarding every file operation to the VFS below, except one thing: when a write to a
 * database, its WAL or its index finds the disk full, DBPATH.reserve is removed and the write is
 * tried once more. So a commit in flight succeeds; admission of new runs then stops until the
 * reserve is there again. Thread-safe; registered once per VFS below and never unregistered.
 */
#ifndef JOURNAL_VFS_H
#define JOURNAL_VFS_H

#include "base/err.h"

/* Registers (once) the shim over the VFS `below` (NULL: the system's); its name in *ret. */
int vfs_register(const char *below, const char **ret, struct err *err);

#endif
