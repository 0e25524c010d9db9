/*
 * parked.c - one workflow in three builds, for tests/cli/t0735-parked.sh: as it was (no flag),
 * changed so that open runs cannot follow (-DBUILD=2), and mended (-DBUILD=3).
 *
 * Usage: parked STORE start ID | signal ID | replay ID | serve ID (waits|parked|closed) | result ID
 * Compiled as an embedder compiles: durable.h and -ldurable alone. Tests: tests/cli/t0735-parked.sh
 */
#include <durable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BUILD
#define BUILD 1
#endif

static int echo(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

/* Charge, wait for the word, ship. Since the second build the stock is looked at first. */
static int order(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int rc = DUR_OK;
    (void)user;
#if BUILD == 2
    rc = dur_run(ctx, "CheckStock", input, NULL, NULL);
#elif BUILD == 3
    if (dur_code_version(ctx, "check-stock", -1, 1) >= 1) {
        rc = dur_run(ctx, "CheckStock", input, NULL, NULL);
    }
#endif
    rc = rc ? rc : dur_run(ctx, "Charge", input, NULL, NULL);
    rc = rc ? rc : dur_receive(ctx, "ship", -1, NULL);
    return rc ? rc : dur_run(ctx, "Ship", input, result, NULL);
}

static int has_come(dur_engine *engine, const char *id, const char *what)
{
    dur_description *d = NULL;
    int come;
    if (dur_describe(engine, id, &d) != DUR_OK) {
        return 0;
    }
    if (strcmp(what, "parked") == 0) {
        come = d->parked != NULL;
    } else if (strcmp(what, "closed") == 0) {
        come = d->closed_ns != 0;
    } else {
        come = !d->parked && d->history_events >= 9; /* charged, and the task after it */
    }
    dur_description_free(d);
    return come;
}

static int serve(dur_engine *engine, const char *id, const char *what)
{
    int rc = DUR_OK;
    int rounds = 0;
    while (rc >= 0 && !has_come(engine, id, what)) {
        rc = dur_step(engine, 100);
        if (++rounds == 3000) {
            fprintf(stderr, "%s is never %s\n", id, what);
            return 1;
        }
    }
    dur_stop(engine);
    while (dur_step(engine, 100) >= 0) {
    }
    return rc < 0;
}

static int replay(dur_engine *engine, const char *id)
{
    char *json = NULL;
    char *report = NULL;
    int rc = dur_history(engine, id, &json);
    rc = rc ? rc : dur_replay(engine, json, &report);
    printf("%s\n%s", dur_code_name(rc), report ? report : "");
    dur_free(report);
    dur_free(json);
    return rc != DUR_OK;
}

static int obey(dur_engine *engine, const char *verb, const char *id, const char *what)
{
    char *result = NULL;
    int rc = DUR_INVALID;
    if (strcmp(verb, "start") == 0) {
        rc = dur_start(engine, "Order", id, "\"parcel\"", NULL);
    } else if (strcmp(verb, "signal") == 0) {
        rc = dur_signal(engine, id, "ship", NULL);
    } else if (strcmp(verb, "replay") == 0) {
        return replay(engine, id);
    } else if (strcmp(verb, "serve") == 0) {
        return serve(engine, id, what);
    } else if (strcmp(verb, "result") == 0 && (rc = dur_result(engine, id, 0, &result)) == DUR_OK) {
        printf("%s\n", result);
        dur_free(result);
    }
    if (rc != DUR_OK) {
        fprintf(stderr, "%s %s: %s\n", verb, id, dur_error(engine));
    }
    return rc != DUR_OK;
}

int main(int argc, char **argv)
{
    static const char *const activities[] = {"CheckStock", "Charge", "Ship"};
    dur_options options = {0};
    dur_engine *engine;
    int status = 2;
    options.reserve_bytes = -1;
    if (argc < 4 || (strcmp(argv[2], "serve") == 0 && argc < 5)) {
        fprintf(stderr, "usage: parked STORE VERB ID [WHAT]\n");
        return 2;
    }
    if (dur_open(&engine, argv[1], &options) == DUR_OK) {
        dur_register_workflow(engine, "Order", order, NULL);
        for (size_t i = 0; i < 3; i++) {
            dur_register_activity(engine, activities[i], echo, NULL);
        }
        status = obey(engine, argv[2], argv[3], argc > 4 ? argv[4] : "");
    } else {
        fprintf(stderr, "%s\n", dur_error(engine));
    }
    dur_close(engine);
    return status;
}
