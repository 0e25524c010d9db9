/*
 * flows.c - the code of the script's runs (script.h): one workflow each, and their activities.
 *
 * Must not: depend on anything but its input, so that a crash cannot change how it ends.
 * Tests: tests/crash/test_crash_engine.c
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "selftest/script.h"

#define LARGE_BYTES 300000

static const dur_activity_options quick = {
    .retry = {.initial_interval_ms = 1, .maximum_interval_ms = 5}};

/* --- activities ------------------------------------------------------------------------------- */

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    const struct script_engine *engine = user;
    bool is_other = engine->script->plant == SCRIPT_UNSTABLE && engine->board->plays > 1;
    *result = is_other ? "\"other\"" : dur_jsonf(act, "%j", input);
    return DUR_OK;
}

static int third_time(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    if (dur_activity_attempt(act) < 3) {
        return dur_fail(act, DUR_TRANSIENT, "Flaky", "try again");
    }
    *result = dur_jsonf(act, "%j", input);
    return DUR_OK;
}

const char *script_letters(dur_activity *act, int bytes)
{
    char *text = dur_activity_alloc(act, (size_t)bytes + 3);
    for (int i = 1; i <= bytes; i++) {
        text[i] = (char)('a' + i % 26);
    }
    text[0] = text[bytes + 1] = '"';
    return text;
}

static int large(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    *result = script_letters(act, LARGE_BYTES);
    return DUR_OK;
}

static int beat(dur_activity *act, const char *input, const char **result, void *user)
{
    struct script_board *board = ((struct script_engine *)user)->board;
    (void)input;
    if (atomic_load(&board->beaten) && !dur_heartbeat_details(act)) {
        atomic_store(&board->forgotten, 1);
    }
    if (dur_heartbeat_sync(act, "{\"pid\":4711}") == DUR_OK) {
        atomic_store(&board->beaten, 1);
    }
    *result = "{\"pid\":4711}";
    return DUR_OK;
}

static int hang(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    while (!dur_activity_cancelled(act, NULL)) {
        clock_sleep_ms(1);
    }
    return DUR_CANCELLED;
}

static int note(dur_activity *act, atomic_int *told, int rc, dur_engine *engine)
{
    if (rc != DUR_OK && rc != DUR_NOT_FOUND) { /* not found: it ended already, by an earlier call */
        return dur_fail(act, DUR_TRANSIENT, "Store", "%s", dur_error(engine));
    }
    if (rc == DUR_OK) {
        atomic_store(told, 1);
    }
    return DUR_OK;
}

static int poke(dur_activity *act, const char *input, const char **result, void *user)
{
    const struct script_engine *engine = user;
    (void)input;
    (void)result;
    return note(act, &engine->board->poked, dur_signal(engine->engine, "waiter", "poke", "2"),
                engine->engine);
}

static int cancel_victim(dur_activity *act, const char *input, const char **result, void *user)
{
    const struct script_engine *engine = user;
    (void)input;
    (void)result;
    return note(act, &engine->board->cancelled, dur_cancel(engine->engine, "victim", "enough"),
                engine->engine);
}

/* --- workflows -------------------------------------------------------------------------------- */

static int wf_chain(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    *result = input;
    for (int i = 0; i < 6; i++) {
        int rc = dur_run(ctx, "echo", dur_ctx_jsonf(ctx, "[%j]", *result), result, &quick);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    return DUR_OK;
}

static int wf_sleeper(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_sleep(ctx, 3);
    if (rc == DUR_OK) {
        dur_future *both[] = {dur_start_activity(ctx, "echo", input, &quick),
                              dur_timer(ctx, 3600000)};
        rc = dur_select(ctx, both, 2);
        if (rc == 0) {
            dur_cancel_future(ctx, both[1]);
            rc = dur_await(ctx, both[0], result);
        }
    }
    return rc == DUR_OK ? dur_sleep(ctx, 2) : rc;
}

static int wf_waiter(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *go, *poked;
    (void)input;
    (void)user;
    dur_upsert_memo(ctx, "{\"step\":\"waiting\"}");
    int rc = dur_receive(ctx, "go", -1, &go);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "poke", -1, &poked);
    }
    if (rc == DUR_OK) {
        dur_upsert_memo(ctx, "{\"step\":\"told\",\"n\":3}");
        *result = dur_ctx_jsonf(ctx, "[%j,%j]", go, poked);
    }
    return rc;
}

static int wf_poker(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    int rc = dur_run(ctx, "poke", NULL, NULL, &quick);
    return rc == DUR_OK ? dur_run(ctx, "cancel_victim", NULL, NULL, &quick) : rc;
}

static int wf_victim(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    (void)result;
    dur_activity_options o = quick;
    o.cancellation = DUR_WAIT_CANCEL;
    int rc = dur_run(ctx, "hang", NULL, NULL, &o);
    dur_run(dur_disconnected(ctx), "echo", "\"bye\"", NULL, &quick);
    dur_upsert_memo(dur_disconnected(ctx), "{\"cleaned\":true}");
    return rc;
}

static int wf_flaky(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "third_time", input, result, &quick);
}

static int wf_beaten(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    dur_activity_options o = quick;
    o.heartbeat_ms = 30000;
    return dur_run(ctx, "beat", input, result, &o);
}

static int wf_large(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *text;
    (void)user;
    int rc = dur_run(ctx, "large", input, &text, &quick);
    if (rc == DUR_OK) {
        rc = dur_run(ctx, "echo", text, &text, &quick);
    }
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "%d", (int)strlen(text));
    }
    return rc;
}

static int wf_fan(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *futures[12];
    int sum = 0;
    (void)input;
    (void)user;
    for (int i = 0; i < 12; i++) {
        futures[i] = dur_start_activity(ctx, "echo", dur_ctx_jsonf(ctx, "%d", i), &quick);
    }
    for (int i = 0; i < 12; i++) {
        const char *one;
        int rc = dur_await(ctx, futures[i], &one);
        if (rc != DUR_OK) {
            return rc;
        }
        sum += (int)dur_json_int(one, "", 0);
    }
    *result = dur_ctx_jsonf(ctx, "%d", sum);
    return DUR_OK;
}

static int wf_worker_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run(ctx, "echo", input, result, &quick);
    dur_signal_external(ctx, "family", "done", "1"); /* in its last step */
    return rc;
}

static int wf_waiting_child(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "never", -1, result);
}

/* One child works, tells and ends; the other is taken down with its parent. */
static int wf_family(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *works = dur_start_child(ctx, "worker_child", input,
                                        &(dur_child_options){.workflow_id = "worker_child"});
    dur_future *waits = dur_start_child(ctx, "waiting_child", input,
                                        &(dur_child_options){.workflow_id = "waiting_child"});
    (void)user;
    int rc = dur_child_started(ctx, waits, NULL);
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "done", -1, NULL);
    }
    return rc == DUR_OK ? dur_await(ctx, works, result) : rc;
}

static int wf_relay(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t leg = dur_json_int(input, "", 0);
    (void)user;
    int rc = dur_run(ctx, "echo", input, result, &quick);
    if (rc == DUR_OK && leg < 7 + SCRIPT_RELAY_RUNS - 1) {
        dur_upsert_memo(ctx, dur_ctx_jsonf(ctx, "{\"leg\":%i64}", leg));
        return dur_continue_as_new(ctx, dur_ctx_jsonf(ctx, "%i64", leg + 1), NULL);
    }
    return rc;
}

/* --- the registry ----------------------------------------------------------------------------- */

void script_register(struct script_engine *engine)
{
    static const struct {
        const char *name;
        dur_workflow_fn fn;
    } workflows[] = {{"chain", wf_chain},
                     {"sleeper", wf_sleeper},
                     {"waiter", wf_waiter},
                     {"poker", wf_poker},
                     {"victim", wf_victim},
                     {"flaky", wf_flaky},
                     {"beaten", wf_beaten},
                     {"large", wf_large},
                     {"fan", wf_fan},
                     {"family", wf_family},
                     {"relay", wf_relay},
                     {"worker_child", wf_worker_child},
                     {"waiting_child", wf_waiting_child}};
    static const struct {
        const char *name;
        dur_activity_fn fn;
    } activities[] = {{"echo", echo},
                      {"third_time", third_time},
                      {"large", large},
                      {"beat", beat},
                      {"hang", hang},
                      {"poke", poke},
                      {"cancel_victim", cancel_victim}};
    for (size_t i = 0; i < ARRAY_LEN(workflows); i++) {
        dur_register_workflow(engine->engine, workflows[i].name, workflows[i].fn, NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(activities); i++) {
        dur_register_activity(engine->engine, activities[i].name, activities[i].fn, engine);
    }
    dur_lane(engine->engine, "default", 6);
}
