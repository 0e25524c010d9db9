/*
 * local.c - running the local activities that runs wait for (host.h).
 *
 * Owns: struct local, in memory alone: a local activity leaves no row and no event until the run's
 * next task records its outcome. What must not be lost is that the run waits for one: a mark
 * TASK_WAKE stands in the journal meanwhile, so that the next engine looks at the run, replays it
 * and finds the same ones waiting.
 *
 *   run waits --local_sync--> WAITING --slot of lane "local"--> RUNNING --> DONE --> run_task
 *                                ^---- BACKOFF <--- failed, short back-off --'
 *
 * Attempts are ordinary ones (attempt.h) whose scheduled_event_id is the negative sequence number.
 * Tests: tests/unit/test_engine_local.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/failure_info.h"
#include "history/failure.h"
#include "journal/task.h"
#include "worker/host.h"

#define LANE "local"

enum local_state { LOCAL_WAITING, LOCAL_RUNNING, LOCAL_BACKOFF, LOCAL_DONE };

struct local {
    struct local *next; /* of the run, in the order of asking */
    struct live *live;
    struct arena *arena;
    enum local_state state;
    struct run_local ask; /* texts in arena */
    struct retry_rule rule;
    int attempt;
    int64_t due_ns; /* of BACKOFF */
    bool cancel_requested;
    bool wanted; /* the run still waits for it: of local_sync */
    bool waits;  /* in host->locals_first's list */
    bool complained;
    struct local *wait_prev, *wait_next;
    struct dur_activity *running;
    struct failure *last_failure;
    struct run_local_end end; /* of DONE */
};

static int64_t due_id(const struct local *l)
{
    return -(int64_t)l->ask.seq;
}

/* --- the run's list ----------------------------------------------------------------------------
 */

static struct local *find(struct live *live, uint64_t seq)
{
    struct local *l = live->locals;
    while (l && l->ask.seq != seq) {
        l = l->next;
    }
    return l;
}

static struct local *add(struct host *host, struct live *live, const struct run_local *ask)
{
    struct arena *arena = host_arena(host);
    struct local *l = arena_new_of(arena, struct local);
    struct local **link = &live->locals;
    l->arena = arena;
    l->live = live;
    run_local_copy(&l->ask, ask, arena);
    retry_rule_copy(&l->rule, arena, ask->policy);
    l->attempt = ask->attempt;
    while (*link) {
        link = &(*link)->next;
    }
    *link = l;
    return l;
}

static void wait_end(struct host *host, struct local *l)
{
    if (l->waits) {
        *(l->wait_prev ? &l->wait_prev->wait_next : &host->locals_first) = l->wait_next;
        *(l->wait_next ? &l->wait_next->wait_prev : &host->locals_last) = l->wait_prev;
        l->waits = false;
    }
}

static void drop(struct host *host, struct local *l)
{
    wait_end(host, l);
    struct local **link = &l->live->locals;
    while (*link != l) {
        link = &(*link)->next;
    }
    *link = l->next;
    host_give_arena(host, l->arena);
}

void local_drop_all(struct host *host, struct live *live)
{
    while (live->locals) {
        drop(host, live->locals); /* running ones are found again, or fenced by their run's end */
    }
}

void local_move(struct live *live, int64_t by_ns)
{
    for (struct local *l = live->locals; l; l = l->next) {
        l->due_ns += by_ns;
        l->ask.scheduled_ns += by_ns;
    }
}

/* --- starting ----------------------------------------------------------------------------------
 */

static struct dur_activity *make_attempt(struct host *host, struct local *l,
                                         const struct registered *activity)
{
    struct arena *arena = host_arena(host);
    struct dur_activity *attempt = inbox_attempt(arena, host->inbox, host->clock);
    attempt->fn = activity->activity;
    attempt->user = activity->user;
    attempt->is_local = true;
    attempt->execution = l->live->id;
    attempt->scheduled_event_id = due_id(l);
    attempt->attempt = l->attempt;
    attempt->type = arena_strdup(arena, l->ask.type);
    attempt->task_queue = LANE;
    attempt->activity_id = arena_strdup(arena, l->ask.id);
    attempt->input = arena_strdup(arena, l->ask.input);
    attempt->workflow_id = arena_strdup(arena, l->live->workflow_id);
    attempt->run_id = arena_strdup(arena, l->live->run_id);
    attempt->key = arena_printf(arena, "%s/%s", l->live->run_id, l->ask.id);
    attempt->started_ns = host->now_ns;
    attempt->lane = claim_lane(host, LANE);
    if (l->last_failure) {
        attempt->failure_before =
            failure_info_new(arena, failure_copy(l->last_failure, arena), l->attempt - 1);
    }
    return attempt;
}

static int64_t closes_ns(const struct local *l)
{
    return l->ask.schedule_to_close_ns > 0 ? l->ask.scheduled_ns + l->ask.schedule_to_close_ns : 0;
}

static void start(struct host *host, struct local *l, const struct registered *activity)
{
    struct dur_activity *attempt = make_attempt(host, l, activity);
    int64_t most = l->ask.start_to_close_ns;
    if (closes_ns(l)) {
        int64_t left = closes_ns(l) - host->now_ns;
        left = left > 0 ? left : 1;
        most = most > 0 && most < left ? most : left;
    }
    l->state = LOCAL_RUNNING;
    l->running = attempt;
    if (most > 0) {
        attempt->deadline_ns = host->mono_ns + most;
        heap_push(&host->mono, &(struct due){.at_ns = attempt->deadline_ns,
                                             .kind = DUE_ATTEMPT_TIMEOUT,
                                             .execution = l->live->id,
                                             .event = due_id(l),
                                             .stamp = l->attempt});
    }
    claim_attempt(host, attempt);
}

/* Attempts of it that are out: this engine forgot the run and read it again. */
static struct dur_activity *find_running(struct host *host, const struct local *l)
{
    struct dur_activity *attempt = host->running;
    while (attempt && (attempt->execution != l->live->id || attempt->fenced ||
                       attempt->scheduled_event_id != due_id(l))) {
        attempt = attempt->next_running;
    }
    return attempt;
}

void local_fill(struct host *host)
{
    struct lane *lane = host->locals_first ? claim_lane(host, LANE) : NULL;
    for (struct local *l = host->locals_first, *next; l && !host->stopping; l = next) {
        next = l->wait_next;
        if (!lane_has_slot(lane)) {
            return;
        }
        if (!l->live->paused) {
            wait_end(host, l);
            start(host, l, registry_activity(host->registry, l->ask.type));
        }
    }
}

/* First come, first served. */
static void wait_begin(struct host *host, struct local *l)
{
    l->state = LOCAL_WAITING;
    if (!registry_activity(host->registry, l->ask.type)) {
        if (!l->complained) {
            host_log(host, HOST_LOG_WARN, "run %s: local activity %s (%s) waits: no such type here",
                     l->live->workflow_id, l->ask.id, l->ask.type);
        }
        l->complained = true;
        return;
    }
    l->waits = true;
    l->wait_next = NULL;
    l->wait_prev = host->locals_last;
    *(host->locals_last ? &host->locals_last->wait_next : &host->locals_first) = l;
    host->locals_last = l;
}

/* --- ending ------------------------------------------------------------------------------------
 */

static void finish(struct host *host, struct local *l, int code, const char *result,
                   const struct failure *failure, int64_t backoff_ns)
{
    wait_end(host, l);
    l->state = LOCAL_DONE;
    l->running = NULL;
    l->end = (struct run_local_end){.seq = l->ask.seq,
                                    .code = code,
                                    .result = arena_strdup(l->arena, result),
                                    .failure = failure ? failure_copy(failure, l->arena) : NULL,
                                    .attempt = l->attempt,
                                    .ended_ns = host->now_ns,
                                    .backoff_ns = backoff_ns};
    l->live->wake = true;
}

/* Another attempt now, after a while, after a timer of the run; or none. */
static void fail(struct host *host, struct local *l, struct failure *failure,
                 const struct retry_case *end)
{
    int64_t delay = 0;
    l->running = NULL;
    enum retry_state state = retry_decide(&l->rule, end, &delay);
    if (state != RETRY_STATE_IN_PROGRESS) {
        finish(host, l, DUR_FAILED, NULL, failure, -1);
    } else if (delay > l->ask.threshold_ns) {
        finish(host, l, DUR_FAILED, NULL, failure, delay);
    } else {
        l->state = LOCAL_BACKOFF;
        l->attempt++;
        l->last_failure = failure_copy(failure, l->arena);
        l->due_ns = host->now_ns + delay;
        heap_push(&host->wall, &(struct due){.at_ns = l->due_ns,
                                             .kind = DUE_RETRY,
                                             .execution = l->live->id,
                                             .event = due_id(l),
                                             .stamp = l->attempt});
    }
}

static struct retry_case case_of(struct host *host, const struct local *l)
{
    return (struct retry_case){.attempt = l->attempt,
                               .cancel_requested = l->cancel_requested,
                               .now_ns = host->now_ns,
                               .expires_ns = closes_ns(l)};
}

static void time_out(struct host *host, struct local *l)
{
    bool is_over = closes_ns(l) && host->now_ns >= closes_ns(l);
    enum timeout_type type = is_over ? TIMEOUT_TYPE_SCHEDULE_TO_CLOSE : TIMEOUT_TYPE_START_TO_CLOSE;
    struct failure *failure =
        failure_timeout(host->arena, type, NULL, NULL, is_over ? l->last_failure : NULL);
    struct retry_case end = case_of(host, l);
    end.type = "TemporalTimeout:StartToClose";
    end.schedule_timeout = is_over;
    if (l->running) {
        claim_tell(host, l->running, "timed out", true);
    }
    fail(host, l, failure, &end);
}

void local_done(struct host *host, struct dur_activity *attempt, struct live *live)
{
    struct local *l = find(live, (uint64_t)-attempt->scheduled_event_id);
    const struct attempt_outcome *o = &attempt->outcome;
    const char *reason = NULL;
    if (!l || l->running != attempt) {
        return;
    }
    l->running = NULL;
    if (o->code == DUR_OK) {
        finish(host, l, DUR_OK, o->result, NULL, -1);
    } else if (o->code == DUR_CANCELLED) {
        dur_activity_cancelled(attempt, &reason);
        if (l->cancel_requested) {
            finish(host, l, DUR_CANCELLED, NULL, NULL, -1);
        } else {
            wait_begin(host, l); /* the engine stops: the next one begins anew */
        }
    } else {
        struct failure *failure =
            failure_of_kind(host->arena, o->kind, o->type, o->message, o->details);
        failure->application_failure_info->next_retry_delay = o->next_delay_ns;
        struct retry_case end = case_of(host, l);
        end.type = o->type;
        end.non_retryable = o->kind == DUR_PERMANENT;
        end.next_delay_ns = o->next_delay_ns;
        fail(host, l, failure, &end);
    }
}

void local_due(struct host *host, struct live *live, const struct due *due)
{
    struct local *l = find(live, (uint64_t)-due->event);
    if (!l || l->attempt != due->stamp) {
        return;
    }
    if (due->kind == DUE_RETRY && l->state == LOCAL_BACKOFF && l->due_ns <= host->now_ns) {
        wait_begin(host, l);
        local_fill(host);
    } else if (due->kind == DUE_ATTEMPT_TIMEOUT && l->running &&
               l->running->deadline_ns <= host->mono_ns) {
        time_out(host, l);
    }
}

/* --- with the run ------------------------------------------------------------------------------
 */

void local_give(struct host *host, struct live *live)
{
    size_t count = 0;
    for (struct local *l = live->locals; l; l = l->next) {
        count += l->state == LOCAL_DONE;
    }
    struct run_local_end *ends =
        count ? arena_array_of(host->arena, struct run_local_end, count) : NULL;
    count = 0;
    for (struct local *l = live->locals; l; l = l->next) {
        if (l->state == LOCAL_DONE) {
            ends[count++] = l->end;
        }
    }
    run_give_locals(live->run, ends, count);
}

static void request_cancel(struct host *host, struct local *l)
{
    l->cancel_requested = true;
    if (l->state == LOCAL_RUNNING) {
        claim_tell(host, l->running, "cancelled", false);
    } else if (l->state != LOCAL_DONE) {
        finish(host, l, DUR_CANCELLED, NULL, NULL, -1);
    }
}

void local_sync(struct host *host, struct live *live)
{
    bool any = live->locals != NULL;
    bool fresh = false;
    for (struct local *l = live->locals; l; l = l->next) {
        l->wanted = false;
    }
    for (const struct run_local *ask = run_next_local(live->run, NULL); ask;
         ask = run_next_local(live->run, ask)) {
        struct local *l = find(live, ask->seq);
        if (!l) {
            l = add(host, live, ask);
            l->running = find_running(host, l);
            if (l->running) {
                l->state = LOCAL_RUNNING;
                l->attempt = l->running->attempt;
            } else {
                wait_begin(host, l);
            }
            fresh = true;
        }
        l->wanted = true;
        if (ask->cancel_requested && !l->cancel_requested) {
            request_cancel(host, l);
        }
    }
    for (struct local *l = live->locals, *next; l; l = next) {
        next = l->next;
        if (!l->wanted) {
            if (l->running) { /* whatever comes of it now, the run has gone on */
                claim_tell(host, l->running, l->ask.cancellation == DUR_ABANDON ? "" : "cancelled",
                           true);
            }
            drop(host, l);
        }
    }
    if (fresh) {
        task_put(host->txn, live->id, TASK_WAKE, host->now_ns);
        local_fill(host);
    } else if (any && !live->locals) {
        task_delete(host->txn, live->id, TASK_WAKE);
    }
}
