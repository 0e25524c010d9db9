/*
 * temp_path.h - a private temporary directory for one test.
 * Owns: its creation below $TMPDIR; the runner removes TMPDIR afterwards.
 */
#ifndef TESTS_TEMP_PATH_H
#define TESTS_TEMP_PATH_H

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static inline char *temp_path(const char *name)
{
    const char *base = getenv("TMPDIR");
    char *dir = mem_printf("%s/test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(dir)) {
        perror("mkdtemp");
        abort();
    }
    char *path = mem_printf("%s/%s", dir, name);
    free(dir);
    return path;
}

#endif
