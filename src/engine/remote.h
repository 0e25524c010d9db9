/*
 * remote.h - the seam between durable.h and a host whose runs live on a server.
 *
 * Owns: the table of calls that such a host offers (struct remote_module), what it is given, and
 * its answers. Engine files that meet an engine with a `remote` hand the call over by this table
 * and do nothing else. Such a host is a module that engine/remote.c loads
 * on demand: it has copies of base, history, exec and activity of its own, of the same build
 * (REMOTE_BUILD is compared), and hands structs of theirs back and forth. That is sound because
 * these rooms keep nothing in globals that a run or an attempt depends on.
 * Must not: name Temporal, gRPC or protobuf.
 *
 * Answers: a code of durable.h; when it is negative err has the line for dur_error(): which
 * endpoint, which call, what to check. Never a secret. Texts that come back live in the arena that
 * is given, or are heap (char **: the caller's, as durable.h says).
 * Ids are durable.h's: "ID" or "ID@RUN".
 * Threads: every call but the serving_* ones from any thread at any time.
 */
#ifndef ENGINE_REMOTE_H
#define ENGINE_REMOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "activity/registry.h"
#include "base/arena.h"
#include "base/err.h"
#include "durable.h"

struct event; /* history/event.h */
struct remote;
struct remote_serving;

/* What a module and the program that loads it must agree on. */
#define REMOTE_SYMBOL "dur_remote_module"
#define REMOTE_BUILD_PARTS 8
struct remote_build {
    const char *version;              /* dur_version() */
    size_t sizes[REMOTE_BUILD_PARTS]; /* of structs that both sides touch: REMOTE_BUILD_SIZES */
};
#define REMOTE_BUILD_SIZES                                                                         \
    {                                                                                              \
        sizeof(struct remote_module), sizeof(struct dur_activity), sizeof(struct run_spec),        \
            sizeof(struct run_output), sizeof(struct event), sizeof(dur_start_options),            \
            sizeof(dur_description), sizeof(struct registered)                                     \
    }

struct remote_log {
    void (*line)(void *user, int level, const char *line); /* levels of dur_options.on_log */
    void *user;
};

struct remote_open {
    const dur_connect_options *options; /* complete: an older program's has been widened */
    const char *target;                 /* "host:port", never NULL */
    const char *identity;               /* never NULL */
    struct remote_log log;
};

/* How an attempt that is completed by token ends. */
struct remote_end {
    enum { REMOTE_COMPLETED, REMOTE_FAILED, REMOTE_CANCELLED } how;
    const char *result; /* JSON or NULL */
    dur_kind kind;      /* the rest: of a failure */
    const char *type;
    const char *message;
};

struct remote_lane {
    const char *task_queue; /* as the program names it, without the prefix */
    int slots;              /* 0: its activities run within serving_pass, one after the other */
    double rate_per_s;      /* of the queue as a whole; 0: no limit */
};

struct remote_worker {
    const struct registry *registry; /* complete: it does not change while serving */
    const struct remote_lane *lanes; /* "default" is among them; workflow tasks of all are taken */
    size_t lane_count;
    int max_cached_runs;
    int64_t stop_grace_ms;
    int64_t idle_exit_ms;    /* 0: never */
    bool until_idle;         /* DUR_UNTIL_IDLE: until no run of these queues is open */
    const atomic_bool *stop; /* set by dur_stop(); wake_fd becomes readable then */
    int wake_fd;             /* an eventfd; the loop reads it empty */
    bool *is_outside;        /* the loop's: true while an activity runs on its thread; NULL fine */
};

/* What `factory doctor` and describe want to know of the server. */
struct remote_info {
    const char *server_version; /* "" when the server is too old to tell */
    const char *name_space;
    const char *namespace_state; /* "Registered", ... */
    int64_t retention_ms;        /* of closed runs; 0: not told */
    bool is_encrypted;           /* TLS */
    int64_t server_time_skew_ms; /* server's clock minus ours, roughly; 0: not told */
};
struct remote_poller {
    const char *identity;
    int64_t last_seen_ns; /* wall clock */
};
struct remote_pollers {
    struct remote_poller *rows;
    size_t count;
};

/* Some events of a history in order, ids without gaps over all calls. Non-zero ends it. */
typedef int (*remote_events_fn)(void *user, const struct event *events, size_t count);

struct remote_pending_activity { /* for admin_activities() */
    int64_t scheduled_ns, started_ns, next_attempt_ns, deadline_ns, heartbeat_ns; /* 0: none */
    const char *activity_id, *type, *task_queue;
    enum { REMOTE_SCHEDULED = 1, REMOTE_STARTED, REMOTE_BACKOFF } state;
    int attempt;
    bool cancel_requested;
    const char *last_failure; /* one line, or NULL */
};
struct remote_pending_activities {
    struct remote_pending_activity *rows;
    size_t count;
};

struct remote_module {
    struct remote_build build;

    /* Connects, asks the server for its version and the namespace (unless options->lazy): DUR_OK,
     * DUR_INVALID (options, certificates, keyring, plaintext to a host that is not loopback),
     * DUR_NOT_FOUND (no such namespace), DUR_IO (not reached in connect_timeout_ms). *ret is set
     * only when DUR_OK. */
    int (*open)(const struct remote_open *open, struct remote **ret, struct err *err);
    /* Calls that are under way, and those to come, end with DUR_CANCELLED. */
    void (*interrupt)(struct remote *remote);
    void (*close)(struct remote *remote); /* none is under way any more; NULL fine */
    int (*info)(struct remote *remote, struct arena *arena, struct remote_info *ret,
                struct err *err);
    /* Who polls a task queue for workflow tasks. */
    int (*pollers)(struct remote *remote, struct arena *arena, const char *task_queue,
                   struct remote_pollers *ret, struct err *err);

    /* --- client calls, as durable.h has them; arguments are checked already --- */
    /* signal NULL: a plain start. */
    int (*start)(struct remote *remote, const char *type, const char *id, const char *input,
                 const char *signal, const char *signal_input, const dur_start_options *options,
                 struct err *err);
    int (*signal)(struct remote *remote, const char *id, const char *signal, const char *input,
                  const char *request_id, struct err *err);
    int (*cancel)(struct remote *remote, const char *id, const char *reason, struct err *err);
    int (*terminate)(struct remote *remote, const char *id, const char *reason, struct err *err);
    int (*pause)(struct remote *remote, const char *id, const char *reason, struct err *err);
    int (*resume)(struct remote *remote, const char *id, const char *reason, struct err *err);
    int (*reset)(struct remote *remote, const char *id, const dur_reset_options *options,
                 char **run_id, struct err *err);
    int (*complete)(struct remote *remote, const char *token, const struct remote_end *end,
                    struct err *err);
    int (*complete_heartbeat)(struct remote *remote, const char *token, const char *details,
                              struct err *err);
    int (*token_of)(struct remote *remote, const char *id, const char *activity_id, char **token,
                    struct err *err);
    /* Everything but strings that are NULL lives in arena. */
    int (*describe)(struct remote *remote, struct arena *arena, const char *id,
                    dur_description *ret, struct err *err);
    int (*activities)(struct remote *remote, struct arena *arena, const char *id,
                      struct remote_pending_activities *ret, struct err *err);
    /* filter NULL: none; status 0: all. Tokens are good for this handle's life. */
    int (*list)(struct remote *remote, const char *filter, dur_status status, int64_t after,
                int limit, dur_list_fn row, void *user, struct err *err);
    int (*result)(struct remote *remote, const char *id, int64_t timeout_ms, char **result,
                  struct err *err);
    int (*query)(struct remote *remote, const char *id, const char *query, const char *input,
                 int64_t timeout_ms, char **result, struct err *err);
    int (*update)(struct remote *remote, const char *id, const char *update, const char *input,
                  char **result, const dur_update_options *options, struct err *err);
    int (*update_result)(struct remote *remote, const char *id, const char *update_id,
                         int64_t timeout_ms, char **result, struct err *err);
    /* The whole history as it is now, payloads decoded. Events live during the call of `each`. */
    int (*history)(struct remote *remote, const char *id, remote_events_fn each, void *user,
                   struct err *err);

    /* --- serving: one at a time per handle, all calls from one thread --- */
    int (*serving_begin)(struct remote *remote, const struct remote_worker *worker,
                         struct remote_serving **ret, struct err *err);
    int (*serving_fd)(struct remote_serving *serving); /* readable: serving_pass has work */
    /* Does what is ready; when nothing is, waits up to max_ms for it (< 0: for ever). 1: something
     * was done; 0: nothing was; DUR_CANCELLED: stopped or idle as wished, and all activities are
     * home; DUR_IO: the server refused this worker for good (a transient loss of the server is
     * waited out). */
    int (*serving_pass)(struct remote_serving *serving, int64_t max_ms, struct err *err);
    void (*serving_end)(struct remote_serving *serving); /* drains: no poll is left open */
};

#endif
