/*
 * remote_serve.c - serving the task queues of a server: the host of a connected engine.
 *
 * Owns: what the module is given to serve with (struct remote_worker, kept until serving has
 * ended), and who else serves. Who may drive an engine, and when, is serve.c's and step.c's as it
 * is for stores.
 * Rule: "default" is always among the lanes.
 * Threads: the one that drives the engine, but remote_queues and what asks for pollers: any.
 * Tests: tests/unit/test_engine_remote.c
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"

#define DEFAULT_QUEUE "default"
/* A server remembers a poller for minutes after it is gone; one that lives asks anew each minute.
 */
#define POLLER_NS (120 * NS_PER_S)

struct remote_host {
    struct arena *arena;
    struct remote_worker worker;
    struct remote_serving *serving; /* NULL: not begun */
    bool is_outside;                /* the driving thread runs an activity, not workflow code */
};

/* Under the mutex. */
static const struct lane_wish *wish_of(const dur_engine *engine, const char *task_queue)
{
    const struct lane_wish *wish = engine->lanes;
    while (wish && !str_eq(wish->task_queue, task_queue)) {
        wish = wish->next;
    }
    return wish;
}

/* The names in `arena`, under the mutex. */
static const char **list_queues(dur_engine *engine, struct arena *arena, size_t *ret_count)
{
    size_t count = 1;
    for (const struct lane_wish *wish = engine->lanes; wish; wish = wish->next) {
        count++;
    }
    const char **names = arena_array_of(arena, const char *, count);
    names[0] = DEFAULT_QUEUE;
    count = 1;
    for (const struct lane_wish *wish = engine->lanes; wish; wish = wish->next) {
        if (!str_eq(wish->task_queue, DEFAULT_QUEUE)) {
            names[count++] = arena_strdup(arena, wish->task_queue);
        }
    }
    *ret_count = count;
    return names;
}

const char **remote_queues(dur_engine *engine, struct arena *arena, size_t *ret_count)
{
    pthread_mutex_lock(&engine->mutex);
    const char **names = list_queues(engine, arena, ret_count);
    pthread_mutex_unlock(&engine->mutex);
    return names;
}

/* --- the host --------------------------------------------------------------------------------- */

static struct remote_lane lane_of(const dur_engine *engine, const char *task_queue)
{
    const struct lane_wish *wish = wish_of(engine, task_queue);
    struct remote_lane lane = {.task_queue = task_queue, .slots = LANE_SLOTS_DEFAULT};
    if (wish) {
        lane.slots = wish->slots;
        lane.rate_per_s = wish->has_limits ? wish->limits.rate_per_s : 0.0;
    }
    return lane;
}

struct remote_host *remote_host_new(dur_engine *engine, dur_until until)
{
    struct arena *arena = arena_new();
    struct remote_host *host = arena_new_of(arena, struct remote_host);
    size_t count = 0;
    const char **names = list_queues(engine, arena, &count);
    struct remote_lane *lanes = arena_array_of(arena, struct remote_lane, count);
    for (size_t i = 0; i < count; i++) {
        lanes[i] = lane_of(engine, names[i]);
    }
    host->arena = arena;
    host->worker = (struct remote_worker){
        .registry = &engine->registry,
        .lanes = lanes,
        .lane_count = count,
        .max_cached_runs = engine->options.max_cached_runs,
        .stop_grace_ms = engine->options.stop_grace_ms,
        .idle_exit_ms = engine->is_stepped ? 0 : engine->options.idle_exit_ms,
        .until_idle = until == DUR_UNTIL_IDLE,
        .stop = &engine->stop,
        .wake_fd = engine->inbox.wake_fd,
        .is_outside = &host->is_outside,
    };
    return host;
}

int remote_host_pass(dur_engine *engine, int64_t max_ms, struct err *err)
{
    struct remote_host *host = engine->remote_host;
    if (host->serving) {
        return engine->module->serving_pass(host->serving, max_ms, err);
    }
    if (atomic_load(&engine->stop)) {
        err_set(err, ERR_CANCELLED, "Stopped", "dur_stop was called");
        return DUR_CANCELLED;
    }
    int rc = engine->module->serving_begin(engine->remote, &host->worker, &host->serving, err);
    return rc == DUR_OK ? 1 : rc;
}

bool remote_host_is_outside(const struct remote_host *host)
{
    return host && host->is_outside;
}

int remote_host_fd(dur_engine *engine)
{
    struct remote_serving *serving = engine->remote_host->serving;
    return serving ? engine->module->serving_fd(serving) : -1;
}

void remote_host_end(dur_engine *engine)
{
    struct remote_host *host = engine->remote_host;
    if (host->serving) {
        engine->module->serving_end(host->serving);
        host->serving = NULL;
    }
}

void remote_host_free(struct remote_host *host)
{
    if (host) {
        arena_free(host->arena);
    }
}

/* --- who serves ------------------------------------------------------------------------------- */

static bool parse_pid(const char *text, size_t len, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < len && i < 10; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *ret = *ret * 10 + (text[i] - '0');
    }
    return len > 0 && len < 10 && *ret > 0;
}

/* The process id of "PID@HOST" or "ANYTHING@HOST:PID"; 0: of another machine, or in another form.
 */
static int64_t pid_of(const char *identity)
{
    char host[256] = "";
    int64_t pid = 0;
    const char *at = identity ? strrchr(identity, '@') : NULL;
    gethostname(host, sizeof(host) - 1);
    size_t len = strlen(host);
    if (!at || len == 0 || strncmp(at + 1, host, len) != 0) {
        return 0;
    }
    const char *rest = at + 1 + len;
    bool is_known = *rest == '\0'  ? parse_pid(identity, (size_t)(at - identity), &pid)
                    : *rest == ':' ? parse_pid(rest + 1, strlen(rest + 1), &pid)
                                   : false;
    return is_known ? pid : 0;
}

/* It asked lately, and when it is of this machine, it lives. */
static bool is_alive(const struct remote_poller *poller, int64_t now_ns, int64_t pid)
{
    if (poller->last_seen_ns < now_ns - POLLER_NS) {
        return false;
    }
    return pid == 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

int remote_pollers_of(dur_engine *engine, struct arena *arena, const char *task_queue, size_t *ret,
                      int64_t *ret_pid)
{
    struct remote_pollers pollers = {0};
    int64_t now_ns = engine_now_ns(engine);
    int rc = engine_remote(engine, false, pollers, arena, task_queue, &pollers);
    *ret = 0;
    *ret_pid = 0;
    for (size_t i = 0; rc == DUR_OK && i < pollers.count; i++) {
        int64_t pid = pid_of(pollers.rows[i].identity);
        if (is_alive(&pollers.rows[i], now_ns, pid)) {
            ++*ret;
            *ret_pid = *ret_pid ? *ret_pid : pid;
        }
    }
    return rc;
}

int remote_pollers_count(dur_engine *engine, struct arena *arena, size_t *ret, int64_t *ret_pid)
{
    size_t queue_count = 0;
    const char **names = remote_queues(engine, arena, &queue_count);
    *ret = 0;
    *ret_pid = 0;
    for (size_t i = 0; i < queue_count; i++) {
        size_t alive;
        int64_t pid;
        int rc = remote_pollers_of(engine, arena, names[i], &alive, &pid);
        if (rc != DUR_OK) {
            return rc;
        }
        *ret = alive > *ret ? alive : *ret; /* one program polls many queues */
        *ret_pid = *ret_pid ? *ret_pid : pid;
    }
    return DUR_OK;
}
