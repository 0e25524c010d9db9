/*
 * local.c - local activities: for short, cheap steps. They leave one event, not three, and cost no
 * commit of their own.
 */
#include "example.h"

static int normalize(dur_activity *act, const char *input, const char **result, void *user)
{
    int *calls = user;
    *calls += 1;
    if (*calls == 1) {
        return dur_fail(act, DUR_TRANSIENT, "Busy", "once more");
    }
    *result = dur_jsonf(act, "{\"street\":%q}", dur_json_string(act, input, "/street"));
    return DUR_OK;
}

static int address(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_local_options options = {0};
    (void)user;
    options.start_to_close_ms = DUR_SECONDS;
    options.max_attempts = 3;
    return dur_run_local(ctx, "Normalize", input, result, &options);
}

int main(void)
{
    int calls = 0;
    char *history = NULL;
    dur_engine *engine = example_test();
    dur_register_workflow(engine, "Address", address, NULL);
    dur_test_mock(engine, "Normalize", normalize, &calls);
    OK(engine, dur_start(engine, "Address", "a", "{\"street\":\"Main St\"}", NULL));
    OK(engine, dur_test_run(engine));
    example_expect(engine, "a", "{\"street\":\"Main St\"}");
    CHECK(calls == 2);
    OK(engine, dur_history(engine, "a", &history));
    CHECK(strstr(history, "EVENT_TYPE_MARKER_RECORDED"));
    CHECK(!strstr(history, "EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"));
    dur_free(history);
    dur_close(engine);
    printf("local: two attempts, one event\n");
    return 0;
}
