/*
 * client.h - durable.h's client calls on a server: the module table's entries, and what they share.
 *
 * Owns: which call of the server each of them is, and durable.h's codes for its answers: the same
 * as a store gives, whatever the server's were. Arguments were checked by the engine.
 * Must not: keep state, but for list_pages.h's tokens; run code.
 * Threads: any, at any time.
 */
#ifndef TEMPORAL_CLIENT_H
#define TEMPORAL_CLIENT_H

#include "engine/remote.h"
#include "temporal/rpc.h"
#include "temporal/value.h"

/* --- the table's entries: engine/remote.h says what they do --- */
/* client_start.c */
int client_start(struct remote *remote, const char *type, const char *id, const char *input,
                 const char *signal, const char *signal_input, const dur_start_options *options,
                 struct err *err);
/* client_tell.c */
int client_signal(struct remote *remote, const char *id, const char *signal, const char *input,
                  const char *request_id, struct err *err);
int client_cancel(struct remote *remote, const char *id, const char *reason, struct err *err);
int client_terminate(struct remote *remote, const char *id, const char *reason, struct err *err);
int client_pause(struct remote *remote, const char *id, const char *reason, struct err *err);
int client_resume(struct remote *remote, const char *id, const char *reason, struct err *err);
/* client_reset.c */
int client_reset(struct remote *remote, const char *id, const dur_reset_options *options,
                 char **run_id, struct err *err);
/* client_look.c */
int client_describe(struct remote *remote, struct arena *arena, const char *id,
                    dur_description *ret, struct err *err);
int client_activities(struct remote *remote, struct arena *arena, const char *id,
                      struct remote_pending_activities *ret, struct err *err);
/* client_list.c */
int client_list(struct remote *remote, const char *filter, dur_status status, int64_t after,
                int limit, dur_list_fn row, void *user, struct err *err);
/* client_result.c */
int client_result(struct remote *remote, const char *id, int64_t timeout_ms, char **result,
                  struct err *err);
/* client_query.c */
int client_query(struct remote *remote, const char *id, const char *query, const char *input,
                 int64_t timeout_ms, char **result, struct err *err);
/* client_update.c */
int client_update(struct remote *remote, const char *id, const char *update, const char *input,
                  char **result, const dur_update_options *options, struct err *err);
int client_update_result(struct remote *remote, const char *id, const char *update_id,
                         int64_t timeout_ms, char **result, struct err *err);
/* client_history.c */
int client_history(struct remote *remote, const char *id, remote_events_fn each, void *user,
                   struct err *err);

/* --- client.c: what they share --- */

/* The run that a caller means. DUR_NOT_FOUND for an id that no run can have. */
int client_target(struct arena *arena, const char *id, Pb__WorkflowExecution **ret,
                  struct err *err);
/* Sends an ordinary call. NOT_FOUND reads "no <which> has the id <id>"; which: "run", "open run".
 * ret, failure: NULL fine. */
int client_call(struct remote *remote, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *response_type, const char *which, const char *id,
                ProtobufCMessage **ret, struct rpc_failure *failure, struct err *err);
/* DescribeWorkflowExecution. */
int client_look(struct remote *remote, const char *id, const Pb__WorkflowExecution *run,
                Pb__DescribeWorkflowExecutionResponse **ret, struct err *err);
void client_look_free(Pb__DescribeWorkflowExecutionResponse **answer); /* NULL fine */
#define autolook cleanup_with(client_look_free)
/* What a list, too, tells of a run (client_look.c). Result, failure, attempt, next run, parked and
 * paused are left out: NULL and 0. Texts are in arena. */
int client_info(struct remote *remote, struct arena *arena, const Pb__WorkflowExecutionInfo *info,
                dur_description *ret, struct err *err);
bool client_is_open(const Pb__DescribeWorkflowExecutionResponse *answer);
/* A code of durable.h with a line of our own. */
int client_refuse(struct err *err, int code, const char *fmt, ...) printf_like(3, 4);
/* A value in an answer could not be read: err has why, what says of what. */
int client_bad(struct err *err, const char *what);

/* Waiting with a limit: polls are repeated until one says that it is done. */
struct client_wait {
    struct remote *remote;
    int64_t until_ns; /* monotonic; INT64_MAX: for ever */
    int64_t lost_ns;  /* since when no answer came; 0: the last one did */
    int tries;        /* since then */
};
void client_wait_begin(struct client_wait *wait, struct remote *remote, int64_t timeout_ms);
/* One poll of at most most_ms. 0 with *ret; 1: ask again (nothing yet, the run cannot be asked yet,
 * or the server was lost for a moment); DUR_TIMED_OUT: the limit has passed, err is the last
 * failure or empty; else final. */
int client_poll(struct client_wait *wait, const char *method, int64_t most_ms,
                const ProtobufCMessage *request, const ProtobufCMessageDescriptor *response_type,
                ProtobufCMessage **ret, struct rpc_failure *failure, struct err *err);
/* client_look() with that limit. */
int client_wait_look(struct client_wait *wait, const char *id, const Pb__WorkflowExecution *run,
                     Pb__DescribeWorkflowExecutionResponse **ret, struct err *err);
bool client_wait_is_over(const struct client_wait *wait);

/* Which part of a history is asked for. */
struct client_part {
    int32_t filter; /* HistoryEventFilterType: 2, only the event that closed it; 0: all */
    int32_t most;   /* events; 0: as many as the server likes */
};
/* The first page of it. */
int client_page(struct remote *remote, const char *id, const Pb__WorkflowExecution *run,
                const struct client_part *part, ProtobufCMessage **ret, struct err *err);
/* The event that closed a run which is closed, in arena. 0, 1: it is open; else a failure. */
int client_closing(struct remote *remote, struct arena *arena, const char *id,
                   const Pb__WorkflowExecution *run, const struct event **ret, struct err *err);
/* The run that follows the one which this event closed; NULL: none. */
const char *client_next_run(const struct event *closing);
/* The newest event that `wanted` says true of, looking back from the end. 0, 1: none. */
int client_look_back(struct remote *remote, struct arena *arena, const char *id,
                     const Pb__WorkflowExecution *run, bool (*wanted)(const struct event *event),
                     const struct event **ret, struct err *err);
/* What of a closing event dur_describe shows; NULL where there is none. */
const char *client_result_of(struct arena *arena, const struct event *closing);
struct failure *client_failure_of(struct arena *arena, const struct event *closing);

#endif
