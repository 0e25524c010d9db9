/*
 * run.h - the front door of exec/: one workflow run, events in, events out.
 *
 * Owns: struct run, which drives one workflow function on fibers. Pure: no clock, no I/O, no SQL,
 * no threads; the only memory beyond the heap are the fiber stacks. Two hosts drive it (the SQLite
 * worker and, later, the Temporal adapter); tests drive it with a made-up host.
 *
 * Life of a run in a host:
 *
 *     run_new(spec)
 *     run_replay(run, history ...)        only if the history already holds completed tasks
 *     loop: run_task(run, new events ... ending with WORKFLOW_TASK_STARTED) -> append out.events
 *     run_free(run)                       closed, evicted or shutting down: fibers unwind
 *
 * Rules for a host
 *  - Event ids are 1..n without gaps. Each call gets events in id order; events that the run has
 *    already processed (id <= run_processed()) are skipped, a gap is an error. The events that
 *    run_task returned count as processed: the host appends them unchanged (with a time) or, if it
 *    cannot commit them, frees the run and replays it later.
 *  - Nothing else may be appended between WORKFLOW_TASK_STARTED and the events returned.
 *  - `events` and what they point to need to live only during the call: what workflow code may see
 *    is copied into the run's memory.
 *  - After any outcome other than 0 the run only accepts run_free().
 *  - A run belongs to the thread that made it (fibers may have cached thread-local addresses).
 *
 * Delivery rule 1 (recorded as langUsedFlags 1 in the first WORKFLOW_TASK_COMPLETED): within one
 * task all signals in order, then updates, then the cancel request, then completions in event-id
 * order; only then does workflow code run, coroutines of handlers first, until every coroutine is
 * blocked. Updates and handlers came later than the rule: histories without them know no
 * difference, so its number stays.
 */
#ifndef EXEC_RUN_H
#define EXEC_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "durable.h"

struct arena;        /* base/arena.h */
struct event;        /* history/event.h */
struct failure;      /* history/event.h */
struct fiber_pool;   /* exec/fiber.h */
struct retry_policy; /* history/value_list.h */
struct run;          /* opaque */

#define RUN_SDK_NAME "libdurable" /* sdkMetadata.sdkName of what we write */
#define RUN_NAMESPACE "default"   /* the one namespace that a store is */
#define RUN_FLAG_DELIVERY_1 1     /* langUsedFlags: delivery rule 1, see above */
/* The same rule as Temporal's TypeScript workers number it: all that a task brings in one batch.
 * (Their 1, shielded scopes stay untouched by a cancel, is true here as well.) */
#define RUN_FLAG_ONE_BATCH 2
/* coreUsedFlags, bits of a mask: what Core is told that our histories keep to. */
#define RUN_CORE_FLAG_IDS (1U << 1)          /* ids and types are compared */
#define RUN_CORE_FLAG_PATCH_UPSERT (1U << 2) /* a patch marker is followed by its upsert */
#define RUN_CORE_FLAG_CLOSE_LAST (1U << 3)   /* the closing command is the last */
#define RUN_FAILURE_SOURCE "CSDK"            /* Failure.source of failures made here */

/* Limits; exceeding one fails the workflow task, never the process. */
#define RUN_MAX_FIBERS 4096    /* coroutines alive in one run: 2 mappings each */
#define RUN_MAX_COMMANDS 10000 /* commands in one task: a loop that never waits */
#define RUN_MAX_OPEN 2000     /* open activities, children, requests to others: Temporal's limits */
#define RUN_MAX_ID_BYTES 1000 /* ids, types, names: Temporal's limit */
#define RUN_MAX_PAYLOAD (2 * 1024 * 1024) /* one payload: Temporal's limit */
#define RUN_UNWIND_CALLS 10000            /* calls after DUR_UNWIND before a fiber is given up */

/* --- making one ------------------------------------------------------------------------- */

struct run_spec {
    dur_workflow_fn fn;
    void *user;              /* handed to fn */
    const char *workflow_id; /* these four are copied */
    const char *run_id;
    const char *type;
    const char *task_queue;
    const char *identity;    /* of WORKFLOW_TASK_COMPLETED events; NULL: absent */
    struct fiber_pool *pool; /* stacks; one pool per thread; NULL: the run maps its own */
    /* dur_log() lines of code that runs for the first time (never in replay); NULL: dropped.
     * Called on a fiber: it must not call into the run. */
    void (*on_log)(void *user, const char *line);
    void *on_log_user;
    /* dur_run_transaction() of code that runs for the first time. 0 with *ret_result (JSON or
     * NULL, in arena); 1: it failed and its work was taken back, *ret_failure (in arena); <0: it
     * cannot be run here, the task fails. Called on a fiber: it must not call into the run. NULL:
     * there is no store. */
    int (*on_transaction)(void *user, const char *name, const char *input, struct arena *arena,
                          const char **ret_result, struct failure **ret_failure, struct err *err);
    void *on_transaction_user;
};

struct run *run_new(const struct run_spec *spec);
/* Resumes every fiber with DUR_UNWIND until it returns (so cleanup code runs), then frees all.
 * NULL fine; returns NULL. */
struct run *run_free(struct run *run);

/* --- driving it --------------------------------------------------------------------------- */

enum run_status { /* numbers are Temporal's WorkflowExecutionStatus, and dur_status */
                  RUN_RUNNING = 1,
                  RUN_COMPLETED = 2,
                  RUN_FAILED = 3,
                  RUN_CANCELED = 4,
                  RUN_TERMINATED = 5, /* only seen in replay */
                  RUN_CONTINUED_AS_NEW = 6,
                  RUN_TIMED_OUT = 7, /* only seen in replay */
};

/* Outcomes > 0 of run_task and run_replay. The host writes WORKFLOW_TASK_FAILED with out->cause and
 * out->message, keeps out->report for people, parks and frees the run. */
#define RUN_MISMATCH 1 /* the code no longer fits the history; out->mismatch has the pieces */
#define RUN_TASK_FAILED                                                                            \
    2 /* the code asked for something impossible: result not JSON, too long, ... */

/* Where workflow code asked for something. file is NULL when not known. */
struct run_site {
    const char *file;
    int line;
};

enum mismatch_kind {
    MISMATCH_DIFFERENT = 1, /* another command than the event at this place */
    MISMATCH_MISSING,       /* the history has an event that the code did not ask for */
    MISMATCH_EXTRA,         /* the code asks for something that the history does not have */
    MISMATCH_VERSION,       /* recorded code version outside [min, max] */
};

/* What did not fit. Texts are one line each. */
struct mismatch {
    enum mismatch_kind kind;
    int64_t event_id; /* of the recorded event; of the task's completion for MISMATCH_EXTRA */
    const char
        *expected;      /* recorded event, 'ACTIVITY_TASK_SCHEDULED id "2" type "Charge"'; or "" */
    const char *actual; /* command of the code, 'timer id "1"'; or "" */
    struct run_site site; /* where the code asked; of MISMATCH_MISSING: its last durable call */
    const char *workflow_type;
    const char *workflow_id;
};
/* For people: two columns, what differs and what to do. Plain text, ends with a newline. */
void mismatch_report(struct str *out, const struct mismatch *mismatch);

/* An update that a client asks for: given to a run with the next task. */
struct run_update {
    const char *update_id;
    const char *name;
    const char *input;    /* JSON or NULL */
    const char *identity; /* of the client, or NULL */
};
struct run_rejection {
    const char *update_id;
    const struct failure *failure;
};

struct run_output {
    /* Events to append, ids assigned, event_time 0 (the host stamps it). [0] is
     * WORKFLOW_TASK_COMPLETED; then one per command, in order. Empty for run_replay and for
     * outcomes > 0. Live until the next call on this run. */
    const struct event *const *events;
    const struct run_site *sites; /* parallel to events; sites[0] is empty */
    size_t count;
    const struct run_rejection *rejections; /* updates that the code refused: no event says so */
    size_t rejection_count;
    int unfinished; /* the run closed while so many handlers of signals and updates ran */
    /* The task did nothing but refuse updates, and nothing else lay before it: the host may drop it
     * (run_undo_task) and append none of its events, not even its SCHEDULED and STARTED. */
    bool no_trace;
    enum run_status status; /* after this call */
    /* When the last event is WORKFLOW_EXECUTION_CONTINUED_AS_NEW: its fields that are empty are as
     * in this run, for the host to fill in. */
    const struct retry_policy *next_retry; /* of the next run; NULL: as this one's */
    const int64_t *signals_left; /* ids of SIGNALED events that nobody received: the next run's */
    size_t signals_left_count;
    /* of outcomes > 0; live until run_free(): */
    int cause;                /* WorkflowTaskFailedCause: 24 = NON_DETERMINISTIC_ERROR, ... */
    const char *message;      /* one line */
    const char *report;       /* several lines, for people */
    struct mismatch mismatch; /* of RUN_MISMATCH */
};

/* Events since the last processed one, ending with WORKFLOW_TASK_STARTED. May begin with tasks that
 * are already recorded (a whole history on a fresh run): those are replayed first.
 * 0, RUN_MISMATCH, RUN_TASK_FAILED; <0: the events cannot be a history (gap, unknown back
 * reference, a type that may not be ignored), name "BadHistory". */
int run_task(struct run *run, const struct event *const *events, size_t count,
             struct run_output *out, struct err *err);

/* Re-executes the tasks of a recorded history that are completed in it. Events behind the last
 * recorded task (completions, signals, an open task) stay unprocessed: pass them to run_task.
 * Outcomes as for run_task; a closed history ends with the status it recorded. */
int run_replay(struct run *run, const struct event *const *events, size_t count,
               struct run_output *out, struct err *err);

/* Updates for the next run_task (events of it may admit others). They are borrowed until then. Each
 * ends up accepted (UPDATE_ACCEPTED in out.events) or in out.rejections. One that runs already is
 * ignored. */
void run_give_updates(struct run *run, const struct run_update *updates, size_t count);
/* Right after a run_task with out.no_trace: the run is as it was before it. */
void run_undo_task(struct run *run);

/* --- local activities: the host runs them, tasks record how they ended -------------------------
 */

/* One that waits for its outcome. Texts live until the run is freed. */
struct run_local {
    uint64_t seq;   /* names it within the run */
    const char *id; /* activity id, decimal */
    const char *type;
    const char *input;                               /* JSON or NULL */
    int attempt;                                     /* from which to go on, 1 or more */
    int64_t scheduled_ns;                            /* first asked for, in the run's time */
    int64_t schedule_to_close_ns, start_to_close_ns; /* 0: none */
    int64_t threshold_ns; /* longest back-off that the host waits itself */
    const struct retry_policy *policy;
    dur_cancellation cancellation;
    bool cancel_requested; /* it shall stop, and its end is waited for */
};
/* Those that wait, in the order of asking; before: NULL to begin. After each run_task and
 * run_replay the host starts those that it does not know, stops those with cancel_requested, and
 * lets go of those that are gone (unless DUR_ABANDON it asks them to stop). */
const struct run_local *run_next_local(const struct run *run, const struct run_local *before);

/* For a host to keep: texts in arena, without the policy. */
void run_local_copy(struct run_local *to, const struct run_local *from, struct arena *arena);

struct run_local_end {
    uint64_t seq;
    int code;                      /* DUR_OK, DUR_FAILED, DUR_CANCELLED */
    const char *result;            /* JSON or NULL */
    const struct failure *failure; /* of DUR_FAILED */
    int attempt;                   /* that ended so */
    int64_t ended_ns;              /* wall clock */
    int64_t backoff_ns;            /* -1: it is over; else the run shall ask again after so long */
};
/* For the next run_task, which they must outlive. */
void run_give_locals(struct run *run, const struct run_local_end *ends, size_t count);

/* --- asking ------------------------------------------------------------------------------- */

struct run_answer {
    const char *result;  /* JSON, when answered */
    const char *type;    /* else: a stable word, "UnknownQuery" ... */
    const char *message; /* and one line */
};
/* Asks a query of the run's code, between tasks: after any task, also of a closed run. Leaves no
 * trace. Answers live in arena. 0 answered; 1 refused, ret says why. */
int run_query(struct run *run, const char *name, const char *input, struct arena *arena,
              struct run_answer *ret);

int64_t run_processed(const struct run *run); /* highest event id consumed or produced; 0: none */
enum run_status run_status(const struct run *run);
size_t run_bytes(const struct run *run); /* memory of the run without its stacks */
/* Last durable call of the workflow code, for a deadlock watchdog. Any thread may ask while the run
 * is in run_task (the two fields may then belong to neighbouring calls). */
struct run_site run_last_call(const struct run *run);
/* Give back what a waiting run does not need: unused stack pages, room for commands and for the
 * last output (which is gone then). Worth it for a run that will wait long. */
void run_trim(struct run *run);

#endif
