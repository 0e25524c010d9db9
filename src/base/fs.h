/*
 * fs.h - files and directories done safely.
 *
 * Owns: whole-file reads with a bound, write-temp-fsync-rename, directory creation and removal that
 * never follow symlinks out of a tree, file-system facts. Must not: open a SQLite file
 * (a plain close() would drop its locks). All descriptors are O_CLOEXEC. Thread-safe.
 * Error names: "FileNotFound" where something is absent, else the name given at the function or one
 * of OpenFailed, ReadFailed, WriteFailed, MkdirFailed, RemoveFailed.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* Read a whole regular file; larger than max_bytes is an error (name "FileTooLarge"), as is
 * anything but a regular file ("NotAFile"; a FIFO does not block). *ret is replaced; untouched on
 * failure. */
int fs_read_file(const char *path, size_t max_bytes, struct str *ret, struct err *err);
/* Read what is left on fd until EOF; more than max_bytes is "FileTooLarge". */
int fs_read_fd(int fd, size_t max_bytes, struct str *ret, struct err *err);
int fs_write_all(int fd, const void *bytes, size_t len, struct err *err); /* handles short writes */

/* Durable replace: temp file ".tmp-<hex>" in the same directory, write, fchmod(mode), fsync,
 * rename, fsync dir. A symlink at path is replaced, not followed. */
int fs_write_file(const char *path, const void *bytes, size_t len, mode_t mode, struct err *err);
/* The same relative to a directory descriptor (not O_PATH: it is fsynced); name is one plain
 * segment. With FS_EXCLUSIVE an existing file is an error (name "FileExists") and stays. */
#define FS_EXCLUSIVE 1
int fs_write_file_at(int dir_fd, const char *name, const void *bytes, size_t len, mode_t mode,
                     int flags, struct err *err);

int fs_mkdirs(const char *path, mode_t mode, struct err *err); /* like mkdir -p; parents too */
/* rm -rf: absent is fine; follows no link, stays on one file system, restores missing permissions,
 * any depth. What can go goes, even when something stays ("RemoveFailed"). */
int fs_remove_tree(const char *path, struct err *err);
bool fs_exists(const char *path); /* follows links: a dangling one does not exist */
bool fs_is_dir(const char *path);
int fs_fsync_dir(const char *path, struct err *err);
/* A new directory PREFIX-<hex>, mode 0700, in *ret (free). */
int fs_make_temp_dir(const char *prefix, char **ret, struct err *err);
/* Absolute, symlink-free form; caller frees *ret. */
int fs_realpath(const char *path, char **ret, struct err *err);
char *fs_join(const char *dir, const char *name); /* caller frees */
char *fs_dirname(const char *path);               /* caller frees; "." when there is none */
const char *fs_basename(const char *path);        /* borrowed; "" when path ends in a slash */
/* A relative path that stays inside: non-empty, not absolute, no "", "." or ".." component. */
bool fs_path_is_inside(const char *relative);
/* One plain segment: 1..255 bytes of valid UTF-8, no '/', not "." or "..", no control character. */
bool fs_name_is_plain(const char *name);
/* Descriptor for a relative path below dir_fd, opened one component at a time without following any
 * link ("SymlinkInPath") or leaving ("PathEscapes"). flags and mode are open(2)'s, for the last
 * component; give O_NONBLOCK where a FIFO may lie in wait. */
int fs_open_inside(int dir_fd, const char *relative, int flags, mode_t mode, int *ret_fd,
                   struct err *err);

enum fs_class { FS_LOCAL, FS_MEMORY, FS_NETWORK, FS_FUSE, FS_UNKNOWN };
/* By statfs magic of an existing path. name (may be NULL) gets "ext4", "tmpfs", "nfs", "fuse" ...
 * (static storage). */
enum fs_class fs_classify(const char *path, const char **ret_name);
int fs_free_bytes(const char *path, uint64_t *ret, struct err *err);

/* Bring a long-lived file of `bytes` real (allocated) bytes into being: the disk reserve. One that
 * is there and large enough is left alone; on failure (ENOSPC: transient) no file stays. */
int fs_reserve_file(const char *path, uint64_t bytes, struct err *err);

/* Private run-time directory for sockets (<= 80 bytes so that sun_path fits a name below):
 * $XDG_RUNTIME_DIR/factory or /run/factory (root) or /tmp/factory-UID; 0700, ownership checked
 * (an unsafe one is an error "RuntimeDirUnsafe", never passed over). Caller frees *ret. */
int fs_runtime_dir(char **ret, struct err *err);

#endif
