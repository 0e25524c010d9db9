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
 *   - what has its usual value            left out; null where such a field really is absent:
 *       back-references that follow from the position, ids that count up ("1", "2"), the
 *       execution's task queue, workflow id and run ids, the identity of the event before, attempt
 *       1, a workflow task timeout of 10 s, the standard retry policy (1 s, x2, up to 100 s), an
 *       activity's schedule-to-start and start-to-close equal to its schedule-to-close
 *   - envelope fields                     under "$event", only when present
 *   - members that we do not know         under "$unknown"
 *
 * What "follows from the position" is computed by struct store_context, which encoder and decoder
 * advance event by event in the order of ids, so both see the same defaults. It is a plain value:
 * copy it before a transaction and put the copy back when the transaction rolls back.
 * Payloads that are sealed have that form, {"$payload":{"encoding":"binary/encrypted",...}}.
 * WORKFLOW_EXECUTION_SIGNALED, _CANCEL_REQUESTED, _TERMINATED and _TIMED_OUT have no defaults and
 * do not advance it, so a process that does not follow the run may write them with a fresh context.
 */
#ifndef HISTORY_STORE_H
#define HISTORY_STORE_H

#include "base/err.h"
#include "base/sealer.h"
#include "base/str.h"
#include "history/event.h"

#define STORE_NAME_BYTES 96 /* longer names simply have no default */

struct store_context {
    char task_queue[STORE_NAME_BYTES];
    char workflow_id[STORE_NAME_BYTES];
    char run_id[STORE_NAME_BYTES];
    char identity[STORE_NAME_BYTES]; /* of the worker that acted last */
    char timer_id[STORE_NAME_BYTES]; /* of the timer started last */
    int64_t task_scheduled;          /* event ids of the last workflow task */
    int64_t task_started;
    int64_t task_completed;
    int64_t activity_scheduled; /* of the last activity scheduled */
    int64_t activity_running;   /* scheduled id of the last activity started and not closed */
    int64_t activity_started;   /* its started id */
    int64_t activity_cancel;    /* of the last cancel request for an activity */
    int64_t activity_serial;    /* last activity id, when it is a number */
    int64_t timer_serial;       /* last timer id, when it is a number */
    int64_t timer_started;
    int64_t initiated;     /* last child or external request */
    int64_t child_running; /* initiated id of the last child started */
    int64_t child_started; /* its started id */
    int64_t accepted;      /* last update accepted */
    int64_t task_id;       /* of the event before */
    int64_t time_digits;   /* of an event before */
    const struct sealer
        *sealer;       /* payloads are sealed (sealing.h) when encoded; NULL: they are not */
    bool shows_sealed; /* of a decoder: what cannot be opened stays sealed, and is no error */
};

/* Before event 1. The names are those of the execution's row and of the engine (each may be NULL);
 * encoder and decoder must give the same. The sealer (NULL: none) seals, and opens what is sealed.
 */
void store_context_init(struct store_context *ctx, const struct sealer *sealer,
                        const char *task_queue, const char *identity, const char *workflow_id,
                        const char *run_id);

/* Append the stored form; appends nothing when it is SQL NULL. Advances ctx. */
void store_encode(struct store_context *ctx, const struct event *event, struct str *out);

/* The inverse. text may be NULL (SQL NULL). type is the column's number: 0 is EVENT_UNKNOWN, one
 * beyond EVENT_TYPE_MAX is an error (a newer program wrote it). Advances ctx unless it fails.
 * Memory from arena; text may go away. Errors (permanent: "BadStoredEvent", and those of sealing.h)
 * name event id and field. */
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
