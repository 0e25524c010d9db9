/*
 * attributes.h - search attributes: JSON of people, typed payloads of histories.
 *
 * Owns: the form {"CustomerId":"c1","Amount":12,"Paid":true,"Tags":["a","b"],
 * "Due":{"type":"Datetime","value":"2026-01-02T03:04:05Z"}}: a text is a Keyword, a whole number an
 * Int, another number a Double, true and false are Bool, an array of texts is a KeywordList; any
 * type may be said ("Text", "Datetime", ...). Datetimes are kept in UTC with nine fraction digits.
 * A payload carries its type as the metadata entry "type", as Temporal's SDKs write it. null takes
 * an attribute away. Must not: index them.
 */
#ifndef HISTORY_ATTRIBUTES_H
#define HISTORY_ATTRIBUTES_H

#include "base/err.h"
#include "history/event.h"

#define ATTRIBUTES_BYTES_MAX (40 * 1024) /* of one run, as JSON: Temporal's limit; callers check   \
                                          */

/* 0 with the payloads (NULL for NULL); -1 (permanent, "BadAttributes"): which one is no attribute.
 */
int attributes_parse(struct arena *arena, const char *json, struct payload_map **ret,
                     struct err *err);
/* The inverse: JSON in which the type is said where the value does not show it. NULL when empty. */
const char *attributes_text(struct arena *arena, const struct payload_map *map);
/* "Keyword", "Int", "Double", "Bool", "KeywordList", "Datetime", "Text": as the payload says, or as
 * its value shows; NULL when it is none. */
const char *attribute_type(struct arena *arena, const struct payload *payload);
/* Those of old (JSON in the form above, or NULL) that fresh does not name, then those of fresh that
 * are not taken away. NULL when nothing is left. */
const char *attributes_merge(struct arena *arena, const char *old, const struct payload_map *fresh);

#endif
