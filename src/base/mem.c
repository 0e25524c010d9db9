/*
 * mem.c - see mem.h. Owns the reserve, and the one place where the program gives up for want of
 * memory.
 *
 *   refused --> the reserve goes back to the system --> asked again --> there: short, go on
 *                                                                  '--> refused: _exit(70)
 *
 * The reserve is a mapping of its own, never touched, so that it costs address space and the
 * kernel's promise but no pages; unmapping it makes room for whoever asks, malloc or a thread's
 * stack. Must not: allocate while reporting. Thread-safe: whoever takes the pointer out unmaps it;
 * every thread that was refused asks once more, since the room may be another one's doing.
 * Tests: tests/unit/test_base_mem.c
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *_Atomic reserve;   /* MEM_RESERVE_BYTES, or NULL */
static atomic_bool has_reserve; /* one was made once, so that its absence means something */

bool mem_is_short(void)
{
    return atomic_load(&has_reserve) && !atomic_load(&reserve);
}

void mem_note_short(void)
{
    void *block = atomic_exchange(&reserve, NULL);
    if (block) {
        munmap(block, MEM_RESERVE_BYTES);
    }
}

bool mem_refill(void)
{
    if (atomic_load(&reserve)) {
        return true;
    }
    void *block =
        mmap(NULL, MEM_RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_store(&has_reserve, true);
    if (block == MAP_FAILED) {
        return false;
    }
    void *none = NULL;
    if (!atomic_compare_exchange_strong(&reserve, &none, block)) {
        munmap(block, MEM_RESERVE_BYTES);
    }
    return true;
}

void mem_exhausted(size_t bytes)
{
    char line[96];
    int len = snprintf(line, sizeof(line), "factory: out of memory (%zu bytes asked)\n", bytes);
    if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0) {
        /* nobody is left to tell */
    }
    _exit(MEM_EXHAUSTED_EXIT);
}

void *mem_alloc(size_t bytes)
{
    void *ptr = calloc(1, bytes ? bytes : 1);
    if (!ptr) {
        mem_note_short();
        ptr = calloc(1, bytes ? bytes : 1);
    }
    if (!ptr) {
        mem_exhausted(bytes);
    }
    return ptr;
}

void *mem_array(size_t count, size_t bytes_each)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, bytes_each, &bytes)) {
        mem_exhausted(SIZE_MAX);
    }
    return mem_alloc(bytes);
}

void *mem_grow(void *ptr, size_t bytes)
{
    void *bigger = realloc(ptr, bytes ? bytes : 1);
    if (!bigger) {
        mem_note_short();
        bigger = realloc(ptr, bytes ? bytes : 1);
    }
    if (!bigger) {
        mem_exhausted(bytes);
    }
    return bigger;
}

void *mem_reserve_(void *arr, size_t *cap, size_t need, size_t bytes_each)
{
    if (need <= *cap) {
        return arr;
    }
    size_t grown = *cap + *cap / 2;
    if (grown < need) {
        grown = need;
    }
    if (grown < 8) {
        grown = 8;
    }
    size_t bytes = 0;
    if (__builtin_mul_overflow(grown, bytes_each, &bytes)) {
        mem_exhausted(SIZE_MAX);
    }
    arr = mem_grow(arr, bytes);
    *cap = grown;
    return arr;
}

char *mem_strdup(const char *s)
{
    return s ? mem_strndup(s, strlen(s)) : NULL;
}

char *mem_strndup(const char *s, size_t len)
{
    if (len == SIZE_MAX) {
        mem_exhausted(len);
    }
    char *copy = mem_grow(NULL, len + 1);
    if (len > 0) {
        memcpy(copy, s, len);
    }
    copy[len] = '\0';
    return copy;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char *text = NULL;
    int len = vasprintf(&text, fmt, ap);
    if (len < 0) {
        mem_note_short();
        len = vasprintf(&text, fmt, again);
    }
    va_end(again);
    va_end(ap);
    if (len < 0) {
        mem_exhausted(0);
    }
    return text;
}
