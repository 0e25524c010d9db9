/*
 * bench-replay.c - how fast recorded histories are re-executed, and what a waiting run costs.
 *
 * Owns: the figures of DESIGN section 8 that belong to exec: events replayed per second (cold: a
 * new run each time) for sequential, parallel and timer-and-signal histories, new tasks per second
 * without a store, resident memory of a suspended run, and one fiber switch. Medians of rounds.
 * Usage: bench-replay [EVENTS]    (default 60000 per history)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "durable.h"
#include "exec/fiber.h"
#include "exec/run.h"
#include "history/builder.h"

#define ROUNDS 7
#define SUSPENDED 2000
#define WAITING 17 /* events of a sequential run that waits for its third activity */
#define INPUT "{\"card\":\"4200\",\"cents\":4200,\"name\":\"ada\"}"
#define RESULT "{\"receipt\":\"r-0198c504\",\"ok\":true}"

static no_return void die(const char *what)
{
    fprintf(stderr, "bench-replay: %s\n", what);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

/* --- workflows and their histories --------------------------------------------------------------
 */

static int sequential(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    for (size_t i = *(size_t *)user; i > 0; i--) {
        int rc = dur_run(ctx, "Charge", input, result, NULL);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

static void build_sequential(struct builder *b, size_t events, size_t *ret_steps)
{
    builder_init(b, arena_new(), "Order");
    build_task(b);
    for (*ret_steps = 0; b->history.count < events; ++*ret_steps) {
        char id[24];
        snprintf(id, sizeof(id), "%zu", *ret_steps + 1);
        build_activity_done(b, build_activity(b, id, "Charge", INPUT), RESULT);
        build_task(b);
    }
    build_completed(b, RESULT);
}

#define WIDTH 10

static int parallel(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    for (size_t i = *(size_t *)user; i > 0; i--) {
        dur_future *f[WIDTH];
        for (int k = 0; k < WIDTH; k++) {
            f[k] = dur_start_activity(ctx, "Charge", input, NULL);
        }
        for (int k = 0; k < WIDTH; k++) {
            int rc = dur_await(ctx, f[k], result);
            if (rc) {
                return rc;
            }
        }
    }
    return DUR_OK;
}

static void build_parallel(struct builder *b, size_t events, size_t *ret_steps)
{
    builder_init(b, arena_new(), "Order");
    build_task(b);
    for (*ret_steps = 0; b->history.count < events; ++*ret_steps) {
        int64_t ids[WIDTH];
        for (size_t k = 0; k < WIDTH; k++) {
            char id[24];
            snprintf(id, sizeof(id), "%zu", *ret_steps * WIDTH + k + 1);
            ids[k] = build_activity(b, id, "Charge", INPUT);
        }
        for (size_t k = WIDTH; k-- > 0;) {
            build_activity_done(b, ids[k], RESULT);
        }
        build_task(b);
    }
    build_completed(b, RESULT);
}

static int timers(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    for (size_t i = *(size_t *)user; i > 0; i--) {
        int rc = dur_receive(ctx, "go", 1000, result);
        if (rc) {
            return rc;
        }
    }
    return DUR_OK;
}

static void build_timers(struct builder *b, size_t events, size_t *ret_steps)
{
    int64_t open = 0;

    builder_init(b, arena_new(), "Order");
    build_task(b);
    for (*ret_steps = 0; b->history.count < events; ++*ret_steps) {
        char id[24];
        if (open) {
            build_timer_canceled(b, open);
        }
        snprintf(id, sizeof(id), "%zu", *ret_steps + 1);
        open = build_timer(b, id, NS_PER_S);
        build_signal(b, "go", INPUT);
        build_task(b);
    }
    build_timer_canceled(b, open);
    build_completed(b, INPUT);
}

/* --- measuring ----------------------------------------------------------------------------------
 */

static struct run_spec spec_of(dur_workflow_fn fn, void *user, struct fiber_pool *pool)
{
    return (struct run_spec){.fn = fn,
                             .user = user,
                             .workflow_id = "order-42",
                             .run_id = "0198c504-e431-787f-a871-2bf426943d58",
                             .type = "Order",
                             .pool = pool};
}

static void replay(const char *name, dur_workflow_fn fn,
                   void (*build)(struct builder *, size_t, size_t *), size_t count)
{
    struct builder b;
    size_t steps;
    double rates[ROUNDS];
    struct fiber_pool *pool = fiber_pool_new(16);

    build(&b, count, &steps);
    const struct event **events = mem_array(b.history.count, sizeof(*events));
    for (size_t i = 0; i < b.history.count; i++) {
        events[i] = &b.history.items[i];
    }
    struct run_spec spec = spec_of(fn, &steps, pool);
    for (int round = 0; round < ROUNDS; round++) {
        struct run_output out;
        struct err err = {0};
        int64_t begin = clock_mono_ns();
        struct run *run = run_new(&spec);
        int rc = run_replay(run, events, b.history.count, &out, &err);
        if (rc != 0 || run_status(run) != RUN_COMPLETED) {
            die(rc < 0 ? err.text : rc ? out.report : "the run did not complete");
        }
        run_free(run);
        rates[round] = (double)b.history.count / ((double)(clock_mono_ns() - begin) / 1e9);
    }
    printf("figure replay_%s %.0f events/s\n", name, median(rates, ROUNDS));
    free(events);
    fiber_pool_free(pool);
    arena_free(b.arena);
}

/* Feed a sequential run task by task, as a host without a store would. */
static void live(size_t steps)
{
    double rates[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        struct builder b;
        struct run_spec spec = spec_of(sequential, &steps, NULL);
        struct run *run = run_new(&spec);
        int64_t spent = 0;
        builder_init(&b, arena_new(), "Order");
        for (size_t i = 0; i <= steps; i++) {
            const struct event *events[8];
            struct run_output out;
            struct err err = {0};
            size_t from = (size_t)run_processed(run);
            build_task_scheduled(&b);
            build_task_started(&b);
            for (size_t k = from; k < b.history.count; k++) {
                events[k - from] = &b.history.items[k];
            }
            int64_t begin = clock_mono_ns();
            if (run_task(run, events, b.history.count - from, &out, &err) != 0) {
                die(err.text);
            }
            spent += clock_mono_ns() - begin;
            build_task_completed(&b);
            if (i < steps) {
                char id[24];
                snprintf(id, sizeof(id), "%zu", i + 1);
                build_activity_done(&b, build_activity(&b, id, "Charge", INPUT), RESULT);
            }
        }
        rates[round] = (double)(steps + 1) / ((double)spent / 1e9);
        run_free(run);
        arena_free(b.arena);
    }
    printf("figure live_tasks %.0f tasks/s\n", median(rates, ROUNDS));
}

static double resident_bytes(void)
{
    long pages = 0;
    long resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2) {
        die("/proc/self/statm cannot be read");
    }
    fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void suspended(void)
{
    static struct run *runs[SUSPENDED];
    size_t steps = 10;
    struct run_spec spec = spec_of(sequential, &steps, NULL);
    struct builder b;
    size_t made;

    build_sequential(&b, 20, &made);
    b.history.count = WAITING; /* two activities done, the third is waited for */
    const struct event *events[WAITING];
    for (size_t i = 0; i < WAITING; i++) {
        events[i] = &b.history.items[i];
    }
    double before = resident_bytes();
    for (size_t i = 0; i < SUSPENDED; i++) {
        struct run_output out;
        struct err err = {0};
        runs[i] = run_new(&spec);
        int rc = run_replay(runs[i], events, WAITING, &out, &err);
        if (rc != 0) {
            die(rc < 0 ? err.text : out.report);
        }
        run_trim(runs[i]);
    }
    printf("figure suspended_run %.2f KiB\n", (resident_bytes() - before) / SUSPENDED / 1024);
    printf("figure suspended_run_heap %.2f KiB\n", (double)run_bytes(runs[0]) / 1024);
    for (size_t i = 0; i < SUSPENDED; i++) {
        run_free(runs[i]);
    }
    arena_free(b.arena);
}

static void bounce(void *arg)
{
    struct fiber **fiber = arg;

    for (;;) {
        fiber_yield(*fiber);
    }
}

static void switches(void)
{
    double costs[ROUNDS];
    struct fiber *fiber = fiber_new(NULL, bounce, &fiber);

    if (!fiber) {
        die("no stack");
    }
    for (int round = 0; round < ROUNDS; round++) {
        int64_t begin = clock_mono_ns();
        for (int i = 0; i < 1000000; i++) {
            fiber_resume(fiber);
        }
        costs[round] = (double)(clock_mono_ns() - begin) / 2e6;
    }
    printf("figure fiber_switch %.1f ns\n", median(costs, ROUNDS));
    fiber_free(fiber);
}

int main(int argc, char **argv)
{
    size_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 60000;

    if (events < 100) {
        die("EVENTS must be at least 100");
    }
    suspended(); /* first: a heap that others have used would hide its cost */
    replay("sequential", sequential, build_sequential, events);
    replay("parallel10", parallel, build_parallel, events);
    replay("signal_timer", timers, build_timers, events);
    live(events / 6);
    switches();
    return 0;
}
