/*
 * mem.c - see mem.h. Owns the one place where the program gives up for want of memory.
 * Must not: allocate while reporting. Thread-safe (so is malloc).
 * Tests: tests/unit/test_base_mem.c
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    int len = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (len < 0) {
        mem_exhausted(0);
    }
    return text;
}
