/*
 * sealing.h - what people wrote, out of and back into sight: payloads and failures under a key.
 *
 * Owns: which parts of an event are sealed, and the sealed form, both as the codecs and failure
 * converters of Temporal's SDKs have them, so that other workers and tools with the same keys read
 * what is written here, and the other way round:
 *   - every payload (inputs, results, details, marker details, heartbeat details, memo values,
 *     summaries for people) becomes {metadata: {encoding: "binary/encrypted",
 *     "encryption-key-id": ID}, data: the sealed bytes of the protobuf message Payload};
 *   - of every failure, message and stack trace go into encoded_attributes, a payload
 *     {"message":..,"stack_trace":..} that is sealed too; the message then reads "Encoded failure".
 *     So do those of its causes. The type stays readable: retry policies name it;
 *   - headers and search attributes never: others than workers have to read them. Ids, types,
 *     names, times, and what people give as a reason or cause stay as they are.
 *
 *     ret = event_seal(sealer, arena, event)      before it is stored or sent
 *     event_open(sealer, arena, event, &ret, err) after it was read
 *
 * What is sealed already stays so, and what is not sealed is handed on by the open calls: a history
 * may have begun before the key. Without a sealer (NULL) everything stays as it is, at no cost.
 * The walk follows event_list.h's tables, so no field can be forgotten. Of events and members that
 * this program does not know, nothing is sealed: it cannot tell what in them is a payload.
 *
 * Nothing that is given is changed: results share what is unchanged with it, the rest is in the
 * arena. NULL gives NULL. Opening fails with the sealer's "UnknownSealingKey" or "BrokenSeal", or
 * with "BadHistory" when something else was sealed than it says; err names the place.
 * Pure, as the room is: what a sealer draws by chance is never seen by a workflow.
 * Threads: any.
 */
#ifndef HISTORY_SEALING_H
#define HISTORY_SEALING_H

#include "base/sealer.h"
#include "history/event.h"

#define SEALED_ENCODING "binary/encrypted"
#define SEALED_KEY_ID "encryption-key-id"
#define SEALED_FAILURE "Encoded failure"

struct event event_seal(const struct sealer *sealer, struct arena *arena,
                        const struct event *event);
int event_open(const struct sealer *sealer, struct arena *arena, const struct event *event,
               struct event *ret, struct err *err);

/* --- values alone --- */
struct payload *payload_seal(const struct sealer *sealer, struct arena *arena,
                             const struct payload *payload);
int payload_open(const struct sealer *sealer, struct arena *arena, const struct payload *payload,
                 struct payload **ret, struct err *err);
struct payloads *payloads_seal(const struct sealer *sealer, struct arena *arena,
                               const struct payloads *payloads);
int payloads_open(const struct sealer *sealer, struct arena *arena, const struct payloads *payloads,
                  struct payloads **ret, struct err *err);
/* A memo. (Headers and search attributes are not to be given.) */
struct payload_map *memo_seal(const struct sealer *sealer, struct arena *arena,
                              const struct payload_map *memo);
int memo_open(const struct sealer *sealer, struct arena *arena, const struct payload_map *memo,
              struct payload_map **ret, struct err *err);
struct failure *failure_seal(const struct sealer *sealer, struct arena *arena,
                             const struct failure *failure);
int failure_open(const struct sealer *sealer, struct arena *arena, const struct failure *failure,
                 struct failure **ret, struct err *err);
/* {"summary":PAYLOAD,"details":PAYLOAD} as JSON text, the form of event.user_metadata. */
const char *user_metadata_seal(const struct sealer *sealer, struct arena *arena, const char *json);
int user_metadata_open(const struct sealer *sealer, struct arena *arena, const char *json,
                       const char **ret, struct err *err);

/* Is it in the sealed form? Then *ret_key_id (may be NULL) is the key's id. */
bool payload_is_sealed(const struct payload *payload, const char **ret_key_id);

#endif
