/*
 * sealed_text.h - a text that is sealed, as text: a JSON string "$sealed:KEYID:BASE64".
 *
 * Owns: that form, for columns of tables (so that SQL that takes such columns for JSON finds JSON).
 * Without a sealer a text stands as it is. Must not: know a cipher or a table. Pure.
 */
#ifndef BASE_SEALED_TEXT_H
#define BASE_SEALED_TEXT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sealer.h"
#include "base/str.h"

/* The stored form of text (NULL for NULL): sealed, or without a sealer the text itself. */
const char *sealed_text(const struct sealer *sealer, struct arena *arena, const char *text);
/* The same appended; text is not NULL. */
void sealed_put(const struct sealer *sealer, const char *text, struct str *out);
/* The inverse; text that is not sealed is handed on. <0: "UnknownSealingKey" (without a sealer
 * too), "BrokenSeal". */
int sealed_open(const struct sealer *sealer, struct arena *arena, const char *stored,
                const char **ret, struct err *err);
/* The id of the key when text is in the sealed form, in arena; else NULL (NULL fine). */
const char *sealed_key(struct arena *arena, const char *text);
/* May it be in that form, by its first byte? Cheap. */
static inline bool sealed_maybe(const char *text)
{
    return text && *text == '"';
}

#endif
