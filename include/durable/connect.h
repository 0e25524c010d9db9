/*
 * connect.h - an engine whose runs live on a Temporal server. A part of durable.h.
 *
 * Owns: these declarations. Must not: be included by itself, or include anything: durable.h brings
 * the parts in their order, with what all of them use.
 */
#ifndef DURABLE_CONNECT_H
#define DURABLE_CONNECT_H

#ifndef DURABLE_H
#error "include <durable.h>: it brings every part"
#endif

/* --- on a Temporal server instead of a file --------------------------------------------------
 * The same workflow and activity functions, registered the same way, run as a worker of a Temporal
 * server, and the same client calls start, watch and signal runs there. The code for it is a module
 * that is loaded when it is asked for (libdurable-temporal.so, with gRPC).
 *
 * All that this header says holds there too, but for this:
 *
 *   Serving. Nobody owns the runs: any number of programs serve the same task queues at the same
 *   time, and each task goes to one of them; dur_serve never stands by. Served are "default" and
 *   the queues of dur_lane() and dur_queue(), each for workflows and for activities, so a run's
 *   own queue (dur_start_options.task_queue) must be among those that somebody serves. All workflow
 *   code runs on the thread in dur_serve or dur_step; polling and activities have threads of the
 *   module. A server that is lost is waited for. DUR_IO: it refuses this worker for good.
 *   Workflow code. A step that cannot be (a mismatch, a transaction, a type that nobody registered)
 *   fails its workflow task once, and parks the run; the server tries again after pauses that grow
 *   from seconds to ten minutes, so a run may take that long to see mended code. A task has its
 *   time-out (dur_start_options.task_timeout_ms, 10 s) for its code to run until it waits, and what
 *   it asks for may have 4 MiB together. While a local activity runs, tasks keep it alive: what
 *   comes meanwhile is seen after at most 80 % of that time.
 *   dur_continue_as_new. Signals that nobody received are sent to the next run when it is there:
 *   its code may have begun, and a program that dies in between loses them. Receive them first.
 *   Calls. Each is a round trip or a few. To a server that is lost it is tried again for some ten
 *   seconds, and then DUR_IO; what waits (dur_result, dur_query, dur_update) waits on for its own
 *   time, five minutes at most.
 *   Lanes. One of 0 slots has a thread that polls; its activities run in dur_serve or dur_step as
 *   ever. dur_queue: rate_per_s is the queue's over all programs (the last one that asked sets it),
 *   burst is the server's, per_key is refused.
 *   dur_served_by. Who polled those queues within the last two minutes; the process id is 0 unless
 *   one of them runs on this machine with an identity "PID@HOST" or "NAME@HOST:PID".
 *   dur_start. Closed runs are remembered for the namespace's retention time; `reuse` looks no
 *   further back. There is no disk budget, so no DUR_FULL. A call whose answer was lost is asked
 *   again under the same request id: one run. Names of search attributes must be made known to the
 *   server first.
 *   dur_pause, dur_resume. DUR_INVALID when the server cannot, as most today.
 *   dur_list. Open runs first, then by the time they closed. Lists lag behind by a moment: a run
 *   that has just begun may be missing, dur_describe knows it. They leave out what dur_describe
 *   tells of result, failure, parked, paused, attempt and next_run_id. Tokens are this handle's.
 *   dur_query. A worker answers, and there must be one. The thread that drives the engine by
 *   dur_step() would wait for itself.
 *   dur_update. DUR_WAIT_ADMITTED is refused (DUR_INVALID): a server may lose an update that no
 *   worker has accepted yet.
 *   dur_result. Waits on while the server is away, for five minutes.
 *   Values. What other programs recorded that is no JSON is told in Temporal's JSON form of a
 *   payload, {"metadata":{...},"data":...}. Search attributes that a server notes by itself
 *   (BuildIds ...) are left out. A memo's keys come in any order.
 *   Tokens of activities (dur_complete) are the server's: long, and not to be looked into.
 *   Activities. dur_activity_last_failure() knows nothing: a server does not tell it. A cancel
 *   request, and that the run is closed, are told in answers to heartbeats: within a second of
 *   details, else within 5 s (with heartbeat_ms: while the attempt beats). An attempt that returns
 *   DUR_CANCELLED because the engine stops counts as one, and is retried soon unless it was the
 *   last. A type that the program which polled has not registered fails, and is retried.
 *   dur_complete() of an attempt that was completed before: DUR_NOT_FOUND, never DUR_EXISTS.
 *   dur_history, dur_export. The history as the server has it, payloads opened (keyring).
 *   Not there (DUR_INVALID): dur_schedule_*, dur_import, dur_test_*. dur_run_transaction() fails
 *   the workflow task, as code that cannot run does. Of dur_options what is about a file does not
 *   exist; when to continue as new, and how far runs of a chain keep apart, the server says.
 *   fork(). A child of a process that has connected cannot connect, nor use what its parent has
 *   (DUR_INVALID): let it exec a program that does.
 *   dur_close. Calls of other threads that wait for the server end with DUR_CANCELLED.
 *   Logs. on_log is called from threads of the module too, several at once; it must not call the
 *   engine. */

typedef struct dur_connect_options {
    const char *name_space;   /* default "default"; it must exist */
    const char *identity;     /* in histories; default "pid@host" */
    const char *queue_prefix; /* before the name of every task queue that the program names, so that
                               * programs can share a namespace; default "" */
    int tls;                  /* 1: TLS. Needed for every host but this one (loopback) */
    const char *server_name;  /* the name that the certificate must show; default: the target's */
    const char *ca_file;      /* PEM: who signed the server's certificate; default: the system's */
    const char *cert_file;    /* PEM: our own certificate, for servers that want one ... */
    const char *key_file;     /* ... and its key: both or neither */
    const char *api_key_env;  /* the environment variable that has the API key; needs tls */
    int64_t connect_timeout_ms; /* default 10000 */
    int lazy;                   /* 1: the server is not asked before the first call that needs it */
    int max_cached_runs;        /* as in dur_options, these five too */
    int64_t idle_exit_ms;
    int64_t stop_grace_ms;
    void (*on_log)(void *user, int level, const char *line);
    void *on_log_user;
    const char *keyring_file; /* a file of keys: payloads leave this program sealed, and are opened
                               * when they come back; NULL: they travel as they are */
} dur_connect_options;

/* Connects to the server at target, "host:port". Always sets *engine (never NULL), also on failure,
 * so that dur_error() can be asked; always end with dur_close(). DUR_INVALID: an option, a
 * certificate, or plaintext to another host; or the module or what it needs is not installed.
 * DUR_NOT_FOUND: the server has no such namespace. DUR_IO: no server answered in time. */
#define dur_connect(engine, target, ...)                                                           \
    dur_connect_at((engine), (target), (__VA_ARGS__), sizeof(dur_connect_options))
DUR_API int dur_connect_at(dur_engine **engine, const char *target,
                           const dur_connect_options *options, size_t options_size);

#endif
