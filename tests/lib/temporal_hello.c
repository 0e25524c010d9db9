/*
 * temporal_hello.c - does a Temporal server at this address really run workflows? make
 * temporal-hello
 *
 * Usage: temporal_hello HOST:PORT [NAMESPACE]
 * Owns: a run of one activity, on a task queue of its own, in C through dur_connect; each step says
 * what came of it. Status 1 when one did not. Tests: tests/temporal/t8010-dev.sh.
 */
#include <durable.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static dur_engine *engine;

static int greet(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "%q", strcmp(input, "\"Temporal\"") == 0 ? "Hello, Temporal!" : "?");
    return DUR_OK;
}

static int hello(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)user;
    return dur_run(ctx, "Greet", input, result, &(dur_activity_options){.start_to_close_ms = 5000});
}

static int step(const char *what, int rc)
{
    printf("%-10s %s\n", what, rc == DUR_OK ? "good" : dur_error(engine));
    return rc != DUR_OK;
}

int main(int argc, char **argv)
{
    char id[64];
    char *result = NULL;

    if (argc < 2) {
        fprintf(stderr, "usage: %s HOST:PORT [NAMESPACE]\n", argv[0]);
        return 2;
    }
    snprintf(id, sizeof(id), "hello-%ld", (long)getpid());
    dur_connect_options o = {.name_space = argc > 2 ? argv[2] : NULL,
                             .queue_prefix = "temporal-hello."};
    int failed = step("connection", dur_connect(&engine, argv[1], &o)) ||
                 step("workflow", dur_register_workflow(engine, "Hello", hello, NULL)) ||
                 step("activity", dur_register_activity(engine, "Greet", greet, NULL)) ||
                 step("start", dur_start(engine, "Hello", id, "\"Temporal\"", NULL)) ||
                 step("worker", dur_serve(engine, DUR_UNTIL_IDLE)) ||
                 step("result", dur_result(engine, id, 5000, &result));
    if (!failed) {
        printf("run        %s\nsays       %s\n", id, result);
    }
    dur_free(result);
    dur_close(engine);
    return failed;
}
