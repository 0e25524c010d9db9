/*
 * redact_private.h - private to redact.c and redact_pattern.c: how the loop asks the patterns.
 *
 * A pattern looks at one position and answers at once; it never copies or stores anything.
 */
#ifndef BASE_REDACT_PRIVATE_H
#define BASE_REDACT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#define CONTEXT_BYTES 64 /* how far patterns may look back */

/* How a secret that has begun goes on. */
enum kind {
    KIND_NONE,
    KIND_WORD,    /* letters, digits, "_" and "-" */
    KIND_JWT,     /* the same and "." */
    KIND_BEARER,  /* the same and "~+/=" */
    KIND_VALUE,   /* an unquoted value of an assignment */
    KIND_SINGLE,  /* a value in single quotes */
    KIND_DOUBLE,  /* a value in double quotes */
    KIND_ESCAPED, /* a value in double quotes inside a string: \"...\" */
    KIND_PEM,     /* the inside of a private key block */
    KIND_PEM_END,
    KIND_FIXED, /* exactly match.length bytes */
};

struct text {
    const unsigned char *bytes; /* looking back to bytes[0] is allowed */
    size_t len;
    bool at_end; /* nothing will follow */
};

enum verdict { NO_MATCH, MATCH, NEED_MORE };

struct match {
    size_t visible; /* bytes to show before the secret begins */
    enum kind kind;
    size_t length; /* KIND_FIXED */
};

/* Bytes at which some pattern may begin are true. */
extern const bool pattern_begins_with[256];
enum verdict pattern_at(const struct text *t, size_t at, struct match *ret);
/* Does the secret of this kind go on at `at`? *kind may change. NEED_MORE: cannot tell yet. */
enum verdict pattern_continues(const struct text *t, size_t at, enum kind *kind, size_t swallowed);

#endif
