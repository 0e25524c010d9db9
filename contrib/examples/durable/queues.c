/*
 * queues.c - task queues with limits: slots, starts per second, so many at once of one customer;
 * and priorities among those that wait.
 */
#include "example.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* activities run on threads */
static int ann, most_of_ann;

static int work(dur_activity *act, const char *input, const char **result, void *user)
{
    int is_ann = strcmp(dur_json_string(act, input, "/customer"), "ann") == 0;
    int rc;
    (void)result;
    (void)user;
    pthread_mutex_lock(&mutex);
    ann += is_ann;
    most_of_ann = ann > most_of_ann ? ann : most_of_ann;
    pthread_mutex_unlock(&mutex);
    rc = dur_test_sleep(act, DUR_HOURS);
    pthread_mutex_lock(&mutex);
    ann -= is_ann;
    pthread_mutex_unlock(&mutex);
    return rc;
}

static dur_future *enqueue(dur_ctx *ctx, const char *name, const char *customer, int priority)
{
    dur_activity_options options = {0};
    options.task_queue = "reports";
    options.start_to_close_ms = DUR_DAYS;
    options.concurrency_key = customer;
    options.priority = priority;
    return dur_start_activity(
        ctx, "Work", dur_ctx_jsonf(ctx, "{\"name\":%q,\"customer\":%q}", name, customer), &options);
}

static int reports(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *all[5];
    int i, rc = DUR_OK;
    (void)input;
    (void)result;
    (void)user;
    all[0] = enqueue(ctx, "a1", "ann", 0);
    all[1] = enqueue(ctx, "a2", "ann", 0);
    all[2] = enqueue(ctx, "a3", "ann", 1); /* first of ann's */
    all[3] = enqueue(ctx, "b1", "bob", 5);
    all[4] = enqueue(ctx, "c1", "cem", 0);
    for (i = 0; rc == DUR_OK && i < 5; i++) {
        rc = dur_await(ctx, all[i], NULL);
    }
    return rc;
}

int main(void)
{
    dur_engine *engine = example_test();
    dur_queue_options limits = {0};
    int64_t began = dur_test_now(engine);
    limits.slots = 2;
    limits.per_key = 1; /* of one customer at once */
    OK(engine, dur_queue(engine, "reports", &limits));
    dur_register_workflow(engine, "Reports", reports, NULL);
    dur_test_mock(engine, "Work", work, NULL);
    OK(engine, dur_start(engine, "Reports", "r", NULL, NULL));
    OK(engine, dur_test_run(engine));
    OK(engine, dur_result(engine, "r", 0, NULL));
    CHECK(most_of_ann == 1);
    CHECK((dur_test_now(engine) - began) / 1000000 == 3 * DUR_HOURS);
    dur_close(engine);
    printf("queues: five reports in three hours\n");
    return 0;
}
