/*
 * fs.c - see fs.h.
 * Tests: tests/unit/test_base_fs.c
 */
#include "base/fs.h"

#include <errno.h>
#include <unistd.h>

void attr_close_(int *fd)
{
    if (*fd >= 0) {
        int saved_errno = errno;
        close(*fd);
        errno = saved_errno;
    }
}
