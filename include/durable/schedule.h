/*
 * schedule.h - runs that are started by the clock. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_SCHEDULE_H
#define DURABLE_SCHEDULE_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

/* --- schedules: runs that are started by the clock -------------------------------------------- */

/* What happens when a start is due while a run of the schedule is still open. */
typedef enum dur_overlap {
    DUR_OVERLAP_OWN = -1,            /* trigger and backfill only: as the schedule says */
    DUR_OVERLAP_SKIP = 0,            /* it is left out, and counted */
    DUR_OVERLAP_BUFFER_ONE = 1,      /* it starts when that run has closed; one waits at most */
    DUR_OVERLAP_BUFFER_ALL = 2,      /* the same, up to 1000 wait */
    DUR_OVERLAP_CANCEL_OTHER = 3,    /* that run is asked to cancel; it starts when it has closed */
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
    int64_t started;                    /* counts: runs started, */
    int64_t skipped;                    /* left out because another was open, */
    int64_t missed;                     /* older than the catch-up window, */
    int64_t dropped;                    /* and more than may wait */
    int64_t waiting;                    /* starts that wait for a run to close, or for an engine */
    const int64_t *next_ns;             /* the next nominal times, at most 10, then 0 */
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
    int64_t due_ns;           /* with jitter */
    int32_t offset_s;         /* local time there and then, minus UTC */
    const char *zone;         /* "Europe/Berlin" */
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

#endif
