/*
 * versions.c - changing code while runs are open: old runs keep to their way, new ones take the new
 * one; and a history is tried against the new program before it is installed.
 */
#include "example.h"

static int do_it(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    return DUR_OK;
}

static int old_code(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run(ctx, "Charge", NULL, NULL, NULL);
    (void)input;
    (void)user;
    *result = "\"old way\"";
    return rc != DUR_OK ? rc : dur_receive(ctx, "go", -1, NULL);
}

/* A step in front, and nothing said about it. */
static int careless_code(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = dur_run(ctx, "CheckStock", NULL, NULL, NULL);
    return rc != DUR_OK ? rc : old_code(ctx, input, result, user);
}

static int new_code(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int version = dur_code_version(ctx, "check-stock", -1, 1); /* or: dur_patched() */
    int rc;
    if (version < -1) {
        return version;
    }
    rc = version == 1 ? dur_run(ctx, "CheckStock", NULL, NULL, NULL) : DUR_OK;
    if (rc == DUR_OK) {
        rc = old_code(ctx, input, result, user);
    }
    *result = version == 1 ? "\"new way\"" : "\"old way\"";
    return rc;
}

/* The next program over the same store. */
static dur_engine *open_program(dur_workflow_fn order)
{
    dur_engine *engine = example_open();
    dur_register_workflow(engine, "Order", order, NULL);
    dur_register_activity(engine, "Charge", do_it, NULL);
    dur_register_activity(engine, "CheckStock", do_it, NULL);
    return engine;
}

int main(void)
{
    char *history = NULL, *report = NULL;
    dur_engine *engine = open_program(old_code);
    OK(engine, dur_start(engine, "Order", "first", NULL, NULL));
    while (dur_step(engine, 200) > 0) { /* until it waits for "go" */
    }
    OK(engine, dur_history(engine, "first", &history));
    dur_close(engine);

    engine = open_program(careless_code);
    CHECK(dur_replay(engine, history, &report) == DUR_MISMATCH);
    CHECK(strstr(report, "CheckStock")); /* names event, command and source line */
    dur_free(report);
    dur_close(engine);

    engine = open_program(new_code);
    OK(engine, dur_replay(engine, history, &report));
    dur_free(history);
    OK(engine, dur_start(engine, "Order", "second", NULL, NULL));
    OK(engine, dur_signal(engine, "first", "go", NULL));
    OK(engine, dur_signal(engine, "second", "go", NULL));
    OK(engine, dur_serve(engine, DUR_UNTIL_IDLE));
    example_expect(engine, "first", "\"old way\"");
    example_expect(engine, "second", "\"new way\"");
    return example_end(engine, "versions: each its own way");
}
