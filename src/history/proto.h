/*
 * proto.h - histories in protobuf's binary form (temporal.api.history.v1.History).
 *
 * Owns: reading and printing of whole histories and single events, and telling the two forms apart.
 * Must not: judge the order of events (validate.h does) or cut anything short.
 *
 * The binary form is carried over the JSON one (json.h), an event at a time, so that both have one
 * meaning: wire.h's tables give each field its number. What a message holds beyond them is kept:
 *  - fields that this program does not know become the member "$protobuf" (base64 of the bytes
 *    as they came) of the JSON form and go back to the wire unchanged;
 *  - members of a JSON history that the protocol has no field for (older servers and tools wrote
 *    such) are field 64999 of their message, JSON text; other readers skip it.
 * So JSON -> binary -> JSON and binary -> JSON -> binary lose nothing, but for how many zeros were
 * printed behind a second's fraction.
 *
 * Accepted like any protobuf reader does: fields in any order, messages in several pieces, lists
 * packed or not, of a scalar given twice the last. Refused with an error (permanent, name
 * "BadHistory") that names event and field: bytes that end early, text that is not UTF-8, times and
 * durations out of protobuf's range, messages that nest deeper than 100.
 */
#ifndef HISTORY_PROTO_H
#define HISTORY_PROTO_H

#include "base/err.h"
#include "base/str.h"
#include "history/event.h"

/* Parse into arena; bytes may go away afterwards. */
int history_from_proto(struct arena *arena, const void *bytes, size_t len,
                       struct history *ret_history, struct err *err);
/* Append the whole history. The pieces of the two calls below make the same bytes. */
void history_to_proto(struct str *out, const struct history *history);
void event_to_proto(struct str *out, const struct event *event);     /* as an element of History */
void history_unknown_to_proto(struct str *out, const char *unknown); /* history.unknown or NULL */

/* One HistoryEvent message. */
int event_from_proto(struct arena *arena, const void *bytes, size_t len, struct event *ret_event,
                     struct err *err);

/* Reading piece by piece, for source.c: what there is beside the events (as unknown members, JSON
 * text), and one event after the other. */
struct proto_decoder;
struct proto_decoder *proto_decoder_new(void);
struct proto_decoder *proto_decoder_free(struct proto_decoder *decoder); /* NULL fine */
int proto_survey(const void *bytes, size_t len, struct str *ret_unknown, struct err *err);
int proto_decode(struct proto_decoder *decoder, struct arena *arena, const void *bytes, size_t len,
                 struct event *ret_event, struct err *err);

/* Does this look like the binary form? Text has no control characters but white space; an event
 * always has some near its beginning. */
bool bytes_are_proto(const void *bytes, size_t len);

#endif
