/*
 * state.h - what a run is made of; private to exec/.
 *
 * Owns: the structs behind run.h's and durable.h's opaque types, and the states of every machine.
 * Must not: be included outside exec/ and its tests.
 *
 *   run -- coroutines (a fiber each; the first one runs the workflow function)
 *    |---- scopes (a tree per root; cancelling goes down) ---- pending futures
 *    |---- futures: activity, timer (a machine each), coroutine, signal channel
 *    |---- commands of the current task, in order
 *    `---- recorded: the command events that a replayed task must reproduce
 *
 * Memory: what workflow code may see lives in run->arena until the run is freed; what only the
 * current task needs (events to append) lives in run->task_arena until the next task.
 */
#ifndef EXEC_STATE_H
#define EXEC_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "durable.h"
#include "exec/command_def.h"
#include "exec/fiber.h"
#include "exec/machine.h"
#include "exec/random.h"
#include "exec/run.h"
#include "history/event.h"

/* --- machines: one file each ---------------------------------------------------------------- */

enum activity_state {
    ACTIVITY_NEW, /* command of this task, no event yet */
    ACTIVITY_SCHEDULED,
    ACTIVITY_STARTED,
    ACTIVITY_COMPLETED,
    ACTIVITY_FAILED,
    ACTIVITY_TIMED_OUT,
    ACTIVITY_CANCELED,
    ACTIVITY_DROPPED, /* cancelled before the command was sent: no trace */
};
enum timer_state { TIMER_NEW, TIMER_STARTED, TIMER_FIRED, TIMER_CANCELED, TIMER_DROPPED };
enum child_state {
    CHILD_NEW, /* command of this task, no event yet */
    CHILD_INITIATED,
    CHILD_STARTED,
    CHILD_COMPLETED,
    CHILD_FAILED,
    CHILD_CANCELED,
    CHILD_TIMED_OUT,
    CHILD_TERMINATED,
    CHILD_START_FAILED,
    CHILD_DROPPED, /* cancelled before the command was sent: it never starts */
};
enum external_state {
    EXTERNAL_NEW,
    EXTERNAL_INITIATED,
    EXTERNAL_DELIVERED,
    EXTERNAL_FAILED,
    EXTERNAL_DROPPED,
};
enum signal_state { SIGNAL_ARRIVED, SIGNAL_BUFFERED, SIGNAL_RECEIVED };
enum cancel_state { CANCEL_NONE, CANCEL_REQUESTED };
enum marker_state { MARKER_NEW, MARKER_RECORDED };
enum update_state {
    UPDATE_ARRIVED,  /* given to the run: its handler has not begun */
    UPDATE_ACCEPTED, /* the acceptance is a command or recorded; the handler runs */
    UPDATE_COMPLETED,
    UPDATE_REJECTED, /* no trace in history */
};
enum workflow_task_state { TASK_NONE, TASK_SCHEDULED, TASK_STARTED };
enum run_state {
    RUN_STATE_NEW, /* no event yet */
    RUN_STATE_RUNNING,
    RUN_STATE_COMPLETED,
    RUN_STATE_FAILED,
    RUN_STATE_CANCELED,
    RUN_STATE_TERMINATED,
    RUN_STATE_CONTINUED,
    RUN_STATE_TIMED_OUT,
};

extern const struct machine_def activity_machine;
extern const struct machine_def timer_machine;
extern const struct machine_def child_machine;
extern const struct machine_def external_machine;
extern const struct machine_def signal_machine;
extern const struct machine_def cancel_machine;
extern const struct machine_def marker_machine;
extern const struct machine_def update_machine;
extern const struct machine_def workflow_task_machine;
extern const struct machine_def run_machine;

struct activity {
    uint8_t state;
    bool cancel_requested; /* a request-cancel command was made or recorded */
    dur_cancellation cancellation;
    const char *id;
    const char *type;
    int64_t scheduled_id; /* 0 until bound */
    int64_t started_id;
    int attempt;
    struct event *command; /* complete attributes; NULL in replay */
};

struct timer {
    uint8_t state;
    const char *id;
    int64_t started_id; /* 0 until bound */
    int64_t ms;
    struct local *owner; /* it is the back-off of this local activity; or NULL */
};

struct child {
    uint8_t state;
    bool cancel_requested; /* a request-cancel command was made */
    bool any_id;           /* the code gave none and another program recorded the history */
    dur_cancellation cancellation;
    const char *id; /* workflow id */
    const char *type;
    const char *run_id;   /* of its first run; NULL until it started */
    int64_t initiated_id; /* 0 until bound */
    int64_t started_id;
    struct event *command; /* complete attributes; NULL in replay */
};

/* A signal to another run, or the request that it cancels. */
struct external {
    uint8_t state;
    bool child_only;
    const char *workflow_id;
    const char *run_id;    /* NULL: the current run */
    const char *signal;    /* name; NULL: it is a request to cancel */
    int64_t initiated_id;  /* 0 until bound */
    struct event *command; /* complete attributes; NULL in replay */
};

struct signal {
    uint8_t state;
    int64_t event_id;
    const char *input;
    struct signal *next;
};

struct cancel {
    uint8_t state;
    const char *reason;
};

struct marker {
    uint8_t state;
    const char *name; /* "SideEffect", "Version" */
    const char *key;  /* Version: change id; SideEffect: ordinal */
};

struct workflow_task {
    uint8_t state;
    int64_t scheduled_id;
    int64_t started_id;
};

/* --- futures, coroutines, scopes ---------------------------------------------------------------
 */

#define ID_TEXT_BYTES 24

enum future_kind {
    FUTURE_ACTIVITY = 1,
    FUTURE_TIMER,
    FUTURE_COROUTINE,
    FUTURE_SIGNAL,
    FUTURE_CHILD,
    FUTURE_EXTERNAL,
    FUTURE_STREAM,
    FUTURE_LOCAL,
    FUTURE_DEAD
};

struct coroutine;
struct channel;
struct local;     /* local.h */
struct condition; /* wait.c */
struct handler;   /* handler.h */
struct update;    /* handler.h */
/* Gives a future that is not done what its closing event says. */
typedef void future_resolver(struct run *run, dur_future *f, const struct event *event);

/* One coroutine waiting for one future; lives in the waiting call. */
struct waiter {
    struct coroutine *coroutine;
    struct waiter *next;
};

struct dur_future {
    uint8_t kind; /* enum future_kind */
    bool orphan;  /* nobody holds it: reuse it once its machine is closed */
    bool done; /* not used by FUTURE_SIGNAL and _STREAM: done while their channel holds something */
    int code;
    const char *result;            /* JSON or NULL */
    const struct failure *failure; /* whole chain, when code is DUR_FAILED */
    int attempt;                   /* of the activity behind failure */
    struct waiter *waiters;
    struct scope *scope;            /* NULL once out of its pending list */
    struct dur_future *prev, *next; /* in scope's pending list; next also in the free list */
    union {
        struct activity activity;
        struct timer timer;
        struct child child;
        struct external external;
        struct channel *channel;
        struct dur_channel *stream;
        struct local *local;
        struct coroutine *coroutine;
    };
    char id_text[ID_TEXT_BYTES]; /* default ids, so that they need no allocation */
};

struct scope {
    struct scope *parent; /* NULL for roots: the run's, and disconnected ones */
    struct scope *first_child, *last_child, *sibling;
    bool cancelled;
    dur_future *first, *last; /* pending futures, oldest first */
};

struct dur_ctx {
    struct run *run;
    struct scope *scope;
    struct dur_ctx *disconnected;        /* made once, kept */
    const struct failure *failure;       /* behind the last DUR_FAILED */
    const struct failure *fresh_failure; /* the same, forgotten at the next good call */
    int attempt;                         /* belongs to failure */
    const dur_failure_info *info;        /* of failure, once asked for */
};

struct coroutine {
    struct run *run;
    struct fiber *fiber; /* NULL once it returned */
    dur_coroutine_fn fn; /* NULL: the workflow function itself */
    void *arg;
    struct dur_ctx ctx; /* what fn gets */
    dur_future future;
    struct coroutine *all_next, *all_prev; /* of run->all, newest first */
    struct coroutine *ready_next;
    bool ready;
    bool returned;
    struct scope *wait_scope;      /* while blocked: the scope whose cancellation wakes it */
    const struct failure *failure; /* last one seen by any context used here */
    int attempt;
    struct waiter *waiters; /* room for dur_select, kept */
    size_t waiters_cap;
    int unwind_calls;
    struct run_site site;          /* of its last durable call */
    const struct handler *handler; /* it runs this one; NULL: no handler */
    struct update *update;         /* of an update handler */
};

struct channel {
    const char *name;
    struct signal *first, *last; /* buffered */
    dur_future future;
    struct handler *handler; /* of dur_on_signal, or NULL */
    bool asked;              /* code has named it */
    struct channel *next;
};

/* --- commands ----------------------------------------------------------------------------------
 */

struct command {
    const struct command_def *def;
    bool dropped;
    struct run_site site;
    dur_future *future;    /* activities, timers */
    struct marker *marker; /* side effect, version */
    struct update *update; /* acceptance and completion of one */
    struct event *event;   /* made beforehand: markers, upserts, close; NULL in replay */
};

struct version {
    const char *change;
    int value;
    struct version *next;
};

struct patch {
    const char *id;
    bool answer;
    struct patch *next;
};

/* The last value of a mutable side effect. */
struct mutable_value {
    const char *id;
    const char *value; /* JSON; NULL before the first */
    uint64_t calls;
    int64_t last_event; /* in replay: the marker that gave the value */
    struct mutable_value *next;
};

struct open_entry {
    int64_t id;
    dur_future *future; /* NULL: closed, waiting to be squeezed out */
};

struct closing {
    dur_future *future;
    const struct event *event;
    future_resolver *resolve;
};

/* What a task that leaves no trace changes. */
struct run_before {
    int64_t processed;
    int64_t now_ns;
    struct workflow_task task;
    bool flags_recorded;
};

/* What the run knows of itself: from its start event, its tasks' starts, and its own upserts. */
struct run_info {
    int attempt;      /* of the run as a whole */
    bool has_policy;  /* it is retried as a whole, unless a failure says no */
    bool suggested;   /* WORKFLOW_TASK_STARTED suggested to continue as new */
    int64_t bytes;    /* of the history, as recorded last */
    const char *memo; /* JSON object or NULL */
    const char *parent_id;
    const char *last_result;            /* JSON or NULL */
    const struct failure *last_failure; /* of the run before, or NULL */
    const dur_failure_info *last_info;  /* of last_failure, once asked for */
};

/* What dur_continue_as_new() asked for; becomes a command when the function returns. */
struct succession {
    bool asked;
    const char *fault;                                        /* why it cannot be, or NULL */
    const char *input;                                        /* JSON or NULL */
    const char *type, *task_queue, *memo, *search_attributes; /* NULL: as this run */
    int64_t run_timeout_ns, task_timeout_ns, backoff_ns;      /* 0: as this run; none */
    struct retry_policy *retry;                               /* NULL: as this run */
    const char *file;
    int line;
};

#define RUN_NAMES 16 /* interned; further ones are copied each time */

/* --- the run -----------------------------------------------------------------------------------
 */

struct run {
    struct run_spec spec;
    struct arena *arena;
    struct arena *task_arena;
    uint8_t state; /* enum run_state */
    struct workflow_task task;
    struct cancel cancel;
    int64_t processed;
    int64_t now_ns;
    int64_t run_timeout_ns;
    const char *input;
    struct run_info info;
    struct succession next;
    bool replaying;
    bool unwinding;
    bool in_callback; /* a side effect, query, validator or condition runs: it must not call us */
    bool flags_recorded;
    bool own;          /* the history under replay was written by this library */
    bool compares_ids; /* of activities and children: Core's flag 1, or a history of Go or ours */
    bool compares_timers; /* ids of timers at their start: a history of Go or ours */
    bool last_task;       /* no event behind the task under replay */
    uint32_t core_flags;  /* bit n: Core's flag n was recorded */
    bool finished;        /* the workflow function returned: nothing more is scheduled */

    struct scope root;
    struct coroutine *main;
    struct coroutine *current;
    struct coroutine *all; /* those that have not returned, newest first */
    struct coroutine *ready, *ready_last;
    int fibers;

    struct command *commands;
    size_t command_count, command_cap;
    const struct event *const *recorded; /* command events of the task under replay */
    size_t recorded_count;
    const struct event *completed; /* WORKFLOW_TASK_COMPLETED of that task */
    size_t side_effect_at;         /* next recorded[] to look at for a side effect */
    size_t local_at;               /* the same for a local activity */
    size_t child_at;               /* the same for a child without an id of its own */

    struct open_entry *open; /* activities and timers by event id, ascending */
    size_t open_count, open_cap, open_dead;
    int open_activities, open_children, open_externals;
    bool custom_ids;
    struct closing *closing; /* completions of the task being delivered */
    size_t closing_count, closing_cap;
    dur_future *spare; /* futures of dur_run and dur_sleep, for the next one */

    struct local *locals; /* that wait for an outcome or a timer, in the order of asking */
    int open_locals;
    const struct run_local_end *local_ends; /* given by the host for the task that comes */
    size_t local_end_count;
    struct condition *conditions;   /* waiting ones, oldest first */
    struct handler *handlers;       /* of queries, signals and updates, newest first */
    int signal_handlers;            /* coroutines that handle a signal now */
    struct update *updates;         /* given to the run and not over, oldest first */
    const struct run_update *given; /* by the host, for the task that comes */
    size_t given_count;
    struct run_rejection *rejections; /* of this task */
    size_t rejection_count;
    bool stepped;             /* this task made code go on (a rejection does not) */
    bool news;                /* this task delivered something beside itself */
    struct run_before before; /* as it was before this task: for run_undo_task */
    struct arena *aside;      /* memory of a query or validator; NULL: none runs */
    struct run_site trespass; /* where a query or validator asked for something */
    struct random_stream aside_random;

    struct channel *channels;
    struct version *versions;
    struct patch *patches;
    const char *search_attributes; /* JSON object as durable.h writes it, or NULL */
    struct mutable_value *mutables;
    const char *version_list; /* JSON array of TemporalChangeVersion so far, without ']' or NULL */
    uint64_t next_activity, next_timer, next_side_effect, next_child;
    const char *chance_id; /* run id that seeds chance: the base run's, a reset run's from there */
    struct random_stream user_random, uuid_random;
    const char *names[RUN_NAMES]; /* interned activity types */
    size_t name_count;

    _Atomic(const char *) last_file;
    atomic_int last_line;

    int outcome; /* RUN_MISMATCH, RUN_TASK_FAILED once it happened */
    int cause;
    const char *message;
    const char *report;
    struct mismatch mismatch;
};

/* --- scheduling (schedule.c) -------------------------------------------------------------------
 */

struct coroutine *coroutine_new(struct run *run, struct scope *scope, dur_coroutine_fn fn,
                                void *arg); /* ready; NULL when no stack can be had */
void coroutine_wake(struct coroutine *co);
void schedule_run(struct run *run); /* until every coroutine is blocked, or the run ended */
void schedule_handlers_first(struct run *run); /* of the ready ones: handlers before the others */
void schedule_unwind(struct run *run);         /* until every coroutine has returned */
/* Entry of every dur_ call on a fiber: 0, or the code to return (DUR_UNWIND, DUR_INVALID). */
int call_enter(struct run *run, const char *file, int line);
/* Suspend the running coroutine until woken; cancelling `scope` wakes it too (NULL: does not). */
void call_block(struct run *run, struct scope *scope);
/* Suspend for good because the task failed; returns DUR_UNWIND when the run is freed. */
int call_park(struct run *run);
/* Every coroutine is blocked: wake the first whose dur_wait() condition holds (wait.c). */
bool conditions_wake(struct run *run);
bool stream_is_ready(const struct dur_channel *ch); /* stream.c: dur_take would not block */
/* Where texts for the code that runs now belong: the run's memory, or a query's. */
struct arena *ctx_arena(const dur_ctx *ctx);

/* --- futures and scopes (future.c, scope.c) ----------------------------------------------------
 */

/* What differs between the kinds of futures: one object per kind, in its primitive's file. */
struct future_def {
    /* History says how it ended. NULL: it has no history (coroutines, signals, dead ones). */
    bool (*closed)(const dur_future *f);
    /* Its scope is cancelled, or the code asked: take the command back, or add one. NULL: it is not
     * cancelled (a waiter of a cancelled scope just stops waiting). */
    void (*cancel)(struct run *run, dur_future *f);
};
extern const struct future_def future_local; /* local.c */
extern const struct future_def future_activity, future_timer, future_child, future_external;

dur_future *future_new(struct run *run, enum future_kind kind, struct scope *scope);
dur_future *timer_start(dur_ctx *ctx, int64_t ms); /* timer.c */
/* The wait that the timer bounded (NULL: none did) is over with this code: the timer goes. Returns
 * the code that the call returns. */
int timer_end_wait(struct run *run, dur_future *timer, int code);
/* The back-off of a local activity: no code waits for it, no scope cancels it. NULL: faulted. */
dur_future *timer_start_for(struct run *run, int64_t ms, struct local *owner);
void local_timer_fired(struct run *run, struct local *local); /* local.c */
/* Outcomes of local activities: recorded ones in replay, else the host's; then code goes on. */
void locals_deliver(struct run *run);
dur_future *future_dead(struct run *run, int code); /* already done with that code */
void future_resolve(dur_future *f, int code, const char *result);
bool future_is_done(const dur_future *f);
/* Forget a future that workflow code never saw; its memory serves the next one if it is closed. */
void future_recycle(struct run *run, dur_future *f);
void waiter_add(dur_future *f, struct waiter *w);
void waiter_remove(dur_future *f, struct waiter *w);
/* Wait for f on behalf of ctx, as dur_await. */
/* Will f end by itself because the waiter's scope was cancelled? Then the waiter joins it. */
bool future_ends_with_scope(const dur_future *f);
int future_wait(dur_ctx *ctx, dur_future *f, const char **result);
void future_unlink(dur_future *f); /* out of its scope's pending list */
void future_cancel(struct run *run, dur_future *f);
void scope_cancel(struct run *run, struct scope *scope);
int ctx_note(dur_ctx *ctx, const dur_future *f, int code); /* remembers the failure; returns code */

/* --- machines at work (deliver.c) --------------------------------------------------------------
 */

void open_add(struct run *run, int64_t id, dur_future *f);
void open_remove(struct run *run, int64_t id);
dur_future *open_find(struct run *run, int64_t id); /* NULL: nothing open has this event id */
/* The event closes it: it is taken out of the open ones, and code learns of it after all events of
 * this task were applied. */
void closing_add(struct run *run, int64_t id, const struct event *event, future_resolver *resolve);
/* One function per event type that precedes a task's start; 0, or <0 "BadHistory". */
typedef int event_applier(struct run *run, const struct event *event, struct err *err);
event_applier signal_apply; /* signal.c */
event_applier activity_apply_started, activity_apply_completed, activity_apply_failed,
    activity_apply_timed_out, activity_apply_canceled; /* activity_event.c */
event_applier timer_apply_fired;                       /* timer.c */
event_applier child_apply_started, child_apply_start_failed, child_apply_completed,
    child_apply_failed, child_apply_canceled, child_apply_timed_out,
    child_apply_terminated; /* child_event.c */
event_applier external_apply_signaled, external_apply_signal_failed,
    external_apply_cancel_requested, external_apply_cancel_failed; /* external.c */
/* The command that asks a child to cancel. false: too many, the task has failed. */
bool external_cancel_child(struct run *run, const struct child *child);
/* Moves a machine as the event says. 0, or <0 "BadHistory". */
int machine_apply(const struct machine_def *def, uint8_t *state, int to, const void *object,
                  const struct event *event, struct err *err);
/* JSON text of a result for workflow code, in the run's memory. Never NULL. */
const char *result_text(struct run *run, const struct payloads *payloads);
struct channel *channel_get(struct run *run, const char *name); /* signal.c; made when new */
/* What the activity's closing event says, wrapped as Temporal's SDKs do (failure.c). */
const struct failure *failure_of_activity(struct arena *arena, const struct activity *activity,
                                          const struct event *event);
/* Apply the events of one task, deliver them. 0, or <0 with err "BadHistory". */
int deliver(struct run *run, const struct event *const *events, size_t count, struct err *err);
int bad_history(struct err *err, const struct event *event, const char *fmt, ...) printf_like(3, 4);

/* --- commands (command.c, match.c) -------------------------------------------------------------
 */

/* NULL: too many, faulted. */
struct command *command_add(struct run *run, const struct command_def *def);
void command_drop(struct run *run, const dur_future *f);
void counter_print(char out[ID_TEXT_BYTES], uint64_t n); /* decimal */
void commands_emit(struct run *run, struct run_output *out);
/* Compare with run->recorded; binds machines to their events. 0 or RUN_MISMATCH (faulted). */
int commands_match(struct run *run, const struct event *completed);
void command_bind(struct run *run, const struct command *command, int64_t event_id);
/* A move that our own logic has made sure of. */
void must_move(const struct machine_def *def, uint8_t *state, int to, const void *object);
/* command_def.bind of commands that carry a marker (marker_machine.c). */
void marker_bind(struct run *run, const struct command *command, int64_t event_id);
bool same_text(const char *a, const char *b); /* NULL is "" */
bool same_type(const char *a, const char *b); /* names, after their last dot: Go records packages */
/* Version markers, and the upsert right behind one: skipped on both sides of the comparison. */
bool is_version_marker(const struct event *event);
bool is_version_attribute(const struct event *event);
#define VERSION_ATTRIBUTE "TemporalChangeVersion"
/* Put attributes over those that the run has (search_attribute.c). */
void search_attributes_put(struct run *run, const struct payload_map *fresh);
/* TemporalChangeVersion (version.c): adds an entry, false when the list would be too long (it is
 * unchanged then); and the upsert of all that it holds. */
bool version_list_add(struct run *run, const char *entry);
struct event *version_list_event(struct run *run);
bool is_mutable_side_effect(const struct event *event); /* a marker of one */
/* false: the event is no patch marker. Id in arena. */
bool patch_marker_read(struct arena *arena, const struct event *event, const char **ret_id,
                       bool *ret_deprecated);
/* Text of a marker's detail that is a JSON string or number; NULL when absent. In arena. */
const char *marker_detail(struct arena *arena, const struct event *event, const char *key);

/* --- faults (fault.c) --------------------------------------------------------------------------
 */

/* The first fault of a run stays; both return the outcome. */
int fault_task(struct run *run, int cause, const char *fmt, ...) printf_like(3, 4);
int fault_mismatch(struct run *run, enum mismatch_kind kind, const struct event *event,
                   const struct command *command);
/* A quoted, shortened, printable form of a name that may hold anything. */
const char *quoted(struct arena *arena, const char *text);
const char *describe_event(struct arena *arena, const struct event *event);
const char *describe_command(struct arena *arena, const struct command *command);

/* What the run knows of itself (info.c). */
void info_of_start(struct run *run, const struct event *event);
void info_of_task(struct run *run, const struct event *event); /* WORKFLOW_TASK_STARTED */
void continue_finish(struct run *run); /* continue.c: the function returned DUR_CONTINUE */
/* Event ids of signals that nobody received, ascending; in task_arena (signal.c). */
const int64_t *signals_left(struct run *run, size_t *ret_count);

const char *run_strdup(struct run *run, const char *text);
/* The same for names that come again and again: one copy of each. */
const char *run_intern(struct run *run, const char *text);
void run_finish(struct run *run, int code, const char *result); /* the workflow function returned */
/* JSON text fit for a payload: DUR_OK, DUR_INVALID, DUR_LIMIT. NULL is fine. */
int payload_check(const char *json);

#endif
