/*
 * failure.h - failures as Temporal records them: a message, one kind of detail, and a cause.
 *
 * Owns: constructors and questions over struct failure (value_list.h). A chain reads from the
 * outside in: activity wrapper -> timeout -> what the last attempt said. Everything in the arena
 * that is given; texts are copied. source is "CSDK" for what this program makes.
 * A chain of more than 62 causes is written without its innermost ones, and refused when read.
 * Must not: decide about retries (the worker does, with failure_is_retryable as the rule).
 */
#ifndef HISTORY_FAILURE_H
#define HISTORY_FAILURE_H

#include "base/str.h"
#include "history/event.h"

#define FAILURE_SOURCE "CSDK"

enum failure_kind {
    FAILURE_PLAIN, /* no info member */
    FAILURE_APPLICATION,
    FAILURE_TIMEOUT,
    FAILURE_CANCELED,
    FAILURE_TERMINATED,
    FAILURE_SERVER,
    FAILURE_RESET_WORKFLOW,
    FAILURE_ACTIVITY,
    FAILURE_CHILD,
    FAILURE_NEXUS_OPERATION,
    FAILURE_NEXUS_HANDLER,
};

/* type is a stable CamelCase word, e.g. "RevisionNotFound"; details may be NULL. */
struct failure *failure_application(struct arena *arena, const char *type, const char *message,
                                    bool non_retryable, struct payloads *details);
/* message NULL: "activity <Type> timeout". details: the last heartbeat's, or NULL. */
struct failure *failure_timeout(struct arena *arena, enum timeout_type type, const char *message,
                                struct payloads *details, struct failure *cause);
struct failure *failure_canceled(struct arena *arena, struct payloads *details);
struct failure *failure_terminated(struct arena *arena, const char *reason, const char *identity);
/* "Activity task failed" around the failure that history stores for an activity. */
struct failure *failure_activity(struct arena *arena, int64_t scheduled_id, int64_t started_id,
                                 const char *activity_id, const char *activity_type,
                                 const char *identity, enum retry_state state,
                                 struct failure *cause);
struct failure *failure_child(struct arena *arena, const char *workflow_id, const char *run_id,
                              const char *workflow_type, int64_t initiated_id, int64_t started_id,
                              enum retry_state state, struct failure *cause);

enum failure_kind failure_kind(const struct failure *failure);
const char *failure_kind_name(enum failure_kind kind); /* "application", "timeout", ... */
const struct failure *failure_root(const struct failure *failure); /* innermost cause */
/* The application type, or "" when it is no application failure. */
const char *failure_type(const struct failure *failure);
/* Temporal's test: canceled and terminated never; schedule timeouts never; start-to-close and
 * heartbeat unless listed as "TemporalTimeout:StartToClose" / ":Heartbeat"; application unless
 * non_retryable or its type is listed; NULL and all others yes. policy may be NULL. */
bool failure_is_retryable(const struct failure *failure, const struct retry_policy *policy);
struct failure *failure_copy(const struct failure *failure, struct arena *arena);
/* One line for people: "timeout StartToClose: activity StartToClose timeout <- application X: ..."
 */
void failure_describe(const struct failure *failure, struct str *out);

#endif
