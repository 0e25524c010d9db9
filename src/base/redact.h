/*
 * redact.h - what must not reach disk, logs or terminals is replaced by "[REDACTED]".
 *
 * Owns: the process-wide registry of secret values, and the scanners for text that looks like a
 * secret. Two layers, in one pass from left to right:
 *   known     every registered value, wherever it stands; the longest one at a place wins
 *   patterns  bearer (and, in an Authorization header, basic and token) credentials; sk-, gh?_,
 *             github_pat_, glpat-, npm_, xox?-, AKIA/ASIA, AIza and Stripe keys; JWTs;
 * user:password@ in URLs (the host stays); NAME=value where NAME ends in password, passwd, token,
 * secret or key (the name stays); PEM private key blocks Linear in the text; matching keeps no more
 * than the longest secret (or 2 KiB) in memory. Scrubbing twice changes nothing. Must not be used
 * on a deliverable (a patch is flagged, never edited: use redact_finds()). Thread-safe; a struct
 * redact_stream belongs to one thread.
 */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/str.h"

#define REDACT_MASK "[REDACTED]"
#define REDACT_SECRET_MIN 6      /* shorter values occur in ordinary text */
#define REDACT_SECRET_MAX 65536U /* longer values are registered in pieces of this size */

/* Remember a value until the process ends. White space around it does not count; its form as JSON
 * string content is registered too. false: shorter than REDACT_SECRET_MIN, nothing registered. */
bool redact_register(const char *secret, size_t len);
/* The value of an environment variable; false also when it is not set. */
bool redact_register_env(const char *name);
/* For tests: forget every registered value. */
void redact_forget_all(void);

/* Scrub in place; the form that log_set_redactor() and json_put_edited() take. */
void redact_str(struct str *s);
/* Append the scrubbed text to *out; returns how many places were replaced. */
size_t redact_append(struct str *out, const void *bytes, size_t len);
enum redact_layers { REDACT_KNOWN = 1, REDACT_PATTERNS = 2, REDACT_ALL = 3 };
/* How many places would be replaced by these layers. */
size_t redact_finds(const void *bytes, size_t len, enum redact_layers layers);
/* Print a parsed value as JSON with every string value scrubbed (decoded, so escapes hide nothing).
 */
void redact_json(struct str *out, const struct json *value, int indent);

/* The streaming form: whatever the cuts between pieces, the sum of the output is that of
 * redact_append() on the whole text. What may be the beginning of a secret is held back until the
 * next piece decides. Start with a zeroed struct. */
struct redact_stream {
    struct str held;   /* some text already given out, for looking back, then what is held back */
    size_t context;    /* length of that first part */
    size_t cover;      /* up to here, counted from the start of held, everything is secret */
    size_t arm_at;     /* where the value behind a visible name begins; 0: nowhere */
    size_t arm_length; /* its length where that is known */
    int arm_kind;      /* and what kind of value it is */
    int swallow_kind;  /* what is being swallowed right now; 0: nothing */
    size_t swallowed;  /* bytes of it so far */
    bool masked;       /* the byte before was secret: no second mask */
    size_t hits;
};
void redact_stream_feed(struct redact_stream *stream, const void *bytes, size_t len,
                        struct str *out);
/* The rest. The stream is then as new. Returns how many places were replaced in all. */
size_t redact_stream_end(struct redact_stream *stream, struct str *out);
void redact_stream_free(struct redact_stream *stream);

#endif
