/*
 * store.h - the compact form of one event's attributes, as the journal keeps it.
 *
 * Owns: the format of the column event.attributes: JSON that reads well in the sqlite3 shell and
 * holds only what cannot be derived. The event's id, type and time are columns of their own.
 * Must not: know SQL. Readers accept every form that an earlier release wrote.
 *
 * The form, against Temporal's JSON (json.h):
 *   - nothing to say                      SQL NULL (an empty result)
 *   - a json/plain payload                its JSON value itself: "input":[{"name":"ada"}]
 *   - any other payload                   {"$payload":{"encoding":"binary/plain","text":"..."}},
 *                                         "data" (base64) when it is not UTF-8; "metadata" for more
 *   - header, memo, marker details        a plain object of payloads
 *   - {"name":"greet"} of types           "greet"; a normal task queue likewise
 *   - enumerations                        the name without its prefix
 *   - back-references that follow from the position, the usual task queue, identity, attempt 1
 *     and a 10 s workflow task timeout    left out; null where such a field really is absent
 *   - envelope fields                     under "$event", only when present
 *
 * What "follows from the position" is computed by struct store_context, which encoder and decoder
 * advance event by event in the order of ids, so both see the same defaults. It is a plain value:
 * copy it before a transaction and put the copy back when the transaction rolls back.
 */
#ifndef HISTORY_STORE_H
#define HISTORY_STORE_H

#include "base/err.h"
#include "base/str.h"
#include "history/event.h"

#define STORE_NAME_BYTES 96 /* longer names simply have no default */

struct store_context {
    char task_queue[STORE_NAME_BYTES];
    char identity[STORE_NAME_BYTES]; /* of the worker that acted last */
    char timer_id[STORE_NAME_BYTES]; /* of the timer started last */
    char workflow_id[STORE_NAME_BYTES];
    int64_t task_scheduled; /* event ids of the last workflow task */
    int64_t task_started;
    int64_t task_completed;
    int64_t activity_scheduled;   /* of the last activity scheduled */
    int64_t activity_started_for; /* of the last activity started: its scheduled id, */
    int64_t activity_started;     /* and its own */
    int64_t activity_serial;      /* last activity id, when it is a counter */
    int64_t timer_serial;
    int64_t timer_started;
    int64_t initiated; /* last child or external request */
    int64_t child_started_for;
    int64_t child_started;
    int64_t task_id;
};

/* At event 1. task_queue, identity and workflow_id are those of the execution's row and of the
 * engine (each may be NULL); encoder and decoder must give the same. */
void store_context_init(struct store_context *ctx, const char *task_queue, const char *identity,
                        const char *workflow_id);

/* Append the stored form; appends nothing when it is SQL NULL. Advances ctx. */
void store_encode(struct store_context *ctx, const struct event *event, struct str *out);

/* The inverse. text may be NULL (SQL NULL). type is the column's number; one that this program
 * does not know gives EVENT_UNKNOWN with everything kept. Advances ctx. Memory from arena; text may
 * go away. Errors (name "BadStoredEvent", permanent) name event id and field. */
int store_decode(struct store_context *ctx, struct arena *arena, int64_t id, int64_t type,
                 int64_t time_ns, const char *text, size_t len, struct event *ret_event,
                 struct err *err);

/* A failure alone, in the same form (for columns such as an activity's last failure). */
void store_failure_encode(const struct failure *failure, struct str *out);
int store_failure_decode(struct arena *arena, const char *text, size_t len,
                         struct failure **ret_failure, struct err *err);
/* Payloads alone (a result, heartbeat details): a JSON array; nothing for NULL. */
void store_payloads_encode(const struct payloads *payloads, struct str *out);
int store_payloads_decode(struct arena *arena, const char *text, size_t len,
                          struct payloads **ret_payloads, struct err *err);

#endif
