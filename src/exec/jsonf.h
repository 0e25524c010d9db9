/*
 * jsonf.h - the JSON formatter and look-ups of durable.h, for contexts and activities alike.
 *
 * Owns: the directives %q %j %d %i64 %b %% (durable.h documents them). Must not: know runs.
 */
#ifndef EXEC_JSONF_H
#define EXEC_JSONF_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

/* Appends. An unknown directive is printed as it stands (its argument is not consumed). */
void jsonf_add(struct str *out, const char *fmt, va_list ap);
/* The value at an RFC 6901 pointer; NULL when json is NULL or not JSON, or nothing is there. */
const struct json *jsonf_look(struct arena *arena, const char *json, const char *pointer);
/* A string's text in arena; NULL when absent, no string, or holding a NUL. */
const char *jsonf_string(struct arena *arena, const char *json, const char *pointer);

#endif
