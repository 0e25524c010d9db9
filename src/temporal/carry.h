/*
 * carry.h - signals that nobody received, when a run continues as new.
 *
 * Owns: sending them on to the run that follows, as they were, in their order. A server leaves them
 * behind with the old history; a store takes them along in the commit that continues the run. Here
 * they are sent after the server took the answer, so the next run's code may begin before they
 * come, and a worker that dies in between loses them. Sent twice they arrive once: each has a
 * request id of its own. Must not: be called before the run has closed. Threads: any.
 */
#ifndef TEMPORAL_CARRY_H
#define TEMPORAL_CARRY_H

struct remote;
struct rpc_cancel;
struct task;

void carry_signals(struct remote *remote, struct task *task, struct rpc_cancel *cancel);

#endif
