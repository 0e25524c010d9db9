/*
 * mem.h - heap allocation that cannot fail.
 *
 * Owns: the house's malloc family and its reserve. Rule (docs/decisions/0002): the first allocation
 * that is refused gives the reserve back to the system and is tried again; from then on memory is
 * *short*, which whoever holds caches or admits new work asks for and acts on, until the reserve
 * could be filled again. Refused even so, it is a crash, and a crash at any instant is survived by
 * design: these print one line and _exit(70), and nobody checks their result. Thread-safe. Sizes
 * that come from outside are bounded by their reader BEFORE they reach this file.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#define MEM_EXHAUSTED_EXIT 70 /* EX_SOFTWARE of sysexits.h */
/* Twice what malloc maps at a time when the heap cannot grow: enough to finish a turn, shed what is
 * cached and say so. */
#define MEM_RESERVE_BYTES (2U * 1024 * 1024)

/* Make the reserve, or make it again. True: it is there. A program calls it once when it begins;
 * without a reserve memory is never short, and the first refusal is the end. */
bool mem_refill(void);
bool mem_is_short(void); /* the reserve was given up and not filled since */
/* A library was refused memory: give up the reserve, so that the next try may succeed. */
void mem_note_short(void);
/* A library's call that fails for want of memory alone, tried twice: evaluates `good` again. */
#define mem_retry(good) ((good) || (mem_note_short(), (good)))

/* What the others call when the system refuses: one line on standard error, _exit(70). */
void mem_exhausted(size_t bytes) __attribute__((noreturn, cold));

void *mem_alloc(size_t bytes);                    /* zeroed */
void *mem_array(size_t count, size_t bytes_each); /* zeroed; overflow is out-of-memory */
void *mem_grow(void *ptr, size_t bytes);          /* realloc; new bytes are not zeroed */
/* Make room for `need` elements in *arr (capacity in *cap, both updated). */
#define mem_reserve(arr, cap, need) ((arr) = mem_reserve_((arr), (cap), (need), sizeof(*(arr))))
void *mem_reserve_(void *arr, size_t *cap, size_t need, size_t bytes_each);
char *mem_strdup(const char *s);              /* NULL gives NULL */
char *mem_strndup(const char *s, size_t len); /* copies len bytes and adds a NUL */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
