/*
 * poll.h - the threads that wait for workflow tasks.
 *
 * Owns: long polls of every task queue of the worker: one thread per queue; with the first task of
 * a queue a second one begins, and two for its sticky queue, where the server sends further tasks
 * of runs that this worker keeps in memory. So a lane that has activities alone costs one poll.
 * A server that is away, or says "too often", is waited out by the call itself (rpc.h: RPC_POLL),
 * with growing pauses; each poller keeps its own.
 * Must not: look into a task beyond its history's pages.
 * Threads: pollers_new, _stop, _home and _free from the loop's thread.
 */
#ifndef TEMPORAL_POLL_H
#define TEMPORAL_POLL_H

#include <stdbool.h>

struct remote_serving;
struct pollers;

struct pollers *pollers_new(struct remote_serving *serving);
/* The server's name of the sticky queue beside that queue; NULL: it is none of ours. */
const char *pollers_sticky(const struct pollers *pollers, const char *queue);
/* A task of this queue came: it is worth more pollers now. */
void pollers_more(struct pollers *pollers, const char *queue);
/* Tells the server that the sticky queues are no longer asked. After serving->polls was thrown. */
void pollers_farewell(struct pollers *pollers);
bool pollers_home(struct pollers *pollers); /* all threads have ended */
void pollers_free(struct pollers *pollers); /* waits for that. NULL fine */

#endif
