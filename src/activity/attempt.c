/*
 * attempt.c - see attempt.h; implements the activity side of durable.h.
 * Owns: heartbeat throttling (first details at once, then every min(80 % of the time-out, 1 s)),
 * the mapping from a callback's return value to an outcome. Must not: touch a journal or a server.
 * Tests: tests/unit/test_activity_attempt.c, tests/unit/test_engine_run.c
 */
#include "activity/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "exec/jsonf.h"

struct dur_activity *attempt_new(struct arena *arena, const struct attempt_host *host,
                                 const struct clock_vtable *clock)
{
    struct dur_activity *attempt = arena_new_of(arena, struct dur_activity);
    attempt->arena = arena;
    attempt->host = host;
    attempt->clock = clock;
    attempt->cancel_fd = -1;
    pthread_mutex_init(&attempt->mutex, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&attempt->committed, &attr);
    pthread_condattr_destroy(&attr);
    atomic_store(&attempt->beat_ns, clock_mono_of(attempt->clock));
    return attempt;
}

struct arena *attempt_end(struct dur_activity *attempt)
{
    if (attempt->cancel_fd >= 0) {
        close(attempt->cancel_fd);
    }
    pthread_mutex_destroy(&attempt->mutex);
    pthread_cond_destroy(&attempt->committed);
    free(attempt->details);
    return attempt->arena;
}

void attempt_free(struct dur_activity *attempt)
{
    if (attempt) {
        arena_free(attempt_end(attempt));
    }
}

static void settle_failure(struct dur_activity *attempt, dur_kind kind, const char *type,
                           const char *message)
{
    attempt->outcome = (struct attempt_outcome){
        .code = DUR_FAILED, .kind = kind, .type = type, .message = message};
}

void attempt_run(struct dur_activity *attempt)
{
    const char *result = NULL;
    atomic_store(&attempt->beat_ns, clock_mono_of(attempt->clock));
    int code = attempt->fn(attempt, attempt->input, &result, attempt->user);
    if (code == DUR_OK) {
        struct err bad;
        if (result && strlen(result) > ATTEMPT_PAYLOAD_MAX) {
            settle_failure(attempt, DUR_PERMANENT, "ResultTooLarge",
                           arena_printf(attempt->arena,
                                        "activity %s returned %zu bytes; %u are allowed",
                                        attempt->type, strlen(result), ATTEMPT_PAYLOAD_MAX));
            return;
        }
        if (result && json_check(result, strlen(result), &bad) < 0) {
            settle_failure(attempt, DUR_PERMANENT, "BadResult",
                           arena_printf(attempt->arena,
                                        "activity %s returned a result that is not "
                                        "JSON: %s",
                                        attempt->type, bad.text));
            return;
        }
        attempt->outcome.code = DUR_OK;
        attempt->outcome.result = arena_strdup(attempt->arena, result);
    } else if (code == DUR_CANCELLED && atomic_load(&attempt->cancelled)) {
        attempt->outcome.code = DUR_CANCELLED;
    } else if (code == DUR_PENDING && attempt->is_local) {
        settle_failure(attempt, DUR_PERMANENT, "LocalPending",
                       arena_printf(attempt->arena,
                                    "activity %s returned DUR_PENDING, which a local one cannot",
                                    attempt->type));
    } else if (code == DUR_PENDING) {
        attempt->outcome.code = DUR_PENDING;
    } else if (!attempt->failed) {
        settle_failure(attempt, code == DUR_INVALID ? DUR_PERMANENT : DUR_TRANSIENT,
                       "ActivityError",
                       arena_printf(attempt->arena, "activity %s returned %d without dur_fail",
                                    attempt->type, code));
    }
}

void attempt_cancel(struct dur_activity *attempt, const char *reason)
{
    pthread_mutex_lock(&attempt->mutex);
    if (!atomic_load(&attempt->cancelled)) {
        attempt->cancel_reason = reason;
        atomic_store(&attempt->cancelled, true);
        if (attempt->cancel_fd >= 0) {
            uint64_t one = 1;
            ssize_t n = write(attempt->cancel_fd, &one, sizeof(one));
            (void)n; /* a fresh eventfd takes a 1 */
        }
    }
    pthread_cond_broadcast(&attempt->committed);
    pthread_mutex_unlock(&attempt->mutex);
}

bool attempt_take_details(struct dur_activity *attempt, char **ret, uint64_t *ret_seq)
{
    bool dirty = false;
    pthread_mutex_lock(&attempt->mutex);
    if (attempt->details_seq > attempt->details_committed) {
        dirty = true;
        *ret = mem_strdup(attempt->details);
        *ret_seq = attempt->details_seq;
    }
    pthread_mutex_unlock(&attempt->mutex);
    return dirty;
}

void attempt_details_committed(struct dur_activity *attempt, uint64_t seq)
{
    pthread_mutex_lock(&attempt->mutex);
    attempt->details_committed = seq;
    atomic_store(&attempt->flushed_ns, clock_mono_of(attempt->clock));
    pthread_cond_broadcast(&attempt->committed);
    pthread_mutex_unlock(&attempt->mutex);
}

/* --- durable.h: inside an activity ---------------------------------------------------------- */

int dur_fail(dur_activity *act, dur_kind kind, const char *type, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *message = arena_vprintf(act->arena, fmt, ap);
    va_end(ap);
    size_t len = strlen(message);
    if (len > ATTEMPT_MESSAGE_MAX) {
        message[utf8_prefix(message, len, ATTEMPT_MESSAGE_MAX)] = '\0';
    }
    act->failed = true;
    settle_failure(act, kind, arena_strdup(act->arena, type ? type : "Error"), message);
    return DUR_FAILED;
}

static int check_details(const char *details)
{
    if (!details) {
        return DUR_OK;
    }
    size_t len = strlen(details);
    if (len > ATTEMPT_PAYLOAD_MAX) {
        return DUR_LIMIT;
    }
    return json_check(details, len, NULL) < 0 ? DUR_INVALID : DUR_OK;
}

static int64_t ms_to_ns(int64_t ms)
{
    int64_t ns;
    return __builtin_mul_overflow(ms, NS_PER_MS, &ns) ? INT64_MAX : ns;
}

int dur_fail_with_at(dur_activity *act, const dur_failure_options *options, size_t options_size)
{
    dur_failure_options o = {0};
    if (options) {
        memcpy(&o, options, options_size < sizeof(o) ? options_size : sizeof(o));
    }
    dur_fail(act, o.kind ? o.kind : DUR_TRANSIENT, o.type, "%s", o.message ? o.message : "");
    if (check_details(o.details) != DUR_OK) {
        return dur_fail(act, DUR_PERMANENT, "BadDetails",
                        "the details of failure %s are not JSON of at most %u bytes",
                        act->outcome.type, ATTEMPT_PAYLOAD_MAX);
    }
    act->outcome.details = arena_strdup(act->arena, o.details);
    act->outcome.next_delay_ns = o.next_retry_delay_ms > 0 ? ms_to_ns(o.next_retry_delay_ms) : 0;
    return DUR_FAILED;
}

static int64_t flush_interval_ns(const struct dur_activity *act)
{
    int64_t interval = NS_PER_S;
    if (act->heartbeat_ns > 0 && act->heartbeat_ns / 10 * 8 < interval) {
        interval = act->heartbeat_ns / 10 * 8;
    }
    return interval;
}

int64_t attempt_flush_after_ns(const struct dur_activity *attempt)
{
    int64_t last = atomic_load(&attempt->flushed_ns);
    return last ? last + flush_interval_ns(attempt) : 0;
}

/* Takes the new details; true when the host should be told. */
static bool note_details(struct dur_activity *act, const char *details, uint64_t *ret_seq)
{
    pthread_mutex_lock(&act->mutex);
    if (details && !str_eq(details, act->details)) {
        free(act->details);
        act->details = mem_strdup(details);
        act->details_seq++;
    }
    bool dirty = act->details_seq > act->details_committed;
    *ret_seq = act->details_seq;
    pthread_mutex_unlock(&act->mutex);
    return (dirty && !atomic_load(&act->flush_armed)) || atomic_load(&act->beat_wanted);
}

int dur_heartbeat(dur_activity *act, const char *details)
{
    int rc = check_details(details);
    if (rc != DUR_OK) {
        return rc;
    }
    uint64_t seq;
    atomic_store(&act->beat_ns, clock_mono_of(act->clock));
    if (!act->is_local && note_details(act, details, &seq)) {
        act->host->beat(act);
    }
    return atomic_load(&act->cancelled) ? DUR_CANCELLED : DUR_OK;
}

/* dur_heartbeat_sync() on the thread that would have to commit: let it. */
static int commit_here(struct dur_activity *act, uint64_t seq)
{
    while (act->details_committed < seq && !atomic_load(&act->cancelled)) {
        if (!act->commit(act->commit_user)) {
            attempt_cancel(act, "stopping");
        }
    }
    return atomic_load(&act->cancelled) ? DUR_CANCELLED : DUR_OK;
}

int dur_heartbeat_sync(dur_activity *act, const char *details)
{
    int rc = check_details(details);
    if (rc != DUR_OK) {
        return rc;
    }
    uint64_t seq;
    atomic_store(&act->beat_ns, clock_mono_of(act->clock));
    if (act->is_local) {
        return atomic_load(&act->cancelled) ? DUR_CANCELLED : DUR_OK;
    }
    note_details(act, details, &seq);
    atomic_store(&act->flushed_ns, 0); /* no throttle for this one */
    atomic_store(&act->awaits_commit, true);
    act->host->beat(act);
    if (act->commit) {
        return commit_here(act, seq);
    }
    pthread_mutex_lock(&act->mutex);
    while (act->details_committed < seq && !atomic_load(&act->cancelled)) {
        pthread_cond_wait(&act->committed, &act->mutex);
    }
    pthread_mutex_unlock(&act->mutex);
    atomic_store(&act->awaits_commit, false);
    return atomic_load(&act->cancelled) ? DUR_CANCELLED : DUR_OK;
}

int dur_test_sleep(dur_activity *act, int64_t ms)
{
    int64_t ns;
    if (!act || !act->host->wait || ms < 0) {
        return DUR_INVALID;
    }
    if (__builtin_mul_overflow(ms, NS_PER_MS, &ns)) {
        ns = INT64_MAX;
    }
    atomic_store(&act->beat_ns, clock_mono_of(act->clock));
    return act->host->wait(act, ns);
}

const char *dur_heartbeat_details(dur_activity *act)
{
    return act->details_before;
}

int dur_activity_cancelled(dur_activity *act, const char **reason)
{
    if (!atomic_load(&act->cancelled)) {
        return 0;
    }
    if (reason) {
        pthread_mutex_lock(&act->mutex);
        *reason = act->cancel_reason;
        pthread_mutex_unlock(&act->mutex);
    }
    return 1;
}

int dur_activity_cancel_fd(dur_activity *act)
{
    pthread_mutex_lock(&act->mutex);
    if (act->cancel_fd < 0) {
        act->cancel_fd = eventfd(atomic_load(&act->cancelled) ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    int fd = act->cancel_fd;
    pthread_mutex_unlock(&act->mutex);
    return fd;
}

const char *dur_activity_key(dur_activity *act)
{
    return act->key;
}

const char *dur_activity_token(dur_activity *act)
{
    return act->token;
}

int dur_activity_attempt(dur_activity *act)
{
    return act->attempt;
}

const dur_failure_info *dur_activity_last_failure(dur_activity *act)
{
    return act->failure_before;
}

const char *dur_activity_workflow_id(dur_activity *act)
{
    return act->workflow_id;
}

const char *dur_activity_run_id(dur_activity *act)
{
    return act->run_id;
}

const char *dur_json_string(dur_activity *act, const char *json, const char *pointer)
{
    return jsonf_string(act->arena, json, pointer);
}

const char *dur_jsonf(dur_activity *act, const char *fmt, ...)
{
    autostr struct str text = {0};
    va_list ap;
    va_start(ap, fmt);
    jsonf_add(&text, fmt, ap);
    va_end(ap);
    return arena_strdup(act->arena, str_c(&text));
}

void *dur_activity_alloc(dur_activity *act, size_t bytes)
{
    return arena_alloc(act->arena, bytes);
}
