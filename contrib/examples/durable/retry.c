/*
 * retry.c - transient failures are tried again, permanent ones are not; heartbeat details tell the
 * next attempt how far the last one came.
 */
#include "example.h"

/* Copies ten pages; the connection breaks after every fourth. */
static int copy_pages(dur_activity *act, const char *input, const char **result, void *user)
{
    int from = (int)dur_json_int(dur_heartbeat_details(act), "/page", 0);
    int page;
    (void)input;
    (void)user;
    for (page = from; page < 10; page++) {
        if (page == from + 4) {
            return dur_fail(act, DUR_TRANSIENT, "ConnectionLost", "after page %d", page);
        }
        dur_heartbeat_sync(act, dur_jsonf(act, "{\"page\":%d}", page + 1));
    }
    *result = dur_jsonf(act, "{\"attempts\":%d}", dur_activity_attempt(act));
    return DUR_OK;
}

static int open_vault(dur_activity *act, const char *input, const char **result, void *user)
{
    int *calls = user;
    (void)input;
    (void)result;
    *calls += 1;
    return dur_fail(act, DUR_PERMANENT, "WrongKey", "it will not fit tomorrow either");
}

static int backup(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_activity_options patient = {0};
    int rc;
    (void)user;
    patient.heartbeat_ms = 30 * DUR_SECONDS;
    patient.max_attempts = 5;
    patient.retry.initial_interval_ms = 10;
    patient.retry.backoff_coefficient = 1.5;
    rc = dur_run(ctx, "CopyPages", input, result, &patient);
    if (rc) {
        return rc;
    }
    rc = dur_run(ctx, "OpenVault", NULL, NULL, &patient);
    if (rc == DUR_FAILED) { /* the failure of the activity, and below it what the callback said */
        const dur_failure_info *failure = dur_failure(ctx);
        return strcmp(failure->cause->type, "WrongKey") == 0 ? DUR_OK : rc;
    }
    return rc;
}

int main(void)
{
    dur_engine *engine = example_open();
    int calls = 0;
    char *result;
    dur_register_workflow(engine, "Backup", backup, NULL);
    dur_register_activity(engine, "CopyPages", copy_pages, NULL);
    dur_register_activity(engine, "OpenVault", open_vault, &calls);
    result = example_run(engine, "Backup", "nightly", NULL);
    CHECK(strcmp(result, "{\"attempts\":3}") == 0); /* pages 0-3, 4-7, 8-9 */
    CHECK(calls == 1);
    dur_free(result);
    return example_end(engine, "retry: three attempts for one, one for the other");
}
