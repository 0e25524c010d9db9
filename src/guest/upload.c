/*
 * upload.c - POST /files: a raw body into one file, or multipart parts into several.
 *
 * Owns: the descriptor being written. Bytes go to the file as they arrive; nothing is kept.
 * As envd does: parents are created, the file is truncated in place (a client that wants a whole
 * file or none uploads beside it and calls Move), other part names than "file" are read over.
 * Tests: tests/unit/test_guest_files.c
 */
#include "guest/files.h"

#include "base/fs.h"
#include "base/mem.h"
#include "guest/multipart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTS_MAX 10000

struct upload {
    struct request *request;
    struct multipart *multipart; /* NULL: raw */
    char *query_path;            /* NULL: none in the query */
    int fd;                      /* -1 between files */
    char **done;                 /* paths of the files begun */
    size_t done_count;
    size_t done_cap;
};

static int fail_errno(struct wire_error *error, const char *path, int errnum)
{
    bool odd = errnum == ENOENT || errnum == ENXIO || errnum == ENODEV; /* ENXIO: a FIFO */
    enum wire_code code = odd ? WIRE_INVALID_ARGUMENT : wire_code_of_errno(errnum);
    return wire_fail(error, code, "error writing '%.256s': %s", path, strerrordesc_np(errnum));
}

/* Open `path` (taken over) for writing, emptied. */
static int open_file(struct upload *u, char *path, struct wire_error *error)
{
    struct stat st;
    struct err err = {0};
    autofree char *parent = fs_dirname(path);
    for (size_t i = 0; i < u->done_count; i++) {
        if (str_eq(u->done[i], path)) {
            wire_fail(error, WIRE_INVALID_ARGUMENT, "path '%.256s' is uploaded twice", path);
            free(path);
            return -1;
        }
    }
    mem_reserve(u->done, &u->done_cap, u->done_count + 1);
    u->done[u->done_count++] = path;
    if (u->done_count > PARTS_MAX) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "more than %d files", PARTS_MAX);
    }
    if (fs_mkdirs(parent, 0755, &err) < 0) {
        return fail_errno(error, parent, err.sys ? err.sys : ENOTDIR);
    }
    u->fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (u->fd < 0) {
        return fail_errno(error, path, errno);
    }
    if (fstat(u->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "path '%.256s' is not a regular file", path);
    }
    return ftruncate(u->fd, 0) < 0 ? fail_errno(error, path, errno) : 0;
}

static int write_file(void *user, const char *bytes, size_t len, struct wire_error *error)
{
    const struct upload *u = user;
    struct err err = {0};
    if (fs_write_all(u->fd, bytes, len, &err) < 0) {
        return fail_errno(error, u->done[u->done_count - 1], err.sys);
    }
    return 0;
}

static int close_file(void *user, struct wire_error *error)
{
    struct upload *u = user;
    int rc = close(u->fd);
    u->fd = -1;
    return rc < 0 ? fail_errno(error, u->done[u->done_count - 1], errno) : 0;
}

static int begin_part(void *user, const char *filename, struct wire_error *error)
{
    struct upload *u = user;
    char *path = NULL;
    if (u->query_path) {
        path = mem_strdup(u->query_path);
    } else if (*filename == '\0') {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "part has no filename and query no path");
    } else if (guest_path(u->request->guest, filename, &path, error) < 0) {
        return -1;
    }
    return open_file(u, path, error);
}

/* The first look at a request: what will its body be? */
static int prepare(struct upload *u, struct wire_error *error)
{
    const struct request *r = u->request;
    const char *type = request_header(r, MHD_HTTP_HEADER_CONTENT_TYPE);
    const char *encoding = request_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING);
    int has_path = files_query(r, &u->query_path, error);
    if (has_path < 0) {
        return -1;
    }
    if (encoding && strcasecmp(encoding, "identity") != 0) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "content encoding '%.64s' is not supported",
                         encoding);
    }
    if (wire_is_type(type, "multipart/form-data")) {
        struct multipart_sink sink = {
            .begin = begin_part, .data = write_file, .end = close_file, .user = u};
        u->multipart = multipart_new(type, &sink, error);
        return u->multipart ? 0 : -1;
    }
    if (!wire_is_type(type, "application/octet-stream")) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT,
                         "content type must be application/octet-stream or multipart/form-data");
    }
    if (!u->query_path) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "query parameter 'path' is missing");
    }
    return open_file(u, mem_strdup(u->query_path), error);
}

/* r->data comes to be with the first byte, or with the end of an empty body. */
static struct upload *get(struct request *r, struct wire_error *error)
{
    if (!r->data) {
        struct upload *u = mem_alloc(sizeof(*u));
        u->request = r;
        u->fd = -1;
        r->data = u;
        if (prepare(u, error) < 0) {
            return NULL;
        }
    }
    return r->data;
}

static int feed(struct request *r, const char *bytes, size_t len, size_t *ret_used,
                struct wire_error *error)
{
    struct upload *u = get(r, error);
    *ret_used = len;
    if (!u) {
        return -1;
    }
    struct wire_error failure;
    int rc = u->multipart ? multipart_feed(u->multipart, bytes, len, &failure)
                          : write_file(u, bytes, len, &failure);
    if (rc < 0) {
        *error = failure;
    }
    return rc;
}

static void put_done(const struct upload *u, struct str *out)
{
    struct json_out w = json_writer(out, 0);
    json_begin_array(&w);
    for (size_t i = 0; i < u->done_count; i++) {
        const char *name = fs_basename(u->done[i]);
        json_begin_object(&w);
        json_key(&w, "path");
        json_put_strn(&w, u->done[i], strlen(u->done[i]));
        json_key(&w, "name");
        json_put_strn(&w, name, strlen(name));
        json_kv_str(&w, "type", "file");
        json_end_object(&w);
    }
    json_end_array(&w);
}

static enum MHD_Result upload(struct request *r)
{
    struct upload *u = r->error.code == WIRE_OK ? get(r, &r->error) : NULL;
    if (u && u->multipart) {
        struct wire_error failure;
        if (multipart_finish(u->multipart, &failure) < 0) {
            r->error = failure;
        }
    } else if (u && r->error.code == WIRE_OK) {
        close_file(u, &r->error);
    }
    if (r->error.code != WIRE_OK) {
        return request_reply_error(r, request_rest_status(&r->error), r->error.text);
    }
    autostr struct str out = {0};
    put_done(u, &out);
    return request_reply(r, MHD_HTTP_OK, "application/json; charset=utf-8", &out);
}

static void dispose(struct request *r)
{
    struct upload *u = r->data;
    if (!u) {
        return;
    }
    if (u->fd >= 0) {
        close(u->fd);
    }
    for (size_t i = 0; i < u->done_count; i++) {
        free(u->done[i]);
    }
    multipart_free(u->multipart);
    free(u->done);
    free(u->query_path);
    free(u);
}

const struct route UPLOAD_ROUTES[] = {
    {.method = "POST",
     .path = "/files",
     .kind = ROUTE_REST,
     .rest = upload,
     .feed = feed,
     .dispose = dispose},
    {0},
};
