/*
 * envd_wire.h - envd on the wire, private to sandbox/envd*.c.
 *
 * Owns: the connection state, unary and streaming Connect-RPC calls, the translation of remote
 * errors into struct err. Must not: be included outside this room.
 *
 * A stream's body is a sequence of envelopes: 1 flag byte, 4 bytes of big-endian length, payload.
 * Flag 0x02 ends the stream; any other bit means that this is not a Connect stream at all (an HTML
 * page of a portal, say). Envelopes have nothing to do with HTTP chunks.
 */
#ifndef SANDBOX_ENVD_WIRE_H
#define SANDBOX_ENVD_WIRE_H

#include "base/arena.h"
#include "base/http.h"
#include "base/json.h"
#include "sandbox/envd.h"

#define ENVELOPE_MAX (64u * 1024 * 1024)
#define UNARY_TIMEOUT_MS 60000

struct envd {
    struct envd_target target;
    struct http_client *rpc;    /* short calls */
    struct http_client *stream; /* the one long call that may be open meanwhile */
    char *auth;                 /* "Authorization: Basic ..." */
    char *user_escaped;
};

/* POST /SERVICE/METHOD with a JSON body. 0 and *ret_root (in arena); ENVD_ABSENT (not_found);
 * ENVD_EXISTS (already_exists); <0. ret_root may be NULL. */
int envd_unary(struct envd *envd, const char *method, const struct str *body, struct arena *arena,
               const struct json **ret_root, struct err *err);

struct envd_stream_call {
    const char *method;
    const struct str *body;
    int64_t process_timeout_ms; /* Connect-Timeout-Ms; <= 0: none */
    int keepalive_s;
    /* One "event" object; non-zero stops the stream. */
    int (*on_event)(void *user, const struct json *event);
    void *user;
    const atomic_bool *cancel;
    bool got_anything; /* out: at least one event came */
    bool deadline;     /* out: the other side ended it with deadline_exceeded */
};
/* 0: ended in good order (or with deadline); ENVD_WIRE_STOPPED: on_event stopped it;
 * ENVD_WIRE_ABSENT: the other side said not_found; <0. */
#define ENVD_WIRE_STOPPED 1
#define ENVD_WIRE_ABSENT 2
int envd_stream(struct envd *envd, struct envd_stream_call *call, struct err *err);

/* Percent-encode everything but A-Za-z0-9-._~ */
/* At most `most` bytes from `offset` on, appended; fewer at the end of the file. 0; ENVD_ABSENT. */
int envd_read_part(struct envd *envd, const char *path, uint64_t offset, size_t most,
                   struct str *ret, const atomic_bool *cancel, struct err *err);

void envd_escape(struct str *out, const char *text);
/* Turn an unsuccessful HTTP answer into an error or an outcome (ENVD_ABSENT, ENVD_EXISTS). */
int envd_http_failure(const char *what, const struct http_response *response, struct err *err);

/* One GET /health. <0: transient, or cancelled. */
int envd_ask_health(struct envd *envd, int64_t timeout_ms, const atomic_bool *cancel,
                    struct err *err);
/* POST /init: "NAME=value" for every later command. Nothing to push is 0. */
int envd_push_env(struct envd *envd, const char *const *env, struct err *err);

/* --- bounded capture: head and tail ----------------------------------------------------------- */

struct envd_capture {
    size_t limit;
    struct str head;
    char *ring; /* the tail, a ring of `limit - limit / 2` bytes; allocated when needed */
    size_t ring_at;
    size_t ring_len;
    uint64_t total;
};
void envd_capture_add(struct envd_capture *capture, const void *bytes, size_t len);
/* Whole text into *ret; true when something was left out. Frees the capture. */
bool envd_capture_finish(struct envd_capture *capture, struct str *ret);

/* What exec, connect and follow share: deliver one piece of output. Non-zero: stop. */
struct envd_sink {
    const struct envd_command *command;
    struct envd_capture out;
    struct envd_capture err;
};
void envd_sink_begin(struct envd_sink *sink, const struct envd_command *command);
int envd_sink_put(struct envd_sink *sink, enum envd_stream stream, const void *bytes, size_t len);
void envd_sink_finish(struct envd_sink *sink, struct envd_result *ret);

/* The request that starts a command: a shell around scripts, a redirection for standard input
 * (whose bytes are uploaded first). */
int envd_start_body(struct envd *envd, const struct envd_command *command, const char *tag,
                    bool keep_stdin, const atomic_bool *cancel, struct str *ret_body,
                    struct err *err);
int envd_command_check(const struct envd_command *command, struct err *err);

#endif
