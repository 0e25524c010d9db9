/*
 * config_value.h - one value's text into its place, by the type that the key table gives.
 * Owns: the value grammar (durations, JSON lists and maps, ranges). Errors say what was expected
 * and what was found. Must not: know which key it is.
 */
#ifndef FACTORY_CONFIG_VALUE_H
#define FACTORY_CONFIG_VALUE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "factory/config_keys.h"

/* target: const char ** (STR, WORD, TEXT), bool *, int64_t * (DUR in ms, INT), const char *const **
 * (LIST; MAP as pairs). A WORD whose target is a bool takes the last of its words as true. false:
 * *why gets what was expected, what was found and perhaps, in a second line, what to write. */
bool config_value_set(struct arena *arena, const struct config_key *key, const char *value,
                      void *target, struct str *why);
bool config_env_name_is_good(const char *name); /* [A-Za-z_][A-Za-z0-9_]* */

#endif
