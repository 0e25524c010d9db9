/*
 * map.h - maps of JSON payloads (memo, search attributes, headers) as the JSON objects of people.
 *
 * Owns: the conversion both ways and the merge rule: a key set to null is taken away.
 * Must not: know which map it is.
 */
#ifndef HISTORY_MAP_H
#define HISTORY_MAP_H

#include "history/event.h"

/* {"key":value,...}; a payload that is not JSON shows as null. NULL when the map is empty or NULL.
 */
const char *map_text(struct arena *arena, const struct payload_map *map);
/* The inverse: values become json/plain payloads, null an empty binary/null one. NULL for NULL and
 * for what is no JSON object. */
struct payload_map *map_parse(struct arena *arena, const char *json);
/* The first half of a merge: those members of old (a JSON object or NULL) that fresh does not name,
 * into the object that is being written. How many. */
struct json_out;
size_t map_keep(struct json_out *w, struct arena *arena, const char *old,
                const struct payload_map *fresh);
/* Keys of old (an object or NULL) that fresh does not name, then those of fresh that are not null.
 */
const char *map_merge(struct arena *arena, const char *old, const struct payload_map *fresh);

#endif
