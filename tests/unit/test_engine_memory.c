/*
 * test_engine_memory.c - an engine that is short of memory: it refuses new runs, keeps none that
 * only waits, serves those there are, and takes new ones when there is memory again.
 *
 * The address space is closed above what is mapped, with less room than the reserve (base/mem.h)
 * wants. AddressSanitizer's allocator does not live with that.
 */
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "tests/lib/engine_fixture.h"

#define ROOM_BYTES (MEM_RESERVE_BYTES / 2)

static int wait_go(dur_ctx *ctx, const char *input, const char **result, void *user)
{
    (void)input;
    (void)user;
    return dur_receive(ctx, "go", -1, result);
}

static void fixture_register(dur_engine *engine)
{
    dur_register_workflow(engine, "wait_go", wait_go, NULL);
}

static void limit(rlim_t bytes)
{
    struct rlimit to = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_AS, &to), 0);
}

static void run_short_of_memory(void)
{
    long pages = 0;
    mem_note_short();
    FILE *statm = fopen("/proc/self/statm", "re");
    cr_assert(statm && fscanf(statm, "%ld", &pages) == 1);
    fclose(statm);
    limit((rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM_BYTES);
    cr_assert(mem_is_short());
}

static void needs_own_malloc(void)
{
#ifdef WITH_SANITIZERS
    cr_skip_test("the sanitizers' allocator ends the program by itself");
#endif
}

Test(memory, while_it_is_short_new_runs_are_refused, .timeout = 60)
{
    needs_own_malloc();
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    run_short_of_memory();
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_FULL);
    cr_assert(strstr(dur_error(engine), "memory is short"), "%s", dur_error(engine));
    cr_assert_eq(dur_signal_with_start(engine, "wait_go", "w", NULL, "go", "1", NULL), DUR_FULL);
    limit(RLIM_INFINITY);
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_OK, "%s", dur_error(engine));
    dur_close(engine);
}

Test(memory, open_runs_are_served_though_it_is_short, .timeout = 60)
{
    needs_own_malloc();
    autofree char *path = temp_path("e.db");
    dur_engine *engine = open_engine(path);
    char *result = NULL;
    cr_assert_eq(dur_start(engine, "wait_go", "w", NULL, NULL), DUR_OK);
    for (int i = 0; i < 5; i++) {
        dur_step(engine, 0); /* it waits, and is in memory */
    }
    run_short_of_memory();
    dur_step(engine, 0);
    cr_assert(log_has("memory is short: nothing is cached, new runs are refused"));
    cr_assert_eq(dur_signal(engine, "w", "go", "7"), DUR_OK, "%s", dur_error(engine));
    while (dur_result(engine, "w", 0, &result) == DUR_TIMED_OUT) {
        dur_step(engine, 0);
    }
    cr_assert_str_eq(result, "7");
    dur_free(result);
    limit(RLIM_INFINITY);
    dur_step(engine, 0);
    cr_assert(log_has("memory was short: what was cached has been given back"));
    dur_close(engine);
}
