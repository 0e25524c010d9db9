/*
 * report.h - what the server is told about one attempt of an activity.
 *
 * Owns: the calls, by task token and by id. Values are sealed by the connection's keyring
 * (value.h). Must not: decide what to tell (answer.h), or when. Threads: any.
 */
#ifndef TEMPORAL_REPORT_H
#define TEMPORAL_REPORT_H

#include "temporal/answer.h"
#include "temporal/rpc.h"
#include "temporal/value.h"

/* Which attempt: by the token of its task, or else whichever runs of that activity. */
struct report_target {
    ProtobufCBinaryData task_token; /* empty: by the ids */
    const char *workflow_id;
    const char *run_id;
    const char *activity_id;
};

struct report_way {
    int kind;           /* of struct rpc */
    int64_t timeout_ms; /* 0: an ordinary call's */
    struct rpc_cancel *cancel;
};

/* rpc_send's codes. kind is not ANSWER_NONE. details: JSON of the last heartbeat that the server
 * has not seen, told along with a failure; NULL: none. */
int report_answer(struct remote *remote, const struct report_target *target,
                  const struct report_way *way, const struct answer *answer, const char *details,
                  struct err *err);
/* A heartbeat. details as they shall be from now on: JSON or NULL for none. */
int report_beat(struct remote *remote, const struct report_target *target,
                const struct report_way *way, const char *details, struct server_word *ret,
                struct rpc_failure *ret_failure, struct err *err);
/* The same with the payloads that the server itself showed. */
int report_beat_raw(struct remote *remote, const struct report_target *target,
                    const struct report_way *way, ProtobufCBinaryData details,
                    struct server_word *ret, struct rpc_failure *ret_failure, struct err *err);

#endif
