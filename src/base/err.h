/*
 * err.h - the one error value of the house.
 *
 * Owns: struct err, its kinds, and the helpers that fill and wrap it.
 * Must not: print, log, or decide. Nothing anywhere decides by reading `text`; decisions read
 * `kind` and `name`.
 *
 * Convention for every function that takes a `struct err *err` (always the last parameter):
 *   returns  0   good, *err untouched
 *   returns <0   failed; *err is filled if err is not NULL; the code may be forwarded unchanged
 *   returns >0   an outcome that this one function documents; its caller handles it
 * err_set(), err_sys() and err_wrap() return -1 so that `return err_set(err, ...)` reads well.
 * Thread rule: a struct err belongs to one thread at a time; there is no global error state.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/attr.h"

enum err_kind {
    ERR_NONE = 0,
    ERR_PERMANENT, /* trying again cannot help: bad input, refused by policy, missing program */
    ERR_TRANSIENT, /* trying again may help: busy, timed out, connection refused, disk full */
    ERR_AMBIGUOUS, /* it may have happened: reconcile (look) before trying again */
    ERR_CANCELLED, /* somebody asked for the stop */
};

#define ERR_NAME_BYTES 48
#define ERR_TEXT_BYTES 1024

struct err {
    enum err_kind kind;
    int sys;                   /* errno where there was one, else 0 */
    char name[ERR_NAME_BYTES]; /* stable CamelCase word, e.g. "RevisionNotFound"; part of JSON */
    char text[ERR_TEXT_BYTES]; /* one line for people: what, which object, what to do. UTF-8 */
};

/* Fill *err (err may be NULL). Always returns -1. text is cut at the buffer, never overflows. */
int err_set(struct err *err, enum err_kind kind, const char *name, const char *fmt, ...)
    printf_like(4, 5);

/* Like err_set, with ": <description of errnum>" appended and kind derived from errnum:
 * EAGAIN EINTR EBUSY ENOSPC EDQUOT EMFILE ENFILE ENOMEM ETIMEDOUT ECONNREFUSED ECONNRESET EPIPE EIO
 * -> transient; ECANCELED -> cancelled; all others permanent. */
int err_sys(struct err *err, int errnum, const char *name, const char *fmt, ...) printf_like(4, 5);

enum err_kind err_sys_kind(int errnum); /* that kind alone */

/* Put "<prefix>: " in front of err->text; kind, name and sys stay. Always returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) printf_like(2, 3);

void err_clear(struct err *err);
const char *err_kind_name(enum err_kind kind); /* "permanent", "transient", ... ; never NULL */

#endif
