/*
 * flows.c - see flows.h.
 */
#include "flows.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const dur_activity_options quick = {
    .start_to_close_ms = 10000,
    .retry = {.initial_interval_ms = 20, .backoff_coefficient = 1.0},
};

static void nap(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

/* --- activities ------------------------------------------------------------------------------- */

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int flaky(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) <= dur_json_int(input, "", 0)) {
        return dur_fail(act, DUR_TRANSIENT, "Again", "too early");
    }
    *result = dur_jsonf(act, "%d", dur_activity_attempt(act));
    return DUR_OK;
}

static int wait_for_cancel(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    for (int i = 0; i < 500 && !dur_activity_cancelled(act, NULL); i++) {
        dur_heartbeat(act, NULL);
        nap(10);
    }
    return DUR_CANCELLED;
}

static int slow(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    nap((long)dur_json_int(input, "", 100));
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

/* --- workflows -------------------------------------------------------------------------------- */

#define FLOW(name) static int name(dur_ctx *ctx, const char *input, const char **result, void *user)
#define UNUSED (void)ctx, (void)input, (void)result, (void)user

FLOW(sequence)
{
    const char *r = "0";
    UNUSED;
    for (int i = 0; i < 3; i++) {
        int rc = dur_run(ctx, "echo", dur_ctx_jsonf(ctx, "%i64", dur_json_int(r, "", 0) + 1), &r,
                         &quick);
        if (rc) {
            return rc;
        }
    }
    *result = r;
    return DUR_OK;
}

FLOW(retried)
{
    UNUSED;
    return dur_run(ctx, "flaky", "2", result, &quick);
}

FLOW(failed)
{
    dur_activity_options once = quick;
    UNUSED;
    once.max_attempts = 1;
    return dur_run(ctx, "flaky", "9", result, &once);
}

FLOW(parallel)
{
    dur_future *f[3];
    int64_t sum = 0;
    UNUSED;
    for (int i = 0; i < 3; i++) {
        f[i] = dur_start_activity(ctx, "echo", dur_ctx_jsonf(ctx, "%d", i + 1), &quick);
    }
    for (int i = 0; i < 3; i++) {
        const char *r = NULL;
        int rc = dur_await(ctx, f[i], &r);
        if (rc) {
            return rc;
        }
        sum += dur_json_int(r, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%i64", sum);
    return DUR_OK;
}

/* A timer is cancelled because an activity won. */
FLOW(timers)
{
    UNUSED;
    dur_future *f[2] = {dur_timer(ctx, 60000), dur_start_activity(ctx, "echo", "1", &quick)};
    int first = dur_select(ctx, f, 2);
    if (first < 0) {
        return first;
    }
    dur_cancel_future(ctx, f[0]);
    int rc = dur_sleep(ctx, 20);
    *result = dur_ctx_jsonf(ctx, "%d", first);
    return rc;
}

FLOW(cancels)
{
    dur_activity_options o = quick;
    const char *r = NULL;
    UNUSED;
    o.cancellation = DUR_WAIT_CANCEL;
    o.heartbeat_ms = 2000;
    dur_ctx *scope = dur_scope(ctx);
    dur_future *f = dur_start_activity(scope, "wait", NULL, &o);
    int rc = dur_sleep(ctx, 150);
    if (rc) {
        return rc;
    }
    dur_cancel_scope(scope);
    rc = dur_await(ctx, f, &r);
    *result = dur_ctx_jsonf(ctx, "%q", dur_code_name(rc));
    return rc == DUR_UNWIND ? rc : DUR_OK;
}

static int effect(void *arg, const char **result)
{
    (void)arg;
    *result = "7";
    return DUR_OK;
}

FLOW(recorded)
{
    const char *a = NULL, *b = NULL;
    UNUSED;
    int rc = dur_side_effect(ctx, effect, NULL, &a);
    if (rc == DUR_OK) {
        rc = dur_mutable_side_effect(ctx, "m", effect, NULL, NULL, &b);
    }
    int version = dur_code_version(ctx, "change", -1, 3);
    int patched = dur_patched(ctx, "patch");
    if (rc == DUR_OK && version >= -1) {
        rc = dur_sleep(ctx, 10);
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j,%d,%d,%b]", a, b, version, patched,
                            dur_random(ctx) != dur_random(ctx));
    return rc;
}

FLOW(attributes)
{
    UNUSED;
    int rc = dur_upsert_memo(ctx, "{\"step\":2}");
    if (rc == DUR_OK) {
        rc = dur_upsert_search_attributes(ctx, "{\"CustomerId\":\"c1\"}");
    }
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 10);
    }
    *result = dur_memo(ctx);
    return rc;
}

FLOW(parent)
{
    const char *a = NULL, *b = NULL;
    UNUSED;
    int rc = dur_run_child(ctx, "sequence", NULL, &a, NULL);
    if (rc) {
        return rc;
    }
    int failed_rc = dur_run_child(ctx, "fails", NULL, &b, NULL);
    const dur_failure_info *f = dur_failure(ctx);
    *result = dur_ctx_jsonf(ctx, "[%j,%q,%q]", a, dur_code_name(failed_rc),
                            f && f->cause ? f->cause->type : "");
    return failed_rc == DUR_FAILED ? DUR_OK : failed_rc;
}

FLOW(fails)
{
    UNUSED;
    return dur_fail_run(ctx, "Sad", "it is over");
}

FLOW(listener)
{
    const char *got = NULL;
    UNUSED;
    int rc = dur_receive(ctx, "tell", -1, &got);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "never", -1, NULL);
    }
    if (rc != DUR_CANCELLED) {
        return rc;
    }
    rc = dur_run(dur_disconnected(ctx), "echo", got, result, &quick);
    return rc ? rc : DUR_OK;
}

/* Signals a child and cancels it; the child cleans up. */
FLOW(speaker)
{
    UNUSED;
    dur_future *child = dur_start_child(ctx, "listener", NULL, NULL);
    int rc = dur_child_started(ctx, child, NULL);
    if (rc == DUR_OK) {
        rc = dur_await(ctx, dur_signal_external(ctx, dur_child_id(child), "tell", "\"hello\""),
                       NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_await(ctx, dur_cancel_external(ctx, dur_child_id(child), "enough"), NULL);
    }
    if (rc == DUR_OK) {
        rc = dur_await(ctx, dur_signal_external(ctx, "nobody-has-this-id", "tell", NULL), NULL) ==
                     DUR_FAILED
                 ? DUR_OK
                 : DUR_INVALID;
    }
    return rc ? rc : dur_await(ctx, child, result);
}

FLOW(chain)
{
    int64_t n = dur_json_int(input, "", 0);
    UNUSED;
    int rc = dur_sleep(ctx, 5);
    if (rc) {
        return rc;
    }
    if (n < 2) {
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", n + 1), NULL);
    }
    *result = dur_ctx_jsonf(ctx, "{\"n\":%i64,\"memo\":%j,\"attempt\":%d}", n, dur_memo(ctx),
                            dur_attempt(ctx));
    return DUR_OK;
}

FLOW(again)
{
    UNUSED;
    if (dur_attempt(ctx) < 3) {
        return dur_fail_run(ctx, "Not", "yet");
    }
    *result = dur_ctx_jsonf(ctx, "%d", dur_attempt(ctx));
    return DUR_OK;
}

static const dur_local_options local = {
    .start_to_close_ms = 20000,
    .retry = {.initial_interval_ms = 20, .backoff_coefficient = 1.0},
};

FLOW(locals)
{
    const char *a = NULL, *b = NULL;
    dur_local_options patient = local;
    UNUSED;
    int rc = dur_run_local(ctx, "echo", "5", &a, &local);
    if (rc == DUR_OK) {
        rc = dur_run_local(ctx, "flaky", "1", &b, &local);
    }
    if (rc == DUR_OK) { /* a back-off that becomes a timer */
        patient.retry.initial_interval_ms = 50;
        patient.local_retry_threshold_ms = 10;
        rc = dur_run_local(ctx, "flaky", "1", &b, &patient);
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", a, b);
    return rc;
}

/* Longer than a workflow task may last. */
FLOW(slow_local)
{
    UNUSED;
    return dur_run_local(ctx, "slow", input, result, &local);
}

struct sum {
    dur_ctx *ctx;
    int64_t value;
    int stop;
};

static int tell_sum(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%i64", ((struct sum *)arg)->value);
    return DUR_OK;
}

static int positive(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return dur_json_int(input, "", 0) > 0 ? DUR_OK : dur_fail_run(ctx, "Negative", "no");
}

static int add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct sum *s = arg;
    if (dur_json_int(input, "", 0) == 13) {
        return dur_fail_run(ctx, "Unlucky", "thirteen");
    }
    if (dur_json_int(input, "", 0) == 5) { /* an update that takes its time */
        int rc = dur_run(ctx, "echo", input, NULL, &quick);
        if (rc) {
            return rc;
        }
    }
    s->value += dur_json_int(input, "", 0);
    *result = dur_ctx_jsonf(ctx, "%i64", s->value);
    return DUR_OK;
}

static int bump(dur_ctx *ctx, const char *input, void *arg)
{
    (void)ctx;
    (void)input;
    ((struct sum *)arg)->value++;
    return DUR_OK;
}

static int finish(dur_ctx *ctx, const char *input, void *arg)
{
    (void)ctx;
    (void)input;
    ((struct sum *)arg)->stop = 1;
    return DUR_OK;
}

static int is_over(void *arg)
{
    struct sum *s = arg;
    return s->stop && dur_all_handlers_finished(s->ctx);
}

/* Answers queries and updates, counts signals, until "finish". */
FLOW(account)
{
    struct sum *s = dur_ctx_alloc(ctx, sizeof(*s));
    UNUSED;
    s->ctx = ctx;
    dur_on_query(ctx, "sum", tell_sum, s);
    dur_on_update(ctx, "add", positive, add, s);
    dur_on_signal(ctx, "bump", bump, s);
    dur_on_signal(ctx, "finish", finish, s);
    int rc = dur_wait(ctx, is_over, s, -1);
    *result = dur_ctx_jsonf(ctx, "%i64", s->value);
    return rc;
}

static int nap_effect(void *arg, const char **result)
{
    nap(300);
    *result = arg ? "1" : "0";
    return DUR_OK;
}

/* Its tasks last; it ends as soon as it has seen a signal, with the number that it got. */
FLOW(busy)
{
    int64_t count = 0;
    UNUSED;
    int rc = dur_receive(ctx, "tell", -1, NULL);
    for (count = 0; rc == DUR_OK; count++) {
        rc = dur_side_effect(ctx, nap_effect, NULL, NULL);
        if (rc == DUR_OK) {
            rc = dur_receive(ctx, "tell", 0, NULL);
        }
    }
    *result = dur_ctx_jsonf(ctx, "%i64", count);
    return rc == DUR_TIMED_OUT ? DUR_OK : rc;
}

/* Continues with signals left over: the next run counts them. */
FLOW(carry)
{
    int64_t count = 0;
    int rc;
    UNUSED;
    if (dur_json_int(input, "", 0) == 0) {
        rc = dur_receive(ctx, "go", -1, NULL);
        return rc ? rc : dur_continue_as_new(ctx, "1", NULL);
    }
    while ((rc = dur_receive(ctx, "tell", 3000, NULL)) == DUR_OK) {
        if (++count == 3) {
            break;
        }
    }
    *result = dur_ctx_jsonf(ctx, "%i64", count);
    return rc == DUR_TIMED_OUT ? DUR_OK : rc;
}

/* {"rounds":R, "markers":M}: R times M markers and a timer. */
FLOW(lengthy)
{
    int64_t rounds = dur_json_int(input, "/rounds", 1);
    int64_t markers = dur_json_int(input, "/markers", 1);
    struct sum *s = dur_ctx_alloc(ctx, sizeof(*s));
    UNUSED;
    dur_on_query(ctx, "sum", tell_sum, s);
    for (int64_t i = 0; i < rounds; i++) {
        for (int64_t k = 0; k < markers; k++) {
            int rc = dur_side_effect(ctx, effect, NULL, NULL);
            if (rc) {
                return rc;
            }
            s->value++;
        }
        int rc = dur_sleep(ctx, 5);
        if (rc) {
            return rc;
        }
    }
    int rc = dur_receive(ctx, "finish", -1, NULL);
    *result = dur_ctx_jsonf(ctx, "%i64", s->value);
    return rc;
}

static int mib(void *arg, const char **result)
{
    static char text[1900001];
    (void)arg;
    memset(text, 'x', sizeof(text) - 1);
    text[0] = text[sizeof(text) - 2] = '"';
    *result = text;
    return DUR_OK;
}

/* input: how many large values one task records. */
FLOW(large)
{
    UNUSED;
    for (int64_t i = dur_json_int(input, "", 1); i > 0; i--) {
        int rc = dur_side_effect(ctx, mib, NULL, NULL);
        if (rc) {
            return rc;
        }
    }
    *result = "\"done\"";
    return dur_sleep(ctx, 5);
}

/* user: which code this is. */
FLOW(changes)
{
    UNUSED;
    int rc = dur_run(ctx, "echo", "1", NULL, &quick);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "go", -1, NULL);
    }
    if (rc == DUR_OK) {
        rc = user ? dur_sleep(ctx, 10) : dur_run(ctx, "echo", "2", NULL, &quick);
    }
    *result = "\"same\"";
    return rc;
}

FLOW(changed)
{
    UNUSED;
    int rc = dur_sleep(ctx, 10); /* where an activity was */
    return rc ? rc : dur_receive(ctx, "go", -1, NULL);
}

/* A step, a pause, a step: what a worker that dies in between leaves to others. */
FLOW(steps)
{
    int64_t n = dur_json_int(input, "", 5);
    UNUSED;
    for (int64_t i = 0; i < n; i++) {
        int rc = dur_run(ctx, "slow", "20", NULL, &quick);
        if (rc == DUR_OK) {
            rc = dur_sleep(ctx, 20);
        }
        if (rc) {
            return rc;
        }
    }
    *result = dur_ctx_jsonf(ctx, "%i64", n);
    return DUR_OK;
}

FLOW(transacts)
{
    UNUSED;
    return dur_run_transaction(ctx, "sql", NULL, result);
}

FLOW(indexes)
{
    UNUSED;
    int rc = dur_upsert_search_attributes(ctx, "{\"NobodyMadeThis\":1}");
    return rc ? rc : dur_sleep(ctx, 10);
}

static const dur_retry_policy thrice = {.initial_interval_ms = 50, .maximum_attempts = 3};

const struct flow flows[] = {
    {"sequence", NULL, "3", DUR_OK, {0}},
    {"retried", NULL, "3", DUR_OK, {0}},
    {"failed", NULL, "too early", DUR_FAILED, {0}},
    {"parallel", NULL, "6", DUR_OK, {0}},
    {"timers", NULL, "1", DUR_OK, {0}},
    {"cancels", NULL, "\"DUR_CANCELLED\"", DUR_OK, {0}},
    {"recorded", NULL, "[7,7,3,1,true]", DUR_OK, {0}},
    {"attributes", NULL, "{\"kept\":1,\"step\":2}", DUR_OK, {.memo = "{\"kept\":1}"}},
    {"parent", NULL, "[3,\"DUR_FAILED\",\"Sad\"]", DUR_OK, {0}},
    {"fails", NULL, "it is over", DUR_FAILED, {0}},
    {"speaker", NULL, "\"hello\"", DUR_OK, {0}},
    {"chain", "0", "{\"n\":2,\"memo\":{\"k\":1},\"attempt\":1}", DUR_OK, {.memo = "{\"k\":1}"}},
    {"again", NULL, "3", DUR_OK, {.retry = &thrice}},
    {"locals", NULL, "[5,2]", DUR_OK, {0}},
    {"sequence", NULL, "3", DUR_OK, {.start_delay_ms = 300}},
};
const int flow_count = sizeof(flows) / sizeof(flows[0]);

void flows_register(dur_engine *engine, int variant)
{
    static int two;
    static const struct {
        const char *name;
        dur_workflow_fn fn;
    } workflows[] = {
        {"sequence", sequence},     {"retried", retried},       {"failed", failed},
        {"parallel", parallel},     {"timers", timers},         {"cancels", cancels},
        {"recorded", recorded},     {"attributes", attributes}, {"parent", parent},
        {"fails", fails},           {"listener", listener},     {"speaker", speaker},
        {"chain", chain},           {"again", again},           {"locals", locals},
        {"slow_local", slow_local}, {"account", account},       {"busy", busy},
        {"carry", carry},           {"lengthy", lengthy},       {"large", large},
        {"steps", steps},           {"transacts", transacts},   {"indexes", indexes},
    };
    for (size_t i = 0; i < sizeof(workflows) / sizeof(workflows[0]); i++) {
        dur_register_workflow(engine, workflows[i].name, workflows[i].fn, NULL);
    }
    dur_register_workflow(engine, "changes", variant == 2 ? changed : changes,
                          variant == 3 ? &two : NULL);
    dur_register_activity(engine, "echo", echo, NULL);
    dur_register_activity(engine, "flaky", flaky, NULL);
    dur_register_activity(engine, "wait", wait_for_cancel, NULL);
    dur_register_activity(engine, "slow", slow, NULL);
}
