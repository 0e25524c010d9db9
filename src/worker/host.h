/*
 * host.h - the SQLite host: everything the loop holds while it serves one store.
 *
 * Owns: struct host and struct live (one open run in memory), and the vocabulary of the room's
 * files.
 *   live.c     runs in memory: load by replay, append events, write them, evict
 *   turn.c     the turn: inputs -> one transaction -> dispatch
 *   settle.c   what an attempt's end means: an event, or another attempt
 *   updates.c  what clients ask of runs
 *   questions.c  what clients ask about runs
 *   apply.c    what a workflow's commands mean: pending rows, timers, memo, close
 *   chain.c    which run follows one that closes
 *   claim.c    slots: which waiting activity may start now
 *   admit.c    the same for queues with limits, decided in the journal
 *   local.c    local activities: in memory, recorded by the run's next task
 *   transact.c transactions of the program's own within a task
 *   report.c   what came from outside for activities that are completed by token
 *   family.c   children, signals and requests to other runs; family_end.c: what an end means for
 *              parent and children
 *   due.c      deadlines that fell due
 *   schedule.c schedules that are due
 *   purge.c    retention: closed runs that may go
 *   recover.c  taking over a store
 *   pace.c     time that skips, of engines that tests drive
 *   serve.c    the loop
 * Invariants: all of it is touched by the loop thread only (attempts and the inbox have their own
 * locks); memory is never ahead of the journal across a failed commit: whatever the failed turn
 * touched is dropped and read again.
 */
#ifndef WORKER_HOST_H
#define WORKER_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "exec/fiber.h"
#include "exec/run.h"
#include "history/event.h"
#include "history/store.h"
#include "journal/activity.h"
#include "journal/admission.h"
#include "journal/bell.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "journal/lock.h"
#include "journal/store.h"
#include "activity/attempt.h"
#include "worker/birth.h"
#include "worker/heap.h"
#include "worker/inbox.h"
#include "worker/lane.h"
#include "worker/pace.h"
#include "activity/registry.h"
#include "activity/retry.h"

/* Limits, each with its reason. */
#define HOST_TURN_INPUTS 1024  /* inputs of one turn: bounds the transaction and its latency */
#define HOST_BYTES_STEP 4096   /* the history's size is recorded when it grew by so much */
#define HOST_WARN_EVENTS 10240 /* history warning, soft: nothing is refused */
#define HOST_FAST_FAILOVERS 3  /* lost attempts that retry at once; later ones back off */
#define HOST_TURN_TASKS 100    /* of one run in one turn; then others, and the disk, come first */
#define HOST_LIVE_BUCKETS 4096
#define HOST_SPARE_ARENAS 256
#define HOST_TRIM_AFTER_NS NS_PER_S   /* a run that waits so long gives back stack and buffers */
#define HOST_SPARE_BYTES 4096         /* an arena that handed out more is not worth keeping */
#define HOST_NEWS_NS NS_PER_MS        /* followers are rung at most so often, for ends at once */
#define HOST_SPIN_NS (50 * NS_PER_US) /* a wait that was shorter than a sleep costs is spun */
#define HOST_COMMIT_SHARE 8           /* what one commit counts for in the smoothed time */
#define HOST_GATHER_SHARE 2 /* of a commit's time, that is waited for the attempts it sent out */
#define HOST_GATHER_LEAST_NS (500 * NS_PER_US) /* a quicker disk needs none */
#define HOST_GATHER_MOST_NS (100 * NS_PER_MS)
#define HOST_POLL_MS 5000 /* look at the store this often even when no bell rings */

struct live;

/* An activity that is scheduled and not closed. */
struct pending {
    struct pending *next; /* of the run, in scheduling order */
    struct live *live;
    struct arena *arena; /* its own: an activity may outlive many turns, a run many activities */
    int64_t scheduled_id;
    const char *activity_id;
    const char *type;
    const char *input; /* JSON or NULL */
    struct lane *lane;
    int64_t schedule_to_close_ns, schedule_to_start_ns, start_to_close_ns, heartbeat_ns;
    struct retry_rule rule;
    int32_t attempt;
    enum activity_state state;
    int64_t scheduled_ns; /* first scheduling */
    int64_t queued_ns;    /* since when it waits for a slot */
    int64_t started_ns;
    int64_t cancel_event_id;
    int64_t epoch;                /* engine that started the running attempt */
    struct dur_activity *running; /* NULL: none in this process */
    char *last_failure;           /* stored form, heap, or NULL */
    char *details;                /* heartbeat details on disk, heap, or NULL */
    int priority;                 /* 1 first .. 5 last */
    const char *concurrency_key;  /* or NULL */
    bool is_async;                /* STARTED, and nobody runs it: its outcome will be reported */
    int64_t beat_ns;              /* of those: wall time of the last sign of life */
    struct pending *wait_next;
    bool waiting; /* in its lane's line */
};

struct open_timer {
    struct open_timer *next;
    int64_t started_id;
    char *timer_id;
    int64_t due_ns;
};

/* An open run in memory. */
struct live {
    struct live *hash_next;
    struct live *newer, *older; /* least recently used at the old end */
    struct arena *arena;
    int64_t id;
    const char *workflow_id;
    const char *run_id;
    const char
        *root_workflow_id; /* of the run at the top of its family: itself, if it has no parent */
    const char *root_run_id;
    const char *type;
    const char *task_queue;
    char *memo;              /* heap or NULL */
    char *search_attributes; /* heap or NULL */
    bool is_chained;         /* it has a retry policy or a cron text */
    const char *next_run_id; /* closing: the run that follows, else NULL */
    int64_t successor;       /* its row, once it is born */
    int64_t next_event_id;
    int64_t history_bytes;
    int64_t bytes_told;   /* history_bytes as a task's start said last */
    int64_t head_written; /* next_event_id as the journal has it */
    int64_t run_deadline_ns;
    int64_t started_ns;
    int64_t expires_ns;        /* of the whole chain of runs; 0: never */
    int64_t task_timeout_ns;   /* of its workflow tasks, as written in the history */
    enum event_type last_type; /* of the newest event */
    struct store_context codec;
    struct run *run; /* NULL: evicted, or no such workflow here */
    struct pending *pending;
    struct open_timer *timers;
    struct local *locals;    /* local.c */
    bool task_open;          /* WORKFLOW_TASK_SCHEDULED is written and not started */
    int64_t first_task_ns;   /* its first workflow task comes then; 0: it has had it */
    bool first_task_by_wall; /* that is cron's, and stays when the clock is set */
    bool paused;             /* no workflow task, no new attempt until it goes on */
    bool parked;
    bool parked_here;     /* by this engine: the same code cannot do better */
    const char *mismatch; /* of replay, one line: a workflow task failed that is not written yet */
    int mismatch_cause;
    bool damaged; /* its history cannot be read: a stand-in that nothing is appended to */
    bool closed;
    bool has_updates;  /* clients have asked for some that no task has settled */
    bool more_updates; /* than one task takes */

    /* of the current turn */
    bool touched;
    bool queued;        /* in host->work */
    int tasks;          /* workflow tasks of this turn */
    bool trimmed;       /* it waits for long and gave back what it does not need */
    int64_t touched_ns; /* monotonic */
    struct live *next_touched;
    struct live *next_work;
    bool wake;            /* there is something that the workflow must see */
    struct event **fresh; /* events not yet given to the run, in id order */
    size_t fresh_count, fresh_cap;
    size_t fresh_written; /* of those: how many are recorded already */
    /* recorded and not in the journal: of a turn, a run's events become one row */
    struct event_row *rows;
    size_t row_count, row_cap;
};

/* Activities of a lane that wait for a slot, by priority, then first come first served. Those of a
 * queue with limits wait in the journal alone (admit.c). */
struct line {
    struct line *next;
    struct lane *lane;
    struct pending *first, *last;
    struct queue_row *limits; /* heap, its name is the lane's; or NULL */
    bool stirred;             /* of limits: somebody came or went since the last decision */
    int64_t armed_ns;         /* of limits: a deadline in host->wall for the rate; or 0 */
};

struct host {
    /* given */
    const char *path;
    struct store *store;
    struct registry *registry;
    const char *identity;
    int max_cached_runs;
    const struct clock_vtable *clock; /* the engine's; NULL: the system's */
    struct pace *pace;                /* of a test's engine: its clock skips; else NULL */
    int64_t idle_exit_ms;
    int64_t stop_grace_ms;
    int64_t keep_closed_ns;   /* closed runs go when they are so old; 0: none for that */
    int64_t keep_closed_runs; /* when there are more; 0: none for that */
    int64_t chain_spacing_ns; /* between the beginnings of runs that continue as new */
    int64_t suggest_events;   /* history length from which continuing as new is suggested */
    int64_t suggest_bytes;
    bool until_idle;
    void (*on_log)(void *user, int level, const char *line);
    void *on_log_user;
    atomic_bool *stop;

    /* own */
    struct inbox *inbox; /* the engine's: dur_stop wakes it before and after serving too */
    struct lock *lock;
    struct bell *bell;
    struct fiber_pool *fibers;
    struct arena *spare[HOST_SPARE_ARENAS]; /* small ones, empty, for pendings and attempts */
    size_t spare_count;
    struct line *lines;
    struct local *locals_first, *locals_last; /* that wait for a slot of their lane */
    char *types_json; /* of the activities offered here, for admit.c; heap */
    struct heap wall; /* persisted due times */
    size_t wall_mark; /* how many of them are worth a look for stale ones */
    struct heap mono; /* time-outs of running attempts, heartbeat flushes */
    int64_t epoch;
    struct live *buckets[HOST_LIVE_BUCKETS];
    struct live *newest, *oldest;
    size_t live_count;
    size_t run_count;             /* lives with fibers */
    struct dur_activity *running; /* all attempts that are out, by next_running */
    size_t running_count;
    bool stopping;     /* no new claims */
    bool stop_late;    /* attempts have outstayed the grace */
    bool first_look;   /* no turn was committed yet */
    bool marks_left;   /* more marks than one turn takes: cached runs may lag behind the journal */
    int64_t looked_ns; /* real monotonic: the last turn, which looked for marks */
    bool look;         /* the bell rang, or it is time: look for clients' marks */

    bool look_schedules;  /* this turn looks at the schedules too */
    bool has_schedules;   /* there are any: closed runs may concern them */
    int64_t schedules_ns; /* wall: what the heap has for them; INT64_MAX: nothing */
    bool has_recovered;
    struct dur_activity *at_hand_first, *at_hand_last; /* for this thread, by next_work */
    bool is_outside; /* this thread runs an activity: its callback may call the engine */

    /* of the current turn */
    struct arena *arena;
    struct txn *txn;
    int64_t now_ns; /* wall */
    int64_t mono_ns;

    /* jump.c: what the clocks were when deadlines in memory were right */
    int64_t clock_offset_ns; /* wall less boot time */
    int64_t asleep_ns;       /* boot less monotonic time */
    int64_t anchored_ns;     /* boot time of the journal's anchor */
    bool clock_moved;        /* the journal does not know yet */
    int64_t slept_ns;        /* the same */

    struct live *touched;                /* every run that this turn looked at */
    struct live *work_first, *work_last; /* of those: who may have to advance, first come first */
    struct gone *gone, *gone_last; /* runs that ended: their families are still to learn of it */
    struct dur_activity *dispatch_first, *dispatch_last;
    struct dur_activity *flushed; /* attempts whose details this turn writes, by next_flushed */
    struct dur_activity *told;    /* attempts to cancel after the commit, by next_told */
    struct due *taken; /* deadlines that this turn answers: back into a heap if it fails */
    size_t taken_count, taken_cap;
    struct dur_activity *again; /* done attempts whose turn failed: next turn's input */
    bool has_closed;            /* this turn ended a run or settled an update: somebody waits */
    bool has_looked;            /* clients may have left questions */
    struct live *task_live;     /* whose workflow task runs */
    bool task_marked;           /* it has written: a mark of the transaction stands before that */
    int task_calls;             /* of transactions, in that task */
    int64_t spoiled;            /* execution whose SQL ended the turn's transaction; 0: none */
    int spoiled_call;           /* which call of its task did */

    /* of the waiting between turns */
    int64_t rang_ns;                      /* when followers were rung last */
    int64_t trimmed_ns;                   /* when waiting runs were trimmed last */
    bool owes_ring;                       /* there is news since */
    int64_t waited_ns;                    /* how long the last wait for a running attempt was */
    int64_t commit_ns;                    /* how long a commit takes, smoothed */
    int young_count;                      /* attempts that the last turn sent out to lanes */
    int64_t sent_ns;                      /* when; real monotonic */
    int64_t idle_since_ns, stop_since_ns; /* real monotonic; 0: not */
    int64_t retry_ns;                     /* the store failed: not before; 0: it did not */
    int64_t patience_ms;
    int permanent_tries;
    bool is_short; /* memory, and it was logged */

    /* purge.c */
    int64_t purge_ns; /* wall: when it looks next; 0: nothing is armed */
    bool is_purging;  /* that time has come */
};

/* What time it is for this engine. Nothing in the room asks the system's clock for a time that is
 * written down, compared with a deadline, or told to a callback. */
static inline int64_t host_wall_ns(const struct host *host)
{
    return clock_wall_of(host->clock);
}

static inline int64_t host_mono_ns(const struct host *host)
{
    return clock_mono_of(host->clock);
}

struct arena *host_arena(struct host *host); /* empty */
void host_give_arena(struct host *host, struct arena *arena);
void host_ring(struct host *host); /* followers have news */

#define HOST_LOG_ERROR 0 /* levels of dur_options.on_log */
#define HOST_LOG_WARN 1
#define HOST_LOG_INFO 2
void host_log(struct host *host, int level, const char *fmt, ...) printf_like(3, 4);

/* --- live.c --- */
/* The open run, loaded if need be. 0; 1: no such open run (drop what asked); <0 store or history
 * error. */
int live_get(struct host *host, int64_t execution, struct live **ret, struct err *err);
struct live *live_peek(struct host *host, int64_t execution); /* only if in memory */
/* In this turn's lists, newest in LRU: it advances before the turn ends, once more if it has
 * already. Whoever appends an event to a run gets it by live_get() or touches it. */
void live_touch(struct host *host, struct live *live);
/* New event of this turn: id and time are set, attributes are empty. */
struct event *live_append(struct host *host, struct live *live, enum event_type type);
/* Events that clients appended since: into fresh. <0 error. */
int live_read_foreign(struct host *host, struct live *live, struct err *err);
/* Encodes the fresh events that are not encoded; the same for events that the run made. They reach
 * the journal with live_write(): at the end of the run's part in the turn, and before anybody reads
 * the run's history there. */
void live_record(struct host *host, struct live *live);
void live_record_output(struct host *host, struct live *live, const struct run_output *out);
/* All that is recorded, and fresh events that are not, into the journal. */
void live_write(struct host *host, struct live *live);
void live_log_line(void *host, const char *line); /* dur_log() of workflow code */
/* Fibers for it, by replay. 0; 1: no such workflow here, or parked by a mismatch; <0 error. */
int live_ensure_run(struct host *host, struct live *live, struct err *err);
void live_drop_run(struct host *host, struct live *live); /* give back its fibers alone */
void live_drop(struct host *host, struct live *live);     /* forget it; running attempts go on */
/* It is closed: its running attempts are told to stop, unheard. */
void live_fence(struct host *host, int64_t execution);
void live_evict_excess(struct host *host); /* all that may go, while memory is short */
void live_trim_idle(struct host *host); /* between turns: runs that were not touched for a while */
struct pending *live_pending(struct live *live, int64_t scheduled_id);
struct pending *pending_new(struct live *live, const struct event *scheduled, struct host *host);
void pending_remove(struct host *host, struct pending *pending); /* closed; the attempt is fenced */

/* --- turn.c --- */
/* A run was born in this turn's transaction: the next turn starts it by its mark. So a chain of
 * births costs a commit each and no turn is without end. */
void turn_born(struct host *host);
/* One turn. 1: it did something; 0: nothing to do; <0: the store failed, everything of the turn is
 * put back and may be tried again. */
int turn_take(struct host *host, struct err *err);

/* --- jump.c --- */
void jump_begin(struct host *host, const struct clock_reading *now); /* nothing is in memory yet */
/* Has the wall clock been set, has the machine slept? Moves what is in memory. True: there is
 * something for the journal. */
bool jump_notice(struct host *host, const struct clock_reading *now);
void jump_settle(struct host *host, const struct clock_reading *now);  /* in a turn's transaction */
void jump_settled(struct host *host, const struct clock_reading *now); /* it was committed */

/* --- settle.c --- */
void settle_done(struct host *host, struct dur_activity *attempt, struct live *live);
/* A timeout of this kind ended the attempt (or the waiting). */
void settle_timeout(struct host *host, struct pending *pending, enum timeout_type type);
/* It failed; p->running is cleared already. */
void settle_failed(struct host *host, struct pending *pending, const struct attempt_outcome *o,
                   const char *identity);
void settle_completed(struct host *host, struct pending *pending, const char *result,
                      const char *identity);
void settle_lost(struct host *host, struct pending *pending); /* its engine died */
/* identity: of who says so; NULL: this engine. */
void settle_canceled(struct host *host, struct pending *pending, bool was_started,
                     const char *identity);
/* Newest heartbeat details of the running attempt into the journal. */
void settle_details(struct host *host, struct pending *pending);

/* --- apply.c --- */
void apply_output(struct host *host, struct live *live, const struct run_output *out);
void apply_close(struct host *host, struct live *live, enum execution_status status,
                 const char *result, const char *failure);

/* --- chain.c --- */
struct chain {
    bool follows;
    struct birth birth;
};
/* Before the output is written: when it closes the run, decides what follows and completes the
 * closing event (out->events is exchanged then). live->next_run_id tells. */
void chain_plan_output(struct host *host, struct live *live, struct run_output *out,
                       struct chain *ret);
/* The same for a run that timed out; the answer is what its closing event says of retries. */
enum retry_state chain_plan_timeout(struct host *host, struct live *live,
                                    const struct failure *failure, struct chain *ret);
/* After apply_close(): the next run is born, in the same transaction. */
void chain_follow(struct host *host, struct live *live, const struct chain *next);

/* --- family.c --- */
#define FAMILY_SERVICE "history-service" /* who acts for the server in Temporal's histories */
#define FAMILY_BY_POLICY "by parent close policy"
/* What the initiated event of a command asks for. closing: the same task ends the run. */
void family_start_child(struct host *host, struct live *live, const struct event *initiated,
                        bool closing);
void family_signal(struct host *host, struct live *live, const struct event *initiated,
                   bool closing);
void family_cancel(struct host *host, struct live *live, const struct event *initiated,
                   bool closing);
/* The open run is asked to cancel itself, unless it was before. */
void family_request_cancel(struct host *host, struct execution_row *row, const char *cause,
                           struct workflow_execution *asker, int64_t initiated_id);
/* One event (with_task: and the workflow task that it makes necessary) of a run that is not in
 * memory, as a client would write it. Only types whose stored form stands by itself
 * (history/store.h). */
void family_append_outside(struct host *host, struct execution_row *row, struct event *event,
                           bool with_task);
/* --- family_end.c --- */
void family_gone(struct host *host, int64_t execution); /* it is closed: see to it */
void family_settle(struct host *host);                  /* now: all that are gone */

/* --- updates.c --- */
int updates_load(struct host *host, struct live *live, struct err *err); /* of a run just loaded */
void updates_note(struct live *live);                                    /* there are some */
void updates_offer(struct host *host, struct live *live);                /* before a task */
/* After a task: what it rejected; warns of handlers that were cut off. */
void updates_settle(struct host *host, struct live *live, const struct run_output *out);
void updates_accepted(struct host *host, struct live *live, const struct event *event);
void updates_completed(struct host *host, struct live *live, const struct event *event);

/* --- questions.c --- */
void questions_answer(struct host *host); /* between turns */

/* --- claim.c --- */
struct lane *claim_lane(struct host *host, const char *task_queue);
void claim_lane_slots(struct host *host, const char *task_queue, int slots);
void claim_enqueue(struct host *host, struct pending *pending);
void claim_leave(struct host *host, struct pending *pending); /* no longer waits */
/* The run was paused, or goes on: its waiting activities leave their lines, or line up. */
void claim_pause(struct host *host, struct live *live);
/* Start waiting activities while there are slots. */
void claim_fill(struct host *host);
/* May this new activity start at once? Then it is claimed (state STARTED, attempt to dispatch). */
bool claim_now(struct host *host, struct pending *pending);
void claim_take_out(struct host *host, struct dur_activity *attempt);  /* it takes a slot */
void claim_give_back(struct host *host, struct dur_activity *attempt); /* it came home */
/* Cancel it once the turn is committed (the first reason stays). fence: from now on nobody waits
 * for its outcome. A turn that fails takes both back. */
void claim_tell(struct host *host, struct dur_activity *attempt, const char *reason, bool fence);
void claim_tell_now(struct host *host);    /* committed: say it */
void claim_untell(struct host *host);      /* failed: nothing was said */
void claim_undo(struct host *host);        /* the turn failed: nothing of it is dispatched */
void claim_dispatch(struct host *host);    /* after the commit */
bool claim_run_at_hand(struct host *host); /* one attempt of a lane without threads; false: none */
void claim_free(struct host *host);
struct line *claim_line(struct host *host, const char *task_queue);
void claim_attempt(struct host *host, struct dur_activity *attempt); /* to go after the commit */
/* Its row says STARTED already: make the attempt that follows the commit. */
void claim_admitted(struct host *host, struct pending *pending, const struct registered *activity);

/* --- admit.c --- */
/* Before serving: this task queue has limits (copied). */
void admit_limit(struct host *host, const char *task_queue, const struct queue_row *limits);
/* At the start of serving: they are written down, and those of other programs forgotten. */
void admit_begin(struct host *host, struct txn *txn);
void admit_enqueue(struct host *host, struct line *line, struct pending *pending);
void admit_stir(struct host *host, const struct lane *lane); /* somebody came or went */
void admit_stir_all(struct host *host); /* a deadline of a rate, or a turn that failed */
/* Start who may start. True: some did (their runs are touched). */
bool admit_fill(struct host *host);

/* --- local.c --- */
/* After a task or a replay: begin what the run waits for now, let go of the rest. */
void local_sync(struct host *host, struct live *live);
void local_give(struct host *host, struct live *live); /* outcomes for the task that comes */
void local_fill(struct host *host); /* start those that wait, while there are slots */
void local_done(struct host *host, struct dur_activity *attempt, struct live *live);
void local_due(struct host *host, struct live *live, const struct due *due);
void local_drop_all(struct host *host, struct live *live);
void local_move(struct live *live, int64_t by_ns); /* the wall clock was set */

/* --- transact.c --- */
/* run_spec.on_transaction; user: the host. */
int transact_call(void *user, const char *name, const char *input, struct arena *arena,
                  const char **ret_result, struct failure **ret_failure, struct err *err);
/* The task that called it was recorded, or leaves no trace: then neither does its SQL. */
void transact_end(struct host *host, bool keep);

/* --- purge.c --- */
void purge_begin(struct host *host);  /* the store is recovered */
void purge_closed(struct host *host); /* runs were closed by the turn that was committed */
void purge_due(struct host *host);
bool purge_pass(struct host *host); /* between two turns; true: it did something */

/* --- report.c --- */
void report_settle(struct host *host, struct live *live);

/* --- due.c --- */
void due_take(struct host *host, const struct due *due);
void due_beat(struct host *host, struct dur_activity *attempt); /* it has details to flush */
/* How long until the next thing falls due that anybody waits for (<= 0: it is), when the clocks go
 * on as they do; INT64_MAX: nothing. */
int64_t due_next_in_ns(struct host *host);
void due_compact(struct host *host); /* after the turn: forget what nobody waits for any more */
/* A new activity's time-outs on the wall clock; of those, what bounds waiting for a slot; the
 * running attempt's on the monotonic one; a new run's. */
void due_arm_pending(struct host *host, const struct pending *pending);
void due_arm_waiting(struct host *host, const struct pending *pending);
void due_arm_attempt(struct host *host, const struct pending *pending);
/* Of one whose outcome will be reported: the earliest of its time-outs, on the wall clock. */
int64_t due_async_ns(const struct pending *pending);
void due_arm_async(struct host *host, const struct pending *pending);
void due_arm_run(struct host *host, const struct live *live);

/* --- recover.c --- */
int recover_store(struct host *host, struct err *err);

/* --- serve.c --- */
/* The lock is ours: make ready. <0: host_end() all the same. */
int host_begin(struct host *host, struct err *err);
/* One pass: a turn, and what the loop owes besides. Never sleeps. <0: the store failed for good. */
#define HOST_QUIET                                                                                 \
    0               /* nothing was to be done: come again in *ret_wait_ms, or when there is news   \
                     */
#define HOST_BUSY 1 /* something was done: come again at once */
#define HOST_OVER 2 /* stopped, or idle as wished */
int host_pass(struct host *host, int64_t *ret_wait_ms, struct err *err);
void host_hear(struct host *host); /* the bell rang */
/* A turn while an activity runs on the loop's thread. False: the store is given up. */
bool host_turn_within(struct host *host);
void host_end(struct host *host); /* gives everything back, the lock too */
/* Takes the lock and serves until stopped or idle. */
int host_serve(struct host *host, struct err *err);

/* Of what is written into histories; NULL: nothing is sealed. */
static inline const struct sealer *host_sealer(const struct host *host)
{
    return db_sealer(store_db(host->store));
}

#endif
