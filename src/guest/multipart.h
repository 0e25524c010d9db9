/*
 * multipart.h - a streaming reader of multipart/form-data bodies.
 *
 * Owns: finding parts and their names in a body that arrives in pieces cut anywhere. Must not: keep
 * content: it is handed on as it arrives. Bounds: 8 KiB of headers a part, 70 bytes of boundary.
 * Only form-data with name "file" is handed on; other parts are read over.
 */
#ifndef GUEST_MULTIPART_H
#define GUEST_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "guest/wire.h"

struct multipart_sink {
    /* A part begins; filename is "" when it has none. <0 stops everything. */
    int (*begin)(void *user, const char *filename, struct wire_error *error);
    int (*data)(void *user, const char *bytes, size_t len, struct wire_error *error);
    int (*end)(void *user, struct wire_error *error);
    void *user;
};

struct multipart; /* opaque */

/* content_type is the request's header. NULL and *error when it names no usable boundary. */
struct multipart *multipart_new(const char *content_type, const struct multipart_sink *sink,
                                struct wire_error *error);
struct multipart *multipart_free(struct multipart *multipart); /* NULL fine; returns NULL */
int multipart_feed(struct multipart *multipart, const char *bytes, size_t len,
                   struct wire_error *error);
/* The body is over: <0 when it ended inside a part or held no part named "file". */
int multipart_finish(struct multipart *multipart, struct wire_error *error);

#endif
