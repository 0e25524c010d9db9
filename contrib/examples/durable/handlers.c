/*
 * handlers.c - what others may ask of a run: queries read, updates are validated and answered,
 * signals are told. The run's state lives in its own memory.
 */
#include "example.h"

struct account {
    int64_t cents;
    int closed;
};

static int balance(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    const struct account *a = arg;
    (void)input;
    *result = dur_ctx_jsonf(ctx, "%i64", a->cents);
    return DUR_OK;
}

/* A refused update leaves no trace in the history. */
static int may_withdraw(dur_ctx *ctx, const char *input, void *arg)
{
    const struct account *a = arg;
    if (dur_json_int(input, "", 0) > a->cents) {
        return dur_fail_run(ctx, "NoMoney", "%lld cents are there", (long long)a->cents);
    }
    return DUR_OK;
}

/* A handler is a coroutine: it may wait. */
static int withdraw(dur_ctx *ctx, const char *input, const char **result, void *arg)
{
    struct account *a = arg;
    a->cents -= dur_json_int(input, "", 0);
    *result = dur_ctx_jsonf(ctx, "{\"left\":%i64}", a->cents);
    return dur_run(ctx, "PayOut", input, NULL, NULL);
}

static int deposit(dur_ctx *ctx, const char *input, void *arg)
{
    struct account *a = arg;
    (void)ctx;
    a->cents += dur_json_int(input, "", 0);
    a->closed = dur_json_int(input, "", 0) == 0;
    return DUR_OK;
}

static int is_closed(void *arg)
{
    return ((struct account *)arg)->closed;
}

static int account(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    struct account *a = dur_ctx_alloc(ctx, sizeof(*a));
    (void)input, (void)result, (void)user;
    dur_on_signal(ctx, "deposit", deposit, a); /* what waits already is handled in this order */
    dur_on_update(ctx, "withdraw", may_withdraw, withdraw, a);
    dur_on_query(ctx, "balance", balance, a);
    return dur_wait(ctx, is_closed, a, -1);
}

static int pay_out(dur_activity *act, const char *input, const char **result, void *user)
{
    return (void)act, (void)input, (void)result, (void)user, DUR_OK;
}

/* The thread that drives the engine asks, drives, and looks; others just wait (dur_update). */
static int try_withdraw(dur_engine *engine, const char *id, const char *cents, char **result)
{
    dur_update_options options = {0};
    options.update_id = id;
    options.wait = DUR_WAIT_ADMITTED;
    OK(engine, dur_update(engine, "ann", "withdraw", cents, NULL, &options));
    OK(engine, dur_test_advance(engine, DUR_MINUTES));
    return dur_update_result(engine, "ann", id, 0, result);
}

int main(void)
{
    dur_engine *engine = example_test();
    char *result;
    dur_register_workflow(engine, "Account", account, NULL);
    dur_test_mock(engine, "PayOut", pay_out, NULL);
    OK(engine, dur_start(engine, "Account", "ann", NULL, NULL));
    OK(engine, dur_signal(engine, "ann", "deposit", "500"));
    OK(engine, try_withdraw(engine, "w1", "200", &result));
    CHECK(strcmp(result, "{\"left\":300}") == 0);
    dur_free(result);
    CHECK(try_withdraw(engine, "w2", "400", &result) == DUR_REJECTED);
    dur_free(result);
    OK(engine, dur_signal(engine, "ann", "deposit", "0"));
    OK(engine, dur_test_run(engine));
    OK(engine, dur_query(engine, "ann", "balance", NULL, 0, &result)); /* closed; still answers */
    CHECK(strcmp(result, "300") == 0);
    dur_free(result);
    dur_close(engine);
    printf("handlers: 300 cents are left\n");
    return 0;
}
