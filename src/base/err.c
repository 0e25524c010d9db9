/*
 * err.c - see err.h. Owns the filling of struct err; touches no other state.
 * Tests: tests/unit/test_base_err.c
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

printf_like(4, 0) static void fill(struct err *err, enum err_kind kind, const char *name,
                                   const char *fmt, va_list ap)
{
    err->kind = kind;
    err->sys = 0;
    snprintf(err->name, sizeof(err->name), "%s", name ? name : "Error");
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

int err_set(struct err *err, enum err_kind kind, const char *name, const char *fmt, ...)
{
    if (!err) {
        return -1;
    }
    va_list ap;
    va_start(ap, fmt);
    fill(err, kind, name, fmt, ap);
    va_end(ap);
    return -1;
}

static enum err_kind kind_of(int errnum)
{
    switch (errnum) {
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ETIMEDOUT:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
        return ERR_TRANSIENT;
    case ECANCELED:
        return ERR_CANCELLED;
    default:
        return ERR_PERMANENT;
    }
}

int err_sys(struct err *err, int errnum, const char *name, const char *fmt, ...)
{
    if (!err) {
        return -1;
    }
    va_list ap;
    va_start(ap, fmt);
    fill(err, kind_of(errnum), name, fmt, ap);
    va_end(ap);
    err->sys = errnum;
    size_t used = strlen(err->text);
    const char *what = strerrordesc_np(errnum);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", what ? what : "unknown error");
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err) {
        return -1;
    }
    char prefix[ERR_TEXT_BYTES];
    char whole[ERR_TEXT_BYTES * 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, ap);
    va_end(ap);
    snprintf(whole, sizeof(whole), "%s: %s", prefix, err->text);
    snprintf(err->text, sizeof(err->text), "%.*s", ERR_TEXT_BYTES - 1, whole);
    return -1;
}

void err_clear(struct err *err)
{
    if (err) {
        memset(err, 0, sizeof(*err));
    }
}

const char *err_kind_name(enum err_kind kind)
{
    switch (kind) {
    case ERR_NONE:
        return "none";
    case ERR_PERMANENT:
        return "permanent";
    case ERR_TRANSIENT:
        return "transient";
    case ERR_AMBIGUOUS:
        return "ambiguous";
    case ERR_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}
