/*
 * serve.c - the loop: wait, turn, wait (host.h).
 *
 * Owns: sleeping, idle exit, stopping with grace, and patience with a store that fails for a while
 * (full disk, busy). One pass of it is host_pass(), which never sleeps: host_serve() calls it and
 * sleeps between, and so does whoever has an event loop of his own (dur_step). Wakes for
 * finished attempts, the doorbell and deadlines only; a slow look every HOST_POLL_MS covers lost
 * rings. Patience, grace and idle exit are real time whatever the engine's clock says.
 * Tests: tests/unit/test_engine_serve.c
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "journal/task.h"
#include "worker/host.h"

#define PATIENCE_FIRST_MS 50
#define PATIENCE_LAST_MS 5000
#define PERMANENT_TRIES 5 /* a store that cannot be written is given up after this many turns */
#define FIBERS_POOLED 256
#define STOP_LOOK_MS 50 /* while stopping: is the grace over? */

void host_log(struct host *host, int level, const char *fmt, ...)
{
    autostr struct str line = {0};
    va_list ap;
    va_start(ap, fmt);
    str_addv(&line, fmt, ap);
    va_end(ap);
    if (host->on_log) {
        host->on_log(host->on_log_user, level, str_c(&line));
    } else {
        log_line((enum log_level)level, "engine", "%s", str_c(&line));
    }
}

struct arena *host_arena(struct host *host)
{
    return host->spare_count ? host->spare[--host->spare_count] : arena_new();
}

void host_give_arena(struct host *host, struct arena *arena)
{
    if (host->spare_count == HOST_SPARE_ARENAS || arena_bytes(arena) > HOST_SPARE_BYTES) {
        arena_free(arena);
        return;
    }
    arena_reset(arena);
    host->spare[host->spare_count++] = arena;
}

void host_ring(struct host *host)
{
    bell_ring(host->bell, BELL_NEWS);
    host->rang_ns = clock_mono_ns();
    host->owes_ring = false;
}

/* Milliseconds until something is due, rounded up; at most HOST_POLL_MS. */
static int64_t sleep_ms(struct host *host, int64_t at_most_ms)
{
    int64_t wall = heap_next_ns(&host->wall);
    int64_t mono = heap_next_ns(&host->mono);
    int64_t ms = at_most_ms;
    if (wall != INT64_MAX) {
        int64_t left = (wall - host_wall_ns(host) + NS_PER_MS - 1) / NS_PER_MS;
        ms = left < ms ? left : ms;
    }
    if (mono != INT64_MAX) {
        int64_t left = (mono - host_mono_ns(host) + NS_PER_MS - 1) / NS_PER_MS;
        ms = left < ms ? left : ms;
    }
    return ms < 0 ? 0 : ms;
}

/* Attempts that end within microseconds are waited for awake: falling asleep and being woken costs
 * more than they do. True: one has ended. Only while the last wait was that short. */
static bool spin(struct host *host)
{
    int64_t since = clock_mono_ns();
    int64_t now = since;
    if (host->running_count == 0 || host->waited_ns > HOST_SPIN_NS * 2) {
        return false;
    }
    while (now - since < HOST_SPIN_NS) {
        for (int i = 0; i < 16; i++) {
            if (!inbox_looks_empty(host->inbox)) {
                host->waited_ns = now - since;
                return true;
            }
            spin_hint();
        }
        now = clock_mono_ns();
    }
    return false;
}

/* After a pass that found nothing: sleep until there is news, at most this long. */
static void wait_for_news(struct host *host, int64_t ms)
{
    struct pollfd fds[] = {{.fd = host->inbox->wake_fd, .events = POLLIN},
                           {.fd = bell_fd(host->bell), .events = POLLIN}};
    if (atomic_load(host->stop) && !host->stopping) {
        return;
    }
    if (spin(host)) {
        return;
    }
    live_trim_idle(host);
    int64_t since = clock_mono_ns();
    if (inbox_begin_sleep(host->inbox)) {
        if (host->owes_ring && ms > 1) { /* unless there is more at once */
            if (poll(fds, ARRAY_LEN(fds), 1) == 0) {
                host_ring(host);
                poll(fds, ARRAY_LEN(fds), (int)ms - 1);
            }
        } else {
            poll(fds, ARRAY_LEN(fds), (int)ms);
        }
    }
    inbox_end_sleep(host->inbox);
    host->waited_ns = clock_mono_ns() - since;
    if (fds[1].revents) {
        host_hear(host);
    }
}

void host_hear(struct host *host)
{
    bell_drain(host->bell);
    host->look = true;
}

/* Nothing open, nothing that runs? For idle_exit_ms a schedule that has a next time is open. */
static bool is_idle(struct host *host)
{
    int64_t counts[EXECUTION_STATUS_COUNT];
    if (!host->until_idle && host->schedules_ns != INT64_MAX) {
        return false;
    }
    return host->running_count == 0 && execution_counts(store_db(host->store), counts, NULL) == 0 &&
           counts[EXECUTION_RUNNING] == 0;
}

static void begin_stop(struct host *host)
{
    host->stopping = true;
    host->stop_since_ns = clock_mono_ns();
    host_log(host, HOST_LOG_INFO, "stopping; %zu activities run", host->running_count);
    for (struct dur_activity *attempt = host->running; attempt; attempt = attempt->next_running) {
        attempt_cancel(attempt, "stopping");
    }
}

/* A key is missing, or another than the one of its id: no time brings it. */
static bool is_locked_out(const struct host *host, const struct err *err)
{
    return !host->has_recovered &&
           (str_eq(err->name, "UnknownSealingKey") || str_eq(err->name, "BrokenSeal"));
}

/* The store failed. False: give up. True: not before host->retry_ns again. */
static bool be_patient(struct host *host, const struct err *err)
{
    bool may_pass = err->kind == ERR_TRANSIENT || err->kind == ERR_AMBIGUOUS;
    if (is_locked_out(host, err)) {
        return false;
    }
    if (host->patience_ms == 0) {
        host_log(host, HOST_LOG_ERROR, "the store failed and will be tried again: %s", err->text);
    }
    if (!may_pass && ++host->permanent_tries >= PERMANENT_TRIES) {
        return false;
    }
    host->patience_ms = host->patience_ms ? host->patience_ms * 2 : PATIENCE_FIRST_MS;
    if (host->patience_ms > PATIENCE_LAST_MS) {
        host->patience_ms = PATIENCE_LAST_MS;
    }
    host->retry_ns = clock_mono_ns() + host->patience_ms * NS_PER_MS;
    host->look = true;
    return true;
}

/* While stopping: is it over? Attempts that outstay the grace are waited for all the same, since
 * their threads are: so their outcomes are kept. A store that cannot take them ends the patience.
 */
static bool has_stopped(struct host *host, int rc)
{
    bool is_late = clock_mono_ns() - host->stop_since_ns > host->stop_grace_ms * NS_PER_MS;
    if (is_late && !host->stop_late) {
        host->stop_late = true;
        host_log(host, HOST_LOG_WARN, "%zu activities have not come back yet", host->running_count);
    }
    return host->running_count == 0 || (is_late && rc < 0);
}

/* Recovery is what the first turn of an engine is preceded by; it may meet the same passing faults
 * as any turn. As turn_take(). */
static int work(struct host *host, struct err *err)
{
    if (host->has_recovered) {
        return turn_take(host, err);
    }
    if (recover_store(host, err) < 0) {
        return -1;
    }
    host->has_recovered = true;
    purge_begin(host);
    host_log(host, HOST_LOG_INFO, "serving %s, epoch %lld", host->path, (long long)host->epoch);
    return 1;
}

/* Nothing was to be done. True: nothing ever will be that this engine should wait for. */
static bool has_idled(struct host *host)
{
    if ((!host->until_idle && host->idle_exit_ms <= 0) || !is_idle(host)) {
        return false;
    }
    int64_t now = clock_mono_ns();
    host->idle_since_ns = host->idle_since_ns ? host->idle_since_ns : now;
    return host->until_idle || now - host->idle_since_ns >= host->idle_exit_ms * NS_PER_MS;
}

static int64_t longest_wait_ms(const struct host *host)
{
    if (host->stopping) {
        return STOP_LOOK_MS;
    }
    bool may_exit = host->idle_since_ns && host->idle_exit_ms > 0;
    return may_exit && host->idle_exit_ms < HOST_POLL_MS ? host->idle_exit_ms : HOST_POLL_MS;
}

/* How long the store is left alone after it failed; 0: not. */
static int64_t patience_left_ms(struct host *host)
{
    int64_t left_ns = host->retry_ns ? host->retry_ns - clock_mono_ns() : 0;
    if (left_ns <= 0 || (atomic_load(host->stop) && !host->stopping)) {
        host->retry_ns = 0;
        return 0;
    }
    return (left_ns + NS_PER_MS - 1) / NS_PER_MS;
}

/* Memory is short (base/mem.h): what is cached goes, until the reserve is there again. Runs that
 * wait are replayed when their time comes; who starts new ones is refused by
 * store_admits_new_runs(). */
static void shed(struct host *host)
{
    live_evict_excess(host);
    while (host->spare_count > 0) {
        arena_free(host->spare[--host->spare_count]);
    }
    store_release_memory(host->store);
    malloc_trim(0);
    bool is_back = mem_refill();
    if (!host->is_short || is_back) {
        host_log(host, HOST_LOG_WARN,
                 is_back ? "memory was short: what was cached has been given back"
                         : "memory is short: nothing is cached, new runs are refused");
    }
    host->is_short = !is_back;
}

int host_pass(struct host *host, int64_t *ret_wait_ms, struct err *err)
{
    struct err turn_err = {0};
    if (mem_is_short() || host->is_short) {
        shed(host);
    }
    if ((*ret_wait_ms = patience_left_ms(host)) > 0) {
        return HOST_QUIET;
    }
    if (clock_mono_ns() - host->looked_ns >= HOST_POLL_MS * NS_PER_MS) {
        host->look = true; /* the slow look, however busy the deadlines are */
    }
    if (host->pace) {
        pace_settle(host->pace);
    }
    int rc = work(host, &turn_err);
    if (rc >= 0 && host->has_looked) {
        host->has_looked = false;
        questions_answer(host);
    }
    if (rc >= 0 && host->has_recovered && purge_pass(host)) {
        rc = 1;
    }
    if (rc >= 0 && claim_run_at_hand(host)) {
        rc = 1;
    }
    bool is_told = atomic_load(host->stop);
    if (rc < 0 && (!be_patient(host, &turn_err) || (is_told && !host->has_recovered))) {
        *err = turn_err;
        return -1;
    }
    if (rc > 0) {
        host->patience_ms = 0;
        host->permanent_tries = 0;
        host->idle_since_ns = 0;
    }
    if (is_told && !host->stopping) {
        begin_stop(host);
    }
    if (host->stopping ? has_stopped(host, rc) : rc == 0 && has_idled(host)) {
        return HOST_OVER;
    }
    if (rc == 0 && host->pace && !host->stopping && pace_skip(host->pace, due_next_in_ns(host))) {
        return HOST_BUSY;
    }
    if (rc == 0) {
        *ret_wait_ms = sleep_ms(host, longest_wait_ms(host));
    } else if (rc < 0) {
        *ret_wait_ms = patience_left_ms(host);
    }
    return rc > 0 ? HOST_BUSY : HOST_QUIET;
}

bool host_turn_within(struct host *host)
{
    struct err err = {0};
    int64_t left_ms = patience_left_ms(host);
    if (left_ms > 0) {
        clock_sleep_ms(left_ms);
    }
    if (turn_take(host, &err) < 0) {
        return be_patient(host, &err);
    }
    host->patience_ms = 0;
    host->permanent_tries = 0;
    return true;
}

/* The batch window. What the last turn sent out and comes home soon shares the next commit: who is
 * first waits for the rest, counted from the dispatch, for half of what a commit costs at most. So
 * a run alone never waits, nor does anybody for an activity that takes its time; and with a slow
 * disk the runs do not fall apart into two halves, of which each waits for the other's commit. */
static void gather(struct host *host)
{
    int64_t limit_ns = host->commit_ns / HOST_GATHER_SHARE;
    limit_ns = limit_ns < HOST_GATHER_MOST_NS ? limit_ns : HOST_GATHER_MOST_NS;
    int home = inbox_done_count(host->inbox);
    if (host->pace || limit_ns < HOST_GATHER_LEAST_NS || (home == 0 && !host->look)) {
        return;
    }
    int64_t now_ns;
    while (home < host->young_count && (now_ns = clock_mono_ns()) - host->sent_ns < limit_ns &&
           !atomic_load(host->stop)) {
        if (limit_ns < HOST_SPIN_NS * 2) {
            spin_hint();
        } else {
            clock_sleep_ns(limit_ns / 16);
        }
        home = inbox_done_count(host->inbox);
    }
    host->young_count = 0;
}

static int loop(struct host *host, struct err *err)
{
    int64_t wait_ms;
    int rc;
    while ((rc = host_pass(host, &wait_ms, err)) == HOST_BUSY || rc == HOST_QUIET) {
        if (host->retry_ns) { /* attempts that end meanwhile must not cut it short */
            struct pollfd fd = {.fd = host->inbox->wake_fd, .events = POLLIN};
            poll(&fd, 1, (int)wait_ms);
            inbox_end_sleep(host->inbox);
        } else if (rc == HOST_QUIET) {
            wait_for_news(host, wait_ms);
        }
        gather(host);
    }
    return rc < 0 ? -1 : 0;
}

static void free_attempts(struct dur_activity *attempt)
{
    while (attempt) {
        struct dur_activity *next = attempt->next_done;
        attempt_free(attempt);
        attempt = next;
    }
}

static void give_back_memory(struct host *host)
{
    struct dur_activity *done, *beats;
    inbox_take(host->inbox, &done, &beats);
    free_attempts(done);
    free_attempts(host->again);
    host->again = NULL;
    heap_free(&host->wall);
    heap_free(&host->mono);
    while (host->spare_count > 0) {
        arena_free(host->spare[--host->spare_count]);
    }
    free(host->taken);
    host->taken = NULL;
    host->taken_cap = 0;
    host->arena = arena_free(host->arena);
    host->fibers = fiber_pool_free(host->fibers);
    host->bell = bell_close(host->bell);
}

int host_begin(struct host *host, struct err *err)
{
    host->arena = arena_new();
    host->fibers = fiber_pool_new(FIBERS_POOLED);
    return bell_open(host->path, BELL_WORK, &host->bell, err);
}

void host_end(struct host *host)
{
    while (host->newest) {
        live_drop(host, host->newest);
    }
    if (host->pace) {
        pace_release(host->pace);
    }
    claim_free(host);
    give_back_memory(host);
    lock_release(host->lock);
}

int host_serve(struct host *host, struct err *err)
{
    int rc;
    do { /* a stale wake-up is no reason to leave the queue */
        inbox_end_sleep(host->inbox);
        rc = atomic_load(host->stop) ? 1 : lock_wait(host->lock, host->inbox->wake_fd, err);
    } while (rc > 0 && !atomic_load(host->stop));
    if (rc != 0) {
        return rc < 0 ? -1 : 0; /* stopped while standing by */
    }
    rc = host_begin(host, err);
    if (rc == 0) {
        rc = loop(host, err);
    }
    host_end(host);
    return rc;
}
