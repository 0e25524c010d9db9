/*
 * value.h - what durable.h's texts are in a server's messages, and back.
 *
 * Owns: JSON texts and history's structs <-> the `bytes` members of service.proto, ids ("ID@RUN"),
 * times, names of task queues. Every payload that leaves here goes through the connection's keyring
 * when it has one, every one that comes back too, as history/sealing.h says.
 * What comes back as no JSON (other programs may write any bytes) is told as Temporal's JSON form
 * of a payload: {"metadata":{"encoding":...},"data":...}.
 * Must not: call the server.
 * Memory: everything made is in the arena given; a ProtobufCBinaryData of it may be put into a
 * request as it is, and such a request is not freed by protobuf-c. Absent (NULL) is no bytes.
 * Errors are permanent, "BadHistory" or the keyring's: value_code() gives durable.h's code.
 * Threads: any.
 */
#ifndef TEMPORAL_VALUE_H
#define TEMPORAL_VALUE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "durable.h"
#include "history/event.h"
#include "temporal/proto/service.pb-c.h"

struct remote;

/* --- going out ------------------------------------------------------------------------------- */

ProtobufCBinaryData value_json(struct remote *remote, struct arena *arena, const char *json);
ProtobufCBinaryData value_payloads(struct remote *remote, struct arena *arena,
                                   const struct payloads *payloads);
ProtobufCBinaryData value_failure(struct remote *remote, struct arena *arena,
                                  const struct failure *failure);
ProtobufCBinaryData value_memo(struct remote *remote, struct arena *arena,
                               const struct payload_map *memo);
ProtobufCBinaryData value_attributes(struct arena *arena, const struct payload_map *attributes);
ProtobufCBinaryData value_header(struct arena *arena, const struct payload_map *header);
ProtobufCBinaryData value_retry(struct arena *arena, const struct retry_policy *policy);
ProtobufCBinaryData value_user_metadata(struct remote *remote, struct arena *arena,
                                        const char *json);

/* --- coming in: 0, or <0 with err ------------------------------------------------------------ */

int value_read_payloads(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                        struct payloads **ret, struct err *err);
/* The JSON text of the first payload; NULL when there is none. */
int value_read_json(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                    const char **ret, struct err *err);
/* A JSON object; what a server notes there by itself (BuildIds ...) is left out. */
int value_read_attributes(struct arena *arena, ProtobufCBinaryData bytes, const char **ret,
                          struct err *err);
/* A History: whole, or the part of one that a page or a sticky task has; no bytes: no events. */
int value_read_history(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                       struct history *ret, struct err *err);

/* For people: what is sealed with a key that is not there stays so, and is told as such:
 * {"$sealed":"(sealed with the key ID)"}. */
int value_show_history(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                       struct history *ret, struct err *err);
int value_show_failure(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                       struct failure **ret, struct err *err);
/* A JSON object, "{}" for none. */
int value_show_memo(struct remote *remote, struct arena *arena, ProtobufCBinaryData bytes,
                    const char **ret, struct err *err);
int value_code(const struct err *err); /* of a failed value_read_*: DUR_INVALID, DUR_IO */

/* --- of structs that are opened already ------------------------------------------------------- */

/* The key's id when the first payload is sealed still; else NULL. */
const char *value_sealed(const struct payloads *payloads);
/* The first payload as JSON, or in Temporal's form when it is none; NULL: there is no payload. */
const char *value_text(struct arena *arena, const struct payloads *payloads);
const char *value_failure_json(struct arena *arena, const struct failure *failure); /* NULL fine */
const char *value_failure_line(struct arena *arena, const struct failure *failure); /* "" */

/* --- small things ------------------------------------------------------------------------------
 */

char *value_chars(const char *text); /* for protobuf-c's members, which are not const; NULL: "" */
int64_t value_ns(const Pb__Timestamp *time);         /* since 1970; NULL or none: 0 */
int64_t value_span_ns(const Pb__Duration *duration); /* NULL: 0; too long: INT64_MAX */
/* NULL (absent) for 0. */
Pb__Duration *value_duration(struct arena *arena, int64_t ns);
/* "ID" or "ID@RUN": what stands behind the last @ counts as a run when it has the form of a UUID,
 * as every run id of a server has. */
Pb__WorkflowExecution *value_execution(struct arena *arena, const char *id);
/* The server's name of a task queue (remote_queue_name), NULL: of "default"; and the message. */
const char *value_queue(const struct remote *remote, struct arena *arena, const char *name);
Pb__TaskQueue *value_task_queue(const struct remote *remote, struct arena *arena, const char *name);

#endif
