/*
 * stream.h - one client following one process: the answer of Start and Connect.
 *
 * Owns: the reader's positions, the encoded bytes not yet taken by the socket, keepalives, the
 * stream's deadline. Must not: change the process. Life: belongs to its HTTP response; when the
 * connection goes, whatever the reason, only the stream goes.
 *
 *   start -> (data | keepalive)* -> end -> end-stream {}
 *                                \-> end-stream {"error": deadline_exceeded}
 */
#ifndef GUEST_STREAM_H
#define GUEST_STREAM_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/process.h"

struct stream; /* opaque */

struct stream_spec {
    bool is_start;      /* the process' timeout ends this stream with an error */
    int64_t timeout_ms; /* <= 0: none; of the stream itself (Connect) */
    int64_t keepalive_ms;
    uint64_t skip[STREAMS]; /* bytes that the client has already */
};
/* The response to queue on `connection`; destroying it closes the stream. */
struct MHD_Response *stream_open(struct process *process, struct MHD_Connection *connection,
                                 const struct stream_spec *spec);

/* For the process: its readers. */
struct stream *stream_next(const struct stream *stream);
uint64_t stream_pos(const struct stream *stream, int which);
bool stream_is_holding(const struct stream *stream); /* reads on, so the pipes wait for it */
void stream_wake(struct stream *stream);

/* For the loop: keepalives and deadlines of all streams. */
void stream_tick(struct guest *guest);
int64_t stream_due(const struct guest *guest);
/* Let every sleeping stream run to its (abrupt) end: before the daemon stops. */
void stream_wake_all(struct guest *guest);

/* {"exitCode":...,"exited":...,"status":...} of an ended process. */
void stream_put_end(struct json_out *w, const struct process *process);

#endif
