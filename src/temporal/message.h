/*
 * message.h - the protocol of updates between the server and a worker.
 *
 * Owns: the messages that come with a workflow task (requests) and go back with its answer
 * (acceptances, outcomes, rejections), their names and type URLs:
 *
 *     server  ID/request  --> run_give_updates()
 *     worker  ID/accept, ID/complete <-- UPDATE_ACCEPTED, UPDATE_COMPLETED: with a command each
 *             ID/reject              <-- run_output.rejections: no command, no event, no trace
 *
 * Must not: decide whether an update is accepted (exec does).
 * Memory: what is made is in the arena and points nowhere else.
 * Threads: any.
 */
#ifndef TEMPORAL_MESSAGE_H
#define TEMPORAL_MESSAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "exec/run.h"
#include "history/event.h"
#include "temporal/proto/service.pb-c.h"

struct remote;

/* The requests among a task's messages. A message that is none, or not readable, is left out: *err
 * says why of the last one, *ret_skipped how many. */
size_t messages_read(struct remote *remote, struct arena *arena,
                     const Pb__PollWorkflowTaskQueueResponse *task, struct run_update **ret,
                     size_t *ret_skipped, struct err *err);

/* Of UPDATE_ACCEPTED or UPDATE_COMPLETED: the message, and its id alone. */
Pb__ProtocolMessage *message_of(struct remote *remote, struct arena *arena,
                                const struct event *event);
char *message_id(struct arena *arena, const struct event *event);
/* Of an update that came with this task. */
Pb__ProtocolMessage *message_rejection(struct remote *remote, struct arena *arena,
                                       const Pb__PollWorkflowTaskQueueResponse *task,
                                       const struct run_rejection *rejection);

#endif
