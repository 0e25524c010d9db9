/*
 * token.h - the texts that name an attempt to dur_complete() on a server. Pure.
 *
 *     T<task token>.<ids>     of dur_activity_token(): this attempt
 *     I.<ids>                 of dur_activity_token_of(): the attempt that ran then
 *     <task token>            of another program's worker: Temporal's own, in base64
 *
 * Both parts are base64; ids is the JSON [workflow id, run id, activity id, attempt]. The ids are
 * there for what a task token alone cannot ask for: which attempt runs now, and the details that a
 * heartbeat without details should keep.
 * Must not: look into a task token; it is the server's.
 */
#ifndef TEMPORAL_TOKEN_H
#define TEMPORAL_TOKEN_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/arena.h"

struct token {
    ProtobufCBinaryData task_token; /* empty: by the ids alone */
    const char *workflow_id;        /* NULL, and attempt 0: not told */
    const char *run_id;
    const char *activity_id;
    int attempt;
};

const char *token_text(struct arena *arena, const struct token *token);
/* False: this is no such text. */
bool token_parse(struct arena *arena, const char *text, struct token *ret);

#endif
