/*
 * much.c - scenarios of what is near a server's limits, and of what comes while a task is under
 * way.
 *
 * Owns: these scenarios. The first two have no golden histories (megabytes); they are compared with
 * nothing, but replayed here and by Temporal's Core. Tests: tests/scenario/scenario.c plays them.
 */
#include <string.h>

#include "scenario.h"

static int changed(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Other", input, result, &scenario_quick);
}

/* --- a long history ----------------------------------------------------------------------------
 */

#define ROUNDS 34
#define AT_ONCE 50 /* activities: 3 events each, and 3 or more of workflow tasks a round */

/* Rounds of activities at once: more than 5 000 events. */
static int wide(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *parts[AT_ONCE];
    (void)user;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            parts[i] = dur_start_activity(ctx, "Echo", input, &scenario_quick);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            int rc = dur_await(ctx, parts[i], NULL);
            if (rc) {
                return rc;
            }
        }
    }
    *result = dur_ctx_jsonf(ctx, "%d", ROUNDS * AT_ONCE);
    return DUR_OK;
}

static int wide_setup(dur_engine *engine, bool is_changed)
{
    int rc = dur_lane(engine, "default", 8);
    return rc ? rc : scenario_register(engine, "Wide", is_changed ? changed : wide);
}

static struct scenario wide_scenario = {.name = "history-of-5000",
                                        .primitive = "Histories of more than 5 000 events",
                                        .type = "Wide",
                                        .id = "wide",
                                        .input = "1",
                                        .result = "1700",
                                        .no_golden = "it is large, and activities end in any order",
                                        .setup = wide_setup};
SCENARIO(wide_scenario)

/* --- a large payload ---------------------------------------------------------------------------
 */

#define HUGE_BYTES 1900000 /* a server refuses more than 2 MiB */

static char huge_text[HUGE_BYTES + 3];

static int huge(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *echo = NULL;
    (void)input;
    (void)user;
    int rc = dur_run(ctx, "Echo", huge_text, &echo, &scenario_quick);
    *result = rc == DUR_OK && strcmp(echo, huge_text) == 0 ? "true" : "false";
    return rc;
}

static int huge_setup(dur_engine *engine, bool is_changed)
{
    memset(huge_text, 'y', HUGE_BYTES + 2);
    huge_text[0] = huge_text[HUGE_BYTES + 1] = '"';
    return scenario_register(engine, "Huge", is_changed ? changed : huge);
}

static struct scenario huge_scenario = {.name = "payload-of-2-mb",
                                        .primitive = "Payloads of almost 2 MiB",
                                        .type = "Huge",
                                        .id = "huge",
                                        .result = "true",
                                        .no_golden = "it is large",
                                        .setup = huge_setup};
SCENARIO(huge_scenario)

/* --- a signal while a task is under way --------------------------------------------------------
 */

/* A local activity runs within a workflow task; the signal that it sends has to wait. */
static int poke(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)result;
    int rc = dur_signal_once(user, dur_activity_workflow_id(act), "poke", input, "once");
    return rc == DUR_OK ? DUR_OK : dur_fail(act, DUR_TRANSIENT, "Poke", "%s", dur_error(user));
}

static int poked(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    int rc = dur_run_local(ctx, "Poke", input, NULL, NULL);
    rc = rc ? rc : dur_receive(ctx, "poke", -1, result);
    return rc ? rc : dur_run(ctx, "Echo", *result, NULL, &scenario_quick);
}

static int poked_setup(dur_engine *engine, bool is_changed)
{
    int rc = scenario_register(engine, "Poked", is_changed ? changed : poked);
    return rc ? rc : dur_register_activity(engine, "Poke", poke, engine);
}

static struct scenario poked_scenario = {.name = "signal-buffered",
                                         .primitive = "Signals while a task is under way",
                                         .type = "Poked",
                                         .id = "poked",
                                         .input = "\"hey\"",
                                         .result = "\"hey\"",
                                         .setup = poked_setup};
SCENARIO(poked_scenario)
