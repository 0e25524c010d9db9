/*
 * history_files.h - the histories on disk that tests of history/ read.
 *
 * Owns: finding goldens in the source tree, and the collection of recorded histories, which is no
 * part of it: $FACTORY_HISTORIES, else ../shared/histories beside the source tree.
 */
#ifndef TESTS_UNIT_HISTORY_FILES_H
#define TESTS_UNIT_HISTORY_FILES_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"

static inline const char *source_dir(void)
{
    const char *dir = getenv("abs_top_srcdir");

    return dir && dir[0] ? dir : ".";
}

static inline char *collection_dir(void)
{
    const char *dir = getenv("FACTORY_HISTORIES");

    return dir && dir[0] ? mem_strdup(dir) : fs_join(source_dir(), "../shared/histories");
}

static inline void read_text(const char *dir, const char *name, struct str *text)
{
    autofree char *path = fs_join(dir, name);
    struct err err = {0};

    cr_assert_eq(fs_read_file(path, 64U << 20, text, &err), 0, "%s", err.text);
}

static inline void read_golden(const char *name, struct str *text)
{
    autofree char *dir = fs_join(source_dir(), "tests/golden");

    read_text(dir, name, text);
}

/* Call the function for the first tab-separated word of each line but the first. */
static inline void each_listed(const char *dir, const char *index,
                               void (*call)(const char *dir, char *line, void *user), void *user)
{
    autostr struct str text = {0};

    read_text(dir, index, &text);
    char *line = text.len > 0 ? text.ptr : NULL;
    for (bool first = true; line && *line; first = false) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        if (!first) {
            call(dir, line, user);
        }
        line = end ? end + 1 : NULL;
    }
}

#endif
