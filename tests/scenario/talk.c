/*
 * talk.c - scenarios of what others ask of a run: queries, updates, handlers of signals; and of
 * what a run's own parts say to each other: conditions, channels.
 *
 * Owns: these scenarios. Updates are admitted before the engine serves, under ids of their own, so
 * the first task sees all of them. At most one is accepted in a task: of several that end at once
 * Go and this engine record one after the other, TypeScript all acceptances first.
 * Tests: tests/scenario/scenario.c plays them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

struct account {
    int64_t sum;
    int count; /* adds that are over */
    int words;
    dur_ctx *ctx;
};

static struct account *account_new(dur_ctx *ctx)
{
    struct account *a = dur_ctx_alloc(ctx, sizeof(*a));
    a->ctx = ctx;
    return a;
}

/* --- updates -----------------------------------------------------------------------------------
 */

static int positive(dur_ctx *ctx, const char *input, void *arg)
{
    (void)arg;
    return dur_json_int(input, "", 0) > 0 ? DUR_OK
                                          : dur_fail_run(ctx, "Negative", "%s is not", input);
}

static int add(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct account *a = arg;
    a->sum += dur_json_int(input, "", 0);
    a->count++;
    *result = dur_ctx_jsonf(ctx, "%i64", a->sum);
    return DUR_OK;
}

static int one_add(void *arg)
{
    struct account *a = arg;
    return a->count >= 1 && dur_all_handlers_finished(a->ctx);
}

static int updates(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)input;
    (void)user;
    dur_on_update(ctx, "add", positive, add, a);
    int rc = dur_wait(ctx, one_add, a, -1);
    *result = dur_ctx_jsonf(ctx, "%i64", a->sum);
    return rc;
}

static int updates_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_receive(ctx, "end", -1, NULL); /* no handler */
}

static int updates_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Updates", changed ? updates_changed : updates);
}

static int updates_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "Updates", "updates", NULL);
    return rc ? rc : scenario_update(engine, "updates", "u-1", "add", "7");
}

static struct scenario updates_scenario = {.name = "update",
                                           .primitive = "Updates: accepted and completed",
                                           .type = "Updates",
                                           .id = "updates",
                                           .result = "7",
                                           .setup = updates_setup,
                                           .drive = updates_drive};
SCENARIO(updates_scenario)

static int rejects_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "Updates", "rejects", NULL);
    rc = rc ? rc : scenario_update(engine, "rejects", "u-1", "add", "-3");
    rc = rc ? rc : scenario_update(engine, "rejects", "u-2", "subtract", "4");
    return rc ? rc : scenario_update(engine, "rejects", "u-3", "add", "9");
}

static struct scenario rejects_scenario = {.name = "update-reject",
                                           .primitive = "Updates: rejected, no trace",
                                           .type = "Updates",
                                           .id = "rejects",
                                           .result = "9",
                                           .setup = updates_setup,
                                           .drive = rejects_drive};
SCENARIO(rejects_scenario)

/* A handler that works and waits; the run ends when it has. */
static int works(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct account *a = arg;
    int rc = dur_run(ctx, "Echo", input, result, &scenario_quick);
    rc = rc ? rc : dur_sleep(ctx, 5);
    a->count++;
    return rc;
}

static int one_work(void *arg)
{
    struct account *a = arg;
    return a->count >= 1 && dur_all_handlers_finished(a->ctx);
}

static int async(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)input;
    (void)user;
    dur_on_update(ctx, "work", NULL, works, a);
    int rc = dur_wait(ctx, one_work, a, -1);
    *result = dur_ctx_jsonf(ctx, "%d", a->count);
    return rc;
}

static int works_not(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)arg;
    return dur_sleep(ctx, 5) ?: dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int async_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)input;
    (void)result;
    (void)user;
    dur_on_update(ctx, "work", NULL, works_not, a);
    return dur_wait(ctx, one_work, a, -1);
}

static int async_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "UpdateAsync", changed ? async_changed : async);
}

static int async_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "UpdateAsync", "update-async", NULL);
    return rc ? rc : scenario_update(engine, "update-async", "u-1", "work", "\"w\"");
}

static struct scenario async_scenario = {.name = "update-async",
                                         .primitive = "Updates: a handler that works and waits",
                                         .type = "UpdateAsync",
                                         .id = "update-async",
                                         .result = "1",
                                         .setup = async_setup,
                                         .drive = async_drive};
SCENARIO(async_scenario)

/* --- queries -----------------------------------------------------------------------------------
 */

static int tell(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%i64", ((struct account *)arg)->sum);
    return DUR_OK;
}

static int queries(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)user;
    dur_on_query(ctx, "sum", tell, a);
    a->sum = 1;
    int rc = dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    a->sum = 2;
    rc = rc ? rc : dur_sleep(ctx, 30);
    a->sum = 3;
    *result = "3";
    return rc;
}

static int queries_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, 30);
}

static int queries_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Queries", changed ? queries_changed : queries);
}

/* Asks all the time; the history must not show it. */
static void queries_during(dur_engine *engine)
{
    char *answer = NULL;
    for (int i = 0; i < 5; i++) {
        int rc = dur_query(engine, "queries", "sum", NULL, 2000, &answer);
        if (rc == DUR_OK && (strlen(answer) != 1 || !strchr("123", *answer))) {
            fprintf(stderr, "a query was answered with %s\n", answer);
            abort();
        }
        if (rc == DUR_OK) {
            dur_free(answer);
        }
        answer = NULL;
    }
}

static struct scenario queries_scenario = {.name = "query",
                                           .primitive = "Queries, without a trace",
                                           .type = "Queries",
                                           .id = "queries",
                                           .input = "\"q\"",
                                           .result = "3",
                                           .setup = queries_setup,
                                           .during = queries_during};
SCENARIO(queries_scenario)

/* --- handlers of signals -----------------------------------------------------------------------
 */

static int word(dur_ctx *ctx, const char *input, void *arg)
{
    struct account *a = arg;
    int rc = DUR_OK;
    if (dur_json_bool(input, "/slow", 0)) {
        rc = dur_run(ctx, "Echo", input, NULL, &scenario_quick);
    }
    a->words++;
    return rc;
}

static int two_words(void *arg)
{
    struct account *a = arg;
    return a->words >= 2 && dur_all_handlers_finished(a->ctx);
}

static int handlers(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)input;
    (void)user;
    dur_on_signal(ctx, "word", word, a);
    int rc = dur_wait(ctx, two_words, a, -1);
    *result = dur_ctx_jsonf(ctx, "%d", a->words);
    return rc;
}

static int handlers_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_receive(ctx, "word", -1, NULL) ?: dur_receive(ctx, "word", -1, NULL);
}

static int handlers_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "SignalHandler", changed ? handlers_changed : handlers);
}

static int handlers_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "SignalHandler", "signal-handler", NULL);
    rc = rc ? rc : dur_signal(engine, "signal-handler", "word", "{\"slow\":false}");
    return rc ? rc : dur_signal(engine, "signal-handler", "word", "{\"slow\":true}");
}

static struct scenario handlers_scenario = {.name = "signal-handler",
                                            .primitive = "Handlers of signals, waiting for them",
                                            .type = "SignalHandler",
                                            .id = "signal-handler",
                                            .setup = handlers_setup,
                                            .drive = handlers_drive};
SCENARIO(handlers_scenario)

/* --- conditions --------------------------------------------------------------------------------
 */

static int one_done(dur_ctx *ctx, void *arg, const char **result)
{
    struct account *a = arg;
    int rc = dur_run(ctx, "Echo", "\"c\"", result, &scenario_quick);
    a->count++;
    return rc;
}

static int has_one(void *arg)
{
    return ((struct account *)arg)->count >= 1;
}

static int has_two(void *arg)
{
    return ((struct account *)arg)->count >= 2;
}

static int conditions(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)input;
    (void)user;
    dur_go(ctx, one_done, a);
    int first = dur_wait(ctx, has_one, a, 10 * DUR_MINUTES);
    if (first != DUR_OK) {
        return first;
    }
    int second = dur_wait(ctx, has_two, a, 5);
    *result = dur_ctx_jsonf(ctx, "[%d,%d]", first, second);
    return second == DUR_TIMED_OUT ? DUR_OK : second;
}

static int conditions_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = account_new(ctx);
    (void)input;
    (void)result;
    (void)user;
    dur_go(ctx, one_done, a);
    return dur_wait(ctx, has_one, a, -1);
}

static int conditions_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Conditions", changed ? conditions_changed : conditions);
}

static struct scenario conditions_scenario = {.name = "wait-condition",
                                              .primitive = "Conditions, with and without time-out",
                                              .type = "Conditions",
                                              .id = "conditions",
                                              .result = "[0,-3]",
                                              .setup = conditions_setup};
SCENARIO(conditions_scenario)

/* --- channels ----------------------------------------------------------------------------------
 */

struct pipe {
    dur_channel *ch;
};

static int producer(dur_ctx *ctx, void *arg, const char **result)
{
    struct pipe *p = arg;
    const char *got = NULL;
    int rc = dur_run(ctx, "Echo", "\"first\"", &got, &scenario_quick);
    rc = rc ? rc : dur_send(ctx, p->ch, got);
    rc = rc ? rc : dur_sleep(ctx, 5);
    rc = rc ? rc : dur_send(ctx, p->ch, "\"second\"");
    dur_channel_close(ctx, p->ch);
    (void)result;
    return rc;
}

static int channels(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct pipe *p = dur_ctx_alloc(ctx, sizeof(*p));
    const char *got[2] = {NULL, NULL};
    int rc = DUR_OK, count = 0;
    (void)input;
    (void)user;
    p->ch = dur_channel_new(ctx, 0);
    dur_go(ctx, producer, p);
    while (count < 2 && (rc = dur_take(ctx, p->ch, -1, &got[count])) == DUR_OK) {
        count++;
    }
    rc = rc ? rc : dur_take(ctx, p->ch, -1, NULL);
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", got[0], got[1]);
    return rc == DUR_NOT_FOUND ? DUR_OK : rc;
}

static int channels_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    return dur_sleep(ctx, 5);
}

static int channels_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Channels", changed ? channels_changed : channels);
}

static struct scenario channels_scenario = {.name = "channel",
                                            .primitive = "Channels between coroutines",
                                            .type = "Channels",
                                            .id = "channels",
                                            .result = "[\"first\",\"second\"]",
                                            .setup = channels_setup};
SCENARIO(channels_scenario)
