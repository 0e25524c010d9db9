/*
 * cancel.h - ending calls to the server from another thread.
 *
 * Owns: struct rpc_cancel: a switch that calls watch while they are under way. One switch may be
 * watched by any number of calls; once it is thrown, those end at once (the server hears of it) and
 * later ones do not begin.
 * Must not: know what a call is made of.
 * Threads: any, at any time between init and free.
 */
#ifndef TEMPORAL_CANCEL_H
#define TEMPORAL_CANCEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* One call under way, as the switch sees it: in the frame of who makes the call. */
struct rpc_flight {
    struct rpc_flight *next;
    struct rpc_flight **link; /* what points here */
    void (*end)(void *call);  /* under the switch's lock: quick, and calls nothing here */
    void *call;
};

struct rpc_cancel {
    pthread_mutex_t mutex;
    pthread_cond_t thrown;
    struct rpc_flight *flights;
    bool is_cancelled;
};

void rpc_cancel_init(struct rpc_cancel *cancel);
void rpc_cancel_free(struct rpc_cancel *cancel); /* nobody watches it any more */
void rpc_cancel(struct rpc_cancel *cancel);      /* any thread; the server hears of it at once */
bool rpc_is_cancelled(struct rpc_cancel *cancel);
/* Sleeps for so long, or until it is thrown: true. */
bool rpc_cancel_wait(struct rpc_cancel *cancel, int64_t ms);

/* From now on rpc_cancel() calls flight->end(flight->call). False: it was thrown already, and the
 * flight is not watched. */
bool rpc_cancel_watch(struct rpc_cancel *cancel, struct rpc_flight *flight);
void rpc_cancel_leave(struct rpc_cancel *cancel, struct rpc_flight *flight);

#endif
