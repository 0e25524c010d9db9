/*
 * client.h - what any process may ask of a store, engine or not. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_CLIENT_H
#define DURABLE_CLIENT_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

/* --- client calls: from any process, whether or not an engine runs --------------------------- */

typedef enum dur_reuse {
    DUR_REUSE_ALLOW = 0,       /* a closed run's id may be used again */
    DUR_REUSE_FAILED_ONLY = 1, /* only if that run failed, was cancelled, terminated or timed out */
    DUR_REUSE_REJECT = 2,
} dur_reuse;

typedef struct dur_retry_policy {
    int64_t initial_interval_ms;            /* default 1000 */
    double backoff_coefficient;             /* default 2.0; >= 1 */
    int64_t maximum_interval_ms;            /* default 100 x initial */
    int maximum_attempts;                   /* 0: no limit */
    const char *const *non_retryable_types; /* NULL-terminated list or NULL */
} dur_retry_policy;

/* What happens when a run with the id is open. */
typedef enum dur_conflict {
    DUR_CONFLICT_FAIL = 0,               /* DUR_EXISTS */
    DUR_CONFLICT_USE_EXISTING = 1,       /* DUR_OK: that run will do, nothing is changed */
    DUR_CONFLICT_TERMINATE_EXISTING = 2, /* that run is terminated in the same commit */
} dur_conflict;

typedef struct dur_start_options {
    const char *task_queue;       /* default "default" */
    dur_reuse reuse;              /* when the newest run with the id is closed */
    const char *memo;             /* JSON object shown by list and describe, or NULL */
    int64_t execution_timeout_ms; /* of the whole chain of runs (retry, cron, continue); 0: none */
    int64_t run_timeout_ms;       /* of one run of it; 0: none of its own */
    const char *request_id;       /* dedupes retries of this very call; NULL: none */
    dur_conflict conflict;
    int64_t task_timeout_ms; /* of its workflow tasks, as recorded; 0: 10 s; at most 120 s */
    int64_t start_delay_ms;  /* its code begins so much later */
    /* Of the run as a whole: when it fails or exceeds run_timeout_ms, another run with the same id
     * and input follows, dur_attempt() one higher, until one succeeds, is cancelled or terminated,
     * or the policy or the execution time-out ends it. NULL: none. */
    const dur_retry_policy *retry;
    /* "0 3 * * *", "CRON_TZ=Europe/Berlin 30 2 * * mon-fri", "@every 90s", "@daily": the code
     * begins at the next such point, and when the run has ended (and is not to be retried), another
     * run follows at the next point after that: never two at a time, missed points are skipped.
     * Cancelling or terminating ends it. The schedules further down can do more. NULL: none. */
    const char *cron;
    /* JSON object, for dur_list_where(): a text, number, true, false, array of texts, or
     * {"type":"Datetime","value":"2026-01-02T03:04:05Z"}; or NULL */
    const char *search_attributes;
    int priority; /* 1 high .. 5 low; 0: 3 */
} dur_start_options;

/* Durable when it returns. id: 1..1000 bytes. DUR_EXISTS when a run with this id is open, or was
 * closed in a way that `reuse` does not allow; DUR_FULL when disk budget or
 * memory refuse new runs. */
#define dur_start(engine, type, id, input, ...)                                                    \
    dur_start_at((engine), (type), (id), (input), (__VA_ARGS__), sizeof(dur_start_options))
DUR_API int dur_start_at(dur_engine *engine, const char *type, const char *id, const char *input,
                         const dur_start_options *options, size_t options_size);
/* Signals the open run of this id, or starts one that finds the signal waiting: one commit either
 * way. The conflict policies mean: FAIL and USE_EXISTING signal the open run, TERMINATE_EXISTING
 * replaces it. request_id dedupes the start and the signal. */
#define dur_signal_with_start(engine, type, id, input, signal, signal_input, ...)                  \
    dur_signal_with_start_at((engine), (type), (id), (input), (signal), (signal_input),            \
                             (__VA_ARGS__), sizeof(dur_start_options))
DUR_API int dur_signal_with_start_at(dur_engine *engine, const char *type, const char *id,
                                     const char *input, const char *signal,
                                     const char *signal_input, const dur_start_options *options,
                                     size_t options_size);

/* In all further calls, id is "WORKFLOW_ID" for the open or newest run, or "WORKFLOW_ID@RUN_ID" for
 * that one alone. */

/* Buffered by the run until received. DUR_NOT_FOUND when no open run has this id. */
DUR_API int dur_signal(dur_engine *engine, const char *id, const char *signal, const char *input);
/* The same, once for each request_id (1..1000 bytes) that a run sees: safe to repeat. */
DUR_API int dur_signal_once(dur_engine *engine, const char *id, const char *signal,
                            const char *input, const char *request_id);
/* Asks the run to cancel itself; repeating is harmless. reason may be NULL. */
DUR_API int dur_cancel(dur_engine *engine, const char *id, const char *reason);
/* Closes the run at once; its code learns nothing. */
DUR_API int dur_terminate(dur_engine *engine, const char *id, const char *reason);
/* Holds the run: its code does not run and no further attempt of its activities starts. What runs
 * already goes on; what comes (results, timers, signals, a cancel request) is recorded and waits.
 * Time-outs go on. Repeating is harmless. DUR_NOT_FOUND when no open run has this id. */
DUR_API int dur_pause(dur_engine *engine, const char *id, const char *reason);
/* Lets it go on with what has come meanwhile; of a run that is not held, harmless. */
DUR_API int dur_resume(dur_engine *engine, const char *id, const char *reason);

/* Takes a run back to a point of its history: another run of the same id is made, whose history is
 * the old one's up to there, and goes on from it with the code of today. What came later from
 * outside comes again: signals, a cancel request, updates; what the run itself did since is
 * forgotten, and activities that were open then start over. Timers keep their times, children
 * report to the new run, time-outs of the run are counted anew. The run of this id that is open is
 * terminated in the same commit (its next_run_id names the new one, and dur_result() follows).
 * *run_id (may be NULL) is the new run's; dur_free. DUR_NOT_FOUND; DUR_INVALID when event_id is no
 * such point. */
typedef struct dur_reset_options {
    int64_t event_id; /* WORKFLOW_TASK_COMPLETED, _FAILED or _TIMED_OUT behind a _STARTED: that
                       * task is done anew. 0: the last one that was completed */
    const char *reason;
    int drop_signals; /* 1: later signals do not come again */
    int drop_updates;
} dur_reset_options;
#define dur_reset(engine, id, run_id, ...)                                                         \
    dur_reset_at((engine), (id), (run_id), (__VA_ARGS__), sizeof(dur_reset_options))
DUR_API int dur_reset_at(dur_engine *engine, const char *id, char **run_id,
                         const dur_reset_options *options, size_t options_size);

typedef enum dur_status {
    DUR_RUNNING = 1, /* numbers are Temporal's WorkflowExecutionStatus */
    DUR_COMPLETED = 2,
    DUR_RUN_FAILED = 3,
    DUR_CANCELED = 4,
    DUR_TERMINATED = 5,
    DUR_CONTINUED_AS_NEW = 6,
    DUR_RUN_TIMED_OUT = 7,
    DUR_PAUSED = 8, /* open; dur_list counts it among the running ones too */
} dur_status;
DUR_API const char *dur_status_name(dur_status status); /* "Running", "Completed", ... */

/* --- activities that are completed by token -------------------------------------------------- */

/* An activity that returned DUR_PENDING waits for one of these, from any process. The token names
 * one attempt: after a time-out or a retry it is over. Durable when they return. DUR_NOT_FOUND: no
 * such attempt is awaited any more (dur_error() says why); DUR_EXISTS: it was completed before;
 * DUR_INVALID: no token, not JSON. */
DUR_API int dur_complete(dur_engine *engine, const char *token, const char *result);
/* As dur_fail: it is retried as the kind and the retry policy say. */
DUR_API int dur_complete_failed(dur_engine *engine, const char *token, dur_kind kind,
                                const char *type, const char *message);
/* Only after a cancel request: DUR_INVALID otherwise. */
DUR_API int dur_complete_cancelled(dur_engine *engine, const char *token);
/* A sign of life with details (JSON or NULL: unchanged). DUR_CANCELLED: it should stop. */
DUR_API int dur_complete_heartbeat(dur_engine *engine, const char *token, const char *details);
/* The token of the attempt that runs or is awaited now (dur_free). id: of the run, as for
 * dur_describe. DUR_NOT_FOUND: no such activity is pending; DUR_BUSY: no attempt of it runs. */
DUR_API int dur_activity_token_of(dur_engine *engine, const char *id, const char *activity_id,
                                  char **token);

/* What is known of a run. Strings are owned by the description: free with dur_description_free. */
typedef struct dur_description {
    const char *workflow_id;
    const char *run_id; /* UUID */
    const char *type;
    const char *task_queue;
    dur_status status;
    int64_t started_ns; /* wall clock, since 1970 */
    int64_t closed_ns;  /* 0 while open */
    int64_t history_events;
    int64_t history_bytes;
    const char *memo;         /* JSON object */
    const char *result;       /* JSON when completed, else NULL */
    const char *failure;      /* JSON (Temporal's Failure) when it failed in any way, else NULL */
    const char *parked;       /* report when a nondeterminism mismatch parks the run, else NULL */
    const char *paused;       /* why it is paused ("" when nobody said), else NULL */
    int attempt;              /* of the run as a whole, by its retry policy; from 1 */
    const char *first_run_id; /* of its chain of runs; its own when it is the first */
    const char *next_run_id;  /* of the run that took over (continued as new, retry, cron, reset) */
    int64_t begins_ns;        /* its code does not run before this time; 0: it has begun */
    const char *search_attributes; /* JSON object */
    const char *parent;            /* "ID@RUN" of the run that started it as its child, or NULL */
} dur_description;
/* The newest run with this id, or the one whose run id is given as "WORKFLOW_ID@RUN_ID". */
DUR_API int dur_describe(dur_engine *engine, const char *id, dur_description **description);
DUR_API void dur_description_free(dur_description *description); /* NULL fine */

/* Newest first. status 0: all. after: the id token of the last row seen, 0 to begin. Calls `row`
 * until it returns non-zero or `limit` rows were given. token identifies the row for paging. */
typedef int (*dur_list_fn)(void *user, int64_t token, const dur_description *description);
DUR_API int dur_list(dur_engine *engine, dur_status status, int64_t after, int limit,
                     dur_list_fn row, void *user);

/* The same of those that pass a filter, in Temporal's list filter language:
 *   WorkflowType = 'Order' AND CustomerId IN ('c1', 'c2') AND NOT ExecutionStatus = 'Completed'
 * with = != < <= > >= IN BETWEEN STARTS_WITH IS NULL, AND OR NOT and parentheses. Names:
 * WorkflowId, RunId, WorkflowType, TaskQueue, ParentWorkflowId, ParentRunId, ExecutionStatus,
 * StartTime, CloseTime, ExecutionDuration, HistoryLength, HistorySizeBytes; any other is a search
 * attribute.
 * DUR_INVALID: dur_error() has the column of the mistake. */
DUR_API int dur_list_where(dur_engine *engine, const char *filter, int64_t after, int limit,
                           dur_list_fn row, void *user);

/* Waits until the run closes; when another run takes over (continued as new, retry, cron), until
 * that one does, and so on to the end of the chain. DUR_OK with *result (JSON; dur_free),
 * DUR_FAILED / DUR_CANCELLED when it ended so, DUR_TIMED_OUT when timeout_ms (< 0: for ever)
 * passed, DUR_NOT_FOUND. */
DUR_API int dur_result(dur_engine *engine, const char *id, int64_t timeout_ms, char **result);
/* Ask a run's code about its state, open or closed, without a trace in its history: the handler of
 * dur_on_query(query), "__stack_trace" or "__temporal_workflow_metadata". Answered from what is
 * committed: in this process, when it has registered the run's workflow and no other thread drives
 * this engine; else by the engine that serves, for which this waits at most timeout_ms (< 0: for
 * ever). DUR_OK with *result (JSON; dur_free); 1: the same, but the run is parked and was answered
 * as of its last good task (dur_error says which event); DUR_FAILED: refused (dur_error begins with
 * the type: "UnknownQuery: ..."); DUR_TIMED_OUT; DUR_NOT_FOUND. */
DUR_API int dur_query(dur_engine *engine, const char *id, const char *query, const char *input,
                      int64_t timeout_ms, char **result);

typedef enum dur_update_stage {
    DUR_WAIT_COMPLETED = 0, /* the handler returned */
    DUR_WAIT_ACCEPTED = 1,  /* the validator agreed: it is in the history */
    DUR_WAIT_ADMITTED = 2,  /* it is durable; no engine need have seen it */
} dur_update_stage;

typedef struct dur_update_options {
    const char *update_id; /* names this update: asking again asks for the same; default: random */
    dur_update_stage wait;
    int64_t timeout_ms; /* 0: none. When it has passed the update goes on */
} dur_update_options;

/* Ask an open run to change: its dur_on_update(update) validates, then runs. Durable from the
 * moment that it is admitted: an engine that comes later does it. DUR_OK with *result (JSON of the
 * handler; dur_free; NULL before it is completed); DUR_REJECTED: refused, nothing of it is in the
 * history; DUR_FAILED: the handler failed, or the run closed first; for both dur_error tells, and
 * *result is Temporal's Failure in JSON if there is one; DUR_TIMED_OUT: it is not there yet;
 * DUR_NOT_FOUND. A thread that drives the engine by dur_step() asks with DUR_WAIT_ADMITTED. */
#define dur_update(engine, id, update, input, result, ...)                                         \
    dur_update_at((engine), (id), (update), (input), (result), (__VA_ARGS__),                      \
                  sizeof(dur_update_options))
DUR_API int dur_update_at(dur_engine *engine, const char *id, const char *update, const char *input,
                          char **result, const dur_update_options *options, size_t options_size);
/* Its outcome, as dur_update with DUR_WAIT_COMPLETED; timeout_ms < 0: for ever, 0: only look. */
DUR_API int dur_update_result(dur_engine *engine, const char *id, const char *update_id,
                              int64_t timeout_ms, char **result);

/* Temporal's JSON form of the whole history: {"events":[...]}; dur_free. */
DUR_API int dur_history(dur_engine *engine, const char *id, char **json);
DUR_API void dur_free(void *text); /* what a char ** of this header was set to; NULL fine */

typedef enum dur_form {
    DUR_FORM_JSON = 0,     /* {"events":[...]}, as Temporal's tools write and its SDKs replay it */
    DUR_FORM_PROTOBUF = 1, /* the same message in protobuf's binary form */
} dur_form;
typedef int (*dur_write_fn)(void *user, const void *bytes, size_t len);
/* The same history given piece by piece to `write`, in little memory however long it is. write
 * returns 0 to go on; anything else ends it (DUR_IO). */
DUR_API int dur_export(dur_engine *engine, const char *id, dur_form form, dur_write_fn write,
                       void *user);

typedef struct dur_import_options {
    const char *id; /* workflow id to give it; NULL: the one that it has */
} dur_import_options;

/* Takes over the history of a run that was recorded elsewhere, by any Temporal server or by this
 * library, in either form. What breaks the rules of a history is refused (DUR_INVALID; dur_error
 * names the event and the rule). A closed run becomes a closed run here. An open one becomes an
 * open run that is paused: its activities wait, its timers fire at their recorded time, and its
 * code runs on once somebody resumes it; a workflow task that was being executed elsewhere is not
 * taken over. DUR_INVALID when it waits for what only its own server can bring: an activity that
 * somebody else has begun, a child that is not in this store (import that run first), a request to
 * another run. DUR_EXISTS when the store has that very run, an open one or a later one of that
 * workflow id: give another id then. DUR_FULL as for dur_start.
 * *run (may be NULL) gets "WORKFLOW_ID@RUN_ID"; dur_free. */
#define dur_import(engine, bytes, len, run, ...)                                                   \
    dur_import_at((engine), (bytes), (len), (run), (__VA_ARGS__), sizeof(dur_import_options))
DUR_API int dur_import_at(dur_engine *engine, const void *bytes, size_t len, char **run,
                          const dur_import_options *options, size_t options_size);

/* Which closed runs may go; one of the first two must be given. */
typedef struct dur_purge_options {
    int64_t older_than_ms; /* those that closed longer ago; 0: none for their age */
    int64_t keep_runs;     /* all but the newest so many; 0: none for their number */
    int dry_run;           /* 1: only counts them */
} dur_purge_options;
typedef struct dur_purged {
    int64_t runs;
    int64_t events;        /* of their histories */
    int64_t history_bytes; /* the same, as dur_description counts them */
    int64_t freed_bytes;   /* by which the file became smaller */
} dur_purged;
/* Removes closed runs with all that is theirs: histories, requests, updates, search attributes,
 * large payloads that no other run shares. Never an open one, nor one that an engine has still to
 * look at. In small transactions, oldest first, so that an engine that serves goes on meanwhile;
 * then free pages are given back to the file system. Durable as far as it came, also when it is
 * interrupted; *purged (may be NULL) counts it. With dry_run nothing changes and *purged says what
 * would go (freed_bytes is 0 then). What others know of those runs stays: a parent's history has
 * its child's result, a schedule its last one. DUR_INVALID: neither limit, a negative one, or an
 * engine that is connected to a server, whose retention is its own. */
#define dur_purge(engine, purged, ...)                                                             \
    dur_purge_at((engine), (purged), (__VA_ARGS__), sizeof(dur_purge_options))
DUR_API int dur_purge_at(dur_engine *engine, dur_purged *purged, const dur_purge_options *options,
                         size_t options_size);

/* Re-executes the registered workflow function against a history in Temporal's JSON form; touches
 * no store. DUR_OK, or DUR_MISMATCH with *report (dur_free): the first event that does not fit,
 * the command asked instead, and the source line that asked. */
DUR_API int dur_replay(dur_engine *engine, const char *history_json, char **report);
/* The same for a history in either form. Needs memory for about a thousand events and for what the
 * code itself keeps, however long the history is. */
DUR_API int dur_replay_bytes(dur_engine *engine, const void *bytes, size_t len, char **report);

#endif
