/*
 * outlast.c - a program of an embedder on a network, or a server, that fails: worker and client.
 *
 * Usage: outlast TARGET [NAME=VALUE...] COMMAND [ARG...]
 * NAME: name_space, ca_file, queue_prefix, timeout (ms to connect), tls, lazy.
 *   serve           works until SIGTERM; what the engine says is printed as "log LEVEL: LINE"
 *   start ID STEPS  a run of "Steps": so many activities, a short timer after every third
 *   result ID       waits for it (half a minute) and prints it
 *   signal ID       lets a run go that waits for it: "start ID 0" does
 *   status ID       prints its status
 * An activity adds its number to the file $OUTLAST_EFFECTS, a line each: what the world saw.
 * Prints "DUR_CODE: text" of what failed, and ends with 1 then.
 */
#include <durable.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dur_engine *engine;

static int step(dur_activity *act, const char *input, const char **result, void *user)
{
    const char *path = getenv("OUTLAST_EFFECTS");
    FILE *file = path ? fopen(path, "a") : NULL;
    (void)user;
    if (!file) {
        return dur_fail(act, DUR_PERMANENT, "NoFile", "cannot write $OUTLAST_EFFECTS");
    }
    fprintf(file, "%s\n", input);
    fclose(file);
    *result = input;
    return DUR_OK;
}

static int steps(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int64_t count = dur_json_int(input, "", 0);
    dur_activity_options options;
    dur_future *go = dur_signal_future(ctx, "go");
    const char *done;
    int rc = count ? DUR_OK : dur_await(ctx, go, &done);
    (void)user;
    memset(&options, 0, sizeof(options));
    options.start_to_close_ms = 2000; /* one that is lost on the way here is given again then */
    options.retry.initial_interval_ms = 100;
    for (int64_t i = 1; i <= count && rc == DUR_OK; i++) {
        rc = dur_run(ctx, "Step", dur_ctx_jsonf(ctx, "%i64", i), &done, &options);
        if (rc == DUR_OK && i % 3 == 0) {
            rc = dur_sleep(ctx, 50);
        }
    }
    *result = input;
    return rc;
}

static int complain(int rc)
{
    printf("%s: %s\n", dur_code_name(rc), dur_error(engine));
    return 1;
}

static void show_log(void *user, int level, const char *line)
{
    (void)user;
    printf("log %d: %s\n", level, line);
    fflush(stdout);
}

static void stop(int number)
{
    (void)number;
    dur_stop(engine);
}

static int serve(void)
{
    struct sigaction action;
    int rc;
    memset(&action, 0, sizeof(action));
    action.sa_handler = stop;
    sigaction(SIGTERM, &action, NULL);
    dur_register_workflow(engine, "Steps", steps, NULL);
    dur_register_activity(engine, "Step", step, NULL);
    printf("serving\n");
    fflush(stdout);
    rc = dur_serve(engine, DUR_UNTIL_STOPPED);
    printf("served\n");
    return rc ? complain(rc) : 0;
}

static int status(const char *id)
{
    dur_description *description = NULL;
    int rc = dur_describe(engine, id, &description);
    if (rc) {
        return complain(rc);
    }
    printf("%s\n", dur_status_name(description->status));
    dur_description_free(description);
    return 0;
}

static int start(const char *id, const char *count)
{
    dur_start_options options;
    memset(&options, 0, sizeof(options));
    options.task_timeout_ms = 2000; /* the same of workflow tasks */
    return dur_start(engine, "Steps", id, count, &options);
}

static int command(const char *name, const char *id, const char *arg)
{
    char *text = NULL;
    int rc = DUR_INVALID;
    if (strcmp(name, "serve") == 0) {
        return serve();
    }
    if (strcmp(name, "status") == 0 && id) {
        return status(id);
    }
    if (strcmp(name, "start") == 0 && id && arg) {
        rc = start(id, arg);
    } else if (strcmp(name, "signal") == 0 && id) {
        rc = dur_signal(engine, id, "go", "null");
    } else if (strcmp(name, "result") == 0 && id) {
        rc = dur_result(engine, id, 30000, &text);
    }
    if (rc) {
        return complain(rc);
    }
    printf("%s\n", text ? text : "ok");
    dur_free(text);
    return 0;
}

static void set(dur_connect_options *o, const char *given)
{
    const char *value = strchr(given, '=') + 1;
    if (strncmp(given, "name_space=", 11) == 0) {
        o->name_space = value;
    } else if (strncmp(given, "ca_file=", 8) == 0) {
        o->ca_file = value;
    } else if (strncmp(given, "queue_prefix=", 13) == 0) {
        o->queue_prefix = value;
    } else if (strncmp(given, "timeout=", 8) == 0) {
        o->connect_timeout_ms = strtol(value, NULL, 10);
    } else if (strncmp(given, "tls=", 4) == 0) {
        o->tls = *value == '1';
    } else if (strncmp(given, "lazy=", 5) == 0) {
        o->lazy = *value == '1';
    }
}

int main(int argc, char **argv)
{
    dur_connect_options options;
    int at = 2, rc;
    memset(&options, 0, sizeof(options));
    options.on_log = show_log;
    for (; at < argc && strchr(argv[at], '='); at++) {
        set(&options, argv[at]);
    }
    if (at >= argc) {
        fprintf(stderr, "usage: outlast TARGET [NAME=VALUE...] COMMAND [ARG...]\n");
        return 2;
    }
    rc = dur_connect(&engine, argv[1], &options);
    rc = rc ? complain(rc)
            : command(argv[at], at + 1 < argc ? argv[at + 1] : NULL,
                      at + 2 < argc ? argv[at + 2] : NULL);
    dur_close(engine);
    return rc;
}
