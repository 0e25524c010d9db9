/*
 * admin.h - the private door for inspection: what durable.h does not tell and `factory status`,
 * `get` and `history` want to know.
 *
 * Owns: read-only looks at one store or server: pending activities, events in a form for people,
 * the queue of a lane, ids by prefix, the engine that served last. Must not: write, or be part of
 * libdurable's interface (nothing here is exported; it may change with every release).
 * Every function reads committed state, works whether or not an engine runs, and puts all text into
 * the caller's arena. Codes are durable.h's; dur_error() has the line for people.
 * A connected engine (dur_connect) is asked in the same way; what a server does not tell is
 * ADMIN_UNKNOWN, or said to be 0.
 * Threads: as durable.h.
 */
#ifndef ENGINE_ADMIN_H
#define ENGINE_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "durable.h"

#define ADMIN_UNKNOWN (-1) /* a number that the server does not tell */

/* --- activities that are scheduled and not closed --------------------------------------------- */

enum admin_state {
    ADMIN_WAITING = 1, /* for a slot of its lane */
    ADMIN_RUNNING = 2, /* an attempt was started (and may have died with its engine) */
    ADMIN_BACKOFF = 3, /* the next attempt starts at next_attempt_ns */
    ADMIN_ASYNC = 4,   /* its outcome will be reported by token; of a server: RUNNING */
};
/* "waiting", "running", "backoff", "awaited" */
const char *admin_state_name(enum admin_state state);

struct admin_activity {
    int64_t scheduled_event_id; /* of a server: another number of its own among the run's, or 0 */
    const char *type;
    const char *lane;
    enum admin_state state;
    int attempt; /* from 1: the running one, or the one to come */
    int64_t scheduled_ns;
    int64_t started_ns;      /* 0: no attempt runs */
    int64_t next_attempt_ns; /* of BACKOFF, else 0 */
    int64_t deadline_ns;     /* when it is given up as things are; 0: never */
    int64_t heartbeat_ns;    /* last sign of life; 0: none */
    bool cancel_requested;
    const char *last_failure; /* one line; NULL: no attempt failed yet */
    /* WAITING: how many of its lane were scheduled before it, else 0; of a server: unknown */
    int64_t ahead;
};
struct admin_activities {
    struct admin_activity *rows;
    size_t count;
};
/* Of a run (id as for dur_describe), in scheduling order. */
int admin_activities(dur_engine *engine, struct arena *arena, const char *id,
                     struct admin_activities *ret);

/* --- lanes and the engine --------------------------------------------------------------------- */

struct admin_lane {
    int64_t waiting, running, backoff;
};
/* How busy a lane is over all runs; unknown on a server. */
int admin_lane(dur_engine *engine, const char *lane, struct admin_lane *ret);

struct admin_queue {
    const char *name;
    int slots;         /* 0: nobody declared limits; the rest of them are 0 then */
    double rate_per_s; /* 0: no limit, likewise below */
    int burst, per_key;
    int64_t waiting, running, backoff, async; /* unknown on a server, and it has no limits here */
    int64_t pollers; /* programs that ask the server for its tasks; of a store: 0 */
};
struct admin_queues {
    struct admin_queue *rows; /* by name */
    size_t count;
};
/* Every task queue that has pending activities or declared limits. On a server: those that this
 * program has declared. */
int admin_queues(dur_engine *engine, struct arena *arena, struct admin_queues *ret);

/* On a server: one of those programs that poll the queues this program has declared. */
struct admin_server {
    bool is_serving;
    int64_t pid;        /* of the one that serves, else of the last that did; 0: none ever, or it
                         * is of another machine */
    int64_t started_ns; /* when it took the store; 0 on a server */
    int64_t engines;    /* how many have served this store so far; on a server: how many poll now */
};
int admin_server(dur_engine *engine, struct arena *arena, struct admin_server *ret);

/* What the wall clock did since a time, as engines and clients of this store noticed it. */
struct admin_clock {
    int64_t sets;       /* how often it was set by 50 ms or more (or the machine was paused) */
    int64_t largest_ns; /* the largest step, forward > 0 */
    int64_t last_ns;    /* when the last one was; 0: none */
};
/* Of a connected engine: none. */
int admin_clock(dur_engine *engine, struct arena *arena, int64_t since_ns, struct admin_clock *ret);

/* What the connection of dur_connect() leads to. DUR_INVALID for an engine of a store. */
struct admin_remote {
    const char *address; /* "host:port" */
    const char *version; /* of the server; "" when it is too old to tell */
    const char *name_space;
    const char *namespace_state; /* "Registered", ... */
    int64_t retention_ms;        /* of closed runs; 0: not told */
    bool is_encrypted;           /* TLS */
    int64_t skew_ms;             /* the server's clock minus ours, roughly; 0: not told */
};
int admin_remote(dur_engine *engine, struct arena *arena, struct admin_remote *ret);
bool admin_is_remote(const dur_engine *engine); /* its runs live on a server */

/* --- runs by the beginning of their id -------------------------------------------------------- */

struct admin_ids {
    const char **ids; /* distinct workflow ids, newest first */
    size_t count;
};
/* A server's list may lag: a run that began a moment ago is found by its whole id alone. */
int admin_ids_with_prefix(dur_engine *engine, struct arena *arena, const char *prefix, int limit,
                          struct admin_ids *ret);

/* --- histories for people --------------------------------------------------------------------- */

struct admin_event {
    int64_t id;
    int64_t time_ns;
    const char *type;     /* "ActivityTaskScheduled" */
    int64_t scheduled_id; /* of an activity's later events: where it was scheduled; else 0 */
    const char *name;     /* type of activity or workflow, signal, timer, marker; NULL: none */
    int attempt;          /* of a started activity; else 0 */
    const char *input;    /* JSON, first payload of what it was given; NULL: none */
    const char *result;   /* JSON, first payload of what it gave; NULL: none */
    const char *failure;  /* one line; NULL: none */
};
struct admin_history {
    struct admin_event *events;
    size_t count;
    int64_t bytes; /* as stored */
};
int admin_history(dur_engine *engine, struct arena *arena, const char *id,
                  struct admin_history *ret);

/* --- schedules -------------------------------------------------------------------------------- */

/* A definition's JSON (dur_schedule_info.definition) as what dur_schedule_set() takes. engine: NULL
 * is fine. */
int admin_schedule_definition(dur_engine *engine, struct arena *arena, const char *json,
                              dur_schedule *ret);

/* --- histories as such: of a run, or from bytes in either form -------------------------------- */

struct admin_loaded; /* owns all that the calls below return, but for diff's */

int admin_load_run(dur_engine *engine, const char *id, struct admin_loaded **ret);
/* No store is needed. <0: err says what is wrong with the bytes. */
int admin_load_bytes(const void *bytes, size_t len, struct admin_loaded **ret, struct err *err);
struct admin_loaded *admin_loaded_free(struct admin_loaded *loaded); /* NULL fine */
static inline void admin_loaded_cleanup_(struct admin_loaded **loaded)
{
    *loaded = admin_loaded_free(*loaded);
}
#define autoloaded cleanup_with(admin_loaded_cleanup_)

void admin_loaded_show(struct admin_loaded *loaded, struct admin_history *ret);
void admin_loaded_print(const struct admin_loaded *loaded, dur_form form, struct str *out);

struct admin_verdict {
    int64_t events;
    bool closed;
    bool protobuf;             /* the form that it had */
    const char *workflow_type; /* NULL: not known */
    const char *workflow_id;
    const char *error;    /* the event and the rule that it breaks; NULL: valid */
    const char *warnings; /* a line each; NULL: none */
};
void admin_loaded_judge(struct admin_loaded *loaded, struct admin_verdict *ret);

struct admin_difference {
    int64_t left_id; /* 0: only the right one has this event */
    int64_t right_id;
    const char *type;
    const char *name; /* NULL: none */
    const char *what; /* of an event that both have: "activityType is b, expected a" */
};
struct admin_differences {
    struct admin_difference *rows;
    size_t count;
};
/* Event by event, left being what is expected. Ids, times, identities and what follows from them
 * are left out unless `all`. */
void admin_diff(const struct admin_loaded *left, const struct admin_loaded *right, bool all,
                struct arena *arena, struct admin_differences *ret);

#endif
