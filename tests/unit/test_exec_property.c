/*
 * test_exec_property.c - random workflows driven by a random host: replaying what was recorded
 * gives the same commands, wherever the run is evicted.
 *
 * One seed makes one program and one host. The run is driven twice: once undisturbed, once thrown
 * away and replayed before every task. Both histories must be equal, event by event.
 * EXEC_SEEDS=N tries N seeds (default 1000), EXEC_SEED=N only one.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "durable.h"
#include "exec_host.h"
#include "history/diff.h"
#include "history/validate.h"

#define MAX_FUTURES 8
#define MAX_TASKS 60

struct dice {
    uint64_t s;
};

static unsigned roll(struct dice *d, unsigned sides)
{
    d->s = d->s * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(d->s >> 33) % sides;
}

/* --- a random workflow --------------------------------------------------------------------------
 */

struct program {
    uint64_t seed;
    int depth;
};

static int body(dur_ctx *ctx, struct dice *d, int depth, uint64_t *seen);

struct child {
    uint64_t seed;
    int depth;
};

static int child_main(dur_ctx *ctx, void *arg, const char **result)
{
    struct child c = *(struct child *)arg;
    struct dice d = {c.seed};
    uint64_t seen = 0;
    int rc = body(ctx, &d, c.depth, &seen);

    *result = dur_ctx_jsonf(ctx, "%i64", (int64_t)(seen % 1000000));
    return rc;
}

static int effect(void *arg, const char **result)
{
    *result = arg;
    return DUR_OK;
}

static dur_activity_options options(struct dice *d)
{
    return (dur_activity_options){.cancellation = (dur_cancellation)roll(d, 3),
                                  .start_to_close_ms = 1000 * (1 + (int64_t)roll(d, 9))};
}

static void mix(uint64_t *seen, int code, const char *text)
{
    *seen = *seen * 31 + (uint64_t)(code + 100);
    for (; text && *text; text++) {
        *seen = *seen * 31 + (unsigned char)*text;
    }
}

struct live {
    dur_future *f[MAX_FUTURES];
    struct child kids[MAX_FUTURES];
    size_t count;
};

static void start_something(dur_ctx *ctx, struct dice *d, int depth, struct live *l)
{
    dur_activity_options o = options(d);

    if (l->count == MAX_FUTURES) {
        return;
    }
    switch (roll(d, 6)) {
    case 3:
        l->f[l->count++] = dur_start_child(
            ctx, "Kid", "1", &(dur_child_options){.cancellation = (dur_cancellation)roll(d, 3)});
        return;
    case 4:
        l->f[l->count++] = roll(d, 2) ? dur_signal_external(ctx, "other", "s", "1")
                                      : dur_cancel_external(ctx, "other", NULL);
        return;
    case 0:
        l->f[l->count++] = dur_timer(ctx, (int64_t)roll(d, 3) * 500);
        return;
    case 1:
        l->f[l->count++] = dur_signal_future(ctx, roll(d, 2) ? "x" : "y");
        return;
    case 2:
        if (depth > 0) {
            l->kids[l->count] = (struct child){.seed = d->s + 7, .depth = depth - 1};
            l->f[l->count] = dur_go(ctx, child_main, &l->kids[l->count]);
            l->count++;
            return;
        }
        fall_through;
    default:
        l->f[l->count++] = dur_start_activity(ctx, roll(d, 2) ? "A" : "B", "1", &o);
    }
}

/* Something with a child, or with what may be one. */
static int relate(dur_ctx *ctx, struct dice *d, struct live *l, const char **text)
{
    dur_child_options o = {.cancellation = (dur_cancellation)roll(d, 3)};
    unsigned what = roll(d, 3);

    if (what == 0) {
        return dur_run_child(ctx, "RunKid", "2", text, &o);
    }
    if (l->count == 0) {
        return 0;
    }
    dur_future *kid = l->f[roll(d, (unsigned)l->count)];
    return what == 1 ? dur_child_started(ctx, kid, text)
                     : dur_await(ctx, dur_signal_child(ctx, kid, "s", "1"), NULL);
}

/* One random step; a code that ends the body, or 0. */
static int one_step(dur_ctx *ctx, struct dice *d, int depth, struct live *l, uint64_t *seen)
{
    const char *text = NULL;
    dur_activity_options o = options(d);
    int rc = 0;

    switch (roll(d, 16)) {
    case 0:
        rc = dur_run(ctx, "Run", "2", &text, &o);
        break;
    case 1:
        rc = dur_sleep(ctx, (int64_t)roll(d, 2000));
        break;
    case 2:
        rc = dur_receive(ctx, roll(d, 2) ? "x" : "y", (int64_t)roll(d, 3) * 400, &text);
        break;
    case 3:
        rc = dur_side_effect(ctx, effect, (char[]){"[4,2]"}, &text);
        break;
    case 4:
        rc = dur_code_version(ctx, roll(d, 2) ? "c1" : "c2", -1, 3) > 0 ? 0 : -99;
        break;
    case 5:
        rc = dur_upsert_memo(ctx, "{\"a\":1}");
        break;
    case 6:
        if (l->count > 0) {
            rc = dur_select(ctx, l->f, l->count);
        }
        break;
    case 7:
        if (l->count > 0) {
            rc = dur_await(ctx, l->f[roll(d, (unsigned)l->count)], &text);
        }
        break;
    case 8:
        if (l->count > 0) {
            dur_cancel_future(ctx, l->f[roll(d, (unsigned)l->count)]);
        }
        break;
    case 9:
        rc = dur_run(dur_disconnected(ctx), "Aside", "3", &text, &o);
        break;
    case 13:
    case 14:
    case 15:
        rc = relate(ctx, d, l, &text);
        break;
    case 10: {
        dur_ctx *scope = dur_scope(ctx);
        start_something(scope, d, depth, l);
        if (roll(d, 2)) {
            rc = dur_sleep(ctx, 100);
        }
        dur_cancel_scope(scope);
        break;
    }
    default:
        start_something(ctx, d, depth, l);
    }
    mix(seen, rc, text);
    mix(seen, (int)(dur_random(ctx) % 1000), NULL);
    return rc;
}

static int body(dur_ctx *ctx, struct dice *d, int depth, uint64_t *seen)
{
    struct live *l = calloc(1, sizeof(*l)); /* children borrow it: they unwind first */
    unsigned steps = 2 + roll(d, 16);
    int rc = 0;

    for (unsigned i = 0; i < steps && rc != DUR_UNWIND; i++) {
        rc = one_step(ctx, d, depth, l, seen);
    }
    for (size_t i = 0; i < l->count && rc != DUR_UNWIND; i++) { /* join the children */
        if (l->kids[i].seed) {
            rc = dur_await(dur_disconnected(ctx), l->f[i], NULL);
            mix(seen, rc, NULL);
        }
    }
    free(l);
    return rc == DUR_UNWIND ? rc : 0;
}

static int random_workflow(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct program *p = user;
    struct dice d = {p->seed};
    uint64_t seen = 0;

    (void)input;
    int rc = body(ctx, &d, p->depth, &seen);
    if (rc == DUR_UNWIND) {
        return rc;
    }
    *result = dur_ctx_jsonf(ctx, "{\"seen\":%i64}", (int64_t)(seen >> 1));
    switch (roll(&d, 4)) {
    case 0:
        return dur_fail_run(ctx, "Dice", "%d", 4);
    case 1:
        return dur_is_cancelled(ctx) ? DUR_CANCELLED : DUR_OK;
    default:
        return DUR_OK;
    }
}

/* --- a random host ------------------------------------------------------------------------------
 */

static void end_activity(struct host *h, struct dice *d, const char *id, bool asked)
{
    switch (roll(d, asked ? 5 : 4)) {
    case 0:
        host_failed(h, id, (dur_kind)(1 + (int)roll(d, 3)), "E", "failed");
        return;
    case 1:
        host_timed_out(h, id, (enum timeout_type)(1 + (int)roll(d, 4)));
        return;
    case 4:
        host_canceled(h, id);
        return;
    default:
        host_done(h, id, roll(d, 2) ? "{\"r\":1}" : "17");
    }
}

/* The index-th initiated event that no closing one answers; *ret_started: its child runs. */
static const struct event *open_request(const struct host *h, size_t index, bool *ret_started)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct event *e = h->events[i];
        bool open = e->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED ||
                    e->type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED ||
                    e->type == EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED;
        *ret_started = false;
        for (size_t k = i + 1; open && k < h->count; k++) {
            if (event_initiated_id(h->events[k]) == e->id) {
                *ret_started = h->events[k]->type == EVENT_CHILD_WORKFLOW_EXECUTION_STARTED;
                open = *ret_started;
            }
        }
        if (open && index-- == 0) {
            return e;
        }
    }
    return NULL;
}

static bool relation_moves(struct host *h, struct dice *d)
{
    static const enum event_type ends[] = {
        EVENT_CHILD_WORKFLOW_EXECUTION_COMPLETED, EVENT_CHILD_WORKFLOW_EXECUTION_FAILED,
        EVENT_CHILD_WORKFLOW_EXECUTION_CANCELED, EVENT_CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
        EVENT_CHILD_WORKFLOW_EXECUTION_TERMINATED};
    bool started;
    const struct event *e = open_request(h, roll(d, 3), &started);

    if (!e) {
        return false;
    }
    if (e->type == EVENT_START_CHILD_WORKFLOW_EXECUTION_INITIATED) {
        const char *id = ev_start_child_workflow_execution_initiated(e)->workflow_id;
        if (started) {
            host_child_ended(h, id, ends[roll(d, 5)]);
        } else if (roll(d, 6) == 0) {
            host_child_ended(h, id, EVENT_START_CHILD_WORKFLOW_EXECUTION_FAILED);
        } else {
            host_child_started(h, id);
        }
    } else {
        bool good = roll(d, 3) > 0;
        bool signal = e->type == EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED;
        struct event *answer =
            host_append(h, signal ? good ? EVENT_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED
                                         : EVENT_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED
                           : good ? EVENT_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED
                                  : EVENT_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED);
        host_set_initiated(answer, e->id);
        host_wake(h);
    }
    return true;
}

static bool something_happens(struct host *h, struct dice *d)
{
    bool asked = false;
    const char *id;

    switch (roll(d, 10)) {
    case 8:
    case 9:
        return relation_moves(h, d);
    case 0:
        host_signal(h, roll(d, 2) ? "x" : "y", "\"s\"");
        return true;
    case 1:
        if (roll(d, 6) == 0) {
            host_cancel(h, "enough");
            return true;
        }
        return false;
    case 2:
    case 3:
        id = host_open_timer(h, roll(d, 3));
        if (id) {
            host_fired(h, id);
        }
        return id != NULL;
    default:
        id = host_open_activity(h, roll(d, 3), &asked);
        if (id) {
            end_activity(h, d, id, asked);
        }
        return id != NULL;
    }
}

static void drive(struct host *h, uint64_t seed, bool evict)
{
    struct dice d = {seed ^ 0x5bd1e995};

    for (int task = 0; task < MAX_TASKS; task++) {
        if (evict) {
            int rc = host_evict(h);
            cr_assert_eq(rc, 0, "seed %llu task %d: replay gives %d: %s\n%s\n%s",
                         (unsigned long long)seed, task, rc, h->err.text,
                         h->out.report ? h->out.report : "", host_trace(h));
        }
        int rc = host_task(h);
        cr_assert_eq(rc, 0, "seed %llu task %d: %d %s %s", (unsigned long long)seed, task, rc,
                     h->err.text, h->out.message ? h->out.message : "");
        if (h->out.status != RUN_RUNNING) {
            break;
        }
        for (unsigned want = 1 + roll(&d, 3), tries = 0; want > 0 && tries < 40; tries++) {
            want -= something_happens(h, &d);
        }
    }
    int rc = host_evict(h);
    cr_assert_eq(rc, 0, "seed %llu at the end: %d %s", (unsigned long long)seed, rc,
                 h->out.report ? h->out.report : h->err.text);
}

static void check_valid(const struct host *h, uint64_t seed)
{
    autovalidator struct validator *v = validator_new();

    for (size_t i = 0; i < h->count; i++) {
        struct err err = {0};
        cr_assert_eq(validator_add(v, h->events[i], &err), 0, "seed %llu: %s%s",
                     (unsigned long long)seed, err.text, validator_warning(v));
    }
}

static void try_seed(uint64_t seed, size_t *ret_events, size_t *ret_closed)
{
    struct program p = {.seed = seed, .depth = 2};
    struct host calm, stormy;

    host_init(&calm, random_workflow, &p, "null");
    drive(&calm, seed, false);
    check_valid(&calm, seed);
    host_init(&stormy, random_workflow, &p, "null");
    drive(&stormy, seed, true);
    cr_assert_eq(calm.count, stormy.count, "seed %llu", (unsigned long long)seed);
    for (size_t i = 0; i < calm.count; i++) {
        autostr struct str why = {0};
        cr_assert(event_equal(calm.events[i], stormy.events[i], DIFF_EXACT, &why), "seed %llu: %s",
                  (unsigned long long)seed, str_c(&why));
    }
    *ret_events += calm.count;
    *ret_closed += run_status(calm.run) != RUN_RUNNING;
    host_free(&calm);
    host_free(&stormy);
}

Test(exec_property, replay_gives_the_same_commands, .timeout = 300)
{
    const char *one = getenv("EXEC_SEED");
    const char *many = getenv("EXEC_SEEDS");
    uint64_t count = many ? strtoull(many, NULL, 10) : 1000;
    size_t events = 0;
    size_t closed = 0;

    if (one) {
        try_seed(strtoull(one, NULL, 10), &events, &closed);
        return;
    }
    for (uint64_t seed = 1; seed <= count; seed++) {
        try_seed(seed, &events, &closed);
    }
    fprintf(stderr, "%zu events in %llu runs, %zu closed\n", events, (unsigned long long)count,
            closed);
    cr_expect_gt(events, count * 20, "the programs do too little: %zu events", events);
    cr_expect_gt(closed, count / 2, "too few runs end: %zu", closed);
}
