/*
 * tmpdir.h - a directory of its own for a unit test, under $TMPDIR (else /tmp).
 *
 * Owns: making it, and removing it when the test's process ends normally. A test that crashes
 * leaves its directory behind, for the reader of the report.
 */
#ifndef TESTS_UNIT_TMPDIR_H
#define TESTS_UNIT_TMPDIR_H

#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/fs.h"

static char tmpdir_path_[256];

is_unused static void tmpdir_remove_(void)
{
    fs_remove_tree(tmpdir_path_, NULL);
}

/* The directory's absolute path; the same one each time within a test. */
is_unused static const char *tmpdir(void)
{
    if (tmpdir_path_[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(tmpdir_path_, sizeof(tmpdir_path_), "%s/factory-test-XXXXXX",
                 base && base[0] ? base : "/tmp");
        if (!mkdtemp(tmpdir_path_)) {
            perror("mkdtemp");
            abort();
        }
        atexit(tmpdir_remove_);
    }
    return tmpdir_path_;
}

/* "<tmpdir>/name" in storage that lives until the process ends. */
is_unused static const char *tmpdir_file(const char *name)
{
    static char *kept[1024]; /* reachable, so that a leak checker has nothing to say */
    static size_t count;
    if (count == ARRAY_LEN(kept)) {
        abort();
    }
    return kept[count++] = fs_join(tmpdir(), name);
}

#endif
