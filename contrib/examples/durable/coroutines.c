/*
 * coroutines.c - concurrent parts of one run: coroutines, a channel between them, and waiting for a
 * condition. Concurrent, deterministic, never parallel: they need no locks.
 */
#include "example.h"

struct mill {
    dur_channel *grain;
    int ground;
};

/* Brings a sack every hour. */
static int farmer(dur_ctx *ctx, void *arg, const char **result)
{
    struct mill *mill = arg;
    int rc = DUR_OK, sack;
    (void)result;
    for (sack = 1; rc == DUR_OK && sack <= 6; sack++) {
        rc = dur_sleep(ctx, DUR_HOURS);
        if (rc == DUR_OK) { /* blocks while two sacks lie there already */
            rc = dur_send(ctx, mill->grain, dur_ctx_jsonf(ctx, "%d", sack));
        }
    }
    dur_channel_close(ctx, mill->grain);
    return rc;
}

/* Two of them take what comes, each at its own pace. */
static int miller(dur_ctx *ctx, void *arg, const char **result)
{
    struct mill *mill = arg;
    const char *sack;
    int rc;
    (void)result;
    while ((rc = dur_take(ctx, mill->grain, -1, &sack)) == DUR_OK) {
        if ((rc = dur_sleep(ctx, 3 * DUR_HOURS)) != DUR_OK) {
            return rc;
        }
        mill->ground++;
    }
    return rc == DUR_NOT_FOUND ? DUR_OK : rc; /* closed and empty: the day is over */
}

static int is_half_done(void *arg)
{
    return ((struct mill *)arg)->ground >= 3;
}

static int day(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct mill mill = {0};
    dur_future *parts[3];
    int64_t began = dur_now_ns(ctx);
    int64_t half;
    int i, rc;
    (void)input;
    (void)user;
    mill.grain = dur_channel_new(ctx, 2);
    parts[0] = dur_go(ctx, farmer, &mill);
    parts[1] = dur_go(ctx, miller, &mill);
    parts[2] = dur_go(ctx, miller, &mill);
    if ((rc = dur_wait(ctx, is_half_done, &mill, -1)) != DUR_OK) {
        return rc;
    }
    half = (dur_now_ns(ctx) - began) / 1000000 / DUR_HOURS;
    for (i = 0; i < 3; i++) { /* before the frame that they point into is gone */
        if ((rc = dur_await(ctx, parts[i], NULL)) != DUR_OK) {
            return rc;
        }
    }
    *result = dur_ctx_jsonf(ctx, "{\"ground\":%d,\"half_after\":%i64}", mill.ground, half);
    return DUR_OK;
}

int main(void)
{
    dur_engine *engine = example_test();
    dur_register_workflow(engine, "Day", day, NULL);
    OK(engine, dur_start(engine, "Day", "monday", NULL, NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "monday", "{\"ground\":6,\"half_after\":7}");
    dur_close(engine);
    printf("coroutines: six sacks, half of them after seven hours\n");
    return 0;
}
