/*
 * attr.h - compiler attributes and the cleanup idiom, under one spelling each.
 *
 * Owns: the attribute macros used everywhere. Must not: hold code that does work.
 * Rule: a local that owns something carries `autofree`, `autoclose` or the type's own
 * cleanup(...) tag; ownership leaves through `steal(&p)`.
 */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#include <stddef.h>
#include <stdlib.h>

#define printf_like(fmt, first) __attribute__((format(printf, fmt, first)))
#define must_check __attribute__((warn_unused_result))
#define no_return __attribute__((noreturn))
#define is_unused __attribute__((unused))
#define is_cold __attribute__((cold))
#define fall_through __attribute__((fallthrough))
#define cleanup_with(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* steal(&p): returns p and leaves NULL behind, so that the cleanup tag finds nothing. */
#define steal(pp)                                                                                  \
    __extension__({                                                                                \
        __typeof__(*(pp)) stolen_ = *(pp);                                                         \
        *(pp) = NULL;                                                                              \
        stolen_;                                                                                   \
    })

/* autofree: free() at scope exit. autoclose: close() at scope exit when the descriptor is >= 0. */
static inline void attr_free_(void *p)
{
    free(*(void **)p);
}
void attr_close_(int *fd); /* base/fs.c */

#define autofree cleanup_with(attr_free_)
#define autoclose cleanup_with(attr_close_)

#endif
