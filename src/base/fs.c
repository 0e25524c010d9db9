/*
 * fs.c - see fs.h: reading, writing, making and naming files. Removal of trees is fs_remove.c.
 *
 * Durable replace, in this order: write a temporary file ".tmp-<random>" beside the target, fchmod,
 * fsync it, rename it over the target, fsync the directory. A crash leaves the old file or the new
 * one, and at worst one temporary file.
 * Tests: tests/unit/test_base_fs.c
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"

#define READ_STEP_BYTES (64U * 1024)
#define RUNTIME_DIR_BYTES_MAX 80 /* sun_path holds 107: 26 are left for "/" and a name */

void attr_close_(int *fd)
{
    if (*fd >= 0) {
        int saved_errno = errno;
        close(*fd);
        errno = saved_errno;
    }
}

/* --- whole files ----------------------------------------------------------------------------- */

static int read_to_end(int fd, const char *what, size_t max_bytes, struct str *ret, struct err *err)
{
    autostr struct str got = {0};
    for (;;) {
        size_t room = READ_STEP_BYTES;
        if (got.len > room) {
            room = got.len; /* double, so that big files take few copies */
        }
        if (room > max_bytes - got.len) {
            room = max_bytes - got.len;
        }
        room += room < READ_STEP_BYTES; /* one more byte tells "just fits" from "too large" */
        str_reserve(&got, room);
        ssize_t n = read(fd, got.ptr + got.len, room);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, errno, "ReadFailed", "cannot read %s", what);
        }
        if (n == 0) {
            break;
        }
        got.len += (size_t)n;
        got.ptr[got.len] = '\0';
        if (got.len > max_bytes) {
            return err_set(err, ERR_PERMANENT, "FileTooLarge", "%s is larger than %zu bytes", what,
                           max_bytes);
        }
    }
    str_free(ret);
    *ret = (struct str){got.ptr, got.len, got.cap};
    got = (struct str){0};
    return 0;
}

int fs_read_fd(int fd, size_t max_bytes, struct str *ret, struct err *err)
{
    char what[32];
    snprintf(what, sizeof(what), "descriptor %d", fd);
    return read_to_end(fd, what, max_bytes, ret, err);
}

static int open_failed(const char *path, struct err *err)
{
    return err_sys(err, errno, errno == ENOENT ? "FileNotFound" : "OpenFailed", "cannot open %s",
                   path);
}

int fs_read_file(const char *path, size_t max_bytes, struct str *ret, struct err *err)
{
    struct stat st;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return open_failed(path, err);
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, errno, "ReadFailed", "cannot stat %s", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(err, ERR_PERMANENT, "NotAFile", "%s is not a regular file", path);
    }
    return read_to_end(fd, path, max_bytes, ret, err);
}

int fs_write_all(int fd, const void *bytes, size_t len, struct err *err)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, errno, "WriteFailed", "cannot write %zu bytes to descriptor %d",
                           len, fd);
        }
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int fill_temp(int fd, const char *name, const void *bytes, size_t len, mode_t mode,
                     struct err *err)
{
    if (fs_write_all(fd, bytes, len, err) < 0) {
        return err_wrap(err, "%s", name);
    }
    if (fchmod(fd, mode) < 0 || fsync(fd) < 0) {
        return err_sys(err, errno, "WriteFailed", "cannot flush %s", name);
    }
    return 0;
}

/* Give the temporary file its name, but never over an existing one. */
static int rename_exclusive(int dir_fd, const char *temp, const char *name)
{
    if (renameat2(dir_fd, temp, dir_fd, name, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -1;
    }
    if (linkat(dir_fd, temp, dir_fd, name, 0) < 0) { /* file systems without that flag */
        return -1;
    }
    return unlinkat(dir_fd, temp, 0);
}

int fs_write_file_at(int dir_fd, const char *name, const void *bytes, size_t len, mode_t mode,
                     int flags, struct err *err)
{
    char random[17];
    char temp[32];
    if (!fs_name_is_plain(name)) {
        return err_set(err, ERR_PERMANENT, "BadFileName", "\"%s\" is not a plain file name", name);
    }
    rng_hex(random, 8);
    snprintf(temp, sizeof(temp), ".tmp-%s", random);
    autoclose int fd =
        openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_sys(err, errno, "WriteFailed", "cannot create a file for %s", name);
    }
    int rc = fill_temp(fd, name, bytes, len, mode, err);
    if (rc == 0) {
        bool exclusive = flags & FS_EXCLUSIVE;
        rc =
            exclusive ? rename_exclusive(dir_fd, temp, name) : renameat(dir_fd, temp, dir_fd, name);
        if (rc < 0) {
            rc = err_sys(err, errno, errno == EEXIST ? "FileExists" : "WriteFailed",
                         "cannot put %s in place", name);
        }
    }
    if (rc < 0) {
        unlinkat(dir_fd, temp, 0);
        return rc;
    }
    if (fsync(dir_fd) < 0) {
        return err_sys(err, errno, "WriteFailed", "cannot flush the directory of %s", name);
    }
    return 0;
}

int fs_write_file(const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
    autofree char *dir = fs_dirname(path);
    autoclose int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0) {
        return open_failed(dir, err);
    }
    if (fs_write_file_at(dir_fd, fs_basename(path), bytes, len, mode, 0, err) < 0) {
        return err_wrap(err, "in %s", dir);
    }
    return 0;
}

int fs_reserve_file(const char *path, uint64_t bytes, struct err *err)
{
    struct stat st;
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return open_failed(path, err);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        return err_set(err, ERR_PERMANENT, "NotAFile", "%s is not a regular file", path);
    }
    if (bytes > 0 && (uint64_t)st.st_blocks * 512 < bytes) {
        int rc = posix_fallocate(fd, 0, (off_t)bytes); /* writes where the system has no call */
        if (rc != 0) {
            unlink(path);
            return err_sys(err, rc, "ReserveFailed", "cannot set aside %llu bytes in %s",
                           (unsigned long long)bytes, path);
        }
    }
    if (fsync(fd) < 0) {
        return err_sys(err, errno, "ReserveFailed", "cannot flush %s", path);
    }
    return 0;
}

/* --- directories ----------------------------------------------------------------------------- */

int fs_mkdirs(const char *path, mode_t mode, struct err *err)
{
    if (path[0] == '\0') {
        return err_set(err, ERR_PERMANENT, "BadPath", "cannot make a directory without a name");
    }
    autofree char *part = mem_strdup(path);
    for (char *slash = part; slash;) {
        slash = strchr(slash + (*slash == '/'), '/'); /* the end of the next component */
        if (slash) {
            *slash = '\0';
        }
        if (part[0] != '\0' && mkdir(part, mode) < 0 && errno != EEXIST) {
            int why = errno;
            if (!fs_is_dir(part)) { /* EROFS, EACCES and others come even where it exists */
                return err_sys(err, why, "MkdirFailed", "cannot make the directory %s", part);
            }
        }
        if (slash) {
            *slash = '/';
        }
    }
    if (!fs_is_dir(path)) {
        return err_set(err, ERR_PERMANENT, "NotADirectory", "%s exists and is not a directory",
                       path);
    }
    return 0;
}

bool fs_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool fs_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int fs_fsync_dir(const char *path, struct err *err)
{
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return open_failed(path, err);
    }
    if (fsync(fd) < 0) {
        return err_sys(err, errno, "WriteFailed", "cannot flush the directory %s", path);
    }
    return 0;
}

/* --- names ----------------------------------------------------------------------------------- */

int fs_realpath(const char *path, char **ret, struct err *err)
{
    char *found = realpath(path, NULL);
    if (!found) {
        return err_sys(err, errno, errno == ENOENT ? "FileNotFound" : "OpenFailed",
                       "cannot resolve %s", path);
    }
    *ret = found;
    return 0;
}

char *fs_join(const char *dir, const char *name)
{
    size_t len = strlen(dir);
    return mem_printf("%s%s%s", dir, len == 0 || dir[len - 1] == '/' ? "" : "/", name);
}

char *fs_dirname(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') { /* trailing slashes */
        len--;
    }
    while (len > 0 && path[len - 1] != '/') { /* the last component */
        len--;
    }
    if (len == 0) {
        return mem_strdup(".");
    }
    while (len > 1 && path[len - 1] == '/') { /* the slashes before it */
        len--;
    }
    return mem_strndup(path, len);
}

const char *fs_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_dots(const char *name, size_t len)
{
    return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

bool fs_path_is_inside(const char *relative)
{
    const char *at = relative;
    for (;;) {
        size_t len = strcspn(at, "/");
        if (len == 0 || is_dots(at, len)) {
            return false;
        }
        if (at[len] == '\0') {
            return true;
        }
        at += len + 1;
    }
}

bool fs_name_is_plain(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > 255 || is_dots(name, len) || !utf8_valid(name, len)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)name[i];
        if (byte < 0x20 || byte == 0x7f || byte == '/') {
            return false;
        }
    }
    return true;
}

static int open_component(int dir_fd, const char *name, int flags, mode_t mode,
                          const char *relative, struct err *err)
{
    struct stat st;
    int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0) {
        return fd;
    }
    int why = errno;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        return err_set(err, ERR_PERMANENT, "SymlinkInPath", "%s: \"%s\" is a symbolic link",
                       relative, name);
    }
    errno = why;
    return open_failed(relative, err);
}

int fs_open_inside(int dir_fd, const char *relative, int flags, mode_t mode, int *ret_fd,
                   struct err *err)
{
    if (!fs_path_is_inside(relative)) {
        return err_set(err, ERR_PERMANENT, "PathEscapes",
                       "\"%s\" is not a plain path below its directory", relative);
    }
    autofree char *part = mem_strdup(relative);
    autoclose int parent = -1;
    int at_fd = dir_fd;
    char *name = part;
    for (char *slash = strchr(name, '/'); slash; slash = strchr(name, '/')) {
        *slash = '\0';
        int next = open_component(at_fd, name, O_PATH | O_DIRECTORY, 0, relative, err);
        if (next < 0) {
            return -1;
        }
        if (parent >= 0) {
            close(parent);
        }
        parent = next;
        at_fd = next;
        name = slash + 1;
    }
    int fd = open_component(at_fd, name, flags, mode, relative, err);
    if (fd < 0) {
        return -1;
    }
    *ret_fd = fd;
    return 0;
}

/* --- file-system facts ----------------------------------------------------------------------- */

static const struct {
    unsigned long magic; /* statfs(2), include/uapi/linux/magic.h */
    enum fs_class class;
    const char *name;
} known[] = {
    {0xef53, FS_LOCAL, "ext4"},         {0x58465342, FS_LOCAL, "xfs"},
    {0x9123683e, FS_LOCAL, "btrfs"},    {0x2fc12fc1, FS_LOCAL, "zfs"},
    {0xf2f52010, FS_LOCAL, "f2fs"},     {0xca451a4e, FS_LOCAL, "bcachefs"},
    {0x3153464a, FS_LOCAL, "jfs"},      {0x52654973, FS_LOCAL, "reiserfs"},
    {0x794c7630, FS_LOCAL, "overlay"},  {0xf15f, FS_LOCAL, "ecryptfs"},
    {0x4d44, FS_LOCAL, "vfat"},         {0x2011bab0, FS_LOCAL, "exfat"},
    {0x7366746e, FS_LOCAL, "ntfs3"},    {0x01021994, FS_MEMORY, "tmpfs"},
    {0x858458f6, FS_MEMORY, "ramfs"},   {0x6969, FS_NETWORK, "nfs"},
    {0x517b, FS_NETWORK, "smb"},        {0xff534d42, FS_NETWORK, "cifs"},
    {0xfe534d42, FS_NETWORK, "smb2"},   {0x01021997, FS_NETWORK, "9p"},
    {0x00c36400, FS_NETWORK, "ceph"},   {0x5346414f, FS_NETWORK, "afs"},
    {0x6b414653, FS_NETWORK, "afs"},    {0x73757245, FS_NETWORK, "coda"},
    {0x01161970, FS_NETWORK, "gfs2"},   {0x7461636f, FS_NETWORK, "ocfs2"},
    {0x0bd00bd0, FS_NETWORK, "lustre"}, {0x65735546, FS_FUSE, "fuse"},
};

enum fs_class fs_classify(const char *path, const char **ret_name)
{
    struct statfs st;
    if (ret_name) {
        *ret_name = "unknown";
    }
    if (statfs(path, &st) < 0) {
        return FS_UNKNOWN;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].magic == ((unsigned long)st.f_type & 0xffffffffUL)) {
            if (ret_name) {
                *ret_name = known[i].name;
            }
            return known[i].class;
        }
    }
    return FS_UNKNOWN;
}

int fs_free_bytes(const char *path, uint64_t *ret, struct err *err)
{
    struct statvfs st;
    if (statvfs(path, &st) < 0) {
        return err_sys(err, errno, "StatFailed", "cannot ask for the free space at %s", path);
    }
    *ret = (uint64_t)st.f_bavail * st.f_frsize;
    return 0;
}

/* A directory that is ours alone, made when absent. 1: not possible here, try the next place. */
static int private_dir(const char *path, struct err *err)
{
    struct stat st;
    if (strlen(path) > RUNTIME_DIR_BYTES_MAX) {
        return 1;
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        return 1;
    }
    if (lstat(path, &st) < 0) {
        return 1;
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        return err_set(err, ERR_PERMANENT, "RuntimeDirUnsafe",
                       "%s is not a directory of this user alone (mode 0700); remove it", path);
    }
    return 0;
}

int fs_make_temp_dir(const char *prefix, char **ret, struct err *err)
{
    char hex[17];
    for (;;) {
        rng_hex(hex, 8);
        autofree char *path = mem_printf("%s-%s", prefix, hex);
        if (mkdir(path, 0700) == 0) {
            *ret = steal(&path);
            return 0;
        }
        if (errno != EEXIST) {
            return err_sys(err, errno, "MkdirFailed", "cannot make a directory %s", path);
        }
    }
}

int fs_runtime_dir(char **ret, struct err *err)
{
    struct stat st;
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    int rc = 1;
    autofree char *path = NULL;
    if (xdg && xdg[0] == '/' && stat(xdg, &st) == 0 && st.st_uid == geteuid()) {
        path = fs_join(xdg, "factory");
        rc = private_dir(path, err);
    }
    if (rc == 1 && geteuid() == 0) {
        free(path);
        path = mem_strdup("/run/factory");
        rc = private_dir(path, err);
    }
    if (rc == 1) {
        free(path);
        path = mem_printf("/tmp/factory-%u", (unsigned)geteuid());
        rc = private_dir(path, err);
    }
    if (rc == 1) {
        return err_set(err, ERR_PERMANENT, "NoRuntimeDir",
                       "cannot make %s; set XDG_RUNTIME_DIR to a short directory of yours", path);
    }
    if (rc == 0) {
        *ret = steal(&path);
    }
    return rc;
}
