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
 * that is loaded when it is asked for (libdurable-temporal.so, with gRPC). */

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
