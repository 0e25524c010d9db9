/*
 * download.c - GET /files: a regular file's bytes, whole or one range, straight from the
 * descriptor.
 *
 * Owns: the answer's headers. Must not: follow a path into anything but a regular file (a FIFO or a
 * device would block the daemon's one thread; all opens are non-blocking for that reason).
 * Tests: tests/unit/test_guest_files.c
 */
#include "guest/files.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZELESS_MAX ((size_t)16 << 20) /* files that say 0 and are not: /proc */

int files_query(const struct request *r, char **ret, struct wire_error *error)
{
    const char *path = NULL;
    const char *user = NULL;
    int has_path = request_argument(r, "path", &path);
    int has_user = request_argument(r, "username", &user);
    if (has_path < 0 || has_user < 0) {
        return wire_fail(error, WIRE_INVALID_ARGUMENT, "query holds a NUL byte");
    }
    if (has_user && *user && !guest_user_known(r->guest, user)) {
        return wire_fail(error, WIRE_UNAUTHENTICATED, "invalid username: '%.64s'", user);
    }
    if (!has_path || *path == '\0') {
        return 0;
    }
    return guest_path(r->guest, path, ret, error) < 0 ? -1 : 1;
}

struct range {
    uint64_t first;
    uint64_t len;
    bool partial;
};

static bool digits(const char **text, uint64_t *ret)
{
    char *end;
    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    *ret = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* One range of `size` bytes. false: cannot be satisfied. What is not one range is ignored. */
static bool read_range(const char *header, uint64_t size, struct range *ret)
{
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;
    *ret = (struct range){.len = size};
    if (!header || strncmp(header, "bytes=", 6) != 0) {
        return true;
    }
    const char *p = header + 6;
    bool has_first = digits(&p, &first);
    if (*p++ != '-') {
        return true;
    }
    bool has_last = digits(&p, &last);
    if (*p != '\0' || (!has_first && !has_last) || (has_first && has_last && last < first)) {
        return true;
    }
    if (!has_first) { /* the last so many bytes */
        first = last < size ? size - last : 0;
        last = last == 0 ? 0 : UINT64_MAX;
        if (size == 0 || last == 0) {
            return false;
        }
    }
    if (first >= size) {
        return false;
    }
    last = last < size ? last : size - 1;
    *ret = (struct range){.first = first, .len = last - first + 1, .partial = true};
    return true;
}

static void describe(struct MHD_Response *response, const char *path)
{
    autostr struct str text = {0};
    str_add(&text, "inline; filename=\"");
    for (const char *p = fs_basename(path); *p; p++) {
        bool plain = *p != '"' && *p != '\\' && (unsigned char)*p >= ' ' && *p != 127;
        str_addc(&text, plain ? *p : '_');
    }
    str_addc(&text, '"');
    response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, str_c(&text));
    response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/octet-stream");
    response_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
}

/* Takes fd over. */
static enum MHD_Result send_file(struct request *r, const char *path, int fd, uint64_t size)
{
    struct range range;
    autofree char *text = NULL;
    struct MHD_Response *response;
    if (!read_range(request_header(r, MHD_HTTP_HEADER_RANGE), size, &range)) {
        close(fd);
        text = mem_printf("bytes */%llu", (unsigned long long)size);
        response = response_of_bytes(mem_strndup("", 0), 0);
        response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, text);
        return request_queue(r, MHD_HTTP_RANGE_NOT_SATISFIABLE, response);
    }
    if (!mem_retry((response = MHD_create_response_from_fd_at_offset64(range.len, fd,
                                                                       range.first)) != NULL)) {
        mem_exhausted(0);
    }
    describe(response, path);
    if (range.partial) {
        text =
            mem_printf("bytes %llu-%llu/%llu", (unsigned long long)range.first,
                       (unsigned long long)(range.first + range.len - 1), (unsigned long long)size);
        response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, text);
    }
    return request_queue(r, range.partial ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response);
}

/* /proc and /sys say size 0: what can be read is the content. Takes fd over. */
static enum MHD_Result send_sizeless(struct request *r, const char *path, int fd)
{
    struct str body = {0};
    struct err err = {0};
    int rc = fs_read_fd(fd, SIZELESS_MAX, &body, &err);
    close(fd);
    if (rc < 0) {
        str_free(&body);
        return request_reply_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, err.text);
    }
    size_t len = body.len;
    struct MHD_Response *response = response_of_bytes(str_take(&body), len);
    describe(response, path);
    return request_queue(r, MHD_HTTP_OK, response);
}

static enum MHD_Result refuse(struct request *r, int errnum, const char *path)
{
    autofree char *text = NULL;
    if (errnum == ENOENT || errnum == ENOTDIR) {
        text = mem_printf("path '%s' does not exist", path);
        return request_reply_error(r, MHD_HTTP_NOT_FOUND, text);
    }
    text = mem_printf("error opening '%s': %s", path, strerrordesc_np(errnum));
    return request_reply_error(r, wire_code_status(wire_code_of_errno(errnum)), text);
}

static enum MHD_Result download(struct request *r)
{
    autofree char *path = NULL;
    struct stat st;
    int has = files_query(r, &path, &r->error);
    if (has < 0) {
        return request_reply_error(r, request_rest_status(&r->error), r->error.text);
    }
    if (has == 0) {
        return request_reply_error(r, MHD_HTTP_BAD_REQUEST, "query parameter 'path' is missing");
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return refuse(r, errno, path);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        bool dir = S_ISDIR(st.st_mode);
        close(fd);
        autofree char *text =
            mem_printf("path '%s' is %s", path, dir ? "a directory" : "not a regular file");
        return request_reply_error(r, MHD_HTTP_BAD_REQUEST, text);
    }
    return st.st_size > 0 ? send_file(r, path, fd, (uint64_t)st.st_size)
                          : send_sizeless(r, path, fd);
}

const struct route DOWNLOAD_ROUTES[] = {
    {.method = "GET", .path = "/files", .kind = ROUTE_REST, .rest = download},
    {0},
};
