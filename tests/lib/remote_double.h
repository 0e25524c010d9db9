/*
 * remote_double.h - a made-up host for connected engines: a module's table (engine/remote.h) whose
 * answers a test sets, and which remembers what it was asked.
 *
 * Owns: struct remote and struct remote_serving of this program. Each call leaves one line in
 * `log`, "name argument argument ...", NULL being "-". `code` and `text` say how calls end; a call
 * that ends well gives what the test has put in place.
 * Threads: one test's; the log has no lock.
 */
#ifndef TESTS_REMOTE_DOUBLE_H
#define TESTS_REMOTE_DOUBLE_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "activity/attempt.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "engine/remote.h"
#include "exec/run.h"

struct remote {
    struct str log;
    int code;                 /* how the next calls end */
    const char *text;         /* the error's line when they fail */
    const char *identity;     /* of the engine */
    struct remote_log to_log; /* the engine's */
    /* answers */
    const char *result; /* of result, query, update, token_of, reset */
    dur_description description;
    const dur_description *list;
    int list_count;
    const struct history *history;
    size_t piece; /* events handed over at a time; 0: all */
    struct remote_pending_activities activities;
    struct remote_pollers pollers;
    struct remote_info info;
    /* serving */
    struct remote_worker worker; /* as of serving_begin */
    const int *passes;           /* what the passes return, in order; then DUR_CANCELLED */
    void (*on_pass)(struct remote *remote);
    void *on_pass_data;
    int serving_fd; /* of serving_fd(), while it serves */
    int begun, ended, closed;
    bool waits;              /* result waits until it is interrupted ... */
    atomic_int waiting;      /* ... so many now */
    atomic_bool interrupted; /* by dur_close */
};

struct remote_serving {
    struct remote *remote;
    int fd;
};

static struct remote double_remote; /* the connection that the next engine_connect() gets */

static const char *shown(const char *text)
{
    return text ? text : "-";
}

/* A line in the log; how the call ends. */
static int told(struct remote *remote, struct err *err, const char *fmt, ...) printf_like(3, 4);
static int told(struct remote *remote, struct err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *line = NULL;
    int len = vasprintf(&line, fmt, ap);
    va_end(ap);
    cr_assert_geq(len, 0);
    str_add(&remote->log, line);
    str_addc(&remote->log, '\n');
    if (remote->code != DUR_OK) {
        err_set(err, ERR_TRANSIENT, "Told", "%s", shown(remote->text));
    }
    return remote->code;
}

static int give(int rc, const struct remote *remote, char **to)
{
    if (rc >= 0) {
        *to = mem_strdup(shown(remote->result));
    }
    return rc;
}

static int d_open(const struct remote_open *open, struct remote **ret, struct err *err)
{
    const dur_connect_options *o = open->options;
    struct remote *remote = &double_remote;
    remote->identity = open->identity;
    remote->to_log = open->log;
    int rc = told(remote, err, "open %s %s lazy=%d", open->target, shown(o->name_space), o->lazy);
    *ret = rc == DUR_OK ? remote : NULL;
    return rc;
}

static void d_interrupt(struct remote *remote)
{
    atomic_store(&remote->interrupted, true);
}

static void d_close(struct remote *remote)
{
    cr_assert(atomic_load(&remote->interrupted));
    remote->closed++;
}

static int d_info(struct remote *remote, struct arena *arena, struct remote_info *ret,
                  struct err *err)
{
    (void)arena;
    *ret = remote->info;
    return told(remote, err, "info");
}

static int d_pollers(struct remote *remote, struct arena *arena, const char *task_queue,
                     struct remote_pollers *ret, struct err *err)
{
    (void)arena;
    *ret = remote->pollers;
    return told(remote, err, "pollers %s", task_queue);
}

static int d_start(struct remote *remote, const char *type, const char *id, const char *input,
                   const char *signal, const char *signal_input, const dur_start_options *options,
                   struct err *err)
{
    return told(remote, err, "start %s %s %s %s %s queue=%s conflict=%d run=%" PRId64, type, id,
                shown(input), shown(signal), shown(signal_input), shown(options->task_queue),
                (int)options->conflict, options->run_timeout_ms);
}

static int d_signal(struct remote *remote, const char *id, const char *signal, const char *input,
                    const char *request_id, struct err *err)
{
    return told(remote, err, "signal %s %s %s %s", id, signal, shown(input), shown(request_id));
}

static int d_cancel(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    return told(remote, err, "cancel %s %s", id, shown(reason));
}

static int d_terminate(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    return told(remote, err, "terminate %s %s", id, shown(reason));
}

static int d_pause(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    return told(remote, err, "pause %s %s", id, shown(reason));
}

static int d_resume(struct remote *remote, const char *id, const char *reason, struct err *err)
{
    return told(remote, err, "resume %s %s", id, shown(reason));
}

static int d_reset(struct remote *remote, const char *id, const dur_reset_options *options,
                   char **run_id, struct err *err)
{
    int rc =
        told(remote, err, "reset %s %" PRId64 " %s", id, options->event_id, shown(options->reason));
    return give(rc, remote, run_id);
}

static int d_complete(struct remote *remote, const char *token, const struct remote_end *end,
                      struct err *err)
{
    return told(remote, err, "complete %s how=%d %s kind=%d %s %s", token, (int)end->how,
                shown(end->result), (int)end->kind, shown(end->type), shown(end->message));
}

static int d_complete_heartbeat(struct remote *remote, const char *token, const char *details,
                                struct err *err)
{
    return told(remote, err, "beat %s %s", token, shown(details));
}

static int d_token_of(struct remote *remote, const char *id, const char *activity_id, char **token,
                      struct err *err)
{
    return give(told(remote, err, "token_of %s %s", id, activity_id), remote, token);
}

static int d_describe(struct remote *remote, struct arena *arena, const char *id,
                      dur_description *ret, struct err *err)
{
    *ret = remote->description;
    ret->workflow_id = arena_strdup(arena, ret->workflow_id);
    return told(remote, err, "describe %s", id);
}

static int d_activities(struct remote *remote, struct arena *arena, const char *id,
                        struct remote_pending_activities *ret, struct err *err)
{
    (void)arena;
    *ret = remote->activities;
    return told(remote, err, "activities %s", id);
}

static int d_list(struct remote *remote, const char *filter, dur_status status, int64_t after,
                  int limit, dur_list_fn row, void *user, struct err *err)
{
    int rc = told(remote, err, "list %s status=%d after=%" PRId64 " limit=%d", shown(filter),
                  (int)status, after, limit);
    for (int i = (int)after; rc == DUR_OK && i < remote->list_count && i < after + limit; i++) {
        if (row(user, i + 1, &remote->list[i])) {
            break;
        }
    }
    return rc;
}

static int d_result(struct remote *remote, const char *id, int64_t timeout_ms, char **result,
                    struct err *err)
{
    if (remote->waits) {
        atomic_fetch_add(&remote->waiting, 1);
        while (!atomic_load(&remote->interrupted)) {
            clock_sleep_ms(1);
        }
        clock_sleep_ms(20); /* its end takes a moment: dur_close waits */
        atomic_fetch_sub(&remote->waiting, 1);
        err_set(err, ERR_CANCELLED, "Told", "the connection was closed");
        return DUR_CANCELLED;
    }
    return give(told(remote, err, "result %s %" PRId64, id, timeout_ms), remote, result);
}

static int d_query(struct remote *remote, const char *id, const char *query, const char *input,
                   int64_t timeout_ms, char **result, struct err *err)
{
    return give(told(remote, err, "query %s %s %s %" PRId64, id, query, shown(input), timeout_ms),
                remote, result);
}

static int d_update(struct remote *remote, const char *id, const char *update, const char *input,
                    char **result, const dur_update_options *options, struct err *err)
{
    cr_assert_not_null(options->update_id); /* the engine made one up when there was none */
    return give(told(remote, err, "update %s %s %s wait=%d %" PRId64, id, update, shown(input),
                     (int)options->wait, options->timeout_ms),
                remote, result);
}

static int d_update_result(struct remote *remote, const char *id, const char *update_id,
                           int64_t timeout_ms, char **result, struct err *err)
{
    return give(told(remote, err, "update_result %s %s %" PRId64, id, update_id, timeout_ms),
                remote, result);
}

static int d_history(struct remote *remote, const char *id, remote_events_fn each, void *user,
                     struct err *err)
{
    int rc = told(remote, err, "history %s", id);
    const struct history *h = remote->history;
    size_t piece = remote->piece ? remote->piece : h ? h->count : 0;
    for (size_t at = 0; rc == DUR_OK && h && at < h->count; at += piece) {
        size_t count = h->count - at < piece ? h->count - at : piece;
        if (each(user, h->items + at, count)) {
            str_add(&remote->log, "broken off\n");
            err_set(err, ERR_PERMANENT, "Told", "the receiver wants no more");
            return DUR_IO;
        }
    }
    return rc;
}

static int d_serving_begin(struct remote *remote, const struct remote_worker *worker,
                           struct remote_serving **ret, struct err *err)
{
    int rc = told(remote, err, "begin");
    if (rc == DUR_OK) {
        remote->worker = *worker;
        remote->begun++;
        *ret = mem_alloc(sizeof(**ret));
        (*ret)->remote = remote;
        (*ret)->fd = remote->serving_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    return rc;
}

static int d_serving_fd(struct remote_serving *serving)
{
    return serving->fd;
}

static int d_serving_pass(struct remote_serving *serving, int64_t max_ms, struct err *err)
{
    struct remote *remote = serving->remote;
    uint64_t count;
    str_addf(&remote->log, "pass %" PRId64 "\n", max_ms);
    if (remote->on_pass) {
        remote->on_pass(remote);
    }
    ssize_t n = read(serving->fd, &count, sizeof(count));
    n += read(remote->worker.wake_fd, &count, sizeof(count));
    (void)n;
    int rc =
        atomic_load(remote->worker.stop) || !remote->passes ? DUR_CANCELLED : *remote->passes++;
    if (rc < 0) {
        err_set(err, ERR_TRANSIENT, "Told", "%s", shown(remote->text));
    }
    return rc;
}

static void d_serving_end(struct remote_serving *serving)
{
    serving->remote->ended++;
    close(serving->fd);
    free(serving);
}

static const struct remote_module double_module = {
    .build = {.version = "double", .sizes = REMOTE_BUILD_SIZES},
    .open = d_open,
    .interrupt = d_interrupt,
    .close = d_close,
    .info = d_info,
    .pollers = d_pollers,
    .start = d_start,
    .signal = d_signal,
    .cancel = d_cancel,
    .terminate = d_terminate,
    .pause = d_pause,
    .resume = d_resume,
    .reset = d_reset,
    .complete = d_complete,
    .complete_heartbeat = d_complete_heartbeat,
    .token_of = d_token_of,
    .describe = d_describe,
    .activities = d_activities,
    .list = d_list,
    .result = d_result,
    .query = d_query,
    .update = d_update,
    .update_result = d_update_result,
    .history = d_history,
    .serving_begin = d_serving_begin,
    .serving_fd = d_serving_fd,
    .serving_pass = d_serving_pass,
    .serving_end = d_serving_end,
};

/* --- engines of it ---------------------------------------------------------------------------- */

static dur_engine *double_connect(void)
{
    dur_engine *engine = NULL;
    cr_assert_eq(engine_new(&engine), DUR_OK);
    int rc = engine_connect(engine, &double_module, "127.0.0.1:7233",
                            &(dur_connect_options){.identity = "tester"});
    cr_assert_eq(rc, DUR_OK, "%s", dur_error(engine));
    str_reset(&double_remote.log);
    return engine;
}

/* Closes it and forgets everything. */
static void double_close(dur_engine *engine)
{
    dur_close(engine);
    cr_assert_eq(double_remote.closed, 1);
    cr_assert_eq(double_remote.begun, double_remote.ended);
    str_free(&double_remote.log);
    double_remote = (struct remote){0};
}

/* What was asked since the last time. */
static void double_asked(const char *lines)
{
    cr_assert_str_eq(str_c(&double_remote.log), lines);
    str_reset(&double_remote.log);
}

#endif
