/*
 * async.c - an activity whose outcome comes later, from whoever has its token: a person, a
 * callback, another program. No thread waits.
 */
#include "example.h"

static char token[256]; /* a mail to somebody, a row in a table, the id of a job elsewhere */

static int ask(dur_activity *act, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    snprintf(token, sizeof(token), "%s", dur_activity_token(act));
    return DUR_PENDING;
}

static int survey(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options options = {0};
    (void)user;
    options.start_to_close_ms = 7 * DUR_DAYS; /* so long may the answer take */
    options.max_attempts = 2;
    return dur_run(ctx, "Ask", input, result, &options);
}

int main(void)
{
    dur_engine *engine = example_test();
    char *again = NULL;
    dur_register_workflow(engine, "Survey", survey, NULL);
    dur_test_mock(engine, "Ask", ask, NULL);

    OK(engine, dur_start(engine, "Survey", "s1", NULL, NULL));
    OK(engine, dur_test_advance(engine, 3 * DUR_DAYS));
    OK(engine, dur_complete(engine, token, "\"yes\"")); /* from any process */
    OK(engine, dur_test_run(engine));
    example_expect(engine, "s1", "\"yes\"");
    CHECK(dur_complete(engine, token, "\"no\"") != DUR_OK); /* too late */

    /* Who does not answer is asked again; the old token is void then. */
    OK(engine, dur_start(engine, "Survey", "s2", NULL, NULL));
    OK(engine, dur_test_advance(engine, DUR_DAYS));
    char old[256];
    snprintf(old, sizeof(old), "%s", token);
    OK(engine, dur_test_advance(engine, 7 * DUR_DAYS));
    CHECK(strcmp(old, token) != 0);
    CHECK(dur_complete(engine, old, "\"late\"") == DUR_NOT_FOUND);
    OK(engine, dur_activity_token_of(engine, "s2", "1", &again)); /* lost it? ask the engine */
    CHECK(strcmp(again, token) == 0);
    dur_free(again);
    OK(engine,
       dur_complete_failed(engine, token, DUR_PERMANENT, "Refused", "none of your business"));
    OK(engine, dur_test_run(engine));
    CHECK(dur_result(engine, "s2", 0, NULL) == DUR_FAILED);
    dur_close(engine);
    printf("async: one answer, one refusal\n");
    return 0;
}
