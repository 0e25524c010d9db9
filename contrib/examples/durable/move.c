/*
 * move.c - histories out and in: an open run is written down in protobuf's binary form, ended in
 * its old store, taken over by another one and finished there; its history is tried on the way.
 */
#include "example.h"

struct bytes {
    char data[65536];
    size_t len;
};

static int add(void *user, const void *piece, size_t len)
{
    struct bytes *bytes = user;
    if (len > sizeof(bytes->data) - bytes->len) {
        return 1; /* no more */
    }
    memcpy(bytes->data + bytes->len, piece, len);
    bytes->len += len;
    return 0;
}

static int greet(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)act;
    (void)user;
    *result = input;
    return DUR_OK;
}

static int visit(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    const char *name = NULL;
    int rc = dur_run(ctx, "Greet", input, &name, NULL);
    (void)user;
    if (rc == DUR_OK) {
        rc = dur_receive(ctx, "leave", -1, NULL);
    }
    *result = name; /* it is remembered, wherever the run goes on */
    return rc;
}

static void teach(dur_engine *engine)
{
    OK(engine, dur_register_activity(engine, "Greet", greet, NULL));
    OK(engine, dur_register_workflow(engine, "Visit", visit, NULL));
}

/* The first store, where the visitor arrives. */
static void arrive(struct bytes *history)
{
    dur_test_options options = {0};
    dur_engine *engine;
    OK(engine, dur_test_open(&engine, &options));
    teach(engine);
    OK(engine, dur_start(engine, "Visit", "visit-1", "\"ada\"", NULL));
    OK(engine, dur_test_advance(engine, 1000));
    OK(engine, dur_export(engine, "visit-1", DUR_FORM_PROTOBUF, add, history));
    OK(engine, dur_terminate(engine, "visit-1", "moved"));
    dur_close(engine);
}

int main(void)
{
    static struct bytes history;
    dur_engine *engine;
    dur_description *d;
    char *run = NULL;
    char *report = NULL;
    arrive(&history);
    engine = example_open();
    teach(engine);
    OK(engine, dur_replay_bytes(engine, history.data, history.len, &report)); /* the code fits */
    OK(engine, dur_import(engine, history.data, history.len, &run, NULL));
    OK(engine, dur_describe(engine, run, &d));
    CHECK(d->status == DUR_PAUSED); /* until somebody says that it may go on */
    dur_description_free(d);
    CHECK(dur_import(engine, history.data, history.len, NULL, NULL) == DUR_EXISTS);
    OK(engine, dur_resume(engine, run, "moved here"));
    OK(engine, dur_signal(engine, "visit-1", "leave", NULL));
    OK(engine, dur_serve(engine, DUR_UNTIL_IDLE));
    example_expect(engine, "visit-1", "\"ada\"");
    dur_free(run);
    return example_end(engine, "move: begun in one store, finished in another");
}
