/*
 * asking.c - a program whose activity waits for an outcome from outside: for the tests of the
 * command line. asking STORE start ID: a new run. asking STORE serve: until the ask is made, or
 * nothing is open. asking STORE result ID: prints it.
 */
#include <durable.h>
#include <stdio.h>
#include <string.h>

static int asked;

static int ask(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)input;
    (void)result;
    (void)user;
    asked = 1;
    return DUR_PENDING;
}

static int asking(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options o = {0};
    int rc;
    (void)user;
    o.task_queue = "people";
    o.concurrency_key = "boss";
    o.cancellation = DUR_WAIT_CANCEL;
    o.retry.initial_interval_ms = 1;
    rc = dur_run(ctx, "Ask", input, result, &o);
    if (rc == DUR_FAILED) {
        const dur_failure_info *f = dur_failure(ctx)->cause;
        *result = dur_ctx_jsonf(ctx, "{\"type\":%q,\"message\":%q}", f->type, f->message);
        return DUR_OK;
    }
    return rc;
}

static int done(dur_engine *engine, int rc)
{
    if (rc < 0) {
        fprintf(stderr, "%s\n", dur_error(engine));
    }
    dur_close(engine);
    return rc < 0;
}

int main(int argc, char **argv)
{
    dur_engine *engine;
    dur_options options = {0};
    dur_queue_options limits = {0};
    char *result = NULL;
    int rc;
    if (argc < 3) {
        return 2;
    }
    options.reserve_bytes = -1;
    rc = dur_open(&engine, argv[1], &options);
    if (rc) {
        return done(engine, rc);
    }
    limits.slots = 3;
    limits.rate_per_s = 50;
    limits.per_key = 1;
    dur_queue(engine, "people", &limits);
    dur_register_activity(engine, "Ask", ask, NULL);
    dur_register_workflow(engine, "Asking", asking, NULL);
    if (strcmp(argv[2], "start") == 0) {
        rc = dur_start(engine, "Asking", argv[3], "{}", NULL);
    } else if (strcmp(argv[2], "serve") == 0) {
        while (!asked && (rc = dur_step(engine, 50)) >= 0 && rc != 2) {
        }
        dur_stop(engine);
        while (dur_step(engine, 50) >= 0) {
        }
        rc = 0;
    } else if ((rc = dur_serve(engine, DUR_UNTIL_IDLE)) == 0 &&
               (rc = dur_result(engine, argv[3], 0, &result)) == 0) {
        printf("%s\n", result);
        dur_free(result);
    }
    return done(engine, rc);
}
