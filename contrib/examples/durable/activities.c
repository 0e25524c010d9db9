/*
 * activities.c - a workflow is a sequence of activities; each result is recorded once.
 */
#include "example.h"

/* Whatever touches the world: ordinary, blocking C on a thread of the engine. */
static int measure(dur_activity *act, const char *input, const char **result, void *user)
{
    int64_t celsius = dur_json_int(input, "/celsius", 0);
    (void)user;
    *result = dur_jsonf(act, "{\"fahrenheit\":%i64}", celsius * 9 / 5 + 32);
    return DUR_OK;
}

static int announce(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    printf("it is %d degrees (%s)\n", (int)dur_json_int(input, "/fahrenheit", 0),
           dur_activity_key(act)); /* the same for all attempts: for whoever must tell them apart */
    *result = "true";
    return DUR_OK;
}

/* What happens in which order: sequential, deterministic, survives the process. */
static int report(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *measured;
    int rc = dur_run(ctx, "Measure", input, &measured, NULL);
    (void)user;
    if (rc) {
        return rc; /* failed, cancelled, or sent home: the code is passed on */
    }
    return dur_run(ctx, "Announce", measured, result, NULL);
}

int main(void)
{
    dur_engine *engine = example_open();
    char *result;
    dur_register_workflow(engine, "Report", report, NULL);
    dur_register_activity(engine, "Measure", measure, NULL);
    dur_register_activity(engine, "Announce", announce, NULL);
    result = example_run(engine, "Report", "monday", "{\"celsius\":20}");
    CHECK(strcmp(result, "true") == 0);
    dur_free(result);
    return example_end(engine, "activities: one after the other");
}
