/*
 * engine.h - registering code, opening a store, serving it. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_ENGINE_H
#define DURABLE_ENGINE_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

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
    const char *identity;        /* in histories; default "pid@host" */
    int read_only;               /* 1: client that only looks; never creates or migrates the file */
    int no_create;               /* 1: DUR_NOT_FOUND when the file does not exist */
    int64_t busy_timeout_ms;     /* default 10000 */
    int64_t wal_cap_bytes;       /* checkpoint is forced above this; default 64 MiB */
    int64_t reserve_bytes;       /* size of the disk reserve file; default 16 MiB; -1: none */
    int64_t min_free_bytes;      /* with less free space new runs are refused; 64 MiB; -1: any */
    int64_t max_db_bytes;        /* disk budget for the database; default 0: none */
    int max_cached_runs;         /* suspended workflow functions kept in memory; default 4096 */
    int64_t idle_exit_ms;        /* dur_serve returns after this long with nothing open; 0: never */
    const char *schema_name;     /* application schema in the same file, or NULL */
    const dur_migration *schema; /* ends with a zeroed entry */
    const char *vfs; /* SQLite VFS name; NULL: the system's (tests inject faults here) */
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
    /* A file of keys, JSON {"active": ID, "keys": {ID: base64 of 32 bytes, ...}}, readable by its
     * owner alone: inputs, results, signals, memos and messages of failures are sealed with the
     * active key before they reach the store, and whichever of its keys sealed them opens them.
     * Read by dur_open alone. NULL: none. A store that has sealed payloads can then be looked at
     * (dur_describe, dur_list, dur_history show what is sealed as such); all that writes, runs code
     * or gives a result is DUR_INVALID. docs/engine.md, "Payloads at rest". */
    const char *keyring_file;
    /* Retention: while this engine serves, closed runs go, with all that is theirs, when they
     * closed longer ago than keep_closed_ms, or when there are more than keep_closed_runs (the
     * newest stay). 0: neither; both 0: they are kept for ever. Time is the wall clock's. A run
     * that goes is unknown from then on: its id may be used again whatever the reuse policy, its
     * request ids are forgotten. Work goes on meanwhile: they go in small transactions, and the
     * file shrinks after them. dur_purge() does the same at once. */
    int64_t keep_closed_ms;
    int64_t keep_closed_runs;
} dur_options;

/* Opens (creating and migrating as needed) the store at path. Always sets *engine (never NULL),
 * also on failure, so that dur_error() can be asked; always end with dur_close().
 * DUR_NEWER, DUR_INVALID (network or FUSE file system, not a factory database, a keyring that is
 * none or does not fit the store), DUR_IO, DUR_BUSY (also: the engine that serves does not know the
 * keyring's active key yet), DUR_NOT_FOUND as above. Does not start to execute anything. */
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
 * good, DUR_INVALID when a key is missing that sealed something in it. */
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

#endif
