/*
 * arena.h - memory that lives and dies together (one run, one attempt, one request).
 *
 * Owns: block-wise bump allocation. Invariant: pointers stay valid until arena_reset/arena_free.
 * One thread at a time. When built with sanitizers (or FACTORY_ARENA_MALLOC=1) every item is its
 * own malloc so that overruns are seen.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct arena; /* opaque */

struct arena *arena_new(void); /* small: first block is 1 KiB, later ones grow to 64 KiB */
struct arena *arena_free(struct arena *arena); /* NULL fine; returns NULL */
static inline void arena_cleanup_(struct arena **arena)
{
    *arena = arena_free(*arena);
}
#define autoarena cleanup_with(arena_cleanup_)

void arena_reset(struct arena *arena); /* everything in it is gone; keeps at most 65 KiB */
void *arena_alloc(struct arena *arena, size_t bytes); /* zeroed, 16-byte aligned, never NULL */
void *arena_dup(struct arena *arena, const void *bytes, size_t len); /* adds a NUL behind */
char *arena_strdup(struct arena *arena, const char *s);              /* NULL gives NULL */
char *arena_strndup(struct arena *arena, const char *s, size_t len); /* exactly len bytes + NUL */
char *arena_printf(struct arena *arena, const char *fmt, ...) printf_like(2, 3);
char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap);
size_t arena_bytes(const struct arena *arena); /* total handed out, for limits and status */

#define arena_new_of(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_array_of(arena, type, count) ((type *)arena_array_((arena), (count), sizeof(type)))
void *arena_array_(struct arena *arena, size_t count, size_t bytes_each); /* overflow-checked */

#endif
