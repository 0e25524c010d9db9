/*
 * durable.h - libdurable: durable workflows in plain C, on one SQLite file or a Temporal server.
 *
 * This header is the manual. It compiles as C99 and C++ and names no third-party type. It is the
 * one to include; its parts (what engines, clients, schedules, workflows, activities and tests
 * call) lie beside it in durable/.
 *
 * WHAT IT DOES. A *workflow* is an ordinary, sequential, deterministic C function. Whatever touches
 * the world is an *activity*: an ordinary blocking C callback. The engine journals every step as
 * Temporal-equivalent history events in one SQLite file; a process may be killed at any instant and
 * the next one goes on from the last commit by replaying the workflow function against its history.
 * dur_connect() instead of dur_open() runs the same functions on a Temporal server; below it stands
 * what is different there.
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
 * function for a handler is dur_stop. What the library writes raises no SIGPIPE. A program with a
 * file size limit ignores SIGXFSZ; the engine then sees a full disk.
 *
 * MEMORY. The library keeps 2 MiB of address space in reserve. The first allocation that is refused
 * gives it back and is tried again; until it could be set aside anew, memory is short: the engine
 * keeps no run in memory that only waits (it is replayed when its time comes), and dur_start and
 * whatever else makes a run is DUR_FULL. Runs that exist go on. Refused even then, the process
 * leaves with status 70 and one line on standard error: for the store that is kill -9, so whatever
 * was acknowledged is there for the next process. A host program that must outlive that runs the
 * engine in a process of its own. Sizes that callers give cannot cause it: they are bounded first.
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
#define DUR_FULL (-11)      /* disk budget, reserve or memory spent: no new runs; nothing is lost */
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

/* clang-format off: in this order, since later parts use earlier ones' types */
#include "durable/engine.h"
#include "durable/connect.h"
#include "durable/client.h"
#include "durable/schedule.h"
#include "durable/workflow.h"
#include "durable/activity.h"
#include "durable/testing.h"
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
