/*
 * durable.h - libdurable: durable workflows in plain C on one SQLite file.
 *
 * This header is the manual. It compiles as C99 and C++ and names no third-party type.
 *
 * WHAT IT DOES. A *workflow* is an ordinary, sequential, deterministic C function. Whatever touches
 * the world is an *activity*: an ordinary blocking C callback. The engine journals every step as
 * Temporal-equivalent history events in one SQLite file; a process may be killed at any instant and
 * the next one goes on from the last commit by replaying the workflow function against its history.
 *
 * CONVENTIONS
 *   Return codes: 0 is good; a negative code is a fact that a caller may forward unchanged;
 *   positive values only where a function documents them.
 *   Text is UTF-8, payloads are JSON text (RFC 8259), NUL-terminated, validated at the boundary.
 *   Memory: what the engine hands to a workflow or an activity lives until that run is closed or
 *   evicted (workflow) or that attempt ends (activity); what you pass in is copied. Nothing to
 *   free, except where a function says "free with dur_free".
 *   Options are structs whose zero value means the default; a NULL pointer means all defaults.
 *   Their size is passed along by the macros, so fields can be added without breaking programs.
 *   Times carry their unit in the name. Durations are milliseconds; DUR_SECONDS etc. help.
 *   Source locations: calls that block are macros that record __FILE__ and __LINE__; nondeterminism
 *   reports and `factory history` name them.
 *
 * COMPATIBILITY. Options grow at their end only, by fields whose 0 is today's behaviour; a program
 * that was built against an older header runs with a newer library of the same soname.
 *
 * THREADS. A dur_engine may be used from any thread. A dur_ctx belongs to its workflow function and
 * must not leave it. A dur_activity belongs to its attempt; its functions may be called from any
 * thread of the caller as long as the callback has not returned. Several engines per process are
 * fine, on different files or on one (then one serves and the others stand by or are clients).
 * Workflow code and log callbacks run within the engine's own transaction: calls that start,
 * signal, cancel or terminate are refused there (DUR_INVALID); make them from an activity.
 *
 * FORK. A child of fork() may not use the parent's engine: every call returns DUR_INVALID and
 * touches nothing; dur_stop does nothing; dur_close closes the copies of descriptors, frees what
 * is the handle's own and leaves the rest to the end of the process. The child opens the file
 * anew. The ownership lock does not outlive the process that serves, whatever it forked. Nothing
 * is inherited through exec. fork() and exec of other programs are fine at any time.
 *
 * SIGNALS. The engine installs no handler and sends none. Its own threads block all signals, so
 * that they go to yours; dur_serve and dur_step leave the mask of the thread that calls them as it
 * is. Handlers may run at any time, with or without SA_RESTART: no call fails with EINTR. The only
 * function for a handler is dur_stop. The library writes to no pipe or socket: no SIGPIPE. A
 * program with a file size limit ignores SIGXFSZ; the engine then sees a full disk.
 *
 * FILES. dur_open(path) uses path, path-wal, path-shm (SQLite), path.lock (which engine serves),
 * path.bell (wake-up) and path.reserve (disk reserve). Never open the database in the same process
 * except through SQLite: a plain close() would drop its locks.
 */
#ifndef DURABLE_H
#define DURABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DUR_API __attribute__((visibility("default")))
#define DUR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define DUR_API
#define DUR_PRINTF(fmt, first)
#endif

#define DUR_VERSION_MAJOR 0
#define DUR_VERSION_MINOR 2
#define DUR_VERSION_PATCH 0
DUR_API const char *dur_version(void); /* "0.2.0" of the library in use */

/* --- return codes -------------------------------------------------------------------------- */

#define DUR_OK 0
#define DUR_FAILED (-1)     /* an activity, child or run failed: dur_failure() has it all */
#define DUR_CANCELLED (-2)  /* the scope or run was cancelled */
#define DUR_TIMED_OUT (-3)  /* a wait with a timeout ended without its event */
#define DUR_UNWIND (-4)     /* the run is being evicted or closed: clean up and return */
#define DUR_INVALID (-5)    /* bad argument: not JSON, empty name, misuse; see dur_error() */
#define DUR_NOT_FOUND (-6)  /* no such run, event, registration */
#define DUR_EXISTS (-7)     /* a run with this id is open (or may not be reused) */
#define DUR_BUSY (-8)       /* the store stayed locked, or an engine already serves it */
#define DUR_IO (-9)         /* the store could not be read or written; nothing was acknowledged */
#define DUR_NEWER (-10)     /* the file was written by a newer version: refused, untouched */
#define DUR_FULL (-11)      /* disk budget or reserve reached: new runs are refused, nothing lost */
#define DUR_LIMIT (-12)     /* a documented limit (size, count) was exceeded */
#define DUR_MISMATCH (-13)  /* replay: the code no longer fits the history */
#define DUR_PENDING (-14)   /* activity: the outcome comes later, by token */
#define DUR_REJECTED (-15)  /* an update was refused by its validator, or has no handler */
#define DUR_CONTINUE (-16)  /* dur_continue_as_new(): the workflow function returns it */
#define DUR_OLDER (-17)     /* the file was written by an older version, and no_migrate says so */
DUR_API const char *dur_code_name(int code); /* "DUR_OK", ...; never NULL */

#define DUR_SECONDS 1000LL
#define DUR_MINUTES (60 * DUR_SECONDS)
#define DUR_HOURS (60 * DUR_MINUTES)
#define DUR_DAYS (24 * DUR_HOURS)

typedef struct dur_engine dur_engine;
typedef struct dur_ctx dur_ctx;
typedef struct dur_future dur_future;
typedef struct dur_activity dur_activity;
typedef struct dur_sql dur_sql;

/* --- failures ------------------------------------------------------------------------------ */

/* How an activity's failure is to be treated. */
typedef enum dur_kind {
    DUR_PERMANENT = 1, /* never retried */
    DUR_TRANSIENT = 2, /* retried as the retry policy says */
    DUR_AMBIGUOUS = 3, /* it may have happened: retried, and the next attempt is told so */
} dur_kind;

/* A failure and its causes, outermost first. Lives as long as what it was asked of. */
typedef struct dur_failure_info {
    /* application type ("CardDeclined"), "Timeout", "Cancelled", "Terminated", or of a wrapper:
     * "Activity", "Child" */
    const char *type;
    const char *message; /* one line */
    dur_kind kind;       /* DUR_PERMANENT when a retry could not have helped */
    /* "StartToClose", "ScheduleToStart", "ScheduleToClose", "Heartbeat" or NULL */
    const char *timeout_type;
    const char *details;      /* JSON or NULL; of a timeout: the last heartbeat's details */
    const char *activity_type; /* of an activity wrapper, else NULL */
    int attempt;               /* of an activity wrapper, else 0 */
    const struct dur_failure_info *cause; /* NULL at the innermost */
    const char *child_type;   /* these three of a child's wrapper, else NULL */
    const char *child_id;     /* its workflow id */
    const char *child_run_id; /* "" when it never started */
} dur_failure_info;

/* --- registration: before dur_serve -------------------------------------------------------- */

typedef int (*dur_workflow_fn)(dur_ctx *ctx, const char *input, const char **result, void *user);
typedef int (*dur_activity_fn)(dur_activity *act, const char *input, const char **result,
                               void *user);

/* name: 1..1000 bytes, unique per engine. DUR_INVALID otherwise. *result starts as NULL and may
 * stay so (JSON null); it is copied when the function returns. */
DUR_API int dur_register_workflow(dur_engine *engine, const char *name, dur_workflow_fn fn,
                                  void *user);
/* The same for an activity. */
DUR_API int dur_register_activity(dur_engine *engine, const char *name, dur_activity_fn fn,
                                  void *user);
/* A transaction: SQL that happens within the workflow task that asks for it (dur_run_transaction).
 * It runs on the engine's own thread and holds up every other run: be quick, call nothing but
 * dur_sql_*. Return DUR_OK, or DUR_FAILED (dur_sql_fail) to have all it wrote taken back. */
typedef int (*dur_transaction_fn)(dur_sql *sql, const char *input, const char **result, void *user);
DUR_API int dur_register_transaction(dur_engine *engine, const char *name, dur_transaction_fn fn,
                                     void *user);
/* A lane is a task queue with its own threads: activities of one lane never wait for those of
 * another. Default lane "default" has 4 slots. slots 1..1024. Calling again changes the slots.
 * slots 0: no threads; its activities run one after the other on the thread that is in dur_serve or
 * dur_step, which does nothing else meanwhile: for short work, and for programs that must not have
 * threads. */
DUR_API int dur_lane(dur_engine *engine, const char *task_queue, int slots);
/* A task queue with limits. Which waiting activities may start is decided within the file, from the
 * attempts that live: nothing is lost or counted twice over a crash. Of those that wait, priority 1
 * goes first, then who waits longest; whoever waits for a full key does not hold up other keys.
 * The limits are this program's: they hold while it serves, and another program sets its own. */
typedef struct dur_queue_options {
    int slots;         /* attempts at once, 1..1024; default 4, as dur_lane */
    double rate_per_s; /* starts per second, over any long time; 0: no limit */
    int burst;         /* starts that may come together after a rest; default: a second's worth */
    int per_key;       /* at once of one concurrency_key, those that wait for a token's outcome
                        * included; 0: no limit */
} dur_queue_options;
/* Before dur_serve. DUR_INVALID as dur_lane, or for a negative limit. */
#define dur_queue(engine, task_queue, ...)                                                         \
    dur_queue_at((engine), (task_queue), (__VA_ARGS__), sizeof(dur_queue_options))
DUR_API int dur_queue_at(dur_engine *engine, const char *task_queue,
                         const dur_queue_options *options, size_t options_size);

/* --- engine life cycle --------------------------------------------------------------------- */

/* A step of a schema that lives beside the engine's in the same file. Forward only: a released
 * step's SQL never changes (its checksum is verified). */
typedef struct dur_migration {
    const char *name; /* "0001_init" */
    const char *sql;
} dur_migration;

typedef struct dur_options {
    const char *identity;     /* in histories; default "pid@host" */
    int read_only;            /* 1: client that only looks; never creates or migrates the file */
    int no_create;            /* 1: DUR_NOT_FOUND when the file does not exist */
    int64_t busy_timeout_ms;  /* default 10000 */
    int64_t wal_cap_bytes;    /* checkpoint is forced above this; default 64 MiB */
    int64_t reserve_bytes;    /* size of the disk reserve file; default 16 MiB; -1: none */
    int64_t min_free_bytes;   /* with less free space new runs are refused; 64 MiB; -1: any */
    int64_t max_db_bytes;     /* disk budget for the database; default 0: none */
    int max_cached_runs;      /* suspended workflow functions kept in memory; default 4096 */
    int64_t idle_exit_ms;     /* dur_serve returns after this long with nothing open; 0: never */
    const char *schema_name;  /* application schema in the same file, or NULL */
    const dur_migration *schema; /* ends with a zeroed entry */
    const char *vfs;          /* SQLite VFS name; NULL: the system's (tests inject faults here) */
    /* level: 0 error, 1 warn, 2 info; default: lines on stderr */
    void (*on_log)(void *user, int level, const char *line);
    void *on_log_user;
    int64_t stop_grace_ms; /* after dur_stop(): late activities are logged, a store that cannot
                            * take their outcomes is given up; default 30000 */
    /* A run that closed sooner than this after it began is followed (continued as new) after the
     * rest of it: a loop must not spin. Default 1000; -1: at once. */
    int64_t chain_spacing_ms;
    int64_t suggest_events; /* dur_continue_suggested() from so many events on; default 4096 */
    int64_t suggest_bytes;  /* or so many bytes; default 4 MiB */
    int no_migrate; /* 1: DUR_OLDER for a file of an older version, instead of upgrading it (with a
                     * copy to path.before-N first) */
} dur_options;

/* Opens (creating and migrating as needed) the store at path. Always sets *engine (never NULL),
 * also on failure, so that dur_error() can be asked; always end with dur_close().
 * DUR_NEWER, DUR_INVALID (network or FUSE file system, not a factory database), DUR_IO, DUR_BUSY,
 * DUR_NOT_FOUND as above. Does not start to execute anything. */
#define dur_open(engine, path, ...)                                                                \
    dur_open_at((engine), (path), (__VA_ARGS__), sizeof(dur_options))
DUR_API int dur_open_at(dur_engine **engine, const char *path, const dur_options *options,
                        size_t options_size);
DUR_API void dur_close(dur_engine *engine); /* NULL fine. Waits for running activities' return. */
/* One line about the calling thread's last failed call on this engine; "" when none. */
DUR_API const char *dur_error(dur_engine *engine);

typedef enum dur_until {
    DUR_UNTIL_STOPPED = 0, /* until dur_stop() */
    DUR_UNTIL_IDLE = 1,    /* until no run is open (waiting runs count as open), or stopped */
} dur_until;
/* Takes the ownership lock (blocks as standby while another engine holds it), recovers, and
 * executes workflow and activity tasks until told or idle. DUR_OK, DUR_IO when the store failed for
 * good. */
DUR_API int dur_serve(dur_engine *engine, dur_until until);
/* Makes dur_serve return soon: running activities get a cancel (reason "stopping") and
 * are waited for (they run on the engine's threads). Async-signal-safe. */
DUR_API void dur_stop(dur_engine *engine);
/* Driving the engine from an event loop of one's own, instead of dur_serve: poll dur_fd() for
 * reading and call dur_step() when it is readable.
 *
 * dur_fd: a descriptor that becomes readable when dur_step would do something: work arrived, a
 * deadline came, an activity ended, dur_stop was called; also at the very beginning. Borrowed: do
 * not read or close it. It stays the same until dur_close. A negative code on failure.
 *
 * dur_step: does what is ready (at most one transaction) and returns. When nothing is, it waits up
 * to max_ms for it: 0 not at all, < 0 for ever. While another engine serves the store, it stands
 * by. 1: something was done, there may be more (the descriptor says so); 0: nothing was; DUR_OK's
 * value, so `while (dur_step(engine, 0) > 0)` is a way to do all that is ready. DUR_CANCELLED after
 * dur_stop, once all activities are home: the store is let go and the descriptor keeps quiet; a
 * further call begins anew.
 * DUR_IO when the store failed for good. DUR_BUSY within another call that drives this engine.
 * The calls of one engine come from one thread until it has stopped; close it there. One thread may
 * drive many engines. Activities run on their lanes' threads (dur_lane: 0 slots for none). */
DUR_API int dur_fd(dur_engine *engine);
DUR_API int dur_step(dur_engine *engine, int64_t max_ms);
/* 1 when some process serves this store now (its pid in *pid if not NULL), 0 when none. */
DUR_API int dur_served_by(dur_engine *engine, int64_t *pid);

/* --- client calls: from any process, whether or not an engine runs --------------------------- */

typedef enum dur_reuse {
    DUR_REUSE_ALLOW = 0,       /* a closed run's id may be used again */
    DUR_REUSE_FAILED_ONLY = 1, /* only if that run failed, was cancelled, terminated or timed out */
    DUR_REUSE_REJECT = 2,
} dur_reuse;

typedef struct dur_retry_policy {
    int64_t initial_interval_ms; /* default 1000 */
    double backoff_coefficient;  /* default 2.0; >= 1 */
    int64_t maximum_interval_ms; /* default 100 x initial */
    int maximum_attempts;        /* 0: no limit */
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
 * closed in a way that `reuse` does not allow; DUR_FULL when the disk budget refuses new runs. */
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
    int64_t event_id;   /* WORKFLOW_TASK_COMPLETED, _FAILED or _TIMED_OUT behind a _STARTED: that
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
    const char *memo;    /* JSON object */
    const char *result;  /* JSON when completed, else NULL */
    const char *failure; /* JSON (Temporal's Failure) when it failed in any way, else NULL */
    const char *parked;  /* report when a nondeterminism mismatch parks the run, else NULL */
    const char *paused;  /* why it is paused ("" when nobody said), else NULL */
    int attempt;         /* of the run as a whole, by its retry policy; from 1 */
    const char *first_run_id; /* of its chain of runs; its own when it is the first */
    const char *next_run_id;  /* of the run that took over (continued as new, retry, cron, reset) */
    int64_t begins_ns;        /* its code does not run before this time; 0: it has begun */
    const char *search_attributes; /* JSON object */
    const char *parent; /* "ID@RUN" of the run that started it as its child, or NULL */
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

/* Re-executes the registered workflow function against a history in Temporal's JSON form; touches
 * no store. DUR_OK, or DUR_MISMATCH with *report (dur_free): the first event that does not fit,
 * the command asked instead, and the source line that asked. */
DUR_API int dur_replay(dur_engine *engine, const char *history_json, char **report);
/* The same for a history in either form. Needs memory for about a thousand events and for what the
 * code itself keeps, however long the history is. */
DUR_API int dur_replay_bytes(dur_engine *engine, const void *bytes, size_t len, char **report);

/* --- schedules: runs that are started by the clock -------------------------------------------- */

/* What happens when a start is due while a run of the schedule is still open. */
typedef enum dur_overlap {
    DUR_OVERLAP_OWN = -1,        /* trigger and backfill only: as the schedule says */
    DUR_OVERLAP_SKIP = 0,        /* it is left out, and counted */
    DUR_OVERLAP_BUFFER_ONE = 1,  /* it starts when that run has closed; one waits at most */
    DUR_OVERLAP_BUFFER_ALL = 2,  /* the same, up to 1000 wait */
    DUR_OVERLAP_CANCEL_OTHER = 3, /* that run is asked to cancel; it starts when it has closed */
    DUR_OVERLAP_TERMINATE_OTHER = 4, /* that run is terminated, it starts */
    DUR_OVERLAP_ALLOW_ALL = 5,       /* it starts beside that run */
} dur_overlap;

typedef struct dur_interval {
    int64_t every_ms; /* at least a second; 0 ends a list */
    int64_t phase_ms; /* counted from 1970: every 1 h with phase 19 min is hh:19 */
} dur_interval;

typedef struct dur_schedule {
    /* When: whatever `cron` or `intervals` name, but not what `except` names. Neither: only
     * dur_schedule_trigger() starts anything.
     * cron: NULL-terminated list of texts. "MIN HOUR DAY MONTH WEEKDAY", the same and a year, or
     * seconds first and a year last; "*", "1-5", "*" "/15", lists, names (jan, mon); @hourly
     * @daily @weekly @monthly @yearly; "@every 90s" (an interval). "CRON_TZ=Europe/Berlin " in
     * front names a time zone. Day of month or day of week suffices when both are given.
     * Where clocks change: a rule with a fixed hour fires once for a local time that does not
     * exist, at the first instant after the gap, and once, the first time, for a local time that
     * comes twice; rules that fire every hour, and intervals, go by the hours that there are. */
    const char *const *cron;
    const dur_interval *intervals; /* ends with a zeroed entry, or NULL */
    const char *const *except;     /* NULL-terminated cron texts: "* * 24-26 12 *" */
    const char *time_zone;         /* IANA name for texts that name none; default UTC */
    int64_t start_ns, end_ns;      /* nothing before, nothing after; 0: no bound */
    int64_t jitter_ms;             /* up to so much later (less than until the next time); the same
                                    * time gets the same delay */
    /* What: the run's id is "PREFIX-2026-01-02T03:04:05Z", by the time it was due (nominal). Its
     * search attributes TemporalScheduledById and TemporalScheduledStartTime say so too, and
     * dur_last_result() what the run before returned. */
    const char *workflow_type;
    const char *id_prefix; /* default: the schedule's name */
    const char *input;     /* JSON or NULL */
    const char *task_queue;
    int64_t execution_timeout_ms, run_timeout_ms, task_timeout_ms;
    const dur_retry_policy *retry; /* of the run as a whole; NULL: none */
    const char *memo;              /* JSON object or NULL */
    const char *search_attributes; /* JSON object or NULL */
    int priority;                  /* 1 high .. 5 low; 0: 3 */
    /* How. */
    dur_overlap overlap;
    int64_t catchup_window_ms; /* times missed (no engine ran) are made up for if they are not
                                * older; else counted as missed. Default: 365 days; at least 10 s */
    int pause_on_failure;      /* 1: pause when a run failed or timed out */
    int64_t remaining_actions; /* so many scheduled starts, then it ends; 0: no limit */
    int paused;                /* 1: set it, but start nothing until dur_schedule_resume() */
    const char *note;          /* for people, or NULL */
} dur_schedule;

/* Makes the schedule, or gives the one of this name a new definition (its counts and runs stay;
 * times before now are not made up for). An engine that serves the store starts its runs: each
 * exactly once, in the transaction that moves the schedule on, whatever becomes of other runs.
 * DUR_INVALID says what is wrong with it, with the column of a cron text; also when it would never
 * fire. */
#define dur_schedule_set(engine, name, schedule)                                                   \
    dur_schedule_set_at((engine), (name), (schedule), sizeof(dur_schedule))
DUR_API int dur_schedule_set_at(dur_engine *engine, const char *name, const dur_schedule *schedule,
                                size_t schedule_size);
/* These five return DUR_NOT_FOUND when there is no schedule of this name. Runs that it started go
 * on when it is removed. Times while it is paused are left out; on resume it goes on from then. */
DUR_API int dur_schedule_remove(dur_engine *engine, const char *name);
/* Starts nothing more until dur_schedule_resume(); note, for people, may be NULL. */
DUR_API int dur_schedule_pause(dur_engine *engine, const char *name, const char *note);
DUR_API int dur_schedule_resume(dur_engine *engine, const char *name, const char *note);
/* Start one now, also when it is paused or ended. */
DUR_API int dur_schedule_trigger(dur_engine *engine, const char *name, dur_overlap overlap);
/* Start what was due within [from_ns, to_ns], now. Returns how many starts that are; DUR_LIMIT when
 * more than 1000 would wait. */
DUR_API int dur_schedule_backfill(dur_engine *engine, const char *name, int64_t from_ns,
                                  int64_t to_ns, dur_overlap overlap);

typedef struct dur_schedule_action {
    const char *workflow_id;
    const char *run_id; /* first of its chain */
    int64_t nominal_ns; /* when it was due */
    int64_t started_ns;
    int open; /* 1: it, or a run that took over from it, is open */
} dur_schedule_action;

/* What is known of a schedule: free with dur_schedule_info_free. */
typedef struct dur_schedule_info {
    const char *name;
    const char *definition; /* JSON of what was set: {"spec":..., "action":..., "policy":...} */
    int paused;
    const char *note;    /* "" when there is none */
    const char *problem; /* why it cannot start what is due (no zone files, disk full), or NULL */
    int64_t remaining;   /* scheduled starts left; -1: no limit */
    int64_t created_ns, changed_ns;
    int64_t started;     /* counts: runs started, */
    int64_t skipped;     /* left out because another was open, */
    int64_t missed;      /* older than the catch-up window, */
    int64_t dropped;     /* and more than may wait */
    int64_t waiting;     /* starts that wait for a run to close, or for an engine */
    const int64_t *next_ns; /* the next nominal times, at most 10, then 0 */
    const dur_schedule_action *actions; /* open runs and the latest closed ones, oldest first */
    size_t action_count;
} dur_schedule_info;
DUR_API int dur_schedule_describe(dur_engine *engine, const char *name, dur_schedule_info **info);
DUR_API void dur_schedule_info_free(dur_schedule_info *info);
/* By name, names behind `after` (NULL: from the first); calls `row` until it returns non-zero or
 * `limit` rows (0: all) were given. */
typedef int (*dur_schedule_fn)(void *user, const dur_schedule_info *info);
DUR_API int dur_schedule_list(dur_engine *engine, const char *after, int limit, dur_schedule_fn row,
                              void *user);

typedef enum dur_edge {
    DUR_EDGE_NONE = 0,
    DUR_EDGE_GAP = 1,    /* its local time does not exist: the first instant after the gap */
    DUR_EDGE_FIRST = 2,  /* its local time comes twice: the first time */
    DUR_EDGE_SECOND = 3, /* the second time */
} dur_edge;
typedef struct dur_schedule_time {
    int64_t nominal_ns;
    int64_t due_ns;      /* with jitter */
    int32_t offset_s;    /* local time there and then, minus UTC */
    const char *zone;    /* "Europe/Berlin" */
    const char *abbreviation; /* "CEST" */
    dur_edge edge;
} dur_schedule_time;
typedef int (*dur_schedule_time_fn)(void *user, const dur_schedule_time *time);
/* The times at which this would start something, after from_ns: calls `each` until it returns
 * non-zero, `count` were given or there are no more. Touches no store: engine may be NULL. name: as
 * in dur_schedule_set, for the jitter; NULL: "". */
#define dur_schedule_preview(engine, name, schedule, from_ns, count, each, user)                   \
    dur_schedule_preview_at((engine), (name), (schedule), sizeof(dur_schedule), (from_ns),         \
                            (count), (each), (user))
DUR_API int dur_schedule_preview_at(dur_engine *engine, const char *name,
                                    const dur_schedule *schedule, size_t schedule_size,
                                    int64_t from_ns, int count, dur_schedule_time_fn each,
                                    void *user);

/* --- inside a workflow ----------------------------------------------------------------------- */

typedef enum dur_cancellation {
    DUR_TRY_CANCEL = 0,  /* ask the activity to stop, return DUR_CANCELLED at once */
    DUR_WAIT_CANCEL = 1, /* ask it to stop and wait for its real end */
    DUR_ABANDON = 2,     /* return DUR_CANCELLED, leave it running */
} dur_cancellation;

typedef struct dur_activity_options {
    const char *task_queue;           /* default: "default" */
    const char *activity_id;          /* default: counter */
    int64_t schedule_to_close_ms;     /* whole life with all retries */
    int64_t schedule_to_start_ms;     /* waiting for a slot; never retried */
    int64_t start_to_close_ms;        /* one attempt; default 10 minutes when neither is given */
    int64_t heartbeat_ms;             /* longest silence of one attempt */
    int max_attempts;                 /* 0: no limit (shorthand for retry.maximum_attempts) */
    dur_retry_policy retry;
    dur_cancellation cancellation;
    int priority;                /* 1 first .. 5 last; 0: 3. Of those that wait in one task queue */
    const char *concurrency_key; /* of one key only so many at once (dur_queue's per_key); at most
                                  * 64 bytes, as Temporal's fairness key */
} dur_activity_options;

/* Schedule an activity and wait for it. *result may be NULL if not wanted. DUR_OK, DUR_FAILED
 * (dur_failure tells), DUR_CANCELLED, DUR_UNWIND. */
#define dur_run(ctx, type, input, result, ...)                                                     \
    dur_run_at((ctx), (type), (input), (result), (__VA_ARGS__), sizeof(dur_activity_options),      \
               __FILE__, __LINE__)
DUR_API int dur_run_at(dur_ctx *ctx, const char *type, const char *input, const char **result,
                       const dur_activity_options *options, size_t options_size, const char *file,
                       int line);
/* Schedule it and go on; never NULL: an invalid call gives a future that fails with DUR_INVALID. */
#define dur_start_activity(ctx, type, input, ...)                                                  \
    dur_start_activity_at((ctx), (type), (input), (__VA_ARGS__), sizeof(dur_activity_options),     \
                          __FILE__, __LINE__)
DUR_API dur_future *dur_start_activity_at(dur_ctx *ctx, const char *type, const char *input,
                                          const dur_activity_options *options, size_t options_size,
                                          const char *file, int line);
/* --- local activities and transactions: steps that leave a marker only ----------------------- */

typedef struct dur_local_options {
    int64_t schedule_to_close_ms; /* whole life with all retries */
    int64_t start_to_close_ms;    /* one attempt; default 10 minutes when neither is given */
    int max_attempts;             /* 0: no limit (shorthand for retry.maximum_attempts) */
    dur_retry_policy retry;
    /* Up to this long a back-off is waited for in memory; a longer one becomes a timer of the run.
     * Default 1 minute. */
    int64_t local_retry_threshold_ms;
    dur_cancellation cancellation;
} dur_local_options;
/* Run a registered activity without a schedule of its own in the history: for short, cheap steps.
 * It runs on lane "local" of the engine that runs the workflow; only its outcome is recorded, in
 * the commit that goes on with it. A crash before that commit runs it again, from attempt 1;
 * heartbeats and tokens do nothing. Codes as for dur_run. */
#define dur_run_local(ctx, type, input, result, ...)                                               \
    dur_run_local_at((ctx), (type), (input), (result), (__VA_ARGS__), sizeof(dur_local_options),   \
                     __FILE__, __LINE__)
DUR_API int dur_run_local_at(dur_ctx *ctx, const char *type, const char *input,
                             const char **result, const dur_local_options *options,
                             size_t options_size, const char *file, int line);
/* Start it and go on, as dur_start_activity. */
#define dur_start_local(ctx, type, input, ...)                                                     \
    dur_start_local_at((ctx), (type), (input), (__VA_ARGS__), sizeof(dur_local_options), __FILE__, \
                       __LINE__)
DUR_API dur_future *dur_start_local_at(dur_ctx *ctx, const char *type, const char *input,
                                       const dur_local_options *options, size_t options_size,
                                       const char *file, int line);
/* Run a registered transaction: SQL on tables of the program's own (dur_options.schema) in the same
 * file, in the very commit that records it. It happens exactly once, whatever crashes. It does not
 * wait. DUR_OK, or DUR_FAILED when it failed: what it wrote is taken back, dur_failure() tells. */
#define dur_run_transaction(ctx, name, input, result)                                              \
    dur_run_transaction_at((ctx), (name), (input), (result), __FILE__, __LINE__)
DUR_API int dur_run_transaction_at(dur_ctx *ctx, const char *name, const char *input,
                                   const char **result, const char *file, int line);

/* A future that is done after so long; at once, without a trace, when ms <= 0. */
#define dur_timer(ctx, ms) dur_timer_at((ctx), (ms), __FILE__, __LINE__)
DUR_API dur_future *dur_timer_at(dur_ctx *ctx, int64_t ms, const char *file, int line);
/* The same, waited for: DUR_OK, DUR_CANCELLED, DUR_UNWIND. */
#define dur_sleep(ctx, ms) dur_sleep_at((ctx), (ms), __FILE__, __LINE__)
DUR_API int dur_sleep_at(dur_ctx *ctx, int64_t ms, const char *file, int line);

/* Wait for one future. Code and *result as for dur_run. May be called again: same answer. */
#define dur_await(ctx, future, result) dur_await_at((ctx), (future), (result), __FILE__, __LINE__)
DUR_API int dur_await_at(dur_ctx *ctx, dur_future *future, const char **result, const char *file,
                         int line);
/* Wait until at least one of `count` futures is done: its index (the lowest done one), or
 * DUR_CANCELLED / DUR_UNWIND. NULL entries are skipped. */
#define dur_select(ctx, futures, count)                                                            \
    dur_select_at((ctx), (futures), (count), __FILE__, __LINE__)
DUR_API int dur_select_at(dur_ctx *ctx, dur_future *const *futures, size_t count, const char *file,
                          int line);
DUR_API int dur_done(const dur_future *future); /* 1 when dur_await would not block */
/* Cancel this one future's activity, timer or child (its own cancellation type applies), or take a
 * request to another run back if it is not under way yet. */
DUR_API void dur_cancel_future(dur_ctx *ctx, dur_future *future);

/* Wait for the next signal of this name; timeout_ms < 0: for ever, 0: only look. DUR_OK,
 * DUR_TIMED_OUT, DUR_CANCELLED, DUR_UNWIND. */
#define dur_receive(ctx, signal, timeout_ms, input)                                                \
    dur_receive_at((ctx), (signal), (timeout_ms), (input), __FILE__, __LINE__)
DUR_API int dur_receive_at(dur_ctx *ctx, const char *signal, int64_t timeout_ms,
                           const char **input, const char *file, int line);
/* A future that is done when a signal of this name is buffered (await does not consume it). */
DUR_API dur_future *dur_signal_future(dur_ctx *ctx, const char *signal);

/* Wait until condition(arg) is not 0; timeout_ms < 0: for ever, 0: only look. The condition reads
 * the run's own memory, nothing else, and calls nothing of this library: it is looked at whenever
 * every coroutine of the run is blocked. DUR_OK (it holds now), DUR_TIMED_OUT, DUR_CANCELLED,
 * DUR_UNWIND. A timeout above 0 is a timer in the history. */
#define dur_wait(ctx, condition, arg, timeout_ms)                                                  \
    dur_wait_at((ctx), (condition), (arg), (timeout_ms), __FILE__, __LINE__)
DUR_API int dur_wait_at(dur_ctx *ctx, int (*condition)(void *arg), void *arg, int64_t timeout_ms,
                        const char *file, int line);

/* A channel between coroutines of one run: values come out in the order they went in. capacity: how
 * many it holds before dur_send blocks; 0: every send waits for its taker. Nothing of it is in the
 * history. Lives with the run. */
typedef struct dur_channel dur_channel;
DUR_API dur_channel *dur_channel_new(dur_ctx *ctx, size_t capacity);
/* json is copied (NULL: null) and not looked at. DUR_OK, DUR_CANCELLED (it was not sent),
 * DUR_UNWIND, DUR_INVALID (the channel is closed, or of another run). */
#define dur_send(ctx, channel, json) dur_send_at((ctx), (channel), (json), __FILE__, __LINE__)
DUR_API int dur_send_at(dur_ctx *ctx, dur_channel *channel, const char *json, const char *file,
                        int line);
/* timeout_ms < 0: for ever, 0: only look. DUR_OK, DUR_NOT_FOUND (closed, and nothing is left),
 * DUR_TIMED_OUT, DUR_CANCELLED, DUR_UNWIND. result may be NULL. */
#define dur_take(ctx, channel, timeout_ms, result)                                                 \
    dur_take_at((ctx), (channel), (timeout_ms), (result), __FILE__, __LINE__)
DUR_API int dur_take_at(dur_ctx *ctx, dur_channel *channel, int64_t timeout_ms, const char **result,
                        const char *file, int line);
/* No more sends. What it holds can still be taken; senders that wait get DUR_INVALID. */
DUR_API void dur_channel_close(dur_ctx *ctx, dur_channel *channel);
/* A future for dur_select: done while dur_take would not block (await does not take). */
DUR_API dur_future *dur_channel_future(dur_ctx *ctx, dur_channel *channel);

/* --- handlers: what others may ask of a run ---
 * Register them first thing in the workflow function; fn NULL takes a handler back. Names: 1..1000
 * bytes, not beginning with "__". DUR_OK, DUR_INVALID, DUR_UNWIND.
 *
 * arg must live as long as the handler may be called: queries are also answered when the run is
 * closed. Memory of dur_ctx_alloc() does; a variable of the workflow function does until that
 * returns (afterwards the handler is refused, never called with a frame that is gone).
 *
 * QUERIES only read: the handler makes no durable call (the query fails then), takes no time, and
 * leaves no trace. dur_ctx_jsonf() and dur_ctx_json_string() of its ctx give memory for the answer;
 * `return dur_fail_run(ctx, "NoSuchItem", "...");` refuses. Every run also answers "__stack_trace"
 * and "__temporal_workflow_metadata". */
typedef int (*dur_query_fn)(dur_ctx *ctx, const char *input, const char **result, void *arg);
DUR_API int dur_on_query(dur_ctx *ctx, const char *name, dur_query_fn fn, void *arg);
/* SIGNALS: one coroutine each, in order of arrival, begun before the code that waits goes on. What
 * was buffered is handled too. While a name has a handler, dur_receive() does not see its signals.
 * The code that fn returns is logged and means nothing. */
typedef int (*dur_signal_fn)(dur_ctx *ctx, const char *input, void *arg);
DUR_API int dur_on_signal(dur_ctx *ctx, const char *name, dur_signal_fn fn, void *arg);
/* UPDATES: the validator (NULL: none) only reads, like a query, and is not asked in replay; what it
 * returns other than DUR_OK (`return dur_fail_run(ctx, "Negative", "...");`) rejects the update,
 * which leaves no trace. fn then runs as a coroutine: it may wait. Its result, or its failure
 * (DUR_FAILED with the failure of a call or of dur_fail_run), is the update's outcome; neither ends
 * the run. Wait for your handlers before the workflow function returns:
 *     dur_wait(ctx, all_done, ctx, -1) with a condition that asks dur_all_handlers_finished().
 * An update that the run's end cuts off fails. */
typedef int (*dur_validator_fn)(dur_ctx *ctx, const char *input, void *arg);
typedef int (*dur_update_fn)(dur_ctx *ctx, const char *input, const char **result, void *arg);
DUR_API int dur_on_update(dur_ctx *ctx, const char *name, dur_validator_fn validator,
                          dur_update_fn fn, void *arg);
DUR_API int dur_all_handlers_finished(dur_ctx *ctx); /* 1: no handler of a signal or update runs */
/* Zeroed memory of the run: it lives until the run is closed or evicted, for queries too. */
DUR_API void *dur_ctx_alloc(dur_ctx *ctx, size_t bytes);

/* Run fn as a coroutine of this run: concurrent, deterministic, never parallel. The future is done
 * when fn returned; dur_await gives its code and result. Await it before the frame that arg points
 * into returns: a coroutine that is still running when the workflow function returns unwinds later.
 */
typedef int (*dur_coroutine_fn)(dur_ctx *ctx, void *arg, const char **result);
#define dur_go(ctx, fn, arg) dur_go_at((ctx), (fn), (arg), __FILE__, __LINE__)
DUR_API dur_future *dur_go_at(dur_ctx *ctx, dur_coroutine_fn fn, void *arg, const char *file,
                              int line);

/* --- children, and other runs ---
 * A child is a run of its own, with an id, a history and a life of its own. Its making is part of
 * the same commit as the parent's step that asks for it, and so is its end with what the parent
 * learns of it. What comes of it when the parent ends first is parent_close. Runs that follow one
 * another in the child (continue-as-new, retries, cron) look like one child to the parent. */

typedef enum dur_parent_close {
    DUR_PARENT_CLOSE_TERMINATE = 0, /* the child is terminated with its parent */
    DUR_PARENT_CLOSE_ABANDON = 1,   /* it goes on */
    DUR_PARENT_CLOSE_REQUEST_CANCEL = 2, /* it is asked to cancel itself */
} dur_parent_close;

typedef struct dur_child_options {
    const char *workflow_id; /* default: made from the run's id and a counter; dur_child_id() */
    const char *task_queue;  /* default: the parent's */
    int64_t execution_timeout_ms; /* of all its runs together; 0: none */
    int64_t run_timeout_ms;       /* of one run; 0: none */
    int64_t task_timeout_ms;      /* as recorded for its workflow tasks; default 10 s */
    dur_parent_close parent_close;
    dur_reuse reuse;               /* of an id whose run is closed; an open one always clashes */
    const dur_retry_policy *retry; /* of the child as a whole; NULL: none */
    const char *cron;              /* "0 3 * * *" ...: it runs again and again; NULL: once */
    const char *memo;              /* JSON object, or NULL */
    const char *search_attributes; /* JSON object as of dur_start, or NULL */
    dur_cancellation cancellation; /* what a cancelled scope does with it */
    int priority;                  /* 1 high .. 5 low, 0: 3 */
} dur_child_options;

/* Start a child workflow and wait for its end. DUR_OK with its result; DUR_FAILED when it failed,
 * timed out, was terminated, or could not start because its id is taken (dur_failure() tells: a
 * wrapper of type "Child" around the cause; "WorkflowExecutionAlreadyStarted" for the last);
 * DUR_CANCELLED; DUR_UNWIND. DUR_TRY_CANCEL and DUR_WAIT_CANCEL ask a child to cancel itself; the
 * latter waits for how it really ends. One whose start was not recorded yet never starts. */
#define dur_run_child(ctx, type, input, result, ...)                                               \
    dur_run_child_at((ctx), (type), (input), (result), (__VA_ARGS__), sizeof(dur_child_options),   \
                     __FILE__, __LINE__)
DUR_API int dur_run_child_at(dur_ctx *ctx, const char *type, const char *input, const char **result,
                             const dur_child_options *options, size_t options_size,
                             const char *file, int line);
/* Start it and go on: a future of its result. Never NULL: an invalid call gives a future that fails
 * with DUR_INVALID. A run that returns leaves its children to parent_close; to leave one behind,
 * use DUR_PARENT_CLOSE_ABANDON. */
#define dur_start_child(ctx, type, input, ...)                                                     \
    dur_start_child_at((ctx), (type), (input), (__VA_ARGS__), sizeof(dur_child_options), __FILE__, \
                       __LINE__)
DUR_API dur_future *dur_start_child_at(dur_ctx *ctx, const char *type, const char *input,
                                       const dur_child_options *options, size_t options_size,
                                       const char *file, int line);
/* Wait until it has started: DUR_OK with the id of its first run (run_id may be NULL), or why it
 * did not, as dur_run_child. */
#define dur_child_started(ctx, future, run_id)                                                     \
    dur_child_started_at((ctx), (future), (run_id), __FILE__, __LINE__)
DUR_API int dur_child_started_at(dur_ctx *ctx, dur_future *future, const char **run_id,
                                 const char *file, int line);
/* Its workflow id; NULL when the future is no child's. */
DUR_API const char *dur_child_id(const dur_future *future);

/* Signal another run: "ID" means the id's current run, "ID@RUN" that one. The future is done when
 * the signal is in the other's history: DUR_OK, or DUR_FAILED of type
 * "ExternalWorkflowExecutionNotFound": no such open run, or it is the caller itself. Signals to one
 * run arrive in the order in which they were asked for, also those of a run's last step. */
#define dur_signal_external(ctx, id, signal, input)                                                \
    dur_signal_external_at((ctx), (id), (signal), (input), __FILE__, __LINE__)
DUR_API dur_future *dur_signal_external_at(dur_ctx *ctx, const char *id, const char *signal,
                                           const char *input, const char *file, int line);
/* The same for a child of this run. */
#define dur_signal_child(ctx, child, signal, input)                                                \
    dur_signal_child_at((ctx), (child), (signal), (input), __FILE__, __LINE__)
DUR_API dur_future *dur_signal_child_at(dur_ctx *ctx, dur_future *child, const char *signal,
                                        const char *input, const char *file, int line);
/* Ask another run to cancel itself. As above, but a run that is closed already is no failure. */
#define dur_cancel_external(ctx, id, reason)                                                       \
    dur_cancel_external_at((ctx), (id), (reason), __FILE__, __LINE__)
DUR_API dur_future *dur_cancel_external_at(dur_ctx *ctx, const char *id, const char *reason,
                                           const char *file, int line);

/* A context that the run's cancellation does not touch: for cleanup. Lives with the run. */
DUR_API dur_ctx *dur_disconnected(dur_ctx *ctx);
/* A child scope of ctx that can be cancelled by itself; cancelling ctx cancels it too. */
DUR_API dur_ctx *dur_scope(dur_ctx *ctx);
DUR_API void dur_cancel_scope(dur_ctx *scope); /* and the scopes within it */
DUR_API int dur_is_cancelled(const dur_ctx *ctx); /* 1 when this scope (or a parent) is cancelled */
DUR_API const char *dur_cancel_reason(const dur_ctx *ctx); /* of the cancel request, "" if none */

/* The failure behind the last DUR_FAILED that this context returned, or NULL. */
DUR_API const dur_failure_info *dur_failure(const dur_ctx *ctx);
/* Fail the run: `return dur_fail_run(ctx, "TooLate", "no parcel after %d days", 14);` With a retry
 * policy of the run as a whole (dur_start_options.retry) it is tried again unless the policy lists
 * the type as not retryable. */
DUR_API int dur_fail_run(dur_ctx *ctx, const char *type, const char *fmt, ...) DUR_PRINTF(3, 4);

/* Deterministic time, randomness, ids and logging. */
DUR_API int64_t dur_now_ns(dur_ctx *ctx); /* of the current workflow task; never runs backwards */
DUR_API uint64_t dur_random(dur_ctx *ctx);
DUR_API const char *dur_uuid(dur_ctx *ctx); /* version 4 */
DUR_API int dur_is_replaying(const dur_ctx *ctx); /* 1: nothing but logging may depend on it */
DUR_API void dur_log(dur_ctx *ctx, const char *fmt, ...) DUR_PRINTF(2, 3); /* silent in replay */
DUR_API const char *dur_workflow_id(const dur_ctx *ctx); /* as given to dur_start */
DUR_API const char *dur_run_id(const dur_ctx *ctx);      /* UUID of this run of it */

/* Run fn once, record its JSON result, return the recorded value at every replay. fn must be quick
 * and must not call the engine. */
typedef int (*dur_side_effect_fn)(void *arg, const char **result);
#define dur_side_effect(ctx, fn, arg, result)                                                      \
    dur_side_effect_at((ctx), (fn), (arg), (result), __FILE__, __LINE__)
DUR_API int dur_side_effect_at(dur_ctx *ctx, dur_side_effect_fn fn, void *arg, const char **result,
                               const char *file, int line);
/* The same for a value that changes: fn runs at every call (never in replay), and its result is
 * recorded only when it differs from the last one of this id: equal(last, fresh, arg) says 0, or
 * the texts differ when equal is NULL. *result is the value that holds now. An fn that fails leaves
 * the last value; before the first value it parks the run. Recorded in Go's form, with the ordinal
 * of the call. */
typedef int (*dur_equal_fn)(const char *last, const char *fresh, void *arg);
#define dur_mutable_side_effect(ctx, id, fn, arg, equal, result)                                   \
    dur_mutable_side_effect_at((ctx), (id), (fn), (arg), (equal), (result), __FILE__, __LINE__)
DUR_API int dur_mutable_side_effect_at(dur_ctx *ctx, const char *id, dur_side_effect_fn fn,
                                       void *arg, dur_equal_fn equal, const char **result,
                                       const char *file, int line);
/* Code version of a change: -1 for runs that passed here before the change existed, else the
 * highest version at first passage. A value outside [min, max] parks the run with a mismatch. */
#define dur_code_version(ctx, change, min, max)                                                    \
    dur_code_version_at((ctx), (change), (min), (max), __FILE__, __LINE__)
DUR_API int dur_code_version_at(dur_ctx *ctx, const char *change, int min, int max,
                                const char *file, int line);
/* A change of the code, recorded as Temporal's Core does (dur_code_version records as Go does):
 * 1: take the new way; 0: the run passed here before the change existed, and stays on the old way.
 * Once no run with 0 is open, dur_deprecate_patch() takes the call's place, and the old way goes;
 * once no run is open that called dur_patched(), that call goes too. Negative: DUR_UNWIND etc., to
 * be returned. */
#define dur_patched(ctx, patch) dur_patched_at((ctx), (patch), __FILE__, __LINE__)
DUR_API int dur_patched_at(dur_ctx *ctx, const char *patch, const char *file, int line);
#define dur_deprecate_patch(ctx, patch) dur_deprecate_patch_at((ctx), (patch), __FILE__, __LINE__)
DUR_API void dur_deprecate_patch_at(dur_ctx *ctx, const char *patch, const char *file, int line);

/* End this run and let another one of the same id take over: for what goes on for ever, so that no
 * history grows without bound. `return dur_continue_as_new(ctx, input, NULL);` gives DUR_CONTINUE;
 * the run ends when the function returns that, together with the birth of the next, in one commit.
 * The next run has this one's type, task queue, time-outs, retry policy, cron text, memo and
 * search attributes unless the options say otherwise. Signals that nobody received go along, in
 * order, as if they had been sent to it. Open activities and timers end with this run; children
 * are treated as at any other end. When the run lasted less than a second, the next one's code
 * waits for the rest of it (dur_options.chain_spacing_ms). Options or an input that cannot be park
 * the run, as a result that is not JSON does. */
typedef struct dur_continue_options {
    const char *type;       /* NULL, 0: as this run, throughout */
    const char *task_queue;
    int64_t run_timeout_ms;
    int64_t task_timeout_ms;
    const char *memo;              /* JSON object, instead of this run's */
    const char *search_attributes; /* JSON object, instead of this run's */
    const dur_retry_policy *retry;
    int64_t backoff_ms; /* the next run's code begins so much later; 0: at once */
} dur_continue_options;
#define dur_continue_as_new(ctx, input, ...)                                                       \
    dur_continue_as_new_at((ctx), (input), (__VA_ARGS__), sizeof(dur_continue_options), __FILE__,  \
                           __LINE__)
DUR_API int dur_continue_as_new_at(dur_ctx *ctx, const char *input,
                                   const dur_continue_options *options, size_t options_size,
                                   const char *file, int line);
/* 1 when the history has become long (dur_options.suggest_events, suggest_bytes): a good moment to
 * continue as new. Recorded with the task: every replay answers the same, as do the next two. */
DUR_API int dur_continue_suggested(const dur_ctx *ctx);
DUR_API int64_t dur_history_events(const dur_ctx *ctx); /* up to the current task */
DUR_API int64_t dur_history_bytes(const dur_ctx *ctx);  /* as stored; follows in steps of 4 KiB */

/* What the run knows of itself. Texts live as long as the run. */
DUR_API int dur_attempt(const dur_ctx *ctx); /* by the retry policy of the run as a whole; from 1 */
DUR_API const char *dur_parent_id(const dur_ctx *ctx); /* workflow id of its parent, or NULL */
DUR_API const char *dur_memo(const dur_ctx *ctx);      /* JSON object, with what was upserted */
/* Of the chain of runs before (cron, retry): the last result of one that succeeded, or NULL; the
 * failure of the run directly before, or NULL when that one succeeded. */
DUR_API const char *dur_last_result(const dur_ctx *ctx);
DUR_API const dur_failure_info *dur_last_failure(const dur_ctx *ctx); /* or NULL */

/* Set search attributes of the run (JSON object; null takes one away). Values: a text (Keyword), a
 * number (Int or Double), true or false (Bool), an array of texts (KeywordList), or
 * {"type":"Datetime","value":"2026-01-02T03:04:05Z"}, type being any of these or Text. They are
 * found by dur_list_where(). DUR_INVALID: not such an object; DUR_LIMIT: all that the run has
 * would exceed 40 KiB. */
#define dur_upsert_search_attributes(ctx, attributes)                                              \
    dur_upsert_search_attributes_at((ctx), (attributes), __FILE__, __LINE__)
DUR_API int dur_upsert_search_attributes_at(dur_ctx *ctx, const char *attributes, const char *file,
                                            int line);
/* Those that the run has now, as such an object; lives with the run. */
DUR_API const char *dur_search_attributes(const dur_ctx *ctx);
/* Set keys of the run's memo (JSON object of new values; null removes a key). */
#define dur_upsert_memo(ctx, memo) dur_upsert_memo_at((ctx), (memo), __FILE__, __LINE__)
DUR_API int dur_upsert_memo_at(dur_ctx *ctx, const char *memo, const char *file, int line);

/* JSON helpers in the run's memory. %q prints its const char * argument as a JSON string (NULL:
 * null), %j prints it as it is (already JSON; NULL: null), %d %i64 %b as int, int64_t, boolean; %%
 * a percent. */
DUR_API const char *dur_ctx_jsonf(dur_ctx *ctx, const char *fmt, ...);
/* The text of a JSON string at an RFC 6901 pointer ("/a/b/0"), or NULL. */
DUR_API const char *dur_ctx_json_string(dur_ctx *ctx, const char *json, const char *pointer);
/* Pure look-ups by such a pointer, as dur_json_bool; `otherwise` when absent or of another type. */
DUR_API int64_t dur_json_int(const char *json, const char *pointer, int64_t otherwise);
DUR_API int dur_json_bool(const char *json, const char *pointer, int otherwise);

/* --- inside an activity ---------------------------------------------------------------------- */

/* End this attempt with a failure: `return dur_fail(act, DUR_TRANSIENT, "BankDown", "...");` The
 * message is cut at 16 KiB. */
DUR_API int dur_fail(dur_activity *act, dur_kind kind, const char *type, const char *fmt, ...)
    DUR_PRINTF(4, 5);
typedef struct dur_failure_options {
    dur_kind kind;               /* default DUR_TRANSIENT */
    const char *type;            /* default "Error" */
    const char *message;         /* cut at 16 KiB */
    const char *details;         /* JSON, for dur_failure_info.details; or NULL */
    int64_t next_retry_delay_ms; /* instead of the retry policy's wait, uncapped; 0: as it says */
} dur_failure_options;
/* The same with all that a failure can carry. Details that are not JSON or longer than 2 MiB make a
 * permanent failure of type "BadDetails" of it. */
#define dur_fail_with(act, ...)                                                                    \
    dur_fail_with_at((act), (__VA_ARGS__), sizeof(dur_failure_options))
DUR_API int dur_fail_with_at(dur_activity *act, const dur_failure_options *options,
                             size_t options_size);
/* Somebody else will say how this attempt ends: give the token away, `return DUR_PENDING;`, and
 * have dur_complete() called with it, from any process, also while no engine runs. The slot is free
 * at once; start_to_close_ms and heartbeat_ms go on, over restarts too, and a cancel request is
 * seen by dur_complete_heartbeat(). A process that dies before it returned DUR_PENDING counts as an
 * attempt that was lost: the next one has another token. NULL in a local activity. */
DUR_API const char *dur_activity_token(dur_activity *act);
/* Tell that the attempt is alive. details (JSON or NULL: unchanged) are durable soon (at the latest
 * after 80 % of the heartbeat timeout, at most a second) and reach the next attempt. DUR_OK, or
 * DUR_CANCELLED when the attempt should stop: clean up and `return DUR_CANCELLED`. DUR_INVALID (not
 * JSON) and DUR_LIMIT (over 2 MiB) change nothing. */
DUR_API int dur_heartbeat(dur_activity *act, const char *details);
/* The same, but returns only when the details are committed: for the id of work left running. */
DUR_API int dur_heartbeat_sync(dur_activity *act, const char *details);
DUR_API const char *dur_heartbeat_details(dur_activity *act); /* of the attempt before, or NULL */
/* 1 when the attempt should stop. *reason (may be NULL): "cancelled", "timed out", "stopping" (the
 * engine), "closed" (its run is over). */
DUR_API int dur_activity_cancelled(dur_activity *act, const char **reason);
/* A descriptor that becomes readable when dur_activity_cancelled turns 1: for poll(). Borrowed. */
DUR_API int dur_activity_cancel_fd(dur_activity *act);
DUR_API const char *dur_activity_key(dur_activity *act); /* idempotency: same for all attempts */
DUR_API int dur_activity_attempt(dur_activity *act);     /* from 1 */
DUR_API const dur_failure_info *dur_activity_last_failure(dur_activity *act); /* or NULL */
DUR_API const char *dur_activity_workflow_id(dur_activity *act); /* of the run that asked for it */
DUR_API const char *dur_activity_run_id(dur_activity *act);      /* the same */
/* In the attempt's memory, dur_jsonf as dur_ctx_jsonf, dur_json_string as dur_ctx_json_string. */
DUR_API const char *dur_jsonf(dur_activity *act, const char *fmt, ...);
DUR_API const char *dur_json_string(dur_activity *act, const char *json, const char *pointer);
DUR_API void *dur_activity_alloc(dur_activity *act, size_t bytes); /* zeroed; attempt's life */

/* --- inside a transaction --------------------------------------------------------------------- */

/* One statement on tables of the program's own. Values come apart from the text: params_json is an
 * array for ?1, ?2 ..., an object for :name, or NULL. DUR_OK; DUR_INVALID: it was refused or failed
 * and changed nothing (dur_sql_error); go on or give up. DUR_IO: the store failed, return at once.
 * Refused: the engine's tables and views, ATTACH, PRAGMA, transaction control, and changes of the
 * schema. ROLLBACK as a conflict clause or in a trigger fails the transaction: use ABORT. */
DUR_API int dur_sql_exec(dur_sql *sql, const char *text, const char *params_json);
/* *rows_json: "[{"column":value,...},...]", at most 2 MiB, lives as long as the transaction; blobs
 * are base64. */
DUR_API int dur_sql_rows(dur_sql *sql, const char *text, const char *params_json,
                         const char **rows_json);
DUR_API int64_t dur_sql_changes(const dur_sql *sql); /* rows that the last statement changed */
DUR_API const char *dur_sql_error(const dur_sql *sql); /* of the last statement; "" when good */
/* `return dur_sql_fail(sql, "OutOfStock", "...");` never retried */
DUR_API int dur_sql_fail(dur_sql *sql, const char *type, const char *fmt, ...) DUR_PRINTF(3, 4);
DUR_API void *dur_sql_alloc(dur_sql *sql, size_t bytes); /* zeroed; the transaction's life */

/* --- testing one's own workflows -------------------------------------------------------------- */

/* A test engine is an engine whose time skips: it stands still while anything runs and jumps to the
 * next deadline when nothing does, so a timer of 14 days takes none. Its store is private and goes
 * with it. All else is as in production: register, start, signal, look at results and histories.
 *
 *     dur_test_open(&engine, NULL);
 *     dur_register_workflow(engine, "Order", order, NULL);
 *     dur_test_mock(engine, "Charge", fake_charge, &bank);
 *     dur_start(engine, "Order", "o-1", "{}", NULL);
 *     dur_test_advance(engine, 3 * DUR_DAYS);      three days later
 *     dur_signal(engine, "o-1", "picked-up", NULL);
 *     dur_test_run(engine);                        until nothing moves
 *     dur_result(engine, "o-1", 0, &result);
 *
 * Several may live side by side; each has its own time. */
typedef struct dur_test_options {
    int64_t start_ns;  /* what time it is at first; default 2026-01-01T00:00:00Z */
    int replay_always; /* 1: runs are forgotten after every task and go on by replay, which finds
                        * code that is not deterministic */
    int64_t limit_ms;  /* dur_test_run gives up after so much time; default 366 days */
    const char *path;  /* keep the store there; default: in memory or $TMPDIR, removed at the end */
    void (*on_log)(void *user, int level, const char *line); /* default: nothing is said */
    void *on_log_user;
} dur_test_options;
/* As dur_open. */
#define dur_test_open(engine, ...)                                                                 \
    dur_test_open_at((engine), (__VA_ARGS__), sizeof(dur_test_options))
DUR_API int dur_test_open_at(dur_engine **engine, const dur_test_options *options,
                             size_t options_size);
/* From now on activities of this type are this function, also in place of a registered one. Any
 * time but while the engine is driven. */
DUR_API int dur_test_mock(dur_engine *engine, const char *type, dur_activity_fn fn, void *user);
/* Executes whatever there is, skipping time, until every run is closed or waits for something that
 * time alone does not bring. DUR_OK; DUR_TIMED_OUT when something is still due after limit_ms (an
 * endless retry, a cron); DUR_BUSY when an activity that does not return holds the clock. Belongs
 * to one thread, as dur_step. */
DUR_API int dur_test_run(dur_engine *engine);
/* The same for exactly so much time, 0 for what can be done now. What falls due on the way happens
 * at its own time. Does not wait for activities that wait for the outside. */
DUR_API int dur_test_advance(dur_engine *engine, int64_t ms);
DUR_API int64_t dur_test_now(dur_engine *engine); /* nanoseconds since 1970 */
/* For mocks: let the activity take so long, by the test engine's clock. Its timeouts and the run's
 * timers go on meanwhile. DUR_OK, or DUR_CANCELLED when it should stop; DUR_INVALID in an activity
 * of another engine. An activity that waits in any other way holds the clock. */
DUR_API int dur_test_sleep(dur_activity *act, int64_t ms);

#ifdef __cplusplus
}
#endif

#endif
