/*
 * local.c - see local.h.
 *
 * Owns: struct family, what one run waits for, and struct local, one such activity:
 *
 *   asked --locals_sync--> WAITING --slot--> RUNNING --> DONE --locals_give--> (run_task) --> gone
 *                             ^---- BACKOFF <-- failed, short back-off --'
 *
 * A failure whose back-off is longer than the threshold is an outcome too: the run makes a timer of
 * it. An attempt whose local is gone is on its own: its host_data is NULL, its end is dropped.
 * A family that was left stands still: its attempts end, but none begins.
 * Tests: tests/unit/test_temporal_local.c
 */
#include "temporal/local.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "activity/attempt.h"
#include "activity/retry.h"
#include "base/clock.h"
#include "base/mem.h"
#include "exec/failure_info.h"
#include "history/failure.h"
#include "temporal/crew.h"

#define LEFT_NS (600 * NS_PER_S) /* so long a run that left may come back for what it had here */

enum local_state { LOCAL_WAITING, LOCAL_RUNNING, LOCAL_BACKOFF, LOCAL_DONE };

struct family {
    struct family *next;
    char *workflow_id;
    char *run_id;
    struct local *first;        /* in the order of asking */
    int64_t left_ns;            /* monotonic: since then its run is in no cache; 0: it is */
    int64_t run_now_ns;         /* the server's time ... */
    int64_t run_mono_ns;        /* ... when ours was this */
    struct run_local_end *ends; /* what locals_give gave */
    size_t ends_cap;
};

struct local {
    struct local *next;
    struct family *family;
    struct arena *arena;
    enum local_state state;
    struct run_local ask; /* texts in arena */
    struct retry_rule rule;
    int attempt;
    uint64_t order;    /* of WAITING: first come, first served */
    int64_t due_ns;    /* monotonic, of BACKOFF */
    int64_t closes_ns; /* monotonic, of schedule-to-close; 0: never */
    bool cancel_requested;
    bool wanted; /* the run still waits for it: of locals_sync */
    struct dur_activity *running;
    struct failure *last_failure;
    struct run_local_end end; /* of DONE */
};

struct locals {
    struct locals_spec spec;
    struct crew *crew;
    struct family *families;
    struct dur_activity *running; /* all that are out, by next_running */
    uint64_t orders;
    bool any_news; /* an outcome came since the last pass */
    bool stopping;
};

static const struct attempt_host local_host; /* a local activity asks nothing of its host */

__attribute__((format(printf, 2, 3))) static void complain(struct locals *locals, const char *fmt,
                                                           ...)
{
    if (locals->spec.log) {
        autostr struct str text = {0};
        va_list ap;
        va_start(ap, fmt);
        str_addv(&text, fmt, ap);
        va_end(ap);
        locals->spec.log(locals->spec.log_user, 1, str_c(&text));
    }
}

/* --- lists --------------------------------------------------------------------------------------
 */

static struct family *find_family(const struct locals *locals, const char *run_id)
{
    struct family *family = locals->families;
    while (family && !str_eq(family->run_id, run_id)) {
        family = family->next;
    }
    return family;
}

static struct local *find(const struct family *family, uint64_t seq)
{
    struct local *l = family->first;
    while (l && l->ask.seq != seq) {
        l = l->next;
    }
    return l;
}

static struct family *add_family(struct locals *locals, const char *workflow_id, const char *run_id)
{
    struct family *family = mem_alloc(sizeof(*family));
    family->workflow_id = mem_strdup(workflow_id);
    family->run_id = mem_strdup(run_id);
    family->next = locals->families;
    locals->families = family;
    return family;
}

static void drop_family(struct locals *locals, struct family *family)
{
    struct family **link = &locals->families;
    while (*link != family) {
        link = &(*link)->next;
    }
    *link = family->next;
    free(family->ends);
    free(family->workflow_id);
    free(family->run_id);
    free(family);
}

static struct local *add(struct family *family, const struct run_local *ask, int64_t mono_ns)
{
    struct arena *arena = arena_new();
    struct local *l = arena_new_of(arena, struct local);
    struct local **link = &family->first;
    l->arena = arena;
    l->family = family;
    run_local_copy(&l->ask, ask, arena);
    retry_rule_copy(&l->rule, arena, ask->policy);
    l->attempt = ask->attempt;
    if (ask->schedule_to_close_ns > 0) { /* what is left of it, from now on by our clock */
        int64_t passed = family->run_now_ns - ask->scheduled_ns;
        int64_t left = ask->schedule_to_close_ns - (passed > 0 ? passed : 0);
        l->closes_ns = time_later(mono_ns, left > 0 ? left : 1);
    }
    while (*link) {
        link = &(*link)->next;
    }
    *link = l;
    return l;
}

/* Its attempt, if one is out, goes on unheard. */
static void part(struct local *l, const char *reason)
{
    if (l->running) {
        if (*reason) {
            attempt_cancel(l->running, reason);
        }
        l->running->host_data = NULL;
        l->running = NULL;
    }
}

static void drop(struct local *l)
{
    struct local **link = &l->family->first;
    while (*link != l) {
        link = &(*link)->next;
    }
    *link = l->next;
    arena_free(l->arena);
}

/* --- starting -----------------------------------------------------------------------------------
 */

static void wait_begin(struct locals *locals, struct local *l)
{
    l->state = LOCAL_WAITING;
    l->order = ++locals->orders;
}

static struct dur_activity *make_attempt(struct local *l)
{
    struct arena *arena = arena_new();
    struct dur_activity *attempt = attempt_new(arena, &local_host, NULL);
    attempt->is_local = true;
    attempt->host_data = l;
    attempt->attempt = l->attempt;
    attempt->type = arena_strdup(arena, l->ask.type);
    attempt->task_queue = LOCAL_LANE;
    attempt->activity_id = arena_strdup(arena, l->ask.id);
    attempt->input = arena_strdup(arena, l->ask.input);
    attempt->workflow_id = arena_strdup(arena, l->family->workflow_id);
    attempt->run_id = arena_strdup(arena, l->family->run_id);
    attempt->key = arena_printf(arena, "%s/%s", l->family->run_id, l->ask.id);
    attempt->started_ns = clock_wall_ns();
    if (l->last_failure) {
        attempt->failure_before =
            failure_info_new(arena, failure_copy(l->last_failure, arena), l->attempt - 1);
    }
    return attempt;
}

static void fail(struct locals *locals, struct local *l, struct failure *failure,
                 const struct retry_case *end);
static struct retry_case case_of(const struct local *l);

/* Another worker may have it: retried, at last by a timer of the run. */
static void refuse(struct locals *locals, struct local *l)
{
    autoarena struct arena *arena = arena_new();
    struct retry_case end = case_of(l);
    complain(locals, "run %s: local activity %s: this worker has no type %s",
             l->family->workflow_id, l->ask.id, l->ask.type);
    end.type = "ActivityNotRegistered";
    fail(locals, l,
         failure_of_kind(arena, DUR_TRANSIENT, end.type,
                         arena_printf(arena, "this worker has no activity type %s", l->ask.type),
                         NULL),
         &end);
}

static void start(struct locals *locals, struct local *l)
{
    const struct registered *activity = registry_activity(locals->spec.registry, l->ask.type);
    if (!activity) {
        refuse(locals, l);
        return;
    }
    struct dur_activity *attempt = make_attempt(l);
    int64_t now_ns = clock_mono_ns();
    int64_t most = l->ask.start_to_close_ns;
    if (l->closes_ns) {
        int64_t left = l->closes_ns > now_ns ? l->closes_ns - now_ns : 1;
        most = most > 0 && most < left ? most : left;
    }
    attempt->fn = activity->activity;
    attempt->user = activity->user;
    attempt->deadline_ns = most > 0 ? time_later(now_ns, most) : 0;
    l->state = LOCAL_RUNNING;
    l->running = attempt;
    attempt->next_running = locals->running;
    locals->running = attempt;
    crew_give(locals->crew, attempt);
}

static struct local *next_waiting(const struct locals *locals)
{
    struct local *first = NULL;
    for (struct family *f = locals->families; f; f = f->next) {
        for (struct local *l = f->left_ns ? NULL : f->first; l; l = l->next) {
            if (l->state == LOCAL_WAITING && (!first || l->order < first->order)) {
                first = l;
            }
        }
    }
    return first;
}

static void fill(struct locals *locals)
{
    struct local *l;
    while (!locals->stopping && crew_has_slot(locals->crew) && (l = next_waiting(locals))) {
        start(locals, l);
    }
}

/* --- ending -------------------------------------------------------------------------------------
 */

static void finish(struct locals *locals, struct local *l, int code, const char *result,
                   const struct failure *failure, int64_t backoff_ns)
{
    const struct family *family = l->family;
    locals->any_news = true;
    l->state = LOCAL_DONE;
    l->running = NULL;
    l->end = (struct run_local_end){
        .seq = l->ask.seq,
        .code = code,
        .result = arena_strdup(l->arena, result),
        .failure = failure ? failure_copy(failure, l->arena) : NULL,
        .attempt = l->attempt,
        .ended_ns = time_later(family->run_now_ns, clock_mono_ns() - family->run_mono_ns),
        .backoff_ns = backoff_ns};
}

static struct retry_case case_of(const struct local *l)
{
    return (struct retry_case){.attempt = l->attempt,
                               .cancel_requested = l->cancel_requested,
                               .now_ns = clock_mono_ns(),
                               .expires_ns = l->closes_ns};
}

/* Another attempt now, after a while, after a timer of the run; or none. */
static void fail(struct locals *locals, struct local *l, struct failure *failure,
                 const struct retry_case *end)
{
    int64_t delay = 0;
    enum retry_state state = retry_decide(&l->rule, end, &delay);
    l->running = NULL;
    if (state != RETRY_STATE_IN_PROGRESS) {
        finish(locals, l, DUR_FAILED, NULL, failure, -1);
    } else if (delay > l->ask.threshold_ns) {
        finish(locals, l, DUR_FAILED, NULL, failure, delay);
    } else {
        l->attempt++;
        l->last_failure = failure_copy(failure, l->arena);
        l->due_ns = time_later(end->now_ns, delay);
        l->state = LOCAL_BACKOFF;
        if (delay == 0) {
            wait_begin(locals, l);
        }
    }
}

static void time_out(struct locals *locals, struct local *l)
{
    autoarena struct arena *arena = arena_new();
    struct retry_case end = case_of(l);
    bool is_over = l->closes_ns && end.now_ns >= l->closes_ns;
    enum timeout_type type = is_over ? TIMEOUT_TYPE_SCHEDULE_TO_CLOSE : TIMEOUT_TYPE_START_TO_CLOSE;
    end.type = "TemporalTimeout:StartToClose";
    end.schedule_timeout = is_over;
    part(l, "timed out");
    fail(locals, l, failure_timeout(arena, type, NULL, NULL, is_over ? l->last_failure : NULL),
         &end);
}

static void settle(struct locals *locals, struct local *l, const struct dur_activity *attempt)
{
    autoarena struct arena *arena = arena_new();
    const struct attempt_outcome *o = &attempt->outcome;
    l->running = NULL;
    if (o->code == DUR_OK) {
        finish(locals, l, DUR_OK, o->result, NULL, -1);
    } else if (o->code == DUR_CANCELLED && l->cancel_requested) {
        finish(locals, l, DUR_CANCELLED, NULL, NULL, -1);
    } else if (o->code == DUR_CANCELLED) {
        wait_begin(locals, l); /* told to stop by us: it did not count */
    } else {
        struct failure *failure = failure_of_kind(arena, o->kind, o->type, o->message, o->details);
        failure->application_failure_info->next_retry_delay = o->next_delay_ns;
        struct retry_case end = case_of(l);
        end.type = o->type;
        end.non_retryable = o->kind == DUR_PERMANENT;
        end.next_delay_ns = o->next_delay_ns;
        fail(locals, l, failure, &end);
    }
}

static void come_home(struct locals *locals, struct dur_activity *attempt)
{
    struct local *l = attempt->host_data;
    struct dur_activity **link = &locals->running;
    while (*link != attempt) {
        link = &(*link)->next_running;
    }
    *link = attempt->next_running;
    if (l) {
        settle(locals, l, attempt);
    }
    attempt_free(attempt);
}

static void look_at_time(struct locals *locals, int64_t now_ns)
{
    for (struct family *f = locals->families; f; f = f->next) {
        for (struct local *l = f->first; l; l = l->next) {
            if (l->state == LOCAL_BACKOFF && l->due_ns <= now_ns && !f->left_ns) {
                wait_begin(locals, l);
            } else if (l->state == LOCAL_RUNNING && l->running->deadline_ns &&
                       l->running->deadline_ns <= now_ns) {
                time_out(locals, l);
            }
        }
    }
}

static void close_family(struct locals *locals, struct family *family)
{
    while (family->first) {
        part(family->first, "closed");
        drop(family->first);
    }
    drop_family(locals, family);
}

/* Those whose run went on elsewhere. */
static void forget_left(struct locals *locals, int64_t now_ns)
{
    for (struct family *f = locals->families, *next; f; f = next) {
        next = f->next;
        if (f->left_ns && now_ns - f->left_ns >= LEFT_NS) {
            close_family(locals, f);
        }
    }
}

bool locals_pass(struct locals *locals)
{
    struct dur_activity *attempt;
    crew_run_one(locals->crew);
    while ((attempt = crew_take_ended(locals->crew)) != NULL) {
        come_home(locals, attempt);
    }
    int64_t now_ns = clock_mono_ns();
    look_at_time(locals, now_ns);
    forget_left(locals, now_ns);
    fill(locals);
    bool any = locals->any_news;
    locals->any_news = false;
    return any;
}

int64_t locals_due_ns(const struct locals *locals)
{
    int64_t due_ns = INT64_MAX;
    for (const struct family *f = locals->families; f; f = f->next) {
        for (const struct local *l = f->first; l; l = l->next) {
            int64_t at = INT64_MAX;
            if (l->state == LOCAL_BACKOFF && !f->left_ns) {
                at = l->due_ns;
            } else if (l->state == LOCAL_RUNNING && l->running->deadline_ns) {
                at = l->running->deadline_ns;
            }
            due_ns = at < due_ns ? at : due_ns;
        }
    }
    return due_ns;
}

/* --- with the run -------------------------------------------------------------------------------
 */

static void request_cancel(struct locals *locals, struct local *l)
{
    l->cancel_requested = true;
    if (l->state == LOCAL_RUNNING) {
        attempt_cancel(l->running, "cancelled");
    } else if (l->state != LOCAL_DONE) {
        finish(locals, l, DUR_CANCELLED, NULL, NULL, -1);
    }
}

static void look_at_run(struct locals *locals, struct family *family, struct run *run)
{
    for (const struct run_local *ask = run_next_local(run, NULL); ask;
         ask = run_next_local(run, ask)) {
        struct local *l = find(family, ask->seq);
        if (!l) {
            l = add(family, ask, family->run_mono_ns);
            wait_begin(locals, l);
        }
        l->wanted = true;
        if (ask->cancel_requested && !l->cancel_requested) {
            request_cancel(locals, l);
        }
    }
}

void locals_sync(struct locals *locals, struct run *run, const char *workflow_id,
                 const char *run_id, int64_t run_now_ns)
{
    struct family *family = find_family(locals, run_id);
    if (!family && !run_next_local(run, NULL)) {
        return;
    }
    family = family ? family : add_family(locals, workflow_id, run_id);
    family->left_ns = 0;
    family->run_now_ns = run_now_ns;
    family->run_mono_ns = clock_mono_ns();
    for (struct local *l = family->first; l; l = l->next) {
        l->wanted = false;
    }
    look_at_run(locals, family, run);
    for (struct local *l = family->first, *next; l; l = next) {
        next = l->next;
        if (!l->wanted) { /* whatever comes of it now, the run has gone on */
            part(l, l->ask.cancellation == DUR_ABANDON ? "" : "cancelled");
            drop(l);
        }
    }
    if (!family->first) {
        drop_family(locals, family);
    }
    fill(locals);
}

size_t locals_open(const struct locals *locals, const char *run_id)
{
    const struct family *family = find_family(locals, run_id);
    size_t count = 0;
    for (const struct local *l = family ? family->first : NULL; l; l = l->next) {
        count += l->state != LOCAL_DONE;
    }
    return count;
}

static size_t count_ended(const struct family *family)
{
    size_t count = 0;
    for (const struct local *l = family ? family->first : NULL; l; l = l->next) {
        count += l->state == LOCAL_DONE;
    }
    return count;
}

bool locals_have_ended(const struct locals *locals, const char *run_id)
{
    return count_ended(find_family(locals, run_id)) > 0;
}

bool locals_give(struct locals *locals, struct run *run, const char *run_id)
{
    struct family *family = find_family(locals, run_id);
    size_t count = count_ended(family);
    if (count == 0) {
        run_give_locals(run, NULL, 0);
        return false;
    }
    mem_reserve(family->ends, &family->ends_cap, count);
    count = 0;
    for (const struct local *l = family->first; l; l = l->next) {
        if (l->state == LOCAL_DONE) {
            family->ends[count++] = l->end;
        }
    }
    run_give_locals(run, family->ends, count);
    return true;
}

void locals_leave(struct locals *locals, const char *run_id)
{
    struct family *family = find_family(locals, run_id);
    if (family) {
        family->left_ns = clock_mono_ns();
    }
}

void locals_close(struct locals *locals, const char *run_id)
{
    struct family *family = find_family(locals, run_id);
    if (family) {
        close_family(locals, family);
    }
}

/* --- life ---------------------------------------------------------------------------------------
 */

struct locals *locals_new(const struct locals_spec *spec)
{
    struct locals *locals = mem_alloc(sizeof(*locals));
    locals->spec = *spec;
    locals->crew = crew_new(LOCAL_LANE, spec->slots, spec->wake, spec->wake_user);
    return locals;
}

void locals_stop(struct locals *locals)
{
    locals->stopping = true;
    for (struct dur_activity *a = locals->running; a; a = a->next_running) {
        attempt_cancel(a, "stopping");
    }
}

bool locals_home(const struct locals *locals)
{
    return crew_is_idle(locals->crew);
}

void locals_end(struct locals *locals)
{
    if (!locals) {
        return;
    }
    locals_stop(locals);
    while (locals->families) {
        close_family(locals, locals->families);
    }
    crew_end(locals->crew);
    free(locals);
}
