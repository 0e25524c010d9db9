/*
 * rpc_filesystem.c - filesystem.Filesystem: Stat ListDir MakeDir Move Remove.
 *
 * Owns: EntryInfo. Entries are told as lstat sees them: a symlink is FILE_TYPE_SYMLINK and its
 * symlinkTarget is the link's own text. Must not: open file contents.
 * Bounds: a listing of more than ENTRIES_MAX entries is refused rather than cut.
 * Tests: tests/unit/test_guest_files.c
 */
#include "guest/server.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "guest/entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 100000
#define DEPTH_MAX 64

/* A path field of the message, resolved. Caller frees *ret. */
static int path_field(const struct request *r, const struct json *message, const char *key,
                      char **ret, struct wire_error *error)
{
    const struct json *value = json_get(message, key);
    const char *text = json_str(value);
    if (value && !text) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "'%s' must be a string without NUL", key);
    }
    return guest_path(r->guest, text ? text : "", ret, error);
}

static int fail_errno(struct wire_error *error, int errnum, const char *what, const char *path)
{
    if (errnum == ENOENT) {
        return wire_fail(error, WIRE_NOT_FOUND, "path '%.256s' does not exist", path);
    }
    return wire_fail(error, wire_code_of_errno(errnum), "%s '%.256s': %s", what, path,
                     strerrordesc_np(errnum));
}

static int put_path(const struct request *r, const char *path, struct str *out,
                    struct wire_error *error)
{
    struct stat st;
    if (lstat(path, &st) < 0) {
        return fail_errno(error, errno, "error reading", path);
    }
    struct json_out w = json_writer(out, 0);
    json_begin_object(&w);
    json_key(&w, "entry");
    entry_put(&w, r->guest, path, &st);
    json_end_object(&w);
    return 0;
}

static int stat_path(struct request *r, const struct json *message, struct str *out,
                     struct wire_error *error)
{
    autofree char *path = NULL;
    int rc = path_field(r, message, "path", &path, error);
    return rc < 0 ? rc : put_path(r, path, out, error);
}

/* --- ListDir: breadth first, each directory by name --- */

struct listing {
    const struct request *request;
    struct json_out w;
    size_t count;
    char **queue; /* directories still to be read, with their depth */
    int *depth;
    size_t queued;
    size_t queue_cap;
    size_t depth_cap;
};

static void enqueue(struct listing *l, const char *path, int depth)
{
    mem_reserve(l->queue, &l->queue_cap, l->queued + 1);
    mem_reserve(l->depth, &l->depth_cap, l->queued + 1);
    l->queue[l->queued] = mem_strdup(path);
    l->depth[l->queued++] = depth;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int list_entry(struct listing *l, const char *dir, const char *name, int depth,
                      struct wire_error *error)
{
    struct stat st;
    autofree char *path = fs_join(dir, name);
    if (lstat(path, &st) < 0) {
        return 0; /* gone between reading the directory and here */
    }
    if (++l->count > ENTRIES_MAX) {
        return wire_fail(error, WIRE_RESOURCE_EXHAUSTED,
                         "more than %d entries below '%.256s'; list deeper directories one by one",
                         ENTRIES_MAX, l->queue[0]);
    }
    entry_put(&l->w, l->request->guest, path, &st);
    if (S_ISDIR(st.st_mode) && depth > 1) {
        enqueue(l, path, depth - 1);
    }
    return 0;
}

static int list_one(struct listing *l, const char *dir, int depth, struct wire_error *error)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, NULL, alphasort);
    if (count < 0) {
        /* Below the top an unreadable directory is listed but not entered. */
        return l->count > 0 ? 0 : fail_errno(error, errno, "error reading", dir);
    }
    int rc = 0;
    for (int i = 0; i < count; i++) {
        if (rc == 0 && !is_dot(names[i]->d_name)) {
            rc = list_entry(l, dir, names[i]->d_name, depth, error);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

static int list_dir(struct request *r, const struct json *message, struct str *out,
                    struct wire_error *error)
{
    autofree char *path = NULL;
    struct stat st;
    int64_t depth = 1;
    json_get_i64(message, "depth", &depth);
    if (path_field(r, message, "path", &path, error) < 0) {
        return -1;
    }
    if (stat(path, &st) < 0) {
        return fail_errno(error, errno, "error reading", path);
    }
    if (!S_ISDIR(st.st_mode)) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "path is not a directory: '%.256s'", path);
    }
    depth = depth < 1 ? 1 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
    autostr struct str entries = {0};
    struct listing l = {.request = r, .w = json_writer(&entries, 0)};
    json_begin_array(&l.w);
    enqueue(&l, path, (int)depth);
    int rc = 0;
    for (size_t i = 0; i < l.queued && rc == 0; i++) {
        rc = list_one(&l, l.queue[i], l.depth[i], error);
    }
    json_end_array(&l.w);
    for (size_t i = 0; i < l.queued; i++) {
        free(l.queue[i]);
    }
    free(l.queue);
    free(l.depth);
    if (rc == 0 && l.count > 0) {
        str_addf(out, "{\"entries\":%s}", str_c(&entries));
    } else if (rc == 0) {
        str_add(out, "{}");
    }
    return rc;
}

/* --- changes --- */

static int make_dir(struct request *r, const struct json *message, struct str *out,
                    struct wire_error *error)
{
    autofree char *path = NULL;
    struct stat st;
    struct err err = {0};
    if (path_field(r, message, "path", &path, error) < 0) {
        return -1;
    }
    if (stat(path, &st) == 0) {
        return S_ISDIR(st.st_mode)
                   ? wire_fail(error, WIRE_ALREADY_EXISTS, "directory already exists: '%.256s'",
                               path)
                   : wire_fail(error, WIRE_INVALID_ARGUMENT,
                               "path already exists but it is not a directory: '%.256s'", path);
    }
    if (fs_mkdirs(path, 0755, &err) < 0) {
        return wire_fail(error, wire_code_of_errno(err.sys ? err.sys : ENOTDIR), "%s", err.text);
    }
    return put_path(r, path, out, error);
}

static int move(struct request *r, const struct json *message, struct str *out,
                struct wire_error *error)
{
    autofree char *source = NULL;
    autofree char *destination = NULL;
    struct stat st;
    struct err err = {0};
    if (path_field(r, message, "source", &source, error) < 0 ||
        path_field(r, message, "destination", &destination, error) < 0) {
        return -1;
    }
    if (lstat(source, &st) < 0) {
        return fail_errno(error, errno, "error moving", source);
    }
    autofree char *parent = fs_dirname(destination);
    if (fs_mkdirs(parent, 0755, &err) < 0) {
        return wire_fail(error, wire_code_of_errno(err.sys ? err.sys : ENOTDIR), "%s", err.text);
    }
    if (rename(source, destination) < 0) {
        return wire_fail(error, wire_code_of_errno(errno), "error moving '%.200s' to '%.200s': %s",
                         source, destination, strerrordesc_np(errno));
    }
    return put_path(r, destination, out, error);
}

static int remove_path(struct request *r, const struct json *message, struct str *out,
                       struct wire_error *error)
{
    autofree char *path = NULL;
    struct err err = {0};
    if (path_field(r, message, "path", &path, error) < 0) {
        return -1;
    }
    if (str_eq(path, "/")) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "the root directory cannot be removed");
    }
    if (fs_remove_tree(path, &err) < 0) {
        return wire_fail(error, WIRE_INTERNAL, "error removing file or directory: %s", err.text);
    }
    str_add(out, "{}");
    return 0;
}

static int unwatchable(struct request *r is_unused, const struct json *message is_unused,
                       struct str *out is_unused, struct wire_error *error)
{
    return wire_fail(error, WIRE_UNIMPLEMENTED, "this sandbox has no directory watchers");
}

static struct MHD_Response *unwatchable_stream(struct request *r, const struct json *message,
                                               struct wire_error *error)
{
    unwatchable(r, message, NULL, error);
    return NULL;
}

#define UNARY_ROUTE(name, function)                                                                \
    {                                                                                              \
        .method = "POST", .path = "/filesystem.Filesystem/" name, .kind = ROUTE_UNARY,             \
        .unary = (function)                                                                        \
    }

const struct route FILESYSTEM_ROUTES[] = {
    UNARY_ROUTE("Stat", stat_path),
    UNARY_ROUTE("ListDir", list_dir),
    UNARY_ROUTE("MakeDir", make_dir),
    UNARY_ROUTE("Move", move),
    UNARY_ROUTE("Remove", remove_path),
    UNARY_ROUTE("CreateWatcher", unwatchable),
    UNARY_ROUTE("GetWatcherEvents", unwatchable),
    UNARY_ROUTE("RemoveWatcher", unwatchable),
    {.method = "POST",
     .path = "/filesystem.Filesystem/WatchDir",
     .kind = ROUTE_STREAM,
     .stream = unwatchable_stream},
    {0},
};
