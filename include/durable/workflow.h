/*
 * workflow.h - what workflow code calls. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_WORKFLOW_H
#define DURABLE_WORKFLOW_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

/* --- inside a workflow ----------------------------------------------------------------------- */

typedef enum dur_cancellation {
    DUR_TRY_CANCEL = 0,  /* ask the activity to stop, return DUR_CANCELLED at once */
    DUR_WAIT_CANCEL = 1, /* ask it to stop and wait for its real end */
    DUR_ABANDON = 2,     /* return DUR_CANCELLED, leave it running */
} dur_cancellation;

typedef struct dur_activity_options {
    const char *task_queue;       /* default: "default" */
    const char *activity_id;      /* default: counter */
    int64_t schedule_to_close_ms; /* whole life with all retries */
    int64_t schedule_to_start_ms; /* waiting for a slot; never retried */
    int64_t start_to_close_ms;    /* one attempt; default 10 minutes when neither is given */
    int64_t heartbeat_ms;         /* longest silence of one attempt */
    int max_attempts;             /* 0: no limit (shorthand for retry.maximum_attempts) */
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
DUR_API int dur_run_local_at(dur_ctx *ctx, const char *type, const char *input, const char **result,
                             const dur_local_options *options, size_t options_size,
                             const char *file, int line);
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
#define dur_select(ctx, futures, count) dur_select_at((ctx), (futures), (count), __FILE__, __LINE__)
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
DUR_API int dur_receive_at(dur_ctx *ctx, const char *signal, int64_t timeout_ms, const char **input,
                           const char *file, int line);
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
    DUR_PARENT_CLOSE_TERMINATE = 0,      /* the child is terminated with its parent */
    DUR_PARENT_CLOSE_ABANDON = 1,        /* it goes on */
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
DUR_API void dur_cancel_scope(dur_ctx *scope);    /* and the scopes within it */
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
DUR_API const char *dur_uuid(dur_ctx *ctx);       /* version 4 */
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
    const char *type; /* NULL, 0: as this run, throughout */
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

#endif
