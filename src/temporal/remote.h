/*
 * remote.h - struct remote: a server and a namespace on it, as the module's files share it.
 *
 * Owns: what is the same for all calls of one dur_connect(). Must not: hold a worker's state
 * (serving.h has that).
 * Threads: read-only after open but for the atomics; any thread may call.
 */
#ifndef TEMPORAL_REMOTE_H
#define TEMPORAL_REMOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "durable.h"
#include "engine/remote.h"

struct remote {
    char *target;       /* "host:port" */
    char *name_space;   /* what all requests name */
    char *identity;     /* of client and worker alike */
    char *queue_prefix; /* before the name of every task queue; "" */
    char *api_key_env;  /* the variable's name, for messages; NULL: no key is sent */
    char *ca_file;      /* these are for a second look at a handshake that failed; NULL: none */
    char *cert_file, *key_file;
    char *server_name; /* NULL: the target's */
    bool is_tls;
    int64_t connect_timeout_ms;
    dur_connect_options options; /* numbers and callbacks; its texts are not kept beyond open */
    struct remote_log log;
    struct transport *transport;
    struct keyring *keyring;
    const struct sealer *sealer;   /* its; NULL: payloads go out as they are */
    struct list_pages *pages;      /* client_list.c */
    _Atomic int64_t limit_said_ns; /* when it was last said that the server limits us; 0: never */
    atomic_bool is_lost;           /* polls go unanswered: said once, and once when it is over */
};

/* One line for the engine's log: level 0 error, 1 warning, 2 information. */
void remote_say(struct remote *remote, int level, const char *fmt, ...) printf_like(3, 4);

/* The name on the server of a task queue of the program, and back ("" in front when the prefix is
 * not there). The first appends; the second points into name. */
void remote_queue_name(const struct remote *remote, struct str *out, const char *task_queue);
const char *remote_queue_shown(const struct remote *remote, const char *name);

/* --- connect.c: the table's first entries (engine/remote.h) --- */
int remote_open(const struct remote_open *open, struct remote **ret, struct err *err);
void remote_interrupt(struct remote *remote);
void remote_close(struct remote *remote);
int remote_look(struct remote *remote, struct arena *arena, struct remote_info *ret,
                struct err *err);
int remote_who_polls(struct remote *remote, struct arena *arena, const char *task_queue,
                     struct remote_pollers *ret, struct err *err);

#endif
