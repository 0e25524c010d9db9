/*
 * wire.h - the Connect protocol's pieces that need no socket: codes, errors, envelopes, headers.
 *
 * Owns: the spelling of everything a Connect client parses that is not a message. Must not: know
 * which procedure is served, or do I/O. Invariant: nothing here allocates by a length that the peer
 * claims; memory grows only with bytes that arrived, and never beyond the reader's bound.
 *
 * Envelope: 1 flag byte, 4-byte big-endian payload length, payload. Flag 0x02 ends a stream.
 */
#ifndef GUEST_WIRE_H
#define GUEST_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum wire_code {
    WIRE_OK,
    WIRE_CANCELED,
    WIRE_UNKNOWN,
    WIRE_INVALID_ARGUMENT,
    WIRE_DEADLINE_EXCEEDED,
    WIRE_NOT_FOUND,
    WIRE_ALREADY_EXISTS,
    WIRE_PERMISSION_DENIED,
    WIRE_RESOURCE_EXHAUSTED,
    WIRE_FAILED_PRECONDITION,
    WIRE_UNIMPLEMENTED,
    WIRE_INTERNAL,
    WIRE_UNAVAILABLE,
    WIRE_UNAUTHENTICATED,
};
const char *wire_code_name(enum wire_code code); /* "not_found" */
int wire_code_status(enum wire_code code);       /* HTTP status of a unary answer */

#define WIRE_TEXT_BYTES 512
struct wire_error {
    enum wire_code code;
    char text[WIRE_TEXT_BYTES];
};
/* Fill *error; always returns -1. */
int wire_fail(struct wire_error *error, enum wire_code code, const char *fmt, ...)
    printf_like(3, 4);
/* WIRE_* that a failed system call on a path means. */
enum wire_code wire_code_of_errno(int errnum);

/* {"code":"...","message":"..."} */
void wire_put_error(struct str *out, const struct wire_error *error);
void wire_put_envelope(struct str *out, uint8_t flags, const void *payload, size_t len);
/* The end-stream envelope: {} or {"error":{...}} when error is set. */
void wire_put_end(struct str *out, const struct wire_error *error);

#define WIRE_FLAG_COMPRESSED 0x01
#define WIRE_FLAG_END 0x02

struct wire_reader {
    size_t max; /* largest payload accepted */
    uint8_t header[5];
    size_t have; /* header bytes so far */
    struct str payload;
    bool complete; /* payload holds a whole message; the next feed starts a new one */
};
void wire_reader_free(struct wire_reader *reader);
/* 1: reader->payload is one message, *ret_used bytes were consumed (feed the rest again);
 * 0: all consumed, message not complete; <0: not an envelope stream, stop. */
int wire_reader_feed(struct wire_reader *reader, const char *bytes, size_t len, size_t *ret_used,
                     struct wire_error *error);
/* In the middle of an envelope? For "the stream ended early". */
bool wire_reader_is_partial(const struct wire_reader *reader);

/* Base64 in either alphabet, padded or not. */
bool wire_base64(struct str *out, const char *text, size_t len);
/* Connect-Timeout-Ms: 1 to 10 digits. false when malformed. */
bool wire_timeout(const char *text, int64_t *ret_ms);
/* Keepalive-Ping-Interval in ms; anything but a positive number of seconds gives the default. */
int64_t wire_keepalive_ms(const char *text);
#define WIRE_KEEPALIVE_MS 90000
/* User name of "Basic base64(user:password)"; false when malformed. */
bool wire_basic_user(const char *header, struct str *ret_user);
/* Media type equal to `type`, parameters and letter case aside. */
bool wire_is_type(const char *header, const char *type);

#endif
