/*
 * signals.c - messages to a run: they are durable when sent, and kept until they are received.
 */
#include "example.h"

/* Collects items until "checkout", or until nothing came for a week. */
static int cart(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    int items = 0;
    (void)input;
    (void)user;
    for (;;) {
        const char *item;
        dur_future *either[2];
        int rc;
        either[0] = dur_signal_future(ctx, "item");
        either[1] = dur_signal_future(ctx, "checkout");
        if (dur_done(either[0]) || dur_done(either[1])) {
            rc = dur_receive(ctx, "item", 0, &item); /* items that came before count */
            if (rc == DUR_TIMED_OUT) {
                *result = dur_ctx_jsonf(ctx, "{\"items\":%d}", items);
                return DUR_OK;
            }
        } else {
            dur_future *any[3];
            any[0] = either[0];
            any[1] = either[1];
            any[2] = dur_timer(ctx, 7 * DUR_DAYS);
            rc = dur_select(ctx, any, 3);
            if (rc == 2) {
                return dur_fail_run(ctx, "Abandoned", "with %d items", items);
            }
            dur_cancel_future(ctx, any[2]);
            continue;
        }
        if (rc != DUR_OK) {
            return rc;
        }
        items += (int)dur_json_int(item, "", 0);
    }
}

int main(void)
{
    dur_engine *engine = example_test();
    dur_register_workflow(engine, "Cart", cart, NULL);
    /* The first item makes the cart. */
    OK(engine, dur_signal_with_start(engine, "Cart", "ann", NULL, "item", "1", NULL));
    OK(engine, dur_signal_with_start(engine, "Cart", "ann", NULL, "item", "2", NULL));
    OK(engine, dur_test_advance(engine, 3 * DUR_DAYS));
    /* A client that is not sure whether its request arrived repeats it. */
    OK(engine, dur_signal_once(engine, "ann", "item", "4", "request-17"));
    OK(engine, dur_signal_once(engine, "ann", "item", "4", "request-17"));
    OK(engine, dur_signal(engine, "ann", "checkout", NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "ann", "{\"items\":7}");
    CHECK(dur_signal(engine, "ann", "item", "1") == DUR_NOT_FOUND);

    OK(engine, dur_start(engine, "Cart", "bob", NULL, NULL));
    OK(engine, dur_test_run(engine));
    CHECK(dur_result(engine, "bob", 0, NULL) == DUR_FAILED);
    dur_close(engine);
    printf("signals: seven items, and one cart left behind\n");
    return 0;
}
