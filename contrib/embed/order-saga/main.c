/*
 * order-saga - steps that are undone in reverse when a later one fails or the order is cancelled.
 *
 *   order-saga DATABASE run ORDER CENTS ADDRESS   take the order and see it through
 *   order-saga DATABASE cancel ORDER              change one's mind, from another process
 *   order-saga DATABASE packed ORDER              the packer is done: ship it
 *
 * Stock is reserved, the card charged, the parcel shipped once it is packed. Each step names what
 * undoes it before it is tried: a step of which nobody knows whether it happened is undone too, so
 * undoing must be harmless when there was nothing to undo. Kill the process at any moment and run
 * it again: it goes on, forwards or backwards.
 */
#include <durable.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 8

/* --- the world: a print here, a service of yours there ---------------------------------------- */

/* Every activity's `user` is its name; its key is the same for all attempts of one step. */
static int do_it(dur_activity *act, const char *input, const char **result, void *user)
{
    int64_t cents = dur_json_int(input, "/cents", 0);
    const char *address = dur_json_string(act, input, "/address");
    if (strcmp(user, "charge") == 0 && cents > 100000) {
        return dur_fail(act, DUR_PERMANENT, "CardDeclined", "%lld cents are too much",
                        (long long)cents);
    }
    if (strcmp(user, "ship") == 0 && strcmp(address, "nowhere") == 0) {
        return dur_fail(act, DUR_PERMANENT, "NoSuchAddress", "there is no %s", address);
    }
    printf("%s %s\n", (const char *)user, dur_json_string(act, input, "/order"));
    fflush(stdout);
    *result = dur_jsonf(act, "{\"receipt\":%q}", dur_activity_key(act));
    return DUR_OK;
}

/* --- the saga --------------------------------------------------------------------------------- */

struct saga {
    const char *undo[MAX_STEPS]; /* activities, oldest first */
    int count;
};

/* A step: DUR_OK, or the code to leave with. */
static int step(dur_ctx *ctx, struct saga *saga, const char *activity, const char *undo,
                const char *input)
{
    dur_activity_options options = {0};
    int rc;
    options.start_to_close_ms = 30 * DUR_SECONDS;
    options.max_attempts = 5;
    options.cancellation = DUR_WAIT_CANCEL; /* know how it ended before undoing it */
    saga->undo[saga->count++] = undo;
    rc = dur_run(ctx, activity, input, NULL, &options);
    if (rc == DUR_FAILED && dur_failure(ctx)->cause &&
        dur_failure(ctx)->cause->kind == DUR_PERMANENT) {
        saga->count--; /* certain not to have happened */
    }
    return rc;
}

/* Newest first, in a scope that no cancellation touches, and until it succeeds. */
static int compensate(dur_ctx *ctx, struct saga *saga, const char *input)
{
    dur_ctx *calm = dur_disconnected(ctx);
    while (saga->count > 0) {
        int rc = dur_run(calm, saga->undo[--saga->count], input, NULL, NULL);
        if (rc != DUR_OK) {
            return rc;
        }
    }
    return DUR_OK;
}

static int steps(dur_ctx *ctx, struct saga *saga, const char *input)
{
    int rc;
    if ((rc = step(ctx, saga, "reserve", "release", input)) != DUR_OK ||
        (rc = step(ctx, saga, "charge", "refund", input)) != DUR_OK) {
        return rc;
    }
    rc = dur_receive(ctx, "packed", 14 * DUR_DAYS, NULL);
    if (rc == DUR_TIMED_OUT) {
        return dur_fail_run(ctx, "NeverPacked", "nobody packed it for 14 days");
    }
    return rc != DUR_OK ? rc : step(ctx, saga, "ship", "call-back", input);
}

static int order(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct saga saga = {0};
    const dur_failure_info *failure;
    int undone;
    int rc = steps(ctx, &saga, input);
    (void)user;
    if (rc == DUR_OK || rc == DUR_UNWIND) { /* done, or only this process leaves it */
        *result = "\"shipped\"";
        return rc;
    }
    failure = dur_failure(ctx);
    undone = compensate(ctx, &saga, input);
    if (undone != DUR_OK) {
        return undone;
    }
    if (rc == DUR_FAILED && failure) { /* say why, not that the compensation went well */
        failure = failure->cause ? failure->cause : failure;
        return dur_fail_run(ctx, failure->type, "%s", failure->message);
    }
    return rc;
}

/* --- the program ------------------------------------------------------------------------------ */

static dur_engine *engine;

static void on_signal(int number)
{
    (void)number;
    dur_stop(engine); /* the one call that a signal handler may make */
}

static int run(const char *id, const char *cents, const char *address)
{
    char input[512];
    char *result = NULL;
    int rc;
    static const char *const names[] = {"reserve", "release", "charge",
                                        "refund",  "ship",    "call-back"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        dur_register_activity(engine, names[i], do_it, (void *)names[i]);
    }
    dur_register_workflow(engine, "Order", order, NULL);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    snprintf(input, sizeof(input), "{\"order\":\"%s\",\"cents\":%lld,\"address\":\"%s\"}", id,
             strtoll(cents, NULL, 10), address);
    rc = dur_start(engine, "Order", id, input, NULL);
    if (rc == DUR_OK || rc == DUR_EXISTS) { /* it may be under way already */
        rc = dur_serve(engine, DUR_UNTIL_IDLE);
    }
    if (rc == DUR_OK) {
        rc = dur_result(engine, id, 0, &result);
    }
    if (rc == DUR_OK) {
        printf("%s %s\n", id, result);
    }
    dur_free(result);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = argc < 4 ? DUR_INVALID : dur_open(&engine, argv[1], NULL);
    if (argc < 4) {
        fprintf(stderr,
                "usage: %s DATABASE run ORDER CENTS ADDRESS | cancel ORDER | packed ORDER\n",
                argv[0]);
        return 2;
    }
    if (rc == DUR_OK && strcmp(argv[2], "run") == 0 && argc == 6) {
        rc = run(argv[3], argv[4], argv[5]);
    } else if (rc == DUR_OK && strcmp(argv[2], "cancel") == 0) {
        rc = dur_cancel(engine, argv[3], "the customer changed their mind");
    } else if (rc == DUR_OK && strcmp(argv[2], "packed") == 0) {
        rc = dur_signal(engine, argv[3], "packed", NULL);
    }
    if (rc != DUR_OK) {
        fprintf(stderr, "%s: %s (%s)\n", argv[3], dur_error(engine), dur_code_name(rc));
    }
    dur_close(engine);
    return rc == DUR_OK ? 0 : 1;
}
