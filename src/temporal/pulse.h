/*
 * pulse.h - heartbeats of attempts on a server: out when they should be, and what they bring back.
 *
 * Owns: when a heartbeat goes out, and the local deadline of an attempt. The first one at once;
 * then
 *   news (details that changed)     at most every min(80 % of the heartbeat time-out, 1 s), and by
 *                                   then even if the callback says nothing more: the newest win
 *   a sign of life without news     at most every min(80 % of the heartbeat time-out, 5 s)
 *   dur_heartbeat_sync()            at once
 * An attempt without a heartbeat time-out is asked for every 5 s whether or not it says anything:
 * that it should stop is told in answers to heartbeats only, and nobody takes such a heartbeat for
 * a sign of life. (Temporal's SDKs: 30 s, and none of its own; a store tells at once. Each is one
 * small call.) One with a time-out that falls silent is left to time out, and is told so.
 * Every heartbeat carries the newest details there are, those of the attempt before included: the
 * server keeps exactly what the last one said.
 *
 *   answer says         cancel reason     struct server_word
 *   cancel requested    "cancelled"       cancel_requested
 *   not found           "closed", or "timed out" when its time-outs have passed here    is_gone
 *   paused, reset       "stopping"        is_paused, is_reset
 *   (no answer)         none: sent again, for as long as it takes
 *   (deadline, silent for longer than the heartbeat time-out)  "timed out"
 * Threads: any. The senders are started as needed, so that one call that hangs holds up nobody.
 */
#ifndef TEMPORAL_PULSE_H
#define TEMPORAL_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "activity/attempt.h"
#include "temporal/answer.h"

#define PULSE_THREADS 8 /* heartbeats under way at once */

enum pulse_result {
    PULSE_TAKEN,
    PULSE_GONE,  /* the server does not know the attempt (any more) */
    PULSE_LATER, /* it was not reached, or did not take it */
};

struct beat;
struct pulse;

struct pulse_spec {
    /* One call, bounded by timeout_ms. details: JSON or NULL. */
    enum pulse_result (*send)(void *user, struct beat *beat, const char *details,
                              int64_t timeout_ms, struct server_word *ret);
    /* From another thread, perhaps before send has begun: send returns soon, with PULSE_LATER. */
    void (*give_up)(void *user, struct beat *beat);
    void *user;
};

/* An attempt's place in the pulse: the owner's, zeroed, and pulse's own from join to leave. */
struct beat {
    struct dur_activity *attempt; /* its host_data is this beat */
    void *owner;                  /* for send and give_up */
    struct server_word word;      /* read it after pulse_leave */
    /* under the pulse's mutex */
    struct pulse *pulse;
    struct beat *next, **link;
    int64_t due_ns;      /* of the next look at it; INT64_MAX: none */
    int64_t deadline_ns; /* of start-to-close; INT64_MAX: none, or told already */
    int64_t joined_ns;
    int64_t sent_ns;  /* when the last heartbeat that was taken went out; 0: none was */
    int64_t alive_ns; /* the sign of life that it told */
    int misses;       /* in a row */
    bool is_sending;
    bool again;     /* news came while it was sent */
    bool again_now; /* ... and somebody waits for it */
};

/* Monotonic arithmetic: how long after a heartbeat the next one may go out. */
int64_t pulse_interval_ns(int64_t heartbeat_ns, bool is_news);
/* After so many misses in a row, the next try. */
int64_t pulse_retry_ns(int64_t heartbeat_ns, int misses);
/* How long one call may take. */
int64_t pulse_timeout_ms(int64_t heartbeat_ns);

struct pulse *pulse_new(const struct pulse_spec *spec);
void pulse_join(struct pulse *pulse, struct beat *beat); /* the attempt begins */
/* The callback has returned: when this returns nothing is sent for it, and nothing will be. */
void pulse_leave(struct pulse *pulse, struct beat *beat);
/* The host of attempts whose host_data is a beat that has joined. */
extern const struct attempt_host pulse_host;
void pulse_end(struct pulse *pulse); /* after all have left; NULL fine */

#endif
