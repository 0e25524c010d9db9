/*
 * command.h - what a workflow task asks of the server, made from the events that exec returns.
 *
 * Owns: the command of every kind of event that exec writes behind WORKFLOW_TASK_COMPLETED. A store
 * appends those events as they are; a server wants commands and writes the events itself. Values
 * stay the same and go through the connection's keyring; task queues get its prefix; namespaces
 * stay empty, which is the connection's. The events of updates become messages (message.h) and a
 * command that names the message in their place.
 * Must not: decide anything; call the server.
 * Memory: everything made is in the arena and points nowhere else: the run may go on meanwhile.
 * Threads: any.
 */
#ifndef TEMPORAL_COMMAND_H
#define TEMPORAL_COMMAND_H

#include "base/arena.h"
#include "exec/run.h"
#include "history/event.h"
#include "temporal/proto/service.pb-c.h"

struct remote;

struct command_context {
    struct remote *remote;
    struct arena *arena;
    /* The run's own, what a run that continues as new passes on. */
    const struct ev_workflow_execution_started *started;
    const struct retry_policy *next_retry; /* run_output.next_retry */
};

/* The command that this event is written for; NULL: it is none (WORKFLOW_TASK_COMPLETED). */
Pb__Command *command_of(const struct command_context *context, const struct event *event);

/* Fills the request's commands, messages of accepted and completed updates, and sdk_metadata from
 * all events of the output. Room for `spare` further messages is left behind them. */
void commands_put(const struct command_context *context, const struct run_output *out, size_t spare,
                  Pb__RespondWorkflowTaskCompletedRequest *request);

#endif
