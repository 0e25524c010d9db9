/*
 * claim.c - slots of lanes (host.h).
 *
 * Owns: the lines of waiting activities, claiming a slot within the turn's transaction, and the
 * list of attempts to dispatch after its commit. Invariant: lane->busy counts claimed attempts that
 * are not home; a claim is in the journal (state STARTED, this engine's epoch) before its callback
 * starts.
 * Tests: tests/unit/test_engine_activity.c
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/failure_info.h"
#include "worker/host.h"

static struct line *line_of(struct host *host, const char *task_queue)
{
    for (struct line *line = host->lines; line; line = line->next) {
        if (str_eq(line->lane->name, task_queue)) {
            return line;
        }
    }
    struct line *line = mem_alloc(sizeof(*line));
    line->lane = lane_new(task_queue, LANE_SLOTS_DEFAULT);
    line->next = host->lines;
    host->lines = line;
    return line;
}

struct line *claim_line(struct host *host, const char *task_queue)
{
    return line_of(host, task_queue);
}

struct lane *claim_lane(struct host *host, const char *task_queue)
{
    return line_of(host, task_queue)->lane;
}

void claim_lane_slots(struct host *host, const char *task_queue, int slots)
{
    line_of(host, task_queue)->lane->slots = slots;
}

static struct line *line_for(struct host *host, const struct lane *lane)
{
    struct line *line = host->lines;
    while (line->lane != lane) {
        line = line->next;
    }
    return line;
}

void claim_enqueue(struct host *host, struct pending *p)
{
    struct line *line = line_for(host, p->lane);
    assert(!p->waiting);
    if (p->live->paused) {
        return; /* it lines up when its run goes on */
    }
    if (!registry_activity(host->registry, p->type)) {
        host_log(host, HOST_LOG_WARN, "run %s: activity %s (%s) waits: no such type here",
                 p->live->workflow_id, p->activity_id, p->type);
        return; /* for another engine; nobody queues behind it */
    }
    if (line->limits) {
        admit_enqueue(host, line, p);
        return;
    }
    p->waiting = true;
    if (!line->last || line->last->priority <= p->priority) {
        p->wait_next = NULL;
        *(line->last ? &line->last->wait_next : &line->first) = p;
        line->last = p;
        return;
    }
    struct pending **link = &line->first;
    while ((*link)->priority <= p->priority) {
        link = &(*link)->wait_next;
    }
    p->wait_next = *link;
    *link = p;
}

void claim_leave(struct host *host, struct pending *p)
{
    if (!p->waiting) {
        return;
    }
    struct line *line = line_for(host, p->lane);
    struct pending *before = NULL;
    struct pending *at = line->first;
    while (at != p) {
        before = at;
        at = at->wait_next;
    }
    *(before ? &before->wait_next : &line->first) = p->wait_next;
    if (line->last == p) {
        line->last = before;
    }
    p->waiting = false;
    p->wait_next = NULL;
}

void claim_pause(struct host *host, struct live *live)
{
    for (struct pending *p = live->pending; p; p = p->next) {
        if (live->paused) {
            claim_leave(host, p);
        } else if (p->state == ACTIVITY_SCHEDULED && !p->running && !p->waiting) {
            claim_enqueue(host, p);
        }
    }
}

static struct dur_activity *make_attempt(struct host *host, struct pending *p,
                                         const struct registered *activity)
{
    struct arena *arena = host_arena(host);
    struct dur_activity *attempt = inbox_attempt(arena, host->inbox, host->clock);
    attempt->fn = activity->activity;
    attempt->user = activity->user;
    attempt->execution = p->live->id;
    attempt->scheduled_event_id = p->scheduled_id;
    attempt->attempt = p->attempt;
    attempt->heartbeat_ns = p->heartbeat_ns;
    attempt->type = arena_strdup(arena, p->type);
    attempt->task_queue = arena_strdup(arena, p->lane->name);
    attempt->activity_id = arena_strdup(arena, p->activity_id);
    attempt->input = arena_strdup(arena, p->input);
    attempt->workflow_id = arena_strdup(arena, p->live->workflow_id);
    attempt->run_id = arena_strdup(arena, p->live->run_id);
    attempt->key = arena_printf(arena, "%s/%s", p->live->run_id, p->activity_id);
    attempt->token = arena_printf(arena, "%s.%lld.%d", p->live->run_id, (long long)p->scheduled_id,
                                  (int)p->attempt);
    attempt->details_before = arena_strdup(arena, p->details);
    attempt->started_ns = host->now_ns;
    attempt->lane = p->lane;
    struct failure *failure = NULL;
    if (p->last_failure && store_failure_decode(arena, p->last_failure, strlen(p->last_failure),
                                                &failure, NULL) == 0) {
        if (failure->server_failure_info && failure->cause) {
            failure = failure->cause; /* it was too long to be kept whole: settle.c */
        }
        attempt->failure_before = failure_info_new(arena, failure, p->attempt - 1);
    }
    return attempt;
}

void claim_take_out(struct host *host, struct dur_activity *attempt)
{
    attempt->next_running = host->running;
    attempt->link_running = &host->running;
    if (host->running) {
        host->running->link_running = &attempt->next_running;
    }
    host->running = attempt;
    host->running_count++;
    attempt->lane->busy++;
}

void claim_attempt(struct host *host, struct dur_activity *attempt)
{
    claim_take_out(host, attempt);
    attempt->next_work = NULL;
    *(host->dispatch_last ? &host->dispatch_last->next_work : &host->dispatch_first) = attempt;
    host->dispatch_last = attempt;
}

/* Memory side of a claim; the caller writes the row. */
static void claim(struct host *host, struct pending *p, const struct registered *activity)
{
    struct dur_activity *attempt = make_attempt(host, p, activity);
    p->state = ACTIVITY_STARTED;
    p->started_ns = host->now_ns;
    p->epoch = host->epoch;
    p->running = attempt;
    claim_attempt(host, attempt);
    due_arm_attempt(host, p);
    if (p->cancel_event_id) { /* asked for while nobody ran it */
        claim_tell(host, attempt, "cancelled", false);
    }
}

bool claim_now(struct host *host, struct pending *p)
{
    const struct registered *activity = registry_activity(host->registry, p->type);
    const struct line *line = line_for(host, p->lane);
    if (host->stopping || !activity || !lane_has_slot(p->lane) || line->first || line->limits) {
        return false;
    }
    claim(host, p, activity);
    return true;
}

void claim_admitted(struct host *host, struct pending *p, const struct registered *activity)
{
    claim(host, p, activity);
}

void claim_fill(struct host *host)
{
    local_fill(host);
    for (struct line *line = host->lines; line && !host->stopping; line = line->next) {
        struct pending *p = line->first;
        while (p && lane_has_slot(line->lane)) {
            struct pending *next = p->wait_next;
            const struct registered *activity = registry_activity(host->registry, p->type);
            if (activity) {
                claim_leave(host, p);
                claim(host, p, activity);
                live_touch(host, p->live);
                int64_t closes =
                    p->schedule_to_close_ns ? p->scheduled_ns + p->schedule_to_close_ns : 0;
                activity_start(host->txn, p->live->id, p->scheduled_id, p->attempt, p->started_ns,
                               closes, host->epoch);
            }
            p = next;
        }
    }
}

void claim_give_back(struct host *host, struct dur_activity *attempt)
{
    *attempt->link_running = attempt->next_running;
    if (attempt->next_running) {
        attempt->next_running->link_running = attempt->link_running;
    }
    host->running_count--;
    attempt->lane->busy--;
    admit_stir(host, attempt->lane);
}

void claim_tell(struct host *host, struct dur_activity *attempt, const char *reason, bool fence)
{
    if (!attempt->told) {
        attempt->told = reason;
        attempt->next_told = host->told;
        host->told = attempt;
    }
    if (fence && !attempt->fenced) {
        attempt->fenced = attempt->told_fence = true;
    }
}

static struct dur_activity *next_told(struct host *host)
{
    struct dur_activity *attempt = host->told;
    if (attempt) {
        host->told = attempt->next_told;
    }
    return attempt;
}

void claim_tell_now(struct host *host)
{
    struct dur_activity *attempt;
    while ((attempt = next_told(host)) != NULL) {
        if (*attempt->told) { /* "": it goes on, unheard */
            attempt_cancel(attempt, attempt->told);
        }
        attempt->told = NULL;
        attempt->told_fence = false;
    }
}

void claim_untell(struct host *host)
{
    struct dur_activity *attempt;
    while ((attempt = next_told(host)) != NULL) {
        attempt->fenced = attempt->fenced && !attempt->told_fence;
        attempt->told = NULL;
        attempt->told_fence = false;
    }
}

void claim_undo(struct host *host)
{
    struct dur_activity *attempt = host->dispatch_first;
    host->dispatch_first = host->dispatch_last = NULL;
    host->young_count = 0;
    while (attempt) {
        struct dur_activity *next = attempt->next_work;
        claim_give_back(host, attempt);
        attempt_free(attempt);
        attempt = next;
    }
    admit_stir_all(host);
}

/* Lets an attempt on the loop's own thread commit its details: dur_heartbeat_sync. */
static bool commit_between(void *user)
{
    struct host *host = user;
    host->is_outside = false;
    bool is_done = host_turn_within(host);
    host->is_outside = true;
    return is_done;
}

static void put_at_hand(struct host *host, struct dur_activity *attempt)
{
    attempt->commit = commit_between;
    attempt->commit_user = host;
    attempt->next_work = NULL;
    *(host->at_hand_last ? &host->at_hand_last->next_work : &host->at_hand_first) = attempt;
    host->at_hand_last = attempt;
}

bool claim_run_at_hand(struct host *host)
{
    struct dur_activity *attempt = host->at_hand_first;
    if (!attempt) {
        return false;
    }
    host->at_hand_first = attempt->next_work;
    if (!host->at_hand_first) {
        host->at_hand_last = NULL;
    }
    host->is_outside = true;
    attempt_run(attempt);
    host->is_outside = false;
    inbox_put_done(host->inbox, attempt);
    return true;
}

void claim_dispatch(struct host *host)
{
    struct dur_activity *attempt = host->dispatch_first;
    host->dispatch_first = host->dispatch_last = NULL;
    while (attempt) {
        struct dur_activity *next = attempt->next_work;
        if (lane_is_inline(attempt->lane)) {
            put_at_hand(host, attempt);
        } else {
            if (host->pace) {
                pace_went_out(host->pace, attempt);
            }
            lane_dispatch(attempt->lane, attempt);
            host->young_count++;
        }
        attempt = next;
    }
    host->sent_ns = clock_mono_ns();
}

void claim_free(struct host *host)
{
    while (host->at_hand_first) { /* never begun: their rows say so to the next engine */
        struct dur_activity *attempt = host->at_hand_first;
        host->at_hand_first = attempt->next_work;
        attempt_free(attempt);
    }
    host->at_hand_last = NULL;
    while (host->lines) {
        struct line *line = host->lines;
        host->lines = line->next;
        lane_stop(line->lane);
        lane_free(line->lane);
        free(line->limits);
        free(line);
    }
    free(host->types_json);
    host->types_json = NULL;
}
