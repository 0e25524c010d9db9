/*
 * name.h - path names: which are well-formed, which git takes, and how they are quoted.
 *
 * Owns: the rules of git's verify_path as they are on Linux with default settings (core.protectNTFS
 * on, core.protectHFS off). Pure functions, any thread.
 */
#ifndef REPO_NAME_H
#define REPO_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define NAME_MAX_BYTES 4095
#define NAME_PART_MAX_BYTES 255
#define NAME_MAX_DEPTH 1024

#define MODE_FILE 0100644u
#define MODE_EXEC 0100755u
#define MODE_LINK 0120000u
#define MODE_TREE 0040000u
#define MODE_GITLINK 0160000u

/* NULL when path is relative, without "", "." and ".." components and within the limits above; else
 * what is wrong, as words that follow a name. */
const char *name_fault(const char *path);
/* A component equals ".git" in any case of letters. */
bool name_has_git(const char *path);
/* git would put an entry of this path and mode into an index (given no name_fault). */
bool name_is_portable(const char *path, uint32_t mode);

/* git's C-style quoting when needed, else the bytes themselves. With prefix ("a/", "" ...) in
 * front, inside the quotes. */
void name_quote(struct str *out, const char *prefix, const char *path);
/* For messages: quoted, cut at 200 bytes. Returns out's text. */
const char *name_show(struct str *out, const char *path);
/* Undo name_quote: reads one name at *text, sets *text behind it; false when malformed. A name that
 * is not quoted ends at the first byte of `stops`. */
bool name_unquote(const char **text, const char *end, const char *stops, struct str *out);

#endif
