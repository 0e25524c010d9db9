/*
 * either.c - one program on a file or on a Temporal server: only the line that opens differs.
 *     ./either                    a store of its own
 *     ./either 127.0.0.1:7233     the server there, in its namespace "default"
 */
#include "example.h"

static int price(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)user;
    *result = dur_jsonf(act, "{\"item\":%j,\"price\":42}", input);
    return DUR_OK;
}

/* An offer that stands until somebody takes it. */
static int offer(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *priced;
    const char *by;
    int rc = dur_run(ctx, "Price", input, &priced, NULL);
    (void)user;
    if (rc == DUR_OK) {
        rc = dur_sleep(ctx, 20);
    }
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "taken", DUR_MINUTES, &by);
    }
    if (rc == DUR_OK) {
        *result = dur_ctx_jsonf(ctx, "[%j,%j]", priced, by);
    }
    return rc;
}

static dur_engine *open_either(const char *server)
{
    dur_connect_options options = {0};
    dur_engine *engine;
    if (!server) {
        return example_open();
    }
    options.queue_prefix = "either-"; /* task queues of its own in a namespace of many */
    OK(engine, dur_connect(&engine, server, &options));
    return engine;
}

int main(int argc, char **argv)
{
    dur_engine *engine = open_either(argc > 1 ? argv[1] : NULL);
    char *result = NULL;
    char id[64];
    int rc = DUR_TIMED_OUT;
    snprintf(id, sizeof(id), "offer-%d", (int)getpid());
    dur_register_workflow(engine, "Offer", offer, NULL);
    dur_register_activity(engine, "Price", price, NULL);
    OK(engine, dur_start(engine, "Offer", id, "\"hat\"", NULL));
    OK(engine, dur_signal(engine, id, "taken", "\"ann\""));
    while (rc == DUR_TIMED_OUT) {
        CHECK(dur_step(engine, 50) >= 0);
        rc = dur_result(engine, id, 0, &result);
    }
    OK(engine, rc);
    CHECK(strcmp(result, "[{\"item\":\"hat\",\"price\":42},\"ann\"]") == 0);
    dur_free(result);
    dur_stop(engine);
    while (dur_step(engine, -1) >= 0) { /* activities come home, polls end */
    }
    return example_end(engine, "either: the same run on either host");
}
