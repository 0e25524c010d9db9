/*
 * cancel.c - ending calls to the server from another thread.
 *
 * Owns: the list of flights and the sleep that a switch interrupts.
 * Must not: call out but for flight->end. A flight's owner leaves before it frees the call: both
 * happen under the mutex, so that end() never meets a call that is gone.
 * Tests: tests/unit/test_temporal_rpc.c.
 */
#include "temporal/cancel.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

void rpc_cancel_init(struct rpc_cancel *cancel)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cancel->thrown, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&cancel->mutex, NULL);
    cancel->flights = NULL;
    cancel->is_cancelled = false;
}

void rpc_cancel_free(struct rpc_cancel *cancel)
{
    pthread_cond_destroy(&cancel->thrown);
    pthread_mutex_destroy(&cancel->mutex);
}

void rpc_cancel(struct rpc_cancel *cancel)
{
    pthread_mutex_lock(&cancel->mutex);
    cancel->is_cancelled = true;
    for (struct rpc_flight *flight = cancel->flights; flight; flight = flight->next) {
        flight->end(flight->call);
    }
    pthread_cond_broadcast(&cancel->thrown);
    pthread_mutex_unlock(&cancel->mutex);
}

bool rpc_is_cancelled(struct rpc_cancel *cancel)
{
    pthread_mutex_lock(&cancel->mutex);
    bool is_cancelled = cancel->is_cancelled;
    pthread_mutex_unlock(&cancel->mutex);
    return is_cancelled;
}

bool rpc_cancel_wait(struct rpc_cancel *cancel, int64_t ms)
{
    struct timespec until = clock_deadline(ms);
    pthread_mutex_lock(&cancel->mutex);
    while (!cancel->is_cancelled &&
           pthread_cond_timedwait(&cancel->thrown, &cancel->mutex, &until) != ETIMEDOUT) {
    }
    bool is_cancelled = cancel->is_cancelled;
    pthread_mutex_unlock(&cancel->mutex);
    return is_cancelled;
}

bool rpc_cancel_watch(struct rpc_cancel *cancel, struct rpc_flight *flight)
{
    pthread_mutex_lock(&cancel->mutex);
    bool is_watched = !cancel->is_cancelled;
    if (is_watched) {
        flight->next = cancel->flights;
        flight->link = &cancel->flights;
        if (flight->next) {
            flight->next->link = &flight->next;
        }
        cancel->flights = flight;
    }
    pthread_mutex_unlock(&cancel->mutex);
    return is_watched;
}

void rpc_cancel_leave(struct rpc_cancel *cancel, struct rpc_flight *flight)
{
    pthread_mutex_lock(&cancel->mutex);
    *flight->link = flight->next;
    if (flight->next) {
        flight->next->link = flight->link;
    }
    pthread_mutex_unlock(&cancel->mutex);
}
