/*
 * json.h - histories in Temporal's JSON form (proto3 JSON of temporal.api.history.v1.History).
 *
 * Owns: reading and printing of whole histories, single events and single failures.
 * Must not: judge the order of events (validate.h does) or cut anything short.
 *
 * Reading accepts {"events":[...]}, a bare array of events, {"history":{"events":[...]}} (members
 * beside "history" are dropped), an array of the former (batches of one history, in their order),
 * and events one after the other, as JSON lines are; 64-bit numbers as strings or numbers;
 * camelCase and snake_case keys; enumerations by their full name, by the old CamelCase name
 * without prefix, or by number; null as absent; base64 of both alphabets, padded or not; a payload
 * given as the value itself. Members and enumeration values that this program does not know are
 * kept and printed back. Text with a NUL character, numbers out of range, bad base64, bad times,
 * an event with two attribute members or with those of another type, more than 63 causes of a
 * failure and unknown members that nest deeper than 48 levels are errors; they name the event's
 * index and the field.
 *
 * Printing writes full enumeration names, 64-bit numbers as strings, times in UTC with 0, 3, 6 or 9
 * fraction digits (at least as many as were read), absent fields not at all, one event a line:
 *   {"events":[
 *   {"eventId":"1",...},
 *   {"eventId":"2",...}
 *   ]}
 */
#ifndef HISTORY_JSON_H
#define HISTORY_JSON_H

#include "base/err.h"
#include "base/str.h"
#include "history/event.h"

/* Parse into arena; text may go away afterwards. err name "BadHistory" (permanent). */
int history_from_json(struct arena *arena, const char *text, size_t len,
                      struct history *ret_history, struct err *err);
/* Append the whole history, with a newline at the end. */
void history_to_json(struct str *out, const struct history *history);
/* The same in pieces, for histories that are not in memory as a whole. */
void history_json_begin(struct str *out);
void history_json_event(struct str *out, const struct event *event, bool first);
void history_json_end(struct str *out, const char *unknown);

/* One event object. */
int event_from_json(struct arena *arena, const char *text, size_t len, struct event *ret_event,
                    struct err *err);
void event_to_json(struct str *out, const struct event *event);

/* One failure object: the form of columns and of "last failure" displays. */
int failure_from_json(struct arena *arena, const char *text, size_t len,
                      struct failure **ret_failure, struct err *err);
void failure_to_json(struct str *out, const struct failure *failure);
/* One payload, whatever its encoding: {"metadata":{...},"data":...}, both in base64. */
void payload_to_json(struct str *out, const struct payload *payload);

#endif
