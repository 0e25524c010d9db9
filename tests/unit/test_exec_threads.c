/*
 * test_exec_threads.c - runs on several threads share nothing: meant for ThreadSanitizer.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "durable.h"
#include "exec/fiber.h"
#include "exec_host.h"

#define THREADS 4
#define RUNS 20

static int part(dur_ctx *ctx, void *arg, const char **result)
{
    (void)arg;
    return dur_run(ctx, "Part", "1", result, NULL);
}

static int fan(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    dur_future *f[3];

    (void)input;
    (void)user;
    for (int i = 0; i < 3; i++) {
        f[i] = dur_go(ctx, part, NULL);
    }
    for (int i = 0; i < 3; i++) {
        int rc = dur_await(ctx, f[i], result);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

struct job {
    pthread_t thread;
    int completed;
};

static void *work(void *arg)
{
    struct job *job = arg;
    struct fiber_pool *pool = fiber_pool_new(2);

    for (int i = 0; i < RUNS; i++) {
        struct host h;
        host_init(&h, fan, NULL, "null");
        run_free(h.run);
        h.spec.pool = pool;
        h.run = run_new(&h.spec);
        host_task(&h);
        host_done(&h, "2", "2");
        host_evict(&h);
        host_done(&h, "1", "1");
        host_done(&h, "3", "3");
        host_task(&h);
        job->completed += run_status(h.run) == RUN_COMPLETED;
        host_free(&h);
    }
    fiber_pool_free(pool);
    return NULL;
}

Test(exec_threads, each_thread_drives_its_own_runs, .timeout = 120)
{
    static struct job jobs[THREADS];

    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        cr_expect_eq(jobs[i].completed, RUNS);
    }
}

/* --- a watchdog looks from outside
 * ---------------------------------------------------------------- */

static atomic_bool stop;

static void *watch(void *arg)
{
    const struct run *run = arg;
    size_t seen = 0;

    while (!atomic_load(&stop)) {
        seen += run_last_call(run).file != NULL;
    }
    return (void *)(uintptr_t)seen;
}

static int busy(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)result;
    (void)user;
    for (int i = 0; i < 2000; i++) {
        dur_sleep(ctx, 0);
    }
    return DUR_OK;
}

Test(exec_threads, a_watchdog_may_ask_for_the_last_call, .timeout = 120)
{
    struct host h;
    pthread_t thread;

    host_init(&h, busy, NULL, "null");
    cr_assert_eq(pthread_create(&thread, NULL, watch, h.run), 0);
    cr_assert_eq(host_task(&h), 0);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    cr_expect_neq(run_last_call(h.run).line, 0);
    host_free(&h);
}
