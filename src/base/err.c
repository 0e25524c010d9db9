/*
 * err.c - see err.h. Owns the filling of struct err; touches no other state.
 * Tests: tests/unit/test_base_err.c
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* One line of whole characters: what came from outside may hold anything. */
static void tidy(char *text)
{
    size_t len = strlen(text);
    if (len == ERR_TEXT_BYTES - 1) { /* perhaps cut in the middle of a character */
        size_t last = len;
        while (last > 0 && len - last < 4 && ((unsigned char)text[last - 1] & 0xc0) == 0x80) {
            last--;
        }
        if (last > 0 && (unsigned char)text[last - 1] >= 0xc0 &&
            utf8_char(text + last - 1, len - last + 1) == 0) {
            text[last - 1] = '\0';
        }
    }
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            *at = ' ';
        }
    }
}

printf_like(4, 0) static void fill(struct err *err, enum err_kind kind, const char *name,
                                   const char *fmt, va_list ap)
{
    char text[ERR_TEXT_BYTES]; /* the arguments may point into *err itself */
    vsnprintf(text, sizeof(text), fmt, ap);
    str_copy(err->name, sizeof(err->name), name ? name : "Error");
    err->kind = kind;
    err->sys = 0;
    tidy(text);
    memcpy(err->text, text, sizeof(text));
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

enum err_kind err_sys_kind(int errnum)
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
    case EIO:
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
    fill(err, err_sys_kind(errnum), name, fmt, ap);
    va_end(ap);
    err->sys = errnum;
    size_t used = strlen(err->text);
    const char *what = strerrordesc_np(errnum);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", what ? what : "unknown error");
    tidy(err->text);
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err) {
        return -1;
    }
    char prefix[ERR_TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, ap);
    va_end(ap);
    size_t len = strlen(prefix);
    if (len + 2 < sizeof(err->text)) { /* move the old text up in place, cutting its end */
        size_t room = sizeof(err->text) - len - 3;
        size_t keep = strnlen(err->text, room);
        memmove(err->text + len + 2, err->text, keep);
        err->text[len + 2 + keep] = '\0';
        memcpy(err->text + len, ": ", 2);
    } else {
        err->text[len] = '\0';
    }
    memcpy(err->text, prefix, len);
    tidy(err->text);
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
