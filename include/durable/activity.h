/*
 * activity.h - what activities and transactions call. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_ACTIVITY_H
#define DURABLE_ACTIVITY_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

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
#define dur_fail_with(act, ...) dur_fail_with_at((act), (__VA_ARGS__), sizeof(dur_failure_options))
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
DUR_API int64_t dur_sql_changes(const dur_sql *sql);   /* rows that the last statement changed */
DUR_API const char *dur_sql_error(const dur_sql *sql); /* of the last statement; "" when good */
/* `return dur_sql_fail(sql, "OutOfStock", "...");` never retried */
DUR_API int dur_sql_fail(dur_sql *sql, const char *type, const char *fmt, ...) DUR_PRINTF(3, 4);
DUR_API void *dur_sql_alloc(dur_sql *sql, size_t bytes); /* zeroed; the transaction's life */

#endif
