/*
 * engine.h - struct dur_engine and what the room's files share.
 *
 * Owns: the handle behind durable.h: one store, the registry, the host while it serves, and each
 * thread's last error. Must not: hold algorithms; it checks arguments, calls inward and translates
 * errors to durable.h's codes.
 * Threads: as durable.h says. `mutex` guards the registry and the host's life; the store has its
 * own locks.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "durable.h"
#include "history/event.h"
#include "history/store.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "journal/store.h"
#include "worker/host.h"

struct remote;        /* engine/remote.h */
struct remote_module; /* the same */

struct lane_wish { /* dur_lane(), dur_queue() before serving */
    struct lane_wish *next;
    char *task_queue;
    int slots;
    bool has_limits;
    struct queue_row limits; /* of dur_queue(); its name is task_queue */
};

struct dur_engine {
    char *path; /* of the store, or the server's address */
    char *identity;
    dur_options options;                /* texts are not kept beyond dur_open */
    struct store *store;                /* NULL when dur_open failed */
    struct bell *bell;                  /* a ringer */
    const struct remote_module *module; /* runs live on a server: how to ask it; else NULL */
    struct remote *remote;              /* and the connection */
    const struct clock_vtable *clock;   /* NULL: the system's */
    struct pace *pace;                  /* of dur_test_open: what `clock` reads; else NULL */
    int64_t test_limit_ns;              /* how far dur_test_run goes */
    char *test_dir;                     /* heap: removed with the engine, or NULL */
    pthread_mutex_t mutex;
    struct registry registry;
    struct lane_wish *lanes;
    struct inbox inbox;
    atomic_bool stop;
    pthread_cond_t at_rest; /* serving became false */
    bool serving;           /* a thread is within dur_serve or dur_step */
    pthread_t server;       /* that thread: callbacks of its turn run on it */
    struct host *host;      /* from the first pass to the last; NULL: not served here */
    bool is_stepped;        /* by dur_step(), always from the thread `server` */
    bool is_asking;         /* the thread `asker` replays a run for dur_query() */
    pthread_t asker;
    int step_fd, timer_fd; /* dur_fd(): made on demand; 0: none */
    pid_t pid;             /* of the process that opened it: a forked child may not use it */
    uint64_t serial;       /* of the handle, never used again: last errors are kept under it */
};

/* Remember err as this thread's last error on engine and return durable.h's code for it. */
int engine_fail(dur_engine *engine, const struct err *err);
/* The same with a text of our own. */
int engine_refuse(dur_engine *engine, int code, const char *fmt, ...) printf_like(3, 4);
int engine_code(const struct err *err);
int64_t engine_now_ns(const dur_engine *engine); /* wall clock: every time that a client writes */
/* A handle without a store; the code to return when there is none. */
int engine_new(dur_engine **ret);
char *engine_identity(const char *wish); /* that, or "pid@host"; heap */
void engine_fill_defaults(dur_options *options);
/* --- remote.c --- */
/* The module, loaded when it was not yet. */
int remote_load(const struct remote_module **ret, struct err *err);
/* Makes it an engine of the server at target: durable.h's code. */
int engine_connect(dur_engine *engine, const struct remote_module *module, const char *target,
                   const dur_connect_options *options);

/* DUR_OK unless it is NULL or another process's (after fork). */
int engine_mine(dur_engine *engine);
/* DUR_OK when the store is open (for writing, when is_writer), else DUR_INVALID. A writer may not
 * be workflow code or a log callback: they run within the turn's transaction. engine: NULL fine. */
int engine_ready(dur_engine *engine, bool is_writer);

/* --- serve.c --- */
/* This thread drives the engine from now on. DUR_BUSY when another does. A host there is, once the
 * lock is held it is begun. */
int engine_enter(dur_engine *engine, bool is_stepped, dur_until until);
/* Back from dur_serve or dur_step. is_over: the host is given back. */
void engine_leave(dur_engine *engine, bool is_over);
/* --- test.c --- */
void test_close(dur_engine *engine); /* gives back what only a test's engine has */
/* --- step.c --- */
int step_pass(dur_engine *engine, int64_t *ret_wait_ms, struct err *err); /* as host_pass */
void step_close(dur_engine *engine); /* ends what dur_step() began, waiting for activities */

/* DUR_OK, or the refusal: name is 1 to 1000 bytes of UTF-8; json is JSON of at most 2 MiB (NULL is
 * fine). `what` begins the message: "the update id". */
int engine_check_name(dur_engine *engine, const char *what, const char *name);
int engine_check_payload(dur_engine *engine, const char *what, const char *json);

/* --- wait.c --- */
/* A time-out of durable.h (ms; < 0: for ever) on the monotonic clock; INT64_MAX: for ever. */
int64_t engine_deadline_ns(int64_t timeout_ms);
/* Sleeps until the bell rings, or for a while (a ring may be lost): DUR_OK, look again; 1: until_ns
 * has passed; else a failure. */
int engine_wait_news(dur_engine *engine, struct bell *bell, int64_t until_ns);

/* Newest run of "WORKFLOW_ID" or the one of "WORKFLOW_ID@RUN_ID"; 0, 1 none, <0. */
int engine_find(dur_engine *engine, struct db *db, struct arena *arena, const char *id,
                struct execution_row *ret, struct err *err);
/* The open run of "WORKFLOW_ID", or the one of "WORKFLOW_ID@RUN_ID" if it is open. */
int engine_find_open(dur_engine *engine, struct db *db, struct arena *arena, const char *id,
                     struct execution_row *ret, struct err *err);
/* The whole history of a run, decoded. */
int engine_load_history(struct db *db, struct arena *arena, const struct execution_row *row,
                        struct history *ret, struct err *err);

#endif
