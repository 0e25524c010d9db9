/*
 * binary.h - the blocks of a "GIT binary patch".
 *
 * Owns: literal N, zlib, base 85 in lines of at most 52 bytes. Pure functions, any thread.
 *     literal <size of the content>\n
 *     <length letter><base 85>\n ...
 *     \n
 */
#ifndef REPO_BINARY_H
#define REPO_BINARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

void binary_put(struct str *out, const void *bytes, size_t len);
/* Read one block at *p (before end), moving *p behind it. With ret the content is decoded into it,
 * without only the form is checked. false when malformed. */
bool binary_get(const char **p, const char *end, struct str *ret);

#endif
