/*
 * order.c - a program that embeds libdurable: take an order, charge, ship or give the money back.
 *   cc order.c $(pkg-config --cflags --libs durable) && ./a.out orders.db order-42 4200
 * Kill it at any moment and run it again: it goes on where it was, and charges once.
 */
#include <durable.h>
#include <stdio.h>
#include <stdlib.h>

/* An activity: ordinary blocking C. It may run more than once; its key makes the charge safe. */
static int charge(dur_activity *act, const char *input, const char **result, void *user)
{
    FILE *bank = user;
    int64_t cents = dur_json_int(input, "/cents", 0);
    if (cents > 1000000) {
        return dur_fail(act, DUR_PERMANENT, "CardDeclined", "%lld cents is too much",
                        (long long)cents);
    }
    fprintf(bank, "charge %lld cents, key %s, attempt %d\n", (long long)cents,
            dur_activity_key(act), dur_activity_attempt(act));
    *result = dur_jsonf(act, "{\"receipt\":%q}", dur_activity_key(act));
    return DUR_OK;
}

static int ship(dur_activity *act, const char *input, const char **result, void *user)
{
    fprintf(user, "ship %s\n", dur_json_string(act, input, "/receipt"));
    *result = "\"parcel-1\"";
    return DUR_OK;
}

/* A workflow: sequential, deterministic, survives the process. */
static int order(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *receipt;
    int rc = dur_run(ctx, "Charge", input, &receipt,
                     &(dur_activity_options){.start_to_close_ms = 30 * DUR_SECONDS,
                                             .max_attempts = 5});
    (void)user;
    if (rc) {
        return rc; /* carries the activity's failure along */
    }
    if ((rc = dur_sleep(ctx, 50)) != DUR_OK) { /* the packer's tea; cancelled or evicted: go home */
        return rc;
    }
    return dur_run(ctx, "Ship", receipt, result, NULL);
}

int main(int argc, char **argv)
{
    dur_engine *engine;
    char input[64], *result = NULL;
    if (argc != 4) {
        return fprintf(stderr, "usage: %s DATABASE ORDER CENTS\n", argv[0]), 2;
    }
    snprintf(input, sizeof(input), "{\"cents\":%lld}", strtoll(argv[3], NULL, 10));
    int rc = dur_open(&engine, argv[1], NULL);
    if (rc == DUR_OK) {
        dur_register_activity(engine, "Charge", charge, stdout);
        dur_register_activity(engine, "Ship", ship, stdout);
        dur_register_workflow(engine, "Order", order, NULL);
        rc = dur_start(engine, "Order", argv[2], input, NULL); /* durable when it returns */
        if (rc == DUR_OK || rc == DUR_EXISTS) {
            rc = dur_serve(engine, DUR_UNTIL_IDLE);
        }
        if (rc == DUR_OK && (rc = dur_result(engine, argv[2], 0, &result)) == DUR_OK) {
            printf("%s: %s\n", argv[2], result);
        }
    }
    if (rc != DUR_OK) {
        fprintf(stderr, "%s: %s (%s)\n", argv[2], dur_error(engine), dur_code_name(rc));
    }
    dur_free(result);
    dur_close(engine);
    return rc == DUR_OK ? 0 : 1;
}
