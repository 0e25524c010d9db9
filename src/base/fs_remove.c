/*
 * fs_remove.c - fs_remove_tree() of fs.h: empty a directory that somebody hostile may have filled.
 *
 * Walks with descriptors (openat, O_NOFOLLOW), so no name is ever resolved through a link, and
 * never onto another mounted file system. At most WALK_DEPTH_MAX directories are open at once: what
 * lies deeper is first moved up to the root of the tree and found there again by the next pass.
 * Directories without permission bits get them back before they are opened.
 * Tests: tests/unit/test_base_fs.c
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

#define WALK_DEPTH_MAX 32 /* open directories; far below any descriptor limit */

struct level {
    DIR *dir;
    char *name; /* in the level above */
    bool progress;
};

struct walk {
    struct level levels[WALK_DEPTH_MAX];
    size_t depth;
    dev_t device;
    const char *path;
    unsigned moved;
    int why; /* errno of the first thing that would not go away */
};

/* Descriptor for a directory that is no symlink, readable and writable for us. */
static int open_dir(int parent_fd, const char *name, struct stat *st)
{
    autoclose int there = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (there < 0 || fstat(there, st) < 0) {
        return -1;
    }
    if ((st->st_mode & 0700) != 0700) {
        char self[32];
        snprintf(self, sizeof(self), "/proc/self/fd/%d", there);
        if (chmod(self, 0700) < 0) {
            /* not ours: opening or unlinking will say so */
        }
    }
    return openat(there, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int descend(struct walk *walk, int parent_fd, const char *name)
{
    struct stat st;
    int fd = open_dir(parent_fd, name, &st);
    if (fd < 0) {
        return -1;
    }
    if (walk->depth == 0) {
        walk->device = st.st_dev;
    } else if (st.st_dev != walk->device) {
        close(fd);
        errno = EBUSY; /* a mount point */
        return -1;
    }
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -1;
    }
    walk->levels[walk->depth++] = (struct level){.dir = dir, .name = mem_strdup(name)};
    return 0;
}

/* Too deep to open: hang the directory into the tree's root, under a name that is not taken. */
static int move_up(struct walk *walk, int parent_fd, const char *name)
{
    for (;;) {
        char up[32];
        snprintf(up, sizeof(up), ".removed-%u", walk->moved++);
        int root_fd = dirfd(walk->levels[0].dir);
        int rc = renameat2(parent_fd, name, root_fd, up, RENAME_NOREPLACE);
        if (rc < 0 && (errno == EINVAL || errno == ENOSYS)) {
            rc = renameat(parent_fd, name, root_fd, up); /* at worst over an empty directory */
        }
        if (rc == 0) {
            walk->levels[0].progress = true;
            return 0;
        }
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) {
            return -1;
        }
    }
}

static void note(struct walk *walk)
{
    if (walk->why == 0) {
        walk->why = errno;
    }
}

static void remove_entry(struct walk *walk, const char *name)
{
    struct level *top = &walk->levels[walk->depth - 1];
    int fd = dirfd(top->dir);
    struct stat st;
    if (unlinkat(fd, name, 0) == 0) {
        top->progress = true;
        return;
    }
    int why = errno;
    if (why == ENOENT) {
        return;
    }
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)) {
        errno = why;
        note(walk);
        return;
    }
    if (unlinkat(fd, name, AT_REMOVEDIR) == 0) {
        top->progress = true;
        return;
    }
    if (walk->depth < WALK_DEPTH_MAX) {
        if (descend(walk, fd, name) < 0) {
            note(walk);
        }
        return;
    }
    autoclose int opened is_unused = open_dir(fd, name, &st); /* a rename needs write permission */
    if (move_up(walk, fd, name) < 0) {
        note(walk);
    } else {
        top->progress = true;
    }
}

/* The innermost directory has been read to its end: look again, or leave and remove it. */
static void ascend(struct walk *walk, int parent_fd)
{
    struct level *top = &walk->levels[walk->depth - 1];
    if (unlinkat(parent_fd, top->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
        if ((errno == ENOTEMPTY || errno == EEXIST) && top->progress) {
            top->progress = false;
            rewinddir(top->dir);
            return;
        }
        note(walk);
    } else if (walk->depth > 1) {
        walk->levels[walk->depth - 2].progress = true;
    }
    closedir(top->dir);
    free(top->name);
    walk->depth--;
}

static void walk_all(struct walk *walk, int parent_fd)
{
    while (walk->depth > 0) {
        struct level *top = &walk->levels[walk->depth - 1];
        const struct dirent *entry = readdir(top->dir);
        if (!entry) {
            ascend(walk, walk->depth > 1 ? dirfd(walk->levels[walk->depth - 2].dir) : parent_fd);
        } else if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, "..")) {
            remove_entry(walk, entry->d_name);
        }
    }
}

int fs_remove_tree(const char *path, struct err *err)
{
    autofree char *clean = mem_strdup(path);
    for (size_t len = strlen(clean); len > 1 && clean[len - 1] == '/'; len--) {
        clean[len - 1] = '\0'; /* "link/" would mean what the link points to */
    }
    const char *name = fs_basename(clean);
    if (name[0] == '\0' || str_eq(name, ".") || str_eq(name, "..")) {
        return err_set(err, ERR_PERMANENT, "BadPath", "refusing to remove \"%s\"", path);
    }
    autofree char *dir = fs_dirname(clean);
    autoclose int parent_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent_fd < 0) {
        return errno == ENOENT ? 0 : err_sys(err, errno, "RemoveFailed", "cannot remove %s", path);
    }
    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    autofree struct walk *walk = mem_alloc(sizeof(*walk));
    int why = errno;
    if (descend(walk, parent_fd, name) < 0) {
        return err_sys(err, errno == ENOTDIR ? why : errno, "RemoveFailed", "cannot remove %s",
                       path);
    }
    walk_all(walk, parent_fd);
    if (faccessat(parent_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return err_sys(err, walk->why ? walk->why : ENOTEMPTY, "RemoveFailed",
                       "cannot remove all of %s", path);
    }
    return 0;
}
