/*
 * export.c - a raw tree as a tar stream.
 *
 * Owns: the order and the metadata of what is written (tree.h says which). Content is the blobs'
 * bytes, unfiltered. GNU format, since its names are raw bytes in every locale. Must not touch the
 * host's files. Thread rule: tree.h. Tests: tests/unit/test_repo_tree.c
 */
#include <archive.h>
#include <archive_entry.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "repo/list.h"
#include "repo/tree.h"

struct exporter {
    struct tree_store *store;
    struct archive *archive;
    struct archive_entry *entry;
    int64_t mtime_s;
    int (*write)(void *user, const void *bytes, size_t len, struct err *err);
    void *user;
    struct err *err;
    bool write_failed; /* err is the sink's */
};

static la_ssize_t pass_on(struct archive *archive, void *user, const void *bytes, size_t len)
{
    struct exporter *ex = user;
    if (ex->write_failed || ex->write(ex->user, bytes, len, ex->err) < 0) {
        ex->write_failed = true;
        archive_set_error(archive, -1, "the receiver stopped");
        return -1;
    }
    return (la_ssize_t)len;
}

static int fail(struct exporter *ex, const char *path)
{
    if (ex->write_failed) {
        return -1;
    }
    autostr struct str shown = {0};
    return err_set(ex->err, ERR_PERMANENT, "ExportFailed", "cannot write %s to the tar stream: %s",
                   name_show(&shown, path), archive_error_string(ex->archive));
}

static int put_header(struct exporter *ex, const char *path, unsigned type, unsigned perm,
                      const char *target, size_t size)
{
    archive_entry_clear(ex->entry);
    archive_entry_copy_pathname(ex->entry, path);
    archive_entry_set_filetype(ex->entry, type);
    archive_entry_set_perm(ex->entry, (__LA_MODE_T)perm);
    archive_entry_set_size(ex->entry, (la_int64_t)size);
    archive_entry_set_mtime(ex->entry, ex->mtime_s, 0);
    archive_entry_set_uid(ex->entry, 0);
    archive_entry_set_gid(ex->entry, 0);
    if (target) {
        archive_entry_copy_symlink(ex->entry, target);
    }
    int rc = archive_write_header(ex->archive, ex->entry);
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? 0 : fail(ex, path);
}

/* Directories of path that the path before it did not have. */
static int put_dirs(struct exporter *ex, const char *before, const char *path)
{
    size_t same = 0;
    size_t at = 0;
    while (before[same] && before[same] == path[same]) {
        same++;
    }
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        at = (size_t)(slash - path);
        if (at >= same || before[at] != '/') {
            autofree char *dir = mem_strndup(path, at + 1);
            int rc = put_header(ex, dir, AE_IFDIR, 0755, NULL, 0);
            if (rc < 0) {
                return rc;
            }
        }
    }
    return 0;
}

static int put_link(struct exporter *ex, const struct list_entry *entry)
{
    autogit(git_odb_object) git_odb_object *blob = NULL;
    int rc = store_read(ex->store, &entry->id, GIT_OBJECT_BLOB, &blob, ex->err);
    if (rc < 0) {
        return rc;
    }
    size_t len = git_odb_object_size(blob);
    const char *bytes = git_odb_object_data(blob);
    if (len == 0 || len > 4095 || memchr(bytes, '\0', len)) {
        autostr struct str shown = {0};
        return err_set(ex->err, ERR_PERMANENT, "BaselineRefused",
                       "the tree cannot be used: symlink %s has no usable target",
                       name_show(&shown, entry->path));
    }
    autofree char *target = mem_strndup(bytes, len);
    return put_header(ex, entry->path, AE_IFLNK, 0777, target, 0);
}

static int put_file(struct exporter *ex, const struct list_entry *entry)
{
    autogit(git_odb_object) git_odb_object *blob = NULL;
    int rc = store_read(ex->store, &entry->id, GIT_OBJECT_BLOB, &blob, ex->err);
    if (rc < 0) {
        return rc;
    }
    size_t len = git_odb_object_size(blob);
    rc = put_header(ex, entry->path, AE_IFREG, entry->mode & 0777u, NULL, len);
    if (rc < 0) {
        return rc;
    }
    if (len && archive_write_data(ex->archive, git_odb_object_data(blob), len) != (la_ssize_t)len) {
        return fail(ex, entry->path);
    }
    return 0;
}

static int put_all(struct exporter *ex, const struct list *list)
{
    const char *before = "";
    for (size_t i = 0; i < list->count; i++) {
        const struct list_entry *entry = &list->entries[i];
        int rc = put_dirs(ex, before, entry->path);
        before = entry->path;
        if (rc == 0 && entry->mode == MODE_GITLINK) {
            autofree char *dir = mem_printf("%s/", entry->path);
            rc = put_header(ex, dir, AE_IFDIR, 0755, NULL, 0);
        } else if (rc == 0) {
            rc = entry->mode == MODE_LINK ? put_link(ex, entry) : put_file(ex, entry);
        }
        if (rc < 0) {
            return rc;
        }
    }
    return archive_write_close(ex->archive) == ARCHIVE_OK ? 0 : fail(ex, "the end");
}

int tree_export(struct tree_store *store, const char *tree, int64_t mtime_s,
                int (*write)(void *user, const void *bytes, size_t len, struct err *err),
                void *user, struct err *err)
{
    autolist struct list list = {0};
    int rc = list_load_hex(store, tree, &list, err);
    if (rc < 0) {
        return rc;
    }
    struct exporter ex = {.store = store,
                          .archive = archive_write_new(),
                          .entry = archive_entry_new(),
                          .mtime_s = mtime_s,
                          .write = write,
                          .user = user,
                          .err = err};
    archive_write_set_format_gnutar(ex.archive);
    archive_write_add_filter_none(ex.archive);
    archive_write_set_bytes_per_block(ex.archive, 64 * 1024);
    archive_write_set_bytes_in_last_block(ex.archive, 1);
    rc = archive_write_open(ex.archive, &ex, NULL, pass_on, NULL) == ARCHIVE_OK
             ? put_all(&ex, &list)
             : fail(&ex, "its begin");
    archive_entry_free(ex.entry);
    archive_write_free(ex.archive);
    return rc;
}

static int write_fd(void *user, const void *bytes, size_t len, struct err *err)
{
    return fs_write_all(*(int *)user, bytes, len, err);
}

int tree_export_fd(struct tree_store *store, const char *tree, int64_t mtime_s, int fd,
                   struct err *err)
{
    return tree_export(store, tree, mtime_s, write_fd, &fd, err);
}
