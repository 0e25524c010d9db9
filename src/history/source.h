/*
 * source.h - events of a history one after the other, whichever form it has.
 *
 * Owns: the forms and containers that are accepted (json.h, proto.h), and reading in memory that
 * does not grow with the number of events. Must not: judge the order of events.
 *
 *   struct history_source *source;
 *   if (history_source_open(&source, bytes, len, err) < 0) ...
 *   while ((rc = history_source_next(source, arena, &event, err)) == 0) ...
 *   history_source_free(source);
 *
 * The bytes must live as long as the source; events do not point into them. One thread.
 */
#ifndef HISTORY_SOURCE_H
#define HISTORY_SOURCE_H

#include "base/err.h"
#include "history/event.h"

#define HISTORY_BYTES_MAX (512U << 20) /* larger input is refused before anything is read */

struct history_source;

/* What is no history at all is refused here: err name "BadHistory" (permanent). */
int history_source_open(struct history_source **ret, const void *bytes, size_t len,
                        struct err *err);
struct history_source *history_source_free(struct history_source *source); /* NULL fine */
static inline void history_source_cleanup_(struct history_source **source)
{
    *source = history_source_free(*source);
}
#define autosource cleanup_with(history_source_cleanup_)

/* 0 with the next event in arena, 1 at the end, <0 with an error that names the event. */
int history_source_next(struct history_source *source, struct arena *arena, struct event *ret,
                        struct err *err);
bool history_source_is_proto(const struct history_source *source);
size_t history_source_index(const struct history_source *source); /* events given so far */
/* Members beside the events (struct history); NULL: none. Lives as long as the source. */
const char *history_source_unknown(const struct history_source *source);

/* All of it at once. One that is given newest first is turned round. */
int history_from_bytes(struct arena *arena, const void *bytes, size_t len,
                       struct history *ret_history, struct err *err);

#endif
