/*
 * fake_front.h - a gRPC server that answers as it is told: for what a real one never says.
 *
 * Owns: one server on a free port of 127.0.0.1 and its thread. A call is answered by the first
 * answer in line; the last one stays. Must not: know any message.
 */
#ifndef TESTS_FAKE_FRONT_H
#define TESTS_FAKE_FRONT_H

#include <stddef.h>

#include "base/str.h"

struct front_answer {
    int code; /* gRPC's */
    const char *message;
    const void *details; /* grpc-status-details-bin */
    size_t details_len;
    const void *body; /* of code 0 */
    size_t body_len;
    bool is_silent; /* none of this: the call hangs until its end */
};

#define FRONT_SEEN_MAX 32

struct front;
struct front *front_start(const struct front_answer *answers, size_t count);
/* The same with TLS; PEM. */
struct front *front_start_tls(const struct front_answer *answers, size_t count, const char *cert,
                              const char *key);
int front_port(const struct front *front);
void front_stop(struct front *front);
/* How many calls came, and what of the last one: "name=value" lines of its path and headers, and
 * whether its caller gave it up. */
int front_calls(struct front *front);
void front_seen(struct front *front, struct str *out);
bool front_was_cancelled(struct front *front);

#endif
