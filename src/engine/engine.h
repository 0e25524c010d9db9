/*
 * engine.h - struct dur_engine and what the room's files share.
 *
 * Owns: the handle behind durable.h: one store or one connection to a server, the registry, the
 * host while it serves, and each thread's last error. Must not: hold algorithms; it checks
 * arguments, calls inward and translates errors to durable.h's codes.
 * A call on a connected engine checks what it was given and hands over by engine_remote() or
 * engine_remote_run(), once, before it looks at the store; what only a store can do asks for one by
 * engine_store_ready().
 * Threads: as durable.h says. `mutex` guards the registry and the host's life; the store has its
 * own locks.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/keyring.h"
#include "durable.h"
#include "engine/remote.h"
#include "history/event.h"
#include "history/store.h"
#include "journal/event.h"
#include "journal/execution.h"
#include "journal/store.h"
#include "worker/host.h"

struct remote_host; /* remote_serve.c: what `struct host` is on a server */

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
    dur_options options;     /* texts are not kept beyond dur_open */
    struct store *store;     /* NULL when dur_open failed */
    struct keyring *keyring; /* of dur_options.keyring_file, or NULL; outlives the store */
    struct bell *bell;       /* a ringer */
    struct bell *spare_bell; /* listens for news, nobody uses it; or NULL. Under the mutex */
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
    pthread_cond_t at_rest; /* serving became false, or remote_calls 0 */
    int remote_calls;       /* to the server, under way; a call within its callback counts too */
    bool serving;           /* a thread is within dur_serve or dur_step */
    pthread_t server;       /* that thread: callbacks of its turn run on it */
    /* From the first pass to the last; both NULL: not served here. At most one is there. */
    struct host *host;
    struct remote_host *remote_host;
    bool is_stepped; /* by dur_step(), always from the thread `server` */
    bool is_asking;  /* the thread `asker` replays a run for dur_query() */
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
/* The module; the first call loads it. */
int remote_load(const struct remote_module **ret, struct err *err);
/* Makes it an engine of the server at target: durable.h's code. */
int engine_connect(dur_engine *engine, const struct remote_module *module, const char *target,
                   const dur_connect_options *options);

/* DUR_OK unless it is NULL or another process's (after fork). */
int engine_mine(dur_engine *engine);
/* DUR_OK when the store is open (for writing, when is_writer) or a server is connected, else
 * DUR_INVALID. A writer may not be workflow code or a log callback: they run within the turn's
 * transaction. engine: NULL fine. */
int engine_ready(dur_engine *engine, bool is_writer);
/* The same for what a server does not do. `instead` is what to do there. */
int engine_store_ready(dur_engine *engine, bool is_writer, const char *instead);

/* --- remote_call.c: on a server --- */
static inline bool engine_is_remote(const dur_engine *engine)
{
    return engine && engine->remote;
}
/* As engine_ready; also: id, of an existing run, is one that there can be (else DUR_NOT_FOUND). */
int engine_remote_ready(dur_engine *engine, bool is_writer, const char *id);
/* A module's answer as durable.h's code, after keeping the error. */
int engine_remote_told(dur_engine *engine, int rc, const struct err *err);
/* Around a call: dur_close() cuts short those that are under way, and waits for their end. */
void engine_remote_enter(dur_engine *engine);
int engine_remote_leave(dur_engine *engine, int rc, const struct err *err);
/* No call is under way any more, the connection is closed. */
void engine_remote_close(dur_engine *engine);
/* The server's answer to a call of `struct remote_module`, as durable.h's code. */
#define engine_remote(engine, is_writer, call, ...)                                                \
    engine_remote_if(engine_ready((engine), (is_writer)), engine, call, __VA_ARGS__)
/* The same for calls about the run `id`. */
#define engine_remote_run(engine, is_writer, call, id, ...)                                        \
    engine_remote_if(engine_remote_ready((engine), (is_writer), (id)), engine, call, id,           \
                     __VA_ARGS__)
#define engine_remote_if(ready, engine, call, ...)                                                 \
    __extension__({                                                                                \
        struct err err_ = {0};                                                                     \
        int rc_ = (ready);                                                                         \
        if (rc_ == DUR_OK) {                                                                       \
            engine_remote_enter(engine);                                                           \
            rc_ = (engine)->module->call((engine)->remote, __VA_ARGS__, &err_);                    \
            rc_ = engine_remote_leave((engine), rc_, &err_);                                       \
        }                                                                                          \
        rc_;                                                                                       \
    })
/* `ret` and its texts live in arena, none of them NULL that durable.h does not allow to be. */
int engine_remote_describe(dur_engine *engine, struct arena *arena, const char *id,
                           dur_description *ret);
/* The whole history of a run of the server, copied into arena. */
int engine_remote_history(dur_engine *engine, struct arena *arena, const char *id,
                          struct history *ret);

/* A thread drives it, or drove it and will again (dur_step). Under the mutex. */
static inline bool engine_is_hosted(const dur_engine *engine)
{
    return engine->host || engine->remote_host;
}
/* --- serve.c --- */
/* This thread drives the engine from now on. DUR_BUSY when another does. A host there is, once the
 * lock is held it is begun. */
int engine_enter(dur_engine *engine, bool is_stepped, dur_until until);
/* Back from dur_serve or dur_step. is_over: the host is given back. */
void engine_leave(dur_engine *engine, bool is_over);
/* --- remote_serve.c --- */
struct remote_host *remote_host_new(dur_engine *engine, dur_until until); /* not begun yet */
/* Begins, when that has not been done. 1: something was done; 0: nothing was in max_ms (< 0: wait
 * for ever); DUR_CANCELLED: it is over; another negative code: given up. */
int remote_host_pass(dur_engine *engine, int64_t max_ms, struct err *err);
/* Asked by the driving thread: does it run an activity now? host: NULL fine. */
bool remote_host_is_outside(const struct remote_host *host);
int remote_host_fd(dur_engine *engine);          /* readable: a pass has work; -1: not begun */
void remote_host_end(dur_engine *engine);        /* what was begun: drains it */
void remote_host_free(struct remote_host *host); /* ended, or not begun; NULL fine */
/* "default" and the task queues of dur_lane() and dur_queue(). */
const char **remote_queues(dur_engine *engine, struct arena *arena, size_t *ret_count);
/* How many programs that live poll it for workflow tasks, and the process id of one of them that is
 * of this machine (0: none is). */
int remote_pollers_of(dur_engine *engine, struct arena *arena, const char *task_queue, size_t *ret,
                      int64_t *ret_pid);
/* The same of all those queues together. */
int remote_pollers_count(dur_engine *engine, struct arena *arena, size_t *ret, int64_t *ret_pid);
/* --- test.c --- */
void test_close(dur_engine *engine); /* gives back what only a test's engine has */
/* --- step.c --- */
int step_pass(dur_engine *engine, int64_t *ret_wait_ms, struct err *err); /* as host_pass */
void step_close(dur_engine *engine); /* ends what dur_step() began, waiting for activities */

/* --- keys.c --- */
/* Of an engine whose store has just been opened: keyring and store fit, and the active key is
 * entered. DUR_OK, or the refusal. */
int keys_agree(dur_engine *engine);
/* DUR_OK, or the refusal: the store has sealed payloads and this engine no keyring. */
int keys_ready(dur_engine *engine);
int keys_refuse(dur_engine *engine, const char *what, const char *id, const char *key_id);
/* The text of a sealed column that could not be opened, for people; any other as it is. */
const char *keys_shown(struct arena *arena, const char *text);
/* The same as a JSON object with that member. */
const char *keys_shown_json(struct arena *arena, const char *text, const char *member);
/* Of a history from elsewhere: its payloads in the open, in place (new memory in arena). <0: they
 * are sealed, and not with a key of this engine. */
int keys_open_event(dur_engine *engine, struct arena *arena, struct event *event, struct err *err);
/* May there be sealed payloads in this history? */
bool keys_in_bytes(const void *bytes, size_t len);

/* DUR_OK, or the refusal: name is 1 to 1000 bytes of UTF-8; json is JSON of at most 2 MiB (NULL is
 * fine). `what` begins the message: "the update id". */
int engine_check_name(dur_engine *engine, const char *what, const char *name);
int engine_check_payload(dur_engine *engine, const char *what, const char *json);

/* --- wait.c --- */
/* A time-out of durable.h (ms; < 0: for ever) on the monotonic clock; INT64_MAX: for ever. */
int64_t engine_deadline_ns(int64_t timeout_ms);
/* Who waits for news listens first, then looks, then waits. The engine keeps one bell for the next
 * who comes: closing one (inotify) takes the kernel milliseconds. */
struct listener {
    dur_engine *engine;
    struct bell *bell;
};
int engine_listen(dur_engine *engine, struct listener *ret);
void engine_unlisten(struct listener *listener); /* a zeroed one is fine */
#define autolistener __attribute__((cleanup(engine_unlisten)))
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
