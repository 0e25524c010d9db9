/*
 * waiting.c - scenarios of what a run waits for: timers, signals, the first of several, coroutines.
 *
 * Owns: these scenarios. Tests: tests/scenario/scenario.c plays them.
 */
#include "scenario.h"

/* --- timers ------------------------------------------------------------------------------------
 */

static int timers(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    dur_future *late = dur_timer(ctx, 10 * DUR_MINUTES);
    dur_future *both[] = {dur_timer(ctx, 20), late};
    int first = dur_select(ctx, both, 2);
    if (first < 0) {
        return first;
    }
    dur_cancel_future(ctx, late);
    *result = dur_ctx_jsonf(ctx, "%d", first);
    return dur_sleep(ctx, 10);
}

static int timers_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    (void)dur_timer(ctx, 10 * DUR_MINUTES);
    return dur_sleep(ctx, 20);
}

static int timers_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Timers", changed ? timers_changed : timers);
}

static struct scenario timers_scenario = {.name = "timer",
                                          .primitive = "Timers, select, cancelling a timer",
                                          .type = "Timers",
                                          .id = "timers",
                                          .result = "0",
                                          .setup = timers_setup};
SCENARIO(timers_scenario)

/* --- signals -----------------------------------------------------------------------------------
 */

static int signals(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *words[2] = {"null", "null"};
    (void)input;
    (void)user;
    for (int i = 0; i < 2; i++) {
        int rc = dur_receive(ctx, "word", -1, &words[i]);
        if (rc) {
            return rc;
        }
    }
    if (dur_receive(ctx, "never", 5, NULL) != DUR_TIMED_OUT) {
        return DUR_CANCELLED;
    }
    *result = dur_ctx_jsonf(ctx, "[%j,%j]", words[0], words[1]);
    return DUR_OK;
}

static int signals_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Echo", input, result, &scenario_quick);
}

static int signals_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Signals", changed ? signals_changed : signals);
}

static int signals_drive(dur_engine *engine)
{
    int rc = scenario_start(engine, "Signals", "signals", "0");
    if (rc == DUR_OK) {
        rc = dur_signal(engine, "signals", "word", "\"one\"");
    }
    return rc ? rc : dur_signal(engine, "signals", "word", "\"two\"");
}

static struct scenario signals_scenario = {.name = "signal",
                                           .primitive = "Signals, a wait that times out",
                                           .type = "Signals",
                                           .id = "signals",
                                           .setup = signals_setup,
                                           .drive = signals_drive};
SCENARIO(signals_scenario)

/* --- coroutines ---------------------------------------------------------------------------------
 */

static char left_text[] = "\"left\"", right_text[] = "\"right\"";

static int step(dur_ctx *ctx, void *arg, const char **result)
{
    int rc = dur_run(ctx, "Echo", arg, result, &scenario_quick);
    return rc ? rc : dur_sleep(ctx, 2);
}

static int coroutines(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    dur_future *left = dur_go(ctx, step, left_text);
    int rc = dur_await(ctx, left, result);
    dur_future *right = rc ? NULL : dur_go(ctx, step, right_text);
    return right ? dur_await(ctx, right, result) : rc;
}

static int coroutines_changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return step(ctx, left_text, result) ?: step(ctx, right_text, result) ?: dur_sleep(ctx, 1);
}

static int coroutines_setup(dur_engine *engine, bool changed)
{
    return scenario_register(engine, "Coroutines", changed ? coroutines_changed : coroutines);
}

static struct scenario coroutines_scenario = {.name = "coroutine",
                                              .primitive = "Coroutines",
                                              .type = "Coroutines",
                                              .id = "coroutines",
                                              .result = "\"right\"",
                                              .setup = coroutines_setup};
SCENARIO(coroutines_scenario)
